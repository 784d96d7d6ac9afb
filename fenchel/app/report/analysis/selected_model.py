"""The chosen model: its parameters, its fit to all training rows, and what that fit can prove."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone, is_classifier

from fenchel.app.catalogue import Candidate as CatalogueEntry
from fenchel.app.catalogue import chosen_parameters
from fenchel.app.predictions import method_of
from fenchel.app.report.analysis.model_comparison import Contest, chooser_of, scoring_of
from fenchel.app.report.estimates import Entry, plain, proved, with_interval, without_interval
from fenchel.app.report.split import FoldEffort, Rows
from fenchel.app.table.encoding.encoder import Encoder
from fenchel.app.table.task import Task
from fenchel.convex.certificate import Certificate
from fenchel.data.blocks import thread_count
from fenchel.models.certificates.certified import SelfCertified
from fenchel.models.certificates.certify import certify
from fenchel.score.estimate import Estimate
from fenchel.score.selection.parameter_curves import (
    LearningCurve,
    ValidationCurve,
    learning_curve,
    validation_curve,
)
from fenchel.score.selection.parameter_search import Selection, select

DRAWS = 50_000  # for the error of fitted Gaussian classes: a tenth of a second with 30 columns
CLOSED_FORM = 1e-9  # relative: far above the rounding of sums, far below anything that is seen
LARGEST = 2e10  # rows × columns² above which nobody waits for a condition number


@dataclass(frozen=True, eq=False)
class Winner:
    """The chosen model, fitted to all training rows.

    Attributes
    ----------
    params, metric : chosen by cross-validation of the training part, by that metric
    selection : how; None for a model without a grid
    validation : scores along the last parameter of the grid; None without one
    learning : scores along the number of rows
    """

    model: Any
    params: dict[str, Any]
    metric: str
    selection: Selection | None
    validation: ValidationCurve | None
    learning: LearningCurve


def winner(
    task: Task,
    X: Any,
    y: NDArray[Any],
    sample: Rows,
    found: Contest,
    work: FoldEffort,
    seed: int,
) -> Winner:
    """Parameters by the folds of the contest, then one fit to every training row."""
    some, theirs = X[sample], y[sample]
    grid = found.entry.grid_for(theirs)
    base = found.entry.make()
    metric, chooser = chooser_of(task, base)
    shared: dict[str, Any] = {
        "cv": found.folds,
        "scoring": chooser,
        "n_jobs": work.n_jobs,
        "random_state": seed,
    }
    selection = validation = None
    params: dict[str, Any] = {}
    if grid:
        selection = select(base, grid, some, theirs, refit=False, **shared)
        params = selection.params
        walked = list(grid)[-1]
        validation = validation_curve(
            clone(base).set_params(**params),
            some,
            theirs,
            param_name=walked,
            param_range=grid[walked],
            **shared,
        )
    model = clone(base).set_params(**params)
    shared["scoring"] = scoring_of(task)
    shared["cv"] = [(_interleaved(task, theirs, train, seed), test) for train, test in found.folds]
    learning = learning_curve(
        model, some, theirs, train_sizes=_sizes(task, shared["cv"], work), **shared
    )
    return Winner(model.fit(X, y), params, metric, selection, validation, learning)


def _interleaved(task: Task, y: NDArray[Any], train: Rows, seed: int) -> Rows:
    """The rows in random order, any first few of which hold the classes in their shares."""
    rows = np.random.default_rng(seed).permutation(train)
    if task.kind == "number":
        return rows
    place = np.empty(len(rows))
    for k in range(len(task.classes)):
        mine = y[rows] == k
        place[mine] = np.arange(mine.sum()) / max(mine.sum(), 1)
    return rows[np.argsort(place, kind="stable")]


def _sizes(task: Task, folds: list[tuple[Rows, Rows]], work: FoldEffort) -> list[int]:
    most = min(len(train) for train, _ in folds)
    least = min(max(10, 3 * len(task.classes)), most)
    return sorted({max(least, int(share * most)) for share in work.shares})


def winner_numbers(
    task: Task, found: Winner, contest: Contest, encoder: Encoder, level: float
) -> dict[str, Any]:
    """Parameters, curves and coefficients of the chosen model."""
    model = found.model
    return {
        "name": contest.entry.name,
        "words": contest.entry.words,
        "class": type(model).__name__,
        "linear": planes(model) is not None,
        "chosen_params": plain(found.params),
        "found_params": chosen_parameters(model.get_params(deep=False), vars(model)),
        "chosen_by": found.metric,
        "params": plain(model.get_params(deep=False)),
        "validation_curve": _validation(found.validation),
        "learning_curve": _learning(found.learning),
        "leave_one_out": _left_out(model),
        "bayes_error": _bayes_error(model, level),
        "coefficients": coefficients(task, model, contest, encoder),
    }


def _validation(curve: ValidationCurve | None) -> dict[str, Any]:
    if curve is None:
        return {"reason": "this model has no parameter to choose"}
    return {
        "parameter": curve.param_name,
        "metric": curve.metric.label,
        "values": plain(curve.param_range),
        "chosen": plain(curve.best),
        "test": [with_interval(curve.metric.of(one)) for one in curve.estimates()],
        "training": [with_interval(curve.metric.of(one)) for one in curve.estimates(train=True)],
    }


def _left_out(model: Any) -> dict[str, Any] | None:
    """Errors of rows left out along the number of neighbours or the bandwidth; None of a model
    that leaves no row out."""
    known = vars(model)
    errors = known.get("loo_errors_")
    if errors is None:
        return None
    counted = "n_neighbors_" in known
    return {
        "parameter": "n_neighbors" if counted else "bandwidth",
        "words": "neighbours" if counted else "bandwidth",
        "values": plain(np.arange(1, len(errors) + 1) if counted else model.bandwidths_),
        "error": model.definition,
        "share": counted and is_classifier(model),
        "errors": plain(errors),
        "standard_errors": plain(model.loo_standard_errors_),
        "chosen": plain(model.n_neighbors_ if counted else model.bandwidth_),
    }


def _bayes_error(model: Any, level: float) -> Entry | None:
    """The error of the best rule if the fitted classes were the truth; None of other models."""
    ask = method_of(model, "bayes_error")
    if ask is None:
        return None
    work = float(DRAWS) * len(model.classes_) * model.n_features_in_**2
    if work > LARGEST:
        return without_interval("there are too many columns to draw rows from the fitted classes")
    found = ask(DRAWS, level=level)
    how = {
        "closed form": "a closed form of the fitted classes",
        "simulation": f"{DRAWS:,} rows drawn from the fitted classes, empirical Bernstein bound",
    }[found.method]
    if found.low == found.high:
        return with_interval(found.value, how)
    return with_interval(
        Estimate(found.value, found.low, found.high, level=found.level, method=how)
    )


def _learning(curve: LearningCurve) -> dict[str, Any]:
    return {
        "rows": plain(curve.train_sizes),
        "test": [with_interval(one) for one in curve.estimates()],
        "training": [with_interval(one) for one in curve.estimates(train=True)],
    }


def planes(model: Any) -> NDArray[np.float64] | None:
    """Coefficients, one row for each plane; None of a model without any."""
    found = getattr(model, "coef_", None)
    return None if found is None else np.atleast_2d(np.asarray(found, dtype=np.float64))


def coefficients(
    task: Task, model: Any, contest: Contest, encoder: Encoder
) -> list[dict[str, Any]]:
    """One entry for each column of the matrix and each plane, largest first.

    `scaled` is for the change that `effect` names, `unscaled` for one unit of the table.
    """
    names, scales = encoder.names, encoder.scales
    if planes(model) is None:
        return []
    W = np.asarray(model.coef_, dtype=np.float64).reshape(-1, len(names))
    folds = [
        np.asarray(fit.coef_, dtype=np.float64).reshape(W.shape)
        for fit in contest.judged.outer.estimators or ()
    ]
    spread = np.array(folds) if folds else W[None]
    reason = _no_interval(contest.entry)
    found = []
    for k in range(len(W)):
        plane = task.classes[k] if len(W) > 1 else task.positive or task.target
        for j, name in enumerate(names):
            found.append(
                {
                    "column": name,
                    "from": encoder.origins[j].name,
                    "for": plane,
                    "effect": _effect(encoder, j),
                    "scaled": with_interval(W[k, j], reason),
                    "unscaled": with_interval(W[k, j] / scales[j], reason),
                    "scale": plain(scales[j]),
                    "fold_low": plain(spread[:, k, j].min()),
                    "fold_high": plain(spread[:, k, j].max()),
                }
            )
    return sorted(found, key=lambda one: -abs(one["scaled"]["value"]))


def _effect(encoder: Encoder, j: int) -> str:
    """The change of a table's column that one unit of an encoded column is."""
    plan = encoder.origins[j]
    if plan.kind == "text":
        return "the word in the text"
    if plan.kind in ("number", "date") and encoder.names[j] == plan.name:
        unit = " days" if plan.kind == "date" else ""
        return f"one standard deviation ({plan.scale:.4g}{unit})"
    return "yes instead of no"


def _no_interval(entry: CatalogueEntry) -> str:
    if not entry.grid:  # no penalty
        return "the model was chosen on these rows, which such an interval would ignore"
    return "a penalised coefficient has no interval of known coverage"


# ------------------------------------------------------------------------------- certificate


def certificate_numbers(model: Any, X: Any, y: NDArray[Any]) -> dict[str, Any]:
    """What the fit proved, the same recomputed from its coefficients, and how it ran."""
    proof = vars(model).get("certificate_")
    if not isinstance(proof, Certificate):
        return {"certified": False, "reason": "this model proves nothing about its fit"}
    again = certify(model, X, y)
    tol = tolerance_of(model, proof)
    closed = bool(vars(model).get("converged_", proof.closed(tol)))
    certified = closed and proof.kind != "estimate"
    steps = vars(model).get("history_") or (proof,)
    return {
        "certified": certified,
        **({} if certified else {"reason": _why_not(proof, tol)}),
        "words": str(proof),
        "definition": definition_of(model),
        "of": model.objective if isinstance(model, SelfCertified) else "",
        **proved(proof),
        "recomputed": proved(again),
        "tolerance": tol,
        "steps": proof.steps,
        "stopping_rule": _stopping_rule(proof),
        "condition": _condition(X),
        "threads": thread_count(),
        "rows": X.shape[0],
        "columns": X.shape[1],
        "history": [{"step": k, **proved(one)} for k, one in enumerate(steps)],
    }


def tolerance_of(model: Any, proof: Certificate) -> float:
    """The error up to which a fit is done; `tol` of a closed form is about something else."""
    if proof.kind in ("exact", "eigen"):
        return CLOSED_FORM
    return float(model.get_params().get("tol", 0.0))


def _stopping_rule(proof: Certificate) -> str:
    if proof.kind == "exact":
        return "a closed form: there is nothing to stop"
    if proof.kind == "eigen":
        return "eigenvectors to rounding: there is nothing to stop"
    if proof.residual is not None:
        return "the conditions of optimality are missed by at most the tolerance"
    return "the proved relative gap is at most the tolerance"


def definition_of(model: Any) -> str:
    """What the certified number is called where it is a definition, or nothing of an objective."""
    return model.definition if isinstance(model, SelfCertified) else ""


def certificate_seconds(model: Any) -> dict[str, Any]:
    """Seconds of the fit and of each of its steps."""
    proof = vars(model).get("certificate_")
    if not isinstance(proof, Certificate):
        return {}
    steps = vars(model).get("history_") or (proof,)
    return {"fit": plain(proof.seconds), "history": [plain(one.seconds) for one in steps]}


def _why_not(proof: Certificate, tol: float) -> str:
    if proof.kind == "estimate":
        return "the solver's gap is an estimate, not a proof"
    return f"what is proved, {proof.reached()}, is above the tolerance {tol:.2g}"


def _condition(X: Any) -> dict[str, Any]:
    """The condition number of the encoded training rows, of their independent part."""
    if sparse.issparse(X):
        return {"value": None, "reason": "the encoded rows are sparse: it is not computed"}
    if X.shape[0] * float(X.shape[1]) ** 2 > LARGEST:
        return {"value": None, "reason": "the table is too large to wait for it"}
    R = np.linalg.qr(X - X.mean(axis=0), mode="r")
    sigma = np.linalg.svd(R, compute_uv=False)
    rank = int((sigma > sigma[0] * max(X.shape) * np.finfo(np.float64).eps).sum())
    value = float(sigma[0] / sigma[rank - 1]) if rank else 1.0
    return {"value": plain(value), "reason": "a fact of the training rows", "rank": rank}
