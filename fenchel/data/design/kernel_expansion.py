"""The functions f = Σⱼ αⱼ k(xⱼ, ·) as a linear map to scores, whatever K = (k(xᵢ, xⱼ)) is made of.

Φα = Kα,   Φ*r = r in those coordinates,   ⟨u, v⟩ = u'Kv
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import Array, to_numpy
from fenchel.data.blocks import Block, Totals, free_memory
from fenchel.data.design.kernel_coordinates import KernelCoordinates, span_factor
from fenchel.data.design.kernel_tiles import TILE_ROWS
from fenchel.data.design.matrix import Curve, Design, MatrixDesign, Point, Rows
from fenchel.data.in_memory import ArrayBlocks
from fenchel.data.linear_algebra.double_double import DoubleDouble, OzakiMatrix
from fenchel.data.passes.sweep import apply_rows

Floats = NDArray[np.float64]
# Writes a slice of the columns of some rows of K into those places of an array.
RowMaker = Callable[[slice, NDArray[Any], NDArray[np.int64]], None]


class KernelExpansion(Design):
    """A design whose points are the coefficients α of an expansion in kernel functions."""

    @property
    @abstractmethod
    def sides(self) -> tuple[Array, Floats | None]:
        """The target and the weight of every row."""

    @property
    @abstractmethod
    def aux(self) -> Mapping[str, Array]:
        """What else lies beside every row."""

    @abstractmethod
    def product(self, v: Floats) -> Floats:
        """K v, for a vector or the columns of a matrix."""

    @abstractmethod
    def columns(self, numbers: NDArray[np.int64]) -> Floats:
        """The columns of K with these numbers, (n, m)."""

    @abstractmethod
    def diagonal(self) -> Floats:
        """The diagonal of K."""

    def sizes(self) -> Floats:
        """S: at least the diagonal of K, and more where its entries are small differences."""
        return self.diagonal()

    @abstractmethod
    def matrix_in_memory(self) -> Floats | None:
        """K where it is kept."""

    @property
    @abstractmethod
    def entry_error(self) -> float:
        """At most |k̂(xᵢ, xⱼ) - k(xᵢ, xⱼ)| of any entry, relative to √(Sᵢ Sⱼ) of the sizes."""

    @abstractmethod
    def require_semidefinite(self) -> None:
        """ValueError where K is not positive semi-definite, and the problem not convex."""

    @abstractmethod
    def with_target(self, y: Array) -> KernelExpansion:
        """The same functions and weights with another target."""

    @abstractmethod
    def row_maker(self, numbers: NDArray[np.int64], single: bool) -> RowMaker:
        """What makes the rows of K with these numbers, a slice of columns at a time; single: in
        float32, roughly, where that is faster."""

    def single_square(self, numbers: NDArray[np.int64]) -> Floats | None:
        """K among these rows in float64, of the values that `row_maker` makes in float32; None
        where it is no faster to make it alone."""
        return None

    @property
    def work_of_entry(self) -> float:
        """Multiplications that an entry of a row of float32 takes; inf where it takes longer than
        matrix products do."""
        return math.inf

    @cached_property
    def cache(self) -> dict[str, Any]:
        return {"products": [], "factor": {}}

    @property
    def _of_matrix(self) -> dict[str, Any]:
        """What is known of K alone, which designs with other targets share."""
        return {name: self.cache[name] for name in ("products", "factor")}

    @property
    def dimension(self) -> int:  # type: ignore[override]
        return self.n_rows

    @property
    def weight(self) -> float:
        s = self.sides[1]
        return float(self.n_rows) if s is None else float(s.sum())

    @property
    def target(self) -> Floats:
        y, s = self.sides
        s = np.ones(len(y)) if s is None else s
        return np.asarray(s @ to_numpy(y).reshape(len(s), -1) / self.weight)

    def inner(self, u: Floats, v: Floats) -> float:
        return float(np.vdot(u, self.kept_product(v)))

    def paired_product(self, v: Floats) -> DoubleDouble | None:
        """K v in pairs of floats for a vector v; None where K has more than 4096 rows, whose
        products would take seconds."""
        n = self.n_rows
        if n > 4096:
            return None
        right = DoubleDouble.of(np.asarray(v, np.float64)[:, None])
        starts = range(0, n, TILE_ROWS)
        rows = [np.arange(lo, min(lo + TILE_ROWS, n)) for lo in starts]
        parts = [OzakiMatrix.of(self.columns(some).T).forward(right) for some in rows]
        return DoubleDouble(
            np.concatenate([part.hi[:, 0] for part in parts]),
            np.concatenate([part.lo[:, 0] for part in parts]),
        )

    def expansion_size(self, alpha: Floats) -> float:
        """At least the norm of Σ αⱼ k(xⱼ, ·): Σ |αⱼ|√Sⱼ, the most of several columns."""
        return float(np.max(self.roots @ np.abs(alpha)))

    @property
    def roots(self) -> Floats:
        """√S of each row."""
        if "roots" not in self.cache:
            self.cache["roots"] = np.sqrt(np.maximum(self.sizes(), 0.0))
        found: Floats = self.cache["roots"]
        return found

    def score_size(self, point: Point) -> float:
        # |k(x, z)|² ≤ k(x, x) k(z, z).
        top = float(self.roots.max(initial=0.0))
        return top * self.expansion_size(point[0]) + float(np.max(np.abs(point[1])))

    @property
    def score_terms(self) -> int:
        return self.n_rows + 1

    def map_rows(self, point: Point, of_row: Curve, *, exact: bool = True) -> Floats:
        return np.asarray(of_row(self.sides[0], self.kept_product(point[0]) + point[1]))

    def sweep(self, points: Sequence[Point], rows: Rows, *, exact: bool = False) -> Totals:
        y, s = self.sides
        scores = [self.kept_product(w) + b for w, b in points]
        r, sums = apply_rows(rows, y, scores, s, self.aux)
        return Totals(r, r.sum(0), *sums)

    def kept_product(self, v: Floats) -> Floats:
        """K v; the last few are kept, since a value, its norm and its proof ask for the same."""
        known: list[tuple[Floats, Floats]] = self.cache["products"]
        for u, Ku in list(known):
            if np.array_equal(u, v):
                return Ku
        Kv = self.product(np.asarray(v, np.float64)) if np.any(v) else np.zeros(v.shape)
        known.append((np.array(v), Kv))
        del known[:-4]
        return Kv

    def explicit(self, memory: float | None = None) -> KernelCoordinates:
        """Coordinates in which the kernel's functions on these rows are the rows of a table.

        memory: the bytes that the factor may take; by default half of what is free.
        """
        if "explicit" not in self.cache:
            L, pivots = self._factor(memory)
            y, s = self.sides
            table = MatrixDesign(ArrayBlocks(Block(0, L, y, s), None))
            self.cache["explicit"] = KernelCoordinates(table, L, pivots)
        found: KernelCoordinates = self.cache["explicit"]
        return found

    def _factor(self, memory: float | None) -> tuple[Floats, NDArray[np.int64]]:
        """L and its pivots."""
        known: dict[str, Any] = self.cache["factor"]
        if "L" not in known:
            room = 0.5 * free_memory() if memory is None else memory
            known["L"] = span_factor(self.diagonal(), self.columns, self.product, room)
        found: tuple[Floats, NDArray[np.int64]] = known["L"]
        return found
