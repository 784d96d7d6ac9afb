"""The models of a task against each other and against a constant, by nested cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.app.catalogue import BASELINES, MODELS, SCORING, Candidate, entry_named
from fenchel.app.errors import BadData, BadUsage
from fenchel.app.predictions import gives_probabilities
from fenchel.app.report.estimates import plain, with_interval
from fenchel.app.report.split import FoldEffort, Folder
from fenchel.app.table.task import Task
from fenchel.score.scorers import scorer
from fenchel.score.selection.model_comparison import compare_models
from fenchel.score.selection.parameter_search import NestedValidation, nested_cross_validate
from fenchel.score.validation.corrected_t import best_row, simplest_row
from fenchel.score.validation.cross_validation import Validation, cross_validate
from fenchel.score.validation.metric_ranges import range_of

METRICS = {"auc": "AUC", "accuracy": "accuracy", "r2": "R²"}


@dataclass(frozen=True, eq=False)
class Contest:
    """How the models of a task did on rows that took no part in their fits or choices.

    Attributes
    ----------
    entries, nested : the models, and the judgement of each
    left_out : models of the task that were not compared, and why
    constant, baseline : what predicts the same for every row, and its judgement
    folds : rows to fit and rows to judge, the same for all
    best : the place of the largest mean score
    chosen : that of the model that is taken
    rule : by which it was taken
    """

    metric: str
    entries: tuple[Candidate, ...]
    nested: tuple[NestedValidation, ...]
    left_out: tuple[tuple[Candidate, str], ...]
    constant: Candidate
    baseline: Validation
    folds: list[tuple[NDArray[np.intp], NDArray[np.intp]]]
    inner: int
    best: int
    chosen: int
    rule: str

    @property
    def entry(self) -> Candidate:
        return self.entries[self.chosen]

    @property
    def judged(self) -> NestedValidation:
        return self.nested[self.chosen]


def scoring_of(task: Task) -> Any:
    """The scorer that models of the task are compared by."""
    return scorer(SCORING[task.kind])


def chooser_of(task: Task, model: Any) -> tuple[str, Any]:
    """(name, scorer) by which a model chooses its parameters.

    Where it gives probabilities these should be right too, and not only in order: by AUC alone the
    strongest penalty is as good as any for a single column.
    """
    if task.kind != "number" and gives_probabilities(model):
        return "log loss", scorer("neg_log_loss")
    return METRICS[SCORING[task.kind]], scoring_of(task)


def entries_of(task: Task, names: Sequence[str] | None) -> tuple[Candidate, ...]:
    """The models of the task, or those named."""
    if names is None:
        return MODELS[task.kind]
    found = tuple(dict.fromkeys(entry_named(task.kind, name) for name in names))
    if not found:
        raise BadUsage("no model is named: leave the option out to compare all of the task")
    return found


def contest(
    task: Task,
    X: Any,
    y: NDArray[Any],
    names: Sequence[str] | None,
    work: FoldEffort,
    seed: int,
    progress: Callable[[str], None],
    folder: Folder | None = None,
) -> Contest:
    """Every model with its grid inside every outer fold; then the choice."""
    entries = entries_of(task, names)
    left_out: list[tuple[Candidate, str]] = []
    if names is None:
        rarest = len(y) if task.kind == "number" else int(np.bincount(y).min())
        reasons = []
        for one in entries:
            share = (work.outer - 1) / work.outer
            if one.grid:  # most of its fits are inside of folds
                share *= (work.inner - 1) / work.inner
            reasons.append((one, one.left_out(share * len(y), share * rarest, X.shape[1])))
        left_out += [(one, reason) for one, reason in reasons if reason]
        entries = tuple(one for one, reason in reasons if not reason)
    folder = folder or Folder(task.kind == "number")
    folds = folder.folds(y, work.outer, seed)
    judge = scoring_of(task)
    inner = folder.splitter(work.inner, seed)
    found = []
    for entry in entries:
        progress(f"comparing: {entry.words}")
        base = entry.make()
        try:
            nested = nested_cross_validate(
                base,
                entry.grid_for(y) or [{}],
                X,
                y,
                inner=inner,
                outer=folds,
                groups=folder.groups,
                scoring=chooser_of(task, base)[1],
                n_jobs=work.n_jobs,
                return_estimator=True,
                random_state=seed,
            )
        except (ValueError, ArithmeticError) as error:
            # One model that cannot take these rows is no reason to have none.
            left_out.append((entry, " ".join(str(error).split())[:300]))
            continue
        found.append((entry, _judged_by(nested, judge, X, y)))
    if not found:
        raise BadData(f"no model can be fitted to this table: {left_out[0][1]}")
    entries = tuple(entry for entry, _ in found)
    constant = BASELINES[task.kind]
    baseline = cross_validate(constant.make(), X, y, cv=folds, scoring=judge, random_state=seed)
    scores = np.array([nested.outer.test["score"] for _, nested in found])
    best, chosen, rule = _choice(task, entries, [nested.outer for _, nested in found], scores)
    return Contest(
        METRICS[SCORING[task.kind]],
        entries,
        tuple(nested for _, nested in found),
        tuple(left_out),
        constant,
        baseline,
        folds,
        work.inner,
        best,
        chosen,
        rule,
    )


def _choice(
    task: Task,
    entries: Sequence[Candidate],
    outer: Sequence[Validation],
    scores: NDArray[np.float64],
) -> tuple[int, int, str]:
    """(the best, the chosen, why): the first model of the list, simple ones first, within one
    standard error of the best; and one with probabilities where it cannot be told apart from that.
    """
    best = best_row(scores)
    chosen = simplest_row(scores, range(len(entries)), best)
    metric = METRICS[SCORING[task.kind]]
    if chosen == best:
        rule = f"it has the largest mean {metric}"
    else:
        rule = (
            f"it is the first of the list whose mean {metric} is within one standard error of the "
            f"largest, that of {entries[best].name}"
        )
    if task.kind != "number" and not _has_probabilities(entries[chosen]):
        giving = [place for place, entry in enumerate(entries) if _has_probabilities(entry)]
        if giving:
            # The best of those, not the first that the folds cannot tell: five tell little.
            place = simplest_row(scores, giving, max(giving, key=lambda k: scores[k].mean()))
            apart = compare_models(outer[chosen], outer[place]).difference
            if apart.low <= 0.0:
                rule = (
                    f"it gives probabilities, and the folds cannot tell it from "
                    f"{entries[chosen].name}, which {_instead(scores, chosen, place, metric)}"
                )
                return best, place, rule
    return best, chosen, rule


def _instead(scores: NDArray[np.float64], first: int, taken: int, metric: str) -> str:
    """Why the first would have been taken."""
    if scores[first].mean() > scores[taken].mean():
        return f"has the larger mean {metric}"
    return f"is the first of the list within one standard error of the largest mean {metric}"


def _has_probabilities(entry: Candidate) -> bool:
    return gives_probabilities(entry.make())


def contest_numbers(found: Contest, level: float) -> dict[str, Any]:
    """Scores of every fold, means with corrected intervals, differences from the chosen model."""
    chosen = found.judged.outer
    models = []
    for entry, nested in zip(found.entries, found.nested, strict=True):
        outer = nested.outer
        models.append(
            {
                **_judged(entry, outer, level),
                "params": [plain(params) for params in nested.params],
                "worst_gap": None if outer.worst is None else plain(outer.worst[1].relative_gap),
                "above_baseline": _difference(outer, found.baseline, level),
                "below_chosen": _difference(chosen, outer, level) if outer is not chosen else None,
            }
        )
    return {
        "metric": found.metric,
        "rows": found.baseline.n_rows,
        "outer_folds": len(found.folds),
        "inner_folds": found.inner,
        "best": found.entries[found.best].name,
        "chosen": found.entry.name,
        "rule": found.rule,
        "models": models,
        "left_out": [
            {"name": one.name, "words": one.words, "reason": reason}
            for one, reason in found.left_out
        ],
        "baseline": _judged(found.constant, found.baseline, level),
    }


def seconds(found: Contest) -> dict[str, Any]:
    """Fit and scoring seconds of every fold of every model: they differ from run to run."""
    return {
        entry.name: {
            "fit": plain(nested.outer.fit_seconds),
            "predict": plain(nested.outer.score_seconds),
        }
        for entry, nested in zip(found.entries, found.nested, strict=True)
    }


def _judged_by(nested: NestedValidation, judge: Any, X: Any, y: Any) -> NestedValidation:
    """The same fits, judged by the metric that all models share."""
    outer = nested.outer
    scores = [
        judge(fit, X[test], y[test])
        for fit, (_, test) in zip(outer.estimators or (), outer.folds, strict=True)
    ]
    shared = replace(outer, test={"score": np.array(scores)}, ranges={"score": range_of(judge)})
    return replace(nested, outer=shared)


def _judged(entry: Candidate, outer: Validation, level: float) -> dict[str, Any]:
    scores = outer.test["score"]
    return {
        "name": entry.name,
        "words": entry.words,
        "score": with_interval(outer.mean(level=level)),
        "folds": plain(scores),
        "spread": plain(scores.std(ddof=1)),
        "worst_fold": int(scores.argmin()) + 1,
    }


def _difference(first: Validation, second: Validation, level: float) -> dict[str, Any]:
    compared = compare_models(first, second, level=level)
    return {**with_interval(compared.difference), "p_value": plain(compared.p_value)}
