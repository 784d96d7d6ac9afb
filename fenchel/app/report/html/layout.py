"""Pieces that every section is made of: sections, tables, numbers with intervals, figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from fenchel.app.report.estimates import Entry, estimate_of
from fenchel.app.report.figures import Figure
from fenchel.app.report.html.markup import Markup, joined, named, tag
from fenchel.data.display.rounding import interval_texts, percent
from fenchel.score.estimate import Estimate
from fenchel.show.formatting import estimated, number

Cell = Any


def section(key: str, title: str, *children: Any, lead: Any = None) -> Markup:
    """A section of the page, under a heading of the second level."""
    head = tag("h2", title, id=f"{key}-title")
    first = None if lead is None else tag("p", lead, class_="lead")
    return tag("section", head, first, *children, id=key, aria_labelledby=f"{key}-title")


def table(
    caption: Any,
    header: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    left: Sequence[int] = (0,),
    class_: str = "",
    label: str = "",
) -> Markup:
    """A table that scrolls in its own box; columns are numbers but for those in `left`."""

    def cells(kind: str, values: Sequence[Cell]) -> list[Markup]:
        found = []
        for place, value in enumerate(values):
            is_row = kind == "td" and place == 0
            is_column = kind == "th" and value != ""  # a heading says something
            found.append(
                tag(
                    "th" if is_row or is_column else "td",
                    value,
                    class_=None if place in left else "num",
                    scope="row" if is_row else ("col" if is_column else None),
                )
            )
        return found

    body = [tag("tr", cells("td", row)) for row in rows]
    whole = tag(
        "table",
        tag("caption", tag("span", caption)),
        tag("thead", tag("tr", cells("th", header))),
        tag("tbody", body),
    )
    return tag(
        "div",
        whole,
        class_=f"scroll {class_}".strip(),
        role="region",
        aria_label=label or caption,
        tabindex="0",
    )


def facts(pairs: Iterable[tuple[str, Any]], class_: str = "facts") -> Markup:
    """Names and values, side by side."""
    rows = [tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs]
    return tag("dl", rows, class_=class_)


def value_of(entry: Entry | None) -> Markup:
    """A number with its interval beneath, or with the reason why it has none."""
    found = None if entry is None else estimate_of(entry)
    if entry is None:
        return tag("span", "–", class_="none")
    if isinstance(found, Estimate):
        value, _, ends = estimated(found).partition(" ")
        return joined([tag("span", value, class_="value"), " ", tag("span", ends, class_="ends")])
    if found is None:
        return tag("span", entry["reason"], class_="why")
    return tag("span", number(found, 4), class_="value", title=entry["reason"])


def shared(entry: Entry | None) -> Markup:
    """A share in per cent, with its interval."""
    found = None if entry is None else estimate_of(entry)
    if not isinstance(found, Estimate):
        if entry is not None and found is not None:
            return tag("span", percent(found), class_="value", title=entry["reason"])
        return value_of(entry)
    value, low, high = interval_texts(float(found), found.low, found.high, percent=True)
    ends = tag("span", f"[{low}, {high}]", class_="ends")
    return joined([tag("span", f"{value} %", class_="value"), " ", ends])


def spelled(entry: Entry | None) -> Markup:
    """How the interval was made, or why there is none."""
    if entry is None:
        return Markup("")
    if "reason" in entry:
        return tag("span", entry["reason"], class_="why")
    return tag("span", f"{100 * entry['level']:.4g} %, {entry['method']}", class_="why")


def strip(entry: Entry, low: float, high: float, baseline: float | None = None) -> Markup:
    """A small picture of a number, its interval and what a constant has; words say it too."""
    wide, middle = 120.0, 7.0
    found = estimate_of(entry)
    if found is None or not high > low:
        return Markup("")

    def at(value: float) -> str:
        place = (min(max(value, low), high) - low) / (high - low)
        return f"{4.0 + place * (wide - 8.0):.1f}"

    parts = [line(at(low), middle, at(high), middle, "axis")]
    if baseline is not None and math.isfinite(baseline):
        parts.append(line(at(baseline), middle - 5.0, at(baseline), middle + 5.0, "base"))
    if isinstance(found, Estimate):
        parts.append(line(at(found.low), middle, at(found.high), middle, "reach"))
    parts.append(tag("circle", cx=at(float(found)), cy=f"{middle:g}", r="3.5", class_="dot"))
    return picture(parts, f"0 0 {wide:g} 14", "strip")


def line(x1: str, y1: float, x2: str, y2: float, class_: str) -> Markup:
    """A line of a small picture."""
    return tag("line", x1=x1, y1=f"{y1:g}", x2=x2, y2=f"{y2:g}", class_=class_)


def picture(parts: list[Markup], box: str, class_: str) -> Markup:
    """A small picture inside a line, which screen readers pass over."""
    return tag(
        "svg",
        parts,
        viewBox=box,
        class_=class_,
        preserveAspectRatio="xMinYMid",
        aria_hidden="true",
        focusable="false",
    )


def histogram(counts: Sequence[Sequence[int]]) -> Markup:
    """Bins as stacked columns, one colour for each class; a single class has one colour."""
    total = [sum(column) for column in zip(*counts, strict=True)]
    most = max(total, default=0)
    if not most:
        return Markup("")
    wide, tall = 200.0 / len(total), 56.0
    parts = []
    for k in range(len(total)):
        base = tall
        for place, row in enumerate(counts):
            if not row[k]:
                continue
            high = max(tall * row[k] / most, 0.7)
            base -= high
            parts.append(
                tag(
                    "rect",
                    x=f"{k * wide:.1f}",
                    y=f"{max(base, 0.0):.1f}",
                    width=f"{max(wide - 1.0, 0.8):.1f}",
                    height=f"{high:.1f}",
                    class_=f"class-{place}",
                )
            )
    return picture(parts, f"0 0 200 {tall:g}", "histogram")


def level_bars(levels: Sequence[str], counts: Sequence[Sequence[int]]) -> Markup:
    """The levels of a category, each with a bar that is stacked by class."""
    total = [sum(column) for column in zip(*counts, strict=True)]
    most = max(total, default=0) or 1
    rows = []
    for k, level in enumerate(levels):
        parts, start = [], 0.0
        for place, row in enumerate(counts):
            wide = 100.0 * row[k] / most
            if wide > 0.0:
                parts.append(
                    tag(
                        "rect",
                        x=f"{start:.1f}",
                        y="1",
                        width=f"{max(wide, 0.6):.1f}",
                        height="8",
                        class_=f"class-{place}",
                    )
                )
                start += wide
        bar = picture(parts, "0 0 100 10", "level-bar")
        rows.append(tag("li", named(level, 24), bar, tag("span", f"{total[k]:,}", class_="many")))
    return tag("ul", rows, class_="levels")


def meter(share: float) -> Markup:
    """A share as a bar."""
    wide = f"{60.0 * min(max(share, 0.0), 1.0):.1f}"
    parts = [
        tag("rect", x="0", y="2", width="60", height="6", class_="track"),
        tag("rect", x="0", y="2", width=wide, height="6", class_="fill"),
    ]
    return picture(parts, "0 0 60 10", "meter")


def figure(key: str, figures: dict[str, Figure]) -> Markup | None:
    """The place of a figure, its words, and the data behind it on request."""
    found = figures.get(key)
    return None if found is None else placed(key, found)


def placed(key: str, found: Figure) -> Markup:
    """The same for a figure that is already made."""
    said = found["spec"].get("description") or found["title"]
    head = [
        tag("p", found["kind"], class_="kind"),
        tag("h3", named(found["title"], 200)),
        tag("p", found["notes"], class_="notes") if found["notes"] else None,
    ]
    words = f"Data of this figure: {found['kind']}"
    data = tag(
        "details",
        tag("summary", "Data of this figure", aria_label=words),
        class_="data",
        data_of=key,
    )
    plot = tag("div", class_="plot", data_figure=key, role="img", aria_label=said)
    return tag(
        "figure", tag("figcaption", head), plot, data, class_="card chart", id=f"figure-{key}"
    )


def grid(*children: Any) -> Markup:
    """Cards side by side where there is room."""
    return tag("div", *children, class_="grid")


def folded(summary: str, *children: Any) -> Markup:
    """Something that is there for those who ask."""
    return tag("details", tag("summary", summary), *children)


def timed(path: str) -> Markup:
    """A number of seconds that differs from run to run: the page's script fills it in."""
    return tag("span", "–", data_clock=path)
