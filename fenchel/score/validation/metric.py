"""What a score measures, and in which direction it is better.

A scorer gives a number that is better the larger it is; of a loss it gives minus the loss. Where a
score is shown to a reader, the loss itself is shown, and that lower is better.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics._scorer import _BaseScorer

from fenchel.score.estimate import Estimate

# By the name of the function, or of the scorer, ours or scikit-learn's.
_WORDS = {
    "accuracy": "accuracy",
    "auc": "AUC",
    "average_precision": "average precision",
    "balanced_accuracy": "balanced accuracy",
    "brier": "Brier score",
    "f1": "F1",
    "local_auc": "local AUC",
    "log_loss": "log loss",
    "matthews_corrcoef": "Matthews correlation",
    "matthews_correlation": "Matthews correlation",
    "neyman_pearson": "Neyman-Pearson true positive rate",
    "neyman_pearson_rate": "Neyman-Pearson true positive rate",
    "partial_auc": "partial AUC",
    "r2": "R²",
    "roc_auc": "AUC",
}
_TURNED = ("neg_", "minus ")  # beginnings of the names of scores that are minus a loss
SCORE = "score"


@dataclass(frozen=True, slots=True)
class ScoredMetric:
    """A metric by its words, and how a score is made of it.

    Attributes
    ----------
    words : str
        Such as "log loss".
    sign : int
        1 where the score is the metric, -1 where it is minus the metric: a loss.
    """

    words: str = SCORE
    sign: int = 1

    @property
    def label(self) -> str:
        """The words, and the direction where it is not the usual one."""
        return self.words if self.sign > 0 else f"{self.words}, lower is better"

    @property
    def kind(self) -> str:
        """ "score" or "loss": what it is where its words are not known beforehand."""
        return SCORE if self.sign > 0 else "loss"

    @property
    def column(self) -> str:
        """The words as the name of a column."""
        return self.words.replace(" ", "_")

    def of(self, score: Any) -> Any:
        """The metric of a score, of an estimate of it or of an array of scores."""
        if self.sign > 0:
            return score
        if isinstance(score, Estimate):
            return Estimate(
                0.0 - float(score),
                0.0 - score.high,
                0.0 - score.low,
                level=score.level,
                method=score.method,
                standard_error=score.standard_error,
            )
        return 0.0 - (np.asarray(score) if np.ndim(score) else float(score))

    def called(self, name: str | None) -> ScoredMetric:
        """The same metric under a name of the caller's; one like "neg_log_loss" is minus a loss."""
        if name is None:
            return self
        return metric_named(name) if name.startswith(_TURNED) else ScoredMetric(name, self.sign)


UNNAMED = ScoredMetric()


def metric_named(name: str) -> ScoredMetric:
    """The metric of a score of that name: "neg_log_loss" and "minus log loss" are minus a loss."""
    for beginning in _TURNED:
        if name.startswith(beginning) and len(name) > len(beginning):
            return ScoredMetric(_words(name[len(beginning) :]), -1)
    return ScoredMetric(_WORDS.get(name, name))


def metric_of(scorer: Any, name: str) -> ScoredMetric:
    """The metric of a scorer that is called so among several."""
    if not isinstance(scorer, _BaseScorer):
        return metric_named(name)
    function, sign = scorer._score_func, 1 if scorer._sign > 0 else -1
    known = str(function.__module__).startswith(("sklearn.metrics.", "fenchel.score."))
    if known or sign < 0:
        return ScoredMetric(_words(function.__name__), sign)
    return metric_named(name)


def _words(name: str) -> str:
    """The name of a function or scorer in words."""
    short = name.removesuffix("_loss") if name.startswith("brier") else name
    short = short.removesuffix("_score")
    return _WORDS.get(short, short.replace("_", " "))
