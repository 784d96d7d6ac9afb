"""Two classes, judged once on the locked test part."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.app.predictions import gives_probabilities
from fenchel.app.report.analysis.model_comparison import Contest
from fenchel.app.report.estimates import plain, without_interval
from fenchel.score.curves.curve import Curve
from fenchel.score.decision.threshold import cost_threshold, neyman_pearson_threshold
from fenchel.score.decision.threshold_table import ThresholdTable, threshold_table

Floats = NDArray[np.float64]
NO_PROBABILITY = "this model gives scores, not probabilities"


def positive_score(model: Any, X: Floats) -> Floats:
    """The probability of the positive class, or the score where there is none."""
    if gives_probabilities(model):
        return np.asarray(model.predict_proba(X)[:, 1], dtype=np.float64)
    return np.asarray(model.decision_function(X), dtype=np.float64)


def own_threshold(model: Any, score: Floats, said: NDArray[Any]) -> float:
    """From where on the model itself calls a row positive; above it where a tie, as of the votes of
    neighbours, goes to the other class."""
    at = 0.5 if gives_probabilities(model) else 0.0
    tied = score == at
    return float(np.nextafter(at, np.inf)) if tied.any() and not said[tied].any() else at


def fold_scores(contest: Contest, X: Floats) -> tuple[NDArray[np.intp], Floats]:
    """(rows, scores) of the training rows, each by the fit of a fold that did not see it."""
    fits = contest.judged.outer.estimators or ()
    rows = np.concatenate([test for _, test in contest.folds])
    parts = [
        positive_score(fit, X[test]) for fit, (_, test) in zip(fits, contest.folds, strict=True)
    ]
    return rows, np.concatenate(parts)


def chosen_threshold(
    contest: Contest, X: Floats, y: NDArray[Any], cost_fp: float, cost_fn: float
) -> float:
    """The threshold of least cost on the folds of the training part; inf flags nothing."""
    rows, score = fold_scores(contest, X)
    curve = Curve.of(y[rows], score, pos_label=1)
    return float(cost_threshold(curve, cost_fp=cost_fp, cost_fn=cost_fn))


def decisions(y: NDArray[Any], score: Floats, thresholds: Any, options: Any) -> ThresholdTable:
    """What each threshold does to the test rows."""
    return threshold_table(
        y,
        score,
        thresholds=thresholds,
        cost_fp=options.cost_fp,
        cost_fn=options.cost_fn,
        level=options.level,
        pos_label=1,
    )


RATES = ("tpr", "fpr", "precision", "flagged", "cost")


def table_numbers(table: ThresholdTable) -> dict[str, Any]:
    """The columns of the table, and what they are about."""
    return {
        "columns": plain(table.to_dict()),
        "positives": table.n_positive,
        "negatives": table.n_negative,
        "level": table.level,
        "method": "exact binomial, each number by itself, at a threshold fixed beforehand",
    }


def marked_rows(
    y: NDArray[Any], score: Floats, own: float, chosen: float, options: Any
) -> list[dict[str, Any]]:
    """The thresholds that have a name: the model's own, that of least cost, Neyman-Pearson's."""
    rows = [
        _row("own", "the model's own", "fixed by the model", own, y, score, options),
        _row(
            "cost",
            "least cost",
            f"least cost on the folds of the training part (a false alarm costs "
            f"{options.cost_fp:g}, a miss {options.cost_fn:g})",
            chosen,
            y,
            score,
            options,
        ),
    ]
    name, alpha, delta = "Neyman–Pearson", options.alpha, options.delta
    try:
        t = neyman_pearson_threshold(score[y == 0], alpha, delta)
    except ValueError as error:
        return [*rows, {"key": "np", "name": name, "reason": str(error)}]
    why = (
        f"false positive rate at most {100 * alpha:g} % with probability "
        f"{1.0 - t.violation:.4g}, by order statistic {t.k} of {t.n} negatives of the test part"
    )
    above = float(np.nextafter(float(t), np.inf))
    row = _row("np", name, why, above, y, score, options)
    row["fpr"] = {
        "value": row["fpr"]["value"],
        "low": 0.0,
        "high": alpha,
        "level": 1.0 - t.violation,
        "method": "Neyman-Pearson order statistic, for new rows",
    }
    for rate in ("precision", "flagged", "cost"):
        reason = "the negatives of these rows set the threshold"
        row[rate] = {"value": row[rate]["value"], "reason": reason}
    return [*rows, row]


def _row(
    key: str, name: str, why: str, threshold: float, y: NDArray[Any], score: Floats, options: Any
) -> dict[str, Any]:
    table = decisions(y, score, [threshold], options)
    columns = {key: column[0] for key, column in table.to_dict().items()}
    found: dict[str, Any] = {
        "key": key,
        "name": name,
        "why": why,
        "threshold": plain(threshold),
        "tp": int(columns["tp"]),
        "fp": int(columns["fp"]),
    }
    for rate in RATES:
        found[rate] = {
            "value": plain(columns[rate]),
            "low": plain(columns[f"{rate}_low"]),
            "high": plain(columns[f"{rate}_high"]),
            "level": table.level,
            "method": "exact binomial bounds",
        }
    if not found["tp"] + found["fp"]:
        found["precision"] = without_interval("nothing is flagged")
    return found


def confusion_numbers(y: NDArray[Any], said: NDArray[Any], classes: Any) -> dict[str, Any]:
    """Rows by true and predicted class."""
    k = len(classes)
    counts = np.zeros((k, k), dtype=np.int64)
    np.add.at(counts, (y, said), 1)
    return {"classes": list(classes), "counts": plain(counts)}
