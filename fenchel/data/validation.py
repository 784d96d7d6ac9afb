"""Checks of rows, targets and weights; messages name the row and the column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from fenchel.data.arrays import to_numpy
from fenchel.data.blocks import Block, Blocks, column_label

NO_WEIGHT = "Sample weights must contain at least one non-zero number: all sample_weight are zero"


def check_shape(shape: tuple[int, ...]) -> None:
    """An error unless there are rows and columns, and nothing else."""
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


def vector(v: Any, what: str, n: int, *, columns: bool = False) -> NDArray[Any]:
    """A target or weight on the host: n entries, numbers, finite."""
    a = np.asarray(to_numpy(v))
    if isinstance(v, np.ma.MaskedArray):
        a = np.where(np.ma.getmaskarray(v), np.nan, a)
    if a.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {what} holds complex numbers")
    if a.dtype.kind not in "fiub":
        try:
            a = a.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{what} holds values that are not numbers: {error}") from error
    if a.ndim != 1 and not (columns and a.ndim == 2):
        weights = "Sample weights must be 1D array or scalar: " if what == "sample_weight" else ""
        raise ValueError(f"{weights}{what} must have one dimension, got shape {a.shape}")
    if len(a) != n:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n} rows and "
            f"{what} has {len(a)}"
        )
    if a.dtype.kind == "f" and not np.isfinite(a).all():
        raise ValueError(_bad_entry(what, 0, np.argwhere(~np.isfinite(a))[0], a))
    return a


def check_weight(weight: Any, n: int) -> NDArray[np.float64]:
    """Weights: finite, not negative, not all zero."""
    s = np.asarray(vector(weight, "sample_weight", n), dtype=np.float64)
    if (s < 0).any():
        row = int(np.flatnonzero(s < 0)[0])
        raise ValueError(_negative(row, s[row]))
    if not s.any():
        raise ValueError(NO_WEIGHT)
    return s


def check_finite(blocks: Blocks) -> None:
    """An error that names the first row and column with NaN or infinity."""
    if np.isfinite(blocks.column_sizes).all():
        return
    first = blocks.reduce(first_bad)
    if first[0] is not None:
        row, col, kind = first[0]
        raise ValueError(not_finite(row, blocks.column(col), kind))


def not_finite(row: int, column: str, kind: str) -> str:
    """The sentence for a value that is no finite number."""
    what = "NaN (a missing value)" if kind == "NaN" else kind
    return (
        f"Input X contains {what} at row {row}, {column}: drop or fill such values first, for "
        "example with sklearn.impute.SimpleImputer"
    )


def fault(block: Block, names: Sequence[str] | None) -> str | None:
    """The sentence for the first value in these rows that cannot be; None if all are well."""
    first = first_bad(block)[0]
    if first is not None:
        row, col, kind = first
        return not_finite(row, column_label(names, col), kind)
    for values, what in ((block.y, "y"), (block.weight, "sample_weight")):
        a = None if values is None else to_numpy(values)
        if a is None or a.dtype.kind not in "fO":
            continue
        good = np.isfinite(a) if a.dtype.kind == "f" else np.array([v == v for v in a], bool)
        if a.dtype.kind == "O":
            good &= np.array([v is not None for v in a], bool)
        if not good.all():
            return _bad_entry(what, block.start, np.argwhere(~good)[0], a)
    if block.weight is not None and (block.weight < 0).any():
        row = int(np.flatnonzero(to_numpy(block.weight) < 0)[0])
        return _negative(block.start + row, block.weight[row])
    return None


def _bad_entry(what: str, start: int, at: NDArray[np.int64], values: NDArray[Any]) -> str:
    infinite = values.dtype.kind == "f" and np.isinf(values[tuple(at)])
    kind = "infinity" if infinite else "NaN (a missing value)"
    return f"Input {what} contains {kind} at row {start + at[0]}: drop or replace that row"


def _negative(row: int, value: Any) -> str:
    return f"Negative values in data passed to `sample_weight`: row {row} has {value}"


class FirstFault(tuple[Any, ...]):
    """The first finding in row order: `+` keeps the left one."""

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        return self if self[0] is not None else other


def first_bad(block: Block) -> FirstFault:
    """(row, column, kind) of the first value that is not finite, or None."""
    values = block.X.data if issparse(block.X) else block.X
    flat = values.reshape(-1)
    with np.errstate(over="ignore", invalid="ignore"):
        probe = float(flat @ flat) if len(flat) else 0.0
    if np.isfinite(probe):
        return FirstFault((None,))
    held = to_numpy(values)
    bad = np.flatnonzero(~np.isfinite(held))
    if not len(bad):  # only the squares overflowed
        return FirstFault((None,))
    at = int(bad[0])
    if issparse(block.X):
        row = int(np.searchsorted(block.X.indptr, at, side="right")) - 1
        col = int(block.X.indices[at])
    else:
        row, col = divmod(at, int(block.X.shape[1]))
    kind = "NaN" if np.isnan(held.flat[at]) else "infinity"
    return FirstFault(((block.start + row, col, kind),))
