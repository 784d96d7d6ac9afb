"""Three dimensions on the screen: a box that turns, drawn in parallel projection.

A point (a, b, c) of the box around (0, 0, 0), turned by θ around the upright axis and tilted by φ:

    right  a cos θ - b sin θ
    away   (a sin θ + b cos θ) cos φ - c sin φ
    up     (a sin θ + b cos θ) sin φ + c cos φ

θ and φ are two sliders; the browser computes the places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np

from fenchel.score.curves.score_counts import Floats
from fenchel.show.encoding import records, table
from fenchel.show.formatting import plain
from fenchel.show.layout import Width, pixels
from fenchel.show.theme import GREY

STEPS = 400  # places along each axis: as fine as the pixels of a figure
PAD = 1.12  # of the names at the ends of the axes


@dataclass(frozen=True, eq=False)
class RotationBox:
    """The range of the rows on each axis, and the sides (3,) of its box on the screen.

    A unit is as long on all axes, unless the ranges are too different for that: then the box is a
    cube.
    """

    low: Floats
    high: Floats
    sides: Floats

    @classmethod
    def around(cls, Z: Floats, is_cube: bool) -> RotationBox:
        low, high = Z.min(axis=0), Z.max(axis=0)
        spans = high - low
        flat = spans <= 0.0
        most = float(spans.max()) or 1.0
        sides = np.ones(3) if is_cube else np.where(flat, 0.0, spans / most)
        pad = np.where(flat, 0.5 * np.maximum(np.abs(low), 1.0), 0.0)
        return cls(low - pad, high + pad, sides)

    @property
    def radius(self) -> float:
        """Half the diagonal: no corner is farther from the middle, however the box turns."""
        return max(0.5 * float(np.linalg.norm(self.sides)), 0.05)

    def steps(self, Z: Floats) -> Any:
        """Whole numbers (n, 3) from 0 to STEPS along each side."""
        return np.round((Z - self.low) / (self.high - self.low) * STEPS).astype(int)


def sliders(turn: float, tilt: float) -> list[alt.Parameter]:
    """The two angles in degrees, each with a slider, and their sines and cosines."""
    if not (0.0 <= turn <= 360.0 and -90.0 <= tilt <= 90.0):
        raise ValueError(
            f"turn must lie between 0 and 360 degrees and tilt between -90 and 90, got {turn} and "
            f"{tilt}"
        )
    found = []
    for name, value, least, most in (("turn", turn, 0, 360), ("tilt", tilt, -90, 90)):
        bind = alt.binding_range(min=least, max=most, step=1, name=f"{name} ")
        found.append(alt.param(name=name, value=float(value), bind=bind))
        for function in ("sin", "cos"):
            found.append(
                alt.param(name=f"{function}_{name}", expr=f"{function}({name} * PI / 180)")
            )
    return found


def projected(
    box: RotationBox,
    place: tuple[str, str, str] = ("i", "j", "k"),
    to: tuple[str, str, str] = ("x", "y", "z"),
) -> dict[str, str]:
    """Expressions of right, up and away out of the fields that count steps."""
    a, b, c = (
        f"(datum.{field} - {STEPS // 2}) * {side / STEPS:.6g}"
        for field, side in zip(place, box.sides, strict=True)
    )
    back = f"({a} * sin_turn + {b} * cos_turn)"
    right, up, away = to
    return {
        right: f"{a} * cos_turn - {b} * sin_turn",
        up: f"{back} * sin_tilt + {c} * cos_tilt",
        away: f"{back} * cos_tilt - {c} * sin_tilt",
    }


def screen(box: RotationBox, width: Width, height: int) -> tuple[alt.X, alt.Y]:
    """Axes without marks; a unit is as long across as up, whatever the shape of the figure."""
    half = PAD * box.radius
    ratio = f"{pixels(width)} / {height}"
    across, up = f"{half:.6g} * max(1, {ratio})", f"{half:.6g} * max(1, 1 / ({ratio}))"
    scales = (
        alt.Scale(domain=[alt.ExprRef(f"-{end}"), alt.ExprRef(end)], nice=False, zero=False)
        for end in (across, up)
    )
    x, y = scales
    return (
        alt.X("x:Q", title="right", scale=x, axis=None),
        alt.Y("y:Q", title="up", scale=y, axis=None),
    )


def outline(box: RotationBox, names: Sequence[Any], x: alt.X, y: alt.Y) -> tuple[Any, Any]:
    """The edges of the box, which lie behind the rows, and the names of the axes at their ends."""
    corners = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)]) * STEPS
    pairs = np.array(
        [(p, q) for p in range(8) for q in range(p) if (corners[p] != corners[q]).sum() == 1]
    )
    start, end = corners[pairs[:, 1]].T, corners[pairs[:, 0]].T
    edges = table(i=start[0], j=start[1], k=start[2], l=end[0], m=end[1], n=end[2])
    lines = (
        alt.Chart(edges)
        .transform_calculate(**projected(box))
        .transform_calculate(**projected(box, ("l", "m", "n"), ("u", "v", "w")))
        .mark_rule(color=GREY, strokeWidth=1, opacity=0.45)
        .encode(x=x, y=y, x2="u:Q", y2="v:Q")
    )
    at = (np.eye(3) * 1.07 - 0.03 * (1.0 - np.eye(3))) * STEPS
    called = records(
        i=at[:, 0].round(), j=at[:, 1].round(), k=at[:, 2].round(), s=[plain(n, 30) for n in names]
    )
    words = (
        alt.Chart(called)
        .transform_calculate(**projected(box))
        .mark_text(style="quiet", fontSize=11)
        .encode(x=x, y=y, text=alt.Text("s:N", title="axis"))
    )
    return lines, words


def original(box: RotationBox, fields: Sequence[str] = ("i", "j", "k")) -> list[str]:
    """Expressions of the coordinates that a row has on the three axes."""
    return [
        f"{low!r} + datum.{field} * {(high - low) / STEPS:.10g}"
        for field, low, high in zip(fields, box.low.tolist(), box.high.tolist(), strict=True)
    ]
