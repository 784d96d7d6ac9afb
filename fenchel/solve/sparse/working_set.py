"""The working set of columns, with its Gram matrix kept as columns are added."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray
from scipy.sparse import csc_array, hstack

from fenchel.data.arrays import like, to_float64, to_numpy
from fenchel.data.blocks import Block
from fenchel.data.design.column_access import ColumnAccess, Index, columns_of, like_index
from fenchel.data.design.matrix import MatrixDesign
from fenchel.data.parallel import map_ordered, parallel_map, thread_count

Floats = NDArray[np.float64]
Group = tuple[Index, Floats]  # slots, and what each row of those columns is multiplied by
NARROW = 512  # a dense table of no more columns is used whole and in place, without gathering
HELD = 2**25  # values (256 MiB) up to which such a table is fetched once, not at every pass
CHUNK = 2048


class WorkingSet(ABC):
    """Some columns A of a table, each with a slot.

    Where the intercept is free a dense column counts less its mean: the intercept takes the
    difference, and no digits are lost on a column far from zero. Sparse columns stay as they are.
    """

    def __init__(self, columns: ColumnAccess, free: bool) -> None:
        self.columns, self.free, self.lock = columns, free, threading.RLock()
        self.js: Index = np.zeros(0, np.intp)
        self.slot = np.full(columns.n_cols, -1)
        self.mean: Floats = np.zeros(0)
        self._gram, self._known = np.zeros((0, 0)), 0
        self._level: Floats = np.zeros(0)

    @property
    def level(self) -> Floats:
        """A's: the columns' means, zero but for rounding where those were taken off."""
        if len(self._level) < self.size:
            self._level = self.adjoint(self.columns.s)
        return self._level

    @property
    def size(self) -> int:
        return len(self.js)

    @abstractmethod
    def admit(self, js: Index) -> None:
        """Give a slot to those of the columns that have none."""

    @abstractmethod
    def forward(self, u: Floats) -> Floats:
        """A u."""

    @abstractmethod
    def adjoint(self, r: Floats) -> Floats:
        """A'r."""

    @abstractmethod
    def product(self, groups: Sequence[Group]) -> Floats:
        """B'B, with B the columns of all groups side by side, scaled."""

    @abstractmethod
    def cross(self, first: int) -> Floats:
        """A' diag(s) A with the columns from the slot `first` on."""

    @abstractmethod
    def squares(self, slots: Index, weight: Floats) -> Floats:
        """Σ weight a² of some columns."""

    @abstractmethod
    def strips(self) -> tuple[Floats, NDArray[np.int32], NDArray[np.int64]]:
        """All columns end to end: values, their rows (none: all of them), where each begins."""

    def gram(self, slots: Index, weight: Floats) -> Floats:
        """A' diag(weight) A of some columns, weight ≥ 0."""
        return self.product([(slots, np.sqrt(weight))])

    def all_squares(self, weight: Floats) -> Floats:
        """The diagonal of A' diag(weight) A, for each column of the weights."""
        if weight.ndim == 1:
            return self.squares(np.arange(self.size), weight)
        return np.stack([self.all_squares(column) for column in weight.T], axis=1)

    def plain_gram(self) -> Floats:
        """A' diag(s) A of all columns, less that of their means where the intercept is free; grown
        by the new columns alone. The corner of a larger array, returned whole."""
        old, new = self._known, self.size
        if old < new:
            if new > len(self._gram):
                room = np.zeros((min(max(2 * new, 64), self.columns.n_cols),) * 2)
                room[:old, :old] = self._gram[:old, :old]
                self._gram = room
            block = self.cross(old)
            if self.free:
                means = self.level
                block -= np.outer(means, means[old:])
            self._gram[:new, old:new] = block
            self._gram[old:new, :old] = block[:old].T
            self._known = new
        return self._gram


class DenseWorkingSet(WorkingSet):
    """Columns gathered into memory, in the order in which they were asked for."""

    def __init__(self, columns: ColumnAccess, free: bool) -> None:
        super().__init__(columns, free)
        self._room = np.zeros((0, columns.n_rows))

    @property
    def _rows(self) -> Floats:
        """A transposed: a row for each column."""
        return self._room[: self.size]

    def admit(self, js: Index) -> None:
        js = js[self.slot[js] < 0]
        if not len(js):
            return
        old, new = self.size, self.size + len(js)
        if new > len(self._room):
            room = np.empty((min(max(2 * new, 64), self.columns.n_cols), self.columns.n_rows))
            room[:old] = self._room[:old]
            self._room = room
        part = self._room[old:new]
        part[...] = self.columns.gather(js).T
        mean = part @ self.columns.s if self.free else np.zeros(len(js))
        if self.free:
            part -= mean[:, None]
        self.mean = np.concatenate([self.mean, mean])
        self.js = np.concatenate([self.js, js])
        self.slot[js] = np.arange(old, new)

    def forward(self, u: Floats) -> Floats:
        return np.asarray((u.T @ self._rows).T)

    def adjoint(self, r: Floats) -> Floats:
        return np.asarray(self._rows @ r)

    def product(self, groups: Sequence[Group]) -> Floats:
        A, n = self._rows, self.columns.n_rows

        def work(lo: int) -> Floats:
            part = [A[slots, lo : lo + CHUNK] * root[lo : lo + CHUNK] for slots, root in groups]
            whole = part[0] if len(part) == 1 else np.concatenate(part)
            return whole @ whole.T

        return np.asarray(sum(map_ordered(work, range(0, n, CHUNK), thread_count())))

    def cross(self, first: int) -> Floats:
        A, s = self._rows, self.columns.s
        fresh = (A[first:] * s).T
        wide = max(64, -(-len(A) // thread_count()))

        def work(lo: int) -> Floats:
            return np.asarray(A[lo : lo + wide] @ fresh)

        return np.concatenate(parallel_map(work, range(0, len(A), wide)))

    def squares(self, slots: Index, weight: Floats) -> Floats:
        return np.array([weight @ np.square(self._rows[j]) for j in slots])

    def strips(self) -> tuple[Floats, NDArray[np.int32], NDArray[np.int64]]:
        m, n = self._room.shape
        return self._room.reshape(-1), np.zeros(0, np.int32), n * np.arange(m + 1)


class SparseWorkingSet(WorkingSet):
    """The columns of a sparse table, gathered likewise."""

    def __init__(self, columns: ColumnAccess, free: bool) -> None:
        super().__init__(columns, free)
        self.A = csc_array((columns.n_rows, 0))

    def admit(self, js: Index) -> None:
        js = js[self.slot[js] < 0]
        if not len(js):
            return
        old = self.size
        self.A = csc_array(hstack([self.A, self.columns.gather(js)], format="csc"))
        self.js = np.concatenate([self.js, js])
        self.slot[js] = np.arange(old, self.size)
        self.mean = np.zeros(self.size)

    def forward(self, u: Floats) -> Floats:
        return np.asarray(self.A @ u)

    def adjoint(self, r: Floats) -> Floats:
        return np.asarray(self.A.T @ r)

    def product(self, groups: Sequence[Group]) -> Floats:
        parts = []
        for slots, root in groups:
            part = self.A[:, slots]
            part.data = part.data * root[part.indices]
            parts.append(part)
        B = hstack(parts, format="csc")
        return np.asarray((B.T @ B).toarray())

    def cross(self, first: int) -> Floats:
        fresh = self.A[:, first:]
        fresh.data = fresh.data * self.columns.s[fresh.indices]
        return np.asarray((self.A.T @ fresh).toarray())

    def squares(self, slots: Index, weight: Floats) -> Floats:
        return np.asarray(weight @ self.A[:, slots].power(2))

    def strips(self) -> tuple[Floats, NDArray[np.int32], NDArray[np.int64]]:
        A = self.A
        return A.data, A.indices.astype(np.int32, copy=False), A.indptr.astype(np.int64)


class AllColumns(WorkingSet):
    """All columns of a dense table that has few, by passes over its rows: nothing is copied."""

    def __init__(self, columns: ColumnAccess, free: bool) -> None:
        super().__init__(columns, free)
        d = columns.n_cols
        self.js = np.arange(d)
        self.slot = np.arange(d)
        self.mean = columns.adjoint(columns.s) if free else np.zeros(d)

    def admit(self, js: Index) -> None:
        pass

    def forward(self, u: Floats) -> Floats:
        return np.asarray(self.columns.forward(u) - self.mean @ u)

    def adjoint(self, r: Floats) -> Floats:
        level = r.sum(axis=0)
        return np.asarray(self.columns.adjoint(r) - np.multiply.outer(self.mean, level))

    def product(self, groups: Sequence[Group]) -> Floats:
        mean, free = self.mean, self.free

        def stat(block: Block) -> Floats:
            parts = []
            for slots, root in groups:
                X = block.X if len(slots) == len(mean) else block.X[:, like_index(slots, block.X)]
                X = to_float64(X)
                part = like(root[block.start : block.start + block.n_rows], X)[:, None]
                parts.append((X - like(mean[slots], X)) * part if free else X * part)
            whole = parts[0] if len(parts) == 1 else array_namespace(X).concat(parts, axis=1)
            return to_numpy(whole.T @ whole)

        return np.asarray(self.columns.blocks.reduce(stat))

    def cross(self, first: int) -> Floats:
        return self.gram(self.js, self.columns.s)[:, first:]

    def squares(self, slots: Index, weight: Floats) -> Floats:
        return np.diagonal(self.gram(slots, weight)).copy()

    def strips(self) -> tuple[Floats, NDArray[np.int32], NDArray[np.int64]]:
        A = self.columns.gather(self.js) - self.mean
        n, m = A.shape
        return A.T.reshape(-1), np.zeros(0, np.int32), n * np.arange(m + 1)


def working_set_of(design: MatrixDesign, free: bool) -> WorkingSet:
    """The working set cached on the design: problems on one table share it (see `lock`)."""
    key = f"shelf {free}"
    memo = design.cache
    if key not in memo:
        columns = columns_of(design)
        near = columns.blocks.local or columns.n_rows * columns.n_cols > HELD
        if columns.sparse:
            memo[key] = SparseWorkingSet(columns, free)
        else:
            narrow = columns.n_cols <= NARROW and near
            memo[key] = AllColumns(columns, free) if narrow else DenseWorkingSet(columns, free)
    working_set: WorkingSet = memo[key]
    return working_set
