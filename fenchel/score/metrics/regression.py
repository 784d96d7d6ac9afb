"""How far predicted numbers are from what came, with intervals that mind skewness.

Rows are independent draws. The mean absolute error is a mean, the root of the mean square the root
of one, and R² = 1 − Σ(y − p)² / Σ(y − ȳ)² is linearised: v = R² + (m(y − ȳ)²/s − (y − p)²)/s, with
m the mean square of the error and s that of y − ȳ, has the mean R² and its error to first order.
All three intervals are those of `score.intervals`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.score.estimate import Estimate
from fenchel.score.intervals.skewness_corrected_mean import mean_estimate

Floats = NDArray[np.float64]
_NONE = "one row: no interval"


def mean_absolute_error(y_true: Any, y_pred: Any, *, level: float | None = None) -> float:
    """The mean of |y − p|; with `level` an `Estimate`.

    Examples
    --------
    >>> from fenchel.score.metrics.regression import mean_absolute_error
    >>> print(mean_absolute_error([1.0, 2.0, 3.0, 4.0], [1.5, 2.0, 2.5, 5.0], level=0.95))
    0.5 [0, 1.15] (95 %, t corrected for skewness)
    """
    y, p = _paired(y_true, y_pred)
    return _mean(np.abs(y - p), level)


def mean_error(y_true: Any, y_pred: Any, *, level: float | None = None) -> float:
    """The mean of p − y, above 0 where predictions are too high; with `level` an `Estimate`.

    Examples
    --------
    >>> from fenchel.score.metrics.regression import mean_error
    >>> mean_error([1.0, 2.0, 3.0, 4.0], [1.5, 2.0, 2.5, 5.0])
    0.25
    """
    y, p = _paired(y_true, y_pred)
    if level is None or len(y) < 2:
        return float((p - y).mean()) if level is None else _bare(float(p[0] - y[0]), level, _NONE)
    return mean_estimate(p - y, level)


def root_mean_squared_error(y_true: Any, y_pred: Any, *, level: float | None = None) -> float:
    """The root of the mean of (y − p)²; with `level` an `Estimate`, the root of its interval.

    Examples
    --------
    >>> from fenchel.score.metrics.regression import root_mean_squared_error
    >>> round(root_mean_squared_error([1.0, 2.0, 3.0, 4.0], [1.5, 2.0, 2.5, 5.0]), 4)
    0.6124
    """
    y, p = _paired(y_true, y_pred)
    # In units of the largest, so that no square overflows or vanishes.
    unit = float(np.abs(y - p).max()) or 1.0
    square = _mean(((y - p) / unit) ** 2, level)
    root = unit * math.sqrt(square)
    if not isinstance(square, Estimate):
        return root
    low, high = (unit * math.sqrt(end) for end in (square.low, square.high))
    error = unit * square.standard_error / (2.0 * math.sqrt(square)) if square > 0.0 else 0.0
    return Estimate(root, low, high, level=square.level, method=square.method, standard_error=error)


def r_squared(y_true: Any, y_pred: Any, *, level: float | None = None) -> float:
    """1 − Σ(y − p)² / Σ(y − ȳ)²; with `level` an `Estimate`; NaN where all y are equal.

    Examples
    --------
    >>> from fenchel.score.metrics.regression import r_squared
    >>> round(r_squared([1.0, 2.0, 3.0, 4.0], [1.5, 2.0, 2.5, 5.0]), 4)
    0.7
    """
    y, p = _paired(y_true, y_pred)
    apart, error = y - y.mean(), y - p
    unit = float(np.abs(apart).max())
    if unit == 0.0 or len(y) < 2:
        why = "all values of y are equal" if len(y) > 1 else _NONE
        return math.nan if level is None else _bare(math.nan, level, why)
    spread, square = (apart / unit) ** 2, (error / unit) ** 2
    s, m = float(spread.mean()), float(square.mean())
    value = 1.0 - m / s
    if level is None:
        return value
    found = mean_estimate(value + (m * spread / s - square) / s, level, within=(-math.inf, 1.0))
    return Estimate(
        value,
        min(found.low, value),
        max(found.high, value),
        level=level,
        method=f"{found.method}, linearised",
        standard_error=found.standard_error,
    )


def _paired(y_true: Any, y_pred: Any) -> tuple[Floats, Floats]:
    y, p = (np.asarray(x, dtype=np.float64) for x in (y_true, y_pred))
    if y.ndim != 1 or y.shape != p.shape:
        raise ValueError(
            f"y_true and y_pred must be columns of one length, got {y.shape}, {p.shape}"
        )
    if not len(y):
        raise ValueError("there is no row to judge by")
    if not (np.isfinite(y).all() and np.isfinite(p).all()):
        row = int((~(np.isfinite(y) & np.isfinite(p))).argmax())
        raise ValueError(f"y_true or y_pred is not finite in row {row}")
    return y, p


def _mean(values: Floats, level: float | None) -> float:
    if level is None:
        return float(values.mean())
    if len(values) < 2:
        return _bare(float(values[0]), level, _NONE)
    return mean_estimate(values, level, within=(0.0, math.inf))


def _bare(value: float, level: float, why: str) -> Estimate:
    return Estimate(value, math.nan, math.nan, level=level, method=why)
