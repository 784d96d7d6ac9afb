"""From a table of any columns to the matrix that models take, the same for every batch."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fenchel.app.fault import BadData, BadUsage
from fenchel.app.table.cells import DATE_FORMATS, cells, days, numbers, truths
from fenchel.app.table.plan import KINDS, MOST_LEVELS, ColumnPlan, Surprises
from fenchel.app.table.profile import ColumnProfile, center_and_scale, profile
from fenchel.app.table.task import Task, near
from fenchel.app.table.text import LONGEST_CELL, MOST_COLUMNS, distinct_names
from fenchel.data.table import stack_columns

__all__ = ["ColumnPlan", "Encoder", "Surprises"]

_FORMAT = 1
_NUMBERS = "numbers"
_ROWS = 2**14  # rows at a time, whose columns stay in the cache
_WORDS = {
    "empty": "no row has a value",
    "constant": "the same value in every row",
    "identifier": "an identifier",
    "text": "text of mostly different rows",
    "nested": "not single values",
}


@dataclass(frozen=True)
class Encoder:
    """Frozen rules that turn rows of a table into rows of numbers.

    Numbers and dates are centred and scaled, categories become columns of 0 and 1 with levels of
    few rows (below 10, or 5 % of a small table) or beyond the 30 most frequent pooled, and a
    column of flags is added where training had missing values.
    """

    plans: tuple[ColumnPlan, ...]
    target: str | None = None

    missing_rule = (
        "numbers and dates by their median, truth values by the more frequent, categories by a "
        "level of their own or the most frequent; flagged where training had missing values"
    )
    unknown_rule = "levels unknown to training count as other, or as the most frequent level"

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the matrix."""
        return distinct_names([made for plan in self.plans for made in plan.outputs])[0]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table that are needed."""
        return tuple(plan.name for plan in self.plans if plan.kind != "dropped")

    @property
    def text_columns(self) -> tuple[str, ...]:
        """Those whose cells are names, which `read_table` should leave as text."""
        return tuple(plan.name for plan in self.plans if plan.kind == "category")

    @property
    def origins(self) -> tuple[ColumnPlan, ...]:
        """The plan that each column of the matrix comes from."""
        return tuple(plan for plan in self.plans for _ in plan.outputs)

    @property
    def scales(self) -> NDArray[np.float64]:
        """What one unit of each column of the matrix is in units of the table (1 for 0/1)."""
        made = [
            plan.scale if made == plan.name else 1.0 for plan in self.plans for made in plan.outputs
        ]
        return np.array(made)

    @classmethod
    def fit(
        cls,
        frame: pl.DataFrame,
        task: Task,
        profiles: Sequence[ColumnProfile] | None = None,
        *,
        drop: Collection[str] = (),
        formats: Mapping[str, str] | None = None,
    ) -> Encoder:
        """Rules for the columns of these rows, but the target and those in `drop`.

        `formats` are those of the `Source`, so that dates in other text files are read alike.
        Columns that are constant, empty, identifiers, prose, copies of another column or of the
        target are dropped with the reason; a column that is merely suspected of a leak is kept.
        """
        for name in drop:
            if name not in frame.columns:
                raise BadUsage(f"no column '{name}' to drop: {near(name, frame.columns)}")
        frame = task.kept(frame)
        if profiles is None:
            profiles = profile(frame, task)
        plans = []
        for found in profiles:
            reason = _refusal(found, drop)
            if reason:
                plans.append(ColumnPlan(found.name, "dropped", reason=reason))
            else:
                written = (formats or {}).get(found.name)
                plans.append(_plan(frame[found.name], found.kind, written))
        if not any(plan.outputs for plan in plans):
            why = "; ".join(f"'{plan.name}' {plan.reason}" for plan in plans[:3])
            told = f" ({why})" if why else ""
            raise BadData(f"no column of the table can be used{told}: add columns that vary")
        return cls(tuple(plans), task.target)

    def transform(
        self, frame: pl.DataFrame, surprises: Surprises | None = None
    ) -> NDArray[np.float64]:
        """The rows as an (n, p) matrix; `surprises` takes note of what training never saw."""
        self.check(frame.columns)
        used = [plan for plan in self.plans if plan.kind != "dropped"]
        out = np.empty((frame.height, len(self.names)))
        if surprises is not None:
            surprises.rows += frame.height
        for start in range(0, frame.height, _ROWS):
            part = frame.slice(start, _ROWS)
            made = [made for plan in used for made in plan.columns(part[plan.name], surprises)]
            out[start : start + part.height] = stack_columns(made, np.float64)
        return out

    def check(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Notes on columns that are not needed; BadData if one is missing."""
        there = set(columns)
        lacking = [name for name in self.columns if name not in there]
        if lacking:
            others = "".join(f", '{name}'" for name in lacking[1:5])
            others += f" and {len(lacking) - 5} more" if len(lacking) > 5 else ""
            raise BadData(
                f"the table has no column '{lacking[0]}'{others}, which the model needs: "
                f"{near(lacking[0], list(columns))}"
            )
        known = {plan.name for plan in self.plans} | {self.target}
        extra = [name for name in columns if name not in known]
        if not extra:
            return ()
        listed = ", ".join(f"'{name}'" for name in extra[:5])
        more = f" and {len(extra) - 5} more" if len(extra) > 5 else ""
        plural = "column is" if len(extra) == 1 else "columns are"
        return (f"{len(extra)} {plural} not known to the model and not used: {listed}{more}",)

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Plain values for JSON, and arrays."""
        plans = []
        for plan in self.plans:
            held = {part.name: getattr(plan, part.name) for part in fields(plan)}
            plans.append({k: v for k, v in held.items() if k not in ("center", "scale", "fill")})
            plans[-1]["levels"] = list(plan.levels)
        values = [[plan.center, plan.scale, plan.fill] for plan in self.plans]
        state = {"format": _FORMAT, "target": self.target, "plans": plans}
        return state, {_NUMBERS: np.array(values, np.float64).reshape(-1, 3)}

    @classmethod
    def from_state(cls, state: Any, arrays: Any) -> Encoder:
        """The encoder of `to_state`; ValueError for anything that it cannot have made."""
        if not isinstance(state, dict) or set(state) != {"format", "target", "plans"}:
            raise ValueError("an encoder has the entries format, target and plans")
        if type(state["format"]) is not int or state["format"] != _FORMAT:
            raise ValueError(f"the encoder has format {state['format']!r}, not {_FORMAT}")
        target, plans = state["target"], state["plans"]
        if target is not None and not _is_text(target):
            raise ValueError("the encoder's target is not the name of a column")
        if not isinstance(plans, list) or not 0 < len(plans) <= MOST_COLUMNS:
            raise ValueError(f"an encoder has 1 to {MOST_COLUMNS} columns")
        if not isinstance(arrays, Mapping) or set(arrays) != {_NUMBERS}:
            raise ValueError(f"an encoder has one array, '{_NUMBERS}'")
        values = arrays[_NUMBERS]
        if not isinstance(values, np.ndarray) or values.dtype != np.float64:
            raise ValueError("the encoder's numbers are not float64")
        if values.shape != (len(plans), 3) or not np.isfinite(values).all():
            raise ValueError("the encoder's numbers are not three finite ones for each column")
        made = [_stored(given, row) for given, row in zip(plans, values.tolist(), strict=True)]
        named = {plan.name for plan in made}
        if len(named) < len(made) or target in named:
            raise ValueError("the encoder names a column twice")
        if not any(plan.outputs for plan in made):
            raise ValueError("the encoder makes no column")
        return cls(tuple(made), target)


def _refusal(found: ColumnProfile, drop: Collection[str]) -> str:
    """Why a column is left out; empty if it is not."""
    if found.name in drop:
        return "as asked"
    if found.kind in _WORDS:
        return found.remarks[0] if found.remarks else _WORDS[found.kind]
    if found.copy:
        return "it is the target under another name"
    return f"equal to column '{found.same_as}'" if found.same_as is not None else ""


def _plan(column: pl.Series, kind: str, written: str | None) -> ColumnPlan:
    """The rule for one column, from these rows."""
    name = column.name
    if kind == "category":
        return _category_plan(column)
    read = {"date": days, "truth value": truths, "number": numbers}[kind]
    values = read(column).cast(pl.Float64)
    flag = values.null_count() > 0
    held = values.drop_nulls().to_numpy()
    if not len(held):
        return ColumnPlan(name, "dropped", reason=_WORDS["empty"])
    with np.errstate(over="ignore"):
        fill = float(np.median(held))
    center, scale = center_and_scale(held)
    if scale == 0.0 or not math.isfinite(fill):
        return _flag_plan(name, flag)
    if kind == "truth value":
        return ColumnPlan(name, kind, 0.0, 1.0, float(held.mean() > 0.5), flag=flag)
    return ColumnPlan(name, kind, center, scale, fill, flag=flag, written=written)


def _flag_plan(name: str, flag: bool) -> ColumnPlan:
    if flag:
        return ColumnPlan(name, "flag", flag=True)
    return ColumnPlan(name, "dropped", reason=_WORDS["constant"])


def _category_plan(column: pl.Series) -> ColumnPlan:
    name = column.name
    text = cells(column.cast(pl.String))
    counted = text.drop_nulls().alias("level").value_counts()
    counted = counted.sort("count", "level", descending=[True, False])
    flag = text.null_count() > 0
    if counted.height < 2:
        return _flag_plan(name, flag)
    least = max(3, min(10, len(text) // 20))
    often = counted.filter(pl.col("count") >= least).head(MOST_LEVELS)
    if not often.height:
        reason = f"none of its {counted.height} levels has {least} rows"
        return ColumnPlan(name, "dropped", reason=reason)
    levels = tuple(often["level"].to_list())
    return ColumnPlan(
        name, "category", levels=levels, other=counted.height > len(levels), flag=flag
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_CELL


def _stored(given: Any, values: Sequence[float]) -> ColumnPlan:
    """A plan out of a file, every part of it looked at."""
    parts = {part.name for part in fields(ColumnPlan)} - {"center", "scale", "fill"}
    if not isinstance(given, dict) or set(given) != parts:
        raise ValueError("a column of the encoder has not the entries of a plan")
    texts = [given["name"], given["reason"], given["written"] or ""]
    if not all(_is_text(text) for text in texts) or given["kind"] not in KINDS:
        raise ValueError("a column of the encoder has no name, or is of no known kind")
    name, kind, levels = given["name"], given["kind"], given["levels"]
    if type(given["other"]) is not bool or type(given["flag"]) is not bool:
        raise ValueError(f"the encoder's column '{name[:60]}' has flags that are no truth values")
    if not isinstance(levels, list) or not all(_is_text(level) for level in levels):
        raise ValueError(f"the encoder's column '{name[:60]}' has levels that are no texts")
    if len(set(levels)) < len(levels) or len(levels) > MOST_LEVELS:
        raise ValueError(f"the encoder's column '{name[:60]}' has too many levels, or one twice")
    if (kind == "category") != bool(levels) or (given["other"] and kind != "category"):
        raise ValueError(f"the encoder's column '{name[:60]}' has levels that do not fit its kind")
    if values[1] <= 0.0:
        raise ValueError(f"the encoder's column '{name[:60]}' is scaled by {values[1]}")
    if given["written"] is not None and given["written"] not in DATE_FORMATS:
        raise ValueError(f"the encoder's column '{name[:60]}' has dates of no known format")
    center, scale, fill = values
    rest = {key: given[key] for key in ("other", "flag", "written", "reason")}
    return ColumnPlan(name, kind, center, scale, fill, levels=tuple(levels), **rest)
