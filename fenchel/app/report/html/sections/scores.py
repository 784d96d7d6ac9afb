"""What the locked test part says."""

from __future__ import annotations

from typing import Any

from fenchel.app.report.estimates import Entry
from fenchel.app.report.figures import Figure
from fenchel.app.report.html.layout import (
    figure,
    folded,
    grid,
    section,
    shared,
    spelled,
    strip,
    table,
    value_of,
)
from fenchel.app.report.html.markup import Markup, joined, named, tag
from fenchel.show.formatting import capital, number, percent

Numbers = dict[str, Any]
SHOWN = 12  # groups of rows on the page
UNBOUNDED = ("log_loss", "mae", "rmse", "bias", "calibration_slope", "calibration_intercept")


def scores_section(numbers: Numbers, figures: dict[str, Figure]) -> Markup:
    """Metrics with intervals, beside the constant's; then the figures of the task."""
    rows = [
        [
            one["name"],
            value_of(one["model"]),
            _picture(one),
            value_of(one["baseline"]),
            spelled(one["model"]),
        ]
        for one in numbers["metrics"]
    ]
    whole = table(
        f"Metrics on {numbers['rows']['test']:,} test rows. Dot and bar: the model and its "
        "interval; orange line: a constant prediction",
        ["metric", "model", "", "constant", "interval of the model"],
        rows,
        left=(0, 2, 4),
        label="Metrics",
    )
    own = ""
    if numbers["task"]["kind"] != "number":
        own = " Where a metric needs a decision, it is that of the model itself."
    return section(
        "scores",
        "Test scores",
        whole,
        _classes(numbers),
        grid(
            *(figure(key, figures) for key in ("calibration", "net_benefit")),
            *(figure(key, figures) for key in ("predicted_observed", "residuals")),
            *(figure(key, figures) for key in ("quantile_plot", "leverage")),
            figure("confusion", figures) if numbers["task"]["kind"] == "several classes" else None,
        ),
        _calibration(numbers),
        _residuals(numbers),
        lead="The test rows were locked away and used once, after everything had been chosen."
        f"{own}",
    )


def _picture(one: dict[str, Any]) -> Markup:
    model, constant = one["model"], one["baseline"]["value"]
    if model["value"] is None:
        return Markup("")
    low, high = 0.0, 1.0
    if one["key"] in UNBOUNDED:
        ends = [end for end in _ends(model) + _ends(one["baseline"]) if end is not None]
        low, high = min(0.0, *ends), max(0.0, *ends)
    elif one["key"] in ("gini", "mcc", "r2"):
        low = min(0.0, *(end for end in _ends(model) if end is not None))
    return strip(model, low, high, constant)


def _ends(entry: Entry) -> list[float | None]:
    return [entry["value"], entry.get("low"), entry.get("high")]


def _classes(numbers: Numbers) -> Markup | None:
    held = numbers.get("classes")
    if held is None:
        return None
    rows = [
        [
            named(one["class"], 40),
            one["rows"],
            one["called"],
            shared(one["recall"]),
            shared(one["precision"]),
            value_of(one["auc"]),
        ]
        for one in held
    ]
    header = ["class", "rows", "predicted", "recall", "precision", "AUC against the rest"]
    return table("Each class on the test rows", header, rows)


def _calibration(numbers: Numbers) -> Markup | None:
    held = numbers.get("calibration")
    if held is None:
        return None
    if "reason" in held:
        return tag("p", f"Calibration is not judged: {held['reason']}.", class_="why")
    rows = [
        [percent(one["predicted"]), one["rows"], shared(one["observed"])] for one in held["bins"]
    ]
    return folded(
        "Calibration in numbers",
        table(
            "Groups of equally many test rows by predicted probability",
            ["predicted, mean", "rows", "observed share of positives"],
            rows,
            left=(),
        ),
    )


def _residuals(numbers: Numbers) -> Markup | None:
    held = numbers.get("residuals")
    if held is None:
        return None
    rows = [[name, number(value, 4)] for name, value in held["quantiles"].items()]
    shape = (
        f"Skewness {number(held['skewness'], 3)}, excess kurtosis "
        f"{number(held['excess_kurtosis'], 3)}; a normal law has 0 and 0."
    )
    return folded(
        "Residuals in numbers",
        table("Quantiles of target less prediction", ["share", "residual"], rows),
        tag("p", shape),
    )


def errors_section(numbers: Numbers) -> Markup:
    """Groups of rows, and the rows with the largest loss."""
    kind = numbers["task"]["kind"]
    what = "mean absolute error" if kind == "number" else "error rate"
    rows = [
        [
            joined([named(one["column"], 40), _of(one["group"]), named(one["group"], 60)]),
            one["rows"],
            value_of(one["error"]) if kind == "number" else shared(one["error"]),
            "above that of all rows" if one["worse"] else "",
        ]
        for one in numbers["subgroups"][:SHOWN]
    ]
    groups = (
        table(f"{capital(what)} of groups of test rows", ["group", "rows", what, ""], rows)
        if rows
        else tag("p", "No column has groups of at least 20 test rows.")
    )
    return section(
        "errors",
        "Errors",
        groups,
        tag("h3", "Test rows with the largest error"),
        _worst(numbers),
        lead="The intervals of the groups hold simultaneously." if numbers["subgroups"] else None,
    )


def _of(group: str) -> str:
    """Between a column and a group of it: a range needs no sign."""
    return " " if group.startswith(("above ", "at most ")) else " = "


def _worst(numbers: Numbers) -> Markup:
    held = numbers["worst_rows"]
    if not held:
        return tag("p", "The model errs on no test row.")
    shown = list(held[0].get("cells", {}))[:12]
    named_keys = [key for key in ("true", "predicted") if key in held[0]]
    rows = []
    for one in held:
        cells = [named(one["cells"][name], 24) for name in shown]
        values = [named(one[key], 30) for key in named_keys]
        rows.append([one["row"], *values, number(one["loss"], 3), *cells])
    words = {"two classes": "distance from the threshold", "number": "absolute error"}
    loss = words.get(numbers["task"]["kind"], "score of the predicted class less that of the true")
    header = ["row of the file", *named_keys, loss, *(name[:40] for name in shown)]
    whole = table("The ten worst test rows", header, rows, left=(0, *range(1, 1 + len(named_keys))))
    hint = None
    if not shown:
        hint = tag("p", "Their cells are not shown; --show-rows puts them here.", class_="why")
    return joined([whole, hint])
