"""How the error of training and the error of test move with a parameter and with the rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.score.estimate import Estimate
from fenchel.score.folds.ranges import ANYWHERE, Range
from fenchel.score.folds.resampled import (
    Fold,
    best_row,
    corrected_mean,
    ratio_of,
    simplest_row,
    simplicity,
)
from fenchel.score.folds.study import Study, Warm, study_of
from fenchel.score.folds.trial import Outcome, Trial, Wanted, run, table

Floats = NDArray[np.float64]
Proofs = tuple[tuple[Certificate | None, ...], ...]
End = Literal["first", "last"]


@dataclass(frozen=True, eq=False, repr=False)
class ValidationCurve:
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
    """

    param_name: str
    param_range: tuple[Any, ...]
    train_scores: Floats
    test_scores: Floats
    certificates: Proofs
    fit_seconds: Floats
    folds: tuple[Fold, ...]
    within: Range = ANYWHERE

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

    def __str__(self) -> str:
        rows = zip(self.param_range, self.estimates(), strict=True)
        lines = [f"{self.param_name}={value!r}: {mean}" for value, mean in rows]
        return "\n".join([*lines, f"best: {self.param_name}={self.best!r}"])

    __repr__ = __str__


@dataclass(frozen=True, eq=False, repr=False)
class LearningCurve:
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
    """

    train_sizes: NDArray[np.int64]
    train_scores: Floats
    test_scores: Floats
    certificates: Proofs
    fit_seconds: Floats
    folds: tuple[Fold, ...]
    within: Range = ANYWHERE

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

    def __str__(self) -> str:
        rows = zip(self.train_sizes, self.estimates(), strict=True)
        return "\n".join(f"{size} rows: {mean}" for size, mean in rows)

    __repr__ = __str__


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
    wanted = Wanted(train_scores=True, warm=warm_start)
    found = run(study, trials, wanted, n_jobs=n_jobs, progress=progress)
    grid = list(zip(*found, strict=True))  # value by value
    return ValidationCurve(param_name, values, *_curves(study, grid), folds, within)


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
    wanted = Wanted(train_scores=True)
    found = run(study, trials, wanted, n_jobs=n_jobs, progress=progress, what="fits")
    grid = [[one for (one,) in found[s :: len(sizes)]] for s in range(len(sizes))]
    return LearningCurve(sizes, *_curves(study, grid), folds, within)


def _curves(
    study: Study, grid: Sequence[Sequence[Outcome]]
) -> tuple[Floats, Floats, Proofs, Floats]:
    """(train scores, test scores, certificates, seconds) with a row for each value or size."""
    train = scores_of(study, grid, train=True)
    test = scores_of(study, grid, train=False)
    proofs = tuple(tuple(outcome.certificate for outcome in row) for row in grid)
    seconds = np.array([[outcome.fit_seconds for outcome in row] for row in grid])
    return train, test, proofs, seconds


def scores_of(study: Study, grid: Sequence[Sequence[Outcome]], *, train: bool) -> Floats:
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


def only_range(study: Study) -> Range:
    """Where the one metric lies; an error before any fit where there are several."""
    _check_one(study.judge.scorers)
    (within,) = study.judge.ranges().values()
    return within


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
