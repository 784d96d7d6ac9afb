"""Checks of the models against a constant, each other and the challenger."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from fenchel.app.report.checks.finding import Finding, check, listed
from fenchel.app.report.estimates import interval_words
from fenchel.data.display.rounding import percent
from fenchel.show.formatting import capital

Numbers = dict[str, Any]
RANGE = 5.0  # standard errors that five folds range over with probability below 0.4 %


def checks(numbers: Numbers) -> Iterator[Finding]:
    """Whether a model beats a constant, is stable over folds, distinct from others, linear."""
    held = numbers["contest"]
    chosen = next(one for one in held["models"] if one["name"] == held["chosen"])
    yield _against_constant(numbers, chosen)
    scores = chosen["folds"]
    spread = max(scores) - min(scores)
    expected = fold_error(numbers, chosen["score"]["value"])
    said = (
        f"The folds range from {min(scores):.3g} (fold {chosen['worst_fold']}) to "
        f"{max(scores):.3g} in {held['metric']}."
    )
    yield check(
        "M2",
        "spread over the folds",
        spread > RANGE * expected,
        "warning",
        said,
        said,
        f"By chance folds of this size range over {RANGE * expected:.2g} at most: some rows differ "
        "from the others, or come in groups.",
        "Look for groups and for order in the table; split by --groups or --time if there are any.",
    )
    yield _others(held)
    if numbers["challenger"] is not None:
        yield _challenger(numbers)


def fold_error(numbers: Numbers, score: float) -> float:
    """The standard error of the score of one fold, as independent rows have it.

    AUC: Hanley and McNeil, 1982; accuracy: binomial; R²: 2|R|(1 - R²)/√n, doubled since residuals
    are seldom normal, and no less than 2/√n.
    """
    held = numbers["contest"]
    n = max(held["rows"] / held["outer_folds"], 1.0)
    if held["metric"] == "R²":
        return max(4.0 * math.sqrt(max(score, 0.0)) * abs(1.0 - score), 2.0) / math.sqrt(n)
    p = min(max(score, 0.0), 1.0)
    if held["metric"] == "accuracy":
        return math.sqrt(max(p * (1.0 - p), 1.0 / n) / n)
    share = min(one["rows"] for one in numbers["balance"]) / max(numbers["rows"]["used"], 1)
    few, many = max(share * n, 1.0), max((1.0 - share) * n, 1.0)
    first, second = p / (2.0 - p), 2.0 * p * p / (1.0 + p)
    spread = p * (1.0 - p) + (few - 1.0) * (first - p * p) + (many - 1.0) * (second - p * p)
    return math.sqrt(max(spread, 0.25 / max(few, many)) / (few * many))


def _against_constant(numbers: Numbers, chosen: Numbers) -> Finding:
    worth, metric = numbers["worth"], numbers["contest"]["metric"]
    above = chosen["above_baseline"]["value"]
    return check(
        "M1",
        "comparison with a constant",
        not worth["better"],
        worth["severity"],
        worth["words"],
        f"The model is better than a constant prediction by {above:.3g} in {metric} over the "
        "folds, and on the test rows.",
        "The columns may not predict the target, or the rows are too few to show it.",
        "Do not use the model as it is; look for other columns or more rows.",
    )


def _others(held: Numbers) -> Finding:
    close = [
        one["name"]
        for one in held["models"]
        if one["below_chosen"] and one["below_chosen"].get("low", 0.0) <= 0.0
    ]
    rule = f"'{held['chosen']}' was chosen because {held['rule']}"
    if len(held["models"]) == 1:
        return check(
            "M3", "other models", False, "info", "", "No other model was compared.", "", ""
        )
    return {
        "code": "M3",
        "name": "other models",
        "severity": "info" if close else "passed",
        "what": (
            f"The folds cannot tell {listed(close)} from the chosen model. {rule}."
            if close
            else f"No other model is as good over the folds. {rule}."
        ),
        "why": "Differences of this size arise by chance." if close else "",
        "do": "Another of these models may be used instead, by --model NAME." if close else "",
    }


def _challenger(numbers: Numbers) -> Finding:
    one = numbers["challenger"]
    above, metric = one["above_chosen"], one["metric"]
    low = above.get("low", above["value"])
    both = (
        f"{one['words']} reach {one['score']['value']:.3f}, your model {one['chosen']['value']:.3f}"
    )
    there = (
        f" in {metric} over the folds (difference {interval_words(above)}; on "
        f"the test rows {one['test']:.3f} and {one['chosen_test']:.3f})"
    )
    clear = low > 0.0
    large = clear and above["value"] >= one["material"]
    linear = numbers["model"]["linear"]
    again = numbers["duplicates"]["rows"] / max(numbers["rows"]["used"], 1)
    if clear and again > 0.01:
        return check(
            "M4",
            "a flexible model",
            True,
            "info",
            f"{capital(both)}{there}; but {percent(again)} of the rows are duplicates, which trees "
            "recognise from one fold to the next.",
            "",
            "The comparison says nothing about the relation until duplicates are removed.",
            "Remove duplicate rows, then compare again.",
        )
    return check(
        "M4",
        "a flexible model",
        clear,
        "warning" if large else "info",
        f"{capital(both)}{there}: "
        + (_beaten(linear) if large else f"{_kind(linear)} loses little."),
        f"{capital(both)}{there}: no better, {_kind(linear)} loses nothing that can be shown.",
        "Trees find curves and interactions of columns that a linear model cannot represent."
        if linear
        else "Trees find steps and interactions of columns that distances between rows blur.",
        "Add columns that carry the relation (squares, products, categories of a number), or use "
        "a flexible model where no proof is needed.",
    )


def _kind(linear: bool) -> str:
    return "the linear model" if linear else "the chosen model"


def _beaten(linear: bool) -> str:
    """What it tells that trees are much better."""
    if linear:
        return "the relation is not linear."
    return "the relation has a form that the chosen model does not find."
