"""What is no sum of losses fits the seam too: Lloyd's algorithm and EM through the one loop."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from fenchel import Certificate, NotCertified, certify_clusters, minimise
from fenchel.convex.objective import Objective
from fenchel.solve.needs import ObjectiveNeed
from fenchel.solve.smooth.newton import Newton
from fenchel.solve.solver import Solver, State

# ----------------------------------------------------------------------- Lloyd's algorithm


@dataclass(frozen=True)
class Assignment:
    """Σ|xᵢ - m(cᵢ)|² at centres, the nearest centre of each row, and the means of those rows."""

    value: float
    labels: np.ndarray
    means: np.ndarray


@dataclass(frozen=True)
class SquaredDistances(Objective[np.ndarray]):
    """Σ minₖ|xᵢ - mₖ|² over centres m (k, d)."""

    X: np.ndarray
    first: np.ndarray

    def origin(self):
        return self.first

    def evaluate(self, point, *, exact=False):
        squares = ((self.X[:, None, :] - point) ** 2).sum(axis=2)
        labels = squares.argmin(axis=1)
        rows = [self.X[labels == k] for k in range(len(point))]
        means = [r.mean(axis=0) if len(r) else m for r, m in zip(rows, point, strict=True)]
        value = float(squares[np.arange(len(labels)), labels].sum())
        return Assignment(value, labels, np.array(means))

    def certify(self, point, seen=None, dual=None, enough=1e-9):
        """The bound by principal components (Zha and others, 2001), of as many clusters."""
        seen = self.evaluate(point)
        proof = certify_clusters(self.X, seen.labels)
        return replace(proof, value=seen.value)


class Centres(ObjectiveNeed):
    words = "squared distances to centres"

    @classmethod
    def met(cls, objective):
        return isinstance(objective, SquaredDistances)


@dataclass(frozen=True)
class Lloyd(Solver):
    """Every centre to the mean of its rows, which never raises the sum."""

    needs = (Centres,)

    def init(self, problem, start):
        return self._at(problem, problem.origin() if start is None else start)

    def step(self, problem, state):
        return self._at(problem, state.seen.means)

    def _at(self, problem, centres):
        seen = problem.evaluate(centres)
        left = seen.value - problem.evaluate(seen.means).value
        return State(centres, seen, left, stalled=bool((seen.means == centres).all()))


def rows_of_clusters(offsets, wide, seed=0, each=40):
    """Rows about points on the first axis, spread by `wide` along the second, as much each side."""
    rng = np.random.default_rng(seed)
    u = wide * rng.standard_normal(each)
    return np.array([[m, s * v] for m in offsets for s in (1.0, -1.0) for v in u])


def test_lloyd_reaches_the_spectral_bound_where_it_is_tight() -> None:
    X = rows_of_clusters((-10.0, 10.0), 1.0)
    problem = SquaredDistances(X, np.array([[-1.0, 3.0], [2.0, -2.0]]))
    solution = minimise(problem, Lloyd(), tol=1e-9)
    proof = solution.certificate
    assert solution.converged and proof.kind == "spectral" and proof.closed(1e-9)
    assert_allclose(solution.point, [[-10.0, 0.0], [10.0, 0.0]], atol=1e-12)
    assert_allclose(proof.value, (X[:, 1] ** 2).sum())
    values = [one.value for one in solution.history]
    assert values == sorted(values, reverse=True) and len(values) > 1
    assert all(proof.bound <= one.value * (1.0 + 1e-12) for one in solution.history)
    assert "may be loose" in str(proof)


def test_lloyd_says_how_loose_its_bound_is() -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((120, 4))
    problem = SquaredDistances(X, X[:3])
    with pytest.warns(NotCertified, match=r"relative gap 0\.\d+ to a spectral .*another start"):
        solution = minimise(problem, Lloyd(), tol=1e-6)
    proof = solution.certificate
    assert not solution.converged and 0.0 < proof.bound < proof.value
    assert solution.state.stalled and solution.reason.startswith("no step lowers")
    again = minimise(problem, Lloyd(), tol=1.5 * proof.relative_gap)  # a gap one may ask for
    assert again.converged and again.steps <= solution.steps
    inner = minimise(problem, Lloyd(), tol=1e-12, proof=False)
    assert inner.converged and inner.certificate.kind == "estimate"
    assert_allclose(inner.point, solution.point)


# --------------------------------------------------------------------- Gaussian mixtures


@dataclass(frozen=True)
class Mixture:
    shares: np.ndarray
    means: np.ndarray
    spreads: np.ndarray  # one variance a component


@dataclass(frozen=True)
class Expectation:
    """-log-likelihood a row, the mixture of EM's next step, and how far that lies from here."""

    value: float
    next: Mixture
    moved: float


@dataclass(frozen=True)
class Likelihood(Objective[Mixture]):
    """-1/n Σ log Σₖ πₖ N(xᵢ; mₖ, vₖI): it may cross zero, and nothing bounds it from below."""

    X: np.ndarray
    first: Mixture

    def origin(self):
        return self.first

    def project(self, point):
        total = point.shares.sum()
        return point if abs(total - 1.0) < 1e-12 else replace(point, shares=point.shares / total)

    @property
    def scale(self):
        """What a variance of twice the right one costs a row: no unit of X changes it."""
        return 0.5 * self.X.shape[1] * (np.log(2.0) - 0.5)

    def evaluate(self, point, *, exact=False):
        n, d = self.X.shape
        squares = ((self.X[:, None, :] - point.means) ** 2).sum(axis=2)
        logs = np.log(point.shares) - 0.5 * (
            squares / point.spreads + d * np.log(2 * np.pi * point.spreads)
        )
        top = logs.max(axis=1)
        q = np.exp(logs - top[:, None])
        value = -float((top + np.log(q.sum(axis=1))).mean())
        q /= q.sum(axis=1, keepdims=True)
        mass = q.sum(axis=0)
        means = (q.T @ self.X) / mass[:, None]
        apart = ((self.X[:, None, :] - means) ** 2).sum(axis=2)
        new = Mixture(mass / n, means, (q * apart).sum(axis=0) / (d * mass))
        unit = np.sqrt(new.spreads)
        moved = max(
            np.abs(new.shares - point.shares).max(),
            (np.linalg.norm(new.means - point.means, axis=1) / unit).max(),
            np.abs(np.log(new.spreads / point.spreads)).max(),
        )
        return Expectation(value, new, float(moved))

    def estimate(self, point, seen, decrement):
        return Certificate(seen.value, -np.inf, "estimate", residual=seen.moved, scale=self.scale)

    def certify(self, point, seen=None, dual=None, enough=1e-9):
        seen = self.evaluate(point)
        return Certificate(seen.value, -np.inf, "stationary", residual=seen.moved, scale=self.scale)


class Mixtures(ObjectiveNeed):
    words = "the likelihood of a mixture"

    @classmethod
    def met(cls, objective):
        return isinstance(objective, Likelihood)


@dataclass(frozen=True)
class EM(Solver):
    needs = (Mixtures,)

    def init(self, problem, start):
        return self._at(problem, problem.origin() if start is None else start)

    def step(self, problem, state):
        return self._at(problem, state.seen.next)

    def _at(self, problem, mixture):
        seen = problem.evaluate(mixture)
        return State(mixture, seen, seen.value - problem.evaluate(seen.next).value)


@pytest.fixture
def likelihood() -> Likelihood:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(-2.0, 0.5, (150, 2)), rng.normal(1.0, 1.0, (250, 2))])
    first = Mixture(np.full(2, 0.5), np.array([[-1.0, 0.0], [1.0, 0.0]]), np.ones(2))
    return Likelihood(X, first)


def test_em_closes_by_its_residual(likelihood) -> None:
    solution = minimise(likelihood, EM(), tol=1e-8, max_steps=500)
    proof = solution.certificate
    assert solution.converged and proof.kind == "stationary" and proof.residual <= 1e-8
    assert proof.bound == -np.inf and proof.relative_gap == np.inf  # nothing is said of the optimum
    assert "stationary point, perhaps not the best" in str(proof)
    values = [one.value for one in solution.history]
    assert all(b <= a + 1e-13 for a, b in pairwise(values))
    # A stationary point: no partial derivative is left.
    best = solution.point

    def value(**moved):
        return likelihood.evaluate(replace(best, **moved)).value

    for h in (1e-5, -1e-5):
        assert abs(value(means=best.means + h) - value()) < 1e-9
        assert abs(value(spreads=best.spreads * (1.0 + h)) - value()) < 1e-9
    assert_allclose(best.means.mean(axis=1), [-2.0, 1.0], atol=0.2)


def test_em_closes_where_the_likelihood_crosses_zero(likelihood) -> None:
    """In a unit in which the objective is about zero a gap relative to it would mean nothing."""
    known = minimise(likelihood, EM(), tol=1e-8, max_steps=500)
    unit = np.exp(-known.certificate.value / 2.0)
    first = likelihood.first
    moved = Mixture(first.shares, unit * first.means, unit**2 * first.spreads)
    other = minimise(Likelihood(unit * likelihood.X, moved), EM(), tol=1e-8, max_steps=500)
    assert other.converged and abs(other.certificate.value) < 1e-6
    assert_allclose(other.point.means, unit * known.point.means, rtol=1e-6)
    assert_allclose(other.certificate.scale, known.certificate.scale)
    assert abs(other.steps - known.steps) <= 1


def test_em_stopped_early_says_so(likelihood) -> None:
    with pytest.warns(NotCertified, match=r"max_iter=3: stationary residual .* Raise max_iter or"):
        solution = minimise(likelihood, EM(), tol=1e-8, max_steps=3)
    assert not solution.converged and solution.certificate.residual > 1e-8
    warm = minimise(likelihood, EM(), tol=1e-8, max_steps=500, start=solution.point)
    assert warm.converged


def test_starts_are_projected(likelihood) -> None:
    double = replace(likelihood.first, shares=np.ones(2))
    seen = []
    minimise(
        likelihood,
        EM(),
        start=double,
        tol=1e-8,
        callback=lambda step, point, proof: seen.append(point) or True,
    )
    assert_allclose(seen[0].shares, [0.5, 0.5])


def test_solvers_refuse_what_they_do_not_know(likelihood) -> None:
    with pytest.raises(ValueError, match="Newton needs a sum of losses over rows, not Likelihood"):
        minimise(likelihood, Newton())
    with pytest.raises(ValueError, match="does not know Likelihood: pass a solver made for it"):
        minimise(likelihood)
    with pytest.raises(ValueError, match="Lloyd needs squared distances to centres"):
        minimise(likelihood, Lloyd())
