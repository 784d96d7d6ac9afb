"""What every estimator shares: validated rows, linear scores, encoded classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import is_torch_array
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils._missing import is_pandas_na, is_scalar_nan
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_feature_names, check_is_fitted, column_or_1d

from fenchel.convex.certificate import Certificate
from fenchel.data.arrays import is_sparse, to_numpy
from fenchel.data.blocks import Block, Blocks
from fenchel.data.design.block_products import scores
from fenchel.data.intake import as_blocks, check_weight, is_dask, with_target
from fenchel.data.parallel import by_rows, parallel_map, row_slices
from fenchel.geometry.kernel.kernel_function import KernelFunction
from fenchel.models.array_namespace import as_known, dispatches, on_device_of

Floats = NDArray[np.float64]


class Estimator(BaseEstimator):
    """scikit-learn's base, whose page in a notebook shows the certificate of the fit too."""

    def _html_repr(self) -> str:
        certificate: Certificate | None = vars(self).get("certificate_")
        proof = "" if certificate is None else certificate._repr_html_()
        return f"{super()._html_repr()}{proof}"


def is_remote(X: Any) -> bool:
    """Whether the rows are not plain arrays in this process: Blocks or a dask collection."""
    return isinstance(X, Blocks) or is_dask(X)


def validated_blocks(
    estimator: Any,
    X: Any,
    y: Any = None,
    weight: Any = None,
    *,
    reset: bool = True,
    finite: bool = True,
) -> Blocks:
    """X as blocks, with the estimator's feature names and number checked or, at fit, set.

    Rows are strings where its kernel compares strings, else numbers. finite: as of `as_blocks`.
    """
    if not isinstance(X, Blocks):
        _check_feature_names(estimator, X, reset=reset)
    strings = compares_strings(estimator)
    blocks = as_blocks(as_known(X), y, weight, strings=strings, finite=finite)
    if isinstance(X, Blocks) and X.strings != strings:
        raise ValueError(
            f"{type(estimator).__name__} needs rows of {'strings' if strings else 'numbers'}, and "
            f"these blocks hold {'numbers' if strings else 'strings'}: give others, or a kernel "
            "that takes them"
        )
    if isinstance(X, Blocks) and reset and X.names is not None:
        estimator.feature_names_in_ = np.array(X.names, dtype=object)
    if reset:
        estimator.n_features_in_ = blocks.n_cols
        return blocks
    # A model whose coefficients were set by hand was never told how many columns there are.
    known = vars(estimator)
    expected = known["n_features_in_"] if "n_features_in_" in known else known["coef_"].shape[-1]
    if blocks.n_cols != expected:
        raise ValueError(
            f"X has {blocks.n_cols} features, but {type(estimator).__name__} is expecting "
            f"{expected} features as input"
        )
    return blocks


def compares_strings(estimator: Any) -> bool:
    """Whether the estimator has a kernel, and that takes strings."""
    kernel = vars(estimator).get("kernel")
    return isinstance(kernel, KernelFunction) and kernel.of_strings


def linear_scores(estimator: Any, X: Any) -> Any:
    """X w + b, block by block: shape (n,) or (n, K), in X's precision; a tensor for a tensor."""
    check_is_fitted(estimator)
    blocks = validated_blocks(estimator, X, reset=False)
    coef = as_known(estimator.coef_)
    coef = to_numpy(coef.toarray() if is_sparse(coef) else coef)
    single = coef.ndim == 1 or (coef.shape[0] == 1 and estimator.__sklearn_tags__().classifier_tags)
    w = coef.ravel() if single else coef.T
    b = to_numpy(as_known(estimator.intercept_))
    b = b.ravel()[0] if single and b.ndim else b

    def score(block: Block) -> Any:
        return scores(block.X, w, b)

    if is_torch_array(X):
        return score(blocks.gather())
    parts = [as_numpy(score(block)) for block in blocks]
    whole = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return on_device_of(whole, X) if dispatches(X) else whole


def sparse_rows(coef: Any) -> Any:
    """Coefficients as a sparse matrix of one row for each plane, or as a sparse array where
    scikit-learn's configuration asks for that."""
    if is_sparse(coef):
        return coef
    kind = csr_matrix if get_config()["sparse_interface"] == "spmatrix" else csr_array
    return kind(np.atleast_2d(as_numpy(coef)))


def as_numpy(x: Any) -> NDArray[Any]:
    """On the host, precision kept."""
    return x.detach().cpu().numpy() if is_torch_array(x) else np.asarray(x)


SPAN = 4096  # between the least and the largest label: up to it to count takes one read of y


def classes_of(y: Any, weight: NDArray[Any] | None) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The sorted classes that have weight, and each row's class code (-1 for a class without)."""
    labels = np.asarray(as_numpy(y))
    if labels.ndim != 1:
        labels = column_or_1d(labels, warn=True)
    if labels.dtype.kind in "iub" and len(labels):
        parts = row_slices(len(labels))
        ends = parallel_map(lambda part: (labels[part].min(), labels[part].max()), parts)
        low, high = int(min(end for end, _ in ends)), int(max(end for _, end in ends))
        if high - low <= SPAN:

            def count(part: slice) -> NDArray[Any]:
                shifted = labels[part].astype(np.int64) - low
                own = None if weight is None else weight[part]
                return np.bincount(shifted, own, minlength=high - low + 1)

            counts = sum(parallel_map(count, parts))
            present = np.flatnonzero(counts > 0)
            table = np.full(high - low + 1, -1, dtype=np.int64)
            table[present] = np.arange(len(present))
            codes = by_rows(lambda y: table[y.astype(np.int64) - low], labels, 2**17)
            return (present + low).astype(labels.dtype), codes
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        row = int(np.flatnonzero(~np.isfinite(labels))[0])
        kind = "NaN" if np.isnan(labels[row]) else "infinity"
        raise ValueError(f"Input y contains {kind} at row {row}: drop that row or give it a class")
    if labels.dtype.kind == "f" and len(labels):
        coded = _two_numbers(labels, weight)
        if coded is not None:
            return coded
    if labels.dtype.kind == "O":
        _check_labels(labels)
    check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    if weight is not None:
        present = np.flatnonzero(np.bincount(codes, weight, minlength=len(classes)) > 0)
        if len(present) < len(classes):
            table = np.full(len(classes), -1, dtype=np.int64)
            table[present] = np.arange(len(present))
            classes, codes = classes[present], table[codes]
    return classes, codes.astype(np.int64, copy=False)


def _two_numbers(
    labels: NDArray[Any], weight: NDArray[Any] | None
) -> tuple[NDArray[Any], NDArray[np.int64]] | None:
    """Classes and codes of two whole numbers, by comparing: to sort 2 million takes ten times as
    long. None for other labels, and where a class may have no weight."""
    first = labels[0]
    others = labels[labels != first]
    if weight is not None or not len(others) or not (others == others[0]).all():
        return None
    classes = np.sort(np.array([first, others[0]]))
    if not (classes == np.floor(classes)).all():
        return None
    return classes, (labels == classes[1]).astype(np.int64)


def _check_labels(labels: NDArray[Any]) -> None:
    """Refuses labels without an order: a missing one, or text among numbers."""
    text = isinstance(labels[0], str) if len(labels) else False
    for row, label in enumerate(labels):
        if label is None or is_scalar_nan(label) or is_pandas_na(label):
            raise ValueError(
                f"Input y contains {label} (a missing value) at row {row}: drop that row or give "
                "it a class"
            )
        if isinstance(label, str) != text:
            raise ValueError(
                f"Unknown label type: y mixes texts and numbers, {labels[0]!r} at row 0 and "
                f"{label!r} at row {row}: make all labels of one kind, for example by astype(str)"
            )


class Labels(frozenset[Any]):
    """The distinct labels of a target, mergeable."""

    def __add__(self, other: Any) -> Labels:
        return Labels(self | other)


def label_blocks(blocks: Blocks) -> tuple[NDArray[Any], Blocks]:
    """Classes of a target that lies beside remote rows, and the blocks with codes for it."""

    def distinct(block: Block) -> Labels:
        if block.y is None:
            raise ValueError("a classifier needs a target: pass y, or target= to scan")
        y = as_numpy(block.y)
        seen = y if block.weight is None else y[to_numpy(block.weight) > 0]
        found = np.unique(seen)
        if len(found) > 10_000:
            raise ValueError("Unknown label type: continuous target with over 10000 values")
        return Labels(found.tolist())

    classes = np.array(sorted(blocks.reduce(distinct)))
    if classes.dtype.kind == "f":
        check_classification_targets(classes)

    # Every pass does this anew, so two numbers, the usual case, are told apart by one comparison:
    # a search takes as long as the rest of a logistic pass over 40 columns.
    two = len(classes) == 2 and classes.dtype.kind in "fiub"

    def encode(block: Block) -> Block:
        y = as_numpy(block.y)
        codes = (y > classes[0]).astype(np.int64) if two else np.searchsorted(classes, y)
        return Block(block.start, block.X, np.minimum(codes, len(classes) - 1), block.weight)

    return classes, blocks.map_targets(encode)


__all__ = [
    "with_target",
    "check_weight",
    "classes_of",
    "is_remote",
    "label_blocks",
    "validated_blocks",
    "linear_scores",
]
