"""The loss of all pairs: its sums against their definition, its gap attacked, its answer compared
with the same problem on listed pairs."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest

from fenchel import NotCertified, minimise, threads
from fenchel.convex.loss.hinge import Hinge, SquaredHinge
from fenchel.convex.loss.margin import Logistic
from fenchel.convex.penalty import L2
from fenchel.convex.problem import Problem
from fenchel.convex.ranking.objective import Ranking
from fenchel.convex.ranking.pair_sums import CLOSE, PANEL, REACH, _panels, pair_sums
from fenchel.data.design.matrix import MatrixDesign
from fenchel.data.intake import as_blocks
from fenchel.data.pairs.target_tree import TargetPairs
from tests.oracles import convex as oracles

LOSSES = [Hinge(), SquaredHinge(), Logistic()]
WIDTH = 0.25


def name(loss):
    return type(loss).__name__


def phi(loss):
    return {
        "Hinge": lambda t: max(0.0, 1 - t),
        "SquaredHinge": lambda t: max(0.0, 1 - t) ** 2,
        "Logistic": lambda t: math.log1p(math.exp(-t)) if t > -30 else -t,
    }[name(loss)]


def slope(loss, width):
    """φ′, of the envelope where φ has a kink."""
    return {
        "Hinge": lambda t: -min(max((1 - t) / width, 0.0), 1.0),
        "SquaredHinge": lambda t: -2 * max(0.0, 1 - t),
        "Logistic": lambda t: -1 / (1 + math.exp(min(t, 700.0))),
    }[name(loss)]


def envelope(t, width):
    u = min(max((1 - t) / width, 0.0), 1.0)
    return u * (1 - t) - width * u * u / 2


# Few and many targets, scores near, far and tied, weights that vanish, groups small and large.
CASES = [
    # n, grades, groups, scale, weighted
    (5, 3, 1, 1.0, False),
    (60, 4, 1, 1.0, True),
    (250, 10**6, 1, 1.0, True),
    (320, 3, 1, 2.0, False),
    (320, 10**6, 1, 3.0, False),
    (600, 10**6, 2, 40.0, True),
    (300, 5, 40, 1.0, True),
    (300, 200, 1, 1e5, False),
    (300, 200, 1, 1e-9, False),
]


def case(n, grades, groups, scale, weighted, seed=0):
    rng = np.random.default_rng([seed, n, groups])
    y = np.floor(rng.uniform(size=n) * grades)
    z = np.round(rng.normal(size=n), 2) * scale
    g = rng.integers(0, groups, n)
    s = rng.choice([0.0, 0.5, 1.0, 3.0], n) if weighted else np.ones(n)
    return y, g, s, z


@pytest.mark.parametrize("loss", LOSSES, ids=name)
@pytest.mark.parametrize("setting", CASES, ids=str)
def test_sums_are_their_definition(loss, setting) -> None:
    y, g, s, z = case(*setting)
    found = pair_sums(loss, TargetPairs.of(y, g, s), z, WIDTH)
    value = oracles.pair_mean(phi(loss), y, g, s, z)
    force = oracles.pair_forces(slope(loss, WIDTH), y, g, s, z)
    assert found.value == pytest.approx(value, rel=2e-13)
    np.testing.assert_allclose(found.force, force, rtol=1e-10, atol=1e-12 * np.abs(force).max())
    if name(loss) == "Hinge":
        smooth = oracles.pair_mean(lambda t: envelope(t, WIDTH), y, g, s, z)
        short = oracles.pair_mean(
            lambda t: max(0.0, 1 - t) * (1 - min(max((1 - t) / WIDTH, 0), 1)), y, g, s, z
        )
        assert found.smooth == pytest.approx(smooth, rel=1e-12)
        assert found.short == pytest.approx(short, rel=1e-10, abs=1e-15 * value)
    else:
        assert found.smooth == found.value and found.short == 0.0
    assert np.abs(found.force - force).sum() <= found.stray + 1e-13 * np.abs(force).sum()
    assert found.stray <= 1e-11 * (1 + abs(z).max()) * (1 + value)


@pytest.mark.parametrize("margin", [36.0, 60.0])
@pytest.mark.parametrize("rows", [3, 70, 600])  # a target: one by one, and by panels
def test_losses_that_are_tiny_keep_their_digits(rows, margin) -> None:
    y = np.repeat([0.0, 1.0, 2.0], rows)
    z = margin * y + np.tile(np.arange(rows), 3) / rows
    pairs = TargetPairs.of(y)
    found = pair_sums(Logistic(), pairs, z, 1.0)
    t = (z[:, None] - z)[y[:, None] > y]
    value = math.fsum(np.log1p(np.exp(-t)).tolist()) / len(t)
    assert abs(found.value - value) <= found.error + 8.0 * margin * 2.0**-52 * value
    panels = len(pairs.spans[1]) > 0  # which leave out what is below e⁻⁴⁰
    assert panels or found.error <= 1e-11 * value


@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_forces_are_derivatives(loss) -> None:
    y, g, s, z = case(40, 10**6, 2, 1.0, True)
    pairs, h = TargetPairs.of(y, g, s), 1e-6
    force = pair_sums(loss, pairs, z, WIDTH).force
    for k in range(0, 40, 7):
        e = h * (np.arange(40) == k)
        up, down = (pair_sums(loss, pairs, z + sign * e, WIDTH).smooth for sign in (1, -1))
        assert force[k] == pytest.approx((up - down) / (2 * h), abs=1e-8)


def test_panels_are_as_close_as_they_say() -> None:
    """σ and log(1 + e⁻ᵗ) between panels, to less than CLOSE of themselves."""
    from numpy.polynomial.chebyshev import chebval2d

    x = np.linspace(-1, 1, 33)
    X, Y = np.meshgrid(x, x, indexing="ij")
    for coefficients, f in zip(_panels(), (slope(Logistic(), 0), phi(Logistic())), strict=True):
        for k in range(-REACH, REACH + 1, 3):
            t = PANEL * (k + 0.5 * (X - Y))
            exact = np.abs(np.vectorize(f)(t))
            near = chebval2d(X, Y, coefficients[k + REACH].T)
            assert (np.abs(near - exact) <= CLOSE * exact).all()


@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_same_bits_for_any_number_of_threads(loss) -> None:
    rng = np.random.default_rng(3)
    y, z = rng.normal(size=30_000), rng.normal(size=30_000)
    pairs = TargetPairs.of(y, rng.integers(0, 2, 30_000))
    with threads(1):
        one = pair_sums(loss, pairs, z, 0.01)
    with threads(2):
        two = pair_sums(loss, pairs, z, 0.01)
    assert one.value == two.value and np.array_equal(one.force, two.force)


@pytest.mark.parametrize("setting", CASES, ids=str)
def test_concordance_is_its_definition(setting) -> None:
    y, g, s, z = case(*setting)
    expected = oracles.concordance(y, g, s, z)
    assert TargetPairs.of(y, g, s).concordance(z) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("setting", CASES[:-2], ids=str)
def test_pairs_in_a_window(setting) -> None:
    y, g, s, z = case(*setting)
    pairs = TargetPairs.of(y, g, s)
    listed = {(i, j): w for i, j, w in oracles.pairs(y, g, s) if -0.3 <= z[i] - z[j] < 0.7}
    i, j, w, stride = pairs.between(z, -0.3, 0.7, 10**6)
    assert stride == 1
    assert dict(zip(zip(i.tolist(), j.tolist(), strict=True), w.tolist(), strict=True)) == listed
    some = pairs.between(z, -0.3, 0.7, 500)
    assert len(some[0]) <= 500
    assert set(zip(some[0].tolist(), some[1].tolist(), strict=True)) <= set(listed)
    if len(listed) > 500:
        assert len(some[0]) >= 240 and some[3] > 1
        assert some[2].sum() == pytest.approx(sum(listed.values()), rel=0.3)


# -------------------------------------------------------------------------------------- the problem


def ranking(loss, X, y, lam, groups=None, weight=None):
    return Ranking(loss, L2(lam), MatrixDesign(as_blocks(X)), TargetPairs.of(y, groups, weight))


def listed(loss, X, y, lam, groups, weight):
    """The same as empirical risk on one row xᵢ - xⱼ for each pair."""
    pairs = oracles.pairs(y, groups, weight)
    D = np.array([X[i] - X[j] for i, j, _ in pairs])
    s = np.array([s for _, _, s in pairs])
    design = MatrixDesign(as_blocks(D, np.ones(len(D)), s))
    return Problem(loss, L2(lam), design, intercept=False)


def table(seed, n=30, d=4, kind="normal"):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = X @ rng.normal(size=d) + rng.normal(size=n)
    if kind == "ties":
        X, y = np.round(X), np.round(y)
    if kind == "copies":
        X, y = np.repeat(X[: n // 3], 3, axis=0), np.repeat(np.round(y[: n // 3], 1), 3)
    return X, y


@pytest.mark.parametrize("loss", LOSSES, ids=name)
@pytest.mark.parametrize("kind", ["normal", "ties", "copies"])
def test_answer_is_that_of_the_listed_pairs(loss, kind) -> None:
    X, y = table(1, 24, 3, kind)
    g = np.arange(len(y)) % 2
    s = np.random.default_rng(0).choice([0.0, 1.0, 2.5], len(y))
    for lam in (1e-3, 1.0):
        mine = minimise(ranking(loss, X, y, lam, g, s), tol=1e-7, max_steps=200)
        whole = listed(loss, X, y, lam, g, s)
        value = whole.evaluate(mine.point, exact=True).value
        assert mine.converged
        assert mine.certificate.value == pytest.approx(value, rel=1e-12)
        if name(loss) != "Hinge":
            theirs = minimise(whole, tol=1e-10)
            assert mine.certificate.bound <= theirs.certificate.value
            np.testing.assert_allclose(mine.point[0], theirs.point[0], atol=1e-3)
        # The optimum of the listed pairs lies between value and bound: no point beats the bound.
        rng = np.random.default_rng(2)
        for size in (1e-6, 1e-3, 0.1):
            for _ in range(20):
                w = mine.point[0] + size * rng.normal(size=X.shape[1])
                assert whole.evaluate((w, 0.0), exact=True).value >= mine.certificate.bound


@pytest.mark.parametrize("loss", LOSSES, ids=name)
@pytest.mark.parametrize("seed", range(5))
def test_no_point_beats_the_bound_of_another(loss, seed) -> None:
    """Weak duality at random points of random size: bound(w) ≤ P(v) for all w and v."""
    rng = np.random.default_rng(seed)
    X, y = table(seed, 20, 3, ["normal", "ties", "copies"][seed % 3])
    X = X * 10.0 ** rng.integers(-3, 4)
    problem = ranking(loss, X, y, 10.0 ** rng.integers(-4, 2))
    points = [(rng.normal(size=3) * 10.0 ** rng.integers(-4, 3), 0.0) for _ in range(12)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCertified)
        points.append(minimise(problem, tol=1e-9, max_steps=60).point)
    values = [problem.evaluate(point).value for point in points]
    for point in points:
        for width in (1.0, 1e-2, 1e-5):
            seen = problem.evaluate(point, width=width)
            proof = problem.certify(point, seen)
            assert proof.bound <= min(values) * (1 + 1e-13)
            assert proof.value == pytest.approx(seen.value, rel=1e-12)
        if problem.kinked:
            for width in (1.0, 1e-6):
                own = problem.polished(point[0], width)
                assert own is None or own.bound <= min(values) * (1 + 1e-13)


def test_the_gap_is_that_of_the_listed_pairs() -> None:
    X, y = table(3)
    ones, zeros = np.ones(len(y)), np.zeros(len(y))
    w = np.random.default_rng(0).normal(size=4)
    for loss in (SquaredHinge(), Logistic()):
        mine = ranking(loss, X, y, 0.1).certify((w, 0.0))
        theirs = listed(loss, X, y, 0.1, zeros, ones).certify((w, 0.0))
        assert mine.value == pytest.approx(theirs.value, rel=1e-12)
        assert mine.bound == pytest.approx(max(theirs.bound, 0.0), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("n", [2, 3, 5, 8])
@pytest.mark.parametrize("kind", ["normal", "ties"])
def test_few_rows_and_a_hinge(n, kind) -> None:
    """All that remains of the objective is its kinks."""
    for seed in range(6):
        X, y = table(seed, n, 2, kind)
        y[0] += 3.0
        for lam in (1e-2, 1.0):
            for tol in (1e-6, 1e-9):
                found = minimise(ranking(Hinge(), X, y, lam), tol=tol, max_steps=400)
                assert found.converged, (seed, lam, tol, found.certificate)


def test_float64_gives_up_aloud() -> None:
    X, y = table(0, 9, 5)
    with pytest.warns(NotCertified):
        found = minimise(ranking(Hinge(), 1e3 * X, y, 1e-9), tol=1e-15, max_steps=100)
    assert not found.converged and found.certificate.relative_gap > 1e-15


def test_a_sample_and_few_of_the_pairs() -> None:
    """Enough rows for a sample to begin with, and a Hessian from one pair in many."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 3))
    y = X[:, 0] + rng.normal(size=9000)
    g = rng.integers(0, 300, 9000)
    for groups in (None, g):
        for loss in LOSSES:
            problem = ranking(loss, X, y, 1e-3, groups)
            small = problem.sampled(1000)
            assert small is not None and 500 < small.design.n_rows < 2500
            found = minimise(problem, tol=1e-7)
            assert found.converged and found.steps < 40
            again = minimise(problem, tol=1e-7, start=replace(found.state))
            assert again.converged


def test_rows_that_never_meet_leave_no_sample() -> None:
    y = np.r_[np.zeros(10), np.ones(10)]
    groups = np.r_[0, 0, np.arange(1, 10), 0, np.arange(1, 9)]
    assert len(groups) == 20
    problem = ranking(Logistic(), np.zeros((20, 1)), y, 1.0, groups)
    assert problem.sampled(1) is None
