"""Parameters chosen by cross-validation, and what the choice is worth, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fenchel.convex.certificate import Certificate
from fenchel.data.display.result_table import Tabular
from fenchel.score.estimate import Estimate
from fenchel.score.selection.curve_values import Floats, Proofs
from fenchel.score.validation.corrected_t import Fold, corrected_mean, ratio_of
from fenchel.score.validation.cross_validation import Validation
from fenchel.score.validation.metric import UNNAMED, ScoredMetric
from fenchel.score.validation.metric_ranges import ANYWHERE, Range
from fenchel.score.validation.run import certificate_of

Rule = Literal["best", "one_standard_error"]


@dataclass(frozen=True, eq=False, repr=False)
class Selection(Tabular):
    """The parameters chosen from a grid, and all that spoke for and against them.

    Attributes
    ----------
    params : dict
        The chosen ones.
    estimator : fitted estimator or None
        With those parameters, on all rows.
    candidates : tuple of dicts
        In the order of scikit-learn's ParameterGrid.
    scores : array of shape (candidates, folds)
    certificates : tuple of tuples, shaped as the scores
    fit_seconds : array, shaped as the scores
    folds : tuple of (train, test)
    index, best_index : int
        Of the chosen candidate, and of the one with the largest mean.
    rule : str
    within : (float, float)
        Where the metric lies.
    metric : Metric
        What the scores measure; of a loss they are minus the loss.
    """

    params: dict[str, Any]
    estimator: Any
    candidates: tuple[dict[str, Any], ...]
    scores: Floats
    certificates: Proofs
    fit_seconds: Floats
    folds: tuple[Fold, ...]
    index: int
    best_index: int
    rule: Rule
    within: Range = ANYWHERE
    metric: ScoredMetric = UNNAMED

    @property
    def certificate(self) -> Certificate | None:
        """Of the estimator fitted to all rows."""
        return None if self.estimator is None else certificate_of(self.estimator)

    def mean(self, level: float = 0.95) -> Estimate:
        """Mean score of the chosen candidate with its corrected resampled t interval: that of one
        candidate named beforehand, so optimistic for the best of many; `nested_cross_validate`
        judges the choice too."""
        row = self.scores[self.index]
        return corrected_mean(row, ratio_of(self.folds), level, self.within)

    def columns(self) -> dict[str, Any]:
        """One row a candidate: its parameters, its mean with its interval, the choice."""
        found: dict[str, Any] = _parameters(self.candidates)
        ratio = ratio_of(self.folds)
        scores = [corrected_mean(row, ratio, within=self.within) for row in self.scores]
        name, means = f"mean_{self.metric.column}", [self.metric.of(score) for score in scores]
        found[name] = [float(mean) for mean in means]
        found[f"{name}_low"] = [mean.low for mean in means]
        found[f"{name}_high"] = [mean.high for mean in means]
        found["chosen"] = np.arange(len(means)) == self.index
        return found

    def caption(self) -> str:
        found = self.metric.of(self.mean())
        many = f"{self.rule.replace('_', ' ')} of {len(self.candidates)} candidates"
        return f"{written_params(self.params)}, {many}: {self.metric.label} {found}."

    def __str__(self) -> str:
        many = f"{self.rule} of {len(self.candidates)} candidates"
        lines = [f"{written_params(self.params)} by {many}", f"score  {self.mean()}"]
        if self.certificate is not None:
            lines.append(f"certificate: {self.certificate}")
        return "\n".join(lines)

    __repr__ = __str__


@dataclass(frozen=True, eq=False, repr=False)
class NestedValidation(Tabular):
    """What choosing and fitting is worth on rows that took no part in either.

    Attributes
    ----------
    outer : Validation
        Of the chosen model of each outer fold, on the rows it left out.
    params : tuple of dicts
        Chosen in each outer fold.
    inner : tuple of Selection
        How, without a fitted estimator.
    """

    outer: Validation
    params: tuple[dict[str, Any], ...]
    inner: tuple[Selection, ...]

    def columns(self) -> dict[str, Any]:
        """One row an outer fold: the parameters chosen in it, and the columns of `outer`."""
        outer = self.outer.columns()
        return {"fold": outer.pop("fold"), **_parameters(self.params), **outer}

    def caption(self) -> str:
        return f"Nested: {self.outer.caption()}"

    def __str__(self) -> str:
        chosen = [f"fold {k}: {written_params(params)}" for k, params in enumerate(self.params)]
        return "\n".join([self.outer.summary(), *chosen])

    __repr__ = __str__


def written_params(params: Mapping[str, Any]) -> str:
    """Parameters as they are written in a call."""
    return ", ".join(f"{name}={value!r}" for name, value in params.items()) or "no parameter"


def _parameters(settings: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    """A column for each parameter; None where a setting does not have it."""
    names = dict.fromkeys(name for setting in settings for name in setting)
    return {name: [setting.get(name) for setting in settings] for name in names}
