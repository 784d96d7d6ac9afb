"""Rows projected onto discriminant axes."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import is_torch_array
from numpy.typing import NDArray

from fenchel.data.arrays import is_sparse, like
from fenchel.data.blocks import Block
from fenchel.data.design.matrix import Concatenated
from fenchel.models.array_namespace import dispatches, on_device_of
from fenchel.models.estimator import as_numpy, validated_blocks


def projected(estimator: Any, X: Any, centre: Any, axes: Any) -> Any:
    """(x - centre)' axes of each row, block by block, in X's precision; a tensor for a tensor."""
    blocks = validated_blocks(estimator, X, reset=False)
    A, c = np.asarray(as_numpy(axes)), np.asarray(as_numpy(centre))

    def project(block: Block) -> Any:
        rows = block.X
        if is_sparse(rows):
            return rows @ like(A, rows) - like(c @ A, rows)
        return (rows - like(c, rows)) @ like(A, rows)

    if is_torch_array(X):
        return project(blocks.gather())
    parts: list[NDArray[Any]] = blocks.reduce(
        lambda block: Concatenated([as_numpy(project(block))])
    )
    out = np.concatenate(parts)
    return on_device_of(out, X) if dispatches(X) else out


def towards_last(axes: NDArray[np.float64], centres: NDArray[np.float64]) -> NDArray[np.float64]:
    """The axes, columns of an array, signed so that the class centre (K, axes) farthest from zero
    lies on the positive side, the last of those equally far: whatever rows or columns they
    combine, and of two classes always the second."""
    size = np.abs(centres)
    far = size >= (1.0 - 1e-6) * size.max(axis=0, initial=0.0)  # equal but for rounding
    last = len(centres) - 1 - far[::-1].argmax(axis=0)
    if len(centres) == 2:
        last[:] = 1
    negative = centres[last, np.arange(centres.shape[1])] < 0.0
    return axes * np.where(negative, -1.0, 1.0)


def upright(axes: NDArray[np.float64]) -> NDArray[np.float64]:
    """The axes, columns of an array, with the largest entry of each positive."""
    if not axes.size:
        return axes
    top = axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])]
    return axes * np.where(top < 0.0, -1.0, 1.0)
