"""How the error of training and the error of test move with a parameter and with the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.score.selection.curve_values import Floats, LearningCurve, Proofs, ValidationCurve
from fenchel.score.validation.metric import ScoredMetric
from fenchel.score.validation.metric_ranges import Range
from fenchel.score.validation.run import FoldResult, RunOptions, Trial, run, table
from fenchel.score.validation.study import FoldStudy, Warm, study_of


def validation_curve(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    param_name: str,
    param_range: Sequence[Any],
    groups: Any = None,
    cv: Any = 5,
    scoring: Any = None,
    n_jobs: int | None = None,
    params: Mapping[str, Any] | None = None,
    warm_start: Warm = "auto",
    error_score: Any = "raise",
    random_state: Any = 0,
    progress: bool = False,
) -> ValidationCurve:
    """Scores of training and test along the values of one parameter.

    In each fold the values are walked in the given order, every fit begun where the last one ended
    if that is safe.

    Parameters
    ----------
    estimator, X, y, groups, cv, n_jobs, params, error_score, random_state, progress :
        As in `cross_validate`. A fold is one job.
    param_name : str
        In a pipeline with the step, as in "logisticregression__C".
    param_range : sequence
        The values, the simplest model first if `one_standard_error` is to be used as it is.
    scoring : None, str or callable
        One metric.
    warm_start : "auto" or bool
        "auto" walks warm where the estimator has that parameter and its fits prove a duality gap,
        so that the result is that of cold fits up to the certificate. True walks warm wherever
        there is the parameter, which changes the answer of forests, boosting and online learners.

    Returns
    -------
    curve : ValidationCurve
        `train_scores, test_scores = curve` works as in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fenchel import Lasso, validation_curve
    >>> X, y = load_diabetes(return_X_y=True)
    >>> alphas = [10.0, 1.0, 0.3, 0.1, 0.03, 0.01]
    >>> curve = validation_curve(Lasso(), X, y, param_name="alpha", param_range=alphas)
    >>> curve.test_scores.shape, curve.best, curve.one_standard_error()
    ((6, 5), 0.03, 0.3)
    >>> train_scores, test_scores = curve
    """
    study = study_of(
        "validation_curve",
        estimator,
        X,
        y,
        cv=cv,
        scoring=scoring,
        groups=groups,
        params=params,
        error_score=error_score,
        random_state=random_state,
    )
    within = only_range(study)
    known = sorted(estimator.get_params())
    if param_name not in known:
        raise ValueError(
            f"param_name={param_name!r} is not a parameter of {type(estimator).__name__}: "
            f"{', '.join(known)}"
        )
    values = tuple(param_range)
    if not values:
        raise ValueError("param_range is empty: give the values to try")
    folds = study.folds()
    settings = tuple({param_name: value} for value in values)
    trials = [
        Trial(f"fold {k}", k, seed, train, test, settings, param_name)
        for k, ((train, test), seed) in enumerate(zip(folds, study.seeds(len(folds)), strict=True))
    ]
    wanted = RunOptions(train_scores=True, warm=warm_start)
    found = run(study, trials, wanted, n_jobs=n_jobs, progress=progress)
    grid = list(zip(*found, strict=True))  # value by value
    metric = only_metric(study)
    return ValidationCurve(param_name, values, *_curves(study, grid), folds, within, metric)


def learning_curve(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    train_sizes: Any = (0.1, 0.325, 0.55, 0.775, 1.0),
    cv: Any = 5,
    scoring: Any = None,
    n_jobs: int | None = None,
    params: Mapping[str, Any] | None = None,
    shuffle: bool = False,
    error_score: Any = "raise",
    random_state: Any = 0,
    progress: bool = False,
) -> LearningCurve:
    """Scores of training and test along the number of rows fitted.

    Parameters
    ----------
    estimator, X, y, groups, cv, n_jobs, params, error_score, progress :
        As in `cross_validate`. A fit is one job.
    train_sizes : array
        Shares of the training rows of the first fold (floats up to 1), or numbers of rows (ints).
        Each fit takes the first so many training rows of its fold; equal sizes count once.
    scoring : None, str or callable
        One metric.
    shuffle : bool
        Whether to put the training rows into random order first, as rows sorted by class need.
    random_state : int, RandomState or None
        Of that order, and as in `cross_validate`.

    Returns
    -------
    curve : LearningCurve
        `train_sizes, train_scores, test_scores = curve` works as in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fenchel import LogisticRegression, learning_curve
    >>> X, y = load_iris(return_X_y=True)
    >>> curve = learning_curve(LogisticRegression(), X, y, train_sizes=[30, 60, 120], shuffle=True)
    >>> sizes, train_scores, test_scores = curve
    >>> sizes.tolist(), test_scores.shape
    ([30, 60, 120], (3, 5))
    """
    study = study_of(
        "learning_curve",
        estimator,
        X,
        y,
        cv=cv,
        scoring=scoring,
        groups=groups,
        params=params,
        error_score=error_score,
        random_state=random_state,
    )
    within = only_range(study)
    folds = study.folds()
    sizes = _sizes(train_sizes, len(folds[0][0]))
    if shuffle:
        folds = tuple((study.rng.permutation(train), test) for train, test in folds)
    trials = [
        Trial(f"fold {k} with {size} training rows", k, seed, train[:size], test)
        for k, ((train, test), seed) in enumerate(zip(folds, study.seeds(len(folds)), strict=True))
        for size in sizes.tolist()
    ]
    wanted = RunOptions(train_scores=True)
    found = run(study, trials, wanted, n_jobs=n_jobs, progress=progress, what="fits")
    grid = [[one for (one,) in found[s :: len(sizes)]] for s in range(len(sizes))]
    return LearningCurve(sizes, *_curves(study, grid), folds, within, only_metric(study))


def _curves(
    study: FoldStudy, grid: Sequence[Sequence[FoldResult]]
) -> tuple[Floats, Floats, Proofs, Floats]:
    """(train scores, test scores, certificates, seconds) with a row for each value or size."""
    train = scores_of(study, grid, train=True)
    test = scores_of(study, grid, train=False)
    proofs = tuple(tuple(outcome.certificate for outcome in row) for row in grid)
    seconds = np.array([[outcome.fit_seconds for outcome in row] for row in grid])
    return train, test, proofs, seconds


def scores_of(study: FoldStudy, grid: Sequence[Sequence[FoldResult]], *, train: bool) -> Floats:
    """The scores of the one metric, shaped as the grid of outcomes."""
    shape = (len(grid), len(grid[0]))
    found = table([outcome for row in grid for outcome in row], study.error_score, train=train)
    _check_one(found)
    (values,) = found.values()
    return values.reshape(shape)


def _check_one(metrics: Mapping[str, Any]) -> None:
    if len(metrics) > 1:
        names = ", ".join(metrics)
        raise ValueError(
            f"scoring has {len(metrics)} metrics, {names}: give one, by which to choose"
        )


def only_range(study: FoldStudy) -> Range:
    """Where the one metric lies; an error before any fit where there are several."""
    _check_one(study.judge.scorers)
    (within,) = study.judge.ranges().values()
    return within


def only_metric(study: FoldStudy) -> ScoredMetric:
    """What the one metric is called, and whether its score is minus a loss."""
    (metric,) = study.judge.metrics().values()
    return metric


def _sizes(train_sizes: Any, most: int) -> NDArray[np.int64]:
    """Numbers of rows, rising, each once."""
    given = np.asarray(train_sizes)
    if given.ndim != 1 or not given.size or given.dtype.kind not in "iuf":
        raise ValueError(f"train_sizes must be a list of numbers, got {train_sizes!r}")
    if given.dtype.kind == "f":
        if not ((given > 0.0) & (given <= 1.0)).all():
            raise ValueError(
                f"train_sizes as shares must lie above 0 and up to 1, got {given.tolist()}; "
                "numbers of rows are ints"
            )
        given = np.clip((given * most).astype(np.int64), 1, most)
    elif given.min() < 1 or given.max() > most:
        raise ValueError(
            f"train_sizes must lie between 1 and the {most} training rows of a fold, "
            f"got {given.tolist()}"
        )
    return np.unique(given).astype(np.int64)
