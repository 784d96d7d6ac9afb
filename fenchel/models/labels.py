"""From labels to the targets of a loss: classes sorted, weights per class, ±1 or codes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from numbers import Real
from typing import Any, Self

import numpy as np
from array_api_compat import is_torch_array
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import _num_samples, check_is_fitted

from fenchel.data.arrays import is_sparse, to_numpy
from fenchel.data.blocks import Block, Blocks, Totals
from fenchel.data.in_memory import ArrayBlocks
from fenchel.data.intake import as_blocks, as_dtype_of, check_weight
from fenchel.data.parallel import by_rows
from fenchel.models.array_namespace import as_known, dispatches, on_device_of
from fenchel.models.estimator import (
    SPAN,
    Estimator,
    as_numpy,
    classes_of,
    is_remote,
    label_blocks,
    linear_scores,
    sparse_rows,
    validated_blocks,
)


class ScoreClassifier(ClassifierMixin):
    """A fitted classifier with a score for two classes, one a class for more."""

    classes_: Any

    @abstractmethod
    def decision_function(self, X: Any) -> Any:
        """The scores: shape (n,) for two classes, (n, K) for more."""

    def predict(self, X: Any) -> Any:
        """The class with the largest score; of two, the second where the score is above zero."""
        z = to_numpy(as_known(self.decision_function(X)))
        labels = self.classes_[(z > 0).astype(int) if z.ndim == 1 else z.argmax(axis=1)]
        numeric = labels.dtype.kind in "fiub"
        return on_device_of(labels, X) if numeric and dispatches(X) else labels


class LinearClassifier(ScoreClassifier, Estimator):
    """A fitted linear classifier: one plane for two classes, one a class for more."""

    coef_: Any
    intercept_: Any

    def decision_function(self, X: Any) -> Any:
        """x·w + b: shape (n,) for two classes, (n, K) for more."""
        return linear_scores(self, X)

    def sparsify(self) -> Self:
        """coef_ as a sparse matrix of rows, which takes less memory where most entries are zero;
        of the type that scikit-learn's configuration asks for (`sparse_interface`)."""
        check_is_fitted(self)
        self.coef_ = sparse_rows(self.coef_)
        return self

    def densify(self) -> Self:
        """coef_ as an array again."""
        check_is_fitted(self)
        if is_sparse(self.coef_):
            self.coef_ = self.coef_.toarray()
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def encode_labels(
    estimator: Any, X: Any, y: Any, sample_weight: Any, class_weight: Any
) -> tuple[NDArray[Any], Blocks]:
    """The classes and the rows with ±1 (two classes) or class codes (more) as target; a number as
    weight stands for every row."""
    if isinstance(sample_weight, Real):
        rows = X.n_rows if isinstance(X, Blocks) else _num_samples(X)
        sample_weight = np.full(rows, float(sample_weight))
    if is_remote(X):
        return _remote(estimator, X, y, sample_weight, class_weight)
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None"
        )
    blocks = validated_blocks(estimator, X)
    on_device = None if sample_weight is not None else device_classes(y, blocks)
    if on_device is not None:
        classes, codes = on_device
        check_two(estimator, classes)
        X = blocks.gather().X
        target = codes if len(classes) > 2 else (2 * codes - 1).to(X.dtype)
        return classes, class_weighted(blocks.with_target(target), classes, class_weight)
    labels = as_numpy(y)
    n = blocks.n_rows
    if labels.ndim and len(labels) != n:
        raise ValueError(
            "Found input variables with inconsistent numbers of samples: "
            f"X has {n} rows and y has {len(labels)}"
        )
    weight = None if sample_weight is None else check_weight(sample_weight, n)
    classes, codes = classes_of(labels, weight)
    check_two(estimator, classes)
    codes = np.maximum(codes, 0) if weight is not None else codes
    whole = blocks.gather()
    signs = np.array([-1.0, 1.0])
    target = codes if len(classes) > 2 else by_rows(signs.take, codes, 2**17)
    s = None if weight is None else as_dtype_of(weight, whole.X)
    rows = blocks.with_target(as_dtype_of(target, whole.X), s)
    return classes, class_weighted(rows, classes, class_weight)


def device_classes(y: Any, blocks: Blocks) -> tuple[NDArray[Any], Any] | None:
    """The sorted classes, and each row's class code as a tensor, of whole numbers that lie on a
    device beside their rows; None for any other target, or where the numbers are far apart."""
    X = blocks.whole.X if isinstance(blocks, ArrayBlocks) else None
    if not (is_torch_array(X) and is_torch_array(y)) or y.device != X.device or y.ndim != 1:
        return None
    if y.is_floating_point() or y.is_complex() or y.shape[0] != X.shape[0]:
        return None
    whole = y.long()
    low, high = (int(end) for end in whole.aminmax())
    if high - low > SPAN:
        return None
    shifted = whole - low
    present = np.flatnonzero(as_numpy(shifted.bincount(minlength=high - low + 1)))
    classes = (present + low).astype(as_numpy(y[:1]).dtype)
    if len(present) == high - low + 1:
        return classes, shifted
    table = np.zeros(high - low + 1, np.int64)
    table[present] = np.arange(len(present))
    return classes, as_dtype_of(table, X)[shifted]


def _remote(
    estimator: Any, X: Any, y: Any, sample_weight: Any, class_weight: Any
) -> tuple[NDArray[Any], Blocks]:
    blocks = validated_blocks(estimator, X, y, sample_weight)
    classes, blocks = label_blocks(blocks)
    check_two(estimator, classes)

    def target(block: Block) -> Block:
        codes = to_numpy(block.y)
        t = codes if len(classes) > 2 else 2.0 * codes - 1.0
        return Block(block.start, block.X, as_dtype_of(t, block.X), block.weight)

    if y is None and X.classes is not None:  # the file's labels were coded when it was read
        classes = X.classes[classes.astype(int)]
    return classes, class_weighted(blocks.map_targets(target), classes, class_weight)


def class_weighted(blocks: Blocks, classes: NDArray[Any], class_weight: Any) -> Blocks:
    """The rows with their weight times that of their class; targets as `encode_labels` makes
    them."""
    if class_weight is None:
        return blocks

    def codes_of(block: Block) -> NDArray[np.int64]:
        y = to_numpy(block.y)
        return (y > 0 if len(classes) == 2 else y).astype(np.int64)

    def count(block: Block) -> Totals:
        s = None if block.weight is None else to_numpy(block.weight)
        return Totals(np.bincount(codes_of(block), s, minlength=len(classes)))

    each = class_factors(class_weight, classes, blocks.reduce(count)[0])

    def weigh(block: Block) -> Block:
        s = each[codes_of(block)]
        s = s if block.weight is None else s * to_numpy(block.weight)
        return Block(block.start, block.X, block.y, as_dtype_of(s, block.X))

    if blocks.local:
        return ArrayBlocks(weigh(blocks.gather()), blocks.names)
    return blocks.map_targets(weigh)


def one_vs_rest_view(k: int, outputs: int) -> Callable[[Block], Block]:
    """A view with ±1 for a target: class k, or the second of two, against the others."""

    def view(block: Block) -> Block:
        y = to_numpy(block.y)
        y = np.where(y > 0 if outputs == 1 else y == k, 1.0, -1.0)
        return Block(block.start, block.X, as_dtype_of(y, block.X), block.weight)

    return view


def one_vs_rest(blocks: Blocks, k: int, outputs: int) -> Blocks:
    """The rows with ±1 for a target: class k, or the second of two, against the others."""
    view = one_vs_rest_view(k, outputs)
    if blocks.local and outputs > 1:
        return ArrayBlocks(view(blocks.gather()), blocks.names)
    return blocks.map_targets(view)


def check_two(estimator: Any, classes: NDArray[Any]) -> None:
    if len(classes) < 2:
        only = classes.tolist()[0] if len(classes) else "none"
        raise ValueError(
            f"{type(estimator).__name__} needs samples of at least 2 classes in the data, but the "
            f"rows with weight hold only one class: {only!r}"
        )


def class_factors(
    class_weight: Any, classes: NDArray[Any], counts: NDArray[Any]
) -> NDArray[np.float64]:
    """The weight of each class: as given, or Σs / (K sₖ) for "balanced"."""
    if class_weight == "balanced":
        return counts.sum() / (len(classes) * counts)
    unknown = [k for k in class_weight if k not in classes.tolist()]
    if unknown:
        raise ValueError(
            f"class_weight names {unknown}, which are not among the classes {classes.tolist()}"
        )
    negative = [k for k, v in class_weight.items() if not v >= 0]
    if negative:
        raise ValueError(f"class_weight of class {negative[0]!r} must not be negative")
    return np.asarray(compute_class_weight(class_weight, classes=classes, y=classes), np.float64)


__all__ = ["as_blocks", "check_two", "encode_labels"]
