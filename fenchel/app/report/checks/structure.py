"""Checks of clusters and embeddings, and of the target that may have been overlooked."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from fenchel.app.report.checks.finding import Finding, check
from fenchel.data.display.counts import counted
from fenchel.data.display.rounding import UP, percent

WEAK = 0.25  # a mean silhouette below which clusters are hardly told apart
TRUSTED = 0.9


def checks(numbers: dict[str, Any]) -> Iterator[Finding]:
    """Checks of a table without a target."""
    held = numbers["shape"]
    found = numbers["task"]["candidates"]
    said = ", ".join(f"'{one['name'][:40]}' ({one['words']})" for one in found)
    yield check(
        "S0",
        "no target",
        bool(found),
        "problem",
        f"No target was named, so nothing is predicted; but some columns look like one: {said}.",
        "No column looks like a target.",
        "Clusters and axes answer another question than the one that was perhaps meant.",
        f"To predict a column, name it: {_option(found)}; to look for clusters all the same: "
        "--no-target.",
    )
    yield check(
        "S1",
        "number of rows and columns",
        "reason" in held,
        "info",
        f"Neither clusters nor axes were looked for: {held.get('reason', '')}.",
        f"{held.get('rows', 0):,} of {numbers['rows']['used']:,} rows in "
        f"{counted(held.get('columns', 0), 'encoded column')} were used.",
        "Clusters and axes need enough rows and columns that vary.",
        "Give the table more rows, or columns that vary; or name a target by --target.",
    )
    yield from cluster_checks(held)
    for one in held.get("embeddings", ()):
        yield from _embedding(one)


def cluster_checks(held: dict[str, Any]) -> Iterator[Finding]:
    """Checks of every clustering."""
    for one in held.get("clusterings", ()):
        yield from _clusters(one)


def _option(found: list[dict[str, Any]]) -> str:
    return shlex.join(["--target", found[0]["name"]]) if found else "--target NAME"


def _clusters(one: dict[str, Any]) -> Iterator[Finding]:
    count, words = one["chosen"], one["words"]
    last = one["tried"][-1]["clusters"]
    yield check(
        "S2",
        "clusters",
        count == 1,
        "info",
        f"No number of clusters by {words}, 1 to {last}, stands out against uniform rows"
        + (
            "."
            if one["is_clear"]
            else "; the gain grows up to the last of them, as it does with outliers."
        ),
        f"{words} finds {count} clusters by the gap statistic over 1 to {last}.",
        "Clusters imposed on a single cloud reflect the method, not the data.",
        "Do not report clusters of these rows; look at the axes, and for outlying cells.",
    )
    if count == 1:
        return
    near = one["silhouette"]["value"]
    said = f"The mean silhouette of the {count} clusters is {near or 0.0:.2f}"
    yield check(
        "S3",
        "separation of the clusters",
        near is None or near < WEAK,
        "warning",
        f"{said}: many rows lie between clusters."
        if near is not None
        else f"All but one of the {count} clusters are so small that a sample of "
        f"{one['chosen_on']:,} rows has none of their rows.",
        f"{said}.",
        "Rows near a border would change their cluster in another sample.",
        "Treat the clusters as a rough division, and check which columns separate them.",
    )
    gap = one["certificate"]["relative_gap"]
    loose = gap is None or gap > 0.5
    yield check(
        "S4",
        "bound of the clustering",
        loose,
        "info",
        "The bound is too loose to tell how good the clustering is: the variance inside the "
        f"best {count} clusters may be lower by up to {percent(min(gap or 1.0, 1.0), UP)}.",
        f"No {count} clusters have a variance inside them lower by more than "
        f"{percent(gap or 0.0, UP)}.",
        "The spectral bound is loose where clusters are wide in many directions.",
        "Nothing is wrong: see how many of the starts reached the same objective.",
    )
    small = [group for group in one["clusters"] if group["rows"] < max(0.01 * one["rows"], 5)]
    yield check(
        "S5",
        "tiny clusters",
        bool(small),
        "info",
        "Clusters of few rows: "
        + ", ".join(f"cluster {group['cluster']} has {group['rows']}" for group in small[:5])
        + ".",
        f"The smallest cluster has {min(group['rows'] for group in one['clusters']):,} rows.",
        "A handful of rows far from all others are outliers rather than a cluster.",
        "Inspect those rows; leave them out if they are mistakes.",
    )


def _embedding(one: dict[str, Any]) -> Iterator[Finding]:
    flat = next((row for row in one["dimensions"] if row["dimensions"] == 2), None)
    if flat is None:
        return
    held, trust = one["held"]["value"], flat["trustworthiness"]["value"]
    yield check(
        "S6",
        "trust in the plane",
        trust is not None and trust < TRUSTED and held < 0.999,
        "info",
        f"Neighbours in the plane of {one['words']} are often not neighbours in the table "
        f"(trustworthiness {trust or 0.0:.2f}); it holds {100 * held:.0f} % of the variance.",
        f"The plane of {one['words']} holds {100 * held:.0f} % of the variance"
        + ("." if trust is None else f" (trustworthiness {trust:.2f} of 1)."),
        "Points that are close in the picture need not be similar rows.",
        "Read the picture as a projection; the table beneath it has more dimensions.",
    )
