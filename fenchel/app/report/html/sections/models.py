"""How the models of the task compare, and what the chosen one looks like."""

from __future__ import annotations

from typing import Any

from fenchel.app.report.figures import Figure
from fenchel.app.report.html.layout import (
    figure,
    folded,
    grid,
    section,
    shared,
    spelled,
    table,
    timed,
    value_of,
)
from fenchel.app.report.html.markup import Markup, joined, named, tag
from fenchel.app.report.verdict import short
from fenchel.show.formatting import capital, number

Numbers = dict[str, Any]
MOST_COEFFICIENTS = 40
MOST_COLUMNS = 60


def contest_section(numbers: Numbers, figures: dict[str, Figure]) -> Markup:
    """Cross-validation of every model, fold by fold."""
    held = numbers["contest"]
    metric, folds = held["metric"], held["outer_folds"]
    rows = [_contestant(one, held) for one in held["models"]]
    base = held["baseline"]
    rows.append([f"constant: {base['words']}", value_of(base["score"]), "", "", *([""] * 5)])
    trees = numbers["challenger"]
    if trees is not None:
        words = f"challenger: {trees['words']}, which are never chosen"
        below = value_of(trees["below_chosen"])
        took = timed(f"seconds.fitting the challenger, {trees['words']}")
        rows.append([words, value_of(trees["score"]), "", below, "", "", took, "", ""])
    header = [
        "model",
        f"mean {metric}",
        "above the constant",
        "below the chosen",
        "spread",
        "worst fold",
        "fit, s",
        "predict, s",
        "worst gap",
    ]
    sampled = ""
    if held["rows"] < numbers["rows"]["training"]:
        sampled = f" They were compared on {held['rows']:,} training rows drawn at random."
    name = next(one["words"] for one in held["models"] if one["name"] == held["chosen"])
    lead = (
        f"Nested cross-validation: every model chose its parameters by {held['inner_folds']} inner "
        f"folds within each of {folds} outer folds of the training rows, and was judged on rows "
        "that took no part in either. Intervals allow for overlapping folds (corrected resampled "
        f"t). Chosen: {name.partition(':')[0]}, because {held['rule']}.{sampled}"
    )
    each = [
        [named(one["words"], 60), *(number(score, 4) for score in one["folds"])]
        for one in [*held["models"], base]
    ]
    return section(
        "models",
        "Models compared",
        table("Nested cross-validation", header, rows, class_="tight named"),
        _left_out(held),
        grid(figure("comparison", figures), figure("fold_scores", figures)),
        folded(
            "Scores of every fold",
            table(
                f"{metric} of every fold",
                ["model", *(f"fold {k + 1}" for k in range(folds))],
                each,
            ),
        ),
        lead=lead,
    )


def _left_out(held: dict[str, Any]) -> Markup | None:
    if not held["left_out"]:
        return None
    words = "; ".join(f"{one['words']} ({one['reason']})" for one in held["left_out"])
    return tag("p", f"Left out: {words}.", class_="why")


def _contestant(one: dict[str, Any], held: dict[str, Any]) -> list[Any]:
    chosen = one["name"] == held["chosen"]
    # Findings and figures call the models by the names that --model takes.
    option = tag("span", f"--model {one['name']}", class_="why")
    tagged = tag("span", "chosen", class_="tagged") if chosen else None
    name = joined([one["words"], tagged, option])
    worst = one["folds"][one["worst_fold"] - 1]
    gap = one["worst_gap"]
    return [
        name,
        value_of(one["score"]),
        value_of(one["above_baseline"]),
        value_of(one["below_chosen"]),
        number(one["spread"], 2),
        f"{number(worst, 3)} (fold {one['worst_fold']})",
        timed(f"folds.{one['name']}.fit"),
        timed(f"folds.{one['name']}.predict"),
        "none" if gap is None else f"{gap:.1e}" if gap else "0",
    ]


def model_section(numbers: Numbers, figures: dict[str, Figure]) -> Markup:
    """Parameters, coefficients, and how the score moves with the parameter and with the rows."""
    held = numbers["model"]
    curve = held["validation_curve"]
    why = None
    if "reason" in curve and held["leave_one_out"] is None:
        why = tag("p", f"There is no validation curve: {curve['reason']}.", class_="why")
    return section(
        "model",
        "The chosen model",
        # Bars of few columns are low: they stand beside the coefficients or by themselves.
        grid(figure("importance", figures), figure("coefficients", figures)),
        grid(
            figure("validation_curve", figures),
            figure("leave_one_out", figures),
            figure("path", figures),
            figure("learning_curve", figures),
            figure("boundary", figures),
        ),
        why,
        _leave_one_out(held["leave_one_out"]),
        _bayes_error(numbers),
        _unpenalised(numbers),
        _coefficients(numbers),
        _importance(held["importance"]),
        _curves(held),
        folded(
            "All parameters",
            table(
                f"Parameters of {held['class']}",
                ["parameter", "value"],
                [[key, named(short(value), 60)] for key, value in held["params"].items()],
                left=(0, 1),
            ),
        ),
        lead=f"{capital(held['words'])}, fitted to all {numbers['rows']['training']:,} training "
        "rows"
        + (
            f"; its parameters were chosen by cross-validated {held['chosen_by']}."
            if held["chosen_params"]
            else "."
        ),
    )


def _leave_one_out(held: dict[str, Any] | None) -> Markup | None:
    if held is None:
        return None
    least, most = (short(value) for value in (held["values"][0], held["values"][-1]))
    if held["parameter"] == "n_neighbors":
        some = "neighbour has" if held["chosen"] == 1 else "neighbours have"
        said, of = f"{held['chosen']} {some}", f"1 to {most}"
    else:
        said, of = f"The bandwidth {short(held['chosen'])} has", f"those from {least} to {most}"
    return tag(
        "p",
        f"{said} the least error when each training row is left out in turn, of {of}. The least of "
        "many errors is a little too small: that on new rows is told by the test part.",
        class_="why",
    )


def _bayes_error(numbers: Numbers) -> Markup | None:
    """The error of the best rule if the fitted classes were the truth, beside that of the test."""
    held = numbers["model"]["bayes_error"]
    if held is None:
        return None
    error = numbers["risk"]["bounds"]["error"]
    rows = [
        [
            "if the fitted Gaussian classes were the truth, of the best rule",
            shared(held),
            spelled(held),
        ],
        [
            "of the model on the test rows",
            shared({"value": error["value"], "reason": "counted"}),
            f"{error['errors']} of {error['rows']}",
        ],
    ]
    note = (
        "Where the two lie far apart the classes are not Gaussian, or their parameters are not "
        "known well enough."
    )
    return folded(
        "Bayes error of the fitted classes",
        table("Error rates", ["", "error rate", "by"], rows, left=(0, 2)),
        tag("p", note, class_="why"),
    )


def _coefficients(numbers: Numbers) -> Markup:
    held = numbers["model"]["coefficients"]
    if not held:
        return tag("p", "This model has no coefficients.", class_="why")
    several = numbers["task"]["kind"] == "several classes"
    zero = sum(one["scaled"]["value"] == 0.0 for one in held)
    rows = []
    for one in held[:MOST_COEFFICIENTS]:
        rows.append(
            [
                named(one["column"], 60),
                *([named(one["for"], 30)] if several else []),
                one["effect"],
                number(one["scaled"]["value"], 4),
                f"{number(one['fold_low'], 3)} to {number(one['fold_high'], 3)}",
                number(one["unscaled"]["value"], 4) if one["scale"] != 1.0 else "",
            ]
        )
    header = [
        "column",
        *(["class"] if several else []),
        "effect of",
        "coefficient",
        "range over the folds",
        "per unit of the column",
    ]
    reason = held[0]["scaled"]["reason"]
    note = f"No intervals: {reason}. The range over the folds shows how stable a coefficient is."
    if zero:
        note += f" {zero} of {len(held)} coefficients are zero."
    more = f", the {len(rows)} largest of {len(held)}" if len(held) > len(rows) else ""
    return folded(
        f"Coefficients, scaled and unscaled{more}",
        table("Coefficients", header, rows, left=(0, 1, 2) if several else (0, 1)),
        tag("p", note, class_="why"),
    )


def _unpenalised(numbers: Numbers) -> Markup | None:
    """Odds ratios or slopes with intervals, from the fit without a penalty; or why not."""
    held = numbers["model"]["unpenalised"]
    kind = {"two classes": "Odds ratios", "number": "Slopes"}.get(numbers["task"]["kind"])
    if kind is None:
        return None
    if "reason" in held:
        why = held["reason"].rstrip(".")
        return tag("p", f"{kind} with intervals are not given: {why}.", class_="why")
    rows = [
        [
            named(one["column"], 60),
            one["unit"],
            value_of(one["estimate"]),
            "< 0.0001" if one["p_value"] < 1e-4 else number(one["p_value"], 2),
        ]
        for one in held["columns"]
    ]
    header = ["column", "for", kind.lower()[:-1], "p-value"]
    method = f"({held['method']} intervals, each by itself)"
    note = (
        f"The same columns fitted to the training rows without a penalty {method}: a penalised "
        "coefficient is drawn towards zero by an unknown amount, and no interval around it has a "
        "known coverage."
    )
    if not numbers["model"]["linear"]:
        fit = "logistic regression" if kind == "Odds ratios" else "least squares"
        note = (
            f"These are not of the chosen model, which has no coefficients, but of {fit} on the "
            f"same columns and training rows {method}: what each column does where its effect is "
            "linear and the others are held."
        )
    return folded(
        f"{kind} with intervals",
        table(f"{kind} of the unpenalised fit", header, rows, left=(0, 1)),
        tag("p", note, class_="why"),
    )


def _importance(held: dict[str, Any]) -> Markup:
    rows = [
        [named(one["column"], 60), value_of(one["rise"])] for one in held["columns"][:MOST_COLUMNS]
    ]
    return folded(
        "Permutation importance in numbers",
        table(
            f"Increase of the {held['loss']} on {held['rows']:,} test rows when the column is "
            "shuffled",
            ["column", "increase"],
            rows,
        ),
    )


def _with_end(metric: str) -> str:
    """The name of a metric, closed by a comma where it has one already."""
    return f"{metric}," if "," in metric else metric


def _curves(held: dict[str, Any]) -> list[Markup]:
    found = []
    curve = held["validation_curve"]
    if "reason" not in curve:
        rows = [
            [short(value), value_of(test), value_of(train)]
            for value, test, train in zip(
                curve["values"], curve["test"], curve["training"], strict=True
            )
        ]
        header = [curve["parameter"], "validation rows", "training rows"]
        found.append(
            folded(
                "Validation curve in numbers",
                table(f"{_with_end(capital(curve['metric']))} for each value", header, rows),
            )
        )
    curve = held["learning_curve"]
    rows = [
        [f"{size:,}", value_of(test), value_of(train)]
        for size, test, train in zip(curve["rows"], curve["test"], curve["training"], strict=True)
    ]
    header = ["number of training rows", "validation rows", "training rows"]
    found.append(
        folded(
            "Learning curve in numbers",
            table("Scores for each number of rows", header, rows, left=()),
        )
    )
    return found
