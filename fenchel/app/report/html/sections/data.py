"""The data card, and how to reproduce the report."""

from __future__ import annotations

from typing import Any

from fenchel.app.report.figures import Figure
from fenchel.app.report.html.layout import (
    facts,
    figure,
    folded,
    grid,
    histogram,
    level_bars,
    meter,
    section,
    shared,
    table,
    timed,
    value_of,
)
from fenchel.app.report.html.markup import Markup, joined, named, tag
from fenchel.data.display.counts import counted
from fenchel.show.formatting import number, percent

Numbers = dict[str, Any]
MOST_COLUMNS = 120
MOST_LEVELS = 6
HEADER = ("column", "distribution", "values", "missing", "association with the target")


def data_section(numbers: Numbers, figures: dict[str, Figure]) -> Markup:
    """Rows used and left out, classes, columns, duplicates, correlations."""
    return section(
        "data",
        "Data",
        facts(_rows(numbers), "facts broad"),
        _balance(numbers),
        _columns(numbers),
        _encoding(numbers),
        grid(figure("correlation", figures)),
        _correlations(numbers),
        lead=joined([named(numbers["source"]["name"], 120), f", {numbers['source']['format']}."]),
    )


def _rows(numbers: Numbers) -> list[tuple[str, Any]]:
    rows, again = numbers["rows"], numbers["duplicates"]
    pairs: list[tuple[str, Any]] = [("Rows read", f"{rows['read']:,}")]
    if rows["without_target"]:
        pairs.append(("Left out, no target", f"{rows['without_target']:,}"))
    if rows["without_time"]:
        pairs.append(("Left out, no time", f"{rows['without_time']:,}"))
    for one in rows["rare_classes"][:5]:
        pairs.append((f"Left out, class too small: {one['class'][:40]}", f"{one['rows']:,}"))
    pairs.append(("Rows used", f"{rows['used']:,}"))
    if "test" in rows:
        parts = f"{rows['training']:,} / {rows['test']:,}, {rows['split']['words']}"
        pairs.append(("Training / test rows", parts))
    pairs.append(("Duplicate rows", f"{again['rows']:,}"))
    if "test" in rows:
        pairs.append(("Test rows equal to a training row", f"{again['test_rows_in_training']:,}"))
    task = numbers["task"]
    pairs.append(("Why this task", task["reason"]))
    for text in numbers["source"]["problems"]:
        pairs.append(("To be confirmed", text))
    for note in (*numbers["source"]["notes"][:12], *task["notes"][:6]):
        pairs.append(("Note", note))
    return pairs


def _balance(numbers: Numbers) -> Markup | None:
    if not numbers["balance"]:
        return None
    colours = _shown_classes(numbers)
    rows = [
        [
            joined([_swatch(place, len(colours)) if colours else "", named(one["class"], 60)]),
            f"{one['rows']:,}",
            shared(one["share"]),
            f"{one['training']:,}",
            f"{one['test']:,}",
        ]
        for place, one in enumerate(numbers["balance"])
    ]
    header = ["class", "rows", "share", "training", "test"]
    return table("Classes", header, rows)


def _shown_classes(numbers: Numbers) -> list[str]:
    """The classes by which distributions are coloured; none where there are too many."""
    coloured = any(one["class_counts"] for one in numbers["columns"])
    return [one["class"] for one in numbers["balance"]] if coloured else []


def _swatch(place: int, classes: int) -> Markup:
    return tag("span", class_=f"swatch swatch-{_colour(place, classes)}", aria_hidden="true")


def _colour(place: int, classes: int) -> int:
    """As in the figures: of two classes the positive one, which stands last, has the first."""
    return 1 - place if classes == 2 else place


def _columns(numbers: Numbers) -> Markup:
    held = numbers["columns"]
    ranked = sorted(held, key=lambda one: -((one["association"] or {}).get("value") or 0.0))
    shown = {one["name"] for one in ranked[:MOST_COLUMNS]}
    rows = [_column(one) for one in held if one["name"] in shown]
    header = list(HEADER)
    if not any(row[4] for row in rows):
        header.pop()
        rows = [row[:4] for row in rows]
    caption: Any = counted(len(held), "column") + (
        " besides the target" if numbers["task"]["target"] else ""
    )
    if len(rows) < len(held):
        caption = f"{len(rows)} of {len(held)} columns, the most strongly associated"
    classes = _shown_classes(numbers)
    if classes:
        keys: list[Any] = []
        for place, name in enumerate(classes):
            mark = _swatch(place, len(classes))
            keys += ["; " if place else ". Colours: ", mark, named(name, 30)]
        caption = joined([caption, *keys])
    label = f"{len(held)} columns"
    return table(caption, header, rows, left=(0, 1, 2, 4), class_="columns", label=label)


def _column(one: dict[str, Any]) -> list[Any]:
    missing = "0"
    if one["missing"]:
        missing = f"{one['missing']:,} ({percent(one['missing'] / max(one['rows'], 1))})"
    link = Markup("")
    if one["association"] is not None:
        value = one["association"]["value"]
        floor = 0.5 if one["measure"] == "AUC" else 0.0
        words = f" {one['measure']} {number(value, 3)}"
        link = tag("span", meter((value - floor) / (1.0 - floor)), words, class_="nowrap")
    remarks = [text for text in (one["leak"], *one["remarks"]) if text]
    head = [named(one["name"], 60), tag("span", one["kind"], class_="why kind-of")]
    if remarks:
        head.append(tag("span", "; ".join(remarks), class_="why"))
    return [joined(head), _distribution(one), _values(one), missing, link]


def _distribution(one: dict[str, Any]) -> Markup:
    if one["counts"]:
        bins = _coloured(one["class_counts"]) or [one["counts"]]
        ends = [_end(end) for end in (one["edges"][0], one["edges"][-1])]
        if one["kind"] == "date":
            ends = [str(one["low"])[:10], str(one["high"])[:10]]
        scale = tag("span", tag("span", ends[0]), tag("span", ends[1]), class_="ends-of-scale")
        return tag("div", histogram(bins), scale, class_="distribution")
    if one["levels"]:
        levels = [level for level, _ in one["levels"][:MOST_LEVELS]]
        counts = _coloured(one["class_counts"]) or [[count for _, count in one["levels"]]]
        return level_bars(levels, [row[: len(levels)] for row in counts])
    return Markup("")


def _coloured(counts: list[list[int]]) -> list[list[int]]:
    """The counts of the classes in the order of their colours."""
    return [counts[_colour(place, len(counts))] for place in range(len(counts))]


def _end(value: Any) -> str:
    return number(value, 4) if isinstance(value, float | int) else str(value)


def _values(one: dict[str, Any]) -> Markup:
    """Range and quartiles of numbers, how many levels a category has."""
    if one["quantiles"]:
        q05, q25, q50, q75, q95 = (number(value, 4) for value in one["quantiles"])
        lines = [
            f"median {q50}",
            f"quartiles {q25} to {q75}",
            f"5 to 95 %: {q05} to {q95}",
            f"range {_end(one['low'])} to {_end(one['high'])}",
        ]
        return joined([tag("span", line, class_="line") for line in lines])
    if one["low"] is not None:
        return tag("span", f"{_end(one['low'])} to {_end(one['high'])}", class_="line")
    words = f"{one['distinct']:,} different" if one["distinct"] else "none"
    return tag("span", words, class_="line")


def _encoding(numbers: Numbers) -> Markup | None:
    rows = [
        [named(one["name"], 60), tag("span", one["rule"], class_="why")]
        for one in numbers["columns"]
        if one["rule"]
    ]
    if not rows:
        return None
    header = ["column", "how it enters the model"]
    return folded("Encoding of the columns", table("Encoding", header, rows, left=(0, 1)))


def _correlations(numbers: Numbers) -> Markup | None:
    held = numbers["correlations"]
    if not held:
        return None
    rows = [
        [
            joined([named(one["first"], 40), " and ", named(one["second"], 40)]),
            f"{one['rows']:,}",
            value_of(one["correlation"]),
        ]
        for one in held
    ]
    header = ["columns", "rows", "correlation"]
    return folded("The strongest correlations", table("Correlations", header, rows))


def _model_hash(numbers: Numbers) -> list[tuple[str, Any]]:
    there = "model" in numbers
    return [("SHA-256 of the model file", tag("code", timed("model_file.sha256")))] * there


OPTIONS = {
    "target": "Target",
    "positive": "Positive class",
    "groups": "Groups",
    "time": "Time",
    "test_share": "Share of test rows",
    "cost_fp": "Cost of a false alarm",
    "cost_fn": "Cost of a miss",
    "alpha": "Promised false positive rate",
    "delta": "Risk of a broken promise",
    "level": "Coverage of the intervals",
    "drop": "Columns left out",
    "text": "Columns read as text",
    "as_is": "Numbers as they stand",
    "models": "Models",
    "challenger": "Challenger",
    "clusters": "Clusters",
}
OF_TWO = ("positive", "cost_fp", "cost_fn", "alpha", "delta")
OF_ALL = ("drop", "as_is", "level")


def again_section(numbers: Numbers) -> Markup:
    """Command, versions, seed and hashes."""
    held = numbers["reproduction"]
    pairs: list[tuple[str, Any]] = [
        ("Command", tag("code", held["command"] or "fenchel.report(table, …)")),
        ("Seed", held["seed"]),
        ("SHA-256 of the table's file", tag("code", numbers["source"]["sha256"])),
        *_model_hash(numbers),
        ("Date", timed("date")),
        ("Seconds", timed("seconds.all")),
    ]
    kind = numbers["task"]["kind"]
    predicts = kind != "none"
    for name, value in held["options"].items():
        fits = kind == "two classes" or name not in OF_TWO
        if value not in (None, [], "", False) and fits and (predicts or name in OF_ALL):
            shown = "yes" if value is True else value
            said = ", ".join(map(str, shown)) if isinstance(shown, list | tuple) else shown
            pairs.append((OPTIONS[name], named(said, 120)))
    versions = ", ".join(f"{name} {value}" for name, value in held["versions"].items())
    pairs.append(("Versions", versions))
    return section(
        "again",
        "Reproduction",
        facts(pairs, "facts broad"),
        lead="The same table, command and versions reproduce the same numbers; only the date, the "
        "seconds and the hash of the model file, which holds its own seconds, differ."
        + (" The numbers of the locked rows are in report.json." if predicts else ""),
    )
