"""Rows that are strings: one str or bytes object a row, as a table of one column of objects."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.validation import check_shape

MISSING = ("NAType", "NaTType")  # of pandas, told by name so that pandas need not be imported


def string_column(X: Any) -> NDArray[Any]:
    """A sequence or array of strings, (n,) or (n, 1), as an array (n, 1) of objects that are all
    str or all bytes; an error names the first row that is neither."""
    if isinstance(X, str | bytes):
        raise ValueError(
            f"X is a single string, {reprlib.repr(X)}: give a list of strings, one for each row"
        )
    if isinstance(X, np.ndarray) and X.dtype.kind not in "OUST":
        check_shape(X.shape if X.ndim != 1 else (len(X), 1))
        raise ValueError(_no_string(0, X.flat[0].item()))
    try:
        A = np.asarray(X, dtype=object)
    except ValueError as error:
        raise ValueError(f"X is ragged: its rows differ in length ({error})") from error
    if isinstance(X, np.ma.MaskedArray):  # what is masked is missing, whatever lies under the mask
        A = A.copy()
        A[np.ma.getmaskarray(X)] = None
    if A.ndim == 1:
        A = A[:, None]
    check_shape(A.shape)
    if A.shape[1] > 1:
        first = A[0, 0]
        if not isinstance(first, str | bytes):
            raise ValueError(_no_string(0, first))
        raise ValueError(
            f"X has {A.shape[1]} columns, and a kernel of strings takes one string for each row: "
            "choose a column, or join them"
        )
    out = np.empty(A.shape, dtype=object)
    out[:, 0] = _of_one_type(A[:, 0].tolist())
    return out


def longest(X: NDArray[Any]) -> int:
    """The length of the longest string of a column."""
    return max(map(len, X[:, 0]), default=0)


def _of_one_type(items: Sequence[Any]) -> list[Any]:
    kind = bytes if isinstance(items[0], bytes) else str
    for row, item in enumerate(items):
        if isinstance(item, kind):
            continue
        if isinstance(item, str | bytes):
            raise ValueError(
                f"row {row} of X is {'bytes' if kind is str else 'str'} and row 0 is "
                f"{kind.__name__}: decode the bytes or encode the strings, so that all rows are of "
                "one type"
            )
        raise ValueError(_no_string(row, item))
    # Subclasses, such as numpy's, as what they are made of.
    return [item if type(item) is kind else kind.__getitem__(item, slice(None)) for item in items]


def _no_string(row: int, value: Any) -> str:
    missing = value is None or type(value).__name__ in MISSING
    if missing or (isinstance(value, float) and value != value):
        return (
            f"row {row} of X is missing ({value!r}), and a kernel of strings needs a string in "
            "every row: drop such rows, or fill them"
        )
    return (
        f"row {row} of X holds {reprlib.repr(value)} ({type(value).__name__}) where a string is "
        "needed: the kernel compares str or bytes; give strings, or take a kernel of numbers, such "
        "as fenchel.kernels.Gaussian"
    )


def strings_refused(value: Any, row: int, column: str = "") -> str:
    """The sentence for a string where numbers are needed."""
    where = f"row {row}" + (f", {column}" if column else "")
    value = value.item() if isinstance(value, np.generic) else value
    return (
        f"X holds strings or dates where numbers are needed, {reprlib.repr(value)} at {where}: "
        "encode them first, for example with sklearn.preprocessing.OneHotEncoder, or compare "
        "strings by a kernel, for example fenchel.SVC(kernel=fenchel.kernels.Spectrum(3))"
    )
