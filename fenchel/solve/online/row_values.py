"""Numbers of rows made of their values alone: equal rows have equal ones, wherever they stand."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import is_sparse
from fenchel.solve.online.compiled import row_keys


def row_values(X: Any) -> NDArray[np.uint64]:
    """A number for each row, made of its values alone."""
    if not is_sparse(X):
        X = X.view()
        X.flags.writeable = False  # one type for the compiled loop, whatever was given
    rows = (X.data, X.indices, X.indptr) if is_sparse(X) else (X,)
    keys = np.empty(X.shape[0], np.uint64)
    row_keys(rows, np.zeros(X.shape[0], np.int64), keys)
    return keys
