"""A column's plan as plain values, for a model file; and back, with every part checked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.app.table.encoding.column_plan import KINDS, MOST_LEVELS, ColumnPlan
from fenchel.app.table.encoding.text_features import TextFeatures
from fenchel.app.table.text.cells import DATE_FORMATS
from fenchel.app.table.text.number_format import NUMBER_FORMATS
from fenchel.app.table.text.text_rows import LONGEST_CELL

_ARRAYS = ("center", "scale", "fill", "weights")  # entries of a plan that are kept as arrays


def plain_plan(plan: ColumnPlan) -> dict[str, Any]:
    """The entries of a plan that JSON can hold."""
    found = {part.name: getattr(plan, part.name) for part in fields(plan)}
    found |= {"levels": list(plan.levels), "codes": list(plan.codes)}
    found["clip"] = None if plan.clip is None else list(plan.clip)
    return {name: value for name, value in found.items() if name not in _ARRAYS}


def is_text(value: Any) -> bool:
    """Whether a value is a text of a bearable length."""
    return isinstance(value, str) and len(value) <= LONGEST_CELL


def plan_of_format_1(given: Any) -> Any:
    """A plan of format 1, with what has been added since."""
    if not isinstance(given, dict) or set(given) & {"codes", "clip"}:
        raise ValueError("a column of the encoder has not the entries of a plan")
    return {**given, "codes": [], "clip": None}


def stored_plan(given: Any, values: Sequence[float], weights: NDArray[np.float64]) -> ColumnPlan:
    """A plan out of a file, every part of it looked at; a text takes the first of the weights."""
    parts = {part.name for part in fields(ColumnPlan)} - set(_ARRAYS)
    if not isinstance(given, dict) or set(given) != parts:
        raise ValueError("a column of the encoder has not the entries of a plan")
    texts = [given["name"], given["reason"], given["written"] or ""]
    if not all(is_text(text) for text in texts) or given["kind"] not in KINDS:
        raise ValueError("a column of the encoder has no name, or is of no known kind")
    name, kind, levels = given["name"], given["kind"], given["levels"]
    if type(given["other"]) is not bool or type(given["flag"]) is not bool:
        raise ValueError(f"the encoder's column '{name[:60]}' has flags that are no truth values")
    if not isinstance(levels, list) or not all(is_text(level) for level in levels):
        raise ValueError(f"the encoder's column '{name[:60]}' has levels that are no texts")
    if len(set(levels)) < len(levels) or (len(levels) > MOST_LEVELS and kind != "text"):
        raise ValueError(f"the encoder's column '{name[:60]}' has too many levels, or one twice")
    leveled = kind in ("category", "text")
    if leveled != bool(levels) or (given["other"] and kind != "category"):
        raise ValueError(f"the encoder's column '{name[:60]}' has levels that do not fit its kind")
    if values[1] <= 0.0:
        raise ValueError(f"the encoder's column '{name[:60]}' is scaled by {values[1]}")
    written = given["written"]
    known = {"date": DATE_FORMATS, "number": NUMBER_FORMATS}.get(kind, ())
    if written is not None and written not in known:
        raise ValueError(f"the encoder's column '{name[:60]}' is written in no known format")
    center, scale, fill = values
    rest = {key: given[key] for key in ("other", "flag", "written", "reason")}
    rest |= {"codes": _codes(given["codes"], name), "clip": _limits(given["clip"], name)}
    if kind == "text":
        rest["weights"] = TextFeatures.from_parts(levels, weights[: len(levels)]).idf
    return ColumnPlan(name, kind, center, scale, fill, levels=tuple(levels), **rest)


def _codes(given: Any, name: str) -> tuple[float, ...]:
    if not isinstance(given, list) or len(given) > 10 or not all(_is_finite(v) for v in given):
        raise ValueError(f"the encoder's column '{name[:60]}' has codes that are no numbers")
    return tuple(float(value) for value in given)


def _limits(given: Any, name: str) -> tuple[float, float] | None:
    if given is None:
        return None
    if not isinstance(given, list) or len(given) != 2 or not all(_is_finite(v) for v in given):
        raise ValueError(f"the encoder's column '{name[:60]}' has limits that are no numbers")
    if not given[0] < given[1]:
        raise ValueError(f"the encoder's column '{name[:60]}' has limits in the wrong order")
    return float(given[0]), float(given[1])


def _is_finite(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)
