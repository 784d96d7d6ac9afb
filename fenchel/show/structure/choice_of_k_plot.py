"""How many clusters: the criteria one below the other, with the number that each would choose."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from fenchel.score.structure.choice_of_k import COLUMNS, ChoiceOfK, Method
from fenchel.show.encoding import records, rounded, significant, table
from fenchel.show.formatting import capital, number
from fenchel.show.layout import Width, framed
from fenchel.show.theme import BLUE, GREY, ORANGE

COUNTS = 60  # numbers that are drawn, evenly spaced among more
BAND = 96  # pixels of a criterion
LOW, HIGH, HEAD = 0.1, 0.7, 0.86  # of a band: where values begin and end, and where its words stand
SHORT: dict[Method, str] = {
    "likelihood": "log-likelihood",
    "bic": "BIC",
    "penalty": "penalised scatter",
    "silhouette": "silhouette",
    "gap": "gap",
}


def choice_of_k(
    found: ChoiceOfK,
    *,
    title: str | None = None,
    width: Width = 420,
    height: int | None = None,
) -> alt.LayerChart:
    """What each number of clusters is worth by every criterion, each on a scale of its own.

    Parameters
    ----------
    found : ChoiceOfK
        Of `fenchel.choose_k`; `also` asks it for further criteria.
    height : int, optional
        By default 96 for each of several criteria.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import choose_k
    >>> from fenchel.show import choice_of_k
    >>> X = np.concatenate([np.random.default_rng(0).normal(m, 1, (40, 2)) for m in (0, 9)])
    >>> choice_of_k(choose_k(X, range(1, 5), "bic")).to_dict()["title"]["text"]
    'By the BIC: 2 clusters'
    """
    order = [found.method, *(name for name in found.values if name != found.method)]
    bands = [_Band(len(order) - 1 - i, found, name) for i, name in enumerate(order)]
    k = np.asarray(found.counts)
    marks = k if len(k) <= 12 else k[np.linspace(0, len(k) - 1, 7).round().astype(int)]
    x: dict[str, Any] = {
        "title": "clusters",
        "scale": alt.Scale(domain=[float(k[0]) - 0.3, float(k[-1]) + 0.3], nice=False),
        "axis": alt.Axis(values=marks.tolist(), format="d", grid=True, title="clusters"),
    }
    y: dict[str, Any] = {
        "title": "value",
        "scale": alt.Scale(domain=[0.0, float(len(order))], nice=False),
        # Room for the ends of the scales, which are marks.
        "axis": alt.Axis(title=None, labels=False, grid=False, minExtent=46),
    }
    layers = [_floors(bands, y), *_lines(bands, x, y), *_words(bands, y)]
    return framed(
        layers,
        title=title or found.caption().rstrip("."),
        notes=_notes(found, order),
        width=width,
        height=height or (BAND * len(order) if len(order) > 1 else 2 * BAND),
    )


class _Band:
    """A criterion between the heights `floor` and `floor` + 1."""

    def __init__(self, floor: int, found: ChoiceOfK, name: Method) -> None:
        values = np.asarray(found.values[name], np.float64)
        n, self.floor = len(values), floor
        error = np.asarray(found.errors.get(name, np.zeros(n)), np.float64)
        chosen = np.asarray(found.counts) == found.choices.get(name, 0)
        kept = np.arange(n)
        if n > COUNTS:
            even = np.linspace(0, n - 1, COUNTS).round().astype(int)
            kept = np.union1d(even, np.flatnonzero(chosen))
        kept = kept[np.isfinite(values[kept])]
        self.counts = np.asarray(found.counts)[kept]
        self.values, self.error, self.chosen = values[kept], error[kept], chosen[kept]
        ends = np.concatenate([self.values - self.error, self.values + self.error])
        self.low, self.high = float(ends.min(initial=np.inf)), float(ends.max(initial=-np.inf))
        better = "more" if COLUMNS[name][1] else "less"
        picked = found.choices.get(name, "none")
        self.head = f"{capital(SHORT[name])}: {picked} ({better} is better)"

    def at(self, values: Any) -> Any:
        """Heights of values."""
        span = self.high - self.low
        share = (values - self.low) / span if span > 0.0 else np.full(np.shape(values), 0.5)
        return rounded(self.floor + LOW + (HIGH - LOW) * share, 1.0)

    def columns(self) -> dict[str, Any]:
        """Its floor p, numbers k, heights y, values v, ends a and b of errors, whether chosen c."""
        return {
            "p": np.full(len(self.counts), self.floor),
            "k": self.counts,
            "y": self.at(self.values),
            "v": significant(self.values, 5),
            "a": self.at(self.values - self.error),
            "b": self.at(self.values + self.error),
            "c": self.chosen.astype(int),
        }


def _lines(bands: list[_Band], x: Any, y: Any) -> list[Any]:
    """Errors, a line for each criterion, its points and a ring around the chosen one."""
    parts = [band.columns() for band in bands]
    data = table(**{name: np.concatenate([part[name] for part in parts]) for name in "pkyvabc"})
    base = alt.Chart(data).encode(x=alt.X("k:Q", **x))
    value = base.encode(y=alt.Y("y:Q", **y))
    bars = base.transform_filter("datum.a < datum.b").mark_rule(color=GREY, strokeWidth=1.4)
    return [
        bars.encode(y=alt.Y("a:Q", **y), y2=alt.Y2("b:Q", title="value")),
        value.mark_line(color=BLUE, strokeWidth=1.6).encode(detail="p:N"),
        value.mark_point(color=BLUE, filled=True, size=30, opacity=1.0).encode(
            tooltip=[
                alt.Tooltip("k:Q", title="clusters"),
                alt.Tooltip("v:Q", title="value", format=".5~g"),
            ]
        ),
        value.transform_filter("datum.c == 1").mark_point(
            color=ORANGE, size=150, strokeWidth=2.2, opacity=1.0
        ),
    ]


def _floors(bands: list[_Band], y: Any) -> Any:
    rule = alt.Chart(table(y=[band.floor for band in bands])).mark_rule(color=GREY, opacity=0.35)
    return rule.encode(y=alt.Y("y:Q", **y))


def _words(bands: list[_Band], y: Any) -> list[Any]:
    """The name of each criterion above it, and the ends of its scale beside it."""
    rows: list[tuple[int, float, str]] = []
    for band in bands:
        rows.append((1, band.floor + HEAD, band.head))
        if len(band.values):
            rows.append((0, band.floor + HIGH, number(band.high)))
        if band.high > band.low:
            rows.append((0, band.floor + LOW, number(band.low)))
    base = alt.Chart(records(**dict(zip("kys", zip(*rows, strict=True), strict=True)))).encode(
        y=alt.Y("y:Q", **y), text="s:N"
    )
    ends: Any = {"style": "quiet", "align": "right", "baseline": "middle", "dx": -6, "fontSize": 10}
    heads: Any = {"align": "left", "baseline": "middle", "fontWeight": 600, "limit": 300}
    head = base.transform_filter("datum.k == 1").mark_text(aria=False, **heads)
    end = base.transform_filter("datum.k == 0").mark_text(aria=False, **ends)
    return [head.encode(x=alt.value(0)), end.encode(x=alt.value(0))]


def _notes(found: ChoiceOfK, order: list[Method]) -> list[str]:
    notes = ["Rings: the number that each criterion chooses; the first one decides."]
    if len(order) == 1:
        notes = ["Ring: the chosen number."]
    if any(name in found.errors for name in order):
        notes.append("Bars: one standard error.")
    return notes
