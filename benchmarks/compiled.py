"""Loops that the judge needs and numpy cannot say: rows one by one, and all pairs of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

_settings: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "nnan", "nsz"},
}
PARTS = 16  # of the pairs; each has its own sums
TILE = 2048  # rows whose sums stay in the cache


@njit(**_settings)
def ascend_dense(
    X: NDArray[Any],
    s: NDArray[Any],
    aim: NDArray[Any],
    C: float,
    scale: float,
    square: NDArray[Any],
    order: NDArray[Any],
    a: NDArray[Any],
    w: NDArray[Any],
) -> None:
    """Maximises Σ aᵢaimᵢ - |w|²/2, w = Σ aᵢsᵢ(xᵢ, scale), over 0 ≤ a ≤ C, one a after the other."""
    d = X.shape[1]
    for i in order:
        x = X[i]
        z = scale * w[d]
        for j in range(d):
            z += x[j] * w[j]
        if square[i] > 0.0:
            new = min(max(a[i] - (s[i] * z - aim[i]) / square[i], 0.0), C)
            step = (new - a[i]) * s[i]
            a[i] = new
            if step != 0.0:
                for j in range(d):
                    w[j] += step * x[j]
                w[d] += step * scale


@njit(**_settings)
def ascend_sparse(
    data: NDArray[Any],
    indices: NDArray[Any],
    indptr: NDArray[Any],
    s: NDArray[Any],
    aim: NDArray[Any],
    C: float,
    scale: float,
    square: NDArray[Any],
    order: NDArray[Any],
    a: NDArray[Any],
    w: NDArray[Any],
) -> None:
    """The same for rows of a csr_matrix."""
    d = w.size - 1
    for i in order:
        z = scale * w[d]
        for k in range(indptr[i], indptr[i + 1]):
            z += data[k] * w[indices[k]]
        if square[i] > 0.0:
            new = min(max(a[i] - (s[i] * z - aim[i]) / square[i], 0.0), C)
            step = (new - a[i]) * s[i]
            a[i] = new
            if step != 0.0:
                for k in range(indptr[i], indptr[i + 1]):
                    w[indices[k]] += step * data[k]
                w[d] += step * scale


@njit(**_settings)
def _logistic_row(up: NDArray[Any], down: float, product: NDArray[Any], f: NDArray[Any]) -> float:
    """A row against a tile: factors 1 + q into `product`, shares into f; the sum of the shares."""
    mine = 0.0
    for j in range(up.size):
        q = down * up[j]
        share = q / (1.0 + q)
        product[j] *= 1.0 + q
        f[j] += share
        mine += share
    return mine


@njit(**_settings)
def _square_row(z: NDArray[Any], base: float, f: NDArray[Any]) -> tuple[float, float]:
    """Σ m² and Σ 2m, m = max(base + z, 0); f: the latter by row."""
    total, mine = 0.0, 0.0
    for j in range(z.size):
        m = max(base + z[j], 0.0)
        total += m * m
        f[j] += 2.0 * m
        mine += 2.0 * m
    return total, mine


@njit(**_settings)
def _hinge_row(
    z: NDArray[Any], base: float, narrow: float, f: NDArray[Any]
) -> tuple[float, float, float, float]:
    """Σ m, Σ m(1 - u), Σ u² and Σ u, u = min(narrow m, 1); f: the latter by row."""
    total, inside, square, mine = 0.0, 0.0, 0.0, 0.0
    for j in range(z.size):
        m = max(base + z[j], 0.0)
        u = min(m * narrow, 1.0)
        total += m
        inside += m * (1.0 - u)
        square += u * u
        f[j] += u
        mine += u
    return total, inside, square, mine


@njit(parallel=True, **_settings)
def logistic_pairs(
    z: NDArray[Any], lower: NDArray[Any], every: int, out: NDArray[Any], force: NDArray[Any]
) -> None:
    """log(1 + e^{-(zᵢ - zⱼ)}) of all pairs j < lowerᵢ: sums into `out`, slopes by row into `force`.

    Products of `every` factors 1 + e^{zⱼ - zᵢ} need one logarithm; no such product overflows.
    """
    n = z.size
    for p in prange(PARTS):
        up, product = np.exp(z), np.ones(TILE)
        total = 0.0
        for low in range(0, n, TILE):
            count = 0
            for i in range(p, n, PARTS):
                stop = min(lower[i], low + TILE)
                if stop <= low:
                    continue
                force[p, i] -= _logistic_row(
                    up[low:stop], np.exp(-z[i]), product[: stop - low], force[p, low:stop]
                )
                count += 1
                if count == every:
                    total += np.log(product).sum()
                    product[:] = 1.0
                    count = 0
            total += np.log(product).sum()
            product[:] = 1.0
        out[p, 0] = total


@njit(parallel=True, **_settings)
def hinge_pairs(
    z: NDArray[Any],
    lower: NDArray[Any],
    power: int,
    width: float,
    out: NDArray[Any],
    force: NDArray[Any],
) -> None:
    """m = max(0, 1 - (zᵢ - zⱼ)) of all pairs j < lowerᵢ, or m² for power 2.

    out: Σ loss, and for power 1 Σ m(1 - u) and Σ u², u = min(m/width, 1), a dual point; force: its
    sums, or those of the slope 2m, by row.
    """
    n = z.size
    for p in prange(PARTS):
        total, short, square = 0.0, 0.0, 0.0
        for low in range(0, n, TILE):
            for i in range(p, n, PARTS):
                stop = min(lower[i], low + TILE)
                if stop <= low:
                    continue
                if power == 2:
                    loss, mine = _square_row(z[low:stop], 1.0 - z[i], force[p, low:stop])
                else:
                    loss, inside, u2, mine = _hinge_row(
                        z[low:stop], 1.0 - z[i], 1.0 / width, force[p, low:stop]
                    )
                    short += inside
                    square += u2
                total += loss
                force[p, i] -= mine
        out[p, 0], out[p, 1], out[p, 2] = total, short, square
