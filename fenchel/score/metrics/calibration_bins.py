"""Reliability of predicted probabilities: bins of equally many rows with exact intervals.

Rows are put in order of probability and cut into B bins of equally many. In a bin of n rows, k of
them positive, the share of positives has the interval of Clopper and Pearson at the level
1 − (1 − level)/B, so that all B hold together with probability at least `level` (Bonferroni), or
at `level` each. A bin whose mean probability lies outside its interval is off.

Reference: Clopper and Pearson, The use of confidence or fiducial limits, Biometrika 26 (1934);
Bröcker and Smith, Increasing the reliability of reliability diagrams, Weather and Forecasting 22
(2007).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.display.result_table import Tabular
from fenchel.score.curves.score_counts import Floats
from fenchel.score.estimate import check_share, is_integer
from fenchel.score.intervals.binomial import binomial_interval
from fenchel.score.labels import marked


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationBins(Tabular):
    """Predicted probability and observed share of positives, bin by bin.

    Attributes
    ----------
    predicted, observed : array of shape (B,)
        Mean probability and share of positives of each bin.
    low, high : array of shape (B,)
        The interval of that share.
    rows, positives : array of shape (B,)
    level : float
        Of all intervals together, or of each by itself.
    simultaneous : bool
        Which of the two.
    """

    predicted: Floats
    observed: Floats
    low: Floats
    high: Floats
    rows: Floats
    positives: Floats
    level: float
    simultaneous: bool

    @property
    def is_off(self) -> NDArray[np.bool_]:
        """Whether the mean probability lies outside the interval of the share, bin by bin."""
        return (self.predicted < self.low) | (self.predicted > self.high)

    @property
    def n_off(self) -> int:
        """How many bins are off."""
        return int(self.is_off.sum())

    def columns(self) -> dict[str, Any]:
        """One row a bin."""
        return {
            "predicted": self.predicted,
            "observed": self.observed,
            "observed_low": self.low,
            "observed_high": self.high,
            "rows": self.rows.astype(np.int64),
            "positives": self.positives.astype(np.int64),
            "off": self.is_off,
        }

    def shares(self) -> tuple[str, ...]:
        return ("predicted", "observed")

    def caption(self) -> str:
        each = "all together" if self.simultaneous else "each by itself"
        return (
            f"{self.n_off} of {len(self.rows)} bins are off; the exact intervals hold {each} with "
            f"{100.0 * self.level:g} %."
        )


def calibration_bins(
    y_true: Any,
    y_proba: Any,
    *,
    bins: int = 10,
    level: float = 0.95,
    simultaneous: bool = True,
    pos_label: Any = None,
) -> CalibrationBins:
    """Bins of equally many rows by probability: what was predicted, what happened, how sure.

    Equal probabilities stay in one bin, so that there may be fewer than asked for. O(n log n).

    Parameters
    ----------
    y_true : array of shape (n,)
        Labels of two classes.
    y_proba : array of shape (n,)
        Predicted probability of the positive class.
    bins : int
    level : float
    simultaneous : bool
        Whether the intervals of all bins hold together at the level (Bonferroni), so that the
        chance that a calibrated forecast has any bin off is at most 1 − level; or each by itself.
    pos_label : label, optional
        The positive class; by default the greater label.

    Returns
    -------
    CalibrationBins

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import calibration_bins
    >>> p = np.linspace(0.0, 1.0, 1000)
    >>> y = (np.random.default_rng(0).random(1000) < p**2).astype(int)
    >>> found = calibration_bins(y, p)
    >>> found.n_off, found.observed[4].round(2).item(), found.high[4].round(2).item()
    (8, 0.14, 0.26)
    """
    rows = marked(y_true, y_proba, None, pos_label)
    check_probability(rows.score, "y_proba")
    return bins_of(rows.score, rows.positive, bins=bins, level=level, simultaneous=simultaneous)


def bins_of(
    p: Floats,
    positive: Any,
    *,
    bins: int = 10,
    level: float = 0.95,
    simultaneous: bool = True,
) -> CalibrationBins:
    """The bins of probabilities and of which rows are positive, both checked before."""
    level = check_share(level, "level")
    if not (is_integer(bins) and bins >= 1):
        raise ValueError(f"bins must be a whole number, 1 or more, got {bins!r}")
    predicted, observed, count, hits = binned(p, positive, bins)
    each = 1.0 - (1.0 - level) / len(count) if simultaneous else level
    low, high = binomial_interval(hits, count, each)
    return CalibrationBins(
        predicted,
        observed,
        np.asarray(low),
        np.asarray(high),
        count,
        hits,
        level,
        bool(simultaneous),
    )


def binned(p: Floats, positive: Any, bins: int) -> tuple[Floats, Floats, Floats, Floats]:
    """(mean probability, share of positives, rows, positives) of bins of equally many rows; equal
    probabilities stay together."""
    order = np.argsort(p, kind="stable")
    p, positive = p[order], positive[order]
    cuts = np.searchsorted(p, p[(np.arange(1, bins) * len(p)) // bins])
    begins = np.unique(np.append(0, cuts))
    count = np.diff(np.append(begins, len(p))).astype(np.float64)
    hits = np.add.reduceat(positive.astype(np.float64), begins)
    return np.add.reduceat(p, begins) / count, hits / count, count, hits


def check_probability(p: Floats, what: str) -> None:
    """An error that names the argument and the first row that is no probability."""
    wrong = ~((p >= 0.0) & (p <= 1.0))
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"{what} is {p[row]:g} in row {row}: a probability lies between 0 and 1; give "
            "predict_proba(X)[:, 1], not decision_function(X)"
        )
