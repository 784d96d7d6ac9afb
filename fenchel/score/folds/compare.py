"""Whether one model is better than another, judged on the same folds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fenchel.score.estimate import Estimate
from fenchel.score.folds.ranges import difference_of
from fenchel.score.folds.resampled import Fold, corrected_mean, corrected_p_value, ratio_of
from fenchel.score.folds.validate import Validation

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ModelComparison:
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
    """

    first: Estimate
    second: Estimate
    difference: Estimate
    t: float
    p_value: float
    degrees_of_freedom: int
    differences: Floats
    metric: str

    def __str__(self) -> str:
        return (
            f"{self.metric} {self.first:.4g} and {self.second:.4g}: difference {self.difference}, "
            f"p = {self.p_value:.3g}"
        )


def compare_models(
    validation_a: Validation,
    validation_b: Validation,
    *,
    metric: str | None = None,
    level: float = 0.95,
) -> ModelComparison:
    """The difference of two models with an interval that knows that folds overlap.

    d̄ ± t_{J-1} √((1/J + n_test/n_train) S²),  dⱼ = score of a - score of b in fold j. The interval
    is for the expected difference of the two learners fitted to n_train rows. It is approximate;
    ten or more random splits that leave out a tenth to a fifth of the rows (ShuffleSplit,
    RepeatedKFold) serve it better than five folds.

    Parameters
    ----------
    validation_a, validation_b : Validation
        Of `cross_validate` with the same rows and the same folds.
    metric : str, optional
        Which of several.
    level : float

    Returns
    -------
    comparison : ModelComparison

    References
    ----------
    Nadeau and Bengio, Inference for the generalization error, Machine Learning 52 (2003).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import ShuffleSplit
    >>> from sklearn.preprocessing import scale
    >>> from fenchel import LogisticRegression, compare_models, cross_validate
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> splits = ShuffleSplit(15, test_size=0.2, random_state=0)
    >>> weak = cross_validate(LogisticRegression(C=0.001), scale(X), y, cv=splits)
    >>> strong = cross_validate(LogisticRegression(C=0.1), scale(X), y, cv=splits)
    >>> found = compare_models(strong, weak)
    >>> found.difference.low > 0, found.p_value < 0.05
    (True, True)
    """
    for which, given in (("validation_a", validation_a), ("validation_b", validation_b)):
        if not isinstance(given, Validation):
            raise TypeError(f"{which} must come from cross_validate, got {type(given).__name__}")
    _check_folds(validation_a, validation_b)
    name = validation_a.metric(metric)
    if name not in validation_b.test:
        known = ", ".join(repr(key) for key in validation_b.test)
        raise ValueError(f"validation_b has no metric {name!r}, only {known}: score both by it")
    differences = validation_a.test[name] - validation_b.test[name]
    J = len(differences)
    if J < 2:
        raise ValueError("one fold says nothing about chance: compare on several folds")
    if (bad := np.isnan(differences)).any():
        raise ValueError(f"{name} is NaN in fold {int(bad.argmax())}: compare on folds with scores")
    first, second = validation_a.mean(name, level), validation_b.mean(name, level)
    within = difference_of(validation_a.within(name), validation_b.within(name))
    difference = corrected_mean(differences, ratio_of(validation_a.folds), level, within)
    t, p = corrected_p_value(difference, J)
    return ModelComparison(first, second, difference, t, p, J - 1, differences, name)


def _check_folds(a: Validation, b: Validation) -> None:
    """The same rows in the same folds, or an error that names the first fold that differs."""
    if a.n_rows != b.n_rows:
        raise ValueError(f"the validations are of {a.n_rows} and of {b.n_rows} rows: use the same")
    remedy = "pass one list of splits, or one splitter with a fixed random_state, to both"
    if len(a.folds) != len(b.folds):
        raise ValueError(f"the validations have {len(a.folds)} and {len(b.folds)} folds: {remedy}")
    for k, (one, other) in enumerate(zip(a.folds, b.folds, strict=True)):
        if not _same(one, other):
            raise ValueError(f"fold {k} is not the same in both validations: {remedy}")


def _same(a: Fold, b: Fold) -> bool:
    # The order of the training rows is not part of a fold.
    return all(np.array_equal(np.sort(x), np.sort(y)) for x, y in zip(a, b, strict=True))
