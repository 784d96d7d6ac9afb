"""What a chart's specification says, read back: its tables, fields, expressions and pictures."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import vl_convert

from fenchel.show import theme

EXPRESSIONS = {"filter", "calculate", "expr", "labelExpr", "test", "signal", "update"}


def size(chart: Any) -> int:
    """Bytes of the specification as it travels."""
    return len(json.dumps(chart.to_dict(), separators=(",", ":"), ensure_ascii=False).encode())


def walk(node: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """(key, value) of everything in a specification."""
    yield key, node
    if isinstance(node, dict):
        for name, value in node.items():
            yield from walk(value, name)
    elif isinstance(node, list):
        for value in node:
            yield from walk(value, key)


def parsed(values: Any) -> list[dict[str, Any]]:
    """Rows of one inlined table."""
    if isinstance(values, list):
        return values
    rows = csv.DictReader(io.StringIO(values))
    return [{k: float(v) if v else None for k, v in row.items()} for row in rows]


def tables(chart: Any) -> list[list[dict[str, Any]]]:
    """All inlined tables of a chart."""
    return [parsed(values) for values in chart.to_dict()["datasets"].values()]


def table(chart: Any, *fields: str) -> list[dict[str, Any]]:
    """The one table that has these fields and no others."""
    found = [rows for rows in tables(chart) if rows and set(rows[0]) == set(fields)]
    assert len(found) == 1, [list(rows[0]) for rows in tables(chart) if rows]
    return found[0]


def parts(chart: Any, *fields: str) -> list[list[dict[str, Any]]]:
    """All tables that have these fields and no others."""
    return [rows for rows in tables(chart) if rows and set(rows[0]) == set(fields)]


def column(rows: list[dict[str, Any]], field: str) -> list[Any]:
    return [row[field] for row in rows]


def title(chart: Any) -> str:
    text = chart.to_dict()["title"]["text"]
    return text if isinstance(text, str) else " ".join(text)


def notes(chart: Any) -> str:
    return " ".join(chart.to_dict()["title"].get("subtitle", []))


def picture(chart: Any, *, dark: bool = False, **signals: Any) -> str:
    """The chart as SVG, with signals set; warnings of Vega-Lite are printed."""
    spec = chart.to_dict() | {"config": theme(dark)}
    for name, value in signals.items():
        (param,) = (p for p in spec["params"] if p["name"] == name)
        param["value"] = value
    return vl_convert.vegalite_to_svg(spec, show_warnings=True)


def texts(svg: str) -> list[str]:
    """What is written in a picture."""
    found = re.findall(r"<text[^>]*>(.*?)</text>", svg, flags=re.S)
    return [unescape(re.sub(r"<[^>]+>", "\n", text)).strip() for text in found]
