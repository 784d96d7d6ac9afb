"""Scorers of a fitted estimator, each answer of the estimator asked for once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin, is_classifier
from sklearn.metrics import check_scoring, get_scorer, get_scorer_names
from sklearn.metrics._scorer import _BaseScorer, _MultimetricScorer, _PassthroughScorer
from sklearn.utils._response import _get_response_values
from sklearn.utils.metadata_routing import _routing_enabled, process_routing
from sklearn.utils.validation import _check_response_method

from fenchel.score.scorers import scorer
from fenchel.score.validation.metric import ScoredMetric, metric_of
from fenchel.score.validation.metric_ranges import Range, range_of

Recall = Callable[..., Any]
ALONE = "score"


@dataclass(frozen=True)
class FoldScorers:
    """Scorers by name; scikit-learn calls the only one of an unnamed metric "score"."""

    scorers: dict[str, Any]

    def marks(
        self, estimator: Any, X: Any, y: Any, recall: Recall, params: Mapping[str, Any]
    ) -> dict[str, float | Exception]:
        """Each metric of the estimator on those rows, or what it raised."""
        routed = process_routing(self.router(), "score", **params) if _routing_enabled() else None
        rows = (X,) if y is None else (X, y)
        found: dict[str, float | Exception] = {}
        for name, judge in self.scorers.items():
            kwargs = _taken(judge, params) if routed is None else routed.get(name).score
            try:
                if isinstance(judge, _BaseScorer):
                    value = judge._score(recall, estimator, *rows, **kwargs)
                else:
                    value = judge(estimator, *rows, **kwargs)
                if isinstance(value, dict) and name == ALONE:
                    found.update({key: _number(key, entry) for key, entry in value.items()})
                else:
                    found[name] = _number(name, value)
            except Exception as error:
                found[name] = error
        return found

    def ranges(self) -> dict[str, Range]:
        """Where each metric lies."""
        return {name: range_of(judge) for name, judge in self.scorers.items()}

    def metrics(self) -> dict[str, ScoredMetric]:
        """What each metric is called, and in which direction it is better."""
        return {name: metric_of(judge, name) for name, judge in self.scorers.items()}

    def router(self) -> Any:
        """The scorers as scikit-learn's metadata routing sees them."""
        return _MultimetricScorer(scorers=self.scorers)


def fold_scorers(estimator: Any, scoring: Any) -> FoldScorers:
    """scoring as in scikit-learn: None, a name, a scorer, or several; our names too."""
    if scoring is None:
        return FoldScorers({ALONE: _own(estimator)})
    if isinstance(scoring, str):
        return FoldScorers({ALONE: named(scoring)})
    if callable(scoring):
        return FoldScorers({ALONE: check_scoring(estimator, scoring=scoring)})
    if isinstance(scoring, Mapping):
        several = dict(scoring)
    elif isinstance(scoring, list | tuple | set | frozenset):
        names = sorted(scoring) if isinstance(scoring, set | frozenset) else list(scoring)
        if not all(isinstance(name, str) for name in names):
            raise ValueError(
                f"scoring lists what is not a name, {scoring!r}: give scorers as a dict, "
                "name to scorer"
            )
        if len(set(names)) < len(names):
            raise ValueError(f"scoring names a metric twice: {scoring!r}")
        several = dict(zip(names, names, strict=True))
    else:
        raise ValueError(
            "scoring must be None, a name, a callable (estimator, X, y) or a list or dict of "
            f"those, got {scoring!r}"
        )
    if not several:
        raise ValueError("scoring is empty: name a metric, or None for the estimator's own score")
    made = {key: named(how) if isinstance(how, str) else how for key, how in several.items()}
    return FoldScorers(check_scoring(estimator, scoring=made)._scorers)


def named(name: str) -> Any:
    """The scorer of that name, scikit-learn's before ours."""
    return get_scorer(name) if name in get_scorer_names() else scorer(name)


def _own(estimator: Any) -> Any:
    """The estimator's score; accuracy and R², where it is those, from predictions made once."""
    if not _routing_enabled():
        own = getattr(type(estimator), "score", None)
        if own is ClassifierMixin.score:
            return get_scorer("accuracy")
        if own is RegressorMixin.score:
            return get_scorer("r2")
    return check_scoring(estimator)


def _taken(judge: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """The weights, for a scorer that takes them."""
    weight = params.get("sample_weight")
    if weight is None:
        return {}
    if isinstance(judge, _BaseScorer | _PassthroughScorer):
        takes = judge._accept_sample_weight()
    else:
        takes = "sample_weight" in signature(judge).parameters
    return {"sample_weight": weight} if takes else {}


def _number(name: str, value: Any) -> float:
    if isinstance(value, np.generic | np.ndarray) and value.size == 1:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"the metric {name!r} must be one number, got {value!r}")
    return float(value)


def recalling() -> Recall:
    """A caller of an estimator's methods on one set of rows that asks for each answer once."""
    memory: dict[Any, Any] = {}

    def recall(estimator: Any, method: str, X: Any, **kwargs: Any) -> Any:
        label = kwargs.get("pos_label")
        if label is not None and is_classifier(estimator) and label == estimator.classes_[-1]:
            label = None  # of two classes the last one is positive anyway
        key = (method, None if method == "predict" else label)
        if key not in memory:
            memory[key], _ = _get_response_values(estimator, X, response_method=method, **kwargs)
        return memory[key]

    return recall


def answers(estimator: Any, X: Any, recall: Recall, classes: Any) -> tuple[Any, Any]:
    """(predictions, scores) of the rows: scores of the greater class of two, a column a class of
    more, None where there are no classes or no method for them."""
    predicted = _asked(estimator, X, recall, ("predict",))
    if classes is None:
        return predicted, None
    return predicted, _asked(estimator, X, recall, ("decision_function", "predict_proba"))


def _asked(estimator: Any, X: Any, recall: Recall, methods: tuple[str, ...]) -> NDArray[Any] | None:
    """What the first of the methods that the estimator has says of the rows."""
    for method in methods:
        try:
            _check_response_method(estimator, method)
        except AttributeError:
            continue
        answer = recall(estimator, method, X, pos_label=None)
        return None if isinstance(answer, list) else np.asarray(answer)
    return None
