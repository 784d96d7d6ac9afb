"""The tree of a divisive clustering, with a level of it marked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np

from fenchel.score.curves.score_counts import Floats
from fenchel.show.density import colours
from fenchel.show.encoding import records, rounded, table
from fenchel.show.formatting import percent
from fenchel.show.layout import Width, framed
from fenchel.show.theme import BLUE, GREY, ORANGE

LEAVES = 30
LABELS = 12  # leaves whose share of the rows is written beneath
MARKS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
APART = 0.09  # of the axis: marks that are nearer are left out


def dendrogram(
    divided: Any,
    inertia: Any,
    mass: Any = None,
    *,
    cut: int | None = None,
    title: str | None = None,
    width: Width = 420,
    height: int = 300,
) -> alt.LayerChart:
    """Which cluster was divided at what height, and the clusters that a cut leaves.

    The height of a division is the scatter that is left before it, within all clusters there are by
    then: a cut between two heights leaves as many clusters as there were then.

    Parameters
    ----------
    divided : array of shape (k - 1,)
        The node that each step divides, into the nodes 2t + 1 and 2t + 2, as `tree_.divided` of
        `BisectingKMeans`. Of more than thirty leaves the first divisions are drawn.
    inertia : array of shape (2k - 1,)
        The scatter within each node, `tree_.inertia`.
    mass : array of shape (2k - 1,), optional
        Rows of each node, `tree_.mass`.
    cut : int, optional
        A number of clusters, whose branches have colours.

    Examples
    --------
    >>> from fenchel.show import dendrogram
    >>> chart = dendrogram([0, 1], [10.0, 4.0, 1.0, 0.5, 0.3], cut=2)
    >>> chart.to_dict()["title"]["text"]
    '2 clusters leave 50 % of the scatter, 3 leave 18 %'
    """
    parts, inside = _checked(divided, inertia)
    weight = None if mass is None else np.asarray(mass, np.float64)
    if weight is not None and weight.shape != inside.shape:
        raise ValueError("mass must be one number for each node")
    levels = _levels(parts, inside)
    grown = len(parts) + 1
    if cut is not None and not 1 <= cut <= grown:
        raise ValueError(f"cut must lie between 1 and the tree's {grown} clusters, got {cut}")
    k = min(grown, max(LEAVES, cut or 1))
    drawn = _Tree(parts[: k - 1])
    whole = max(float(levels[0]), 1e-300)
    left = np.sqrt(levels[:k] / whole)
    floor = 0.92 * float(left[-1])
    labelled = weight is not None and k <= LABELS
    x, y = _axes(k, floor, 0.09 if labelled else 0.02)
    layers: list[Any] = [_branches(drawn, left, floor, cut, x, y)]
    if cut is not None and cut < grown:
        above = float(left[cut - 2]) if cut > 1 else 1.06
        at = 0.5 * (above + float(left[cut - 1])) if cut > 1 else 1.03
        rule = alt.Chart(records(y=rounded([at], 1.0)))
        line = rule.mark_rule(color=GREY, strokeDash=[5, 3], strokeWidth=1.4)
        layers.append(line.encode(y=alt.Y("y:Q", **y)))
    if weight is not None and labelled:
        layers.append(_leaves(drawn, weight, floor, x, y))
    notes = ["Height of a division: the scatter left before it, on a scale of distances."]
    if cut is not None and cut < grown:
        notes.append(f"Dashed: the cut into {cut}.")
    if k < grown:
        notes.append(f"The first {k} of {grown:,} clusters.")
    return framed(
        layers,
        title=title or _said(levels / whole, cut),
        notes=notes,
        width=width,
        height=height,
    )


@dataclass(frozen=True, eq=False)
class _Tree:
    """The steps of a tree: where its nodes stand from left to right."""

    divided: Any

    def spread(self) -> tuple[Floats, list[int]]:
        """The place of each node, leaves at 1 … k and others between their parts; the leaves."""
        parts = {int(node): (2 * t + 1, 2 * t + 2) for t, node in enumerate(self.divided)}
        waiting, leaves = [0], []
        while waiting:
            node = waiting.pop()
            if node in parts:
                waiting += reversed(parts[node])
            else:
                leaves.append(node)
        at = np.zeros(2 * len(self.divided) + 1)
        at[leaves] = np.arange(1.0, len(leaves) + 1.0)
        for t in reversed(range(len(self.divided))):
            at[self.divided[t]] = at[2 * t + 1 : 2 * t + 3].mean()
        return at, leaves

    def clusters(self, count: int) -> Any:
        """For each node the number of the cluster, of so many, in which it lies; -1 above them."""
        whole = _Tree(self.divided[: count - 1])
        found = np.full(2 * len(self.divided) + 1, -1)
        found[whole.spread()[1]] = np.arange(count)
        for t in range(count - 1, len(self.divided)):
            found[2 * t + 1 : 2 * t + 3] = found[self.divided[t]]
        return found


def _checked(divided: Any, inertia: Any) -> tuple[Any, Floats]:
    steps, inside = np.asarray(divided), np.asarray(inertia, np.float64)
    if steps.ndim != 1 or (len(steps) and steps.dtype.kind not in "iu"):
        raise ValueError("divided must be a row of node numbers")
    if inside.shape != (2 * len(steps) + 1,) or not (inside >= 0.0).all():
        raise ValueError(
            f"{len(steps)} divisions need the scatter of {2 * len(steps) + 1} nodes, not negative"
        )
    if not np.isfinite(inside).all():
        raise ValueError("the scatter of every node must be finite")
    there = 2 * np.arange(len(steps))
    if ((steps < 0) | (steps > there)).any() or len(np.unique(steps)) < len(steps):
        raise ValueError("each step must divide a node that is there, and none twice")
    return steps.astype(int), inside


def _levels(divided: Any, inside: Floats) -> Floats:
    """The scatter within one cluster, two, and so on."""
    parts = inside[1:].reshape(-1, 2).sum(axis=1)
    found = inside[0] - np.concatenate([[0.0], np.cumsum(inside[divided] - parts)])
    return np.maximum(found, 0.0)


def _axes(k: int, floor: float, beneath: float) -> tuple[dict[str, Any], dict[str, Any]]:
    """beneath: the part of the height that is left free under the leaves."""
    span = 1.06 - floor
    marks: list[float] = []
    for mark in MARKS:
        if mark**0.5 >= floor and (not marks or marks[-1] - mark**0.5 > APART * span):
            marks.append(mark**0.5)
    x = {
        "title": "cluster",
        "scale": alt.Scale(domain=[0.4, k + 0.6], nice=False),
        "axis": alt.Axis(
            values=list(range(1, k + 1)),
            format="d",
            grid=False,
            labelOverlap=True,
            title="clusters",
        ),
    }
    y = {
        "title": "scatter left",
        "scale": alt.Scale(
            domain=rounded([floor - beneath * span, 1.06], 1.0).tolist(), nice=False
        ),
        "axis": alt.Axis(
            values=rounded(marks, 1.0).tolist(),
            labelExpr="format(datum.value * datum.value, '.2~p')",
            title="scatter left before the division",
        ),
    }
    return x, y


def _branches(tree: _Tree, left: Floats, floor: float, cut: int | None, x: Any, y: Any) -> Any:
    """A bracket for each division, down to its parts, as three lines."""
    at, _ = tree.spread()
    height = np.full(len(at), floor)
    height[tree.divided] = left[: len(tree.divided)]
    owner = np.full(len(at), -1) if cut is None else tree.clusters(cut)
    lines = []
    for t, node in enumerate(tree.divided.tolist()):
        low, high = 2 * t + 1, 2 * t + 2
        top = float(height[node])
        lines.append((at[low], top, at[high], top, owner[node]))
        lines += [(at[part], top, at[part], height[part], owner[part]) for part in (low, high)]
    if not lines:
        lines = [(1.0, 1.0, 1.0, floor, owner[0])]
    a, b, c, d, own = np.array(lines).T
    inks = _inks(cut)
    data = table(a=a, b=rounded(b, 1.0), c=c, d=rounded(d, 1.0), k=np.maximum(own + 1, 0))
    return (
        alt.Chart(data)
        .mark_rule(strokeWidth=1.8, strokeCap="square")
        .encode(
            x=alt.X("a:Q", **x),
            y=alt.Y("b:Q", **y),
            x2=alt.X2("c:Q", title=x["title"]),
            y2=alt.Y2("d:Q", title=y["title"]),
            color=alt.Color(
                "k:N",
                title="cluster",
                scale=alt.Scale(domain=list(range(len(inks))), range=inks),
                legend=None,
            ),
        )
    )


def _inks(cut: int | None) -> list[str]:
    """Grey above the cut, and of its clusters; without a cut all is blue."""
    if cut is None:
        return [BLUE]
    few = colours(cut)
    # More than have a colour of their own take turns: neighbours differ.
    return [GREY, *(few if GREY not in few else [(BLUE, ORANGE)[i % 2] for i in range(cut)])]


def _leaves(tree: _Tree, weight: Floats, floor: float, x: Any, y: Any) -> Any:
    at, leaves = tree.spread()
    share = weight[leaves] / max(float(weight[0]), 1e-300)
    data = records(
        a=at[leaves], b=rounded(np.full(len(leaves), floor), 1.0), s=[percent(one) for one in share]
    )
    text = alt.Chart(data).mark_text(style="quiet", baseline="top", dy=5, fontSize=10)
    return text.encode(x=alt.X("a:Q", **x), y=alt.Y("b:Q", **y), text="s:N")


def _said(share: Floats, cut: int | None) -> str:
    k = len(share)
    if cut is None:
        return f"{k} clusters leave {percent(float(share[-1]))} of the scatter"
    if cut == 1:
        return "One cluster" if k == 1 else f"Two clusters leave {percent(float(share[1]))}"
    said = f"{cut} clusters leave {percent(float(share[cut - 1]))} of the scatter"
    return said if cut == k else f"{said}, {cut + 1} leave {percent(float(share[cut]))}"
