"""The curve of a fitted model over rows that may not fit in memory."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils._response import _get_response_values
from sklearn.utils.validation import check_is_fitted

from fenchel.data.arrays import to_numpy
from fenchel.data.blocks import Block, Blocks
from fenchel.data.intake import as_blocks, is_dask
from fenchel.score.curves.curve import Curve


def response(estimator: Any, X: Any) -> NDArray[np.float64]:
    """The model's score for its second class: decision_function, or else predict_proba."""
    methods = ["decision_function", "predict_proba"]
    return to_numpy(_get_response_values(estimator, X, response_method=methods)[0])


def curve_of(
    estimator: Any, X: Any, y: Any = None, *, sample_weight: Any = None, limit: int | None = None
) -> Curve:
    """The curve of a fitted two-class model on a table: in memory, on disk or on a cluster.

    One pass: each block is scored and sorted where it lies, and sorted runs are merged in a fixed
    tree, so the answer does not depend on the number of threads or workers. Exact, and then the
    scores are held in memory (not the rows); with a `limit` at most so many groups are, and
    `Curve.auc_bounds` and `Curve.slack` state what pooling may hide.

    Parameters
    ----------
    estimator : fitted classifier
        With two classes; the second is the positive one.
    X : array, sparse array, dataframe, dask collection, or Blocks (`scan`)
        The rows.
    y : array of shape (n,), optional
        Their labels; may be left out where `X` brings a target along.
    sample_weight : array of shape (n,), optional
        Weights of the rows.
    limit : int, optional
        The most groups of scores to keep.

    Returns
    -------
    Curve

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fenchel import LogisticRegression, curve_of
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegression().fit(X, y)
    >>> exact, pooled = curve_of(model, X, y), curve_of(model, X, y, limit=64)
    >>> low, high = pooled.auc_bounds()
    >>> low <= exact.auc() <= high
    True
    >>> exact.high.size, pooled.high.size
    (569, 64)
    """
    if not is_classifier(estimator):
        raise TypeError(f"a curve needs a classifier of two classes, and {estimator!r} is none")
    check_is_fitted(estimator)
    classes = estimator.classes_
    if len(classes) != 2:
        raise ValueError(f"a curve needs a model of two classes; this one has {len(classes)}")
    if not isinstance(X, Blocks) and not is_dask(X):
        if y is None:
            raise ValueError("a curve needs labels: pass y")
        _known(np.asarray(to_numpy(y)), classes, 0)
        curve = Curve.of(
            y,
            response(estimator, X),
            sample_weight=sample_weight,
            pos_label=classes[1],
            limit=limit,
        )
        curve.both()
        return curve
    blocks = as_blocks(X, y, sample_weight)
    _same_columns(estimator, blocks)
    model = _nameless(estimator)
    coded = blocks.classes if y is None else None

    def part(block: Block) -> Curve:
        if block.y is None:
            raise ValueError("a curve needs labels: pass y, or target= to scan")
        labels = np.asarray(to_numpy(block.y))
        labels = labels if coded is None else coded[labels.astype(int)]
        _known(labels, classes, block.start)
        score, weight = response(model, block.X), None
        if block.weight is not None:
            weight = to_numpy(block.weight)
            kept = weight > 0.0
            labels, score, weight = labels[kept], score[kept], weight[kept]
        return Curve.of(labels, score, sample_weight=weight, pos_label=classes[1], limit=limit)

    curve = blocks.reduce(part)
    curve.both()
    return curve


def _same_columns(estimator: Any, blocks: Blocks) -> None:
    """An error where the table's columns are not those of the fit, by name and order."""
    fitted = getattr(estimator, "feature_names_in_", None)
    if fitted is None or blocks.names is None or tuple(fitted) == tuple(blocks.names):
        return
    missing = [name for name in fitted if name not in blocks.names]
    wrong = f"has no column {missing[0]!r}" if missing else "has its columns in another order"
    raise ValueError(f"the table {wrong}; the model was fitted on {', '.join(map(str, fitted))}")


def _nameless(estimator: Any) -> Any:
    """The model without column names, which blocks of bare numbers do not bring along."""
    bare = copy(estimator)
    vars(bare).pop("feature_names_in_", None)
    if isinstance(bare, Pipeline):
        bare.steps = [(name, _nameless(step)) for name, step in bare.steps]
    return bare


def _known(labels: NDArray[Any], classes: NDArray[Any], start: int) -> None:
    """An error that names the first label the model has never seen."""
    strange = (labels != classes[0]) & (labels != classes[1])
    if strange.any():
        at = int(strange.argmax())
        (label,), known = labels[at : at + 1].tolist(), classes.tolist()
        raise ValueError(
            f"y is {label!r} in row {start + at}; the model knows {known[0]!r} and {known[1]!r}"
        )
