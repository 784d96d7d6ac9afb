"""What a fitted model says about rows: predictions, scores and probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier, DummyRegressor

from fenchel.app.table.task import Task

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Answers:
    """Of n rows.

    Attributes
    ----------
    predicted : array of shape (n,), or (n, q) of several quantiles
        Codes of classes in the order of the task's, numbers, or clusters from 0 on.
    score : array of shape (n,) or (n, K), or None
        Of the positive of two classes, or of each of more.
    probability : array of shape (n, K), or None
    constant : bool
        Whether the model says the same of every row, by construction.
    """

    predicted: NDArray[Any]
    score: Floats | None
    probability: Floats | None
    constant: bool = False

    @property
    def single(self) -> NDArray[Any]:
        """One number for each row: the score of the positive of two classes, or the prediction."""
        if self.score is not None and self.score.ndim == 1:
            return self.score
        return self.predicted


def method_of(model: Any, name: str) -> Any:
    """A method that some models have, some for certain parameters only; None where it is absent."""
    return getattr(model, name, None)


def gives_probabilities(model: Any) -> bool:
    """Whether the model says how likely a class is."""
    return method_of(model, "predict_proba") is not None


def answers_of(model: Any, X: Floats) -> Answers:
    """All that the model has to say; it was fitted to codes of classes, or to numbers."""
    found: dict[str, Any] = {}
    for method in ("decision_function", "predict_proba"):
        ask = method_of(model, method)
        found[method] = None if ask is None else np.asarray(ask(X), dtype=np.float64)
    score, probability = found["decision_function"], found["predict_proba"]
    if score is None and probability is not None:
        score = probability[:, 1] if probability.shape[1] == 2 else probability
    return Answers(np.asarray(model.predict(X)), score, probability, is_constant(model))


def is_constant(model: Any) -> bool:
    """Whether the model says the same of every row, whatever the row."""
    if isinstance(model, DummyClassifier):
        return model.strategy in ("prior", "most_frequent", "constant")
    if isinstance(model, DummyRegressor):
        return True
    coef = vars(model).get("coef_")
    return coef is not None and not np.any(coef)


def prediction_columns(task: Task, model: Any) -> tuple[str, ...]:
    """The names of the columns that `prediction_frame` makes."""
    if task.kind == "none":
        return ("cluster",)
    if task.kind == "number":
        quantiles = vars(model).get("quantile")
        if isinstance(quantiles, Sequence | np.ndarray):
            return tuple(f"prediction {float(q):g}" for q in quantiles)
        return ("prediction",)
    if gives_probabilities(model):
        return ("prediction", *(f"probability {name}" for name in task.classes))
    if method_of(model, "decision_function") is not None:
        scored = task.classes if len(task.classes) > 2 else task.classes[1:]
        return ("prediction", *(f"score {name}" for name in scored))
    return ("prediction",)


def prediction_frame(task: Task, model: Any, answers: Answers) -> pl.DataFrame:
    """Predictions by the names of the classes, with a column of probability or score for each."""
    names = prediction_columns(task, model)
    if task.kind == "none":
        return pl.DataFrame({names[0]: answers.predicted.astype(np.int64) + 1})
    if task.kind == "number":
        table = answers.predicted.reshape(len(answers.predicted), -1)
        return pl.DataFrame({name: table[:, at] for at, name in enumerate(names)})
    labels = pl.Series("prediction", task.classes, dtype=pl.String)
    columns = [labels.gather(answers.predicted.astype(np.int64))]
    more = answers.score if answers.probability is None else answers.probability
    if more is not None:
        table = more.reshape(len(more), -1)
        columns += [pl.Series(name, table[:, at]) for at, name in enumerate(names[1:])]
    return pl.DataFrame(columns)
