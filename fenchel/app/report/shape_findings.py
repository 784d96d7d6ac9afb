"""What a careful reader would have checked of clusters and embeddings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fenchel.app.report.checks import Finding, check
from fenchel.score.rounding import UP, percent

WEAK = 0.25  # a mean silhouette below which clusters are hardly told apart
TRUSTED = 0.9


def shape_findings(numbers: dict[str, Any]) -> Iterator[Finding]:
    """Checks of a table without a target."""
    held = numbers["shape"]
    yield check(
        "S1",
        "rows and columns to look at",
        "reason" in held,
        "info",
        f"Neither clusters nor axes were looked for: {held.get('reason', '')}.",
        f"{held.get('rows', 0):,} of {numbers['rows']['used']:,} rows in {held.get('columns', 0)} "
        "encoded columns were looked at.",
        "A shape needs rows to show it.",
        "Give the table more rows, or columns that vary; or name a target by --target.",
    )
    for one in held.get("clusterings", ()):
        yield from _clusters(one)
    for one in held.get("embeddings", ()):
        yield from _embedding(one)


def _clusters(one: dict[str, Any]) -> Iterator[Finding]:
    count, words = one["chosen"], one["words"]
    last = one["tried"][-1]["clusters"]
    yield check(
        "S2",
        "clusters",
        count == 1,
        "info",
        f"No number of clusters by {words}, 1 to {last}, stands out against rows drawn evenly"
        + (
            "."
            if one["is_clear"]
            else "; what is gained grows to the last of them, as by outliers."
        ),
        f"{words} finds {count} clusters by the gap statistic over 1 to {last}.",
        "Clusters drawn into one cloud say where somebody cut, not what there is.",
        "Do not report clusters of these rows; look at the axes, and at cells far from all others.",
    )
    if count == 1:
        return
    near = one["silhouette"]["value"]
    said = f"The mean silhouette of the {count} clusters is {near or 0.0:.2f}"
    yield check(
        "S3",
        "clusters that stand apart",
        near is None or near < WEAK,
        "warning",
        f"{said}: many rows lie between clusters."
        if near is not None
        else f"All but one of the {count} clusters are so small that a sample of "
        f"{one['chosen_on']:,} rows has none of their rows.",
        f"{said}.",
        "Rows at a border change their cluster with the next sample.",
        "Treat the clusters as a rough division, and check what divides them.",
    )
    gap = one["certificate"]["relative_gap"]
    loose = gap is None or gap > 0.5
    yield check(
        "S4",
        "proved clustering",
        loose,
        "info",
        "The bound is too far below to tell how good the clustering is: the scatter within the "
        f"best {count} clusters may be lower by up to {percent(min(gap or 1.0, 1.0), UP)}.",
        f"No {count} clusters have a scatter lower by more than {percent(gap or 0.0, UP)}.",
        "The spectral bound is loose where clusters are wide in many directions.",
        "Nothing is wrong: see how many of the starts came to the same objective.",
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
        "A handful of rows far from all others is rather a set of outliers.",
        "Look at those rows; leave them out if they are mistakes.",
    )


def _embedding(one: dict[str, Any]) -> Iterator[Finding]:
    flat = next((row for row in one["dimensions"] if row["dimensions"] == 2), None)
    if flat is None:
        return
    held, trust = one["held"]["value"], flat["trustworthiness"]["value"]
    yield check(
        "S6",
        "a plane that can be trusted",
        trust is not None and trust < TRUSTED and held < 0.999,
        "info",
        f"Neighbours in the plane of {one['words']} are often no neighbours in the table "
        f"(trustworthiness {trust or 0.0:.2f}); it holds {100 * held:.0f} % of the variance.",
        f"The plane of {one['words']} holds {100 * held:.0f} % of the variance"
        + ("." if trust is None else f" (trustworthiness {trust:.2f} of 1)."),
        "What lies together in the picture need not be alike.",
        "Read the picture as a shadow of the table; more dimensions are in its table.",
    )
