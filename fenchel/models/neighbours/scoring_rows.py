"""What predictions are judged by, rows with target and weight, and what they are handed out as."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import is_torch_array
from numpy.typing import NDArray

from fenchel.data.arrays import like
from fenchel.data.table import as_blocks, check_weight
from fenchel.models.base import host_keep, is_remote
from fenchel.models.namespace import dispatches, on_device_of

Floats = NDArray[np.float64]


def scored_targets(X: Any, y: Any, sample_weight: Any) -> tuple[NDArray[Any], Floats]:
    """Target and weight of each row, wherever they lie."""
    if not is_remote(X):
        target = host_keep(y)
        n = len(target)
        return target, np.ones(n) if sample_weight is None else check_weight(sample_weight, n)
    blocks = as_blocks(X, y, sample_weight)
    targets, weights = [], []
    for block in blocks:
        if block.y is None:
            raise ValueError("the rows have no target: pass y, or target= to scan")
        targets.append(host_keep(block.y))
        s = np.ones(len(targets[-1])) if block.weight is None else host_keep(block.weight)
        weights.append(np.asarray(s, np.float64))
    target = np.concatenate(targets)
    labels = target if blocks.classes is None else blocks.classes[target.astype(int)]
    return labels, np.concatenate(weights)


def values_out(values: NDArray[Any], X: Any) -> Any:
    """Predictions as a tensor for a tensor, or in the library of X where its configuration asks."""
    if is_torch_array(X):
        return like(values, X)
    return on_device_of(values, X) if X is not None and dispatches(X) else values
