"""Every number of a study, ready for JSON."""

from __future__ import annotations

import math
import platform
import sys
from dataclasses import asdict, replace
from importlib.metadata import version
from typing import Any

import numpy as np

from fenchel.app.metrics import NAMES, metrics
from fenchel.app.predictions import answers_of, gives_probabilities
from fenchel.app.report.analysis import (
    binary as two,
)
from fenchel.app.report.analysis import (
    data_card as card,
)
from fenchel.app.report.analysis import (
    multiclass as several,
)
from fenchel.app.report.analysis import (
    regression as number,
)
from fenchel.app.report.analysis import (
    subgroups as errors,
)
from fenchel.app.report.analysis.cluster_bootstrap import cluster_interval, weighted_score
from fenchel.app.report.analysis.model_comparison import contest_numbers, seconds
from fenchel.app.report.analysis.selected_model import (
    certificate_numbers,
    certificate_seconds,
    planes,
    winner_numbers,
)
from fenchel.app.report.checks import findings
from fenchel.app.report.estimates import Entry, plain, with_interval, without_interval
from fenchel.app.report.options import Options
from fenchel.app.report.structure.clusters import cluster_numbers
from fenchel.app.report.structure.embeddings import embedding_numbers, why_unmapped
from fenchel.app.report.study import Study, training_score
from fenchel.app.table.files.table_reader import TableSource
from fenchel.app.table.task import Task
from fenchel.score.estimate import Estimate
from fenchel.score.metrics.calibration_bins import bins_of
from fenchel.show.binary.threshold_data import OperatingPoints

Numbers = dict[str, Any]
FORMAT = 1
BINS = 10
WORDS = {
    "auc": "AUC",
    "gini": "Gini coefficient",
    "ks": "Kolmogorov–Smirnov statistic",
    "calibration_slope": "calibration slope (1 is right)",
    "calibration_intercept": "calibration intercept (0 is right)",
    "average_precision": "average precision",
    "log_loss": "log loss",
    "brier": "Brier score",
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "mcc": "Matthews correlation",
    "f1": "F1",
    "precision": "precision",
    "recall": "recall (true positive rate)",
    "specificity": "specificity",
    "r2": "R²",
    "mae": "mean absolute error",
    "rmse": "root mean squared error",
    "bias": "mean error (prediction less target)",
}
LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "polars", "altair", "vl-convert-python")


def shared_numbers(source: TableSource, task: Task, options: Options) -> Numbers:
    """What every report tells: the file, the task, how to make it again."""
    return {
        "format": FORMAT,
        "source": source.to_dict(),
        "task": {
            "kind": task.kind,
            "target": task.target,
            "classes": list(task.classes),
            "positive": task.positive,
            "positive_by": task.positive_by,
            "reason": task.reason,
            "notes": list(task.notes),
        },
        "reproduction": {
            "command": options.command,
            "seed": options.seed,
            "versions": _versions(),
            "options": plain(
                {
                    "target": task.target,
                    "positive": options.positive,
                    "groups": options.by.groups,
                    "time": options.by.time,
                    "test_share": options.test_share,
                    "cost_fp": options.cost_fp,
                    "cost_fn": options.cost_fn,
                    "alpha": options.alpha,
                    "delta": options.delta,
                    "level": options.level,
                    "drop": options.drop,
                    "text": options.text,
                    "as_is": options.as_is,
                    "models": options.models,
                    "challenger": options.challenger,
                    "clusters": options.clusters,
                }
            ),
        },
    }


def _versions() -> dict[str, str]:
    own = sys.modules["fenchel"].__version__
    others = {name: version(name) for name in LIBRARIES}
    return {"fenchel": own, "python": platform.python_version(), **others}


def study_numbers(found: Study, points: OperatingPoints | None) -> Numbers:
    """All parts of a study of a table with a target."""
    task, level = found.parts.task, found.options.level
    judged = _judged(found, points)
    head = judged["metrics"][0]
    compared = contest_numbers(found.contest, level)
    matrix = card.correlation_matrix(found.parts.frame, found.profiles)
    numbers: Numbers = {
        **shared_numbers(found.source, task, found.options),
        "rows": card.row_numbers(found.parts),
        "columns": card.column_numbers(found.profiles, found.encoder),
        "balance": card.balance(found.parts, level),
        "target": card.target_numbers(found.parts) if task.kind == "number" else None,
        "duplicates": card.duplicates(found.parts),
        "correlations": card.correlations(*matrix, level),
        "correlation_matrix": card.matrix_numbers(*matrix[:2]),
        "near_duplicates": [asdict(one) for one in found.near_duplicates],
        "total_rows": [asdict(one) for one in found.total_rows],
        "target_doubts": list(found.target_doubts),
        "encoding": {
            "columns": len(found.encoder.names),
            "missing_rule": found.encoder.missing_rule,
            "unknown_rule": found.encoder.unknown_rule,
            "surprises": list(found.surprises),
        },
        "headline": {"key": head["key"], **{k: head[k] for k in ("name", "model", "baseline")}},
        "worth": worth(compared, head),
        "contest": compared,
        "challenger": None
        if found.challenger is None
        else found.challenger.numbers(found.contest, head["model"]["value"], level),
        "model": {
            **winner_numbers(task, found.winner, found.contest, found.encoder, level),
            "importance": found.importance,
            "unpenalised": found.unpenalised,
        },
        "certificate": certificate_numbers(found.model, found.X, found.y),
        "training": {
            "score": training_score(found),
            "constant": _constant(found),
            "one_hot": found.encoder.one_hot,
            "separated": bool(task.classes)
            and bool((found.model.predict(found.X) == found.y).all()),
        },
        "clusters": _clusters(found),
        "embeddings": [embedding_numbers(one, found.encoder.names) for one in found.maps],
        "warnings": list(found.warnings),
        **judged,
    }
    numbers["findings"] = findings(numbers)
    return plain(numbers)


def _clusters(found: Study) -> Numbers | None:
    """Clusters of the training rows, where they were asked for, or why there are none."""
    if not found.options.clusters:
        return None
    names = found.encoder.names
    held = [cluster_numbers(one, names) for one in found.clusterings]
    return {"clusterings": held} if held else {"reason": why_unmapped(found.X)}


def _constant(found: Study) -> bool:
    """Whether the model says the same of every training row."""
    W = planes(found.model)
    if W is not None:
        return not W.any()
    said = answers_of(found.model, found.X).single
    return bool((said == said[0]).all())


def study_seconds(found: Study) -> dict[str, Any]:
    """What differs from run to run."""
    return {"folds": seconds(found.contest), "certificate": certificate_seconds(found.model)}


def _judged(found: Study, points: OperatingPoints | None) -> Numbers:
    """What the test part says, task by task."""
    task, options = found.parts.task, found.options
    X, y, said = found.X_test, found.y_test, found.said
    held = found.parts.frame[found.parts.test]
    judged: Numbers = {
        "metrics": _metrics(found),
        "subgroups": errors.subgroups(held, found.profiles, task, y, said, options.level),
    }
    if task.kind == "number":
        loss = np.abs(said - y)
        judged["residuals"] = number.residual_numbers(y, said)
    elif task.kind == "several classes":
        score = several.class_scores(found.model, X)
        loss = score.max(axis=1) - score[np.arange(len(y)), y]
        judged["classes"] = several.class_numbers(found.model, X, y, task.classes, options.level)
    else:
        assert found.score is not None
        loss = np.where(said != y, np.abs(found.score - found.own), 0.0)
        judged |= _two(found, points)
    if task.kind != "number":
        judged["confusion"] = two.confusion_numbers(y, said, task.classes)
        judged["risk"] = _risk(found)
    judged["worst_rows"] = errors.worst_rows(
        held,
        found.parts.numbers[found.parts.test],
        task,
        y,
        said,
        loss,
        found.encoder,
        options.show_rows,
    )
    return judged


def _metrics(found: Study) -> list[Numbers]:
    """Every metric of the model with its interval, and of the constant beside it."""
    task, level = found.parts.task, found.options.level
    both = [
        metrics(task, found.y_test, answers_of(judge, found.X_test), level)
        for judge in (found.model, found.constant)
    ]
    groups = found.parts.groups
    if groups is not None:
        head = NAMES[task.kind][0]
        score = weighted_score(task.kind, found.y_test, found.said, found.score)
        value, seed = float(both[0][head]), found.options.seed
        here = groups[found.parts.test]
        both[0][head] = cluster_interval(score, here, value, level, seed)
    words = {**WORDS, **({"f1": "F1, mean over the classes"} if len(task.classes) > 2 else {})}
    return [
        {
            "key": key,
            "name": words[key],
            "model": _entry(key, both[0]),
            "baseline": _entry(key, both[1]),
        }
        for key in NAMES[task.kind]
    ]


def _entry(key: str, found: dict[str, Any]) -> Entry:
    if key not in found:
        return without_interval(two.NO_PROBABILITY)
    value = found[key]
    return without_interval(value.method) if math.isnan(value) else with_interval(value)


def _two(found: Study, points: OperatingPoints | None) -> Numbers:
    assert found.score is not None and points is not None
    y, score = found.y_test, found.score
    table = two.decisions(y, score, points.threshold, found.options)
    probable = gives_probabilities(found.model)
    return {
        "decisions": {
            "score": "its probability of the positive class" if probable else "its score",
            "start": points.start,
            "costs": {"fp": found.options.cost_fp, "fn": found.options.cost_fn},
            "table": two.table_numbers(table),
            "marked": two.marked_rows(y, score, found.own, found.chosen, found.options),
        },
        "calibration": _calibration(found) if probable else {"reason": two.NO_PROBABILITY},
    }


def _calibration(found: Study) -> Numbers:
    """Groups of equally many test rows: predicted probability and observed share."""
    assert found.score is not None
    level = found.options.level
    held = bins_of(found.score, found.y_test == 1, bins=BINS, level=level)
    how = "exact binomial, all groups together"
    bins = [
        {
            "predicted": plain(held.predicted[k]),
            "rows": int(held.rows[k]),
            "observed": with_interval(
                Estimate(held.observed[k], held.low[k], held.high[k], level=level, method=how)
            ),
            "off": bool(held.is_off[k]),
        }
        for k in range(len(held.rows))
    ]
    return {"bins": bins, "off": held.n_off}


def worth(compared: Numbers, head: Numbers) -> Numbers:
    """Whether the chosen model is better than a constant: over the folds, and on the test rows.

    A certificate says that a fit is right; this says whether it is of any use.
    """
    metric = compared["metric"]
    chosen = next(one for one in compared["models"] if one["name"] == compared["chosen"])
    above, test = chosen["above_baseline"], head["model"]
    constant = head["baseline"]["value"]
    said = []
    sure_folds = above.get("low", above["value"]) > 0.0
    sure_test, worse = True, above["value"] <= 0.0
    if not sure_folds:
        reach = ", and the interval of the difference reaches zero" if not worse else ""
        size = f"{abs(above['value']):.3g}"
        side = "equal to" if size == "0" else "below" if worse else "above"
        apart = side if size == "0" else f"{size} {side}"
        said.append(
            f"Over the folds {metric} of the model is {apart} that of a constant prediction{reach}."
        )
    if test["value"] is not None and constant is not None:
        below = test["value"] <= constant
        sure_test = test.get("low", test["value"]) > constant
        worse = worse or below
        if not sure_test:
            how = "is no better than" if below else "has an interval that reaches"
            said.append(
                f"On the test rows {head['name']} {test['value']:.3g} {how} that of a constant "
                f"prediction, {constant:.3g}."
            )
    # Five folds have little power, and so has a small test part: one of them is enough, as long as
    # the other does not speak against the model.
    better = not worse and (sure_folds or sure_test)
    short = "is no better" if worse else "is not shown to be better"
    return {
        "better": better,
        "severity": "problem" if worse else "warning",
        "words": " ".join(said),
        "short": "" if better else f"{short} than a constant prediction",
    }


def _risk(found: Study) -> Numbers:
    """Bounds of the error of new rows, in numbers and in words."""
    assert found.risk is not None
    risk = replace(found.risk, classes=found.parts.task.classes)
    sides = {
        "error": risk.error,
        "false_positive": risk.false_positive,
        "false_negative": risk.false_negative,
    }
    bounds = {
        key: {
            "value": plain(side.rate),
            "low": 0.0,
            "high": plain(side.upper),
            "level": 1.0 - risk.delta,
            "method": "exact binomial, one-sided",
            "errors": side.errors,
            "rows": side.n,
        }
        for key, side in sides.items()
        if side is not None
    }
    return {"bounds": bounds, "sentences": list(risk.sentences)}
