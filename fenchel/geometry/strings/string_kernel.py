"""What kernels of strings share: rows prepared once for all tiles, and values normalised.

k̂(s, t) = k(s, t) / √(k(s, s) k(t, t)),  and 0 where either is zero
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import Array
from fenchel.geometry.kernel.kernel_function import KernelFunction, are_prepared, prepared_together
from fenchel.geometry.strings.code_points import CodePoints, code_points

Floats = NDArray[np.float64]
Exponents = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """Numbers x 2^e, neither negative; e is None where all are zero."""

    x: Floats
    e: Exponents | None = None

    def __getitem__(self, pick: Any) -> Values:
        return Values(self.x[pick], None if self.e is None else self.e[pick])

    @property
    def exponents(self) -> Exponents:
        return np.zeros(self.x.shape, np.int64) if self.e is None else self.e


class StringKernel(KernelFunction):
    """A kernel whose rows are strings, all str or all bytes.

    The parts of prepared rows are what `prepare` makes of them and their `own_values`.
    """

    __slots__ = ()

    @property
    def of_strings(self) -> bool:
        return True

    def prepare(self, texts: tuple[CodePoints, ...]) -> tuple[Any, ...]:
        """What the rows of some tables are compared by: their code points, if nothing else."""
        return texts

    def own_values(self, rows: Any) -> Values | None:
        """k(s, s) of each of these rows, where values are normalised by it."""
        return None

    def prepared(self, *tables: Any) -> tuple[Any, ...]:
        if are_prepared(tables):
            return tables

        def with_own(distinct: list[Any]) -> Iterator[tuple[Any, Values | None]]:
            for rows in self.prepare(code_points(*distinct)):
                yield rows, self.own_values(rows)

        return prepared_together(tables, with_own)


class FeatureKernel(StringKernel):
    """The inner product of features of two strings, divided by their norms where `normalised`."""

    __slots__ = ()
    normalised: bool

    @abstractmethod
    def inner_products(self, rows: Any, points: Any) -> Values:
        """Σ_u φ_u(s) φ_u(t), perhaps times a factor that all values have."""

    def rounding(self, columns: int) -> float:
        # Counts are exact; a cosine is two quotients, two roots and a product of them.
        return 8.0

    @abstractmethod
    def squares(self, rows: Any) -> Values:
        """The same of each row with itself."""

    def plain(self, K: Values, rows: Any, points: Any) -> Floats:
        """Values that are not normalised: a tile, or those of each row with its point."""
        return K.x

    def own_values(self, rows: Any) -> Values | None:
        return self.squares(rows) if self.normalised else None

    def tile(self, A: Array, B: Array) -> Floats:
        first, second = self.prepared(A, B)
        (rows, own), (points, other) = first.parts, second.parts
        K = self.inner_products(rows, points)
        return cosines(K, own, other) if self.normalised else self.plain(K, rows, points)

    def diagonal(self, A: Array) -> Floats:
        (prepared,) = self.prepared(A)
        rows, own = prepared.parts
        if self.normalised:
            return np.where(own.x > 0.0, 1.0, 0.0)
        return self.plain(self.squares(rows), rows, rows)


def cosines(K: Values, own: Values, other: Values) -> Floats:
    """Values over the roots of those of both strings with themselves: 1 for equal strings."""
    a, b = own.x[:, None], other.x[None, :]
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        found = np.sqrt(K.x / a) * np.sqrt(K.x / b)
        found[(a == 0.0) | (b == 0.0)] = 0.0
        if K.e is not None or own.e is not None or other.e is not None:
            twice = 2 * K.exponents - own.exponents[:, None] - other.exponents[None, :]
            half = np.clip(twice // 2, -(2**20), 2**20).astype(np.int32)
            found = np.ldexp(np.where(twice % 2 == 1, np.sqrt(2.0), 1.0) * found, half)
    return np.asarray(found)


def checked_integer(name: str, value: Any, least: int) -> None:
    """ValueError unless a parameter of a kernel is a whole number from `least` on."""
    if isinstance(value, bool) or int(value) != value or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
