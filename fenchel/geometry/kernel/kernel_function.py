"""Kernels k(x, z): symmetric functions of two rows, as values that compose.

    k₁ + k₂,   k₁ k₂,   c k  with c > 0

Sums, products and positive multiples of positive semi-definite kernels are positive semi-definite.

Reference: Shawe-Taylor and Cristianini, Kernel Methods for Pattern Analysis (2004), chapter 3.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import Array
from fenchel.data.design.kernel_tiles import TILE_ROWS

Floats = NDArray[np.float64]


class KernelFunction(ABC):
    """k(x, z), symmetric; rows are numpy arrays of any floating type or CSR, or strings, values
    float64."""

    __slots__ = ()
    __array_ufunc__ = None  # a numpy number times a kernel is the kernel's business

    @property
    def is_psd(self) -> bool:
        """Whether every matrix of its values is positive semi-definite."""
        return True

    @property
    def of_strings(self) -> bool:
        """Whether its rows are strings, str or bytes, one in each; else they are numbers."""
        return False

    @property
    def tile_rows(self) -> int:
        """Rows of a tile: fewer where a value takes long, so that all threads have some."""
        return TILE_ROWS

    @abstractmethod
    def tile(self, A: Array, B: Array) -> Floats:
        """The matrix k(aᵢ, bⱼ)."""

    @abstractmethod
    def diagonal(self, A: Array) -> Floats:
        """k(aᵢ, aᵢ) of each row."""

    def rounding(self, columns: int) -> float:
        """By how many units of rounding, 2⁻⁵³ √(S(x) S(z)) for the `sizes` S, a value may be off,
        of rows with so many columns or characters; 0 for a function that is what it computes."""
        return 0.0

    def sizes(self, A: Array) -> Floats:
        """At least k(aᵢ, aᵢ): more where values are differences of larger ones."""
        return self.diagonal(A)

    def prepared(self, *tables: Any) -> tuple[Any, ...]:
        """Tables in a form of which many tiles are made faster. Parts of them are cut as of an
        array, and `tile` and `diagonal` take them; what meets in a tile is prepared together."""
        return tables

    def __add__(self, other: KernelFunction) -> Sum:
        return Sum(self, other) if isinstance(other, KernelFunction) else NotImplemented

    def __mul__(self, other: KernelFunction | float) -> KernelFunction:
        if isinstance(other, KernelFunction):
            return Product(self, other)
        return Scaled(other, self) if isinstance(other, int | float) else NotImplemented

    def __rmul__(self, factor: float) -> KernelFunction:
        return Scaled(factor, self) if isinstance(factor, int | float) else NotImplemented


@dataclass(frozen=True, slots=True, eq=False)
class PreparedRows:
    """A table as a kernel has prepared it.

    parts: what it makes of the rows, which are cut alike, or None; batch: what tables that were
    prepared together have in common.
    """

    parts: tuple[Any, ...]
    batch: object

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.parts[0].shape)

    def __getitem__(self, pick: Any) -> PreparedRows:
        cut = tuple(None if part is None else part[pick] for part in self.parts)
        return PreparedRows(cut, self.batch)


def are_prepared(tables: tuple[Any, ...]) -> bool:
    """Whether tables are prepared already; refuses those that were not prepared together."""
    known = [isinstance(table, PreparedRows) for table in tables]
    if not any(known):
        return False
    if not all(known) or len({id(table.batch) for table in tables}) > 1:
        raise ValueError("tables that meet in a tile are prepared together")
    return True


def prepared_together(
    tables: tuple[Any, ...], parts: Callable[[list[Any]], Iterable[tuple[Any, ...]]]
) -> tuple[PreparedRows, ...]:
    """Tables of these parts, of which one that is given twice is prepared once."""
    distinct = list({id(table): table for table in tables}.values())
    batch = object()
    made = {
        id(table): PreparedRows(part, batch)
        for table, part in zip(distinct, parts(distinct), strict=True)
    }
    return tuple(made[id(table)] for table in tables)


class Modification(KernelFunction):
    """A kernel made of another, of the same rows."""

    __slots__ = ()
    kernel: KernelFunction

    @property
    def is_psd(self) -> bool:
        return self.kernel.is_psd

    @property
    def of_strings(self) -> bool:
        return self.kernel.of_strings

    @property
    def tile_rows(self) -> int:
        return self.kernel.tile_rows

    def prepared(self, *tables: Any) -> tuple[Any, ...]:
        return self.kernel.prepared(*tables)


class Composition(KernelFunction):
    """A kernel made of two others, of the same kind of rows."""

    __slots__ = ()
    first: KernelFunction
    second: KernelFunction

    def __post_init__(self) -> None:
        if self.first.of_strings != self.second.of_strings:
            strings, numbers = self.first, self.second
            if numbers.of_strings:
                strings, numbers = numbers, strings
            raise ValueError(
                f"{strings!r} compares strings and {numbers!r} rows of numbers: both kernels of a "
                f"{type(self).__name__.lower()} must take the same rows"
            )

    @property
    def is_psd(self) -> bool:
        return self.first.is_psd and self.second.is_psd

    @property
    def of_strings(self) -> bool:
        return self.first.of_strings

    @property
    def tile_rows(self) -> int:
        return min(self.first.tile_rows, self.second.tile_rows)

    def prepared(self, *tables: Any) -> tuple[Any, ...]:
        if are_prepared(tables):
            return tables
        first, second = self.first.prepared(*tables), self.second.prepared(*tables)
        if all(one is two is table for one, two, table in zip(first, second, tables, strict=True)):
            return tables
        both = {id(table): pair for table, *pair in zip(tables, first, second, strict=True)}
        return prepared_together(tables, lambda some: (tuple(both[id(one)]) for one in some))

    def _tiles(self, A: Array, B: Array) -> tuple[Floats, Floats]:
        """The tile of each of the two."""
        (a, left), (b, right) = _for_each(A), _for_each(B)
        return self.first.tile(a, b), self.second.tile(left, right)

    def _diagonals(self, A: Array) -> tuple[Floats, Floats]:
        a, other = _for_each(A)
        return self.first.diagonal(a), self.second.diagonal(other)

    def _both_sizes(self, A: Array) -> tuple[Floats, Floats]:
        a, other = _for_each(A)
        return self.first.sizes(a), self.second.sizes(other)


def _for_each(A: Array) -> tuple[Any, ...]:
    """A table as each of two kernels takes it."""
    return A.parts if isinstance(A, PreparedRows) else (A, A)


@final
@dataclass(frozen=True, slots=True)
class Sum(Composition):
    """k₁ + k₂."""

    first: KernelFunction
    second: KernelFunction

    def rounding(self, columns: int) -> float:
        return max(self.first.rounding(columns), self.second.rounding(columns)) + 1.0

    def tile(self, A: Array, B: Array) -> Floats:
        K, other = self._tiles(A, B)
        return K + other

    def diagonal(self, A: Array) -> Floats:
        k, other = self._diagonals(A)
        return k + other

    def sizes(self, A: Array) -> Floats:
        # √(S₁S₁′) + √(S₂S₂′) ≤ √((S₁ + S₂)(S₁′ + S₂′)).
        k, other = self._both_sizes(A)
        return k + other


@final
@dataclass(frozen=True, slots=True)
class Product(Composition):
    """k₁ k₂, semi-definite where both are (Schur)."""

    first: KernelFunction
    second: KernelFunction

    def rounding(self, columns: int) -> float:
        return self.first.rounding(columns) + self.second.rounding(columns) + 1.0

    def tile(self, A: Array, B: Array) -> Floats:
        K, other = self._tiles(A, B)
        return K * other

    def diagonal(self, A: Array) -> Floats:
        k, other = self._diagonals(A)
        return k * other

    def sizes(self, A: Array) -> Floats:
        k, other = self._both_sizes(A)
        return k * other


@final
@dataclass(frozen=True, slots=True)
class Scaled(Modification):
    """c k, c > 0."""

    factor: float
    kernel: KernelFunction

    def __post_init__(self) -> None:
        check_positive("the factor of a kernel", self.factor)

    def rounding(self, columns: int) -> float:
        return self.kernel.rounding(columns) + 1.0

    def tile(self, A: Array, B: Array) -> Floats:
        return self.factor * self.kernel.tile(A, B)

    def diagonal(self, A: Array) -> Floats:
        return self.factor * self.kernel.diagonal(A)

    def sizes(self, A: Array) -> Floats:
        return self.factor * self.kernel.sizes(A)


def unscaled(kernel: KernelFunction) -> tuple[float, KernelFunction]:
    """c and k of a kernel c k that is no multiple of another."""
    factor = 1.0
    while isinstance(kernel, Scaled):
        factor, kernel = factor * kernel.factor, kernel.kernel
    return factor, kernel


def check_positive(name: str, value: float) -> None:
    """ValueError unless a parameter of a kernel is positive and finite."""
    if not 0.0 < value < math.inf:
        raise ValueError(f"{name} must be positive and finite, got {value!r}")
