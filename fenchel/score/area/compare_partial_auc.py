"""Two scores of the same rows, compared by the area under a part of their ROC.

The curve crosses the rectangle [a, b] × [c, d] from (t₀, v₀) to (t₁, v₁). To first order a row
moves the area inside, beside a constant, by

    -min(max(F̄₋(s), t₀), t₁)/n₊    for a positive with score s, F̄₋ the false positive rate there,
    +min(max(F̄₊(s), v₀), v₁)/n₋    for a negative, F̄₊ the true positive rate there,

each averaged over the edge of a tie. At (t₁, v₁) this accounts for the threshold that is estimated
along with the area, without a density. The difference of two areas moves by the difference xᵢ; with
x̄ the mean of a class, s² its variance and m₄ = mean (x - x̄)⁴,

    se² = s₊²/n₊ + s₋²/n₋,     degrees of freedom 2 se⁴ / Σ (m₄ - s⁴)/n³ over both classes

Reference: Dodd and Pepe, Partial AUC estimation and regression, Biometrics 59 (2003); He and
Escobar, Nonparametric statistical inference method for partial areas under receiver operating
characteristic curves, with application to genomic studies, Statistics in Medicine 27 (2008).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import stdtr, stdtrit

from fenchel.score.area.auc import NOTHING, AUCComparison
from fenchel.score.area.partial_auc import Box, Scale
from fenchel.score.curves.curve import Curve
from fenchel.score.curves.roc_batch import clipped_mean
from fenchel.score.curves.score_counts import Floats, count_by_score
from fenchel.score.estimate import Estimate, check_share
from fenchel.score.labels import LabelledScores, marked

LARGE = 1e9  # degrees of freedom of what is the normal law to all digits


def compare_partial_auc(
    y_true: Any,
    first: Any,
    second: Any,
    *,
    max_fpr: float = 1.0,
    min_fpr: float = 0.0,
    min_tpr: float = 0.0,
    max_tpr: float = 1.0,
    scale: Scale = "area",
    sample_weight: Any = None,
    pos_label: Any = None,
    level: float = 0.95,
) -> AUCComparison:
    """Whether one score ranks the same rows better than another in a part of the ROC.

    z = (A₁ - A₂)/se, with se from the effect of each row on the difference (the formulas are those
    of this module); over the whole square it is DeLong's z. It is compared with the t
    law, since few rows near the end of the range decide. O(n log n), and the intervals of A₁, A₂.

    Parameters
    ----------
    y_true : array of shape (n,)
        Labels of two classes.
    first, second : array of shape (n,)
        Scores of the two models for the same rows.
    max_fpr, min_fpr, min_tpr, max_tpr, scale
        The part of the ROC and the scale of the areas, as in `partial_auc`.
    sample_weight, pos_label
        As in `partial_auc`.
    level : float
        Coverage of the intervals.

    Returns
    -------
    AUCComparison
        With `first`, `second`, `difference` (Estimates), `z` and the two-sided `p_value`. Where no
        row moves the difference, as when both scores are perfect there, z and p_value are NaN and
        the interval is what those of the two areas, at error (1 - level)/2 each, leave.

    References
    ----------
    Dodd and Pepe, Partial AUC estimation and regression, Biometrics 59 (2003).

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import compare_partial_auc
    >>> y = np.arange(100) % 2
    >>> good, poor = np.sin(np.arange(100.0)) + y, np.cos(np.arange(100.0)) + 0.5 * y
    >>> found = compare_partial_auc(y, good, poor, max_fpr=0.2, scale="share")
    >>> print(f"{found.difference:.3f} {found.p_value:.3f}")
    0.160 0.102
    """
    level, box = check_share(level, "level"), Box(min_fpr, max_fpr, min_tpr, max_tpr)
    pair = [marked(y_true, s, sample_weight, pos_label) for s in (first, second)]
    curves = [Curve.gathered(count_by_score(rows)) for rows in pair]
    areas = [box.interval(c, scale, level) for c in curves]
    gap = float(areas[0]) - float(areas[1])
    effects = [_effects(rows, c, box) for rows, c in zip(pair, curves, strict=True)]
    unit = box.unit(scale)
    variance, freedom = _variance(effects[0] - effects[1], pair[0])
    error, tail = math.sqrt(variance) * unit, 0.5 * (1.0 - level)
    z = gap / error if error > NOTHING * unit else math.nan
    if np.array_equal(pair[0].score, pair[1].score):
        low, high, z, how = 0.0, 0.0, 0.0, "the same scores"
    elif error > NOTHING * unit:
        reach = -float(stdtrit(min(freedom, LARGE), tail)) * error
        low, high, how = gap - reach, gap + reach, "placement values, paired"
    else:
        one, two = (box.interval(c, scale, 1.0 - tail) for c in curves)
        low, high, how = one.low - two.high, one.high - two.low, "two intervals"
    difference = Estimate(gap, low, high, level=level, method=how, standard_error=error)
    p_value = 1.0 if z == 0.0 else 2.0 * float(stdtr(min(freedom, LARGE), -abs(z)))
    return AUCComparison(areas[0], areas[1], difference, z, p_value)


def _effects(rows: LabelledScores, curve: Curve, box: Box) -> Floats:
    """How each row moves the area, as in the formulas above, without the constant and 1/n."""
    (t0, v0), (t1, v1) = _crossing(curve, box)
    fpr, tpr = curve.fpr, curve.tpr
    of_positive = -clipped_mean(fpr[:-1], fpr[1:], t0, t1)
    of_negative = clipped_mean(tpr[:-1], tpr[1:], v0, v1)
    group = np.searchsorted(-curve.low, -rows.score)
    return np.where(rows.positive, of_positive[group], of_negative[group])


def _crossing(curve: Curve, box: Box) -> tuple[tuple[float, float], tuple[float, float]]:
    """Where the curve enters the rectangle and where it leaves it."""
    fpr, tpr = curve.fpr, curve.tpr
    a, b, c, d = box.min_fpr, box.max_fpr, box.min_tpr, box.max_tpr
    t0 = max(a, _middle(c, tpr, fpr)) if c > 0.0 else a
    v0 = max(c, _middle(a, fpr, tpr)) if a > 0.0 else c
    t1 = min(b, _middle(d, tpr, fpr)) if d < 1.0 else b
    v1 = min(d, _middle(b, fpr, tpr)) if b < 1.0 else d
    return (t0, v0), (max(t0, t1), max(v0, v1))


def _middle(at: float, x: Floats, y: Floats) -> float:
    """y where the curve has x = at: the middle, where it stands still in x."""
    last, first = np.interp(at, x, y), -np.interp(-at, -x[::-1], -y[::-1])
    return float(0.5 * (first + last))


def _variance(effect: Floats, rows: LabelledScores) -> tuple[float, float]:
    """Of the sum of both classes' mean effects; and the degrees of freedom it is known with."""
    weight = np.ones(effect.size) if rows.weight is None else rows.weight
    variance = doubt = 0.0
    for mine in (rows.positive, ~rows.positive):
        w, x = weight[mine], effect[mine]
        total = float(w.sum())
        worth = total * total / float((w * w).sum())
        if worth <= 1.0 + 1e-9:
            return math.nan, math.nan
        square = (w * (x - (w * x).sum() / total) / total) ** 2
        variance += float(square.sum()) * worth / (worth - 1.0)
        doubt += max(float((square * square).sum() - square.sum() ** 2 / square.size), 0.0)
    return variance, max(2.0 * variance * variance / doubt, 1.0) if doubt > 0.0 else math.inf
