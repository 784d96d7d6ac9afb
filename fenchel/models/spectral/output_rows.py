"""Rows of a table as rows of an answer: block by block, in the precision and library of X."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from array_api_compat import is_torch_array
from numpy.typing import NDArray

from fenchel.data.arrays import like
from fenchel.data.blocks import Block, Blocks
from fenchel.models.array_namespace import dispatches, on_device_of


def rows_out(X: Any, blocks: Blocks, of_block: Callable[[Block], NDArray[Any]]) -> Any:
    """of_block of every block, one below the other; a tensor for a tensor."""
    parts = [of_block(block) for block in blocks]
    whole = parts[0] if len(parts) == 1 else np.concatenate(parts)
    if is_torch_array(X) and whole.dtype.kind in "iu":  # labels stay whole numbers
        return on_device_of(whole, X)
    if is_torch_array(X):
        return like(whole, X) if X.is_floating_point() else whole
    return on_device_of(whole, X) if dispatches(X) else whole


def working_type(blocks: Blocks) -> Any:
    """float32 for rows in single precision, else float64."""
    return np.dtype(np.float32) if blocks.dtype == np.float32 else np.dtype(np.float64)
