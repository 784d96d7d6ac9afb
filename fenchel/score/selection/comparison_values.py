"""The difference of two models over the same folds, and of all pairs of several, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.display.result_table import Tabular
from fenchel.score.estimate import Estimate
from fenchel.score.validation.corrected_t import corrected_mean, corrected_p_value, ratio_of
from fenchel.score.validation.cross_validation import Validation
from fenchel.score.validation.metric import UNNAMED, ScoredMetric
from fenchel.score.validation.metric_ranges import difference_of

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ModelComparison(Tabular):
    """The mean difference of two models over the same folds.

    Attributes
    ----------
    first, second : Estimate
        The mean score of each.
    difference : Estimate
        The first minus the second, with its interval; scores are better the larger they are, so a
        positive one speaks for the first.
    t, p_value, degrees_of_freedom : float, float, int
        Of the two-sided corrected resampled t test of no difference. Where every fold shows the
        same difference there is no interval, and p is 1 if that is zero, else NaN.
    differences : array of shape (folds,)
    metric : str
    names : (str, str)
        What the models are called.
    measured : Metric
        What the scores measure; of a loss they are minus the loss.
    """

    first: Estimate
    second: Estimate
    difference: Estimate
    t: float
    p_value: float
    degrees_of_freedom: int
    differences: Floats
    metric: str
    names: tuple[str, str] = ("first", "second")
    measured: ScoredMetric = UNNAMED

    @property
    def means(self) -> dict[str, Estimate]:
        """The mean score of each model by its name."""
        return dict(zip(self.names, (self.first, self.second), strict=True))

    def columns(self) -> dict[str, Any]:
        """One row a model, and one for the difference; of a loss the loss itself."""
        found = map(self.measured.of, (self.first, self.second, self.difference))
        return {
            "model": [*self.names, f"{self.names[0]} - {self.names[1]}"],
            **_interval_columns(self.measured.column, found),
            "p_value": [None, None, self.p_value],
        }

    def caption(self) -> str:
        return (
            f"{self.measured.label}, mean over {len(self.differences)} folds; corrected resampled "
            f"t test, p = {self.p_value:.3g}."
        )

    def __str__(self) -> str:
        return (
            f"{self.metric} {self.first:.4g} and {self.second:.4g}: difference {self.difference}, "
            f"p = {self.p_value:.3g}"
        )


@dataclass(frozen=True, eq=False)
class ModelComparisons(Tabular):
    """Several models judged on the same folds: the mean of each, and every pair.

    Of two models it also has what their `ModelComparison` has: `first`, `second`, `difference`,
    `t`, `p_value`, `degrees_of_freedom` and `differences`.

    Attributes
    ----------
    means : dict of name -> Estimate
        The mean score of each model with its corrected resampled t interval, in the order given.
    pairs : dict of (name, name) -> ModelComparison
        Every pair in the order given.
    validations : dict of name -> Validation
    metric : str
    measured : Metric
        What the scores measure; of a loss they are minus the loss.
    """

    means: dict[str, Estimate]
    pairs: dict[tuple[str, str], ModelComparison]
    validations: dict[str, Validation]
    metric: str
    measured: ScoredMetric

    @property
    def best(self) -> str:
        """The model with the largest mean score, the first of several."""
        return max(self.means, key=lambda name: float(self.means[name]))

    def between(self, first: str, second: str) -> ModelComparison:
        """The comparison of those two models: the first minus the second."""
        for name in (first, second):
            if name not in self.means:
                known = ", ".join(repr(one) for one in self.means)
                raise ValueError(f"no model is called {name!r}: there are {known}")
        if first == second:
            raise ValueError(f"{first!r} is compared with itself: name two models")
        if (first, second) in self.pairs:
            return self.pairs[first, second]
        level = next(iter(self.means.values())).level
        a, b = self.validations[first], self.validations[second]
        return compared(a, b, self.metric, level, (first, second))

    def adjusted(self) -> dict[tuple[str, str], float]:
        """p of every pair, adjusted for their number by Holm's rule.

        p₍ᵢ₎ = maxⱼ≤ᵢ min(1, (m - j + 1) pⱼ), p₁ ≤ … ≤ p_m: the chance that one of several equal
        models is declared different stays below the level.

        Reference: Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statist.
        6 (1979).
        """
        order = sorted(self.pairs, key=lambda pair: _nan_last(self.pairs[pair].p_value))
        found, largest = {}, 0.0
        for place, pair in enumerate(order):
            p = self.pairs[pair].p_value * (len(order) - place)
            largest = p if np.isnan(p) else max(largest, min(p, 1.0))
            found[pair] = largest
        return {pair: found[pair] for pair in self.pairs}

    def columns(self) -> dict[str, Any]:
        """One row a model: its mean and its difference from the best; of a loss the loss itself."""
        best = self.best
        against = {name: None if name == best else self.between(name, best) for name in self.means}
        of = self.measured.of
        differences = [None if c is None else of(c.difference) for c in against.values()]
        return {
            "model": list(self.means),
            **_interval_columns(self.measured.column, map(of, self.means.values())),
            **_interval_columns("difference_from_best", differences),
            "p_value": [None if c is None else c.p_value for c in against.values()],
        }

    def caption(self) -> str:
        folds = len(next(iter(self.validations.values())).folds)
        return f"{self.measured.label}, mean over the same {folds} folds. Best: {self.best}."

    def __str__(self) -> str:
        width = max(len(name) for name in self.means)
        label = self.measured.label
        lines = [f"{label}, mean over the same folds"]
        lines += [f"{n:<{width}}  {self.measured.of(mean)}" for n, mean in self.means.items()]
        adjusted = self.adjusted()
        for (a, b), found in self.pairs.items():
            apart = self.measured.of(found.difference)
            more = f", adjusted {adjusted[a, b]:.3g}" if len(self.pairs) > 1 else ""
            lines.append(f"{a} - {b}: {apart}, p = {found.p_value:.3g}{more}")
        return "\n".join(lines)

    @property
    def first(self) -> Estimate:
        return self._pair.first

    @property
    def second(self) -> Estimate:
        return self._pair.second

    @property
    def difference(self) -> Estimate:
        return self._pair.difference

    @property
    def t(self) -> float:
        return self._pair.t

    @property
    def p_value(self) -> float:
        return self._pair.p_value

    @property
    def degrees_of_freedom(self) -> int:
        return self._pair.degrees_of_freedom

    @property
    def differences(self) -> Floats:
        return self._pair.differences

    @property
    def _pair(self) -> ModelComparison:
        if len(self.pairs) != 1:
            raise ValueError(
                f"there are {len(self.means)} models and {len(self.pairs)} differences: name two, "
                f"as in between({', '.join(repr(name) for name in list(self.means)[:2])})"
            )
        return next(iter(self.pairs.values()))


def compared(
    a: Validation,
    b: Validation,
    name: str,
    level: float,
    names: tuple[str, str] = ("first", "second"),
) -> ModelComparison:
    """The first of two validations less the second, which have the same folds."""
    if name not in b.test:
        known = ", ".join(repr(key) for key in b.test)
        called = "validation_b" if names == ("first", "second") else f"the model {names[1]!r}"
        raise ValueError(f"{called} has no metric {name!r}, only {known}: score both by it")
    differences = a.test[name] - b.test[name]
    J = len(differences)
    if J < 2:
        raise ValueError("one fold says nothing about chance: compare on several folds")
    if (bad := np.isnan(differences)).any():
        raise ValueError(f"{name} is NaN in fold {int(bad.argmax())}: compare on folds with scores")
    first, second = a.mean(name, level), b.mean(name, level)
    within = difference_of(a.within(name), b.within(name))
    difference = corrected_mean(differences, ratio_of(a.folds), level, within)
    t, p = corrected_p_value(difference, J)
    measured = a.measured(name)
    return ModelComparison(
        first, second, difference, t, p, J - 1, differences, name, names, measured
    )


def _interval_columns(name: str, found: Any) -> dict[str, list[float | None]]:
    """The numbers and both ends of their intervals; None where there is no number."""
    values = list(found)
    return {
        name: [None if v is None else float(v) for v in values],
        f"{name}_low": [None if v is None else v.low for v in values],
        f"{name}_high": [None if v is None else v.high for v in values],
    }


def _nan_last(p: float) -> float:
    return 2.0 if np.isnan(p) else p
