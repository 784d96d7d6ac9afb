"""Validation: arrays, frames, sparse matrices, tensors and dask collections as blocks of rows."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from array_api_compat import is_torch_array
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from fenchel.data.arrays import Array, is_strings, to_float64, to_numpy
from fenchel.data.blocks import Block, Blocks, Totals
from fenchel.data.in_memory import ArrayBlocks
from fenchel.data.parallel import copied
from fenchel.data.strings import string_column, strings_refused
from fenchel.data.validation import check_finite, check_shape, check_weight, vector

__all__ = [
    "as_blocks",
    "with_target",
    "check_finite",
    "check_weight",
    "as_dtype_of",
    "is_dask",
    "array_of",
    "total_weight",
    "vector",
]


def as_blocks(
    X: Any, y: Any = None, weight: Any = None, *, strings: bool = False, finite: bool = True
) -> Blocks:
    """The table as validated row blocks.

    Parameters
    ----------
    X : numpy array, scipy sparse array or matrix, dataframe, torch tensor, dask collection, Blocks
        Two dimensions, finite numbers. C-contiguous float32 and float64 arrays, CSR of those
        types and tensors are used where they lie; anything else is copied once. Never changed.
    y, weight : arrays of as many entries as X has rows, optional
        y may have two dimensions (several targets). Weights are finite, not negative, not all zero.
    strings : bool, default False
        Whether each row is a string, as kernels of strings take them: X is then a list, an array, a
        column or a dataframe of one column, all str or all bytes, none missing.
    finite : bool, default True
        Whether to look for NaN and infinity, which takes a pass; False: the caller calls
        `check_finite` where a sum of its own is not finite.

    Raises
    ------
    ValueError
        Naming the first offending row and column, for NaN, infinity, empty or ragged tables,
        complex numbers, strings where numbers are needed and the reverse, wrong lengths and bad
        weights.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.data import as_blocks
    >>> blocks = as_blocks(np.arange(6.0).reshape(3, 2))
    >>> blocks.n_rows, blocks.n_cols
    (3, 2)
    >>> float(blocks.reduce(lambda block: block.X.sum()))
    15.0
    """
    if isinstance(X, Blocks):
        if y is not None or weight is not None:
            return with_target(X, y, weight)
        return X
    if is_dask(X) and not strings:
        from fenchel.data.cluster.dask_blocks import cluster_blocks

        return cluster_blocks(X, y, weight)
    rows, names = string_table(X) if strings else array_of(X)
    n = int(rows.shape[0])
    target = None if y is None else as_dtype_of(vector(y, "y", n, columns=True), rows)
    weights = None if weight is None else as_dtype_of(check_weight(weight, n), rows)
    blocks = ArrayBlocks(Block(0, rows, target, weights), names)
    if finite and not strings:
        check_finite(blocks)
    return blocks


def with_target(blocks: Blocks, y: Any, weight: Any) -> Blocks:
    """The table with a target or weights from memory beside its rows."""
    from fenchel.data.cluster.dask_blocks import ClusterBlocks

    if isinstance(blocks, ClusterBlocks):
        return blocks.attach(y, weight)
    n = blocks.n_rows
    target = None if y is None else vector(y, "y", n, columns=True)
    weights = None if weight is None else check_weight(weight, n)

    def join(block: Block) -> Block:
        rows = slice(block.start, block.start + block.n_rows)
        return Block(
            block.start,
            block.X,
            block.y if target is None else as_dtype_of(target[rows], block.X),
            block.weight if weights is None else as_dtype_of(weights[rows], block.X),
        )

    mapped = blocks.map_targets(join)
    if target is not None:
        mapped.classes = None
    return mapped


def is_dask(X: Any) -> bool:
    """Whether X is a dask collection, without importing dask."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def array_of(X: Any) -> tuple[Array, tuple[str, ...] | None]:
    """X as a float array of two dimensions in the layout the passes want, and its column names."""
    if issparse(X):
        return _sparse(X), None
    if is_torch_array(X):
        check_shape(tuple(X.shape))
        if X.is_complex():
            raise ValueError("Complex data not supported: X holds complex numbers")
        X = X.detach().to_dense()
        if not X.is_floating_point():
            return X.double(), None
        return (X.float() if X.element_size() < 4 else X).contiguous(), None
    frame = _narwhals(X)
    return _frame(frame) if isinstance(frame, nw.DataFrame) else (_dense(X), None)


def string_table(X: Any) -> tuple[NDArray[Any], tuple[str, ...] | None]:
    """X as one string a row, (n, 1), and its column name."""
    if is_dask(X):
        raise ValueError(
            "X is a dask collection, and a kernel of strings needs its rows in memory: pass "
            "X.compute()"
        )
    if issparse(X) or is_torch_array(X):
        what = "a sparse matrix" if issparse(X) else "a tensor"
        raise ValueError(
            f"X is {what} of numbers where strings are needed: the kernel compares str or bytes; "
            "give a list of strings, or take a kernel of numbers, such as fenchel.kernels.Gaussian"
        )
    frame = _narwhals(X)
    if not isinstance(frame, nw.DataFrame):
        return string_column(X), None
    check_shape(frame.shape)
    if frame.shape[1] > 1:
        raise ValueError(
            f"X has {frame.shape[1]} columns, {', '.join(map(repr, frame.columns[:5]))}, and a "
            "kernel of strings takes one string for each row: choose a column, or join them"
        )
    name = frame.columns[0]
    return string_column(frame.get_column(name).to_list()), (str(name),)


def _narwhals(X: Any) -> Any:
    """X as a narwhals frame if it is one, else X itself."""
    try:
        frame = nw.from_native(X, pass_through=True)
    except DuplicateError as error:
        said = " ".join(str(error).split())
        raise ValueError(f"X has columns of the same name: rename one of them ({said})") from error
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(
            "X is a lazy frame, which has no rows yet: call .collect(), or let fenchel.scan read "
            "the file"
        )
    return frame


def _dense(X: Any) -> NDArray[Any]:
    try:
        A = np.asarray(X)
    except ValueError as error:
        raise ValueError(f"X is ragged: its rows differ in length ({error})") from error
    if A.dtype.kind == "c":
        raise ValueError("Complex data not supported: X holds complex numbers")
    _refuse_strings(A)
    check_shape(A.shape)
    if A.dtype.kind == "O":
        A = _numbers(A)
    if isinstance(X, np.ma.MaskedArray):  # what is masked is missing, whatever lies under the mask
        A = np.where(np.ma.getmaskarray(X), np.nan, A)
    return as_type(A, float_type(A.dtype))


def _refuse_strings(A: NDArray[Any]) -> None:
    """An error that names the first string or date; of text, the first that is no number."""
    kind = A.dtype.kind
    if kind not in "USTMmVO":
        return

    def wrong(value: Any) -> bool:
        if kind == "O":
            return isinstance(value, str | bytes)
        return kind in "MmV" or not _is_number(value)

    at = next((at for at, value in np.ndenumerate(A) if wrong(value)), None)
    if at is None:
        if kind == "O" or not A.size:
            return
        at = (0,) * A.ndim
    column = f"column {at[1]}" if len(at) > 1 else ""
    raise ValueError(strings_refused(A[at], at[0] if at else 0, column))


def _is_number(text: str | bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def as_type(A: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """A in C order and of this type; what overflows is infinity, which the check then names.

    Aligned too: numpy multiplies arrays that are not (they come out of messages between workers)
    by other code than BLAS, which rounds otherwise. Rows that must be copied are, by all threads.
    """
    with np.errstate(over="ignore"):
        kept = A.dtype == dtype and A.flags.c_contiguous and A.flags.aligned
        return np.require(A, dtype, ("C", "A")) if kept or A.ndim < 2 else copied(A, dtype)


def _numbers(A: NDArray[Any]) -> NDArray[np.float64]:
    """Python objects as float64; the first that is no number is named."""
    try:
        return A.astype(np.float64)
    except (TypeError, ValueError):
        for at, value in np.ndenumerate(A):
            try:
                float(value)
            except (TypeError, ValueError) as error:
                if isinstance(value, complex):
                    message = "Complex data not supported: X holds complex numbers"
                    raise ValueError(message) from error
                raise type(error)(f"X at row {at[0]}, column {at[1]}: {error}") from error
        raise


def float_type(dtype: np.dtype[Any]) -> type[np.floating[Any]]:
    """float32 for floating types that it holds exactly, float64 for all else."""
    return np.float32 if dtype.kind == "f" and dtype.itemsize <= 4 else np.float64


def _sparse(X: Any) -> csr_array:
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported: X holds complex numbers")
    check_shape(X.shape)
    kind = float_type(X.dtype)
    # Floats first: duplicate entries are summed on the way, and small integers would wrap.
    A = csr_array(X if X.dtype.kind == "b" else X.astype(kind, copy=False))
    if not A.has_canonical_format:
        A = A.copy()
        A.sum_duplicates()
    index = np.int32 if max(A.nnz, A.shape[1]) < 2**31 else np.int64
    # Built anew: assigning to A would let scipy share and mark the caller's arrays.
    out = csr_array(A.shape, dtype=kind)
    out.data, out.indices = as_type(A.data, kind), as_type(A.indices, index)
    out.indptr = as_type(A.indptr, index)
    return out


def _frame(frame: nw.DataFrame[Any]) -> tuple[NDArray[Any], tuple[str, ...]]:
    check_shape(frame.shape)
    names, values = _columns(frame)
    return stack_columns(values), names


def frame_type(empty: Any) -> tuple[tuple[str, ...], type[np.floating[Any]]]:
    """The column names and the floating type of frames like this one, which may have no rows."""
    names, values = _columns(_narwhals(empty))
    return names, common_type(values)


def _columns(frame: nw.DataFrame[Any]) -> tuple[tuple[str, ...], list[NDArray[Any]]]:
    names = [str(name) for name in frame.columns]
    values = [
        column_values(column, f"column '{name}'")
        for name, column in zip(names, frame.iter_columns(), strict=True)
    ]
    return tuple(names), values


def column_values(column: Any, what: str) -> NDArray[Any]:
    """One dataframe column as floats, NaN where it has no value; an error names the column."""
    dtype = column.dtype
    numeric = dtype.is_numeric() or dtype == nw.Boolean
    if numeric or dtype == nw.Object:
        values = column.to_numpy()
        if values.dtype.kind == "O" and numeric and not dtype.is_decimal():
            values = column.cast(nw.Float64()).to_numpy()
        if values.dtype.kind != "O" or not any(isinstance(v, str) for v in values):
            return values.astype(float_type(values.dtype), copy=False)
    raise ValueError(
        f"{what} holds {dtype} where numbers are needed: encode it first, for example with "
        "sklearn.preprocessing.OneHotEncoder, or leave it out"
    )


def common_type(columns: list[NDArray[Any]]) -> type[np.floating[Any]]:
    """float32 if every column is, else float64."""
    small = all(float_type(values.dtype) is np.float32 for values in columns)
    return np.float32 if small else np.float64


def stack_columns(columns: list[NDArray[Any]], dtype: Any = None) -> NDArray[Any]:
    """Columns as one C-ordered table."""
    out = np.empty((len(columns[0]), len(columns)), dtype=dtype or common_type(columns))
    # Tiles that stay in the cache: a column at a time would fetch every line of `out` once each.
    step = max(64, 2**17 // len(columns))
    with np.errstate(over="ignore"):  # what overflows is reported as infinity, with its place
        for lo in range(0, len(out), step):
            rows = out[lo : lo + step]
            for j, values in enumerate(columns):
                rows[:, j] = values[lo : lo + step]
    return out


def as_dtype_of(values: NDArray[Any], X: Array) -> Array:
    """A host vector beside the rows it belongs to: as a tensor on the device of a tensor X.

    Floating values take X's precision where that changes none of them; class codes stay whole
    numbers.
    """
    floating = values.dtype.kind == "f"
    if is_torch_array(X):
        from array_api_compat import array_namespace

        moved = array_namespace(X).asarray(np.ascontiguousarray(values), device=X.device)
        return moved.to(X.dtype) if floating and _is_single(values) else moved
    if is_strings(X):
        return as_type(values, np.float64 if floating else values.dtype)
    if floating and X.dtype == np.float32 and not _is_single(values):
        return as_type(values, np.float64)
    return as_type(values, X.dtype if floating else values.dtype)


def _is_single(values: NDArray[Any]) -> bool:
    """Whether float32 holds every one of these numbers."""
    with np.errstate(over="ignore", under="ignore"):
        return bool((values.astype(np.float32) == values).all())


def total_weight(blocks: Blocks) -> float:
    """Σ sᵢ, or the number of rows where there are no weights."""

    if isinstance(blocks, ArrayBlocks):
        weight = blocks.whole.weight
        return float(blocks.n_rows) if weight is None else float(to_float64(weight).sum())

    def stat(block: Block) -> Totals:
        if block.weight is None:
            return Totals(float(block.n_rows))
        return Totals(float(to_numpy(block.weight).sum()))

    return float(blocks.reduce(stat)[0])
