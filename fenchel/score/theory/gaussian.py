"""Two Gaussian classes: rows to draw, and everything that can be known about them, exactly.

f₀, f₁ the densities of the classes, p = P(Y = 1), M(s) = ∫ f₁ˢ f₀¹⁻ˢ, t = log((1 − p)/p):
R*       = (√(p(1 − p)) / π) ∫₀^∞ Re[M(½ + iu) e^{−iut}] / (u² + ¼) du
1 − AUC* = (1 / 2π) ∫₀^∞ |M(½ + iu)|² / (u² + ¼) du
Both invert the law of log f₁/f₀ on the line Re s = ½, where the poles 0 and 1 are farthest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import expit, log_ndtr, ndtr, ndtri

from fenchel.score.estimate import Estimate, check_share

Floats = NDArray[np.float64]

STEP = 1.0 / 14.0  # of the trapezoid rule, whose error is of the order of e^{−0.8π/STEP}
NODES = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class GaussianClasses:
    """Two Gaussian classes N(μ₀, Σ₀) and N(μ₁, Σ₁), the second with probability `prior`.

    η(x) = P(Y = 1 | x) = 1 / (1 + e^{−s(x)}),  s(x) = log (p f₁(x) / ((1 − p) f₀(x)))

    Parameters
    ----------
    means : array of shape (2, d) or (2,)
        Of class 0 and of class 1.
    covariance : float, (2,), (d, d) or (2, d, d), default 1
        A number is a multiple of the identity, two numbers one multiple a class; a matrix is
        shared, two matrices are one a class.
    prior : float, default 0.5
        p = P(Y = 1).

    Attributes
    ----------
    means : array (2, d)
    covariance : array (2, d, d)
    prior : float

    Examples
    --------
    >>> from fenchel import GaussianClasses
    >>> classes = GaussianClasses([[0.0, 0.0], [1.0, 1.0]], prior=0.3)
    >>> X, y = classes.sample(1000, random_state=0)
    >>> X.shape, classes.eta(X).shape
    ((1000, 2), (1000,))
    >>> print(f"{classes.bayes_risk():.6f} {classes.auc_star():.6f}")
    0.204117 0.841345
    """

    means: Any
    covariance: Any = 1.0
    prior: float = 0.5

    def __post_init__(self) -> None:
        means = np.array(self.means, dtype=np.float64)
        means = means[:, None] if means.ndim == 1 else means
        if means.ndim != 2 or means.shape[0] != 2 or not means.shape[1]:
            raise ValueError(f"means must be two rows of d numbers, got shape {means.shape}")
        covariance = _covariances(self.covariance, means.shape[1])
        for name, array in (("means", means), ("covariance", covariance)):
            if not np.isfinite(array).all():
                raise ValueError(f"{name} must be finite")
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        object.__setattr__(self, "prior", check_share(self.prior, "prior"))
        for k in (0, 1):
            self._root(k)

    @property
    def is_shared(self) -> bool:
        """Whether both classes have the same covariance: then s(x) is linear."""
        return bool(np.array_equal(self.covariance[0], self.covariance[1]))

    def sample(self, n: int, random_state: Any = None) -> tuple[Floats, NDArray[np.int64]]:
        """n independent rows X and labels y, 0 or 1; a seed or numpy Generator fixes them."""
        draw = np.random.default_rng(random_state)
        y = (draw.random(n) < self.prior).astype(np.int64)
        X = draw.standard_normal((n, self.means.shape[1]))
        for k in (0, 1):
            X[y == k] = X[y == k] @ self._root(k).T + self.means[k]
        return X, y

    def score(self, X: Any) -> Floats:
        """The log odds s(x) = log (p f₁(x) / ((1 − p) f₀(x))) of each row."""
        rows = np.asarray(X, dtype=np.float64)
        d = self.means.shape[1]
        if rows.ndim != 2 or rows.shape[1] != d:
            raise ValueError(f"X must have {d} columns, got shape {rows.shape}")
        if self.is_shared:  # the squares cancel: without them no digit is lost far from the means
            root = self._root(0)
            shift = solve_triangular(root, self.means[1] - self.means[0], lower=True)
            white = solve_triangular(root, (rows - self.means.mean(axis=0)).T, lower=True)
            return shift @ white + self._logit()
        value = np.full(rows.shape[0], self._logit())
        for k, sign in ((0, 0.5), (1, -0.5)):
            root = self._root(k)
            white = solve_triangular(root, (rows - self.means[k]).T, lower=True)
            value += sign * ((white * white).sum(axis=0) + 2.0 * np.log(root.diagonal()).sum())
        return value

    def eta(self, X: Any) -> Floats:
        """η(x) = P(Y = 1 | x) of each row."""
        return expit(self.score(X))

    def bayes_risk(self) -> Estimate:
        """R* = E min(η, 1 − η), the least error of any classifier.

        Equal covariances, with Δ² = (μ₁ − μ₀)' Σ⁻¹ (μ₁ − μ₀) and t = log((1 − p)/p):
        R* = (1 − p) Φ(−t/Δ − Δ/2) + p Φ(t/Δ − Δ/2). Where one direction tells the classes apart it
        is a sum of Φ between the roots of s. Else it is the integral above, and the interval
        [low, high] holds the error of its trapezoid sum: proved, but for rounding.
        """
        p, v, m = self.prior, *self._axes()
        t = -self._logit()
        if (v == 1.0).all():
            distance = float(np.linalg.norm(m))
            if distance == 0.0:
                return _closed(min(p, 1.0 - p))
            far = np.array([-t / distance, t / distance]) - 0.5 * distance
            return _closed(float(np.exp(log_ndtr(far) + np.log([1.0 - p, p])).sum()))
        if v.size == 1:
            return _closed(_risk_on_a_line(p, float(v[0]), float(m[0])))
        size = math.sqrt(p * (1.0 - p))

        def integrand(u: Floats) -> Floats:
            return np.exp(_log_overlap(0.5 + 1j * u, v, m) - 1j * u * t).real

        # The bound of the sum on the lines Re s = ½ ± 0.4, where the poles add an integral < 8.1.
        edge = max(abs(np.exp(_log_overlap(0.5 + a, v, m) - a * t)) for a in (-0.4, 0.4))
        return _summed(integrand, v, m, 1, size / math.pi, float(edge))

    def auc_star(self) -> Estimate:
        """AUC* = P(η(X₁) > η(X₀)), the largest area under a ROC curve.

        Equal covariances: Φ(Δ / √2). Else the integral above, with the error of its trapezoid sum
        in [low, high].
        """
        v, m = self._axes()
        if (v == 1.0).all():
            return _closed(float(ndtr(np.linalg.norm(m) / math.sqrt(2.0))))

        def integrand(u: Floats) -> Floats:
            return np.exp(2.0 * _log_overlap(0.5 + 1j * u, v, m).real)

        edge = math.exp(sum(_log_overlap(0.5 + a, v, m).real for a in (-0.4, 0.4)))
        below = _summed(integrand, v, m, 2, 0.5 / math.pi, edge)
        return Estimate(
            1.0 - below, 1.0 - below.high, 1.0 - below.low, level=1.0, method=below.method
        )

    def true_roc(self, fpr: Any) -> Any:
        """True positive rate of s at each false positive rate: Φ(Φ⁻¹(fpr) + Δ).

        For equal covariances only: the curve of others has no closed form.
        """
        return ndtr(ndtri(np.asarray(fpr, dtype=np.float64)) + self._distance())[()]

    def true_rates(self, threshold: Any) -> tuple[Any, Any]:
        """(false, true) positive rate of flagging s(x) > threshold; equal covariances only."""
        far = self._logit() - np.asarray(threshold, dtype=np.float64)
        distance = self._distance()
        if distance == 0.0:
            flagged = (far > 0.0).astype(np.float64)[()]
            return flagged, flagged
        return ndtr(far / distance - 0.5 * distance), ndtr(far / distance + 0.5 * distance)

    def _distance(self) -> float:
        """Δ, the distance of the means in units of the common spread."""
        if not self.is_shared:
            raise ValueError(
                "the classes have different covariances, and their ROC curve no closed form: "
                "draw a sample and take its curve"
            )
        return float(np.linalg.norm(self._axes()[1]))

    def _logit(self) -> float:
        return math.log(self.prior) - math.log1p(-self.prior)

    def _root(self, k: int) -> Floats:
        try:
            return np.linalg.cholesky(self.covariance[k])
        except np.linalg.LinAlgError:
            raise ValueError(f"the covariance of class {k} is not positive definite") from None

    def _axes(self) -> tuple[Floats, Floats]:
        """Variances v and means m of class 1 on axes where class 0 is N(0, I); those without a
        difference are left out."""
        root = self._root(0)
        shift = solve_triangular(root, self.means[1] - self.means[0], lower=True)
        if self.is_shared:
            return np.ones(shift.size), shift
        other = solve_triangular(root, self._root(1), lower=True)
        turn, spread, _ = np.linalg.svd(other)
        v, m = spread**2, turn.T @ shift
        dust = 8.0 * v.size * np.finfo(np.float64).eps  # moves no answer by more than rounding
        told = (np.abs(v - 1.0) > dust) | (np.abs(m) > dust)
        return v[told], m[told]


def _covariances(value: Any, d: int) -> Floats:
    given = np.array(value, dtype=np.float64)
    if given.shape in ((), (2,)):
        return np.ones((2, 1, 1)) * given.reshape(-1, 1, 1) * np.eye(d)
    if given.shape not in ((d, d), (2, d, d)):
        raise ValueError(
            f"covariance must be a number, two numbers, a ({d}, {d}) matrix or two of them for "
            f"means of {d} entries, got shape {given.shape}"
        )
    if not np.array_equal(given, np.swapaxes(given, -1, -2)):
        raise ValueError("covariance must be symmetric: take (S + S.T) / 2 if rounding is to blame")
    return np.broadcast_to(given, (2, d, d)).copy()


def _log_overlap(s: Any, v: Floats, m: Floats) -> Any:
    """log M(s) = Σᵢ (1 − s)/2 log vᵢ − ½ log wᵢ − s(1 − s) mᵢ² / (2wᵢ), wᵢ = s + (1 − s) vᵢ."""
    s = np.asarray(s, dtype=np.complex128)
    value = np.zeros_like(s)
    for variance, mean in zip(v.tolist(), m.tolist(), strict=True):
        w = s + (1.0 - s) * variance
        value += 0.5 * (1.0 - s) * math.log(variance) - 0.5 * np.log(w)
        value -= (0.5 * mean * mean) * s * (1.0 - s) / w
    return value[()]


def _summed(integrand: Any, v: Floats, m: Floats, power: int, size: float, edge: float) -> Estimate:
    """size · ∫₀^∞ integrand(u) / (u² + ¼) du by the trapezoid rule, with a bound of its error.

    |M(½ + iu)| falls with u, which bounds what lies beyond the last node by |M|^power / u. The
    integrand is analytic for |Re s − ½| < ½ and on the lines at ±0.4 at most edge / |s(1 − s)|.
    """

    def rest(u: float) -> float:
        return math.exp(power * _log_overlap(0.5 + 1j * u, v, m).real) / u

    whole = math.exp(power * _log_overlap(0.5, v, m).real)
    last = 16.0
    while last < NODES * STEP and rest(last) > 1e-14 * whole:
        last *= 2.0
    total, nodes = 0.0, round(last / STEP)
    for start in range(0, nodes, 1 << 17):
        u = STEP * np.arange(start, min(start + (1 << 17), nodes), dtype=np.float64)
        terms = integrand(u) / (u * u + 0.25)
        total += float(terms.sum()) - (0.5 * float(terms[0]) if start == 0 else 0.0)
    value = size * STEP * total
    error = size * (rest(last - STEP) + 8.1 * edge / math.expm1(0.8 * math.pi / STEP))
    error += 4.0 * np.finfo(np.float64).eps * size * math.pi * whole * math.sqrt(nodes)
    return Estimate(value, value - error, value + error, level=1.0, method="contour integral")


def _risk_on_a_line(p: float, v: float, m: float) -> float:
    """R* of N(0, 1) and N(m, v), v ≠ 1: the sign of s changes at the roots of a z² + b z + c."""
    a, b = 0.5 - 0.5 / v, m / v
    c = math.log(p) - math.log1p(-p) - 0.5 * math.log(v) - 0.5 * m * m / v
    if b * b <= 4.0 * a * c:  # one class everywhere
        return min(p, 1.0 - p)
    q = -0.5 * (b + math.copysign(math.sqrt(b * b - 4.0 * a * c), b))
    low, high = sorted((q / a, c / q)) if q else (0.0, 0.0)
    spread = math.sqrt(v)

    def between(mean: float, deviation: float) -> float:
        a, b = (low - mean) / deviation, (high - mean) / deviation
        a, b = (-b, -a) if a > 0.0 else (a, b)  # in the tail whose shares keep their digits
        return float(ndtr(b) - ndtr(a))

    def outside(mean: float, deviation: float) -> float:
        return float(ndtr((low - mean) / deviation) + ndtr((mean - high) / deviation))

    # Between the roots s has the sign opposite to a.
    if a > 0.0:
        return (1.0 - p) * outside(0.0, 1.0) + p * between(m, spread)
    return (1.0 - p) * between(0.0, 1.0) + p * outside(m, spread)


def _closed(value: float) -> Estimate:
    return Estimate(value, value, value, level=1.0, method="closed form")
