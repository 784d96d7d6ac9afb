"""Everything that a threshold decides, one row a threshold, each number with exact bounds."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import to_numpy
from fenchel.data.display.result_table import Tabular
from fenchel.score.curves.curve import Curve, curve_from
from fenchel.score.curves.score_counts import Floats
from fenchel.score.decision.threshold import Threshold, check_cost
from fenchel.score.estimate import check_share
from fenchel.score.intervals.binomial_spline import spline_intervals

Bounded = tuple[Floats, Floats, Floats]  # a number of each row, its lower and its upper bound


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdTable(Tabular):
    """What flagging score ≥ threshold does, for thresholds from the highest to the lowest.

    Attributes
    ----------
    threshold : array of shape (m,)
    tp, fp : array of shape (m,)
        How many positives and negatives it flags.
    tpr, fpr, precision, flagged, cost : array of shape (m,)
        Rates of true and of false positives, share of positives among the flagged (NaN where
        nothing is flagged), share of all rows flagged, expected cost of a row.
    tpr_low, tpr_high, fpr_low, … : array of shape (m,)
        Bounds of each.
    n_positive, n_negative : int
    prior : float
        Share of positives that precision, flagged and cost are about.
    level : float
        Each pair of bounds holds with at least this probability, at a threshold chosen without
        these rows.
    is_full : bool
        Whether every distinct score is a threshold.
    """

    threshold: Floats
    tp: NDArray[np.int64]
    fp: NDArray[np.int64]
    tpr: Floats
    tpr_low: Floats
    tpr_high: Floats
    fpr: Floats
    fpr_low: Floats
    fpr_high: Floats
    precision: Floats
    precision_low: Floats
    precision_high: Floats
    flagged: Floats
    flagged_low: Floats
    flagged_high: Floats
    cost: Floats
    cost_low: Floats
    cost_high: Floats
    n_positive: int
    n_negative: int
    prior: float
    level: float
    is_full: bool

    def __len__(self) -> int:
        return self.threshold.size

    def columns(self) -> dict[str, Any]:
        """The columns by name."""
        return self.to_dict()

    def shares(self) -> tuple[str, ...]:
        return ("tpr", "fpr", "precision", "flagged")

    def caption(self) -> str:
        return (
            f"What score ≥ threshold flags of {self.n_positive:,} positives and "
            f"{self.n_negative:,} negatives; each interval holds with {100.0 * self.level:g} %."
        )

    def to_dict(self) -> dict[str, NDArray[Any]]:
        """The columns by name, as pandas.DataFrame and polars.DataFrame take them."""
        columns = (field.name for field in fields(self))
        return {name: getattr(self, name) for name in columns if name not in _SHARED}

    def at(self, threshold: float) -> dict[str, float]:
        """The row of flagging score ≥ threshold, or score > t for the `Threshold` t of
        `neyman_pearson_threshold`.

        In a table of all scores, a threshold between two of them flags what the higher one flags;
        a table of chosen thresholds knows no others.
        """
        value = float(threshold)
        if isinstance(threshold, Threshold):
            if value == np.inf and self.threshold[0] == np.inf and self.tp[0] + self.fp[0]:
                raise ValueError("score > inf flags nothing, and the table has no such row")
            value = float(np.nextafter(value, np.inf))
        row = int(np.searchsorted(-self.threshold, -value, side="right")) - 1
        if np.isnan(value) or row < 0 or not (self.is_full or self.threshold[row] == value):
            raise ValueError(f"threshold={value!r} is not in the table: ask for it in thresholds")
        return {name: column[row].item() for name, column in self.to_dict().items()}


_SHARED = {"n_positive", "n_negative", "prior", "level", "is_full"}


def threshold_table(
    y_true: Any,
    y_score: Any = None,
    *,
    thresholds: Any = None,
    prior: float | None = None,
    cost_fp: float = 1.0,
    cost_fn: float = 1.0,
    level: float = 0.95,
    pos_label: Any = None,
) -> ThresholdTable:
    """Rates, precision, flagged share and cost at every threshold, with exact bounds.

    P positives and N negatives, of which score ≥ t flags tp and fp. All bounds are of Clopper and
    Pearson, two-sided, at `level` for each number by itself:

    - tpr = tp / P, fpr = fp / N
    - without `prior` the rows are taken as drawn from where the threshold will be used, and
      precision = tp / (tp + fp), flagged = (tp + fp) / (P + N) are binomial rates too; the cost
      (c₁₀ (P − tp) + c₀₁ fp) / (P + N) is one where c₁₀ = c₀₁, and else bounded by the rates of
      misses and of false alarms, each at (1 + level)/2, which hold together at `level`
    - with a prior π: precision = π tpr / (π tpr + (1 − π) fpr), flagged = π tpr + (1 − π) fpr and
      cost = π c₁₀ (1 − tpr) + (1 − π) c₀₁ fpr, monotone in both rates and so bounded by the bounds
      of both, each at (1 + level)/2, which hold together at `level`

    Parameters
    ----------
    y_true : array of shape (n,), or Curve
        Labels of two classes; or a curve without weights, such as `curve_of` makes of a file or a
        cluster, and then no y_score.
    y_score : array of shape (n,)
        Scores, higher for the positive class, of rows that did not train them.
    thresholds : array of numbers, optional
        By default every distinct score, and before them inf, which flags nothing. A `Threshold` of
        `neyman_pearson_threshold`, which flags what is above it, stands at the next float; give it
        by itself or in a list, for an array keeps nothing but its number.
    prior : float, optional
        π, the share of positives where the threshold will be used, if not that of the rows.
    cost_fp, cost_fn : float, default 1
        Cost c₀₁ of a false alarm and c₁₀ of a miss.
    level : float, default 0.95
    pos_label : label, optional
        The positive class; by default the greater label.

    Returns
    -------
    ThresholdTable

    Notes
    -----
    The level is that of one number at one threshold fixed beforehand; a threshold picked from the
    table for its good numbers needs new rows. O(n log n); a million rows take some seconds.

    Reference: Clopper and Pearson, The use of confidence or fiducial limits, Biometrika 26 (1934).

    Examples
    --------
    >>> from fenchel import GaussianClasses, threshold_table
    >>> classes = GaussianClasses([0.0, 2.0], prior=0.3)
    >>> X, y = classes.sample(1000, random_state=0)
    >>> table = threshold_table(y, classes.score(X), cost_fn=5.0)
    >>> row = table.at(table.threshold[table.cost.argmin()])
    >>> [round(row[name], 3) for name in ("tpr", "tpr_low", "tpr_high", "precision", "cost")]
    [0.946, 0.912, 0.969, 0.562, 0.279]
    """
    alarm, miss = check_cost(cost_fp, cost_fn)
    check_share(level, "level")
    curve = curve_from(y_true, y_score, pos_label=pos_label)
    if not curve.is_counted:
        raise ValueError("a table with exact bounds counts rows: give a Curve without weights")
    P, N = curve.both()
    share = None if prior is None else check_share(prior, "prior")
    t, tp, fp = _counts(curve, thresholds)
    hit, fall = spline_intervals(tp, P, level), spline_intervals(fp, N, level)
    if share is None:
        precision, flagged, cost = _binomial(tp, fp, P, N, alarm, miss, level)
    else:
        precision, flagged, cost = _weighed(tp, fp, P, N, share, alarm, miss, level)
    return ThresholdTable(
        t,
        tp.astype(np.int64),
        fp.astype(np.int64),
        *(tp / P, *hit),
        *(fp / N, *fall),
        *precision,
        *flagged,
        *cost,
        n_positive=int(P),
        n_negative=int(N),
        prior=curve.prior if share is None else share,
        level=float(level),
        is_full=thresholds is None and curve.is_exact,
    )


def _counts(curve: Curve, thresholds: Any) -> tuple[Floats, Floats, Floats]:
    """Thresholds from the highest to the lowest, and how many of each class they flag."""
    if thresholds is None:
        # inf flags nothing, unless a score is infinite itself.
        part = slice(1, None) if curve.high[0] == np.inf else slice(None)
        return (
            curve.thresholds[part],
            np.append(0.0, curve.tp)[part],
            np.append(0.0, curve.fp)[part],
        )
    if isinstance(thresholds, float):
        thresholds = [thresholds]
    if isinstance(thresholds, list | tuple):  # score > t is score ≥ the next float
        thresholds = [
            np.nextafter(float(t), np.inf) if isinstance(t, Threshold) else t for t in thresholds
        ]
    given = np.asarray(to_numpy(thresholds))
    t = np.unique(given.astype(np.float64) if given.dtype.kind in "biuf" else [])[::-1] + 0.0
    if not t.size or np.isnan(t[0]):
        raise ValueError(
            f"thresholds must be numbers, at least one, and none of them NaN, got {thresholds!r}"
        )
    at = np.searchsorted(-curve.low, -t, side="right")
    return t, np.append(0.0, curve.tp)[at], np.append(0.0, curve.fp)[at]


def _binomial(
    tp: Floats, fp: Floats, P: float, N: float, alarm: float, miss: float, level: float
) -> tuple[Bounded, Bounded, Bounded]:
    """Precision, flagged share and cost of rows drawn as they will come, each with its bounds."""
    n, flagged = P + N, tp + fp
    some = flagged > 0.0
    precision, low, high = np.full((3, tp.size), np.nan)
    precision[some] = tp[some] / flagged[some]
    low[some], high[some] = spline_intervals(tp[some], flagged[some], level)
    cost = (miss * (P - tp) + alarm * fp) / n
    if miss == alarm:
        low_cost, high_cost = (miss * end for end in spline_intervals(P - tp + fp, n, level))
    else:
        both = 0.5 + 0.5 * level
        missed, raised = spline_intervals(P - tp, n, both), spline_intervals(fp, n, both)
        low_cost, high_cost = (miss * a + alarm * b for a, b in zip(missed, raised, strict=True))
    share = (flagged / n, *spline_intervals(flagged, n, level))
    return (precision, low, high), share, (cost, low_cost, high_cost)


def _weighed(
    tp: Floats, fp: Floats, P: float, N: float, pi: float, alarm: float, miss: float, level: float
) -> tuple[Bounded, Bounded, Bounded]:
    """The same for a share π of positives, from a pair of rates that hold together."""
    both = 0.5 + 0.5 * level
    (hit_low, hit_high), (fall_low, fall_high) = (
        spline_intervals(tp, P, both),
        spline_intervals(fp, N, both),
    )
    hit, fall = tp / P, fp / N

    def precise(tpr: Floats, fpr: Floats) -> Floats:
        right, wrong = pi * tpr, (1.0 - pi) * fpr
        return np.divide(right, right + wrong, out=np.full(right.size, np.nan), where=some)

    def share(tpr: Floats, fpr: Floats) -> Floats:
        return pi * tpr + (1.0 - pi) * fpr

    def cost(tpr: Floats, fpr: Floats) -> Floats:
        return pi * miss * (1.0 - tpr) + (1.0 - pi) * alarm * fpr

    some = tp + fp > 0.0
    return (
        (precise(hit, fall), precise(hit_low, fall_high), precise(hit_high, fall_low)),
        (share(hit, fall), share(hit_low, fall_low), share(hit_high, fall_high)),
        (cost(hit, fall), cost(hit_high, fall_low), cost(hit_low, fall_high)),
    )
