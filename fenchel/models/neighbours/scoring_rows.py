"""What predictions are judged by, rows with target and weight, and what they are handed out as."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import is_torch_array
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.data.arrays import is_sparse, like
from fenchel.data.blocks import Blocks
from fenchel.data.intake import as_blocks, check_weight
from fenchel.models.array_namespace import dispatches, on_device_of
from fenchel.models.estimator import as_numpy, is_remote

Floats = NDArray[np.float64]


def scored_targets(X: Any, y: Any, sample_weight: Any) -> tuple[NDArray[Any], Floats]:
    """Target and weight of each row, wherever they lie."""
    if not is_remote(X):
        target = as_numpy(y)
        n = len(target)
        return target, np.ones(n) if sample_weight is None else check_weight(sample_weight, n)
    blocks = as_blocks(X, y, sample_weight)
    targets, weights = [], []
    for block in blocks:
        if block.y is None:
            raise ValueError("the rows have no target: pass y, or target= to scan")
        targets.append(as_numpy(block.y))
        s = np.ones(len(targets[-1])) if block.weight is None else as_numpy(block.weight)
        weights.append(np.asarray(s, np.float64))
    target = np.concatenate(targets)
    labels = target if blocks.classes is None else blocks.classes[target.astype(int)]
    return labels, np.concatenate(weights)


def are_rows_of_fit(
    blocks: Blocks,
    target: NDArray[Any],
    weight: Floats,
    rows: NDArray[Any],
    fitted_target: NDArray[Any],
    fitted_weight: Floats | None,
) -> bool:
    """Whether rows with weight are those of a fit: one by one, with their targets and weights."""
    used = weight > 0.0
    if fitted_weight is not None and not (fitted_weight > 0.0).all():
        kept = fitted_weight > 0.0
        rows, fitted_target, fitted_weight = rows[kept], fitted_target[kept], fitted_weight[kept]
    s = np.ones(len(rows)) if fitted_weight is None else fitted_weight
    if not (np.array_equal(weight[used], s) and np.array_equal(target[used], fitted_target)):
        return False
    start = place = 0
    for block in blocks:
        X = block.X.toarray() if is_sparse(block.X) else as_numpy(block.X)
        X = X[used[start : start + len(X)]]
        if not np.array_equal(X, rows[place : place + len(X)]):
            return False
        start, place = start + block.X.shape[0], place + len(X)
    return True


def exact(value: float) -> Certificate:
    """The certificate of a number that is a definition."""
    return Certificate(value, value, "exact")


def values_out(values: NDArray[Any], X: Any) -> Any:
    """Predictions as a tensor for a tensor, or in the library of X where its configuration asks."""
    if is_torch_array(X):
        return like(values, X)
    return on_device_of(values, X) if X is not None and dispatches(X) else values
