"""A band that holds the whole ROC at once.

Let L₋(k), U₋(k) be bounds for the false positive rate of a threshold that k of the n₋ negatives
reach, and L₊, U₊ the same for positives. A group of tied scores with a negative in it, fp negatives
and tp positives at or above it, fp' and tp' strictly above, says of the true curve

    ROC(t) ≤ U₊(tp)   for t < L₋(fp)      and      ROC(t) ≥ L₊(tp')  for t ≥ U₋(fp')

provided that both classes keep to their bounds at all thresholds. The band is what all groups say.

"exact":      L, U = k/n ∓ ε, ε = √(log(2/δ)/(2n)), 1 - δ = √level (Dvoretzky, Kiefer, Wolfowitz,
              Massart): both classes keep to them with probability ≥ level, whatever their laws.
"bootstrap":  L, U the exact binomial bounds at error η/2 each: narrow near the corners. η is the
              largest for which the band, made of samples of the same sizes that are drawn from the
              estimated curve, holds that curve in the share `level` of them.

Reference: Massart, The tight constant in the Dvoretzky-Kiefer-Wolfowitz inequality, Annals of
Probability 18 (1990); Campbell, Advances in statistical methodology for the evaluation of
diagnostic tests, Statistics in Medicine 13 (1994); Aldor-Noiman et al., The power to see,
American Statistician 67 (2013), for bounds of equal error at every threshold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from fenchel.score.curves.curve import Curve
from fenchel.score.curves.score_counts import Floats, count_by_score
from fenchel.score.estimate import check_share
from fenchel.score.intervals.binomial_spline import spline_lower, spline_upper
from fenchel.score.intervals.roc_bayesian_bootstrap import RandomCurves
from fenchel.score.labels import marked

Method = Literal["bootstrap", "exact"]
SAMPLES = 2000
# Negatives at which the bands of samples are looked at; the statement of one between two of them
# is nearly theirs, so that more cost time and change nothing.
RANKS = 1 << 11
# Vertices of the curve that samples are drawn from: one as rough as a sample would be harder to
# hold than the true one is.
KNOTS = 24


@dataclass(frozen=True, slots=True, eq=False)
class ROCBand:
    """Bounds for the true ROC: lower[i] ≤ ROC(t) ≤ upper[i] for t in [fpr[i], fpr[i+1]).

    Attributes
    ----------
    fpr, lower, upper : array of shape (k,)
        False positive rates from 0 to 1, and the bounds from each of them on to the next.
    level : float
        The probability to hold the whole curve.
    method : str
        "exact" (at least `level`) or "bootstrap" (about `level`).
    """

    fpr: Floats
    lower: Floats
    upper: Floats
    level: float
    method: str

    def at(self, fpr: Any) -> tuple[Any, Any]:
        """The lower and the upper bound at some false positive rates."""
        t = np.asarray(fpr, dtype=np.float64)
        if not ((t >= 0.0) & (t <= 1.0)).all():
            raise ValueError("fpr must hold rates between 0 and 1")
        step = np.searchsorted(self.fpr, t, side="right") - 1
        return self.lower[step], self.upper[step]

    def contains(self, fpr: Any, tpr: Any) -> bool:
        """Whether a curve lies inside from end to end: points from fpr 0 to 1, joined by lines."""
        t, v = (np.asarray(rate, dtype=np.float64) for rate in (fpr, tpr))
        if t.shape != v.shape or t.ndim != 1 or t.size < 2:
            raise ValueError(
                f"fpr and tpr must be two rows of one length, got shapes {t.shape} and {v.shape}"
            )
        if (np.diff(t) < 0.0).any() or (np.diff(v) < 0.0).any() or t[0] != 0.0 or t[-1] != 1.0:
            raise ValueError("a curve must rise, from fpr = 0 to fpr = 1: order its points")
        # Neither falls, so that it suffices to look where the band steps: there the curve must
        # have risen to the new lower bound, and not yet beyond the old upper one.
        after = np.interp(self.fpr, t, v)
        before = -np.interp(-self.fpr[::-1], -t[::-1], -v[::-1])[::-1]
        return bool((after >= self.lower).all() and (before[1:] <= self.upper[:-1]).all())


def roc_band(
    y_true: Any,
    y_score: Any,
    *,
    level: float = 0.95,
    method: Method = "bootstrap",
    pos_label: Any = None,
    random_state: int = 0,
) -> ROCBand:
    """A simultaneous confidence band: the whole true ROC lies in it with probability `level`.

    Around each threshold the two rates have bounds, which make a rectangle; the band is the union
    of all that curves through every rectangle may reach (the formulas are those of
    this module). Rows are independent draws; ties only widen it.

    Parameters
    ----------
    y_true : array of shape (n,)
        Labels of two classes.
    y_score : array of shape (n,)
        Scores, higher for the positive class, of rows that did not train them.
    level : float, default 0.95
        Probability to hold the whole curve.
    method : {"bootstrap", "exact"}
        "exact" promises at least `level` for any law and any n, and is wide: the same distance in
        rate everywhere. "bootstrap" uses exact binomial bounds, narrow near the corners, at an
        error chosen on 2000 samples drawn from the estimated curve so that about `level` is met;
        in simulations with 40 to 120 rows of a class 95 % held 95 to 98 %.
    pos_label : label, optional
        The positive class; by default the greater label.
    random_state : int, default 0
        Seed of the samples.

    Returns
    -------
    ROCBand
        With `fpr`, `lower`, `upper`; `at(fpr)` and `contains(fpr, tpr)`.

    References
    ----------
    Massart, The tight constant in the Dvoretzky-Kiefer-Wolfowitz inequality, Annals of Probability
    18 (1990); Campbell, Advances in statistical methodology for the evaluation of diagnostic tests,
    Statistics in Medicine 13 (1994).

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import roc_band
    >>> y = np.arange(200) % 2
    >>> score = np.sin(np.arange(200.0)) + y
    >>> band = roc_band(y, score)
    >>> low, high = band.at(0.2)
    >>> print(f"{low:.2f} {high:.2f}")
    0.40 0.76
    >>> band.contains([0, 1], [0, 1])
    False
    """
    curve = Curve.gathered(count_by_score(marked(y_true, y_score, None, pos_label)))
    return curve_roc_band(curve, level=level, method=method, random_state=random_state)


def curve_roc_band(
    curve: Curve, *, level: float = 0.95, method: Method = "bootstrap", random_state: int = 0
) -> ROCBand:
    """The band of a curve; pooled groups count as ties."""
    level = check_share(level, "level")
    P, N = (int(total) for total in curve.both())
    if not curve.is_counted:
        raise ValueError("a band counts rows: its bounds hold for rows without sample_weight")
    if method not in ("bootstrap", "exact"):
        raise ValueError(f"method must be 'bootstrap' or 'exact', got {method!r}")
    bounds: _Bounds = _Even(1.0 - math.sqrt(level))
    if method == "bootstrap":
        bounds = _calibrated(curve, level, random_state)
    told = np.flatnonzero(curve.negative)
    fp, tp = curve.fp[told], curve.tp[told]
    above = tp - curve.positive[told]
    left, top = bounds.lower(fp, N), bounds.upper(tp, P)
    right, bottom = bounds.upper(fp - curve.negative[told], N), bounds.lower(above, P)
    fpr = np.unique(np.concatenate([[0.0, 1.0], left, right]))
    lower = np.append(0.0, bottom)[np.searchsorted(right, fpr, side="right")]
    upper = np.append(top, 1.0)[np.searchsorted(left, fpr, side="right")]
    turn = np.append(True, (np.diff(lower) > 0.0) | (np.diff(upper) > 0.0))
    turn[-1] = True
    return ROCBand(fpr[turn], lower[turn], upper[turn], level, method)


class _Bounds(Protocol):
    """Bounds for the rates of k hits in n, at every k at once."""

    def lower(self, k: Any, n: int) -> Floats: ...

    def upper(self, k: Any, n: int) -> Floats: ...


@dataclass(frozen=True, slots=True)
class _Even:
    """k/n ∓ ε: missed anywhere with probability at most δ."""

    delta: float

    def _reach(self, n: int) -> float:
        return math.sqrt(math.log(2.0 / self.delta) / (2.0 * n))

    def lower(self, k: Any, n: int) -> Floats:
        return np.asarray(np.maximum(k / n - self._reach(n), 0.0))

    def upper(self, k: Any, n: int) -> Floats:
        return np.asarray(np.minimum(k / n + self._reach(n), 1.0))


@dataclass(frozen=True, slots=True)
class _Binomial:
    """Each missed, at a k fixed beforehand, with probability at most η/2."""

    eta: float

    def lower(self, k: Any, n: int) -> Floats:
        return spline_lower(k, n, 0.5 * self.eta)

    def upper(self, k: Any, n: int) -> Floats:
        return spline_upper(k, n, 0.5 * self.eta)


def _calibrated(curve: Curve, level: float, seed: int) -> _Binomial:
    """The bounds whose band holds the estimated curve in the share `level` of samples from it."""
    mean = RandomCurves.of(curve).thinned(KNOTS).mean()
    fpr, tpr = mean.fpr[0], mean.tpr[0]
    P, N = int(curve.n_positive), int(curve.n_negative)
    rank = _ranks(N)
    above = _samples(fpr, tpr, P, N, rank, seed)
    every = np.arange(P + 1)

    def holds(bounds: _Binomial) -> float:
        """Share of the samples whose band holds the curve: at the negative of rank k, with j
        positives above it, ROC(L₋(k)) ≤ U₊(j) and ROC(U₋(k - 1)) ≥ L₊(j)."""
        top, bottom = bounds.upper(every, P), bounds.lower(every, P)
        least = np.searchsorted(top, np.interp(bounds.lower(rank, N), fpr, tpr))
        reached = np.interp(bounds.upper(rank - 1, N), fpr, tpr)
        most = np.searchsorted(bottom, reached, side="right") - 1
        return float(((above >= least) & (above <= most)).all(axis=1).mean())

    low, high = math.log(1e-3 * (1.0 - level)), math.log(0.5)
    for _ in range(12):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if holds(_Binomial(math.exp(middle))) >= level else (low, middle)
    return _Binomial(math.exp(low))


def _ranks(n: int) -> NDArray[np.int64]:
    """1 … n, or RANKS of them, evenly in log odds."""
    if n <= RANKS:
        return np.arange(1, n + 1)
    odds = np.exp(np.linspace(-math.log(n), math.log(n), RANKS))
    return np.unique(np.rint((n + 1) * odds / (1.0 + odds)).astype(np.int64).clip(1, n))


def _samples(
    fpr: Floats, tpr: Floats, P: int, N: int, rank: NDArray[np.int64], seed: int
) -> NDArray[np.int32]:
    """How many of P positives lie above the N negatives of these ranks, in samples of a curve."""
    rng = np.random.default_rng(seed)
    above = np.empty((SAMPLES, rank.size), np.int32)
    shape = np.diff(rank, prepend=0, append=N + 1).astype(np.float64)
    step = max(1, (1 << 18) // rank.size)
    for start in range(0, SAMPLES, step):
        part = above[start : start + step]
        sums = np.cumsum(rng.standard_gamma(shape, (part.shape[0], shape.size)), axis=1)
        rate = np.interp(sums / sums[:, -1:], fpr, tpr)
        share = np.diff(rate, axis=1, prepend=0.0)
        np.cumsum(rng.multinomial(P, share)[:, :-1], axis=1, out=part)
    return above
