"""One fold fitted and judged, along a path of parameters; many of them at a time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.exceptions import FitFailedWarning
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params

from fenchel.convex.certificate import Certificate, warn_outside
from fenchel.data.blocks import one_blas_thread, thread_count, threads
from fenchel.score.estimate import is_integer
from fenchel.score.validation.progress import counted
from fenchel.score.validation.scoring import Recall, answers, recalling
from fenchel.score.validation.study import FoldStudy, Warm, configured, last_step

Floats = NDArray[np.float64]


class FoldFailed(FitFailedWarning):
    """A fold could not be fitted or judged, so its score is error_score; the message says why."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Rows to fit, rows to judge by, and settings to try on them one after the other.

    `walked` is the parameter that alone changes from setting to setting: a fit may start where the
    last one ended.
    """

    name: str
    number: int
    seed: int
    train: NDArray[np.intp]
    test: NDArray[np.intp]
    settings: tuple[Mapping[str, Any], ...] = field(default=({},))
    walked: str | None = None


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What to bring home from a trial besides the scores of the rows to judge by."""

    train_scores: bool = False
    answers: bool = False
    estimator: bool = False
    warm: Warm = "auto"


@dataclass(slots=True)
class FoldResult:
    """What one fit came to; marks are empty where it failed."""

    marks: dict[str, float] = field(default_factory=dict)
    train_marks: dict[str, float] = field(default_factory=dict)
    certificate: Certificate | None = None
    fit_seconds: float = 0.0
    score_seconds: float = 0.0
    predictions: NDArray[Any] | None = None
    scores: NDArray[Any] | None = None
    estimator: Any = None
    failures: list[str] = field(default_factory=list)


def certificate_of(estimator: Any) -> Certificate | None:
    """The certificate of a fit: of the last step of a pipeline, of the model a search chose.

    Only one that the fit has made: neighbours compute theirs when asked, at the cost of many fits.
    """
    estimator, _ = last_step(estimator)
    known = vars(estimator)
    certificate = known.get("certificate_")
    if isinstance(certificate, Certificate):
        return certificate
    chosen = known.get("best_estimator_")
    return None if chosen is None else certificate_of(chosen)


def run_fold(study: FoldStudy, trial: Trial, wanted: RunOptions, workers: int) -> list[FoldResult]:
    """Every setting of the trial, fitted and judged.

    BLAS runs on one thread, whatever runs beside it: its sums depend on how many it has.
    """
    with one_blas_thread(), threads(workers):
        return _walk(study, trial, wanted)


def _walk(study: FoldStudy, trial: Trial, wanted: RunOptions) -> list[FoldResult]:
    base = study.estimator
    train = _safe_split(base, study.X, study.y, trial.train)
    test = _safe_split(base, study.X, study.y, trial.test, trial.train)
    fit_params = _check_method_params(study.X, study.fit_params, indices=trial.train)
    outcomes: list[FoldResult] = []
    model: Any = None
    for setting in trial.settings:
        switch = None if model is None else _switch(model, trial.walked, wanted.warm)
        if switch is None:
            model = study.made(setting, trial.seed, trial.number)
        else:
            before = model.get_params()[switch]
            model = configured(model, {**setting, switch: True})
        outcome = FoldResult()
        began = time.perf_counter()
        try:
            model.fit(*(train if study.y is not None else train[:1]), **fit_params)
        except Exception as error:
            text = f"{_where(trial, setting)} could not be fitted"
            _note(error, study, text)
            outcome.failures.append(f"{text}: {_said(error)}")
            outcome.fit_seconds, model = time.perf_counter() - began, None
            outcomes.append(outcome)
            continue
        outcome.fit_seconds = time.perf_counter() - began
        if switch is not None:
            model.set_params(**{switch: before})
        _judge(study, trial, wanted, model, (train, test), setting, outcome)
        outcomes.append(outcome)
        if wanted.estimator:
            outcome.estimator, model = model, None
    return outcomes


def _switch(model: Any, walked: str | None, warm: Warm) -> str | None:
    """The parameter that makes the next fit start at this one; None where it must not.

    By itself only a fit with a duality gap is trusted as a start, because the gap proves the next
    one whatever it started from: a forest with warm_start keeps its old trees instead.
    """
    if walked is None or not warm:
        return None
    _, prefix = last_step(model)
    name = f"{prefix}warm_start"
    if not walked.startswith(prefix) or name not in model.get_params():
        return None
    if warm == "auto":
        found = certificate_of(model)
        return name if found is not None and found.kind == "duality" else None
    return name


def _judge(
    study: FoldStudy,
    trial: Trial,
    wanted: RunOptions,
    model: Any,
    parts: tuple[tuple[Any, Any], tuple[Any, Any]],
    setting: Mapping[str, Any],
    outcome: FoldResult,
) -> None:
    train, test = parts
    outcome.certificate = certificate_of(model)
    where = _where(trial, setting)
    began = time.perf_counter()
    recall = recalling()
    outcome.marks = _marks(study, trial.test, model, test, recall, where, outcome.failures)
    outcome.score_seconds = time.perf_counter() - began
    if wanted.answers:
        outcome.predictions, outcome.scores = answers(model, test[0], recall, study.classes)
    if wanted.train_scores:
        told: list[str] = []
        where = f"the training part of {where}"
        outcome.train_marks = _marks(study, trial.train, model, train, recalling(), where, told)
        outcome.failures.extend(told)


def _marks(
    study: FoldStudy,
    rows: NDArray[np.intp],
    model: Any,
    part: tuple[Any, Any],
    recall: Recall,
    where: str,
    failures: list[str],
) -> dict[str, float]:
    params = _check_method_params(study.X, study.score_params, indices=rows)
    marks: dict[str, float] = {}
    for name, value in study.judge.marks(model, *part, recall, params).items():
        only = study.only_class(rows)
        why = "" if only is None else f", where every row is of class {only}"
        remedy = "pass error_score=nan to go on without it"
        if only is not None:
            remedy = f"use folds with rows of every class, as StratifiedKFold makes, or {remedy}"
        if isinstance(value, Exception):
            text = f"{name} could not be computed in {where}{why}: {remedy}"
            _note(value, study, text)
            failures.append(f"{text}: {_said(value)}")
            assert study.error_score != "raise"
            marks[name] = study.error_score
        elif math.isnan(value):
            text = f"{name} is NaN in {where}{why}: {remedy}"
            if study.error_score == "raise":
                raise ValueError(text)
            failures.append(text)
            marks[name] = value
        else:
            marks[name] = value
    return marks


def _note(error: Exception, study: FoldStudy, text: str) -> None:
    """Raise the error with a note of where it happened, unless failures are to be scored."""
    if study.error_score == "raise":
        error.add_note(text)
        raise error


def _where(trial: Trial, setting: Mapping[str, Any]) -> str:
    given = ", ".join(f"{key}={value!r}" for key, value in setting.items())
    return f"{trial.name} with {given}" if given else trial.name


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


class _Counting(Parallel):
    """joblib's runner, telling how many are done."""

    show: Callable[[int], None]

    def print_progress(self) -> None:
        self.show(self.n_completed_tasks)


def run(
    study: FoldStudy,
    trials: Sequence[Trial],
    wanted: RunOptions,
    *,
    n_jobs: int | None,
    progress: bool,
    what: str = "folds",
) -> list[list[FoldResult]]:
    """The outcomes of every trial, in their order, the same for any number of jobs."""
    for trial in {id(trial.train): trial for trial in trials}.values():
        _check_classes(study, trial)  # once for all the paths of a fold
    if n_jobs is not None and not (is_integer(n_jobs) and n_jobs != 0):
        raise ValueError(f"n_jobs must be None or a whole number other than 0, got {n_jobs!r}")
    jobs = min(effective_n_jobs(n_jobs), len(trials))
    with counted(progress, what, len(trials)) as show:
        if jobs == 1:
            found = []
            for trial in trials:
                found.append(_tried(study, trial, wanted, thread_count()))
                show(len(found))
        else:
            share = max(1, thread_count() // jobs)
            study = replace(study, splitter=None, split_params={})  # a worker needs no folds
            parallel = _Counting(n_jobs=jobs)
            parallel.show = show
            found = parallel(delayed(_tried)(study, trial, wanted, share) for trial in trials)
    _tell(study, found)
    return found


def _check_classes(study: FoldStudy, trial: Trial) -> None:
    if study.error_score == "raise" and (missing := _missing(study, trial)) is not None:
        raise ValueError(missing)


def _missing(study: FoldStudy, trial: Trial) -> str | None:
    lacking = study.lacking(trial.train)
    if lacking is None:
        return None
    return (
        f"{trial.name} has no row of class {lacking} to fit on: use folds with rows of every class "
        "in each, as StratifiedKFold makes (shuffle=True where a part of the training rows is "
        "taken), or pass error_score=nan to go on without that fold"
    )


def _tried(study: FoldStudy, trial: Trial, wanted: RunOptions, workers: int) -> list[FoldResult]:
    if study.error_score != "raise" and (missing := _missing(study, trial)) is not None:
        return [FoldResult(failures=[missing]) for _ in trial.settings]
    return run_fold(study, trial, wanted, workers)


def _tell(study: FoldStudy, found: list[list[FoldResult]]) -> None:
    """One warning for all that failed; an error where nothing was left."""
    all_fits = [outcome for outcomes in found for outcome in outcomes]
    failed = [outcome for outcome in all_fits if outcome.failures]
    if not failed:
        return
    first = failed[0].failures[0]
    if not any(outcome.marks for outcome in all_fits):
        raise ValueError(f"all {len(all_fits)} fits failed; the first: {first}")
    warn_outside(
        f"{len(failed)} of {len(all_fits)} fits failed or have undefined scores, which are "
        f"{study.error_score} now; the first: {first}",
        FoldFailed,
    )


def table(
    outcomes: Sequence[FoldResult], error_score: float | str, *, train: bool
) -> dict[str, Any]:
    """Metric by metric, one entry for each outcome."""
    kept = [outcome.train_marks if train else outcome.marks for outcome in outcomes]
    names = dict.fromkeys(name for marks in kept for name in marks)
    return {
        name: np.array([marks.get(name, error_score) for marks in kept], dtype=np.float64)
        for name in names
    }
