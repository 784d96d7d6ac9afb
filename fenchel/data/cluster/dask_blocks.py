"""Rows on a cluster: dask arrays and dataframes, summed where they lie."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from fenchel.data.arrays import to_numpy
from fenchel.data.blocks import Block, Blocks, threads
from fenchel.data.cluster.dask_memory import ChunkMemory, memory
from fenchel.data.in_memory import ArrayBlocks
from fenchel.data.intake import array_of, as_dtype_of, float_type, frame_type, is_dask
from fenchel.data.reduction import Statistic, Totals, tree_sum
from fenchel.data.validation import NO_WEIGHT, FirstFault, check_shape, check_weight, fault, vector

Delayed = Any  # a value that dask will compute, or one that is here already


def cluster_blocks(X: Any, y: Any = None, weight: Any = None) -> ClusterBlocks:
    """A dask array (of dense or sparse chunks) or dataframe as blocks, validated in one pass.

    Lengths that dask does not know are computed first. y and weight may be dask collections or
    lie in memory. The rows are computed once and stay with the workers that computed them, if
    they fit there; otherwise every pass computes them anew, and a warning says so.
    """
    collection, lengths, names, dtype = _rows(X)
    check_shape((sum(lengths), int(collection.shape[1])))
    filled = [m for m in lengths if m]  # a filter leaves chunks without rows
    beside = [
        None if values is None else _beside(values, what, filled)
        for values, what in ((y, "y"), (weight, "sample_weight"))
    ]
    parts = [part for part, m in zip(_parts(collection), lengths, strict=True) if m]
    targets, weights = ([None] * len(filled) if v is None else _parts(v) for v in beside)
    chunks = [_Chunk(*chunk) for chunk in zip(filled, parts, targets, weights, strict=True)]
    sparse = names is None and issparse(collection._meta)
    n_cols = int(collection.shape[1])
    dtype, place, home = np.dtype(dtype), memory(), None
    per_row = _sparse_bytes(chunks[0]) if sparse else dtype.itemsize * n_cols
    need, room = (per_row + 8.0 * len(beside)) * sum(filled), place.room()
    computed = place.has(collection)
    if computed or need <= room:
        home = place.keep(_rows_of(chunks, dtype, turned=need <= room, shared=computed))
    else:
        warnings.warn(
            f"Every pass computes the dask collection anew, because its rows take {need / 1e9:.1f} "
            f"GB and {room / 1e9:.1f} GB are free where dask computes: add workers or memory, or "
            "write the rows to a Parquet file and give fenchel.scan(path)",
            UserWarning,
            stacklevel=2,
        )
    blocks = ClusterBlocks(chunks, names, dtype, sparse, n_cols, home)
    blocks.check()
    return blocks


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Some rows that one task computes."""

    n_rows: int
    X: Delayed
    y: Delayed | None
    weight: Delayed | None


class ClusterBlocks(Blocks):
    """Rows held by dask, in chunks.

    A chunk is cut into blocks of the usual size, and their sum is made where the chunk lies; the
    sums of the chunks meet in the fixed tree, on the cluster, and the total alone comes here.
    What a lost worker held is computed again by dask.
    """

    def __init__(
        self,
        chunks: Sequence[_Chunk],
        names: tuple[str, ...] | None,
        dtype: np.dtype[Any],
        sparse: bool,
        n_cols: int,
        home: ChunkMemory | None,
    ) -> None:
        self._chunks, self._sparse, self._home = list(chunks), sparse, home
        self.names, self.dtype, self.n_cols = names, dtype, n_cols
        self.n_rows = sum(chunk.n_rows for chunk in chunks)

    @property
    def local(self) -> bool:
        return False

    @property
    def sparse(self) -> bool:
        return self._sparse

    def attach(self, y: Any, weight: Any) -> ClusterBlocks:
        """The same rows with another target or other weights beside them."""
        lengths = [chunk.n_rows for chunk in self._chunks]
        chunks = self._chunks
        if self._home is not None:  # the rows that are there already, not what they come from
            chunks = [replace(c, X=v) for c, v in zip(chunks, self._home.rows, strict=True)]
        if y is not None:
            parts = _parts(_beside(y, "y", lengths))
            chunks = [replace(c, y=v) for c, v in zip(chunks, parts, strict=True)]
        if weight is not None:
            parts = _parts(_beside(weight, "sample_weight", lengths))
            chunks = [replace(c, weight=v) for c, v in zip(chunks, parts, strict=True)]
        home = self._home
        if home is not None:
            home = home.keep(_rows_of(chunks, self.dtype, shared=True))
        blocks = ClusterBlocks(chunks, self.names, self.dtype, self._sparse, self.n_cols, home)
        blocks.check(beside=True)
        return blocks

    def check(self, *, beside: bool = False) -> None:
        """One pass over all values, or over those beside X alone; an error names the first row
        and column at fault."""
        names = self.names

        def stat(block: Block) -> Totals:
            weight = 1.0 if block.weight is None else float(to_numpy(block.weight).sum())
            seen = replace(block, X=block.X[:, :0]) if beside else block
            return Totals(FirstFault((fault(seen, names),)), weight)

        first, total = self.reduce(stat)
        if first[0] is not None:
            raise ValueError(first[0])
        if total == 0.0:
            raise ValueError(NO_WEIGHT)

    def reduce(self, stat: Callable[[Block], Statistic]) -> Statistic:
        if self._home is not None:
            return self._home.reduce(stat)
        from dask import delayed

        # One node of the graph, so that what the statistic carries is sent once to each worker.
        shared = delayed(stat, name=f"statistic-{uuid.uuid4().hex}", traverse=False)
        leaf = delayed(_leaf, pure=False, traverse=False)
        leaves = [leaf(shared, rows) for rows in _rows_of(self._chunks, self.dtype)]
        # `+` of two delayed values is a node of the graph: the tree is that of `TreeSum` itself.
        return tree_sum(leaves).compute()

    def __iter__(self) -> Iterator[Block]:
        from dask import compute

        if self._home is not None:
            yield from self._home
            return
        for rows in _rows_of(self._chunks, self.dtype):
            yield from compute(rows)[0].blocks()


@dataclass(frozen=True, slots=True)
class ChunkRows:
    """The rows of one chunk, from row `start` on, computed: as they are, or as blocks want them.

    `size` is what they take beside collections that hold the same memory: dask spills by it.
    """

    start: int
    dtype: np.dtype[Any]
    X: Any
    y: Any
    weight: Any
    size: int

    def blocks(self) -> ArrayBlocks:
        values, _ = array_of(self.X)
        if values.dtype != self.dtype:
            values = values.astype(self.dtype)
        y, s = (
            None if v is None else as_dtype_of(np.asarray(v), values) for v in self.extra_columns
        )
        return ArrayBlocks(Block(self.start, values, y, s))

    @property
    def extra_columns(self) -> tuple[Any, Any]:
        return self.y, self.weight

    def __sizeof__(self) -> int:
        return self.size


def _rows_of(
    chunks: Sequence[_Chunk], dtype: np.dtype[Any], *, turned: bool = False, shared: bool = False
) -> list[Delayed]:
    """A delayed `ChunkRows` for each chunk: `turned` into what blocks want, as a copy if need be;
    `shared` if X stays in memory for others too."""
    from dask import delayed

    make, start, rows = delayed(_made, pure=False, traverse=False), 0, []
    for chunk in chunks:
        given = (chunk.X, chunk.y, chunk.weight)
        rows.append(make(dtype, turned, shared, start, chunk.n_rows, *given))
        start += chunk.n_rows
    return rows


def _made(
    dtype: np.dtype[Any], turned: bool, shared: bool, start: int, n_rows: int, *given: Any
) -> ChunkRows:
    from dask.sizeof import sizeof

    X, y, weight = given
    X = X.X if isinstance(X, ChunkRows) else X
    for part, what in ((X, "X"), (y, "y"), (weight, "sample_weight")):
        if part is not None and part.shape[0] != n_rows:
            raise ValueError(
                f"the chunk from row {start} had {n_rows} rows and now {part.shape[0]} of {what}: "
                "dask must compute the same rows at every pass"
            )
    parts = (X, y, weight)
    if turned:
        whole = ChunkRows(start, dtype, X, y, weight, 0).blocks().whole
        parts = (whole.X, whole.y, whole.weight)
    size = 0 if shared and _is_view(parts[0], X) else sizeof(parts[0])
    return ChunkRows(start, dtype, *parts, size + sizeof(parts[1]) + sizeof(parts[2]))


def _is_view(part: Any, source: Any) -> bool:
    """Whether both lie in the same memory."""
    if issparse(part) and issparse(source):
        part, source = part.data, source.data
    both = isinstance(part, np.ndarray) and isinstance(source, np.ndarray)
    return part is source or (both and np.may_share_memory(part, source))


def _leaf(stat: Callable[[Block], Statistic], rows: ChunkRows) -> Statistic:
    """The sum over one chunk, on the one thread that dask gave it."""
    with threads(1):
        return rows.blocks().reduce(stat)


def _rows(X: Any) -> tuple[Any, list[int], tuple[str, ...] | None, Any]:
    """The collection with whole rows in every chunk, the rows of each, column names and type."""
    if not _is_array(X):
        if X.ndim != 2:
            check_shape((len(X),))
        names, dtype = frame_type(X._meta)
        return X, [int(m) for m in X.map_partitions(len).compute()], names, dtype
    if X.ndim != 2:
        check_shape(X.shape)
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    X = _sized(X)
    return X, [int(m) for m in X.chunks[0]], None, float_type(X.dtype)


def _sparse_bytes(chunk: _Chunk) -> float:
    """Bytes that a row of this chunk takes; those of other chunks are known once computed."""
    from dask import delayed

    count = delayed(lambda X: int(X.nnz), pure=False, traverse=False)
    return 12.0 * count(chunk.X).compute() / chunk.n_rows


def _is_array(X: Any) -> bool:
    return type(X).__module__.startswith("dask.array")


def _sized(X: Any) -> Any:
    """The array with the sizes of its chunks known; the caller's own object is left as it is."""
    if not np.isnan(X.shape).any():
        return X
    X = X.copy()
    return X.compute_chunk_sizes()


def _array(frame: Any) -> Any:
    """The columns of a dataframe, or the values of a series, as an array."""
    # `to_dask_array` warns of strings, which as objects are just what is wanted.
    shape = (0,) if frame.ndim == 1 else (0, len(frame.columns))
    return frame.map_partitions(np.asarray, meta=np.empty(shape, dtype=object))


def _beside(values: Any, what: str, lengths: list[int]) -> Any:
    """A target or weight cut like the rows: a dask array, or a list of arrays."""
    n = sum(lengths)
    if is_dask(values):
        array = _sized(values if _is_array(values) else _array(values))
        if array.shape[0] != n:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: X has {n} rows and "
                f"{what} has {array.shape[0]}"
            )
        return array.rechunk({0: tuple(lengths), **{axis: -1 for axis in range(1, array.ndim)}})
    held = np.asarray(to_numpy(values))
    if what == "sample_weight":
        held = check_weight(values, n)
    elif held.dtype.kind not in "USO" or held.ndim != 1 or len(held) != n:  # labels are kept
        held = vector(values, what, n, columns=True)
    ends = np.cumsum(lengths)
    return [held[end - m : end] for m, end in zip(lengths, ends, strict=True)]


def _parts(collection: Any) -> list[Delayed]:
    """The chunks of a collection."""
    if isinstance(collection, list):
        return collection
    if not _is_array(collection):
        return collection.to_delayed()
    # Not optimised: that would fuse the source of X and y into each, and compute it twice.
    return collection.to_delayed(optimize_graph=False).ravel().tolist()
