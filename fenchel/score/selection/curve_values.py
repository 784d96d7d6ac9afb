"""Scores along a parameter and along the number of training rows, as values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.data.display.result_table import Tabular
from fenchel.score.estimate import Estimate
from fenchel.score.validation.corrected_t import (
    Fold,
    best_row,
    corrected_mean,
    ratio_of,
    simplest_row,
    simplicity,
)
from fenchel.score.validation.metric import UNNAMED, ScoredMetric
from fenchel.score.validation.metric_ranges import ANYWHERE, Range

Floats = NDArray[np.float64]
Proofs = tuple[tuple[Certificate | None, ...], ...]
End = Literal["first", "last"]


@dataclass(frozen=True, eq=False, repr=False)
class ValidationCurve(Tabular):
    """Scores along a parameter; unpacks as scikit-learn's (train_scores, test_scores).

    Attributes
    ----------
    param_name : str
    param_range : tuple
    train_scores, test_scores : array of shape (values, folds)
    certificates : tuple of tuples, shaped as the scores
    fit_seconds : array, shaped as the scores
    folds : tuple of (train, test)
    within : (float, float)
        Where the metric lies.
    metric : Metric
        What the scores measure; of a loss they are minus the loss.
    """

    param_name: str
    param_range: tuple[Any, ...]
    train_scores: Floats
    test_scores: Floats
    certificates: Proofs
    fit_seconds: Floats
    folds: tuple[Fold, ...]
    within: Range = ANYWHERE
    metric: ScoredMetric = UNNAMED

    def __iter__(self) -> Iterator[Floats]:
        return iter((self.train_scores, self.test_scores))

    def __len__(self) -> int:
        return 2

    def __getitem__(self, place: int) -> Floats:
        return (self.train_scores, self.test_scores)[place]

    def estimates(self, level: float = 0.95, *, train: bool = False) -> tuple[Estimate, ...]:
        """The mean score at each value with its corrected resampled t interval."""
        scores = self.train_scores if train else self.test_scores
        ratio = ratio_of(self.folds)
        return tuple(corrected_mean(row, ratio, level, self.within) for row in scores)

    @property
    def best_index(self) -> int:
        """Where the mean test score is largest, the first of several."""
        return best_row(self.test_scores)

    @property
    def best(self) -> Any:
        """The value with the largest mean test score."""
        return self.param_range[self.best_index]

    def one_standard_error(self, simplest: End = "first") -> Any:
        """The simplest value whose mean test score is within one standard error of the best.

        mean ≥ mean of the best - S/√J of the best; the simplest value is the first of param_range,
        or the last.
        """
        order = simplicity(range(len(self.param_range)), simplest)
        return self.param_range[simplest_row(self.test_scores, order, self.best_index)]

    def columns(self) -> dict[str, Any]:
        """One row a value: the mean scores of test and training with their intervals."""
        found = {self.param_name: list(self.param_range)}
        return found | _mean_columns(self.metric, self.estimates(), self.estimates(train=True))

    def caption(self) -> str:
        metric, best = self.metric, self.best_index
        found = metric.of(self.estimates()[best])
        return f"Best {self.param_name}: {self.best!r}, {metric.label}: {found}."

    def __str__(self) -> str:
        rows = zip(self.param_range, self.estimates(), strict=True)
        lines = [f"{self.param_name}={value!r}: {mean}" for value, mean in rows]
        return "\n".join([*lines, f"best: {self.param_name}={self.best!r}"])

    __repr__ = __str__


@dataclass(frozen=True, eq=False, repr=False)
class LearningCurve(Tabular):
    """Scores along the number of training rows; unpacks as scikit-learn's (train_sizes,
    train_scores, test_scores).

    Attributes
    ----------
    train_sizes : array of shape (sizes,)
    train_scores, test_scores : array of shape (sizes, folds)
    certificates : tuple of tuples, shaped as the scores
    fit_seconds : array, shaped as the scores
    folds : tuple of (train, test)
    within : (float, float)
        Where the metric lies.
    metric : Metric
        What the scores measure; of a loss they are minus the loss.
    """

    train_sizes: NDArray[np.int64]
    train_scores: Floats
    test_scores: Floats
    certificates: Proofs
    fit_seconds: Floats
    folds: tuple[Fold, ...]
    within: Range = ANYWHERE
    metric: ScoredMetric = UNNAMED

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return iter((self.train_sizes, self.train_scores, self.test_scores))

    def __len__(self) -> int:
        return 3

    def __getitem__(self, place: int) -> NDArray[Any]:
        return (self.train_sizes, self.train_scores, self.test_scores)[place]

    def estimates(self, level: float = 0.95, *, train: bool = False) -> tuple[Estimate, ...]:
        """The mean score at each size with its corrected resampled t interval."""
        scores = self.train_scores if train else self.test_scores
        judged = float(np.mean([len(test) for _, test in self.folds]))
        rows = zip(scores, self.train_sizes, strict=True)
        return tuple(
            corrected_mean(row, judged / int(size), level, self.within) for row, size in rows
        )

    def columns(self) -> dict[str, Any]:
        """One row a size: the mean scores of test and training with their intervals."""
        found = {"training_rows": self.train_sizes}
        return found | _mean_columns(self.metric, self.estimates(), self.estimates(train=True))

    def caption(self) -> str:
        metric = self.metric
        found = metric.of(self.estimates()[-1])
        return f"With {int(self.train_sizes[-1]):,} training rows, {metric.label}: {found}."

    def __str__(self) -> str:
        rows = zip(self.train_sizes, self.estimates(), strict=True)
        return "\n".join(f"{size} rows: {mean}" for size, mean in rows)

    __repr__ = __str__


def _mean_columns(
    metric: ScoredMetric, test: Sequence[Estimate], train: Sequence[Estimate]
) -> dict[str, Any]:
    """Means and intervals of the metric itself: of a loss the loss, not minus the loss."""
    found: dict[str, Any] = {}
    for part, scores in (("test", test), ("train", train)):
        name, means = f"{part}_{metric.column}", [metric.of(score) for score in scores]
        found[name] = [float(mean) for mean in means]
        found[f"{name}_low"] = [mean.low for mean in means]
        found[f"{name}_high"] = [mean.high for mean in means]
    return found
