"""The area under the ROC with its interval, and the comparison of two scores on the same rows.

V(i) = P̂(score of a negative < s_i) + ½ P̂(= s_i)  for a positive i,
U(j) = P̂(score of a positive > s_j) + ½ P̂(= s_j)  for a negative j,      AUC = mean V = mean U
Var(AUC) ≈ k₊/(k₊ - 1) Σ wᵢ²(V(i) - AUC)² / (Σ wᵢ)²  +  the same for U over the negatives,
with k = (Σ w)²/Σ w² the number of rows that a class is worth; with unit weights this is DeLong's
estimate. Rows are independent draws; weights are fixed numbers that belong to them.

Reference: DeLong, DeLong and Clarke-Pearson, Comparing the areas under two or more correlated
receiver operating characteristic curves, Biometrics 44 (1988); Pepe, The statistical evaluation of
medical tests (2003), section 5.2 (logit scale); Hoeffding, Probability inequalities for sums of
bounded random variables, JASA 58 (1963), section 5 (averages over pairs).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtr, ndtri, rel_entr, stdtrit

from fenchel.data.reduction import Totals, tree_sum
from fenchel.score.area.auc_comparison import AUCComparison
from fenchel.score.curves.curve import Curve
from fenchel.score.curves.score_counts import MANY, Floats, ScoreCounts, SortedRuns, count_by_score
from fenchel.score.estimate import Estimate, check_share
from fenchel.score.labels import LabelledScores, column, marked
from fenchel.score.metrics.confusion import is_one

NOTHING = 1e-14  # what rounding leaves of a spread, or of a difference, that is zero
FINE = 1e-16  # to which the ends of an interval are found
Method = Literal["logit", "plain", "guaranteed"]


def auc(
    y_true: Any,
    y_score: Any,
    *,
    sample_weight: Any = None,
    pos_label: Any = None,
    level: float | None = None,
    method: Method = "logit",
) -> float:
    """P(score of a positive > score of a negative) + ½ P(equal): the area under the ROC.

    O(n log n), the interval included. With weights a pair counts the product of its weights.

    Parameters
    ----------
    y_true : array of shape (n,)
        Labels of two classes.
    y_score : array of shape (n,)
        Scores, higher for the positive class; infinite ones are fine, NaN is an error. One number
        is the score of every row, whose area is ½ for every law, exactly; a column of equal scores
        may be chance, and has an interval.
    sample_weight : array of shape (n,), optional
        Weights of the rows.
    pos_label : label, optional
        The positive class; by default the greater label.
    level : float, optional
        Give the area with its interval of this coverage, as an `Estimate`.
    method : {"logit", "plain", "guaranteed"}
        "logit" is DeLong's interval on the logit scale with a t quantile, "plain" the symmetric one
        with a normal quantile, as R's pROC gives it. Both are approximations, and fail where few
        rows of one class meet an area near 1: with 20 positives and an area of 0.95 the logit
        interval covers 90 % and not 95 %. "guaranteed" covers at least `level` for every law: the
        areas θ with k KL(AUC, θ) ≤ log(2/(1 - level)), k = min(n₊, n₋), and is wider. Where the
        classes are perfectly apart DeLong's variance is 0 and says nothing: the first two then
        give the exact interval of k disjoint pairs, all in order.

    Returns
    -------
    float or Estimate
        The area; with `level`, its interval too.

    Examples
    --------
    >>> from fenchel import auc
    >>> y, score = [0, 0, 0, 1, 1, 1], [0.1, 0.3, 0.6, 0.4, 0.8, 0.9]
    >>> round(auc(y, score), 4)
    0.8889
    >>> print(auc(y, score, level=0.95))
    0.8889 [0.08803, 0.9985] (95 %, DeLong, logit scale)
    """
    one = is_one(y_score)
    if one:
        y_score = np.full(len(column(y_true, "y")), float(y_score))
    rows = marked(y_true, y_score, sample_weight, pos_label)
    level = None if level is None else check_share(level, "level")
    _check_method(method, weighted=rows.weight is not None)
    if one and level is not None:
        return Estimate.exact(0.5, level=level, reason="the prediction is constant")
    if rows.weight is None and rows.score.size >= MANY:
        area, spread = _in_buckets(SortedRuns.of(rows), with_spread=level is not None)
    else:
        groups = count_by_score(rows)
        area = Curve.gathered(groups).auc()
        spread = None if level is None else _spread(groups, area)
    if level is None or spread is None:
        return area
    return area_interval(area, spread, level, method)


def _check_method(method: str, *, weighted: bool) -> None:
    if method not in ("logit", "plain", "guaranteed"):
        raise ValueError(f"method must be 'logit', 'plain' or 'guaranteed', got {method!r}")
    if method == "guaranteed" and weighted:
        raise ValueError("method='guaranteed' is for rows of equal weight: leave sample_weight out")


@dataclass(frozen=True, slots=True)
class Spread:
    """Sums of squares about the area over positives and negatives, and the size of the classes."""

    squares: tuple[float, float]
    total: tuple[float, float]
    total2: tuple[float, float]

    @property
    def worth(self) -> tuple[float, float]:
        """The number of rows of equal weight that each class is worth."""
        (P, N), (P2, N2) = self.total, self.total2
        return P * (P / P2), N * (N / N2)

    @property
    def variance(self) -> float:
        """Of the area; NaN where a class has one effective row: no estimate of its variance."""
        return sum(self._parts)

    @property
    def freedom(self) -> float:
        """Degrees of freedom of that variance, by Satterthwaite's rule."""
        parts = zip(self._parts, self.worth, strict=True)
        return self.variance**2 / sum(v * v / (k - 1.0) for v, k in parts)

    @property
    def _parts(self) -> tuple[float, ...]:
        if min(self.worth) <= 1.0 + 1e-9:
            return math.nan, math.nan
        parts = zip(self.squares, self.total, self.worth, strict=True)
        return tuple(q / t / t * (k / (k - 1.0)) for q, t, k in parts)


def curve_auc(curve: Curve, level: float = 0.95, method: Method = "logit") -> Estimate:
    """The area of a curve with DeLong's interval; pooled groups widen it by what they may hide."""
    level = check_share(level, "level")
    _check_method(method, weighted=not curve.is_counted)
    groups = ScoreCounts(
        curve.low, curve.positive, curve.negative, curve.positive2, curve.negative2
    )
    area = curve.auc()
    spread = _spread(groups, area)
    found = area_interval(area, spread, level, method)
    if curve.is_exact:
        return found
    least, most = curve.auc_bounds()
    low, high = max(found.low - (area - least), 0.0), min(found.high + (most - area), 1.0)
    if method == "guaranteed":
        # The end of that interval moves faster than the area where the area is near 1.
        low = area_interval(least, spread, level, method).low
        high = area_interval(most, spread, level, method).high
    return Estimate(
        area,
        low,
        high,
        level=level,
        method=f"{found.method}, pooled scores",
        standard_error=found.standard_error,
    )


def area_interval(area: float, spread: Spread, level: float, method: Method) -> Estimate:
    """The interval of an area from the sums of squares about it."""
    tail = 0.5 * (1.0 - level)
    error = math.sqrt(spread.variance)
    pairs = math.floor(min(spread.worth) + 1e-9)
    if method == "guaranteed":
        low, high = _guaranteed(area, pairs, tail)
        how = "guaranteed, Hoeffding"
    elif math.isnan(error):
        low, high, how = 0.0, 1.0, "one row of a class has no spread: nothing is excluded"
    elif area in (0.0, 1.0):
        # All of k disjoint pairs are in order with probability at most AUCᵏ.
        least = tail ** (1.0 / pairs)
        low, high = (least, 1.0) if area == 1.0 else (0.0, 1.0 - least)
        how = "exact, disjoint pairs"
    elif error <= NOTHING:
        # All scores are equal: no spread, and no knowledge either.
        low, high = _guaranteed(area, pairs, tail)
        how = "guaranteed, Hoeffding"
    elif method == "plain":
        reach = -float(ndtri(tail)) * error
        low, high, how = max(area - reach, 0.0), min(area + reach, 1.0), "DeLong"
    else:
        quantile = -float(stdtrit(spread.freedom, tail))
        middle, step = float(logit(area)), quantile * error / (area * (1.0 - area))
        low, high = float(expit(middle - step)), float(expit(middle + step))
        how = "DeLong, logit scale"
    return Estimate(area, low, high, level=level, method=how, standard_error=error)


def _guaranteed(area: float, pairs: int, tail: float) -> tuple[float, float]:
    """{θ : k KL(area, θ) ≤ log(1/tail)}: the area is an average, over ways to pair the rows, of
    means of k independent pairs, so that Chernoff's bound for such a mean holds for it."""
    most = -math.log(tail) / pairs

    def excess(theta: float) -> float:
        return float(rel_entr(area, theta) + rel_entr(1.0 - area, 1.0 - theta)) - most

    tiny = 1e-300
    low, high = 0.0, 1.0
    if area > 0.0 and excess(tiny) > 0.0:
        low = brentq(excess, tiny, area, xtol=FINE)
    if area < 1.0:
        # In 1 - θ, which keeps its digits near θ = 1.
        def above(rest: float) -> float:
            return float(rel_entr(area, 1.0 - rest) + rel_entr(1.0 - area, rest)) - most

        high = 1.0 - brentq(above, tiny, 1.0 - area, xtol=FINE) if above(tiny) > 0.0 else 1.0
    return low, high


def _ranks(groups: ScoreCounts, P: float, N: float, p: float, n: float) -> tuple[Floats, Floats]:
    """V and U of each group, p and n being the weights that lie above the first one."""
    below = (N - n) - np.cumsum(groups.negative) + 0.5 * groups.negative
    above = p + np.cumsum(groups.positive) - 0.5 * groups.positive
    return below / N, above / P


def _totals(groups: ScoreCounts) -> tuple[float, float]:
    """The weights of both classes: where their running sums end, so that nothing lies below."""
    return float(np.cumsum(groups.positive)[-1]), float(np.cumsum(groups.negative)[-1])


def _squares(groups: ScoreCounts, V: Floats, U: Floats, area: float) -> Totals:
    # Sums, not dot products: BLAS would wake its threads for each bucket.
    V, U = V - area, U - area
    return Totals(float((groups.positive2 * V * V).sum()), float((groups.negative2 * U * U).sum()))


def _spread(groups: ScoreCounts, area: float) -> Spread:
    P, N = _totals(groups)
    squares = _squares(groups, *_ranks(groups, P, N, 0.0, 0.0), area)
    total2 = float(groups.positive2.sum()), float(groups.negative2.sum())
    return Spread((squares[0], squares[1]), (P, N), total2)


def _in_buckets(runs: SortedRuns, *, with_spread: bool) -> tuple[float, Spread | None]:
    """The same, bucket by bucket, while each is in the cache."""
    sizes = np.diff(runs.starts)
    P, N = float(sizes[1::2].sum()), float(sizes[::2].sum())

    area = runs.pairs_in_order() / (2 * int(P) * int(N))  # of whole numbers, rounded once
    if not with_spread:
        return area, None

    def squares_of(groups: ScoreCounts, p: int, n: int) -> Totals:
        return _squares(groups, *_ranks(groups, P, N, p, n), area)

    squares = tree_sum(runs.each(squares_of))
    return area, Spread((squares[0], squares[1]), (P, N), (P, N))


def compare_auc(
    y_true: Any,
    first: Any,
    second: Any,
    *,
    sample_weight: Any = None,
    pos_label: Any = None,
    level: float = 0.95,
) -> AUCComparison:
    """Whether one score ranks the same rows better than another: DeLong's paired comparison.

    Var(AUC₁ - AUC₂) is the variance of `auc` with V₁ - V₂ and U₁ - U₂ in place of V and U; the
    difference over its root is compared with the normal law. O(n log n). Scores that order every
    pair alike have no variance: then k = min(n₊, n₋) disjoint pairs bound what others may show,
    |AUC₁ - AUC₂| ≤ 1 - (1 - level)^{1/k}.

    Parameters
    ----------
    y_true : array of shape (n,)
        Labels of two classes.
    first, second : array of shape (n,)
        Scores of the two models for the same rows.
    sample_weight, pos_label
        As in `auc`.
    level : float
        Coverage of the intervals.

    Returns
    -------
    AUCComparison
        With `first`, `second`, `difference` (Estimates), `z` and the two-sided `p_value`.

    Examples
    --------
    >>> from fenchel import compare_auc
    >>> y = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> found = compare_auc(y, [1, 2, 3, 5, 4, 6, 7, 8], [2, 5, 3, 4, 1, 6, 8, 7])
    >>> print(f"{found.difference:.4f} {found.p_value:.3f}")
    0.1875 0.343
    """
    level = check_share(level, "level")
    pair = [marked(y_true, s, sample_weight, pos_label) for s in (first, second)]
    positive, weight = pair[0].positive, pair[0].weight
    weight = np.ones(positive.size) if weight is None else weight
    placed = [_placed(rows) for rows in pair]
    square = weight * weight
    total = float(weight[positive].sum()), float(weight[~positive].sum())
    total2 = float(square[positive].sum()), float(square[~positive].sum())
    areas = [float((weight[positive] * V[positive]).sum()) / total[0] for V in placed]

    def spread(V: Floats, mean: float) -> Spread:
        away = (weight * (V - mean)) ** 2
        return Spread((float(away[positive].sum()), float(away[~positive].sum())), total, total2)

    each = [
        area_interval(area, spread(V, area), level, "logit")
        for V, area in zip(placed, areas, strict=True)
    ]
    gap = areas[0] - areas[1]
    apart = spread(placed[0] - placed[1], gap)
    difference, z, p_value = _difference(gap, apart, level)
    if np.array_equal(pair[0].score, pair[1].score):
        difference = Estimate(
            0.0, 0.0, 0.0, level=level, method="the same scores", standard_error=0.0
        )
    return AUCComparison(each[0], each[1], difference, z, p_value)


def _difference(gap: float, spread: Spread, level: float) -> tuple[Estimate, float, float]:
    """The interval of a difference of areas, its z and its two-sided p."""
    error, tail = math.sqrt(spread.variance), 0.5 * (1.0 - level)
    pairs = math.floor(min(spread.worth) + 1e-9)
    z = gap / error if error > NOTHING else 0.0
    p_value, how = float(2.0 * ndtr(-abs(z))), "DeLong, paired"
    reach = -float(ndtri(tail)) * error
    low, high = gap - reach, gap + reach
    if math.isnan(error):
        low, high, z, p_value = -1.0, 1.0, 0.0, 1.0
        how = "one row of a class has no spread: nothing is excluded"
    elif error <= NOTHING and abs(gap) <= NOTHING:
        # No pair is ordered otherwise: k disjoint ones do so with probability (1 - q)ᵏ, if a share
        # q of all pairs is, and the areas differ by q at most.
        high = 1.0 - (1.0 - level) ** (1.0 / pairs)
        low, how, p_value = -high, "exact, disjoint pairs", 1.0
    elif error <= NOTHING:
        # Every row says the same, which a small sample may do: Chernoff's bound does not go by it.
        half = 0.5 * (1.0 + gap)
        low, high = (2.0 * end - 1.0 for end in _guaranteed(half, pairs, tail))
        how = "guaranteed, Hoeffding"
        divergence = float(rel_entr(half, 0.5) + rel_entr(1.0 - half, 0.5))
        p_value = min(1.0, 2.0 * math.exp(-pairs * divergence))
        z = math.copysign(math.inf, gap)
    low, high = max(low, -1.0), min(high, 1.0)
    found = Estimate(gap, low, high, level=level, method=how, standard_error=error)
    return found, z, p_value


def _placed(rows: LabelledScores) -> Floats:
    """V of each positive row and U of each negative one."""
    order = np.argsort(-rows.score)
    groups = count_by_score(rows)
    P, N = _totals(groups)
    V, U = _ranks(groups, P, N, 0.0, 0.0)
    score = rows.score[order]
    group = np.empty(score.size, np.int64)
    group[order] = np.cumsum(np.append(False, score[1:] != score[:-1]))
    return np.where(rows.positive, V[group], U[group])
