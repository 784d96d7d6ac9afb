"""Cross-validation of any estimator: scores with intervals, certificates, one merged curve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from fenchel.convex.certificate import Certificate
from fenchel.data.display.result_table import Tabular
from fenchel.score.curves.curve import Curve
from fenchel.score.estimate import Estimate
from fenchel.score.validation.corrected_t import Fold, corrected_mean, ratio_of
from fenchel.score.validation.metric import ScoredMetric, metric_named
from fenchel.score.validation.metric_ranges import ANYWHERE, Range
from fenchel.score.validation.run import FoldResult, RunOptions, Trial, run, table
from fenchel.score.validation.study import FoldStudy, study_of

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Validation(dict[str, Any], Tabular):
    """Scores, certificates and out-of-fold answers of a cross-validation.

    It is also the dict that scikit-learn's `cross_validate` returns: `validation["test_score"]`.

    Attributes
    ----------
    test, train : dict of arrays of shape (folds,)
        Scores of each metric on the rows left out and, if asked for, on the rows fitted.
    certificates : tuple of Certificate or None
        What each fit proved; None where the estimator proves nothing.
    fit_seconds, score_seconds : array of shape (folds,)
    folds : tuple of (train, test)
        Row numbers of each fold.
    rows : array of shape (m,)
        The rows that were left out by some fold, in order; 0 … n - 1 where each was left out once.
        A row left out twice stands there twice, one that never was is not there.
    targets, predictions, scores : array with m entries, or None
        y, the prediction and the score of those rows by the fit that did not see them. A score is
        that of the greater of two classes, or a row of one for each of more.
    classes : array or None
        The classes of y, where the estimator is a classifier.
    curve : Curve or None
        Of the scores of two classes, the sum of the curves of all folds.
    estimators : tuple or None
    """

    test: dict[str, Floats]
    train: dict[str, Floats] | None
    certificates: tuple[Certificate | None, ...]
    fit_seconds: Floats
    score_seconds: Floats
    folds: tuple[Fold, ...]
    rows: NDArray[np.intp]
    targets: NDArray[Any] | None
    predictions: NDArray[Any] | None
    scores: NDArray[Any] | None
    classes: NDArray[Any] | None
    estimators: tuple[Any, ...] | None
    n_rows: int
    return_indices: bool = False
    ranges: Mapping[str, Range] = field(default_factory=dict)
    metrics: Mapping[str, ScoredMetric] = field(default_factory=dict)

    @cached_property
    def curve(self) -> Curve | None:
        """The sum of the curves of the folds: scores of different fits are ranked together.

        A row left out r times counts 1/r each time, in the squares too: r answers of one row are
        no more than one row, and intervals must not take them for r.
        """
        scores, targets, classes = self.scores, self.targets, self.classes
        if scores is None or targets is None or scores.ndim != 1 or classes is None:
            return None
        if not len(scores):
            return None
        _, place, times = np.unique(self.rows, return_inverse=True, return_counts=True)
        if times.max() == 1:
            return Curve.of(targets, scores, pos_label=classes[-1])
        weight = 1.0 / times[place]
        found = Curve.of(targets, scores, sample_weight=weight, pos_label=classes[-1])
        squares = found.positive.copy(), found.negative.copy()
        return replace(found, positive2=squares[0], negative2=squares[1])

    def mean(self, metric: str | None = None, level: float = 0.95) -> Estimate:
        """The mean over the folds with its corrected resampled t interval (Nadeau, Bengio 2003):
        s̄ ± t_{J-1} √((1/J + n_test/n_train) S²), for a learner fitted to so many rows; cut to
        where the metric lies, and NaN where all folds have the same score."""
        name = self.metric(metric)
        return corrected_mean(self.test[name], ratio_of(self.folds), level, self.within(name))

    def within(self, metric: str) -> Range:
        """Where the metric lies, whatever the model."""
        return self.ranges.get(metric, ANYWHERE)

    def measured(self, metric: str) -> ScoredMetric:
        """What the metric is called, and whether its score is minus a loss."""
        return self.metrics.get(metric, metric_named(metric))

    def metric(self, name: str | None = None) -> str:
        """That metric, or the only one."""
        if name is None and len(self.test) == 1:
            return next(iter(self.test))
        if name is None or name not in self.test:
            known = ", ".join(repr(key) for key in self.test)
            raise ValueError(f"metric={name!r}: choose one of {known}")
        return name

    @property
    def worst(self) -> tuple[int, Certificate] | None:
        """(fold, certificate) of the largest relative gap; None where no fit proved anything."""
        found = [(k, c) for k, c in enumerate(self.certificates) if c is not None]
        return max(found, key=lambda entry: entry[1].relative_gap, default=None)

    def summary(self, level: float = 0.95) -> str:
        """Each metric with its interval, and the worst certificate, in words."""
        lines = [f"{len(self.folds)} folds of {self.n_rows} rows"]
        width = max(len(name) for name in self.test)
        lines += [f"{name:<{width}}  {self.mean(name, level)}" for name in self.test]
        if self.worst is not None:
            fold, certificate = self.worst
            lines.append(f"worst certificate, fold {fold}: {certificate}")
        return "\n".join(lines)

    def columns(self) -> dict[str, Any]:
        """One row a fold: its rows, its scores, its times and the gap that its fit proved."""
        found: dict[str, Any] = {"fold": np.arange(len(self.folds))}
        found["training_rows"] = [len(train) for train, _ in self.folds]
        found["test_rows"] = [len(test) for _, test in self.folds]
        found |= {f"test_{name}": values for name, values in self.test.items()}
        found |= {f"train_{name}": values for name, values in (self.train or {}).items()}
        found |= {"fit_seconds": self.fit_seconds, "score_seconds": self.score_seconds}
        if self.worst is not None:
            proofs = self.certificates
            found["relative_gap"] = [None if c is None else c.relative_gap for c in proofs]
        return found

    def caption(self) -> str:
        """The mean of each metric; of a loss the loss itself, and that lower is better."""
        means = []
        for name in self.test:
            metric = self.measured(name)
            means.append(f"mean {metric.label} {metric.of(self.mean(name))}")
        return f"{len(self.folds)} folds of {self.n_rows:,} rows: {'; '.join(means)}."

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        names = ", ".join(self.test)
        return f"<Validation of {names}: {len(self.folds)} folds of {self.n_rows} rows>"

    def __post_init__(self) -> None:
        """scikit-learn's dict of arrays."""
        self.update(fit_time=self.fit_seconds, score_time=self.score_seconds)
        if self.estimators is not None:
            self["estimator"] = list(self.estimators)
        if self.return_indices:
            train, test = zip(*self.folds, strict=True)
            self["indices"] = {"train": train, "test": test}
        for name, values in self.test.items():
            self[f"test_{name}"] = values
            if self.train is not None:
                self[f"train_{name}"] = self.train[name]


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    scoring: Any = None,
    cv: Any = 5,
    n_jobs: int | None = None,
    params: Mapping[str, Any] | None = None,
    return_train_score: bool = False,
    return_estimator: bool = False,
    return_indices: bool = False,
    return_predictions: bool = True,
    error_score: Any = "raise",
    random_state: Any = 0,
    progress: bool = False,
) -> Validation:
    """Fit and judge an estimator on each fold of the rows.

    The scores are those of `sklearn.model_selection.cross_validate` on the same folds. Every fit
    keeps its certificate, the rows left out keep their predictions, and two classes get one curve.

    Parameters
    ----------
    estimator : any estimator with scikit-learn's interface, pipelines too
        It is cloned, never changed.
    X : array, sparse array, dataframe or list
        In memory. Tables from `scan` and dask are refused, with the remedy.
    y : array, optional
    groups : array, optional
        For splitters that ask for them.
    scoring : None, str, callable, list or dict
        None is the estimator's score. Names are scikit-learn's, then those of `scorer`.
    cv : int, splitter, or iterable of (train, test)
        An int means that many folds, stratified for classifiers, in order of the rows.
    n_jobs : int or None
        Folds fitted at a time, by joblib; None is one. The result is the same, to the last bit,
        for any number: BLAS runs on one thread inside a fold, seeds are drawn before.
    params : dict, optional
        Arguments of fit such as sample_weight; entries as long as X are cut with it. Scores are
        unweighted, unless scikit-learn's metadata routing is enabled and says otherwise.
    return_train_score, return_estimator, return_indices : bool
        As in scikit-learn. Row numbers are always in `folds`.
    return_predictions : bool
        Whether to keep the answers for the rows left out, from which the curve is made. Scorers
        use the same answers, but a classifier may be asked for scores that no scorer wants.
    error_score : "raise" or float
        What to do with a fold that fails, whose training rows lack a class, or whose score is
        undefined: an error that names the fold, or this score and a `FoldFailed` warning.
    random_state : int, RandomState or None
        A random_state of the estimator that is None, or a generator, is replaced by an integer for
        each fold, drawn from here; None draws anew in each call. Integers are left alone.
    progress : bool
        Shows how many folds are done, on stderr; a bar where rich is installed.

    Returns
    -------
    validation : Validation
        Also a dict with scikit-learn's keys.

    References
    ----------
    Nadeau and Bengio, Inference for the generalization error, Machine Learning 52 (2003).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from fenchel import LogisticRegression, cross_validate
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> validation = cross_validate(model, X, y, scoring=["accuracy", "roc_auc"])
    >>> print(validation.mean("accuracy"))
    0.9807 [0.967, 0.9944] (95 %, corrected resampled t, 5 folds)
    >>> validation["test_accuracy"].shape, round(validation.curve.auc(), 3)
    ((5,), 0.994)
    >>> all(c.relative_gap < 1e-6 for c in validation.certificates)
    True
    """
    study = study_of(
        "cross_validate",
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
    folds = study.folds()
    seeds = study.seeds(len(folds))
    trials = [
        Trial(f"fold {k}", k, seed, train, test)
        for k, ((train, test), seed) in enumerate(zip(folds, seeds, strict=True))
    ]
    wanted = RunOptions(return_train_score, answers=return_predictions, estimator=return_estimator)
    found = run(study, trials, wanted, n_jobs=n_jobs, progress=progress)
    return validation_of(study, folds, [one for (one,) in found], wanted, return_indices)


def validation_of(
    study: FoldStudy,
    folds: tuple[Fold, ...],
    outcomes: Sequence[FoldResult],
    wanted: RunOptions,
    return_indices: bool = False,
) -> Validation:
    """The outcomes of all folds put together."""
    error = study.error_score
    pairs = [pair for pair in zip(folds, outcomes, strict=True) if pair[1].predictions is not None]
    tested = np.concatenate([np.empty(0, np.intp), *(test for (_, test), _ in pairs)])
    order = np.argsort(tested, kind="stable")

    def joined(name: str) -> NDArray[Any] | None:
        parts = [getattr(outcome, name) for _, outcome in pairs]
        if not parts or any(part is None for part in parts):
            return None
        return np.concatenate(parts)[order]

    targets = None
    if study.y is not None and wanted.answers:
        targets = np.asarray(_safe_indexing(study.y, tested[order]))
    return Validation(
        test=table(outcomes, error, train=False),
        train=table(outcomes, error, train=True) if wanted.train_scores else None,
        certificates=tuple(outcome.certificate for outcome in outcomes),
        fit_seconds=np.array([outcome.fit_seconds for outcome in outcomes]),
        score_seconds=np.array([outcome.score_seconds for outcome in outcomes]),
        folds=folds,
        rows=tested[order],
        targets=targets,
        predictions=joined("predictions"),
        scores=joined("scores"),
        classes=study.classes,
        estimators=tuple(o.estimator for o in outcomes) if wanted.estimator else None,
        n_rows=study.n_rows,
        return_indices=return_indices,
        ranges=study.judge.ranges(),
        metrics=study.judge.metrics(),
    )
