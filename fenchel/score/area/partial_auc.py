"""The area under a part of the ROC.

ROC(t) is the true positive rate at the false positive rate t, a line across each tie. For a
rectangle [a, b] × [c, d] of false and true positive rates,

    A = ∫ₐᵇ (min(max(ROC(t), c), d) - c) dt:  the area of its part under the curve
    [0, b] × [0, 1]    one-way, few false positives
    [0, 1] × [c, 1]    one-way, few positives missed: ∫ (1 - ROC⁻¹(v)) dv over v in [c, 1]
    [0, b] × [c, 1]    two-way

    "area":          A
    "share":         A / ((b - a)(d - c)): the mean of ROC over [a, b], where c = 0 and d = 1
    "standardised":  ½ (1 + (A - m)/(M - m)), M the rectangle's area, m that of its part under the
                     diagonal: ½ for a score without information, 1 for a perfect one

Reference: McClish, Analyzing a portion of the ROC curve, Medical Decision Making 9 (1989); Dodd and
Pepe, Partial AUC estimation and regression, Biometrics 59 (2003); Yang, Lu, Lyu and Hu, Two-way
partial AUC and its properties, Statistical Methods in Medical Research 28 (2019).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fenchel.score.curves.curve import Curve
from fenchel.score.curves.roc_batch import ROCBatch
from fenchel.score.curves.score_counts import Floats, count_by_score
from fenchel.score.estimate import Estimate, is_number
from fenchel.score.intervals.roc_bayesian_bootstrap import pivot_interval
from fenchel.score.labels import marked

Scale = Literal["area", "share", "standardised"]


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle of false positive rates [a, b] and true positive rates [c, d]."""

    min_fpr: float = 0.0
    max_fpr: float = 1.0
    min_tpr: float = 0.0
    max_tpr: float = 1.0

    def __post_init__(self) -> None:
        for what in ("fpr", "tpr"):
            low, high = getattr(self, f"min_{what}"), getattr(self, f"max_{what}")
            if not (is_number(low) and is_number(high) and 0.0 <= low < high <= 1.0):
                raise ValueError(
                    f"0 ≤ min_{what} < max_{what} ≤ 1 is needed, got min_{what}={low!r} and "
                    f"max_{what}={high!r}"
                )

    def area(self, paths: ROCBatch) -> Floats:
        """The area of its part under each curve."""
        return paths.area((self.min_fpr, self.max_fpr), (self.min_tpr, self.max_tpr))

    def unit(self, scale: Scale) -> float:
        """How much a scale gives for an area of one."""
        if scale == "area":
            return 1.0
        whole = (self.max_fpr - self.min_fpr) * (self.max_tpr - self.min_tpr)
        if scale == "share":
            return 1.0 / whole
        if scale != "standardised":
            raise ValueError(f"scale must be 'area', 'share' or 'standardised', got {scale!r}")
        return 0.5 / (whole - float(self.area(DIAGONAL)[0]))

    def scaled(self, paths: ROCBatch, scale: Scale) -> Floats:
        """The area on one of the scales above."""
        area, unit = self.area(paths), self.unit(scale)
        if scale != "standardised":
            return np.asarray(unit * area)
        return np.asarray(0.5 + unit * (area - self.area(DIAGONAL)))

    def interval(self, curve: Curve, scale: Scale, level: float) -> Estimate:
        """The same of one curve, with its interval."""
        return pivot_interval(curve, lambda paths: self.scaled(paths, scale), level=level)


_LINE = np.array([[0.0, 1.0]])
DIAGONAL = ROCBatch(_LINE, _LINE, np.array([0.5]), np.ones(1))


def partial_auc(
    y_true: Any,
    y_score: Any,
    *,
    max_fpr: float = 1.0,
    min_fpr: float = 0.0,
    min_tpr: float = 0.0,
    max_tpr: float = 1.0,
    scale: Scale = "area",
    sample_weight: Any = None,
    pos_label: Any = None,
    level: float | None = None,
) -> float:
    """The area under the ROC inside a rectangle of rates: one-way or two-way partial AUC.

    A = ∫ (min(max(ROC(t), min_tpr), max_tpr) - min_tpr) dt over t in [min_fpr, max_fpr], with the
    empirical ROC, a line across each tie. O(n log n); the interval adds 4000 random curves of at
    most 1024 vertices (`fenchel.score.intervals.roc_bayesian_bootstrap`).

    Parameters
    ----------
    y_true : array of shape (n,)
        Labels of two classes.
    y_score : array of shape (n,)
        Scores, higher for the positive class; infinite ones are fine, NaN is an error.
    max_fpr, min_fpr : float
        Range of false positive rates: max_fpr=0.1 for few false alarms.
    min_tpr, max_tpr : float
        Range of true positive rates: min_tpr=0.9 for few positives missed; with max_fpr, two-way.
    scale : {"area", "share", "standardised"}
        The area A; A over the rectangle's area; or McClish's ½ (1 + (A - m)/(M - m)), with m the
        area under the diagonal and M the rectangle's: what scikit-learn's `roc_auc_score` gives.
    sample_weight : array of shape (n,), optional
        Weights of the rows: fixed numbers that belong to them, in the interval too.
    pos_label : label, optional
        The positive class; by default the greater label.
    level : float, optional
        Give the area with its interval of this coverage, as an `Estimate`.

    Returns
    -------
    float or Estimate
        The area; with `level`, its interval too.

    References
    ----------
    Dodd and Pepe, Partial AUC estimation and regression, Biometrics 59 (2003); Yang, Lu, Lyu and
    Hu, Two-way partial AUC and its properties, Statistical Methods in Medical Research 28 (2019).

    Examples
    --------
    >>> from fenchel import partial_auc
    >>> y, score = [0, 0, 0, 0, 1, 1, 1, 1], [1, 2, 4, 6, 3, 5, 7, 8]
    >>> partial_auc(y, score, max_fpr=0.5)
    0.3125
    >>> partial_auc(y, score, max_fpr=0.5, scale="standardised")
    0.75
    >>> partial_auc(y, score, max_fpr=0.5, min_tpr=0.5, scale="share")
    0.25
    >>> found = partial_auc(y, score, max_fpr=0.5, level=0.9)
    >>> print(f"{found:.3f} [{found.low:.2f}, {found.high:.2f}]")
    0.312 [0.11, 0.45]
    """
    box = Box(min_fpr, max_fpr, min_tpr, max_tpr)
    curve = Curve.gathered(count_by_score(marked(y_true, y_score, sample_weight, pos_label)))
    if level is None:
        return float(box.scaled(ROCBatch.along(curve), scale)[0])
    return box.interval(curve, scale, level)


def curve_partial_auc(
    curve: Curve,
    *,
    max_fpr: float = 1.0,
    min_fpr: float = 0.0,
    min_tpr: float = 0.0,
    max_tpr: float = 1.0,
    scale: Scale = "area",
    level: float = 0.95,
) -> Estimate:
    """`partial_auc` of a curve; what pooled groups may hide widens its interval."""
    return Box(min_fpr, max_fpr, min_tpr, max_tpr).interval(curve, scale, level)
