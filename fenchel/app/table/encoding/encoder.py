"""From a table of any columns to the matrix that models take, the same for every batch."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from fenchel.app.errors import BadData, BadUsage
from fenchel.app.table.encoding.column_plan import MOST_LEVELS, ColumnPlan, Surprises, without_codes
from fenchel.app.table.encoding.plan_state import is_text, plain_plan, plan_of_format_1, stored_plan
from fenchel.app.table.encoding.text_features import TextFeatures
from fenchel.app.table.profile.column_profile import ColumnProfile, center_and_scale, profile
from fenchel.app.table.task import Task, near
from fenchel.app.table.text.cells import ISO, cells, days, numbers, truths
from fenchel.app.table.text.number_format import NUMBER_FORMATS, PLAIN
from fenchel.app.table.text.text_rows import MOST_COLUMNS, distinct_names
from fenchel.data.intake import stack_columns

__all__ = ["ColumnPlan", "Encoder", "Surprises"]

_FORMAT = 2  # 1 had no texts, no codes of missing values and no limits
_NUMBERS, _WEIGHTS = "numbers", "weights"
_ROWS = 2**14  # rows at a time, whose columns stay in the cache
_WORDS = {
    "empty": "no row has a value",
    "constant": "the same value in every row",
    "identifier": "an identifier",
    "nested": "not single values",
}


@dataclass(frozen=True)
class Encoder:
    """Frozen rules that turn rows of a table into rows of numbers.

    Numbers and dates are centred and scaled, categories become columns of 0 and 1 with levels of
    few rows (below 10, or 5 % of a small table) or beyond the 30 most frequent pooled, texts become
    weights of their n-grams, and a column of flags is added where training had missing values.
    Numbers that are codes of missing values count as missing, and where a few cells dominate the
    scale of a column they are clipped (`suspect_values`), unless the table is taken as it is.
    """

    plans: tuple[ColumnPlan, ...]
    target: str | None = None
    target_written: str | None = None  # how its numbers are written in text

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
    def one_hot(self) -> int:
        """Categories all of whose levels have a column: these columns sum to one."""
        return sum(
            plan.kind == "category" and len(plan.levels) + plan.other > 2 for plan in self.plans
        )

    @property
    def is_sparse(self) -> bool:
        """Whether the matrix is sparse: where there are texts."""
        return any(plan.kind == "text" for plan in self.plans)

    @property
    def text_columns(self) -> tuple[str, ...]:
        """Those whose cells are names, which `read_table` should leave as text."""
        return tuple(plan.name for plan in self.plans if plan.kind in ("category", "text"))

    @property
    def formats(self) -> dict[str, str]:
        """The columns of the table, each with how its numbers or dates are written at the fit."""
        usual = {"number": PLAIN, "date": ISO}
        used = [plan for plan in self.plans if plan.kind != "dropped"]
        found = {plan.name: plan.written or usual.get(plan.kind, "") for plan in used}
        return found if self.target is None else {**found, self.target: self.target_written or ""}

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
        drop: Collection[str] | Mapping[str, str] = (),
        text: Collection[str] = (),
        as_is: bool = False,
        formats: Mapping[str, str] | None = None,
    ) -> Encoder:
        """Rules for the columns of these rows, but the target and those in `drop`, which may be
        given with the reason of each.

        Columns in `text` are read as texts whatever they look like; `as_is` takes every number for
        what it says.

        `profiles` may be those of more rows than these, such as the test rows besides: what a
        column is, its codes and its limits are taken from them, and every number from these rows.

        `formats` are those of the `FileStamp`, so that numbers and dates in other text files are
        read alike.
        Columns that are constant, empty, identifiers, copies of another column or of the target are
        dropped with the reason; a column that is merely suspected of a leak is kept.
        """
        for names, what in ((drop, "to drop"), (text, "for --text")):
            for name in names:
                if name not in frame.columns:
                    raise BadUsage(f"no column '{name}' {what}: {near(name, frame.columns)}")
        frame = task.kept(frame)
        if profiles is None:
            profiles = profile(frame, task)
        plans = []
        for found in profiles:
            forced = found.name in text and found.name not in drop
            reason = "" if forced else _refusal(found, drop)
            kind = "text" if forced else found.kind
            if reason:
                plans.append(ColumnPlan(found.name, "dropped", reason=reason))
            else:
                written = (formats or {}).get(found.name)
                plans.append(_plan(frame[found.name], kind, written, None if as_is else found))
        if not any(plan.outputs for plan in plans):
            why = "; ".join(f"'{plan.name}' {plan.reason}" for plan in plans[:3])
            told = f" ({why})" if why else ""
            raise BadData(f"no column of the table can be used{told}: add columns that vary")
        written = (formats or {}).get(task.target or "")
        return cls(tuple(plans), task.target, written if written in NUMBER_FORMATS else None)

    def transform(self, frame: pl.DataFrame, surprises: Surprises | None = None) -> Any:
        """The rows as an (n, p) matrix; `surprises` takes note of what training never saw.

        A float64 array, or a CSR array where there are texts.
        """
        self.check(frame.columns)
        if surprises is not None:
            surprises.rows += frame.height
        if not self.is_sparse:
            return _dense([plan for plan in self.plans if plan.outputs], frame, surprises)
        parts = []
        for in_text, run in groupby(
            (plan for plan in self.plans if plan.outputs), lambda plan: plan.kind == "text"
        ):
            if in_text:
                parts += [plan.sparse_columns(frame[plan.name]) for plan in run]
            else:
                parts.append(sparse.csr_array(_dense(list(run), frame, surprises)))
        return sparse.csr_array(sparse.hstack(parts, format="csr"))

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
        plans = [plain_plan(plan) for plan in self.plans]
        values = [[plan.center, plan.scale, plan.fill] for plan in self.plans]
        weights = [weight for plan in self.plans for weight in plan.weights]
        state = {"format": _FORMAT, "target": self.target, "plans": plans}
        if self.target_written is not None:
            state["target_written"] = self.target_written
        numbers = np.array(values, np.float64).reshape(-1, 3)
        return state, {_NUMBERS: numbers, _WEIGHTS: np.array(weights, np.float64)}

    @classmethod
    def from_state(cls, state: Any, arrays: Any) -> Encoder:
        """The encoder of `to_state`; ValueError for anything that it cannot have made."""
        entries = {"format", "target", "plans"}
        if not isinstance(state, dict) or set(state) - {"target_written"} != entries:
            raise ValueError("an encoder has the entries format, target and plans")
        if type(state["format"]) is not int or not 1 <= state["format"] <= _FORMAT:
            raise ValueError(f"the encoder has format {state['format']!r}, not 1 to {_FORMAT}")
        target, plans = state["target"], state["plans"]
        if target is not None and not is_text(target):
            raise ValueError("the encoder's target is not the name of a column")
        if not isinstance(plans, list) or not 0 < len(plans) <= MOST_COLUMNS:
            raise ValueError(f"an encoder has 1 to {MOST_COLUMNS} columns")
        wanted = {_NUMBERS} if state["format"] == 1 else {_NUMBERS, _WEIGHTS}
        if not isinstance(arrays, Mapping) or set(arrays) != wanted:
            raise ValueError(f"an encoder has the arrays {', '.join(sorted(wanted))}")
        if state["format"] == 1:
            plans = [plan_of_format_1(plan) for plan in plans]
        values, weights = arrays[_NUMBERS], arrays.get(_WEIGHTS, np.zeros(0))
        if not isinstance(weights, np.ndarray) or weights.dtype != np.float64 or weights.ndim != 1:
            raise ValueError("the encoder's weights are not float64")
        if not isinstance(values, np.ndarray) or values.dtype != np.float64:
            raise ValueError("the encoder's numbers are not float64")
        if values.shape != (len(plans), 3) or not np.isfinite(values).all():
            raise ValueError("the encoder's numbers are not three finite ones for each column")
        made, used = [], 0
        for given, row in zip(plans, values.tolist(), strict=True):
            made.append(stored_plan(given, row, weights[used:]))
            used += len(made[-1].weights)
        if used != len(weights):
            raise ValueError("the encoder has weights that belong to no column")
        named = {plan.name for plan in made}
        if len(named) < len(made) or target in named:
            raise ValueError("the encoder names a column twice")
        if not any(plan.outputs for plan in made):
            raise ValueError("the encoder makes no column")
        written = state.get("target_written")
        if written is not None and (target is None or written not in NUMBER_FORMATS):
            raise ValueError("the encoder's target is written in no known format")
        return cls(tuple(made), target, written)


def _refusal(found: ColumnProfile, drop: Collection[str] | Mapping[str, str]) -> str:
    """Why a column is left out; empty if it is not."""
    if found.name in drop:
        return drop[found.name] if isinstance(drop, Mapping) else "as asked"
    if found.kind in _WORDS:
        return found.remarks[0] if found.remarks else _WORDS[found.kind]
    if found.copy:
        return "it is the target under another name"
    return f"equal to column '{found.same_as}'" if found.same_as is not None else ""


def _dense(
    plans: Sequence[ColumnPlan], frame: pl.DataFrame, surprises: Surprises | None
) -> NDArray[np.float64]:
    """The columns of these plans, some rows at a time."""
    out = np.empty((frame.height, sum(len(plan.outputs) for plan in plans)))
    for start in range(0, frame.height, _ROWS):
        part = frame.slice(start, _ROWS)
        made = [made for plan in plans for made in plan.columns(part[plan.name], surprises)]
        out[start : start + part.height] = stack_columns(made, np.float64)
    return out


def _plan(
    column: pl.Series, kind: str, written: str | None, found: ColumnProfile | None
) -> ColumnPlan:
    """The rule for one column, from these rows; codes and limits are those of its profile, none
    where the table is taken as it is."""
    name = column.name
    if kind == "category":
        return _category_plan(column)
    if kind == "text":
        return _text_plan(column)
    read = {"date": days, "truth value": truths, "number": numbers}[kind]
    values = read(column).cast(pl.Float64)
    codes: tuple[float, ...] = ()
    clip = None
    if found is not None and kind in ("number", "date"):
        codes = tuple(one.cell for one in found.suspects if one.kind == "code" and one.written)
        values = without_codes(values, codes) if codes else values
        clip = found.limits
    flag = values.null_count() > 0
    held = values.drop_nulls().to_numpy()
    if not len(held):
        return ColumnPlan(name, "dropped", reason=_WORDS["empty"])
    held = held if clip is None else np.clip(held, *clip)
    with np.errstate(over="ignore"):
        fill = float(np.median(held))
    center, scale = center_and_scale(held)
    if scale == 0.0 or not math.isfinite(fill):
        return _flag_plan(name, flag)
    if kind == "truth value":
        return ColumnPlan(name, kind, 0.0, 1.0, float(held.mean() > 0.5), flag=flag)
    rest = {"flag": flag, "written": written, "codes": codes, "clip": clip}
    return ColumnPlan(name, kind, center, scale, fill, **rest)  # type: ignore[arg-type]


def _text_plan(column: pl.Series) -> ColumnPlan:
    name = column.name
    text = cells(column.cast(pl.String))
    found = TextFeatures.fit(text)
    if found is None:
        wordless = not text.drop_nulls().str.contains(r"\p{L}").any()
        why = "no word is in three of its texts and not in nearly all of them"
        return ColumnPlan(name, "dropped", reason="it holds no words" if wordless else why)
    return ColumnPlan(name, "text", levels=found.grams, weights=found.idf)


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
