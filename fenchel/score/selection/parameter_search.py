"""Parameters chosen by cross-validation, and what the whole procedure is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from fenchel.score.selection.curve_values import End
from fenchel.score.selection.parameter_curves import only_metric, only_range, scores_of
from fenchel.score.selection.search_values import NestedValidation, Rule, Selection
from fenchel.score.validation.corrected_t import Fold, best_row, simplest_row, simplicity
from fenchel.score.validation.cross_validation import validation_of
from fenchel.score.validation.run import FoldResult, RunOptions, Trial, run
from fenchel.score.validation.study import FoldStudy, Warm, configured, routing_enabled, study_of

Grid = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]]


@dataclass(frozen=True, slots=True)
class ParameterPath:
    """Candidates that differ in one parameter alone, in the order given."""

    members: tuple[int, ...]
    walked: str | None


def select(
    estimator: Any,
    grid: Grid,
    X: Any,
    y: Any = None,
    *,
    rule: Rule = "best",
    simplest: End = "first",
    groups: Any = None,
    cv: Any = 5,
    scoring: Any = None,
    n_jobs: int | None = None,
    params: Mapping[str, Any] | None = None,
    warm_start: Warm = "auto",
    refit: bool = True,
    error_score: Any = "raise",
    random_state: Any = 0,
    progress: bool = False,
) -> Selection:
    """Choose parameters by cross-validation and fit them to all rows.

    Parameters
    ----------
    estimator, X, y, groups, cv, n_jobs, params, error_score, random_state, progress :
        As in `cross_validate`. A fold of a path is one job.
    grid : dict, or list of dicts
        Parameters to sequences of values. The last parameter listed is the one walked: in each
        fold its values follow each other in the given order, every fit begun where the last one
        ended if that is safe.
    rule : "best" or "one_standard_error"
        The candidate with the largest mean score, the first of several; or, of those that differ
        from it in the walked parameter alone, the simplest whose mean is within one standard error
        S/√J of it.
    simplest : "first" or "last"
        Where among the values of the walked parameter the simplest model stands.
    scoring : None, str or callable
        One metric. A sample_weight in params weighs it too where it can, as in GridSearchCV.
    warm_start : "auto" or bool
        As in `validation_curve`.
    refit : bool
        Whether to fit the chosen candidate to all rows.

    Returns
    -------
    selection : Selection

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fenchel import ElasticNet, select
    >>> X, y = load_diabetes(return_X_y=True)
    >>> grid = {"l1_ratio": [0.5, 1.0], "alpha": [1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001]}
    >>> found = select(ElasticNet(), grid, X, y, rule="one_standard_error")
    >>> found.params, found.candidates[found.best_index]["alpha"]
    ({'alpha': 0.1, 'l1_ratio': 1.0}, 0.003)
    >>> found.scores.shape, found.estimator.converged_
    ((14, 5), True)
    """
    _check_rule(rule, simplest)
    study = study_of(
        "select",
        estimator,
        X,
        y,
        cv=cv,
        scoring=scoring,
        groups=groups,
        params=params,
        error_score=error_score,
        random_state=random_state,
        weighted=True,
    )
    only_range(study)
    candidates, paths = paths_of(grid)
    _check_names(study, candidates)
    folds = study.folds()
    *seeds, last = study.seeds(len(folds) + 1)
    trials = _trials(candidates, paths, folds, seeds, "")
    wanted = RunOptions(warm=warm_start)
    found = run(study, trials, wanted, n_jobs=n_jobs, progress=progress, what="paths")
    chosen = _chosen(study, candidates, paths, folds, found, rule, simplest)
    if not refit:
        return chosen
    model = study.made(chosen.params, last, len(folds))
    rows = (study.X,) if study.y is None else (study.X, study.y)
    return replace(chosen, estimator=model.fit(*rows, **study.fit_params))


def nested_cross_validate(
    estimator: Any,
    grid: Grid,
    X: Any,
    y: Any = None,
    *,
    inner: Any = 5,
    outer: Any = 5,
    rule: Rule = "best",
    simplest: End = "first",
    groups: Any = None,
    scoring: Any = None,
    n_jobs: int | None = None,
    params: Mapping[str, Any] | None = None,
    warm_start: Warm = "auto",
    return_estimator: bool = False,
    error_score: Any = "raise",
    random_state: Any = 0,
    progress: bool = False,
) -> NestedValidation:
    """Judge the choice of parameters together with the fit: a selection inside every outer fold.

    The score of the best of many candidates is optimistic, because its luck is chosen with it.
    Here each outer fold chooses on its training rows alone, by inner folds, and is judged on rows
    that took no part.

    Parameters
    ----------
    estimator, X, y, groups, n_jobs, params, return_estimator, error_score, random_state, progress :
        As in `cross_validate`. All paths of all inner folds are jobs of one run, then all refits.
    grid, rule, simplest, scoring, warm_start :
        As in `select`.
    inner, outer : int or splitter
        The folds inside a training part, and of all rows; outer may also be an iterable of (train,
        test).

    Returns
    -------
    nested : NestedValidation

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from fenchel import LogisticRegression, nested_cross_validate
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> grid = {"C": [0.01, 0.1, 1.0]}
    >>> nested = nested_cross_validate(LogisticRegression(), grid, scale(X), y, inner=3, outer=3)
    >>> len(nested.params), nested.inner[0].scores.shape, round(nested.outer.curve.auc(), 2)
    (3, (3, 3), 0.99)
    """
    _check_rule(rule, simplest)
    if not (inner is None or isinstance(inner, int)) and getattr(inner, "split", None) is None:
        raise ValueError(
            "inner must be a number of folds or a splitter: it splits every outer fold"
        )
    study = study_of(
        "nested_cross_validate",
        estimator,
        X,
        y,
        cv=outer,
        scoring=scoring,
        groups=groups,
        params=params,
        error_score=error_score,
        random_state=random_state,
        weighted=True,
    )
    only_range(study)
    candidates, paths = paths_of(grid)
    _check_names(study, candidates)
    folds = study.folds()
    inside = [study.folds(inner, train) for train, _ in folds]
    seeds = study.seeds(len(folds))
    trials: list[Trial] = []
    for k, parts in enumerate(inside):
        trials += _trials(
            candidates, paths, parts, study.seeds(len(parts)), f"outer fold {k}, inner "
        )
    wanted = RunOptions(warm=warm_start)
    found = iter(run(study, trials, wanted, n_jobs=n_jobs, progress=progress, what="paths"))
    chosen = []
    for parts in inside:
        here = [next(found) for _ in range(len(parts) * len(paths))]
        chosen.append(_chosen(study, candidates, paths, parts, here, rule, simplest))
    refits = [
        Trial(f"outer fold {k}", k, seed, train, test, (choice.params,))
        for k, ((train, test), seed, choice) in enumerate(zip(folds, seeds, chosen, strict=True))
    ]
    kept = RunOptions(answers=True, estimator=return_estimator)
    if not routing_enabled():
        study = replace(study, score_params={})  # weights are for the choice; see cross_validate
    ends = run(study, refits, kept, n_jobs=n_jobs, progress=progress, what="outer folds")
    judged = validation_of(study, folds, [one for (one,) in ends], kept)
    return NestedValidation(judged, tuple(choice.params for choice in chosen), tuple(chosen))


def paths_of(grid: Grid) -> tuple[tuple[dict[str, Any], ...], tuple[ParameterPath, ...]]:
    """The candidates in scikit-learn's order, and the paths along the last parameter listed."""
    candidates: list[dict[str, Any]] = []
    paths: list[ParameterPath] = []
    for part in [grid] if isinstance(grid, Mapping) else list(grid):
        listed = list(part)
        names = sorted(listed)
        here = list(ParameterGrid(dict(part)))
        walked = listed[-1] if listed else None
        numbers = (len(candidates) + np.arange(len(here))).reshape(1, -1)
        if walked is not None:
            block = numbers.reshape([len(part[name]) for name in names])
            numbers = np.moveaxis(block, names.index(walked), -1).reshape(-1, len(part[walked]))
        paths += [ParameterPath(tuple(row.tolist()), walked) for row in numbers]
        candidates += here
    if not candidates:
        raise ValueError("grid is empty: give parameters and the values to try")
    return tuple(candidates), tuple(paths)


def _trials(
    candidates: Sequence[dict[str, Any]],
    paths: Sequence[ParameterPath],
    folds: Sequence[Fold],
    seeds: Sequence[int],
    prefix: str,
) -> list[Trial]:
    """Fold by fold, path by path."""
    return [
        Trial(
            f"{prefix}fold {k}",
            k,
            seed,
            train,
            test,
            tuple(candidates[c] for c in path.members),
            path.walked,
        )
        for k, ((train, test), seed) in enumerate(zip(folds, seeds, strict=True))
        for path in paths
    ]


def _chosen(
    study: FoldStudy,
    candidates: tuple[dict[str, Any], ...],
    paths: Sequence[ParameterPath],
    folds: tuple[Fold, ...],
    found: Sequence[Sequence[FoldResult]],
    rule: Rule,
    simplest: End,
) -> Selection:
    slots: list[list[Any]] = [[None] * len(folds) for _ in candidates]
    for k in range(len(folds)):
        for p, path in enumerate(paths):
            for member, outcome in zip(path.members, found[k * len(paths) + p], strict=True):
                slots[member][k] = outcome
    scores = scores_of(study, slots, train=False)
    best = index = best_row(scores)
    if rule == "one_standard_error":
        (home,) = [path for path in paths if best in path.members]
        index = simplest_row(scores, simplicity(home.members, simplest), best)
    return Selection(
        params=candidates[index],
        estimator=None,
        candidates=candidates,
        scores=scores,
        certificates=tuple(tuple(outcome.certificate for outcome in row) for row in slots),
        fit_seconds=np.array([[outcome.fit_seconds for outcome in row] for row in slots]),
        folds=folds,
        index=index,
        best_index=best,
        rule=rule,
        within=only_range(study),
        metric=only_metric(study),
    )


def _check_names(study: FoldStudy, candidates: Sequence[dict[str, Any]]) -> None:
    """An error before any fit where the estimator has no such parameter."""
    for setting in {tuple(setting): setting for setting in candidates}.values():
        configured(clone(study.estimator), setting)


def _check_rule(rule: str, simplest: str) -> None:
    if rule not in ("best", "one_standard_error"):
        raise ValueError(f"rule must be 'best' or 'one_standard_error', got {rule!r}")
    simplicity((), simplest)
