"""The data card, and how to make the report again."""

from __future__ import annotations

from typing import Any

from fenchel.app.report.layout import (
    bars,
    facts,
    folded,
    meter,
    section,
    shared,
    table,
    timed,
    value_of,
)
from fenchel.app.report.markup import Markup, joined, named, tag
from fenchel.show.words import number, percent

Numbers = dict[str, Any]
MOST_COLUMNS = 120
HEADER = (
    *("column", "kind", "missing", "distinct", "range or most frequent", "histogram"),
    *("goes with the target", "encoded", "remarks"),
)


def data_section(numbers: Numbers) -> Markup:
    """Rows used and dropped, classes, columns, duplicates, correlations."""
    return section(
        "data",
        "Data",
        facts(_rows(numbers), "facts broad"),
        _balance(numbers),
        _columns(numbers),
        _correlations(numbers),
        lead=joined([named(numbers["source"]["name"], 120), f", {numbers['source']['format']}."]),
    )


def _rows(numbers: Numbers) -> list[tuple[str, Any]]:
    rows, again = numbers["rows"], numbers["duplicates"]
    pairs: list[tuple[str, Any]] = [
        ("Rows read", f"{rows['read']:,}"),
        ("Left out without a target", f"{rows['without_target']:,}"),
    ]
    for one in rows["rare_classes"][:5]:
        pairs.append((f"Left out, class too small: {one['class'][:40]}", f"{one['rows']:,}"))
    pairs.append(("Used", f"{rows['used']:,}"))
    if "test" in rows:
        pairs.append(("To learn / to judge", f"{rows['training']:,} / {rows['test']:,}"))
    pairs.append(("Rows equal to an earlier one", f"{again['rows']:,}"))
    if "test" in rows:
        pairs.append(("Test rows equal to a training row", f"{again['test_rows_in_training']:,}"))
    task = numbers["task"]
    pairs.append(("Why this task", task["reason"]))
    for note in (*numbers["source"]["notes"][:12], *task["notes"][:6]):
        pairs.append(("Note", note))
    return pairs


def _balance(numbers: Numbers) -> Markup | None:
    if not numbers["balance"]:
        return None
    rows = [
        [
            named(one["class"], 60),
            f"{one['rows']:,}",
            shared(one["share"]),
            f"{one['training']:,}",
            f"{one['test']:,}",
        ]
        for one in numbers["balance"]
    ]
    header = ["class", "rows", "share", "to learn", "to judge"]
    return table("Balance of the classes", header, rows)


def _columns(numbers: Numbers) -> Markup:
    held = numbers["columns"]
    ranked = sorted(held, key=lambda one: -((one["association"] or {}).get("value") or 0.0))
    shown = {one["name"] for one in ranked[:MOST_COLUMNS]}
    rows = [_column(one) for one in held if one["name"] in shown]
    header = list(HEADER)
    for place in (8, 7, 6):  # nothing to say of any column
        if not any(row[place] for row in rows):
            header.pop(place)
            rows = [[*row[:place], *row[place + 1 :]] for row in rows]
    caption = f"{len(held)} columns" + (" besides the target" if numbers["task"]["target"] else "")
    if len(rows) < len(held):
        caption = f"{len(rows)} of {len(held)} columns, those that go with the target most"
    return table(caption, header, rows, left=(0, 1, 4, 5, 6, 7, 8), class_="columns")


def _small(text: str) -> Markup:
    return tag("span", text, class_="why") if text else Markup("")


def _column(one: dict[str, Any]) -> list[Any]:
    missing = "0"
    if one["missing"]:
        missing = f"{one['missing']:,} ({percent(one['missing'] / max(one['rows'], 1))})"
    counts = one["counts"] or [count for _, count in one["levels"]]
    link = Markup("")
    if one["association"] is not None:
        value = one["association"]["value"]
        floor = 0.5 if one["measure"] == "AUC" else 0.0
        words = f" {one['measure']} {number(value, 3)}"
        link = tag("span", meter((value - floor) / (1.0 - floor)), words, class_="nowrap")
    remarks = [text for text in (one["leak"], *one["remarks"]) if text and text not in one["rule"]]
    return [
        named(one["name"], 48),
        one["kind"],
        missing,
        f"{one['distinct']:,}",
        _range(one),
        bars(counts[:24]),
        link,
        _small(one["rule"]),
        _small("; ".join(remarks)),
    ]


def _range(one: dict[str, Any]) -> Markup:
    if one["low"] is not None:
        ends = [number(end, 4) if isinstance(end, float | int) else str(end) for end in _both(one)]
        return tag("span", f"{ends[0]} to {ends[1]}", class_="nowrap")
    if one["levels"]:
        parts = [joined([named(level, 24), f" {count:,}"]) for level, count in one["levels"][:3]]
        more = len(one["levels"]) > 3 or one["distinct"] > 3
        return joined([_listed(parts), ", …" if more else ""])
    return Markup("")


def _both(one: dict[str, Any]) -> tuple[Any, Any]:
    return one["low"], one["high"]


def _listed(parts: list[Markup]) -> Markup:
    return Markup(", ".join(parts))


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
    return folded("Columns that go together most", table("Correlations", header, rows))


def _model_hash(numbers: Numbers) -> list[tuple[str, Any]]:
    there = "model" in numbers
    return [("SHA-256 of the model file", tag("code", timed("model_file.sha256")))] * there


def again_section(numbers: Numbers) -> Markup:
    """Command, versions, seed and hashes."""
    held = numbers["reproduction"]
    pairs: list[tuple[str, Any]] = [
        (
            "Command",
            tag("code", held["command"] or "fenchel.app.report.build.build(source, options)"),
        ),
        ("Seed", held["seed"]),
        ("SHA-256 of the table's file", tag("code", numbers["source"]["sha256"])),
        *_model_hash(numbers),
        ("Made", timed("date")),
        ("Seconds", timed("seconds.all")),
    ]
    for name, value in held["options"].items():
        if value not in (None, [], ""):
            pairs.append((name, named(value, 120)))
    versions = ", ".join(f"{name} {value}" for name, value in held["versions"].items())
    pairs.append(("Versions", versions))
    return section(
        "again",
        "Make it again",
        facts(pairs, "facts broad"),
        lead="The same table, command and versions give the same numbers; only date, seconds and "
        "the hash of the model file, which holds its own seconds, differ.",
    )
