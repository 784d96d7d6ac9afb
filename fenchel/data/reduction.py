"""Partial sums, and the fixed binary tree in which they are added."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Statistic = Any  # anything with `+`


class Totals(tuple[Any, ...]):
    """Several sums made in one pass: a tuple that adds entry by entry."""

    __slots__ = ()

    def __new__(cls, *parts: Any) -> Totals:
        return super().__new__(cls, parts)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    def __add__(self, other: Any) -> Totals:
        return Totals(*(a + b for a, b in zip(self, other, strict=True)))


@dataclass(frozen=True, slots=True)
class Optional:
    """A sum that may have no terms."""

    value: Statistic | None

    def __add__(self, other: Optional) -> Optional:
        if self.value is None or other.value is None:
            return other if self.value is None else self
        return Optional(self.value + other.value)


@dataclass(frozen=True, slots=True, eq=False)
class Maximum:
    """The largest entries met, place by place."""

    values: NDArray[Any]

    def __add__(self, other: Maximum) -> Maximum:
        return Maximum(np.maximum(self.values, other.values))


class TreeSum:
    """Sums partial results given in row order, in the tree of a binary counter.

    Node (k, i) is the sum of blocks i·2ᵏ … (i+1)·2ᵏ - 1. At most log₂(blocks) partial results
    are held, and an aligned run of 2ᵏ blocks may be summed elsewhere and pushed as one.
    """

    def __init__(self) -> None:
        self._stack: list[Statistic] = []
        self._count = 0

    def add(self, part: Statistic) -> None:
        count = self._count
        while count & 1:
            part = self._stack.pop() + part
            count >>= 1
        self._stack.append(part)
        self._count += 1

    def result(self) -> Statistic:
        if not self._stack:
            raise ValueError("a table without blocks has no sum")
        total = self._stack.pop()
        while self._stack:
            total = self._stack.pop() + total
        return total


def tree_sum(parts: Iterable[Statistic]) -> Statistic:
    """Sum of the parts in the fixed tree of `TreeSum`."""
    merge = TreeSum()
    for part in parts:
        merge.add(part)
    return merge.result()
