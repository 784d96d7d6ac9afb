"""Clusters of a table without a target, and the rows of any table in a plane."""

from __future__ import annotations

from typing import Any

from fenchel.app.report.figures import Figure
from fenchel.app.report.html.layout import figure, grid, section, shared, table, value_of
from fenchel.app.report.html.markup import Markup, joined, named, tag
from fenchel.app.report.verdict import clusters_line, plane_line
from fenchel.data.display.rounding import DOWN, percent
from fenchel.show.formatting import capital, number

Numbers = dict[str, Any]


def clusters_section(numbers: Numbers, figures: dict[str, Figure]) -> Markup | None:
    """Every clustering: how many, which, how good, how far from the best."""
    with_target = numbers["task"]["kind"] != "none"
    asked = (numbers["clusters"] or {}) if with_target else numbers["shape"]
    held = asked.get("clusterings")
    if not held:
        why = f"There are no clusters: {asked.get('reason')}."
        return section("clusters", "Clusters", lead=why) if with_target and asked else None
    parts: list[Any] = []
    for place, one in enumerate(held):
        shown = ("cluster_classes", *("elbow", "choice", "restarts", "silhouettes", "dendrogram"))
        parts += [
            tag("p", capital(clusters_line(one)) + ".", class_="plain"),
            _groups(one),
            _promise(one),
            grid(*(figure(f"{name}_{place}", figures) for name in shown)),
            _tried(one),
        ]
    looked, rows = held[0]["rows"], numbers["rows"]["training" if with_target else "used"]
    part = f" A random sample of {looked:,} rows was used." if looked < rows else ""
    lead = (
        "Numbers are standardised; categories are columns of 0 and 1. The number of clusters is "
        "the one whose gain is largest against that of uniformly distributed rows (gap statistic)."
        + part
    )
    if with_target:
        lead = f"Clusters of the training rows, which know nothing of the target. {lead}"
    return section("clusters", "Clusters", *parts, lead=lead)


def _promise(one: dict[str, Any]) -> Markup | None:
    """What the start alone would have promised, beside what was proved."""
    if one["chosen"] == 1:
        return None
    start = number(one["start_promise"]["value"], 3)
    return tag(
        "p",
        f"The proof is of these clusters, whatever found them. A plain k-means++ start alone "
        f"promises at most 8 (2 + ln {one['chosen']}) = {start} times the least possible, in "
        "expectation over its draws.",
        class_="plain",
    )


def _groups(one: dict[str, Any]) -> Markup:
    rows = [
        [
            f"cluster {group['cluster']}",
            f"{group['rows']:,}",
            shared(group["share"]),
            value_of(group["silhouette"]),
            _marks(group["marks"]),
        ]
        for group in one["clusters"]
    ]
    header = ["", "rows", "share", "silhouette", "in standard deviations from the overall mean"]
    return table(
        f"{capital(one['words'])}: the clusters", header, rows, left=(0, 4), class_="wordy"
    )


def _marks(marks: list[dict[str, Any]]) -> Markup:
    if not marks:
        return tag("span", "like the average row", class_="why")
    parts: list[Any] = []
    for mark in marks:
        sign = "+" if mark["shift"]["value"] > 0.0 else "\N{MINUS SIGN}"
        size = number(abs(mark["shift"]["value"]), 2)
        parts += [", " * bool(parts), named(mark["column"], 40), f" {sign}{size}"]
    return joined(parts)


def _tried(one: dict[str, Any]) -> Markup:
    rows = [
        [
            f"{row['clusters']}" + (" (chosen)" if row["clusters"] == one["chosen"] else ""),
            shared(row["left"]),
            percent(row["left_at_least"]["value"], DOWN),
            shared(row["left_by_chance"]),
            value_of(row["gap"]),
            f"± {number(row['gap_error'], 2)}",
        ]
        for row in one["tried"]
    ]
    header = [
        *("clusters", "variance inside", "lower bound", "of uniform rows", "gap"),
        "standard error of the gap",
    ]
    return table(f"Numbers of clusters, on {one['chosen_on']:,} rows", header, rows)


def embedding_section(numbers: Numbers, figures: dict[str, Figure]) -> Markup | None:
    """Every embedding: the plane, what its axes hold and are made of."""
    with_target = numbers["task"]["kind"] != "none"
    held = numbers["embeddings"] if with_target else numbers["shape"].get("embeddings")
    if not held:
        return None
    parts: list[Any] = []
    for place, one in enumerate(held):
        parts += [
            tag("p", capital(plane_line(one)) + ".", class_="plain"),
            grid(
                *(figure(f"{name}_{place}", figures) for name in ("embedding", "scree", "biplot"))
            ),
            _dimensions(one),
            _axes(one),
        ]
    near = held[0]["neighbour_rows"]
    lead = (
        f"{held[0]['rows']:,} {'training ' * with_target}rows were embedded; trustworthiness (are "
        "neighbours in the picture neighbours in the table?) and continuity (the converse) were "
        f"computed for {near:,} of them; 1 is perfect."
    )
    return section("embedding", "Map", *parts, lead=lead)


def _dimensions(one: dict[str, Any]) -> Markup:
    rows = [
        [
            f"{row['dimensions']}",
            shared(row["share"]),
            shared(row["up_to_it"]),
            value_of(row["trustworthiness"]),
            value_of(row["continuity"]),
        ]
        for row in one["dimensions"]
    ]
    header = ["dimensions", "variance of the last", "of all", "trustworthiness", "continuity"]
    return table(f"{capital(one['words'])}: explained variance", header, rows)


def _axes(one: dict[str, Any]) -> Markup | None:
    if not one["axes"]:
        return None
    rows = [
        [
            f"axis {axis['axis']}",
            _marks([{**load, "shift": load["weight"]} for load in axis["columns"]]),
        ]
        for axis in one["axes"]
    ]
    return table(
        "Composition of the axes", ["", "largest weights"], rows, left=(0, 1), class_="wordy"
    )
