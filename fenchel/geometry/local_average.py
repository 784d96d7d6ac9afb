"""Local averages by tiles: sums over all points with the weights of a kernel around each row.

    Σⱼ wⱼ vⱼ,   wⱼ = k(x/h, xⱼ/h) / maxᵢ k(x/h, xᵢ/h),   for several bandwidths h in one pass

Weights are relative to the largest, tile by tile as in a log-sum-exp, so that nothing underflows
however far the row is. A point's own row may be left out, or weigh less.

Reference: Wand and Jones, Kernel Smoothing (1995), section 5.2 (local polynomials).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import Array
from fenchel.data.design.kernel_tiles import TILE_POINTS, TILE_ROWS, tiles
from fenchel.geometry.distance import rows_in_order
from fenchel.geometry.kernel.logarithm import log_kernels
from fenchel.geometry.kernel.vector_kernels import KernelFunction
from fenchel.geometry.tiles import Tile, TileFold

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
# Values of a tile of local moments: 16 MB in float64.
MOMENTS = 2**21


@dataclass(frozen=True, slots=True)
class Weighting:
    """Weights around rows.

    kernel, bandwidths: (H,), of the kernel; own: for rows that are points themselves the factor of
    each point's weight in its own row (0 leaves it out), else None.
    """

    kernel: KernelFunction
    bandwidths: Floats
    own: Floats | None = None

    def scaled(self, rows: NDArray[Any]) -> Floats:
        """Rows over a power of two near the bandwidths, so that squares keep their digits."""
        return rows.astype(np.float64) * (1.0 / self._unit)

    @property
    def _unit(self) -> float:
        return 2.0 ** round(float(np.log2(self.bandwidths).mean()))

    def logs(self, A: Floats, B: Floats, rows: Integers | None, first: int) -> Floats:
        """log wⱼ but for the shift, (H, a, b), of scaled rows with these numbers and the scaled
        points from `first` on."""
        widths = self.bandwidths / self._unit
        with np.errstate(over="ignore"):
            logs = np.stack(list(log_kernels(self.kernel, A, B, widths)))
        if self.own is not None and rows is not None:
            here = np.flatnonzero((rows >= first) & (rows < first + len(B)))
            with np.errstate(divide="ignore"):
                less = np.log(self.own[rows[here]])
            logs[:, here, rows[here] - first] += less
        return logs


@final
@dataclass(frozen=True, slots=True)
class LocalSums(TileFold[tuple[Floats, Floats]]):
    """log maxⱼ k (n, H), -inf where all weights vanish, and Σ wⱼ vⱼ (n, H, c)."""

    weighting: Weighting
    values: Floats = field(repr=False)  # (m, c)

    def prepare(self, points: Array) -> Floats:
        return self.weighting.scaled(rows_in_order(points))

    def empty(self, n: int, points: Any) -> tuple[NDArray[Any], ...]:
        return _empty(n, len(self.weighting.bandwidths), self.values.shape[1])

    def visit(
        self, X: NDArray[Any], points: Floats, slots: tuple[NDArray[Any], ...], tile: Tile
    ) -> int:
        numbers, top, sums = slots
        rows_at_once = max(16, TILE_ROWS * 4 // (3 + top.shape[1]))
        shape = tile.rows or rows_at_once, tile.points or TILE_POINTS
        for rows, part in tiles(len(X), len(points), *shape):
            A = self.weighting.scaled(X[rows])
            logs = self.weighting.logs(A, points[part], numbers[rows], part.start)
            weights = _relative(logs, top[rows], sums[rows])
            sums[rows] += np.moveaxis(weights @ self.values[part], 0, 1)
        return 0

    def finish(self, slots: tuple[NDArray[Any], ...]) -> tuple[Floats, Floats]:
        return slots[1], slots[2]


@final
@dataclass(frozen=True, slots=True)
class LocalMoments(TileFold[tuple[Floats, Floats]]):
    """log maxⱼ k (n, H), and with Δⱼ = xⱼ - x the sums over j of wⱼ (sⱼ, sⱼΔⱼ, sⱼΔⱼΔⱼ', sⱼvⱼ,
    sⱼΔⱼvⱼ') side by side, (n, H, 1 + d + d² + c + dc); Δ in units of `unit`."""

    weighting: Weighting
    values: Floats = field(repr=False)  # (m, c)
    weight: Floats = field(repr=False)  # (m,)
    unit: float

    def prepare(self, points: Array) -> tuple[Floats, Floats]:
        rows = rows_in_order(points)
        return self.weighting.scaled(rows), rows.astype(np.float64) / self.unit

    def empty(self, n: int, points: Any) -> tuple[NDArray[Any], ...]:
        d, c = points[0].shape[1], self.values.shape[1]
        return _empty(n, len(self.weighting.bandwidths), (1 + d) * (1 + c) + d * d)

    def visit(
        self,
        X: NDArray[Any],
        points: tuple[Floats, Floats],
        slots: tuple[NDArray[Any], ...],
        tile: Tile,
    ) -> int:
        numbers, top, sums = slots
        scaled, whole = points
        height = max(1, MOMENTS // (sums.shape[2] * TILE_POINTS))
        shape = tile.rows or min(height, TILE_ROWS), tile.points or TILE_POINTS
        for rows, part in tiles(len(X), len(scaled), *shape):
            A = self.weighting.scaled(X[rows])
            logs = self.weighting.logs(A, scaled[part], numbers[rows], part.start)
            weights = np.moveaxis(_relative(logs, top[rows], sums[rows]), 0, 1)
            delta = whole[part] - (X[rows].astype(np.float64) / self.unit)[:, None, :]
            a, b, d = delta.shape
            s, v = self.weight[part, None], self.weight[part, None] * self.values[part]
            found = [
                np.broadcast_to(s, (a, b, 1)),
                delta * s,
                (delta[..., :, None] * (delta * s)[..., None, :]).reshape(a, b, d * d),
                np.broadcast_to(v, (a, b, v.shape[1])),
                (delta[..., :, None] * v[:, None, :]).reshape(a, b, -1),
            ]
            sums[rows] += weights @ np.concatenate(found, axis=2)
        return 0

    def finish(self, slots: tuple[NDArray[Any], ...]) -> tuple[Floats, Floats]:
        return slots[1], slots[2]


@final
@dataclass(frozen=True, slots=True)
class LocalVariance(TileFold[Floats]):
    """Σⱼ (wⱼ (1 - (xⱼ - x̄)·u))² vⱼ, (n, c), for one bandwidth and a vector u of each row: the
    variance of a local average of points with variances v, whose weights are relative to `top`.

    slopes: (n, d), u; offsets: (n,), (x̄ - centre)·u; top: (n,), log maxⱼ k; centre: of the points.
    """

    weighting: Weighting
    values: Floats = field(repr=False)
    slopes: Floats = field(repr=False)
    offsets: Floats = field(repr=False)
    top: Floats = field(repr=False)
    centre: Floats = field(repr=False)

    def prepare(self, points: Array) -> tuple[Floats, Floats]:
        rows = rows_in_order(points)
        return self.weighting.scaled(rows), rows - self.centre

    def empty(self, n: int, points: Any) -> tuple[NDArray[Any], ...]:
        return np.arange(n), np.zeros((n, self.values.shape[1]))

    def visit(
        self,
        X: NDArray[Any],
        points: tuple[Floats, Floats],
        slots: tuple[NDArray[Any], ...],
        tile: Tile,
    ) -> int:
        numbers, sums = slots
        scaled, whole = points
        shape = tile.rows or TILE_ROWS, tile.points or TILE_POINTS
        for rows, part in tiles(len(X), len(scaled), *shape):
            A, at = self.weighting.scaled(X[rows]), numbers[rows]
            logs = self.weighting.logs(A, scaled[part], None, part.start)[0]
            top = self.top[at]
            weights = np.exp(logs - np.where(np.isfinite(top), top, 0.0)[:, None])
            weights *= 1.0 + self.offsets[at, None] - self.slopes[at] @ whole[part].T
            sums[rows] += (weights * weights) @ self.values[part]
        return 0

    def finish(self, slots: tuple[NDArray[Any], ...]) -> Floats:
        return slots[1]


def _empty(n: int, H: int, c: int) -> tuple[NDArray[Any], ...]:
    return np.arange(n), np.full((n, H), -np.inf), np.zeros((n, H, c))


def _relative(logs: Floats, top: Floats, sums: Floats) -> Floats:
    """exp(logs - the largest so far), (H, a, b); the sums so far, (a, H, c), are brought to it."""
    new = np.maximum(top, logs.max(axis=2).T)
    shift = np.where(np.isfinite(new), new, 0.0)
    sums *= np.exp(top - shift)[:, :, None]
    top[...] = new
    logs -= shift.T[:, :, None]
    return np.exp(logs, out=logs)


@dataclass(frozen=True, slots=True)
class LocalLine:
    """The weighted least-squares line through the points around each row.

    value: at the row, (n, H, c); the equivalent weights of the points are wⱼ/Σw (1 - (xⱼ - x̄)·u):
    mean: x̄ - x (n, H, d), slope: u (n, H, d), total: Σ wⱼsⱼ (n, H).
    """

    value: Floats
    mean: Floats
    slope: Floats
    total: Floats


# Directions in which the second moment about the row is this small a share hold rounding errors
# alone, 2⁻⁵³ times the number of coordinates: there the average is local and constant.
FLAT = 1e-10
SMALLEST = 1e-290  # below it the inverse may overflow


def local_line(sums: Floats, d: int, c: int, unit: float) -> LocalLine:
    """From the sums of `LocalMoments`, in units of x."""
    cuts = np.cumsum([1, d, d * d, c])
    S0, S1, S2, T0, T1 = np.split(sums, cuts, axis=2)
    safe = np.where(S0 > 0.0, S0, 1.0)
    m, second = S1 / safe, (S2 / safe).reshape(*S2.shape[:2], d, d)
    y, cross = T0 / safe, (T1 / safe).reshape(*T1.shape[:2], d, c)
    C = second - m[..., :, None] * m[..., None, :]
    values, vectors = np.linalg.eigh(0.5 * (C + np.swapaxes(C, -1, -2)))
    size = np.trace(second, axis1=-2, axis2=-1)[..., None]
    firm = values > np.maximum(FLAT * size, SMALLEST)
    inverse = np.where(firm, 1.0 / np.where(firm, values, 1.0), 0.0)
    along = np.einsum("nhij,nhi->nhj", vectors, m)
    slope = np.einsum("nhij,nhj->nhi", vectors, inverse * along)
    value = y - np.einsum("nhi,nhic->nhc", slope, cross - m[..., :, None] * y[..., None, :])
    return LocalLine(value, m * unit, slope / unit, S0[..., 0])


def power_of_two(size: float) -> float:
    """The power of two next to a positive size; 1 of zero."""
    return 2.0 ** round(math.log2(size)) if 0.0 < size < math.inf else 1.0
