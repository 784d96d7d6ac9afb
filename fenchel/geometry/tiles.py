"""Pairs of rows and points by tiles: what is folded is never held for all pairs.

A `TileFold` says what becomes of the pairs of a row: its nearest points, a count, a weighted sum,
the logarithm of a sum. `fold_pairs` takes rows in ranges, one call a thread and range, and within a
range tile by tile; time O(n m d), memory that of the points, of the answer and of a tile a thread.

Reference: Johnson, Douze and Jégou, Billion-scale similarity search with GPUs, IEEE Trans. Big
Data 7 (2019), section 5 (a product for each tile, folded before the next).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Self, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import Array, is_sparse
from fenchel.data.design.kernel_tiles import TILE_POINTS, TILE_ROWS, PairKernel, add_products, tiles
from fenchel.data.parallel import one_blas_thread, parallel_map, thread_count
from fenchel.geometry.distance import Points, rows_in_order, squared_distances

Floats = NDArray[np.float64]
Answer = TypeVar("Answer")
# Ranges begin at multiples of the tiles' height: sums are the same for any number of threads.
GRID = TILE_ROWS
# Rows that have to be converted first are converted so many bytes at a time.
CHUNK_BYTES = 2**24
# Of folds whose answer does not depend on ranges: products of fewer rows are slower.
FINE_GRID = 16
# A range takes about a second at the 1e10 operations a second of a slow core: Ctrl-C waits no
# longer than that.
RANGE_WORK = 1e10
# A distance takes as long as 32 products in float32 (0.7 and 0.022 ns a coordinate): where a larger
# share of pairs is undecided, products in float64, twice as long, are worth their time.
DEAR = 32
# Projections are tried where all products take seconds: their axes take 0.3 s.
MANY, FEWEST_POINTS, FEWEST_COLUMNS = 1e11, 8192, 128


@dataclass(frozen=True, slots=True)
class Tile:
    """Rows and points of a tile of products; None: by the shape of the problem."""

    rows: int | None = None
    points: int | None = None

    def shape(self, m: int, k: int) -> tuple[int, int]:
        """Tiles of 2¹⁷ products for one neighbour or a count, half a megabyte in float32: what a
        core's second cache holds beside the rows. For several neighbours 2¹⁹: the k lowest bounds
        are searched less often. (30,000 points, d = 256, 5000 rows: 0.74, 0.73, 0.71 s for
        256 x 512, 512 x 512, 512 x 1024, of which the products are 0.65.)"""
        size, width = (2**17, 512) if k == 1 else (2**19, 1024)
        points = self.points or min(m, max(width, 4 * k))
        return self.rows or max(size // points, 16), points


class TileFold(ABC, Generic[Answer]):
    """What becomes of the pairs of a row and all points: a frozen value.

    grid: ranges of rows begin at its multiples; GRID unless no bit depends on where they begin.
    """

    grid: ClassVar[int] = GRID

    @abstractmethod
    def prepare(self, points: Array) -> Any:
        """What all rows need of the points."""

    @abstractmethod
    def empty(self, n: int, points: Any) -> tuple[NDArray[Any], ...]:
        """One entry a row in each array, filled by `visit`."""

    @abstractmethod
    def visit(
        self, X: NDArray[Any], points: Any, slots: tuple[NDArray[Any], ...], tile: Tile
    ) -> int:
        """Fold the pairs of some rows, given as a C-ordered array of floating numbers. Returns how
        many pairs products could not decide."""

    def refined(self, undecided: float, points: Any, left: int) -> TileFold[Answer]:
        """The fold to go on with, when so many pairs a row were undecided at first and so many rows
        are left."""
        return self

    @abstractmethod
    def finish(self, slots: tuple[NDArray[Any], ...]) -> Answer:
        """The answer; refuses rows that could not be compared."""


@final
@dataclass(frozen=True, slots=True)
class Nearest(TileFold[tuple[NDArray[np.int64], Floats]]):
    """The k nearest points of each row: their numbers (n, k) and squared distances (n, k), nearest
    first, ties to the lower number. dtype: of the products that exclude points; projections:
    whether those of few columns may be tried first."""

    grid: ClassVar[int] = FINE_GRID
    k: int = 1
    dtype: Any = np.float32
    projections: bool = True

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ValueError(f"k must be at least 1, got {self.k}")

    def prepare(self, points: Array) -> Points:
        m = points.shape[0]
        if self.k > m:
            raise ValueError(f"k={self.k} neighbours asked of {m} points: lower k")
        return Points.of(points, self.dtype)

    def empty(self, n: int, points: Any) -> tuple[NDArray[Any], ...]:
        return np.full((n, self.k), np.inf), np.full((n, self.k), -1, np.int64)

    def visit(
        self, X: NDArray[Any], points: Points, slots: tuple[NDArray[Any], ...], tile: Tile
    ) -> int:
        from fenchel.geometry.compiled import nearest_directly
        from fenchel.geometry.products.compiled import nearest_by_products, nearest_one_by_products

        if points.products is None:
            nearest_directly(X, points.columns, tile.points or 256, *slots)
            return 0
        shape = tile.shape(len(points.rows), self.k)
        loop = nearest_one_by_products if self.k == 1 else nearest_by_products
        return int(loop(X, points.products, *shape, *slots))

    def refined(self, undecided: float, points: Points, left: int) -> TileFold[Any]:
        from fenchel.geometry.projection.fold import NearestByProjections

        m, d = points.rows.shape
        # A threshold is found by 16 k distances, about.
        if undecided > m / DEAR + 16 * self.k:
            return replace(self, dtype=np.float64)
        long = m >= FEWEST_POINTS and d >= FEWEST_COLUMNS and float(left) * m * d >= MANY
        made = points.products
        usable = made is not None and made.limit > 0.0 and self.dtype == np.float32
        return (
            NearestByProjections(self.k, points) if self.projections and long and usable else self
        )

    def finish(self, slots: tuple[NDArray[Any], ...]) -> tuple[NDArray[np.int64], Floats]:
        squares, numbers = slots
        refuse_lost(~np.isfinite(squares[:, -1]))
        return numbers, squares


@final
@dataclass(frozen=True, slots=True)
class Count(TileFold[NDArray[np.int64]]):
    """The number of points within a radius of each row: those with d² ≤ radius²."""

    grid: ClassVar[int] = FINE_GRID
    radius: float
    dtype: Any = np.float32

    def __post_init__(self) -> None:
        if not 0.0 <= self.radius < 1e150:
            raise ValueError(f"radius must be nonnegative and below 1e150, got {self.radius!r}")

    def prepare(self, points: Array) -> Points:
        return Points.of(points, self.dtype)

    def empty(self, n: int, points: Any) -> tuple[NDArray[Any], ...]:
        return (np.zeros(n, np.int64),)

    def visit(
        self, X: NDArray[Any], points: Points, slots: tuple[NDArray[Any], ...], tile: Tile
    ) -> int:
        from fenchel.geometry.compiled import count_directly
        from fenchel.geometry.products.compiled import count_by_products

        square = float(self.radius) * float(self.radius)
        if not np.isfinite(X).all():
            slots[0][~np.isfinite(X).all(axis=1)] = -(2**62)
        if points.products is None:
            count_directly(X, points.columns, square, tile.points or 256, *slots)
            return 0
        shape = tile.shape(len(points.rows), 1)
        return int(count_by_products(X, points.products, square, *shape, *slots))

    def refined(self, undecided: float, points: Points, left: int) -> Count:
        return self if undecided <= len(points.rows) / DEAR else replace(self, dtype=np.float64)

    def finish(self, slots: tuple[NDArray[Any], ...]) -> NDArray[np.int64]:
        (counts,) = slots
        refuse_lost(counts < 0)
        return counts


@final
@dataclass(frozen=True, slots=True)
class WeightedSum(TileFold[Floats]):
    """Σⱼ k(x, pⱼ) vⱼ for each row, v a vector or the columns of a matrix: the kernel product K v.

    The kernel's values are made in float64; tiles of points are added from left to right.
    """

    kernel: PairKernel
    v: Floats

    def prepare(self, points: Array) -> Array:
        if points.shape[0] != len(self.v):
            raise ValueError(f"v has {len(self.v)} rows for {points.shape[0]} points")
        return points if is_sparse(points) else np.asarray(points)

    def empty(self, n: int, points: Any) -> tuple[NDArray[Any], ...]:
        return (np.zeros((n, *self.v.shape[1:])),)

    def visit(
        self, X: NDArray[Any], points: Any, slots: tuple[NDArray[Any], ...], tile: Tile
    ) -> int:
        add_products(self.kernel, X, points, self.v, *slots)
        return 0

    def finish(self, slots: tuple[NDArray[Any], ...]) -> Floats:
        return slots[0]


@final
@dataclass(frozen=True, slots=True)
class LogSumExp(TileFold[Floats]):
    """log Σⱼ exp(logitsⱼ - rate d²(x, pⱼ)) for each row: the normaliser of a soft assignment, a
    Gaussian density. Shifted by the largest exponent so far, tile by tile."""

    rate: float
    logits: Floats

    def __post_init__(self) -> None:
        if not 0.0 < self.rate < math.inf:
            raise ValueError(f"rate must be positive and finite, got {self.rate!r}")

    def prepare(self, points: Array) -> NDArray[Any]:
        if points.shape[0] != len(self.logits):
            raise ValueError(f"logits have {len(self.logits)} entries for {points.shape[0]} points")
        return rows_in_order(points)

    def empty(self, n: int, points: Any) -> tuple[NDArray[Any], ...]:
        return np.full(n, -np.inf), np.zeros(n)

    def visit(
        self, X: NDArray[Any], points: Any, slots: tuple[NDArray[Any], ...], tile: Tile
    ) -> int:
        top, total = slots
        height, width = tile.rows or TILE_ROWS, tile.points or TILE_POINTS
        for rows, part in tiles(len(X), len(points), height, width):
            exponents = squared_distances(X[rows], points[part])
            exponents *= -self.rate
            exponents += self.logits[part]
            new = np.maximum(top[rows], exponents.max(axis=1))
            shift = np.where(np.isfinite(new), new, 0.0)
            exponents -= shift[:, None]
            np.exp(exponents, out=exponents)
            total[rows] = total[rows] * np.exp(top[rows] - shift) + exponents.sum(axis=1)
            top[rows] = new
        return 0

    def finish(self, slots: tuple[NDArray[Any], ...]) -> Floats:
        top, total = slots
        with np.errstate(divide="ignore"):
            return np.asarray(top + np.log(total))


def refuse_lost(lost: NDArray[np.bool_]) -> None:
    """An error that names the first row without an answer."""
    if lost.any():
        raise ValueError(
            f"row {int(np.argmax(lost))} holds NaN or values whose squares overflow: rescale the "
            "columns, or remove the row"
        )


@final
@dataclass(frozen=True, slots=True)
class PairFold(Generic[Answer]):
    """A fold with its points prepared, for rows that come in several parts: a function of rows, as
    a pass over blocks takes it. Rows are taken in `dtype`, the type of the points."""

    fold: TileFold[Answer]
    points: Array = field(repr=False)
    ready: Any = field(repr=False)
    dtype: Any
    tile: Tile = Tile()

    @classmethod
    def of(cls, points: Array, fold: TileFold[Answer], dtype: Any, tile: Tile | None) -> Self:
        """dtype: of the rows; a compiled loop is made for one type of both."""
        if not points.shape[0]:
            raise ValueError("points must have at least one row")
        if dtype != np.float32 or points.dtype != np.float32:
            dtype, points = np.float64, points.astype(np.float64, copy=False)
        return cls(fold, points, fold.prepare(points), dtype, Tile() if tile is None else tile)

    def __call__(self, rows: Array) -> Answer:
        n, d = rows.shape
        m = self.points.shape[0]
        if self.points.shape[1] != d:
            raise ValueError(f"rows have {d} columns and points have {self.points.shape[1]}")
        fold, ready = self.fold, self.ready
        slots = fold.empty(n, ready)

        def work(part: slice) -> int:
            undecided = 0
            with one_blas_thread():
                for here in _chunks(rows, part):
                    X = rows_in_order(rows[here]).astype(self.dtype, copy=False)
                    X.flags.writeable = False  # one type for the loops, whatever was given
                    undecided += fold.visit(X, ready, tuple(s[here] for s in slots), self.tile)
            return undecided

        workers, cost, first = thread_count(), m * max(d, 8), 0
        with one_blas_thread():
            while first < n:  # a few rows tell how to go on with the others
                start, first = first, min(first + GRID, n)
                ranges = _ranges(start, first, cost, workers, fold.grid)
                undecided = sum(parallel_map(work, ranges, workers))
                better = fold.refined(undecided / (first - start), ready, n - first)
                if better == fold:
                    break
                fold, ready = better, better.prepare(self.points)
            parallel_map(work, _ranges(first, n, cost, workers, fold.grid), workers)
        return fold.finish(slots)


def fold_pairs(
    rows: Array, points: Array, fold: TileFold[Answer], *, tile: Tile | None = None
) -> Answer:
    """Fold the pairs of each row and all points.

    Parameters
    ----------
    rows, points : arrays (n, d) and (m, d), of float32 or float64 in any order, or CSR
    fold : Nearest, Count, WeightedSum, LogSumExp
    tile : Tile, optional
        The answers of Nearest and Count do not depend on it; those of sums do, to rounding.

    The same bits for any number of `threads`.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.geometry.tiles import Nearest, fold_pairs
    >>> points = np.array([[0.0], [1.0], [5.0]])
    >>> labels, squares = fold_pairs(np.array([[0.5], [4.0]]), points, Nearest())
    >>> labels[:, 0].tolist(), squares[:, 0].tolist()
    ([0, 2], [0.25, 1.0])
    """
    return PairFold.of(points, fold, rows.dtype, tile)(rows)


def _ranges(first: int, n: int, work: float, workers: int, grid: int) -> list[slice]:
    """As many ranges as threads, or more where one would take long; all begin on the grid."""
    pieces = workers * max(1, math.ceil((n - first) * work / RANGE_WORK / workers))
    step = max(grid, math.ceil((n - first) / pieces / grid) * grid)
    return [slice(lo, min(lo + step, n)) for lo in range(first, n, step)]


def _chunks(rows: Array, part: slice) -> Iterator[slice]:
    """A range at once where its rows are used as they lie, else in parts small enough to copy."""
    plain = isinstance(rows, np.ndarray) and rows.flags.c_contiguous
    if plain and rows.dtype in (np.float32, np.float64):
        yield part
        return
    step = max(GRID, int(CHUNK_BYTES // (8 * max(rows.shape[1], 1))) // GRID * GRID)
    for lo in range(part.start, part.stop, step):
        yield slice(lo, min(lo + step, part.stop))
