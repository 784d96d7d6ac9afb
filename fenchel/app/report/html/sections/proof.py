"""What is proved: the optimum of the fit, and bounds for new rows."""

from __future__ import annotations

from typing import Any

from fenchel.app.report.figures import Figure
from fenchel.app.report.html.layout import (
    figure,
    folded,
    grid,
    placed,
    section,
    table,
    timed,
)
from fenchel.app.report.html.markup import Markup, tag
from fenchel.app.report.verdict import certificate_line
from fenchel.data.display.rounding import UP, percent
from fenchel.show.formatting import capital, number

Numbers = dict[str, Any]
_OF_AN_OBJECTIVE = (
    "The column 'recomputed' has the same numbers, computed again from the fitted {parts} alone. A "
    "certificate is a statement about the computation: no other {parts} of this model have an "
    "objective lower by more than the gap."
)
_OF_A_DEFINITION = (
    "This model minimises nothing: its number is a definition, and was computed without "
    "approximation. The column 'recomputed' has it again, from the fitted model and the rows."
)


def proof_section(
    numbers: Numbers, figures: dict[str, Figure], moving: dict[str, Figure]
) -> Markup:
    """Certificate, its history, and the risk on new rows."""
    held = numbers["certificate"]
    said = certificate_line(numbers)
    if "objective" not in held:
        return section("proof", "Proof", _risk(numbers), lead=f"The fit is {said}.")
    again, exact = held["recomputed"], held["definition"]
    condition, closes = held["condition"], held["residual"] is not None
    rank = f", rank {condition['rank']} of {held['columns']}" if "rank" in condition else ""
    rows = (
        [[exact, f"{held['objective']:.12g}", f"{again['objective']:.12g}"]]
        if exact
        else [
            ["objective reached", f"{held['objective']:.12g}", f"{again['objective']:.12g}"],
            ["lower bound of the objective", _bound(held), _bound(again)],
            ["gap", _gap(held["gap"]), _gap(again["gap"])],
            ["relative gap", _gap(held["relative_gap"]), _gap(again["relative_gap"])],
            *([["residual", _gap(held["residual"]), _gap(again["residual"])]] * closes),
            ["kind of proof", held["kind"], again["kind"]],
        ]
    )
    parts = "coefficients" if numbers["model"]["linear"] else "parameters"
    closed = held["kind"] in ("exact", "eigen") and len(held["history"]) == 1
    run = [
        *([["tolerance", f"{held['tolerance']:g}"]] * (not closed)),
        ["stopping rule", held["stopping_rule"]],
        *([["steps", held["steps"]]] * (not closed)),
        ["seconds", timed("certificate.fit")],
        ["threads", held["threads"]],
        ["rows × columns", f"{held['rows']:,} × {held['columns']:,}"],
        [
            "condition number of the encoded columns",
            (number(condition["value"], 3) + rank) if condition["value"] else condition["reason"],
        ],
    ]
    history = [
        [
            one["step"],
            f"{one['objective']:.9g}",
            _bound(one),
            _gap(one["relative_gap"]),
            one["kind"],
        ]
        for one in held["history"]
        if one["objective"] is not None
    ]
    return section(
        "proof",
        "Proof",
        table("Certificate", ["", "by the fit" if closed else "by the solver", "recomputed"], rows),
        _risk(numbers),
        folded(
            "How it was computed" if closed else "The solver: its run and its convergence",
            table("The run", ["", ""], run),
            grid(
                figure("convergence", figures),
                *(placed(key, one) for key, one in moving.items()),
            ),
            table(
                "Objective and bound after each step",
                ["step", "objective", "bound", "relative gap", "kind"],
                history,
                left=(),
            )
            if not closed
            else None,
        ),
        lead=f"{capital(said)}. {_of(held)}"
        + (_OF_A_DEFINITION if exact else _OF_AN_OBJECTIVE.format(parts=parts)),
    )


def _of(held: dict[str, Any]) -> str:
    return f"The objective is {held['of']}. " if held["of"] else ""


def _bound(one: dict[str, Any]) -> str:
    return "nothing proved" if one["bound"] is None else f"{one['bound']:.12g}"


def _gap(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3g}"


def _risk(numbers: Numbers) -> list[Any]:
    held = numbers.get("risk")
    if held is None:
        return []
    words = {
        "error": "error rate",
        "false_positive": "false positive rate",
        "false_negative": "false negative rate",
    }
    rows = [
        [
            words[key],
            f"{one['errors']} of {one['rows']}",
            f"{percent(one['value'])}, at most {percent(one['high'], UP)}",
            f"{100 * one['level']:g} %",
        ]
        for key, one in held["bounds"].items()
    ]
    sentences = [tag("li", sentence) for sentence in held["sentences"]]
    return [
        tag("h3", "Error on new rows"),
        table("Bounds of the error", ["", "test rows", "rate, upper bound", "confidence"], rows),
        folded("The same in words, with what it assumes", tag("ul", sentences)),
    ]
