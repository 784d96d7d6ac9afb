"""The columns of a table: all of them against a vector of rows, or a few of them in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from fenchel.data.arrays import is_sparse, to_float64, to_numpy
from fenchel.data.blocks import Block, Blocks, MappedBlocks
from fenchel.data.design.matrix import MatrixDesign
from fenchel.data.in_memory import ArrayBlocks
from fenchel.data.parallel import parallel_map, thread_count
from fenchel.data.passes.sweep import Adjoint

Floats = NDArray[np.float64]
Index = NDArray[np.intp]


class ColumnAccess:
    """What a solver that walks along columns asks of a table.

    Three n-vectors, the target, the weights and the last one given to `adjoint`, are held by this
    process, with those that the solver makes of them; of the table itself only the columns asked
    for. A sparse table that lies in memory is copied once, by columns.
    """

    def __init__(self, blocks: Blocks) -> None:
        self.blocks, self.n_rows, self.n_cols = blocks, blocks.n_rows, blocks.n_cols
        self.sparse = blocks.sparse

        def own(block: Block) -> tuple[tuple[Any, Any], ...]:
            return ((to_numpy(block.y), None if block.weight is None else to_numpy(block.weight)),)

        parts = blocks.reduce(own)
        self.y: NDArray[Any] = np.concatenate([y for y, _ in parts])
        raw = [s for _, s in parts if s is not None]
        self.raw: Floats | None = np.concatenate(raw) if raw else None
        total = float(self.n_rows) if self.raw is None else float(self.raw.sum())
        self.s: Floats = (np.ones(self.n_rows) if self.raw is None else self.raw) / total
        self._csc: csc_array | None = None
        self._whole: NDArray[Any] | None = None
        self._last: tuple[Floats, Floats] | None = None
        if blocks.local and self.sparse:
            X = blocks.gather().X
            self._csc = csc_array(X) if X.dtype == np.float64 else csc_array(to_float64(X))
        elif _lies_whole(blocks):
            X = blocks.gather().X
            self._whole = X if isinstance(X, np.ndarray) else None

    def adjoint(self, r: Floats) -> Floats:
        """X'r in float64, for a vector or for each column of r.

        The last answer is kept: the slopes that end one problem of a path begin the next.
        """
        last = self._last
        if last is not None and np.array_equal(last[0], r):
            return last[1].copy()
        if self._csc is not None:
            pull = self._pull_sparse(self._csc, r)
        else:
            pull = np.asarray(self.blocks.reduce(Adjoint(r, exact=True)))
        self._last = r.copy(), pull.copy()
        return pull

    def _pull_sparse(self, X: csc_array, r: Floats) -> Floats:
        from fenchel.data.passes.sparse.compiled import csr_forward

        if r.ndim == 2:
            return np.stack([self._pull_sparse(X, np.ascontiguousarray(k)) for k in r.T], axis=1)
        out = np.empty(self.n_cols)
        cuts = np.searchsorted(X.indptr, np.linspace(0, X.nnz, 2 * thread_count() + 1))
        cuts[0], cuts[-1] = 0, self.n_cols

        def work(i: int) -> None:  # the columns of X are the rows of its transpose
            lo, hi = int(cuts[i]), int(cuts[i + 1])
            csr_forward(X.data, X.indices, X.indptr[lo : hi + 1], r, out[lo:hi])

        parallel_map(work, range(len(cuts) - 1))
        return out

    def forward(self, w: Floats) -> Floats:
        """X w in float64."""
        return MatrixDesign(self.blocks).map_rows((w, 0.0), lambda y, z: z)

    def gather(self, js: Index) -> Any:
        """Some columns in float64: a Fortran array, or sparse columns of a sparse table."""
        if self._csc is not None:
            return _select_csc(self._csc, js)
        if self._whole is not None:
            return self._take(self._whole, js)

        def stat(block: Block) -> tuple[Any, ...]:
            X = block.X
            return (
                to_float64(X[:, js]).tocoo() if is_sparse(X) else to_numpy(X[:, like_index(js, X)]),
            )

        parts = self.blocks.reduce(stat)
        if not self.sparse:
            return np.asfortranarray(np.concatenate(parts))
        from scipy.sparse import vstack

        return csc_array(vstack(parts))

    def _take(self, X: NDArray[Any], js: Index) -> Floats:
        n = len(X)
        out = np.empty((n, len(js)), order="F")
        rows = max(64, -(-n // (2 * thread_count())))

        def work(lo: int) -> None:
            out[lo : lo + rows] = X[lo : lo + rows, js]

        parallel_map(work, range(0, n, rows))
        return out


def _lies_whole(blocks: Blocks) -> bool:
    """Whether all rows are one array, so that to gather them copies nothing."""
    if isinstance(blocks, MappedBlocks):
        base = blocks.base
        while isinstance(base, MappedBlocks):
            base = base.base
        return isinstance(base, ArrayBlocks) and base.count == 1
    return isinstance(blocks, ArrayBlocks)


def like_index(js: Index, X: Any) -> Any:
    """The index in the library of X."""
    if isinstance(X, np.ndarray):
        return js
    from array_api_compat import array_namespace

    return array_namespace(X).asarray(js, device=X.device)


def _select_csc(X: csc_array, js: Index) -> csc_array:
    count = X.indptr[js + 1] - X.indptr[js]
    ptr = np.concatenate([[0], np.cumsum(count)])
    at = np.repeat(X.indptr[js] - ptr[:-1], count) + np.arange(ptr[-1])
    part = csc_array((X.shape[0], len(js)))
    part.data, part.indices, part.indptr = X.data[at], X.indices[at], ptr.astype(X.indptr.dtype)
    return part


def columns_of(
    design: MatrixDesign, make: Callable[[Blocks], ColumnAccess] = ColumnAccess
) -> ColumnAccess:
    """The table's columns, kept beside it."""
    memo = design.cache
    if "columns" not in memo:
        memo["columns"] = make(design.blocks)
    columns: ColumnAccess = memo["columns"]
    return columns
