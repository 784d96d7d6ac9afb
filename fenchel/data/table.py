"""From whatever holds a table to validated blocks: the one door for rows, and the one check."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from array_api_compat import is_torch_array
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from fenchel.data.arrays import Array, host
from fenchel.data.blocks import Block, Blocks, InMemory, Totals


def as_blocks(X: Any, y: Any = None, weight: Any = None) -> Blocks:
    """The table as validated row blocks.

    Parameters
    ----------
    X : numpy array, scipy sparse array or matrix, dataframe, torch tensor, dask collection, Blocks
        Two dimensions, finite numbers. C-contiguous float32 and float64 arrays, CSR of those
        types and tensors are used where they lie; anything else is copied once. Never changed.
    y, weight : arrays of as many entries as X has rows, optional
        y may have two dimensions (several targets). Weights are finite, not negative, not all zero.

    Raises
    ------
    ValueError
        Naming the first offending row and column, for NaN, infinity, empty or ragged tables,
        complex numbers, strings, wrong lengths and bad weights.

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
            return attach(X, y, weight)
        return X
    if is_dask(X):
        from fenchel.data.cluster import cluster_blocks

        return cluster_blocks(X, y, weight)
    rows, names = table(X)
    n = int(rows.shape[0])
    target = None if y is None else follow(vector(y, "y", n, columns=True), rows)
    weights = None if weight is None else follow(check_weight(weight, n), rows)
    blocks = InMemory(Block(0, rows, target, weights), names)
    check_finite(blocks)
    return blocks


def attach(blocks: Blocks, y: Any, weight: Any) -> Blocks:
    """The table with a target or weights from memory beside its rows."""
    n = blocks.n_rows
    target = None if y is None else vector(y, "y", n, columns=True)
    weights = None if weight is None else check_weight(weight, n)

    def join(block: Block) -> Block:
        rows = slice(block.start, block.start + block.n_rows)
        return Block(
            block.start,
            block.X,
            block.y if target is None else follow(target[rows], block.X),
            block.weight if weights is None else follow(weights[rows], block.X),
        )

    return blocks.map(join)


def is_dask(X: Any) -> bool:
    """Whether X is a dask collection, told without importing dask."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def table(X: Any) -> tuple[Array, tuple[str, ...] | None]:
    """X as a float array of two dimensions in the layout the passes want, and its column names."""
    if issparse(X):
        return _sparse(X), None
    if is_torch_array(X):
        _check_shape(tuple(X.shape))
        if X.is_complex():
            raise ValueError("Complex data not supported: X holds complex numbers")
        if not X.is_floating_point():
            return X.double(), None
        return X.float() if X.element_size() < 4 else X, None
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return _frame(frame)
    return _dense(X), None


def _check_shape(shape: tuple[int, ...]) -> None:
    if len(shape) != 2:
        raise ValueError(
            f"Expected a table of two dimensions, got shape={shape}. Reshape your data either "
            "using array.reshape(-1, 1) if it has a single feature or array.reshape(1, -1) if it "
            "is a single sample."
        )
    for size, what in zip(shape, ("sample", "feature"), strict=True):
        if size == 0:
            raise ValueError(
                f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required."
            )


def _dense(X: Any) -> NDArray[Any]:
    try:
        A = np.asarray(X)
    except ValueError as error:
        raise ValueError(f"X is ragged: its rows differ in length ({error})") from error
    if A.dtype.kind == "c":
        raise ValueError("Complex data not supported: X holds complex numbers")
    _check_shape(A.shape)
    if A.dtype.kind in "USMm" or (A.dtype.kind == "O" and any(isinstance(v, str) for v in A.flat)):
        raise ValueError(
            "X holds strings or dates where numbers are needed: encode them first, for example "
            "with sklearn.preprocessing.OneHotEncoder"
        )
    if A.dtype.kind == "f" and A.dtype.itemsize <= 4:
        kind: Any = np.float32
    else:
        kind = np.float64
    return np.ascontiguousarray(A, dtype=kind)


def _sparse(X: Any) -> csr_array:
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported: X holds complex numbers")
    _check_shape(X.shape)
    A = csr_array(X)  # a new object around the same arrays where X is CSR already
    kind = np.float32 if A.dtype.kind == "f" and A.dtype.itemsize <= 4 else np.float64
    if not A.has_canonical_format:
        A = A.copy()
        A.sum_duplicates()
    index = np.int32 if max(A.nnz, A.shape[1]) < 2**31 else np.int64
    data = A.data.astype(kind, copy=False)
    # Built anew: assigning to A would let scipy share and mark the caller's arrays.
    out = csr_array(A.shape, dtype=kind)
    out.data, out.indices = data, A.indices.astype(index, copy=False)
    out.indptr = A.indptr.astype(index, copy=False)
    return out


def _frame(frame: nw.DataFrame[Any]) -> tuple[NDArray[Any], tuple[str, ...] | None]:
    _check_shape(frame.shape)
    columns, kinds = [], set()
    for name, column in zip(frame.columns, frame.iter_columns(), strict=True):
        values = column_values(column, f"column '{name}'")
        columns.append(values)
        kinds.add(values.dtype)
    kind = np.float32 if kinds == {np.dtype(np.float32)} else np.float64
    out = np.empty(frame.shape, dtype=kind)
    for j, values in enumerate(columns):
        out[:, j] = values
    return out, tuple(str(c) for c in frame.columns)


def column_values(column: nw.Series[Any], what: str) -> NDArray[Any]:
    """One dataframe column as floats; an error names the column, the row and the remedy."""
    dtype = column.dtype
    if column.null_count():
        row = int(np.flatnonzero(column.is_null().to_numpy())[0])
        raise ValueError(
            f"row {row}, {what} is missing (NaN or null): drop such rows or fill them in first"
        )
    if dtype.is_numeric() or dtype == nw.Boolean:
        values = column.to_numpy()
        small = values.dtype.kind == "f" and values.dtype.itemsize <= 4
        return values.astype(np.float32 if small else np.float64, copy=False)
    if dtype == nw.Object:
        values = column.to_numpy()
        if not any(isinstance(v, str) for v in values):
            return values.astype(np.float64)
    raise ValueError(
        f"{what} holds {dtype} where numbers are needed: encode it first, for example with "
        "sklearn.preprocessing.OneHotEncoder, or leave it out"
    )


def vector(v: Any, what: str, n: int, *, columns: bool = False) -> NDArray[Any]:
    """A target or weight on the host: n entries, numbers, finite."""
    a = np.asarray(host(v))
    if a.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {what} holds complex numbers")
    if a.dtype.kind not in "fiub":
        a = a.astype(np.float64)
    if a.ndim != 1 and not (columns and a.ndim == 2):
        raise ValueError(f"{what} must have one dimension, got shape {a.shape}")
    if len(a) != n:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n} rows and "
            f"{what} has {len(a)}"
        )
    if a.dtype.kind == "f" and not np.isfinite(a).all():
        bad = np.argwhere(~np.isfinite(a))[0]
        kind = "NaN" if np.isnan(a[tuple(bad)]) else "infinity"
        raise ValueError(f"Input {what} contains {kind} at row {bad[0]}: drop or replace that row")
    return a


def check_weight(weight: Any, n: int) -> NDArray[np.float64]:
    """Weights: finite, not negative, not all zero."""
    s = np.asarray(vector(weight, "sample_weight", n), dtype=np.float64)
    if (s < 0).any():
        row = int(np.flatnonzero(s < 0)[0])
        raise ValueError(f"Negative values in data passed to `sample_weight`: row {row} has {s[row]}")
    if not s.any():
        raise ValueError(
            "Sample weights must contain at least one non-zero number: all sample_weight are zero"
        )
    return s


def follow(values: NDArray[Any], X: Array) -> Array:
    """A host vector beside the rows it belongs to: as a tensor on the device of a tensor X.

    Floating values take X's precision; class codes stay whole numbers.
    """
    if is_torch_array(X):
        from array_api_compat import array_namespace

        moved = array_namespace(X).asarray(np.ascontiguousarray(values), device=X.device)
        return moved.to(X.dtype) if values.dtype.kind == "f" else moved
    return values.astype(X.dtype, copy=False) if values.dtype.kind == "f" else values


def check_finite(blocks: Blocks) -> None:
    """An error that names the first row and column with NaN or infinity."""
    first = blocks.reduce(first_bad)
    if first[0] is not None:
        row, col, kind = first[0]
        raise ValueError(
            f"Input X contains {kind} at row {row}, {blocks.column(col)}: drop or fill such "
            "values first, for example with sklearn.impute.SimpleImputer"
        )


class First(tuple[Any, ...]):
    """The first finding in row order: `+` keeps the left one."""

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        return self if self[0] is not None else other


def first_bad(block: Block) -> First:
    """(row, column, kind) of the first value that is not finite, or None."""
    values = block.X.data if issparse(block.X) else block.X
    flat = values.reshape(-1)
    with np.errstate(over="ignore", invalid="ignore"):
        probe = float(flat @ flat) if len(flat) else 0.0
    if np.isfinite(probe):
        return First((None,))
    X = block.X if issparse(block.X) else host(block.X)
    bad = ~np.isfinite(X.data if issparse(X) else X)
    if not bad.any():  # only the squares overflowed
        return First((None,))
    if issparse(X):
        at = int(np.flatnonzero(bad)[0])
        row, col = int(np.searchsorted(X.indptr, at, side="right")) - 1, int(X.indices[at])
        value = X.data[at]
    else:
        row, col = (int(i) for i in np.argwhere(bad)[0])
        value = X[row, col]
    return First(((block.start + row, col, "NaN" if np.isnan(value) else "infinity"),))


def total_weight(blocks: Blocks) -> float:
    """Σ sᵢ, or the number of rows where there are no weights."""

    def stat(block: Block) -> Totals:
        if block.weight is None:
            return Totals(float(block.n_rows))
        return Totals(float(host(block.weight).sum()))

    return float(blocks.reduce(stat)[0])
