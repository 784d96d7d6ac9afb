"""What a fitted model says about its rows: labels as its classes, weights as its parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from fenchel.data.arrays import is_sparse, like, to_float64, to_numpy
from fenchel.data.blocks import Block, Blocks
from fenchel.data.intake import as_blocks, as_dtype_of, check_weight, is_dask, with_target
from fenchel.models.estimator import as_numpy, is_remote, validated_blocks

Floats = NDArray[np.float64]


def fitted_rows(model: Any, X: Any, y: Any, weight: Any) -> Blocks:
    """The rows in float64 with target and weight beside them."""
    if is_remote(X):
        return validated_blocks(model, X, y, weight, reset=False)
    # An SVC whose kernel is a function was never told how many columns there are.
    told = "n_features_in_" in vars(model)
    blocks = validated_blocks(model, X, reset=False) if told else as_blocks(X)
    if blocks.strings:
        return with_target(blocks, y, weight)
    wide = blocks.map(
        lambda b: Block(b.start, to_float64(b.X), b.y, b.weight),
        dtype=np.float64,
        sparse=blocks.sparse,
    )
    return with_target(wide, y, weight)


def _codes(model: Any, y: Any, weight: Any) -> NDArray[np.int64]:
    labels = column_or_1d(as_numpy(y))
    s = None if weight is None else check_weight(weight, len(labels))
    return _encode(as_numpy(model.classes_), labels, s)


def _encode(
    classes: NDArray[Any], labels: NDArray[Any], weight: NDArray[Any] | None
) -> NDArray[np.int64]:
    """The place of each label among the model's classes; a row without weight may have any."""
    known = {label: k for k, label in enumerate(classes.tolist())}
    found, inverse = np.unique(labels, return_inverse=True)
    codes = np.array([known.get(label, -1) for label in found.tolist()], dtype=np.int64)[inverse]
    strange = codes < 0 if weight is None else (codes < 0) & (weight > 0)
    if strange.any():
        raise ValueError(
            f"y holds the label {labels[strange].tolist()[0]!r}, which is not among the classes of "
            f"the fitted model: {classes.tolist()}"
        )
    return np.maximum(codes, 0)


def encoded_rows(model: Any, X: Any, y: Any, weight: Any) -> Blocks:
    """The rows with the codes of the model's classes for a target."""
    if y is not None and not is_dask(y):
        return fitted_rows(model, X, _codes(model, y, weight), weight)
    blocks = validated_blocks(model, X, y, weight, reset=False)
    classes, names = as_numpy(model.classes_), blocks.classes

    def encode(block: Block) -> Block:
        if block.y is None:
            raise ValueError("these rows have no target: pass y, or target= to scan")
        labels = as_numpy(block.y)
        labels = labels if names is None else names[labels.astype(np.int64)]
        s = None if block.weight is None else to_numpy(block.weight)
        return Block(block.start, block.X, _encode(classes, labels, s), block.weight)

    return blocks.map_targets(encode)


def class_weights(model: Any, blocks: Blocks, *, weighted: bool) -> Floats:
    """The weight of each class; weighted: whether "balanced" counts rows by their weight."""
    classes, given = as_numpy(model.classes_).tolist(), model.class_weight
    if given is None:
        return np.ones(len(classes))
    if given != "balanced":
        return np.array([given.get(label, 1.0) for label in classes], dtype=np.float64)

    def count(block: Block) -> Floats:
        s = to_numpy(block.weight) if weighted and block.weight is not None else None
        return np.bincount(as_numpy(block.y), s, minlength=len(classes)).astype(np.float64)

    counts = blocks.reduce(count)
    return np.asarray(counts.sum() / (len(classes) * np.where(counts > 0.0, counts, np.inf)))


def weighted_rows(blocks: Blocks, each: Floats, positive: int | None) -> Blocks:
    """Rows weighted by class; the target ±1 for the positive class, else the code."""

    def weigh(block: Block) -> Block:
        codes = as_numpy(block.y)
        s = block.weight
        if (each != 1.0).any():
            s = as_dtype_of(each[codes] * (1.0 if s is None else to_numpy(s)), block.X)
        target = codes if positive is None else np.where(codes == positive, 1.0, -1.0)
        return Block(block.start, block.X, as_dtype_of(target, block.X), s)

    return blocks.map_targets(weigh)


def with_constant_column(blocks: Blocks, value: float) -> Blocks:
    """The rows with one more column, constant; in float64 where float32 does not hold it."""
    single = float(np.float32(value)) == value

    def augment(block: Block) -> Block:
        X = block.X if single else to_float64(block.X)
        column = like(np.full((block.n_rows, 1), value), X)
        if is_sparse(X):
            from scipy.sparse import csr_array, hstack

            X = csr_array(hstack([X, column], format="csr"))
        else:
            X = array_namespace(X).concat([X, column], axis=1)
        return Block(block.start, X, block.y, block.weight)

    return blocks.map(augment, blocks.n_cols + 1)


def coefficients(model: Any, d: int) -> tuple[Floats, Floats]:
    """Coefficients (K, d) and intercepts (K,)."""
    coef = model.coef_
    W = to_numpy(coef.toarray() if is_sparse(coef) else coef).reshape(-1, d)
    return W, np.broadcast_to(np.ravel(to_numpy(np.asarray(to_numpy(model.intercept_)))), len(W))
