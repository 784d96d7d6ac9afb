"""Vertices: the different rows of a table that have weight, and the mass of each.

Equal rows are one vertex, whose mass is the weight of all of them: neighbours are then never
copies of a row, equal rows have equal coordinates, and a whole weight is as many equal rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fenchel.convex.certificate import warn_outside
from fenchel.data.arrays import is_sparse, to_numpy
from fenchel.data.blocks import Blocks
from fenchel.geometry.graph.components import GraphComponents
from fenchel.models.neighbours.training_rows import dense_rows
from fenchel.solve.online.row_values import row_values

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Vertices:
    """rows: the different ones, in the order in which they first come; mass: Σ of their weights;
    members: the number of each one's first row; numbers: the vertex of each row of the table, -1
    for rows that have no weight, nor equals with weight."""

    rows: Any = field(repr=False)
    mass: Floats = field(repr=False)
    members: Integers = field(repr=False)
    numbers: Integers = field(repr=False)

    def __len__(self) -> int:
        return len(self.mass)

    @property
    def n_rows(self) -> int:
        """Of the table."""
        return len(self.numbers)

    @property
    def all_rows(self) -> bool:
        """Whether every row is a vertex."""
        return len(self) == self.n_rows

    def chosen(self, some: Integers) -> Vertices:
        place = np.full(len(self) + 1, -1)
        place[some] = np.arange(len(some))  # the last entry is for rows that are no vertex
        return Vertices(self.rows[some], self.mass[some], self.members[some], place[self.numbers])

    def neighbours_of(self, name: str, n_neighbors: int, itself: int = 0) -> int:
        """How many other vertices are neighbours of one: n_neighbors, or all where rows that are
        equal leave fewer, which is said. itself: 1 where n_neighbors counts the row itself."""
        n, rows = len(self), self.n_rows
        if n_neighbors < n + itself:
            return n_neighbors - itself
        same = f" ({rows} rows, of which {n} are different and have weight)" if n < rows else ""
        if n_neighbors >= rows + itself or n < 2:
            raise ValueError(
                f"{name}: Expected n_neighbors {'<=' if itself else '<'} n_samples_fit, but "
                f"n_neighbors = {n_neighbors}, n_samples_fit = {n}, n_samples = {n}{same}: lower "
                "n_neighbors or add rows"
            )
        warn_outside(
            f"{name}: n_neighbors={n_neighbors} exceeds the number of other rows{same}: each has "
            f"all others as its neighbours. Lower n_neighbors to at most {n - 1 + itself}.",
            UserWarning,
        )
        return n - 1


def vertices_of(
    blocks: Blocks, given: bool = False, *, alike: bool = False, dense: bool = True
) -> Vertices:
    """The vertices of a table; given: whether its rows are those of a matrix of distances or
    affinities, of which equal ones are not the same row, unless `alike` says so; dense: whether
    sparse rows are made so."""
    block = blocks.gather()
    rows = dense_rows(block.X) if dense or not is_sparse(block.X) else csr_array(block.X)
    n = int(rows.shape[0])
    s = None if block.weight is None else np.asarray(to_numpy(block.weight), np.float64)
    if given and not alike:
        members = np.arange(n) if s is None else np.flatnonzero(s > 0.0)
        mass = np.ones(n) if s is None else s[members]
        chosen = rows if len(members) == n else rows[members][:, members]
        numbers = np.full(n, -1)
        numbers[members] = np.arange(len(members))
        return Vertices(chosen, mass, members, numbers)
    first, back = _different(rows)
    if len(first) == n and s is None:
        return Vertices(rows, np.ones(n), np.arange(n), np.arange(n))
    mass = np.bincount(back, s, minlength=len(first)).astype(np.float64)
    if s is not None and (s <= 0.0).any():
        # The first row that has weight stands for its equals.
        first = np.full(len(first), n)
        np.minimum.at(first, back[s > 0.0], np.flatnonzero(s > 0.0))
        first[mass <= 0.0] = n
    order = np.argsort(first)[: int((mass > 0.0).sum())]
    place = np.full(len(first), -1)
    place[order] = np.arange(len(order))
    members = first[order]
    chosen = rows[members][:, members] if given else rows[members]
    return Vertices(chosen, mass[order], members, place[back])


def _different(rows: Any) -> tuple[Integers, Integers]:
    """The first of each group of equal rows, and the group of each row."""
    if is_sparse(rows):  # by a number of 64 bits made of the values of each
        _, first, back = np.unique(row_values(rows), return_index=True, return_inverse=True)
        return first.astype(np.int64), back.astype(np.int64)
    plain = np.ascontiguousarray(rows + 0.0)  # -0 and 0 are equal, and their bytes are not
    n = len(plain)
    # Rows that differ nearly always do in the first column: equal first entries are looked at.
    if len(np.unique(plain[:, 0])) == n:
        return np.arange(n), np.arange(n)
    text = plain.view(np.dtype((np.void, plain.dtype.itemsize * plain.shape[1]))).ravel()
    _, first, back = np.unique(text, return_index=True, return_inverse=True)
    return first.astype(np.int64), back.astype(np.int64)


def warn_disconnected(
    name: str, found: GraphComponents, what: str, remedy: str, of: str = "neighbours"
) -> None:
    """Says that a graph is not connected, in what sizes, what is done, and what may be."""
    warn_outside(
        f"{name}: the graph of {of} is not connected: {found.named()}. {what}. {remedy}",
        UserWarning,
    )
