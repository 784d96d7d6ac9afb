"""Where to cut the score: one slider, four figures, a table of thresholds."""

from __future__ import annotations

from typing import Any

from fenchel.app.report.figures import Figure
from fenchel.app.report.html.layout import figure, grid, section, shared, table, value_of
from fenchel.app.report.html.markup import Markup, joined, named, tag
from fenchel.show.formatting import capital, number

Numbers = dict[str, Any]
SHOWN = 12  # rows of the table on the page
RATES = (
    ("tpr", "positives found"),
    ("fpr", "negatives flagged"),
    ("precision", "precision"),
    ("flagged", "rows flagged"),
    ("cost", "cost per row"),
)
HEADER = ["threshold", "true positives", "false positives", *(words for _, words in RATES)]


def decisions_section(numbers: Numbers, figures: dict[str, Figure]) -> Markup:
    """Two classes only."""
    held = numbers.get("decisions")
    if held is None:
        return Markup("")
    return section(
        "decisions",
        "Decisions",
        _slider(numbers),
        grid(
            *(figure(key, figures) for key in ("roc", "precision_recall")),
            *(figure(key, figures) for key in ("score_histogram", "confusion")),
        ),
        _marked(numbers),
        _thinned(numbers),
        grid(*(figure(key, figures) for key in ("gains", "lift"))),
        lead=joined(
            [
                "A row is flagged as ",
                named(numbers["task"]["positive"], 40),
                f" where {held['score']} reaches the threshold. The slider moves every figure "
                "of this section; all numbers are counts of the locked test rows.",
            ]
        ),
    )


def _slider(numbers: Numbers) -> Markup:
    held = numbers["decisions"]
    rows = [value for value in held["table"]["columns"]["threshold"] if value is not None]
    jumps = [
        tag("button", row["name"], type="button", data_threshold=repr(row["threshold"]))
        for row in held["marked"]
        if row.get("threshold") is not None
    ]
    tiles = [
        tag(
            "div",
            tag("dt", words),
            tag("dd", tag("span", class_="value"), " ", tag("span", class_="ends")),
            data_rate=rate,
        )
        for rate, words in RATES
    ]
    return tag(
        "div",
        tag(
            "div",
            tag("label", "Threshold", for_="threshold-number"),
            tag(
                "input",
                type="number",
                id="threshold-number",
                step="any",
                value=repr(held["start"]),
                aria_describedby="threshold-words",
            ),
            tag(
                "input",
                type="range",
                id="threshold-range",
                min=repr(min(rows)),
                max=repr(max(rows)),
                step="any",
                aria_label="Threshold",
            ),
            tag(
                "span",
                tag("span", number(min(rows), 4)),
                tag("span", number(max(rows), 4)),
                class_="ends-of-scale",
                aria_hidden="true",
            ),
            class_="slider-row",
        ),
        tag("div", jumps, class_="jumps", role="group", aria_label="Thresholds with a name"),
        tag("p", id="threshold-words", class_="spoken", aria_live="polite"),
        tag("dl", tiles, class_="tiles"),
        class_="card slider",
        id="slider",
    )


def _marked(numbers: Numbers) -> Markup:
    held = numbers["decisions"]
    rows = []
    for row in held["marked"]:
        if "reason" in row:
            rows.append([_name(row, row["reason"]), *(["–"] * (len(RATES) + 3))])
            continue
        rows.append(
            [
                _name(row, row["why"]),
                number(row["threshold"], 6) if row["threshold"] is not None else "flags nothing",
                row["tp"],
                row["fp"],
                *(_cell(rate, row[rate]) for rate, _ in RATES),
            ]
        )
    return table("Thresholds with a name", ["chosen by", *HEADER], rows, class_="tight named")


def _name(row: dict[str, Any], why: str) -> Markup:
    return joined([capital(row["name"]), tag("span", capital(why), class_="why")])


def _cell(rate: str, entry: dict[str, Any]) -> Markup:
    return value_of(entry) if rate == "cost" else shared(entry)


def _thinned(numbers: Numbers) -> Markup:
    held = numbers["decisions"]["table"]
    columns = held["columns"]
    count = len(columns["threshold"])
    steps = sorted({round(k * (count - 1) / (SHOWN - 1)) for k in range(SHOWN)})
    rows = []
    for k in steps:
        rows.append(
            [
                number(columns["threshold"][k], 10),
                columns["tp"][k],
                columns["fp"][k],
                *(_cell(rate, _entry(columns, rate, k, held)) for rate, _ in RATES),
            ]
        )
    caption = (
        f"{len(steps)} of {count} thresholds, each number with exact {100 * held['level']:g} % "
        "bounds; all of them are in report.json"
    )
    return table(caption, HEADER, rows, left=(), class_="tight")


def _entry(columns: dict[str, Any], rate: str, k: int, held: dict[str, Any]) -> dict[str, Any]:
    value = columns[rate][k]
    if value is None:
        return {"value": None, "reason": "nothing is flagged"}
    ends = {end: columns[f"{rate}_{end}"][k] for end in ("low", "high")}
    return {"value": value, **ends, "level": held["level"], "method": held["method"]}
