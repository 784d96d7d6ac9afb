"""Whether one model is better than another, judged on the same folds."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any, overload

import numpy as np

from fenchel.score.selection.comparison_values import ModelComparison, ModelComparisons, compared
from fenchel.score.validation.corrected_t import Fold
from fenchel.score.validation.cross_validation import Validation, cross_validate
from fenchel.score.validation.study import study_of


@overload
def compare_models(
    models: Validation, X: Validation, *, metric: str | None = None, level: float = 0.95
) -> ModelComparison: ...


@overload
def compare_models(
    models: Mapping[str, Any],
    X: Any = None,
    y: Any = None,
    *,
    metric: str | None = None,
    level: float = 0.95,
    groups: Any = None,
    cv: Any = 5,
    scoring: Any = None,
    n_jobs: int | None = None,
    params: Mapping[str, Any] | None = None,
    error_score: Any = "raise",
    random_state: Any = 0,
    progress: bool = False,
) -> ModelComparisons: ...


def compare_models(
    models: Any,
    X: Any = None,
    y: Any = None,
    *,
    metric: str | None = None,
    level: float = 0.95,
    groups: Any = None,
    cv: Any = 5,
    scoring: Any = None,
    n_jobs: int | None = None,
    params: Mapping[str, Any] | None = None,
    error_score: Any = "raise",
    random_state: Any = 0,
    progress: bool = False,
) -> ModelComparison | ModelComparisons:
    """The differences of models with intervals that know that folds overlap.

    d̄ ± t_{J-1} √((1/J + n_test/n_train) S²),  dⱼ = score of a - score of b in fold j. The interval
    is for the expected difference of the two learners fitted to n_train rows. It is approximate;
    ten or more random splits that leave out a tenth to a fifth of the rows (ShuffleSplit,
    RepeatedKFold) serve it better than five folds.

    `compare_models({"name": estimator, …}, X, y)` fits every model on the same folds;
    `compare_models(validation_a, validation_b)` compares two results of `cross_validate`.

    Parameters
    ----------
    models : dict of name -> estimator, or Validation
        Any estimators with scikit-learn's interface; they are cloned, never changed. Or a dict of
        validations, and then no X; or the first of two validations.
    X, y : rows and targets
        As in `cross_validate`. Or X is the second of two validations.
    metric : str, optional
        Which of several that scoring lists.
    level : float
    groups, cv, scoring, n_jobs, params, error_score, random_state, progress :
        As in `cross_validate`. The folds are made once and are the same for all models, whatever
        the splitter; so are the seeds.

    Returns
    -------
    comparison : ModelComparisons
        Of a dict: `means` of all models, `pairs`, `best`. Of two models it also has `difference`,
        `p_value` and the other numbers of their comparison. Of two validations a `ModelComparison`.

    References
    ----------
    Nadeau and Bengio, Inference for the generalization error, Machine Learning 52 (2003).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import ShuffleSplit
    >>> from sklearn.preprocessing import scale
    >>> from fenchel import LogisticRegression, compare_models
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> splits = ShuffleSplit(15, test_size=0.2, random_state=0)
    >>> models = {"strong": LogisticRegression(C=0.1), "weak": LogisticRegression(C=0.001)}
    >>> found = compare_models(models, scale(X), y, cv=splits, scoring="accuracy")
    >>> found.best, found.difference.low > 0, found.p_value < 0.05
    ('strong', True, True)
    >>> print(found.means["strong"])
    0.9807 [0.9636, 0.9978] (95 %, corrected resampled t, 15 folds)
    """
    if isinstance(models, Validation) or isinstance(X, Validation):
        return _of_validations(models, X, y, metric, level)
    if not isinstance(models, Mapping):
        raise TypeError(
            "models must be a dict, name to estimator, or two results of cross_validate; got "
            f"{type(models).__name__}"
        )
    if len(models) < 2:
        raise ValueError(f"models has {len(models)} of them: a comparison needs two or more")
    for name in models:
        if not isinstance(name, str):
            raise TypeError(f"models are called by names, and {name!r} is not a str")
    if all(isinstance(model, Validation) for model in models.values()):
        if X is not None or y is not None:
            raise ValueError("models are validations, which have their rows: leave X and y out")
        return _pairwise(dict(models), metric, level)
    if X is None:
        raise ValueError("X is missing: give the rows and targets that the models are fitted to")
    first = next(iter(models.values()))
    study = study_of(
        "compare_models",
        first,
        X,
        y,
        cv=cv,
        scoring=scoring,
        groups=groups,
        params=params,
        error_score=error_score,
        random_state=random_state,
    )
    folds = list(study.folds())
    validations = {
        name: cross_validate(
            model,
            X,
            y,
            scoring=scoring,
            cv=folds,
            n_jobs=n_jobs,
            params=params,
            error_score=error_score,
            random_state=random_state,
            progress=progress,
        )
        for name, model in models.items()
    }
    return _pairwise(validations, metric, level)


def _of_validations(a: Any, b: Any, y: Any, metric: str | None, level: float) -> ModelComparison:
    for which, given in (("validation_a", a), ("validation_b", b)):
        if not isinstance(given, Validation):
            raise TypeError(f"{which} must come from cross_validate, got {type(given).__name__}")
    if y is not None:
        raise ValueError("two validations have their targets: leave y out")
    _check_folds(a, b)
    return compared(a, b, a.metric(metric), level)


def _pairwise(
    validations: dict[str, Validation], metric: str | None, level: float
) -> ModelComparisons:
    first = next(iter(validations.values()))
    name = first.metric(metric)
    for other in validations.values():
        _check_folds(first, other)
    pairs = {
        (a, b): compared(validations[a], validations[b], name, level, (a, b))
        for a, b in combinations(validations, 2)
    }
    means = {model: one.mean(name, level) for model, one in validations.items()}
    return ModelComparisons(means, pairs, validations, name, first.measured(name))


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
