"""The metrics of a task, each with its interval, from rows that are seen once.

    metrics(task, y, answers_of(model, X))       # {"auc": Estimate, ...}, the foremost first

or, batch by batch, `Tally(task)`, `add(y, answers)` and `metrics()`: rows are not kept, but for the
classes and one number of each. Where a metric is not defined it is NaN, and its method says why.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning

from fenchel.app.errors import BadData
from fenchel.app.predictions import Answers
from fenchel.app.table.task import Task
from fenchel.score.area.auc import auc, curve_auc
from fenchel.score.area.average_precision import curve_average_precision
from fenchel.score.area.discrimination import curve_gini, curve_ks
from fenchel.score.curves.curve import Curve
from fenchel.score.estimate import Estimate
from fenchel.score.intervals.binomial import binomial_rate
from fenchel.score.intervals.skewness_corrected_mean import mean_estimate
from fenchel.score.metrics.overall import accuracy, balanced_accuracy, matthews_correlation
from fenchel.score.metrics.per_class import f1, precision, recall, specificity
from fenchel.score.metrics.probability import brier, log_loss
from fenchel.score.metrics.recalibration import calibration_intercept, calibration_slope
from fenchel.score.metrics.regression import (
    mean_absolute_error,
    mean_error,
    r_squared,
    root_mean_squared_error,
)

# By task, the foremost first; every name that --require may ask for.
NAMES = {
    "two classes": (
        *("auc", "gini", "ks", "average_precision", "log_loss", "brier", "calibration_slope"),
        *("calibration_intercept", "accuracy", "balanced_accuracy", "mcc", "f1", "precision"),
        *("recall", "specificity"),
    ),
    "several classes": ("accuracy", "balanced_accuracy", "mcc", "f1", "log_loss", "brier"),
    "number": ("r2", "mae", "rmse", "bias"),
}
POOLED = 2**18  # groups of scores that a curve of many batches keeps


def metrics(task: Task, y: NDArray[Any], answers: Answers, level: float = 0.95) -> dict[str, Any]:
    """Every metric of the task on these rows, by name; y as `Task.codes` gives it."""
    tally = Tally(task, limit=None)
    tally.add(y, answers)
    return tally.metrics(level)


class Tally:
    """What has to be known of rows to judge a model by them; `limit` pools scores of a curve."""

    def __init__(self, task: Task, limit: int | None = POOLED) -> None:
        self.task, self.limit = task, limit
        self.rows = 0
        self.constant = True  # until a model answers that is not
        self._held: dict[str, list[NDArray[Any]]] = {}
        self._curves: list[tuple[int, Curve]] = []  # of 2^k batches each, k falling

    def add(self, y: NDArray[Any], answers: Answers) -> None:
        """Takes the rows of a batch."""
        self.rows += len(y)
        self.constant &= answers.constant
        if self.task.kind == "number":
            self._keep(true=y, said=answers.predicted)
            return
        codes = answers.predicted.astype(np.int64)
        self._keep(true=y.astype(np.uint8), said=codes.astype(np.uint8))  # at most 100 classes
        if answers.probability is not None:
            chance = np.take_along_axis(answers.probability, y[:, None], axis=1)[:, 0]
            self._keep(chance=chance)
            if self.task.kind == "several classes":
                squares = np.einsum("ij,ij->i", answers.probability, answers.probability)
                self._keep(brier=np.maximum(1.0 - 2.0 * chance + squares, 0.0))
        if self.task.kind == "two classes" and answers.score is not None:
            self._merge(Curve.of(y, answers.score, pos_label=1, limit=self.limit))

    def _keep(self, **parts: NDArray[Any]) -> None:
        for name, part in parts.items():
            self._held.setdefault(name, []).append(part)

    def _merge(self, curve: Curve) -> None:
        """Runs of equal size are joined, so that a row is merged log₂(batches) times."""
        size = 0
        while self._curves and self._curves[-1][0] == size:
            curve = self._curves.pop()[1] + curve
            size += 1
        self._curves.append((size, curve))

    @property
    def curve(self) -> Curve | None:
        """Of the scores of two classes."""
        whole: Curve | None = None
        for _, part in reversed(self._curves):
            whole = part if whole is None else part + whole
        return whole

    def column(self, name: str) -> NDArray[Any] | None:
        """What was kept of all rows: true, said, chance (of what happened), brier."""
        return np.concatenate(self._held[name]) if name in self._held else None

    def metrics(self, level: float = 0.95) -> dict[str, Any]:
        """Each metric by its name, with its interval."""
        true, said = self.column("true"), self.column("said")
        if true is None or said is None:
            raise BadData("no row has a target: there is nothing to judge by")
        if self.task.kind == "number":
            return _residuals(true, said, level)
        ask, two = _Ask(level, self.task), self.task.kind == "two classes"
        curve = self.curve
        # What a constant reaches for every law has no sampling error: it is given as one label.
        label = said[0] if self.constant else said
        if curve is not None:
            if self.constant:
                ask.of("auc", lambda: auc(true, 0.5, pos_label=1, level=level))
            else:
                ask.of("auc", lambda: curve_auc(curve, level))
            same = Estimate.exact(0.0, level=level, reason="the prediction is constant")
            ask.of("gini", lambda: same if self.constant else curve_gini(curve, level))
            ask.of("ks", lambda: same if self.constant else curve_ks(curve, level))
            ask.of("average_precision", lambda: curve_average_precision(curve, level=level))
        chance, rows = self.column("chance"), self.column("brier")
        if chance is not None:
            # The probability of what happened, as a forecast of an event that always happens.
            event = np.ones(len(chance), np.int8)
            ask.of("log_loss", lambda: log_loss(event, chance, labels=[0, 1], level=level))
            if rows is None:
                ask.of("brier", lambda: brier(event, chance, labels=[0, 1], level=level))
                p = np.where(true == 1, chance, 1.0 - chance)
                ask.of("calibration_slope", lambda: calibration_slope(true, p, level=level))
                ask.of("calibration_intercept", lambda: calibration_intercept(true, p, level=level))
            else:
                ask.of("brier", lambda: mean_estimate(rows, level, within=(0.0, 2.0)))
        ask.of("accuracy", lambda: accuracy(true, said, level=level))
        ask.of("balanced_accuracy", lambda: balanced_accuracy(true, label, level=level))
        ask.of("mcc", lambda: matthews_correlation(true, label, level=level))
        if not two:
            ask.of("f1", lambda: f1(true, label, average="macro", level=level))
            return ask.ordered(self.task)
        ask.of("f1", lambda: f1(true, label, pos_label=1, level=level))
        ask.of("precision", lambda: precision(true, said, pos_label=1, level=level))
        ask.of("recall", lambda: recall(true, label, pos_label=1, level=level))
        ask.of("specificity", lambda: specificity(true, label, pos_label=1, level=level))
        return ask.ordered(self.task)


class _Ask:
    """Metrics one after the other; one that these rows do not define says why."""

    def __init__(self, level: float, task: Task) -> None:
        self.level, self.task = level, task
        self.found: dict[str, Any] = {}

    def of(self, name: str, metric: Callable[[], float]) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UndefinedMetricWarning)
            try:
                self.found[name] = metric()
            except (ValueError, UndefinedMetricWarning) as why:
                reason = re.sub(r"\bclass (\d+)\b", self._named, str(why).splitlines()[0])
                self.found[name] = Estimate(
                    math.nan, math.nan, math.nan, level=self.level, method=reason
                )

    def _named(self, found: re.Match[str]) -> str:
        code, classes = int(found[1]), self.task.classes
        return f"class '{classes[code]}'" if code < len(classes) else found[0]

    def ordered(self, task: Task) -> dict[str, Any]:
        return {name: self.found[name] for name in NAMES[task.kind] if name in self.found}


def _residuals(true: NDArray[Any], said: NDArray[Any], level: float) -> dict[str, Any]:
    if said.ndim == 2:  # of several quantiles: the share of rows below each
        below = (true[:, None] <= said).sum(axis=0)
        rates = [binomial_rate(int(k), len(true), level) for k in below]
        return {f"below_{at}": rate for at, rate in enumerate(rates, 1)}
    return {
        "r2": r_squared(true, said, level=level),
        "mae": mean_absolute_error(true, said, level=level),
        "rmse": root_mean_squared_error(true, said, level=level),
        "bias": mean_error(true, said, level=level),
    }


def constants(task: Task, y: NDArray[Any]) -> dict[str, float]:
    """What a constant reaches on these rows: the most frequent class or share, or the mean."""
    if task.kind == "number":
        apart = y - y.mean()
        return {"r2": 0.0, "mae": float(np.abs(apart).mean()), "rmse": float(y.std()), "bias": 0.0}
    share = np.bincount(y, minlength=len(task.classes)) / len(y)
    held = share[share > 0.0]
    found = {
        "accuracy": float(share.max()),
        "balanced_accuracy": 1.0 / len(held),
        "mcc": 0.0,
        "log_loss": 0.0 - float((held * np.log(held)).sum()),
    }
    spread = 1.0 - float(held @ held)
    if task.kind == "several classes":
        return {**found, "brier": spread}
    found |= {"gini": 0.0, "ks": 0.0, "calibration_intercept": 0.0}
    return {"auc": 0.5, "average_precision": float(share[-1]), "brier": 0.5 * spread, **found}
