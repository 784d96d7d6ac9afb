"""Rows seen through a kernel: the functions f = Σⱼ αⱼ k(xⱼ, ·) as a linear map to scores.

    Φα = Kα,   Φ*r = r in those coordinates,   ⟨u, v⟩ = u'Kv,   K = (k(xᵢ, xⱼ))

K is kept in memory where it fits, else made again, tile by tile, in each product. A factor K = LL'
turns the same functions into the rows of an ordinary table, which every solver takes.

Reference: Schölkopf and Smola, Learning with Kernels (2002), section 4.2 (representer theorem).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import Array, is_strings, to_numpy
from fenchel.data.blocks import Block, Blocks, free_memory
from fenchel.data.design.kernel_coordinates import INDEFINITE
from fenchel.data.design.kernel_expansion import KernelExpansion, RowMaker
from fenchel.data.design.kernel_tiles import (
    PairKernel,
    gram_matrix,
    kernel_columns,
    kernel_product,
    supported_product,
)
from fenchel.data.in_memory import ArrayBlocks
from fenchel.data.linear_algebra.matrix_products import matrix_product
from fenchel.data.linear_algebra.pivoted_cholesky import is_semidefinite
from fenchel.data.strings import longest

Floats = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)

__all__ = [
    "GramDesign",
    "PairKernel",
    "KernelDesign",
    "KernelExpansion",
    "RowMaker",
    "SingleRows",
    "gram_matrix",
    "kernel_product",
]


class SingleRows(Protocol):
    """Rows of a kernel matrix made in float32."""

    @property
    def work_of_entry(self) -> float:
        """Multiplications that an entry takes; inf where it takes longer than matrix products."""

    def maker(self, numbers: NDArray[np.int64]) -> RowMaker:
        """What makes the rows with these numbers, a slice of columns at a time."""

    def square(self, numbers: NDArray[np.int64]) -> Floats | None:
        """K among these rows, of the same values, in float64; None where it is no
        faster to make them alone."""


@final
@dataclass(frozen=True)
class GramDesign(KernelExpansion):
    """The expansion for a matrix K that is given; semidefinite: whether K is known to be so."""

    K: Floats
    y: Array
    row_weight: Floats | None = None
    dual: Floats | None = None
    semidefinite: bool = False

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
        new = replace(self, dual=theta)
        new.cache.update(self._of_matrix)
        return new

    def with_target(self, y: Array) -> GramDesign:
        new = replace(self, y=y, dual=None)
        new.cache.update(self._of_matrix)
        return new

    def require_semidefinite(self) -> None:
        if not self.semidefinite and "definite" not in self.cache["factor"]:
            top = float(np.abs(self.K).max(initial=0.0))
            even = float(np.abs(self.K - self.K.T).max(initial=0.0)) <= 64.0 * EPS * top
            if not even or not is_semidefinite(self.K):
                raise ValueError(INDEFINITE)
            self.cache["factor"]["definite"] = True

    def product(self, v: Floats) -> Floats:
        return matrix_product(self.K, v)

    def columns(self, numbers: NDArray[np.int64]) -> Floats:
        return np.asarray(self.K[:, numbers])

    def diagonal(self) -> Floats:
        return np.diagonal(self.K).copy()

    def matrix_in_memory(self) -> Floats | None:
        return self.K

    @property
    def entry_error(self) -> float:
        return 0.0

    def row_maker(self, numbers: NDArray[np.int64], single: bool) -> RowMaker:
        rows = self.K[numbers]

        def copy(part: slice, to: NDArray[Any], places: NDArray[np.int64]) -> None:
            to[places, part] = rows[:, part]

        return copy


@final
@dataclass(frozen=True)
class KernelDesign(KernelExpansion):
    """The expansion for a kernel and the rows of a table, which are gathered in memory.

    memory_budget: the bytes that K, 8 n² of them, may take; None: half of what is free when it is
    first needed. Beyond it each product makes K anew, tile by tile: `storage` says which.
    single: makes rows of K in float32, for solvers that correct what it rounds.
    """

    kernel: PairKernel
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
        return to_numpy(whole.y), None if whole.weight is None else to_numpy(whole.weight)

    @property
    def aux(self) -> Mapping[str, Array]:
        return {name: to_numpy(values) for name, values in self._whole.aux.items()}

    def with_dual(self, theta: Floats) -> KernelDesign:
        return self._with(replace(self._whole, aux={"dual": theta}))

    def with_target(self, y: Array) -> KernelDesign:
        return self._with(replace(self._whole, y=y, aux={}))

    def _with(self, whole: Block) -> KernelDesign:
        new = KernelDesign(self.kernel, ArrayBlocks(whole, None), self.memory_budget, self.single)
        # What is known of K does not depend on the target.
        new.__dict__["_matrix"], new.__dict__["_rows"] = self._matrix, self._rows
        new.cache.update(self._of_matrix)
        return new

    def product(self, v: Floats) -> Floats:
        if self._matrix is not None:
            return matrix_product(self._matrix, v)
        rows = self._rows
        if v.ndim == 1:  # a support is all that an expansion with corners in its loss needs
            return supported_product(self.kernel, rows, v)
        return kernel_product(self.kernel, rows, rows, v)

    def columns(self, numbers: NDArray[np.int64]) -> Floats:
        if self._matrix is not None:
            return np.ascontiguousarray(self._matrix[numbers].T)
        return kernel_columns(self.kernel, self._rows, self._rows[numbers])

    def diagonal(self) -> Floats:
        return self.kernel.diagonal(self._rows)

    def sizes(self) -> Floats:
        return self.kernel.sizes(self._rows)

    def matrix_in_memory(self) -> Floats | None:
        return self._matrix

    @property
    def entry_error(self) -> float:
        X = self._whole.X
        return 0.5 * EPS * self.kernel.rounding(longest(X) if is_strings(X) else X.shape[-1])

    @property
    def work_of_entry(self) -> float:
        return math.inf if self.single is None else self.single.work_of_entry

    def single_square(self, numbers: NDArray[np.int64]) -> Floats | None:
        return None if self.single is None else self.single.square(numbers)

    def require_semidefinite(self) -> None:
        pass  # its kernel is

    def row_maker(self, numbers: NDArray[np.int64], single: bool) -> RowMaker:
        if single and self.single is not None:
            return self.single.maker(numbers)
        rows = self._rows
        points = rows[numbers]

        def make(part: slice, to: NDArray[Any], places: NDArray[np.int64]) -> None:
            to[places, part] = self.kernel.tile(points, rows[part])

        return make
