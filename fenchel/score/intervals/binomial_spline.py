"""Exact binomial bounds of very many counts: computed at some thousand, interpolated at the rest.

L(k, n) = log(q / (1 − q)) − log(k / (n − k + 1)),  q = B⁻¹(δ; k, n − k + 1)
is a smooth function of log(k / (n − k + 1)) and log n, also between whole numbers. A spline of
degree five through 256 × 160 of its values gives q and 1 − q to eight digits and more, at a tenth
of the cost of the incomplete beta function.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import RectBivariateSpline, make_interp_spline
from scipy.special import betaincinv, expit

from fenchel.score.estimate import check_share
from fenchel.score.intervals.binomial import lower_bound

Floats = NDArray[np.float64]

MANY = 50_000  # counts from which the spline is cheaper
LARGE = 1000  # trials from which it is accurate


def spline_intervals(k: Any, n: Any, level: float) -> tuple[Floats, Floats]:
    """`binomial_interval`, for arrays of any length; n is a number or an array like k.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.score.intervals.binomial_spline import spline_intervals
    >>> low, high = spline_intervals(np.arange(200_001), 200_000, level=0.95)
    >>> print(f"{low[100]:.8f} {high[100]:.8f}")
    0.00040684 0.00060810
    """
    tail = 0.5 * (1.0 - check_share(level, "level"))
    return spline_lower(k, n, tail), spline_upper(k, n, tail)


def spline_upper(k: Any, n: Any, delta: float) -> Floats:
    """`upper_bound`, for arrays of any length."""
    k, n = np.asarray(k, dtype=np.float64), np.asarray(n, dtype=np.float64)
    return 1.0 - spline_lower(n - k, n, delta)


def spline_lower(k: Any, n: Any, delta: float) -> Floats:
    """`lower_bound`, for arrays of any length."""
    k, n = np.asarray(k, dtype=np.float64), np.asarray(n, dtype=np.float64)
    if n.ndim == 0 and n + 1.0 < k.size:  # each count once
        return spline_lower(np.arange(n + 1.0), n, delta)[k.astype(np.int64)]
    if k.size <= MANY or n.max() < LARGE:
        return np.asarray(lower_bound(k, n, delta))
    return (_line if n.ndim == 0 else _sheet)(k, n, check_share(delta, "delta"))


def _line(k: Floats, n: Any, delta: float) -> Floats:
    """Lower bounds for one number of trials."""
    top = np.log(n)
    x = np.linspace(-top, top, 512)
    spline = make_interp_spline(x, _shift(x, n, delta), k=5)
    return _unshifted(k, n, lambda ratio: spline(ratio))


def _sheet(k: Floats, n: Floats, delta: float) -> Floats:
    """Lower bounds for a number of trials each."""
    small = n < LARGE
    bound = np.empty(k.shape)
    bound[small] = lower_bound(k[small], n[small], delta)
    k, n = k[~small], n[~small]
    scale = np.log(n)
    column = np.linspace(-1.0, 1.0, 256)
    row = np.linspace(scale.min(), max(scale.max(), scale.min() + 0.1), 160)
    spline = RectBivariateSpline(
        column, row, _shift(column[:, None] * row, np.exp(row), delta), kx=5, ky=5
    )
    bound[~small] = _unshifted(k, n, lambda ratio: spline.ev(ratio / scale, scale))
    return bound


def _shift(x: Floats, n: Any, delta: float) -> Floats:
    """L where log(k / (n − k + 1)) = x."""
    k = (n + 1.0) * expit(x)
    q = betaincinv(k, (n + 1.0) * expit(-x), delta)
    return np.log(q) - np.log1p(-q) - x


def _unshifted(k: Floats, n: Any, shift: Any) -> Floats:
    ratio = np.log(np.maximum(k, 1.0) / (n - k + 1.0))
    return np.where(k > 0.0, expit(shift(np.clip(ratio, -np.log(n), None)) + ratio), 0.0)
