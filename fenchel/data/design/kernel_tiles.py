"""The values of a kernel by tiles: its matrix, and the products of that matrix with vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fenchel.data.parallel import map_ordered, one_blas_thread, parallel_map, thread_count

Floats = NDArray[np.float64]
# A tile of 2¹⁷ values is a megabyte: what a core's second cache holds.
TILE_ROWS, TILE_POINTS = 256, 512
FEW = 6  # columns that a product with sixteen takes longer for


class PairKernel(Protocol):
    """A symmetric function k of two rows, which are whatever it takes: numbers, text, numbers of
    rows."""

    @property
    def is_psd(self) -> bool:
        """Whether every matrix of its values is positive semi-definite."""

    @property
    def tile_rows(self) -> int:
        """Rows of a tile."""

    def tile(self, A: Any, B: Any) -> Floats:
        """k(aᵢ, bⱼ) in float64."""

    def diagonal(self, A: Any) -> Floats:
        """k(aᵢ, aᵢ) in float64."""

    def rounding(self, columns: int) -> float:
        """By how many units of rounding a value may be off, relative to √(S(x) S(z)) of the
        sizes."""

    def sizes(self, A: Any) -> Floats:
        """S, at least k(aᵢ, aᵢ)."""

    def prepared(self, *tables: Any) -> tuple[Any, ...]:
        """Tables in a form of which many tiles are made faster, cut like the tables themselves."""


def tiles(n: int, m: int, height: int, width: int) -> Iterator[tuple[slice, slice]]:
    """The tiles of an n x m matrix, row by row of tiles, each from left to right."""
    for row in range(0, n, height):
        for lo in range(0, m, width):
            yield slice(row, min(row + height, n)), slice(lo, min(lo + width, m))


def add_products(kernel: PairKernel, A: Any, B: Any, v: Floats, out: Floats) -> None:
    """out += k(A, B) v, by tiles, on the thread that asks."""
    for rows, part in tiles(len(out), len(v), kernel.tile_rows, TILE_POINTS):
        out[rows] += kernel.tile(A[rows], B[part]) @ v[part]


def on_threads(work: Callable[[slice], None], n: int, height: int = TILE_ROWS) -> None:
    """work(range of rows) on every thread; ranges begin at multiples of the tiles' height, so that
    the bits do not depend on the number of threads."""
    workers = thread_count()
    step = max(height, -(-n // (workers * height)) * height)
    with one_blas_thread():
        parallel_map(work, [slice(lo, min(lo + step, n)) for lo in range(0, n, step)], workers)


def kernel_product(kernel: PairKernel, A: Any, B: Any, v: Floats) -> Floats:
    """k(A, B) v for a vector v or the columns of a matrix, by tiles: O(n + m) memory."""
    A, B = kernel.prepared(A, B)
    n = A.shape[0]
    out = np.zeros((n, *v.shape[1:]))

    def add(part: slice) -> None:
        with one_blas_thread():
            add_products(kernel, A[part], B, v, out[part])

    on_threads(add, n, kernel.tile_rows)
    return out


def symmetric_product(kernel: PairKernel, rows: Any, V: Floats) -> Floats:
    """k(A, A) V for the columns of a matrix, each value made once: O(n) memory."""
    from fenchel.data.passes.loops import address
    from fenchel.data.passes.panels.compiled import COLUMNS, DOUBLE_HEIGHT, add_symmetric_tile

    (rows,) = kernel.prepared(rows)
    (n, width), height = V.shape, kernel.tile_rows
    # Sixteen columns at a time side by side; a few are left to BLAS.
    parts = -(-width // COLUMNS) if width >= FEW else 0
    packed = np.zeros((parts, n, COLUMNS))
    for p in range(parts):
        some = V[:, p * COLUMNS : (p + 1) * COLUMNS]
        packed[p, :, : some.shape[1]] = some
    out = np.zeros((parts, n, COLUMNS) if parts else V.shape)

    def strip(lo: int) -> Floats:
        """What the values to the right of the diagonal in some rows add to this row and all
        below it."""
        hi = min(lo + height, n)
        sums = np.zeros((parts, n - lo, COLUMNS) if parts else (n - lo, width))
        for left in range(lo, n, TILE_POINTS):
            right = min(left + TILE_POINTS, n)
            tile = kernel.tile(rows[lo:hi], rows[left:right])
            first = min(max(left, hi), right)
            even = not any(m % DOUBLE_HEIGHT for m in (*tile.shape, first - left))
            if parts and even and tile.flags.c_contiguous and tile.dtype == np.float64:
                for p in range(parts):
                    own, other = packed[p, lo:], packed[p, left:]
                    add_symmetric_tile(
                        address(tile), tile.shape[0], tile.shape[1], first - left, address(own),
                        address(sums[p]), address(other), address(sums[p, left - lo :]),
                    )  # fmt: skip
                continue
            for own, total in zip(packed, sums, strict=True) if parts else ((V, sums),):
                total[: hi - lo] += tile @ own[left:right]
                total[first - lo : right - lo] += tile[:, first - left :].T @ own[lo:hi]
        return sums

    with one_blas_thread():
        starts = range(0, n, height)
        for lo, part in zip(starts, map_ordered(strip, starts, thread_count()), strict=True):
            out[..., lo:, :] += part
    return np.ascontiguousarray(np.concatenate(list(out), axis=1)[:, :width]) if parts else out


def supported_product(kernel: PairKernel, rows: Any, v: Floats) -> Floats:
    """K v for a vector v with zeros: values among its support, of m rows, are made once, so that
    m (n - m/2) of them are."""
    support = np.flatnonzero(v)
    points = rows[support]
    if len(support) == len(v):
        return symmetric_product(kernel, points, v[:, None])[:, 0]
    others, v = np.flatnonzero(v == 0.0), v[support]
    rest = np.zeros(len(others))

    def add(part: slice) -> None:
        with one_blas_thread():
            for lo in range(part.start, part.stop, kernel.tile_rows):  # gathered tile by tile
                here = slice(lo, min(lo + kernel.tile_rows, part.stop))
                add_products(kernel, rows[others[here]], points, v, rest[here])

    on_threads(add, len(others), kernel.tile_rows)
    out = np.empty(len(support) + len(others))
    out[support] = symmetric_product(kernel, points, v[:, None])[:, 0]
    out[others] = rest
    return out


def symmetric_error(n: int, height: int) -> float:
    """γ with |fl(K V) - K V| ≤ γ |K||V| for these products of n rows in tiles of so many."""
    return (TILE_POINTS + n / TILE_POINTS + n / height + 4.0) * 2.0**-53


def kernel_columns(kernel: PairKernel, A: Any, B: Any) -> Floats:
    """k(A, B) for few rows B."""
    A, B = kernel.prepared(A, B)
    n, height = A.shape[0], kernel.tile_rows
    out = np.empty((n, B.shape[0]))

    def fill(part: slice) -> None:
        with one_blas_thread():
            for here, _ in tiles(part.stop - part.start, 1, height, 1):
                at = slice(part.start + here.start, part.start + here.stop)
                out[at] = kernel.tile(A[at], B)

    on_threads(fill, n, height)
    return out


def gram_matrix(kernel: PairKernel, A: Any) -> Floats:
    """K = (k(aᵢ, aⱼ)), made above the diagonal and mirrored, so that it is symmetric to the bit."""
    (A,) = kernel.prepared(A)
    n, height = A.shape[0], kernel.tile_rows
    K = np.empty((n, n))

    def fill(row: int) -> None:
        with one_blas_thread():
            here = slice(row, min(row + height, n))
            for lo in range(row, n, TILE_POINTS):
                there = slice(lo, min(lo + TILE_POINTS, n))
                K[here, there] = kernel.tile(A[here], A[there])
                K[there, here] = K[here, there].T
            square = K[here, here]
            np.copyto(square, square.T, where=np.tri(len(square), k=-1, dtype=bool))

    workers = thread_count()
    with one_blas_thread():
        parallel_map(fill, range(0, n, height), workers)
    return K
