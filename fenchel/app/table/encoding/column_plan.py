"""The rule by which one column of a table becomes columns of a matrix."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from fenchel.app.table.encoding.text_features import TextFeatures, is_piece
from fenchel.app.table.text.cells import ISO, cells, days, labels_of, truths
from fenchel.app.table.text.number_format import read_numbers
from fenchel.data.display.counts import counted

KINDS = ("number", "truth value", "category", "date", "text", "flag", "dropped")
MOST_LEVELS = 30
_LONGEST_NAME = 80
_FARTHEST = 1e100  # deviations from the mean: no square of them overflows
Columns = list[NDArray[Any]]


@dataclass
class Surprises:
    """What new rows held that training never saw, summed over batches."""

    rows: int = 0
    missing: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    strays: Counter[str] = field(default_factory=Counter)
    examples: dict[tuple[str, str], str] = field(default_factory=dict)
    fills: dict[str, str] = field(default_factory=dict)

    def sentences(self, *, loud: bool = False) -> tuple[str, ...]:
        """One for each column and kind of surprise; `loud`: only of columns most of whose cells
        could not be used, which leaves little of what the model goes by."""
        told = []
        least = 0.5 * self.rows if loud else 0.0
        strays, unknown, missing = (
            {name: count for name, count in found.items() if count > least}
            for found in (self.strays, self.unknown, self.missing)
        )
        for name, count in strays.items():
            example = self.examples["stray", name]
            told.append(
                f"column '{name}': {counted(count, 'cell')} not what the column holds (such as "
                f"'{example}'), counted as missing"
            )
        for name, count in missing.items():
            told.append(
                f"column '{name}': {counted(count, 'cell')} missing, where training had none, "
                f"filled with {self.fills[name]}"
            )
        for name, count in unknown.items():
            example = self.examples["unknown", name]
            told.append(
                f"column '{name}': {counted(count, 'cell')} with levels unknown to training "
                f"(such as '{example}'), counted as {self.fills[name]}"
            )
        return tuple(told)


def without_codes(values: pl.Series, codes: tuple[float, ...]) -> pl.Series:
    """Numbers, null where they stand for a missing value."""
    return values.set(values.is_in(list(codes)).fill_null(False), None)


def _quoted(gram: str) -> str:
    """A word in quotes, a group of letters between dots."""
    return f"…{gram[1:]}…" if is_piece(gram) else f"'{gram}'"


@dataclass(frozen=True)
class ColumnPlan:
    """How one column of the table becomes columns of the matrix."""

    name: str
    kind: str  # number, truth value, category, date, text, flag (is it missing?), dropped
    center: float = 0.0
    scale: float = 1.0
    fill: float = 0.0  # for what is missing, before scaling
    levels: tuple[str, ...] = ()  # of a category, the most frequent first; n-grams of a text
    other: bool = False  # a column for all levels that have none of their own
    flag: bool = False  # a column that says where the value is missing
    written: str | None = None  # how numbers or dates are written in text
    reason: str = ""  # why it is dropped
    codes: tuple[float, ...] = ()  # numbers that stand for a missing value
    clip: tuple[float, float] | None = None  # limits that numbers are brought back to
    weights: tuple[float, ...] = ()  # of the n-grams of a text

    @property
    def features(self) -> TextFeatures:
        """Of a text."""
        return TextFeatures(self.levels, self.weights)

    @property
    def rule(self) -> str:
        """The rule in words."""
        if self.kind == "dropped":
            return f"left out: {self.reason}"
        if self.kind == "flag":
            return "a column that says where it is missing; its values do not differ"
        if self.kind == "category":
            return self._category_rule
        if self.kind == "text":
            return self._text_rule
        first = {
            "number": f"less its mean {self.center:.6g}, divided by its deviation {self.scale:.6g}",
            "truth value": "1 for true, 0 for false",
            "date": f"days since 1970-01-01 less {self.center:.6g}, divided by {self.scale:.6g}",
        }[self.kind]
        if self.codes:
            listed = " and ".join(f"{code:.15g}" for code in self.codes)
            first = f"{listed} counted as missing; {first}"
        if self.clip is not None:
            first = f"clipped to {self.clip[0]:.6g} to {self.clip[1]:.6g}; {first}"
        flag = ", and a column says where" if self.flag else ""
        return f"{first}; missing filled with {self._fill_words}{flag}"

    @property
    def _text_rule(self) -> str:
        words = self.features.words
        pieces = len(self.levels) - words
        return (
            f"{words:,} words and pairs of words and {pieces:,} groups of letters, counted and "
            "weighted by their rarity (tf-idf); a missing text counts as empty"
        )

    @property
    def _category_rule(self) -> str:
        pooled = ", rare ones pooled as other" if self.other else ""
        missing = "with a column of its own" if self.flag else f"counts as '{self.levels[0]}'"
        return (
            f"one column for each of {len(self.levels)} levels{pooled}; missing {missing}; unknown "
            f"levels count as {self.unknown}"
        )

    @property
    def unknown(self) -> str:
        """What a level counts as that training did not have."""
        return "other" if self.other else f"the most frequent level '{self.levels[0]}'"

    @property
    def _fill_words(self) -> str:
        if self.kind == "truth value":
            return f"the more frequent {'true' if self.fill else 'false'}"
        if self.kind == "date":
            day = np.datetime64(0, "D") + np.timedelta64(round(self.fill), "D")
            return f"the median {day}"
        return f"the median {self.fill:.6g}"

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the columns it makes; of two complementary levels only the second has one."""
        if self.kind == "dropped":
            return ()
        made: list[str] = []
        if self.kind == "category":
            pooled = "other levels" if "other" in self.levels else "other"
            all_levels = [*self.levels, *([pooled] if self.other else [])]
            made = [f"{self.name}={level}" for level in all_levels]
            made = made[1:] if len(made) == 2 else made
        elif self.kind == "text":
            made = [f"{self.name}: {_quoted(gram)}" for gram in self.levels]
        elif self.kind != "flag":
            made = [self.name]
        if self.flag:
            made.append(f"{self.name} is missing")
        return tuple(f"{n[:_LONGEST_NAME]}…" if len(n) > _LONGEST_NAME else n for n in made)

    def columns(self, column: pl.Series, surprises: Surprises | None) -> Columns:
        """The columns it makes of these cells, entry by entry, so that batches do not matter."""
        if column.dtype in (pl.Categorical, pl.Enum):
            column = column.cast(pl.String)
        if self.kind == "flag":
            there = cells(column) if column.dtype == pl.String else column
            return [there.is_null().to_numpy()]
        if self.kind == "category":
            return self._one_hot(column, surprises)
        if self.kind == "text":
            raise TypeError("the columns of a text are sparse: see `sparse_columns`")
        values = self._parsed(column)
        if values.null_count() and surprises is not None:
            self._tell(column, values, surprises)
        if self.codes:
            values = without_codes(values, self.codes)
        holes = values.null_count()
        made: Columns = []
        x = (values.fill_null(self.fill) if holes else values).to_numpy()
        if self.clip is not None:
            x = np.clip(x, *self.clip)
        with np.errstate(over="ignore"):
            scaled = (x - self.center) / self.scale
        np.clip(scaled, -_FARTHEST, _FARTHEST, out=scaled)
        scaled += 0.0  # -0 read as text and 0 read as a whole number shall be one
        made.append(scaled)
        if self.flag:
            made.append(values.is_null().to_numpy())
        return made

    def values(self, column: pl.Series) -> pl.Series:
        """The cells of numbers, dates or truth values as numbers, null where missing."""
        if column.dtype in (pl.Categorical, pl.Enum):
            column = column.cast(pl.String)
        found = self._parsed(column)
        return without_codes(found, self.codes) if self.codes else found

    def labels(self, column: pl.Series) -> pl.Series:
        """The cells of a category or a text as texts, null where missing."""
        if column.dtype in (pl.Categorical, pl.Enum):
            column = column.cast(pl.String)
        return cells(column) if column.dtype == pl.String else labels_of(column)

    def _parsed(self, column: pl.Series) -> pl.Series:
        if self.kind == "date":
            return days(column, self.written or ISO)
        if self.kind == "truth value":
            return truths(column).cast(pl.Float64)
        return read_numbers(column, self.written)

    def sparse_columns(self, column: pl.Series) -> sparse.csr_array:
        """The columns of a text: weights of its n-grams."""
        return self.features.transform(self.labels(column))

    def _tell(self, column: pl.Series, values: pl.Series, surprises: Surprises) -> None:
        held = cells(column) if column.dtype == pl.String else column
        if held.dtype.is_float():
            held = held.fill_nan(None)
        strays = (values.is_null() & held.is_not_null()).arg_true()
        if len(strays):
            surprises.strays[self.name] += len(strays)
            surprises.examples.setdefault(("stray", self.name), str(held[int(strays[0])])[:40])
        if not self.flag and held.null_count():
            surprises.missing[self.name] += held.null_count()
            surprises.fills[self.name] = self._fill_words

    def _one_hot(self, column: pl.Series, surprises: Surprises | None) -> Columns:
        text = self.labels(column)
        places = text.cast(pl.Enum(self.levels), strict=False).to_physical()
        missing = text.is_null()
        if surprises is not None:
            self._tell_levels(text, places, surprises)
        rare = len(self.levels) if self.other else 0
        codes = places.cast(pl.Int64).fill_null(rare).to_numpy()
        if text.null_count():
            count = len(self.levels) + self.other  # a row beyond the columns: none of them
            codes = np.where(missing.to_numpy(), count if self.flag else 0, codes)
        table = np.zeros((len(self.levels) + self.other + 1, len(text)), np.bool_)
        table[codes, np.arange(len(text))] = True
        made = list(table[:-1])
        made = made[1:] if len(made) == 2 else made
        if self.flag:
            made.append(missing.to_numpy())
        return made

    def _tell_levels(self, text: pl.Series, places: pl.Series, surprises: Surprises) -> None:
        lost = places.null_count() - text.null_count()
        if lost and not self.other:
            first = (places.is_null() & text.is_not_null()).arg_true()[0]
            surprises.unknown[self.name] += lost
            surprises.examples.setdefault(("unknown", self.name), str(text[int(first)])[:40])
            surprises.fills[self.name] = f"the most frequent level '{self.levels[0]}'"
        if text.null_count() and not self.flag:
            surprises.missing[self.name] += text.null_count()
            surprises.fills[self.name] = f"the most frequent level '{self.levels[0]}'"
