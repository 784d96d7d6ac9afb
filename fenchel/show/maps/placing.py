"""Words beside points without one upon another: each takes the first free of a few places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np

from fenchel.score.curves.score_counts import Floats
from fenchel.show.density import Ends
from fenchel.show.encoding import records, rounded
from fenchel.show.layout import Side, Width, across, pixels

LETTER, LINE = 5.9, 13.0  # pixels of a letter and of a line at the size of labels
GAP = 7.0  # pixels between a point and its word
CLEAR = 4.0  # pixels between a word and the middle of a circle
LABELS = 40  # words of a figure
NEAR = (0.0, 1.0, -1.0)  # lines up or down of the point
Box = tuple[float, float, float, float]  # left, right, lower and upper edge


@dataclass(frozen=True, eq=False)
class Plane:
    """A plane on the screen: what it shows at the usual size, its axes, its size; and where it
    begins at the left and how far it reaches, as expressions, at the size that it has."""

    ends: tuple[Ends, Ends]
    sides: tuple[Side, Side]
    width: Width
    height: int
    low: str
    spans: tuple[str, str]

    @classmethod
    def of(
        cls, ends: tuple[Ends, Ends], sides: tuple[Side, Side], width: Width, height: int
    ) -> Plane:
        """One that shows the same at any size."""
        low, spans = f"{ends[0][0]:.10g}", [f"{high - low:.10g}" for low, high in ends]
        return cls(ends, sides, width, height, low, (spans[0], spans[1]))

    @property
    def size(self) -> tuple[float, float]:
        return across(self.width), float(self.height)

    def in_pixels(self, points: Floats) -> Floats:
        """Places as pixels from the lower left corner, at the usual size."""
        low, high = np.array(self.ends).T
        return np.asarray((points - low) / (high - low) * self.size)


def placed(
    points: Floats,
    words: Sequence[str],
    size: tuple[float, float],
    *,
    obstacles: Floats,
    crowd: Floats | None = None,
    lines: Sequence[float] = NEAR,
    outward: Floats | None = None,
) -> list[tuple[int, float, float]]:
    """(number, left, middle) of the words that find room, in pixels from the lower left corner.

    Parameters
    ----------
    points : array of shape (m, 2)
        In pixels; those that come first are served first.
    words : sequence of m texts
    size : (width, height) of the figure
    obstacles : array of shape (k, 2)
        Places that no word may cover.
    crowd : array of shape (l, 2), optional
        Places that a word covers only where it finds no other room.
    lines : how far up or down of its point a word may stand
    outward : array of shape (m,), optional
        Where negative a word stands left of its point first, else right of it.
    """
    taken: list[Box] = []
    found: list[tuple[int, float, float]] = []
    for k, (word, (x, y)) in enumerate(zip(words, points.tolist(), strict=True)):
        if len(found) == LABELS:
            break
        need = LETTER * len(word)
        sides = [x + GAP, x - GAP - need]
        if outward is not None:  # and at the edge, above or below the point
            sides = sides[::-1] if outward[k] < 0.0 else sides
            sides.insert(1, min(max(x - 0.5 * need, 0.0), size[0] - need))
        boxes = [
            (left, left + need, y + (up - 0.5) * LINE, y + (up + 0.5) * LINE)
            for left in sides
            for up in lines
        ]
        free = [one for one in boxes if _is_inside(one, size) and _is_free(one, taken, obstacles)]
        if crowd is not None:
            free = [one for one in free if _is_free(one, [], crowd)] or free
        if free:
            taken.append(free[0])
            found.append((k, free[0][0], 0.5 * (free[0][2] + free[0][3])))
    return found


def _is_inside(box: Box, size: tuple[float, float]) -> bool:
    return box[0] >= 0.0 and box[1] <= size[0] and box[2] >= 0.0 and box[3] <= size[1]


def _is_free(box: Box, taken: Sequence[Box], obstacles: Floats) -> bool:
    x, y = obstacles.T
    across, up = (x > box[0] - CLEAR) & (x < box[1] + CLEAR), (y > box[2]) & (y < box[3])
    if (across & up).any():
        return False
    return not any(
        box[0] < one[1] and one[0] < box[1] and box[2] < one[3] and one[2] < box[3] for one in taken
    )


def written(
    found: Sequence[tuple[int, float, float]], words: Sequence[str], points: Floats, plane: Plane
) -> Any:
    """A layer of the words that `placed` found room for beside these places of the plane.

    A word keeps its distance in pixels from its point, and stays inside, when a figure is as wide
    as its container.
    """
    some = [k for k, *_ in found]
    at = np.array([place for _, *place in found]).reshape(-1, 2)
    away = np.round(at - plane.in_pixels(points[some]))
    spans = [high - low for low, high in plane.ends]
    data = records(
        a=rounded(points[some, 0], spans[0]),
        b=rounded(points[some, 1], spans[1]),
        d=away[:, 0],
        e=away[:, 1],
        n=[round(LETTER * len(words[k])) for k in some],
        s=[words[k] for k in some],
    )
    wide, low, (span, tall) = pixels(plane.width), plane.low, plane.spans
    start = f"(datum.a - ({low})) * {wide} / ({span}) + datum.d"
    inside = f"max(0, min({start}, {wide} - datum.n))"
    return (
        alt.Chart(data)
        .transform_calculate(
            x=f"{low} + {inside} * {span} / {wide}",
            y=f"datum.b + datum.e * {tall} / {plane.height}",
        )
        .mark_text(align="left", baseline="middle", style="ink", fontSize=11)
        .encode(
            x=alt.X("x:Q", **plane.sides[0]),
            y=alt.Y("y:Q", **plane.sides[1]),
            text=alt.Text("s:N", title="name"),
        )
    )
