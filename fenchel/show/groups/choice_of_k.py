"""How many clusters: the criteria side by side, with the number that each would choose."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from fenchel.score.choice import COLUMNS, ChoiceOfK, Method
from fenchel.show.frame import SMALL
from fenchel.show.inline import rounded, table
from fenchel.show.theme import BLUE, GREY, ORANGE
from fenchel.show.words import LONGEST, capital, lines, plain

SHORT: dict[Method, str] = {
    "likelihood": "log-likelihood",
    "bic": "BIC",
    "penalty": "penalised scatter",
    "silhouette": "silhouette",
    "gap": "gap",
}
NUMBERS = "format(datum.value, abs(datum.value) >= 1e4 ? '.3~s' : '.4~g')"
EXTENT = 40  # pixels of the numbers of an axis
COUNTS = 60  # numbers that are drawn, evenly spaced among more


def choice_of_k(
    found: ChoiceOfK,
    *,
    title: str | None = None,
    across: int = 2,
    width: int = 200,
    height: int = 130,
) -> alt.FacetChart:
    """What each number of clusters is worth by every criterion, a panel a criterion.

    Parameters
    ----------
    found : ChoiceOfK
        Of `fenchel.choose_k`; `also` asks it for further criteria.
    across : int
        Panels in a row of the picture.
    width, height : int
        Of one of them.

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
    parts = [_panel(i, found, name) for i, name in enumerate(order)]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in "pkvabch"}
    k = np.asarray(found.counts)
    marks = k if len(k) <= 12 else k[np.linspace(0, len(k) - 1, 7).round().astype(int)]
    x: dict[str, Any] = {
        "title": "clusters",
        "scale": alt.Scale(domain=[float(k[0]) - 0.3, float(k[-1]) + 0.3], nice=False),
        "axis": alt.Axis(values=marks.tolist(), format="d", grid=False, title=None),
    }
    y: dict[str, Any] = {
        "title": "value",
        "scale": alt.Scale(zero=False, nice=True),
        # Of one width, so that the panels stand in line.
        "axis": alt.Axis(
            tickCount=4, title=None, labelExpr=NUMBERS, minExtent=EXTENT, maxExtent=EXTENT
        ),
    }
    base = alt.Chart().encode(x=alt.X("k:Q", **x))
    value = base.encode(y=alt.Y("v:Q", **y))
    tooltip = [
        alt.Tooltip("k:Q", title="clusters"),
        alt.Tooltip("v:Q", title="value", format=".5~g"),
    ]
    bars = (
        base.transform_filter("isValid(datum.a)")
        .mark_rule(color=GREY, strokeWidth=1.4, aria=False)
        .encode(y=alt.Y("a:Q", **y), y2=alt.Y2("b:Q", title="value"))
    )
    line = value.transform_filter("isValid(datum.v)").mark_line(
        color=BLUE, strokeWidth=1.6, aria=False
    )
    points = value.transform_filter("isValid(datum.v)").mark_point(
        color=BLUE, filled=True, size=30, opacity=1.0
    )
    ring = value.transform_filter("datum.c == 1").mark_point(
        color=ORANGE, size=150, strokeWidth=2.2, opacity=1.0, aria=False
    )
    heads = ", ".join(f"'{head}'" for head in _heads(found, order))
    # A mark and no header: headers stand higher where the labels of an axis reach farther up.
    head = (
        alt.Chart()
        .transform_filter("datum.h == 1")
        .transform_calculate(s=f"[{heads}][datum.p]")
        .mark_text(align="left", baseline="bottom", fontWeight=600, dy=-8, aria=False)
        .encode(x=alt.value(0), y=alt.value(0), text="s:N")
    )
    layers = alt.layer(bars, line, points.encode(tooltip=tooltip), ring, head)
    chart = (
        layers.properties(width=width, height=height)
        .facet(
            facet=alt.Facet(
                "p:O",
                title=None,
                header=alt.Header(labelExpr="''", labelFontSize=1, labelPadding=0),
            ),
            columns=across,
            data=table(**columns),
            bounds="flush",
            spacing={"row": 52, "column": EXTENT + 24},
        )
        .resolve_scale(y="independent")
        .resolve_axis(x="independent", y="independent")
    )
    said = plain(title or found.caption().rstrip("."), LONGEST)
    notes = _notes(found, order)
    room = min(across, len(order)) * (width + EXTENT + 24)
    return chart.properties(
        title=alt.TitleParams(text=said, subtitle=lines(notes, room / SMALL)),
        description=". ".join([said.rstrip("."), *(note.rstrip(".") for note in notes)]),
    )


def _panel(place: int, found: ChoiceOfK, name: Method) -> dict[str, Any]:
    """Columns of a criterion: panel p, number k, value v, ends a and b, whether chosen c and the
    first h."""
    values = np.asarray(found.values[name], np.float64)
    n = len(values)
    error = np.asarray(found.errors.get(name, np.full(n, np.nan)), np.float64)
    chosen = np.asarray(found.counts) == found.choices.get(name, 0)
    kept = np.arange(n)
    if n > COUNTS:
        kept = np.union1d(np.linspace(0, n - 1, COUNTS).round().astype(int), np.flatnonzero(chosen))
    seen = values[np.isfinite(values)]
    span = float(np.ptp(seen)) if seen.size else 1.0
    return {
        "p": np.full(len(kept), place),
        "k": np.asarray(found.counts)[kept],
        "v": rounded(values[kept], span),
        "a": rounded((values - error)[kept], span),
        "b": rounded((values + error)[kept], span),
        "c": chosen[kept].astype(int),
        "h": (np.arange(len(kept)) == 0).astype(int),
    }


def _heads(found: ChoiceOfK, order: list[Method]) -> list[str]:
    said = {name: str(found.choices.get(name, "none")) for name in order}
    return [f"{capital(SHORT[name])}: {said[name]}" for name in order]


def _notes(found: ChoiceOfK, order: list[Method]) -> list[str]:
    more = [COLUMNS[name][2] for name in order if COLUMNS[name][1]]
    less = [COLUMNS[name][2] for name in order if not COLUMNS[name][1]]
    notes = ["Rings: the number that each criterion chooses; the first one decides."]
    if len(order) == 1:
        notes = ["Ring: the chosen number."]
    if more:
        notes.append(f"More is better: {', '.join(more)}.")
    if less:
        notes.append(f"Less is better: {', '.join(less)}.")
    if any(name in found.errors for name in order):
        notes.append("Bars: one standard error.")
    return notes
