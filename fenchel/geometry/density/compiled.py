"""Sums of exponentials over a tile of pairs, shifted by the largest exponent so far."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fenchel.data.elementary.compiled import exp

Floats = NDArray[np.float64]
_settings: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "nsz"},
}


@njit(**_settings)
def add_exponentials(
    E: Floats,
    rates: Floats,
    logits: Floats,
    own: NDArray[np.int64],
    rest: Floats,
    top: Floats,
    total: Floats,
) -> None:
    """top, total (n, G) with e^top total = Σⱼ exp(logitsⱼ - rate_g E_ij) so far: the tile E added.

    own: the column of the tile that is the row's own point, or -1; its logit is rest[i] then.
    """
    m, width = E.shape
    x = np.empty(width)
    for i in range(m):
        e = E[i]
        for g in range(rates.size):
            rate = rates[g]
            for j in range(width):
                x[j] = logits[j] - rate * e[j]
            if own[i] >= 0:
                x[own[i]] = rest[i] - rate * e[own[i]]
            high = top[i, g]
            for j in range(width):
                high = x[j] if x[j] > high else high
            if high == -np.inf:
                continue
            value = 0.0
            for j in range(width):
                value += exp(x[j] - high)
            total[i, g] = total[i, g] * np.exp(top[i, g] - high) + value
            top[i, g] = high
