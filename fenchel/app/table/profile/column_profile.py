"""What each column of a table holds, and how it goes with the target."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fenchel.app.table.encoding.text_features import reads_as_prose
from fenchel.app.table.profile import association as associate
from fenchel.app.table.profile.histogram import bin_counts, level_counts
from fenchel.app.table.profile.suspect_values import SuspectValue, clip_limits, suspect_values
from fenchel.app.table.task import Task
from fenchel.app.table.text.cells import cells, days, numbers

MOST_ROWS = 200_000  # above it, histograms and associations come from a sample of that size
_LEVELS = 10
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_MOST_CLASSES = 6  # whose histograms can be told apart in one picture
_MOST_SPELLED = 1000  # levels whose spelling is compared
_SURE = 20  # rows below which nothing is called an identifier
_FEW_OTHERS = 0.005  # share of rows, at most 20, that differ in a column of nearly one value
_ID = re.compile(
    r"(?i:(^|[\s_.-])(id|ids|uuid|guid|key|index|rowid|nr|no|number)$)|[a-z]I[dD]$"
    r"|(?i:^(patient|subject|customer|client|account|acct|user|member|person|household|student|"
    r"employee|device|session|loan|policy|case|visit|family|animal|plot|site)s?$)"
)
# Days that stand for "unknown" or "never": 9999-12-31, 1900-01-01, 1899-12-30, 1970-01-01.
_CODED_DAYS = frozenset((2932896.0, -25567.0, -25569.0, 0.0))
_COUNTER = 1.2  # numbers of rows, some of which were left out, span little more than their count
_LEAST_BLOCKS, _BLOCK = 5, 3  # blocks of equal values, and rows of them on average
_CODE = r"^[A-Za-z]{0,4}[-_ ]?\d{2,}$"  # cells such as P-0417


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
    quantiles: tuple[float, ...] = ()  # 5, 25, 50, 75 and 95 %
    class_counts: tuple[tuple[int, ...], ...] = ()  # for each class those of the bins or levels
    suspects: tuple[SuspectValue, ...] = ()  # codes of missing values, cells that make the scale
    limits: tuple[float, float] | None = None  # of all cells but those that make the scale
    spellings: tuple[tuple[str, ...], ...] = ()  # levels that differ in case or blanks alone
    others: int = 0  # rows that differ, where nearly all hold one value
    repeats: bool = False  # it names groups of rows, such as the patients of visits
    remarks: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The profile in plain values."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
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
        if not found.repeats and found.kind in ("number", "category"):
            found = _in_blocks(frame[name], found)
        if found.kind in ("number", "truth value", "category", "date", "constant"):
            found = _associated(found, taken[name], task, target)
            found = _compared(found, frame, firsts)
        if taken is not frame and found.measure is not None:
            note = f"histogram and association from a sample of {MOST_ROWS} rows"
            found = replace(found, remarks=(*found.remarks, note))
        profiles.append(found)
    return tuple(profiles)


def duplicate_rows(frame: pl.DataFrame) -> int:
    """Rows that equal an earlier row in every column, found by 64-bit hashes of the rows."""
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
        quarters = 4.0 * np.quantile(held.to_numpy() / 4.0, _QUANTILES)  # no difference overflows
        found = replace(
            found,
            low=low,
            high=high,
            mean=mean,
            deviation=deviation,
            quantiles=tuple(quarters.tolist()),
            others=_others(held),
        )
        found = _identifier(column, _suspected(found, values))
    return found if found.kind == "identifier" else _settled(found)


def _suspected(
    found: ColumnProfile, values: pl.Series, customary: frozenset[float] = frozenset()
) -> ColumnProfile:
    """With outlying values, and the range of the rest where a few outliers set the scale."""
    suspects = suspect_values(values.fill_null(np.nan).to_numpy(), customary)
    if not suspects:
        return found
    codes = [one.cell for one in suspects if one.kind == "code" and one.written]
    held = values.drop_nulls().to_numpy()
    return replace(found, suspects=suspects, limits=clip_limits(held[~np.isin(held, codes)]))


def _others(held: pl.Series) -> int:
    """How many cells differ from the most frequent value, where they are very few; else 0."""
    few = min(20, int(_FEW_OTHERS * len(held)))
    most = held.value_counts(sort=True)["count"][0] if few else 0
    return len(held) - most if 0 < len(held) - most <= few else 0


def center_and_scale(x: NDArray[np.float64]) -> tuple[float, float]:
    """Mean and deviation, of numbers divided by the largest, whose squares cannot overflow."""
    most = float(np.abs(x).max())
    if most == 0.0 or not len(x):
        return 0.0, 0.0
    if x.min() == x.max():
        return float(x[0]), 0.0
    scaled = x / most
    return float(scaled.mean()) * most, min(float(scaled.std()) * most, np.finfo(np.float64).max)


def _identifier(column: pl.Series, found: ColumnProfile) -> ColumnProfile:
    """The same, as an identifier where whole numbers count the rows or name them."""
    if not column.dtype.is_integer() or found.missing or found.rows < _SURE:
        return found
    named = _ID.search(found.name) is not None
    if found.distinct < found.rows:
        return _groups(found) if named else found
    least, most = int(column.min()), int(column.max())  # type: ignore[arg-type]
    if most - least + 1 <= _COUNTER * found.rows:
        why = f"counts the rows from {least} to {most}: an identifier"
    elif named:
        why = "whole numbers, no two alike, and the name of an identifier"
    else:
        return found
    return replace(found, kind="identifier", remarks=(why,))


def _groups(found: ColumnProfile) -> ColumnProfile:
    """The same, as the name of groups of rows where enough values repeat."""
    if not _SURE < found.distinct < 0.9 * (found.rows - found.missing):
        return found
    why = f"{found.distinct:,} values in {found.rows:,} rows: it names groups of rows"
    return replace(found, kind="identifier", levels=(), repeats=True, remarks=(why,))


def _in_blocks(column: pl.Series, found: ColumnProfile) -> ColumnProfile:
    """The same, with the remark that it may name groups of rows, where equal values stand together.

    Every value has one block, and the blocks are in no order: rows that were gathered group by
    group, and not sorted by a measurement.
    """
    held = column.drop_nulls()
    if column.dtype.is_float() or not _LEAST_BLOCKS <= found.distinct <= len(held) / _BLOCK:
        return found
    firsts = held.filter(held.ne_missing(held.shift(1)))
    if len(firsts) > found.distinct or firsts.is_sorted() or firsts.is_sorted(descending=True):
        return found
    why = f"equal values stand together, in {found.distinct:,} blocks: it may name groups of rows"
    return replace(found, repeats=True, remarks=(*found.remarks, why))


def _text(column: pl.Series) -> ColumnProfile:
    name, rows, missing = column.name, len(column), column.null_count()
    present = rows - missing
    counted = column.drop_nulls().value_counts(sort=True)
    distinct = counted.height
    levels = _pairs(counted.sort("count", name, descending=[True, False]))
    found = ColumnProfile(name, "category", rows, missing, distinct, levels=levels)
    found = replace(
        found,
        others=_others(column.drop_nulls()) if present else 0,
        spellings=spelling_variants(counted[name].to_list()) if distinct <= _MOST_SPELLED else (),
    )
    if present >= _SURE and distinct > _SURE and distinct < 0.9 * present:
        coded = column.drop_nulls().str.contains(_CODE).mean()
        if _ID.search(name) or (coded is not None and float(coded) > 0.9):  # type: ignore[arg-type]
            return _groups(found)
    if present >= _SURE and distinct > 0.2 * present:
        if reads_as_prose(column):
            length = float(column.str.len_chars().mean() or 0.0)  # type: ignore[arg-type]
            why = f"{distinct:,} different texts, of {length:.0f} letters on average"
            return replace(found, kind="text", levels=(), remarks=(why,))
        if distinct == present:
            why = "no two rows alike, and few words that repeat: an identifier"
            return replace(found, kind="identifier", levels=(), remarks=(why,))
        if distinct > 0.9 * present:
            why = f"{distinct:,} different names in {present:,} rows, few of which repeat"
            return replace(found, kind="identifier", levels=(), remarks=(why,))
    return _settled(found)


def spelling_variants(levels: list[str]) -> tuple[tuple[str, ...], ...]:
    """Groups of names that are one name but for case, blanks and full stops."""
    groups: dict[str, list[str]] = {}
    for level in levels:
        groups.setdefault(re.sub(r"[\s._-]+", "", str(level)).casefold(), []).append(str(level))
    return tuple(tuple(sorted(group)) for group in groups.values() if len(group) > 1)


def _pairs(counted: pl.DataFrame) -> tuple[tuple[str, int], ...]:
    return tuple((str(level), int(count)) for level, count in counted.head(_LEVELS).iter_rows())


def _date(column: pl.Series) -> ColumnProfile:
    missing = column.null_count()
    distinct = column.n_unique() - (missing > 0)
    found = ColumnProfile(column.name, "date", len(column), missing, distinct)
    if missing < len(column):
        ends = (str(column.min()), str(column.max()))
        found = replace(found, low=ends[0], high=ends[1])
        found = _suspected(found, days(column), _CODED_DAYS)
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
        remarks.append(f"{100.0 * found.missing / found.rows:.0f} % missing")
    return replace(found, remarks=tuple(remarks))


def _associated(
    found: ColumnProfile, column: pl.Series, task: Task, target: NDArray[Any] | None
) -> ColumnProfile:
    """With histogram and association, from the rows that were taken."""
    is_level = column.dtype in (pl.String, pl.Categorical, pl.Enum)
    shown = target is not None and 0 < len(task.classes) <= _MOST_CLASSES
    if shown and found.levels:
        assert target is not None
        names = [level for level, _ in found.levels]
        split = level_counts(column, names, target, len(task.classes))
        found = replace(found, class_counts=split)
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
            ends = _ends(found, held)
            counts, edges = bin_counts(held, *ends)
            found = replace(found, counts=counts, edges=edges)
            if shown:
                parts = [x[(target == k) & ~np.isnan(x)] for k in range(len(task.classes))]
                split = tuple(bin_counts(part, *ends)[0] for part in parts)
                found = replace(found, class_counts=split)
        if target is not None and len(held) and task.kind == "number":
            link = associate.with_number(x, target)
            copy = len(x) >= _SURE and bool((x == target).all() or _is_line(x, target))
        elif target is not None and len(held):
            link = associate.with_classes(x, target, len(task.classes))
            if found.distinct == len(task.classes) and not found.missing:
                copy = associate.is_copy(_codes(pl.Series(x)), target, len(task.classes))
    absence = None
    if target is not None and found.missing:
        absence = associate.absence_leak(
            column.is_null().to_numpy() if not is_level else codes < 0, target, len(task.classes)
        )
    if link is None:
        return replace(found, leak=absence)
    leak = "it is the target under another name" if copy else link.leak or absence
    return replace(found, measure=link.measure, association=link.strength, leak=leak, copy=copy)


def _ends(found: ColumnProfile, held: NDArray[np.float64]) -> tuple[float, float]:
    """The ends of the histogram, which leaves out values that stand apart."""
    codes = [one.cell for one in found.suspects if one.kind == "code"]
    rest = held[~np.isin(held, codes)] if codes else held
    limits = clip_limits(rest) if found.suspects else None
    if limits is not None:
        rest = rest[(rest >= limits[0]) & (rest <= limits[1])]
    return float(rest.min()), float(rest.max())


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
