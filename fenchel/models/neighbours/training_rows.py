"""Rows, targets and weights of a fit whose answer needs all of them: gathered in memory."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from fenchel.data.arrays import is_sparse
from fenchel.data.blocks import Blocks
from fenchel.data.intake import check_weight
from fenchel.geometry.search.on_device import on_accelerator
from fenchel.models.estimator import as_numpy, classes_of, is_remote, label_blocks, validated_blocks
from fenchel.models.targets import target_rows

Floats = NDArray[np.float64]
# A dense copy of sparse rows may take this many times the memory of the rows before it is refused.
DENSE_BYTES = 2**33


@dataclass(frozen=True, slots=True)
class TrainingRows:
    """rows: in C order, float32 or float64; target: (n,), (n, K), codes, or None; weight: None
    where all rows count once; classes: sorted labels of codes; was_sparse: the rows as given;
    tensor: these where they are on an accelerator, else None."""

    rows: NDArray[Any]
    target: NDArray[Any] | None = None
    weight: Floats | None = None
    classes: NDArray[Any] | None = None
    was_sparse: bool = False
    tensor: Any = None

    @classmethod
    def of(
        cls,
        X: Any,
        target: NDArray[Any] | None = None,
        weight: Floats | None = None,
        classes: NDArray[Any] | None = None,
    ) -> TrainingRows:
        """Of rows as they were given, on any device."""
        tensor = X if on_accelerator(X) else None
        return cls(dense_rows(X), target, weight, classes, is_sparse(X), tensor)


def plain_rows(estimator: Any, X: Any) -> TrainingRows:
    """Rows without a target."""
    return TrainingRows.of(validated_blocks(estimator, X).gather().X)


def valued_rows(estimator: Any, X: Any, y: Any, sample_weight: Any) -> TrainingRows:
    """Rows with one or several real targets."""
    block = target_rows(estimator, X, y, sample_weight).gather()
    target = np.asarray(as_numpy(block.y), np.float64)
    return TrainingRows.of(block.X, target, _weight(block.weight))


def labelled_rows(estimator: Any, X: Any, y: Any, sample_weight: Any) -> TrainingRows:
    """Rows with the codes 0 … K - 1 of their classes; a row without weight may have code 0 in place
    of that of a class that no weight has."""
    if isinstance(sample_weight, Real):
        n = X.n_rows if isinstance(X, Blocks) else _num_samples(X)
        sample_weight = np.full(n, float(sample_weight))
    if is_remote(X):
        classes, blocks = label_blocks(validated_blocks(estimator, X, y, sample_weight))
        block = blocks.gather()
        codes = np.asarray(as_numpy(block.y), np.int64)
        if y is None and X.classes is not None:  # coded when the file was read
            classes = X.classes[classes.astype(int)]
        return TrainingRows.of(block.X, codes, _weight(block.weight), classes)
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None"
        )
    blocks = validated_blocks(estimator, X)
    labels, n = as_numpy(y), blocks.n_rows
    if labels.ndim and len(labels) != n:
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"X has {n} rows and y has {len(labels)}"
        )
    weight = None if sample_weight is None else check_weight(sample_weight, n)
    classes, codes = classes_of(labels, weight)
    return TrainingRows.of(blocks.gather().X, np.maximum(codes, 0), _weight(weight), classes)


def dense_rows(X: Any) -> NDArray[Any]:
    """Rows in C order; sparse ones made dense, unless that would take too much memory."""
    if is_sparse(X):
        need = X.dtype.itemsize * X.shape[0] * X.shape[1]
        if need > DENSE_BYTES:
            raise MemoryError(
                f"neighbours of sparse rows are searched among dense ones: {X.shape[0]} x "
                f"{X.shape[1]} values take {need / 2**30:.1f} GiB; reduce the columns first, for "
                "example by a projection"
            )
        X = X.toarray()
    return np.ascontiguousarray(as_numpy(X))


def _weight(weight: Any) -> Floats | None:
    """None where every row counts once."""
    if weight is None:
        return None
    s = np.asarray(as_numpy(weight), np.float64)
    return None if (s == 1.0).all() else s
