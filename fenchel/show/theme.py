"""Colours and the looks of a chart, light and dark."""

from __future__ import annotations

from typing import Any

import altair as alt

# Each is told from white and from the dark ground at 3:1 or more, and from the others with any
# common kind of colour blindness, so that one chart serves both grounds.
BLUE, ORANGE, GREEN = "#2f7fc1", "#d4600f", "#12a862"
VIOLET, OLIVE, WINE = "#9333ea", "#706628", "#ab405c"
GREY = "#808891"
CATEGORIES = (BLUE, ORANGE, GREEN, VIOLET, OLIVE, WINE)
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def theme(dark: bool = False) -> dict[str, Any]:
    """The Vega-Lite config of all figures: `chart.configure(**theme())`, or `spec["config"]`."""
    ground, ink, quiet, line = (
        ("#16181d", "#e9ebee", "#a9b0ba", "#31363f")
        if dark
        else ("#ffffff", "#1c2026", "#59616b", "#e3e6ea")
    )
    return {
        "background": ground,
        "font": FONT,
        "padding": 6,
        "view": {"stroke": None},
        "title": {
            "anchor": "start",
            "frame": "bounds",
            "fontSize": 14,
            "fontWeight": 600,
            "color": ink,
            "subtitleColor": quiet,
            "subtitleFontSize": 11.5,
            "subtitleLineHeight": 15,
            "subtitlePadding": 5,
            "offset": 12,
        },
        "axis": {
            "domain": False,
            "ticks": False,
            "grid": True,
            "gridColor": line,
            "labelColor": quiet,
            "labelFontSize": 11,
            "labelPadding": 6,
            "labelLimit": 180,
            "titleColor": quiet,
            "titleFontSize": 11.5,
            "titleFontWeight": "normal",
            "titlePadding": 9,
            "titleLimit": 260,
        },
        "axisX": {"labelFlush": False},
        "axisBand": {"grid": False},
        "legend": {
            "orient": "top",
            "titleColor": quiet,
            "titleFontSize": 11,
            "titleFontWeight": "normal",
            "labelColor": quiet,
            "labelFontSize": 11,
            "labelLimit": 160,
            "symbolStrokeWidth": 2.5,
            "columnPadding": 14,
            "offset": 6,
        },
        "header": {"labelColor": ink, "labelFontSize": 11, "titleColor": quiet},
        "text": {"color": ink, "fontSize": 11},
        "style": {"quiet": {"color": quiet}, "ink": {"color": ink}},
        "range": {"category": list(CATEGORIES)},
    }


def enable_theme(dark: bool = False) -> None:
    """Give every Altair chart of this session these looks, those of other libraries too."""

    def looks() -> alt.theme.ThemeConfig:
        return {"config": theme(dark)}  # type: ignore[typeddict-item]

    alt.theme.register("fenchel", enable=True)(looks)
