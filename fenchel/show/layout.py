"""The frame that all figures share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import altair as alt

from fenchel.show.formatting import LONGEST, lines, plain

Width = int | Literal["container"]
# Pixels: of a phone's screen, beside the plot, of a letter of the title and of the small print.
PHONE, MARGIN, LETTER, SMALL = 340, 45, 8.0, 6.0
Side = dict[str, Any]  # title, scale and axis of x or y


def framed(
    layers: Sequence[Any],
    *,
    title: str,
    notes: Sequence[str] = (),
    width: Width,
    height: int,
    parameter: alt.Parameter | None = None,
) -> alt.LayerChart:
    """One view of several layers, with its title and what a reader must know in small print.

    The words are also the chart's description, which screen readers read. They read the marks that
    have a tooltip too; without one a line would be read as the numbers of its first point.
    """
    said = [note for note in notes if note]
    room = PHONE if width == "container" else width + MARGIN
    heading = alt.TitleParams(
        text=one_or_more(lines([title], room / LETTER)), subtitle=lines(said, room / SMALL)
    )
    chart: Any = alt.layer(*map(described, layers)).properties(
        title=heading,
        width=width,
        height=height,
        description=". ".join([plain(title, LONGEST), *(note.rstrip(".") for note in said)]),
    )
    whole: alt.LayerChart = chart if parameter is None else chart.add_params(parameter)
    return whole


def described(layer: Any) -> Any:
    """The layer, silent for screen readers where no tooltip says what its marks mean."""
    if layer.encoding is not alt.Undefined and layer.encoding.tooltip is not alt.Undefined:
        return layer
    silent = layer.copy(deep=False)
    mark = layer.mark
    if isinstance(mark, alt.MarkDef):
        silent.mark = mark.copy(deep=False)
        silent.mark.aria = False
    else:
        silent.mark = alt.MarkDef(type=mark, aria=False)
    return silent


def one_or_more(found: list[str]) -> Any:
    """The line, or all of them where there are several."""
    return found[0] if len(found) == 1 else found


def across(width: Width) -> float:
    """Pixels of a width, and a usual number of them where the page decides."""
    return 480.0 if width == "container" else float(width)


def pixels(width: Width) -> str:
    """The expression of a width: a number, for charts that stand side by side have no signal of it,
    or the signal of a chart that fills its container."""
    return "width" if width == "container" else str(width)


def shares(title: str, **axis: Any) -> Side:
    """Title, scale and axis of a share between 0 and 1."""
    return {
        "title": title,
        "scale": alt.Scale(domain=[0.0, 1.0], nice=False),
        "axis": alt.Axis(format=".0%", tickCount=5, **axis),
    }
