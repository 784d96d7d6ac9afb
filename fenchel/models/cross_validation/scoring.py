"""A classifier judged by scikit-learn's scorers on the rows of a fold."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import make_scorer
from sklearn.metrics._scorer import _BaseScorer
from sklearn.utils.validation import _check_method_params

from fenchel.data.arrays import to_numpy
from fenchel.data.blocks import Block
from fenchel.data.design.matrix import Point


@dataclass(frozen=True)
class Scoring:
    """A scorer, the classes of all rows, and what the scorer is given beside the rows.

    kind: the class of the model that is shown to the scorer. weighted: whether the scorer is given
    the weights of the rows. params: its other arguments, of which arrays of as many entries as the
    table has rows, n_rows, are cut to the fold.
    """

    scorer: Any
    kind: type
    classes: NDArray[Any]
    n_rows: int
    weighted: bool
    params: dict[str, Any]

    def scores(self, block: Block, points: Sequence[Point], rows: NDArray[np.int64]) -> list[float]:
        """The score of each point (w, b) on the rows of a block, which have these numbers."""
        scorer = with_classes(self.scorer, self.classes)
        codes = to_numpy(block.y)
        codes = codes if len(self.classes) > 2 else codes > 0
        labels = self.classes[codes.astype(np.int64)]
        table = np.empty((self.n_rows, 0))
        given = _check_method_params(table, self.params, indices=rows)
        if self.weighted and block.weight is not None:
            given["sample_weight"] = to_numpy(block.weight)
        return [float(scorer(self._model(point), block.X, labels, **given)) for point in points]

    def _model(self, point: Point) -> Any:
        w, b = point
        model = self.kind()
        model.classes_ = self.classes
        model.coef_, model.intercept_ = np.atleast_2d(w.T), np.atleast_1d(b)
        model.n_features_in_ = model.coef_.shape[1]
        return model


def with_classes(scorer: Any, classes: NDArray[Any]) -> Any:
    """The scorer, given all classes where its metric needs them: the rows of a fold may lack
    one. Of two classes the second is the positive one."""
    if not isinstance(scorer, _BaseScorer):
        return scorer
    takes = inspect.signature(scorer._score_func).parameters
    if "labels" not in takes:
        return scorer
    told = dict(scorer._kwargs)
    told.setdefault("labels", classes)
    if len(classes) == 2 and "pos_label" in takes:
        told.setdefault("pos_label", classes[-1])
    return make_scorer(
        scorer._score_func,
        response_method=scorer._response_method,
        greater_is_better=scorer._sign == 1,
        **told,
    )
