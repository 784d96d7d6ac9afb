"""What each column of a table holds, and how it goes with the target."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fenchel.app.table import associate
from fenchel.app.table.cells import cells, days, numbers
from fenchel.app.table.task import Task

MOST_ROWS = 200_000  # above it, histograms and associations come from a sample of that size
_BINS = 20
_LEVELS = 10
_FAR = 1e4
_SURE = 20  # rows below which nothing is called an identifier
_LONG = 40  # mean letters above which text is prose
_ID = re.compile(r"(?i:(^|[\s_.-])(id|uuid|guid|key|index|rowid|nr|no)$)|[a-z]I[dD]$")


@dataclass(frozen=True)
class ColumnProfile:
    """One column in numbers."""

    name: str
    kind: str  # number, truth value, category, date, text, constant, identifier, empty, nested
    rows: int
    missing: int
    distinct: int
    low: float | str | None = None  # smallest and largest number or date
    high: float | str | None = None
    mean: float | None = None
    deviation: float | None = None
    edges: tuple[float, ...] = ()  # of the histogram's bins, one more than counts
    counts: tuple[int, ...] = ()
    levels: tuple[tuple[str, int], ...] = ()  # the most frequent, and how often
    measure: str | None = None  # "AUC", "|correlation|", "Cramér's V", "correlation ratio"
    association: float | None = None  # by that measure; an AUC below 1/2 is turned round
    leak: str | None = None  # why the column is suspected to give the target away
    copy: bool = False  # it is the target under another name
    same_as: str | None = None  # an earlier column of equal content
    extreme: bool = False  # a few cells alone make the spread
    remarks: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The profile in plain values."""
        plain = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}
        plain["levels"] = [list(level) for level in self.levels]
        return plain


def profile(frame: pl.DataFrame, task: Task) -> tuple[ColumnProfile, ...]:
    """Every column but the target, over the rows that have a target.

    Counts, ranges and means are of all rows; above 200,000 rows histograms and associations are
    of a sample that is always the same, and a remark says so.
    """
    frame = task.kept(frame)
    taken = frame
    if frame.height > MOST_ROWS:
        picks = np.random.default_rng(0).choice(frame.height, MOST_ROWS, replace=False)
        taken = frame[np.sort(picks)]
    target = None if task.target is None else task.codes(taken)
    profiles: list[ColumnProfile] = []
    firsts: dict[tuple[Any, ...], list[str]] = {}
    for name in frame.columns:
        if name == task.target:
            continue
        found = _plain(frame[name])
        if found.kind in ("number", "truth value", "category", "date", "constant"):
            found = _associated(found, taken[name], task, target)
            found = _compared(found, frame, firsts)
        if taken is not frame and found.measure is not None:
            note = f"histogram and association from a sample of {MOST_ROWS} rows"
            found = replace(found, remarks=(*found.remarks, note))
        profiles.append(found)
    return tuple(profiles)


def duplicate_rows(frame: pl.DataFrame) -> int:
    """Rows that equal an earlier row in every column, told by 64-bit hashes of the rows."""
    return frame.height - frame.hash_rows().n_unique()


def _plain(column: pl.Series) -> ColumnProfile:
    """The column by itself."""
    name, rows = column.name, len(column)
    kind = column.dtype
    if kind.is_nested() or kind in (pl.Object, pl.Binary, pl.Unknown):
        remark = f"holds {kind}, not single values: no model here takes it"
        return ColumnProfile(name, "nested", rows, 0, 0, remarks=(remark,))
    if kind in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        return _text(cells(column))
    if kind in (pl.Date, pl.Datetime):
        return _date(column)
    values = numbers(column)
    missing = values.null_count()
    distinct = values.n_unique() - (missing > 0)
    if kind == pl.Boolean:
        found = ColumnProfile(name, "truth value", rows, missing, distinct)
        counted = column.drop_nulls().cast(pl.String).value_counts(sort=True)
        return _settled(replace(found, levels=_pairs(counted)))
    found = ColumnProfile(name, "number", rows, missing, distinct)
    if missing < rows:
        held = values.drop_nulls()
        low, high = float(held.min()), float(held.max())  # type: ignore[arg-type]
        mean, deviation = center_and_scale(held.to_numpy())
        found = replace(found, low=low, high=high, mean=mean, deviation=deviation)
        found = replace(found, extreme=_is_extreme(held.to_numpy(), low, high))
        why = _identifier(column, found)
        if why:
            return replace(found, kind="identifier", remarks=(why,))
    return _settled(found)


def _is_extreme(x: NDArray[np.float64], low: float, high: float) -> bool:
    """Whether the range is ten thousand times that of the cells without the outer half per cent, at
    least two, at each end."""
    out = max(2, len(x) // 200)
    if len(x) < 5 * out:
        return False
    ordered = np.partition(x, [out, len(x) - 1 - out])
    first, last = ordered[out], ordered[len(x) - 1 - out]
    within = last / 2.0 - first / 2.0  # halves: a range beyond the largest float has no end
    return bool(within > 0.0 and (high / 2.0 - low / 2.0) / _FAR > within)


def center_and_scale(x: NDArray[np.float64]) -> tuple[float, float]:
    """Mean and deviation, of numbers divided by the largest, whose squares cannot overflow."""
    most = float(np.abs(x).max())
    if most == 0.0 or not len(x):
        return 0.0, 0.0
    if x.min() == x.max():
        return float(x[0]), 0.0
    scaled = x / most
    return float(scaled.mean()) * most, min(float(scaled.std()) * most, np.finfo(np.float64).max)


def _identifier(column: pl.Series, found: ColumnProfile) -> str | None:
    whole = column.dtype.is_integer()
    if not whole or found.missing or found.rows < _SURE or found.distinct < found.rows:
        return None
    least, most = int(column.min()), int(column.max())  # type: ignore[arg-type]
    if most - least + 1 == found.rows:
        return f"counts the rows from {least} to {most}: an identifier"
    if _ID.search(found.name):
        return "whole numbers, no two alike, and the name of an identifier"
    return None


def _text(column: pl.Series) -> ColumnProfile:
    name, rows, missing = column.name, len(column), column.null_count()
    present = rows - missing
    counted = column.drop_nulls().value_counts(sort=True)
    distinct = counted.height
    levels = _pairs(counted.sort("count", name, descending=[True, False]))
    found = ColumnProfile(name, "category", rows, missing, distinct, levels=levels)
    if present >= _SURE and distinct > 0.2 * present:
        length = float(column.str.len_chars().mean() or 0.0)  # type: ignore[arg-type]
        if distinct == present and length <= _LONG:
            why = "text, no two rows alike: an identifier"
            return replace(found, kind="identifier", levels=(), remarks=(why,))
        if distinct > 0.9 * present or length > _LONG:
            why = (
                f"{distinct} different texts in {present} rows, of {length:.0f} letters on average"
            )
            return replace(found, kind="text", levels=(), remarks=(why,))
    return _settled(found)


def _pairs(counted: pl.DataFrame) -> tuple[tuple[str, int], ...]:
    return tuple((str(level), int(count)) for level, count in counted.head(_LEVELS).iter_rows())


def _date(column: pl.Series) -> ColumnProfile:
    missing = column.null_count()
    distinct = column.n_unique() - (missing > 0)
    found = ColumnProfile(column.name, "date", len(column), missing, distinct)
    if missing < len(column):
        ends = (str(column.min()), str(column.max()))
        found = replace(found, low=ends[0], high=ends[1])
    return _settled(found)


def _settled(found: ColumnProfile) -> ColumnProfile:
    """Empty and constant columns called so, and what is missing remarked on."""
    if found.missing == found.rows:
        return replace(found, kind="empty", remarks=("no row has a value",))
    if found.distinct == 1 and not found.missing:
        return replace(found, kind="constant", remarks=("the same value in every row",))
    remarks = []
    if found.distinct == 1:
        remarks.append("one value only where it is not missing")
    if found.missing > 0.5 * found.rows:
        remarks.append(f"{found.missing / found.rows:.0%} missing")
    return replace(found, remarks=tuple(remarks))


def _associated(
    found: ColumnProfile, column: pl.Series, task: Task, target: NDArray[Any] | None
) -> ColumnProfile:
    """With histogram and association, from the rows that were taken."""
    is_level = column.dtype in (pl.String, pl.Categorical, pl.Enum)
    link: associate.Association | None = None
    copy = False
    if is_level:
        codes = _codes(cells(column.cast(pl.String)))
        if target is not None and task.kind == "number":
            link = associate.levels_with_number(codes, target)
        elif target is not None:
            link = associate.levels_with_classes(codes, target, len(task.classes))
            copy = associate.is_copy(codes, target, len(task.classes))
    else:
        x = (days(column) if found.kind == "date" else numbers(column)).to_numpy()
        held = x[~np.isnan(x)]
        if found.kind in ("number", "date") and len(held) and held.min() < held.max():
            ends = (found.low, found.high) if found.kind == "number" else (None, None)
            counts, edges = _histogram(held, *ends)
            found = replace(found, counts=counts, edges=edges)
        if target is not None and len(held) and task.kind == "number":
            link = associate.with_number(x, target)
            copy = len(x) >= _SURE and bool((x == target).all() or _is_line(x, target))
        elif target is not None and len(held):
            link = associate.with_classes(x, target, len(task.classes))
            if found.distinct == len(task.classes) and not found.missing:
                copy = associate.is_copy(_codes(pl.Series(x)), target, len(task.classes))
    if link is None:
        return found
    leak = "it is the target under another name" if copy else link.leak
    return replace(found, measure=link.measure, association=link.strength, leak=leak, copy=copy)


def _histogram(
    held: NDArray[np.float64], low: Any, high: Any
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Counts in bins of equal width between these ends, or those of the values."""
    low, high = (
        float(held.min() if low is None else low),
        float(held.max() if high is None else high),
    )
    most = max(abs(low), abs(high))  # a range beyond the largest float would have no width
    width = high / most - low / most
    counts, _ = np.histogram((held / most - low / most) / width, _BINS, (0.0, 1.0))
    inner = ((low / most + (k / _BINS) * width) * most for k in range(1, _BINS))
    return tuple(int(count) for count in counts), (low, *inner, high)


def _is_line(x: NDArray[np.float64], y: NDArray[np.float64]) -> bool:
    """Whether y is a + b x up to rounding."""
    if np.isnan(x).any() or x.min() == x.max():
        return False
    low, high = int(x.argmin()), int(x.argmax())
    with np.errstate(all="ignore"):
        slope = (y[high] - y[low]) / (x[high] - x[low])
        error = np.abs(y[low] + slope * (x - x[low]) - y).max()
    return bool(slope != 0.0 and error <= 1e-12 * np.abs(y).max())


def _codes(column: pl.Series) -> NDArray[np.int64]:
    """A number for every level, -1 where there is none."""
    codes = column.rank("dense").cast(pl.Int64) - 1
    return codes.fill_null(-1).to_numpy().astype(np.int64)


def _compared(
    found: ColumnProfile, frame: pl.DataFrame, firsts: dict[tuple[Any, ...], list[str]]
) -> ColumnProfile:
    """With the name of an earlier column of equal content."""
    if found.kind == "constant":
        return found
    column = frame[found.name]
    told = (found.missing, found.distinct, found.low, found.high, found.mean)
    key = (column.dtype, *told, found.levels)
    for other in firsts.setdefault(key, []):
        if column.equals(frame[other], null_equal=True):
            return replace(
                found, same_as=other, remarks=(*found.remarks, f"equal to column '{other}'")
            )
    firsts[key].append(found.name)
    return found
