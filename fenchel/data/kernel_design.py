"""Rows seen through a kernel: the functions f = Σⱼ αⱼ k(xⱼ, ·) as a linear map to scores.

    Φα = Kα,   Φ*r = r in those coordinates,   ⟨u, v⟩ = u'Kv,   K = (k(xᵢ, xⱼ))

K is kept in memory where it fits, else made again, tile by tile, in each product. A factor K = LL'
turns the same functions into the rows of an ordinary table, which every solver takes.

Reference: Schölkopf and Smola, Learning with Kernels (2002), section 4.2 (representer theorem).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from fenchel.data.arrays import Array, host, is_strings
from fenchel.data.blocks import (
    Block,
    Blocks,
    InMemory,
    Totals,
    free_memory,
)
from fenchel.data.design import Curve, Design, MatrixDesign, Point, Rows
from fenchel.data.double_double import DoubleDouble, OzakiMatrix
from fenchel.data.kernel_tiles import (
    TILE_ROWS,
    Kernel,
    gram_matrix,
    kernel_columns,
    kernel_product,
)
from fenchel.data.matrix_products import matrix_product
from fenchel.data.pivoted_cholesky import pivoted_cholesky
from fenchel.data.strings import longest
from fenchel.data.sweep import apply_rows

Floats = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)

__all__ = [
    "GramDesign",
    "Kernel",
    "KernelCoordinates",
    "KernelDesign",
    "KernelExpansion",
    "RowMaker",
    "SingleRows",
    "gram_matrix",
    "kernel_product",
]


RowMaker = Callable[[slice], NDArray[Any]]


class SingleRows(Protocol):
    """Rows of a kernel matrix made in float32."""

    def maker(self, numbers: NDArray[np.int64]) -> RowMaker:
        """What gives the rows with these numbers, a slice of columns at a time."""


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
    def held(self) -> Floats | None:
        """K where it is kept."""

    @property
    @abstractmethod
    def entry_error(self) -> float:
        """At most |k̂(xᵢ, xⱼ) - k(xᵢ, xⱼ)| of any entry, relative to √(Sᵢ Sⱼ) of the sizes."""

    @abstractmethod
    def row_maker(self, numbers: NDArray[np.int64], single: bool) -> RowMaker:
        """What gives the rows of K with these numbers, a slice of columns at a time; single: in
        float32, roughly, where that is faster."""

    @cached_property
    def _memo(self) -> dict[str, Any]:
        return {"products": []}

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
        return np.asarray(s @ host(y).reshape(len(s), -1) / self.weight)

    def inner(self, u: Floats, v: Floats) -> float:
        return float(np.vdot(u, self._product(v)))

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
        if "roots" not in self._memo:
            self._memo["roots"] = np.sqrt(np.maximum(self.sizes(), 0.0))
        found: Floats = self._memo["roots"]
        return found

    def score_size(self, point: Point) -> float:
        # |k(x, z)|² ≤ k(x, x) k(z, z).
        top = float(self.roots.max(initial=0.0))
        return top * self.expansion_size(point[0]) + float(np.max(np.abs(point[1])))

    @property
    def score_terms(self) -> int:
        return self.n_rows + 1

    def each(self, point: Point, of_row: Curve, *, exact: bool = True) -> Floats:
        return np.asarray(of_row(self.sides[0], self._product(point[0]) + point[1]))

    def sweep(self, points: Sequence[Point], rows: Rows, *, exact: bool = False) -> Totals:
        y, s = self.sides
        scores = [self._product(w) + b for w, b in points]
        r, sums = apply_rows(rows, y, scores, s, self.aux)
        return Totals(r, r.sum(0), *sums)

    def _product(self, v: Floats) -> Floats:
        """K v; the last few are kept, since a value, its norm and its proof ask for the same."""
        known: list[tuple[Floats, Floats]] = self._memo["products"]
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
        if "explicit" not in self._memo:
            room = 0.5 * free_memory() if memory is None else memory
            L, pivots = pivoted_cholesky(self.diagonal(), self.columns, room)
            probe = np.random.default_rng(0).choice([-1.0, 1.0], self.n_rows)
            # For a semi-definite K no entry of K - LL' exceeds the largest remaining pivot, n ε
            # max K, so that no entry of (K - LL')v exceeds n² ε max K; and there is rounding in K.
            error = float(np.abs(self.product(probe) - L @ (L.T @ probe)).max())
            size = float(self.diagonal().max(initial=0.0))
            if not error <= 16.0 * EPS * (self.n_rows + 16.0) ** 2 * size:
                raise ValueError(
                    "the kernel is not positive semi-definite on these rows (or not symmetric), so "
                    "the problem is not convex: choose a kernel that is"
                )
            y, s = self.sides
            table = MatrixDesign(InMemory(Block(0, L, y, s), None))
            self._memo["explicit"] = KernelCoordinates(table, L, pivots)
        found: KernelCoordinates = self._memo["explicit"]
        return found


@final
@dataclass(frozen=True)
class GramDesign(KernelExpansion):
    """The expansion for a matrix K that is given."""

    K: Floats
    y: Array
    row_weight: Floats | None = None
    dual: Floats | None = None

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        return len(self.K)

    @property
    def sides(self) -> tuple[Array, Floats | None]:
        return self.y, self.row_weight

    @property
    def aux(self) -> Mapping[str, Array]:
        return {} if self.dual is None else {"dual": self.dual}

    def with_dual(self, theta: Floats) -> GramDesign:
        new = GramDesign(self.K, self.y, self.row_weight, theta)
        new._memo["products"] = self._memo["products"]
        return new

    def product(self, v: Floats) -> Floats:
        return matrix_product(self.K, v)

    def columns(self, numbers: NDArray[np.int64]) -> Floats:
        return np.asarray(self.K[:, numbers])

    def diagonal(self) -> Floats:
        return np.diagonal(self.K).copy()

    def held(self) -> Floats | None:
        return self.K

    @property
    def entry_error(self) -> float:
        return 0.0

    def row_maker(self, numbers: NDArray[np.int64], single: bool) -> RowMaker:
        rows = self.K[numbers]
        return lambda part: rows[:, part]


@final
@dataclass(frozen=True)
class KernelDesign(KernelExpansion):
    """The expansion for a kernel and the rows of a table, which are gathered in memory.

    memory_budget: the bytes that K, 8 n² of them, may take; None: half of what is free when it is
    first needed. Beyond it each product makes K anew, tile by tile: `storage` says which.
    single: makes rows of K in float32, for solvers that correct what it rounds.
    """

    kernel: Kernel
    blocks: Blocks
    memory_budget: float | None = None
    single: SingleRows | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not self.kernel.is_psd:
            raise ValueError(
                f"the kernel {self.kernel} is not positive semi-definite, so the problem is not "
                "convex: choose a kernel that is"
            )

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        return self.blocks.n_rows

    @cached_property
    def _whole(self) -> Block:
        return self.blocks.gather()

    @cached_property
    def _rows(self) -> Any:
        """The rows as tiles are made from them."""
        return self.kernel.prepared(self._whole.X)[0]

    @cached_property
    def _matrix(self) -> Floats | None:
        """K where it is kept."""
        n = self.n_rows
        room = 0.5 * free_memory() if self.memory_budget is None else self.memory_budget
        return gram_matrix(self.kernel, self._rows) if 8.0 * n * n <= room else None

    @property
    def in_memory(self) -> bool:
        """Whether K is kept."""
        return self._matrix is not None

    @property
    def storage(self) -> str:
        """What was chosen, in words."""
        size = f"the {self.n_rows} x {self.n_rows} kernel matrix ({8 * self.n_rows**2 / 2**30:.3g}"
        kept = "is kept in memory" if self.in_memory else "is made anew in each product"
        return f"{size} GiB) {kept}"

    @property
    def sides(self) -> tuple[Array, Floats | None]:
        whole = self._whole
        return host(whole.y), None if whole.weight is None else host(whole.weight)

    @property
    def aux(self) -> Mapping[str, Array]:
        return {name: host(values) for name, values in self._whole.aux.items()}

    def with_dual(self, theta: Floats) -> KernelDesign:
        whole = replace(self._whole, aux={"dual": theta})
        new = KernelDesign(self.kernel, InMemory(whole, None), self.memory_budget, self.single)
        # What is known of K does not depend on the target.
        new.__dict__["_matrix"], new.__dict__["_rows"] = self._matrix, self._rows
        new._memo["products"] = self._memo["products"]
        return new

    def product(self, v: Floats) -> Floats:
        if self._matrix is not None:
            return matrix_product(self._matrix, v)
        rows = self._rows
        if v.ndim == 1:  # a support is all that an expansion with corners in its loss needs
            support = np.flatnonzero(v)
            return kernel_product(self.kernel, rows, rows[support], v[support])
        return kernel_product(self.kernel, rows, rows, v)

    def columns(self, numbers: NDArray[np.int64]) -> Floats:
        if self._matrix is not None:
            return np.ascontiguousarray(self._matrix[numbers].T)
        return kernel_columns(self.kernel, self._rows, self._rows[numbers])

    def diagonal(self) -> Floats:
        return self.kernel.diagonal(self._rows)

    def sizes(self) -> Floats:
        return self.kernel.sizes(self._rows)

    def held(self) -> Floats | None:
        return self._matrix

    @property
    def entry_error(self) -> float:
        X = self._whole.X
        return 0.5 * EPS * self.kernel.rounding(longest(X) if is_strings(X) else X.shape[-1])

    def row_maker(self, numbers: NDArray[np.int64], single: bool) -> RowMaker:
        if single and self.single is not None:
            return self.single.maker(numbers)
        rows = self._rows
        points = rows[numbers]
        return lambda part: self.kernel.tile(points, rows[part])


@final
@dataclass(frozen=True, slots=True)
class KernelCoordinates:
    """The functions of a kernel's span as the points w of a table L: scores Lw, ⟨f, f⟩ = w·w."""

    design: MatrixDesign
    L: Floats
    pivots: NDArray[np.int64]

    def of(self, alpha: Floats) -> Floats:
        """w of the function Σ αⱼ k(xⱼ, ·)."""
        return np.asarray(self.L.T @ alpha)

    def coefficients(self, w: Floats, near: Floats | None = None) -> Floats:
        """α with L'α = w. near: coefficients of which only the error is corrected: where they are
        almost right, as the dual's are near the optimum, small pivots do no harm."""
        alpha = np.zeros((len(self.L), *w.shape[1:])) if near is None else np.array(near)
        for _ in range(2):  # the second corrects what rounding left of the first
            alpha[self.pivots] += linalg.solve_triangular(
                self.L[self.pivots], w - self.of(alpha), lower=True, trans="T", check_finite=False
            )
        return alpha
