"""Colours of the rows of a map: by group, or by a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from fenchel.score.curves.score_counts import Floats
from fenchel.score.labels import column
from fenchel.show.arguments import groups_of
from fenchel.show.density import MOST, colours, legend
from fenchel.show.encoding import rounded
from fenchel.show.formatting import plain
from fenchel.show.theme import BLUE, GREY, ORANGE

# From blue over grey to orange: told apart with every common kind of colour blindness, and each
# shade stands out from white and from the dark ground.
SHADES = (BLUE, GREY, ORANGE)


@dataclass(frozen=True, eq=False)
class Colouring:
    """Groups of the rows with their names, or a number for each row with its name."""

    codes: NDArray[np.intp]
    called: list[str]
    values: Floats | None = None
    value_name: str = ""

    @property
    def groups(self) -> int:
        """How many colours of groups there are; all beyond the last named one share one."""
        return min(len(self.called), MOST + 1)

    def shown(self) -> NDArray[np.intp]:
        return np.minimum(self.codes, MOST)

    def field(self) -> Floats:
        """What the field c of a table holds for each row."""
        return self.shown().astype(np.float64) if self.values is None else self.values

    def means(self, owner: NDArray[np.intp], count: int, rows: Any = slice(None)) -> Floats:
        """The field of places that stand for some rows: means, or the most frequent groups."""
        if self.values is not None:
            sums = np.bincount(owner, self.values[rows], count)
            return np.asarray(sums / np.maximum(np.bincount(owner, minlength=count), 1))
        counts = np.zeros((count, self.groups))
        np.add.at(counts, (owner, self.shown()[rows]), 1.0)
        return counts.argmax(axis=1).astype(np.float64)

    def ends(self) -> list[float]:
        """Least and greatest number."""
        found = self.field()
        low, high = float(found.min()), float(found.max())
        ends = [low, high] if high > low else [low - 0.5, low + 0.5]
        return [float(end) for end in rounded(ends, ends[1] - ends[0])]

    def fill(self) -> alt.Fill:
        """The encoding of the field c."""
        if self.values is None:
            inks = colours(len(self.called))[: self.groups]
            scale = alt.Scale(domain=list(range(len(inks))), range=inks)
            return alt.Fill("c:N", title="group", scale=scale, legend=None)
        ends = self.ends()
        middle = 0.5 * (ends[0] + ends[1])
        return alt.Fill(
            "c:Q",
            title="number",
            scale=alt.Scale(
                domain=[ends[0], middle, ends[1]], range=list(SHADES), interpolate="rgb"
            ),
            legend=alt.Legend(
                title=self.value_name, gradientLength=150, tickCount=3, format=".3~g"
            ),
        )

    def legend(self) -> list[Any]:
        """A layer with the names of the groups, where there are several."""
        if self.values is not None or self.groups < 2:
            return []
        inks = colours(len(self.called))[: self.groups]
        names = [*self.called[:MOST], *["others"] * (len(self.called) > MOST)]
        return [legend(names, inks, "group")]


def colouring(
    n: int, codes: Any, values: Any, labels: Sequence[Any] | None, value_name: Any
) -> Colouring:
    """How n rows are coloured: by `codes`, by `values`, or all alike."""
    if codes is not None and values is not None:
        raise ValueError("rows are coloured by codes or by values: give one of both")
    group, called = np.zeros(n, dtype=np.intp), ["rows"]
    if codes is not None:
        group, called = groups_of(codes, labels, "codes")
        if group.shape != (n,):
            raise ValueError(f"codes must be one group for each of {n} rows, got {len(group)}")
    if values is None:
        return Colouring(group, called)
    found = column(values, "values").astype(np.float64)
    if found.shape != (n,) or not np.isfinite(found).all():
        raise ValueError(f"values must be one finite number for each of {n} rows")
    return Colouring(group, called, found, plain(value_name, 40))


def checked_points(points: Any, dimensions: tuple[int, ...]) -> Floats:
    """Finite rows with as many coordinates as the figure can draw."""
    Z = np.asarray(points, dtype=np.float64)
    if Z.ndim != 2 or Z.shape[1] not in dimensions or not len(Z):
        wanted = " or ".join(f"(n, {k})" for k in dimensions)
        raise ValueError(f"points must have shape {wanted}, got {Z.shape}")
    if not np.isfinite(Z).all():
        raise ValueError("points must be finite")
    return Z
