"""Columns of a text table, gathered slab by slab and given the type that their cells have."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import polars as pl

from fenchel.app.table.cells import ENOUGH, date_format, moments, numbers
from fenchel.app.table.opening import Input
from fenchel.app.table.text import Dialect, TextRows

_EXAMPLES = 3
_NUMBERLIKE = {
    r"^[+-]?\d[\d .,']*\s?%$": "percentages such as {}: write 12% as 0.12",
    r"^[+-]?\d{1,3}([ .,'\u{a0}\u{202f}]\d{3})+([.,]\d+)?$": "numbers grouped by thousands such as "
    "{}: write them as 1234.5",
    r"^[+-]?\d+,\d+$": "numbers with a decimal comma such as {}: write them with a point, or "
    "separate columns by semicolons",
    r"^[$€£¥]\s?[\d.,]+$": "amounts such as {}: write them without the sign",
}


@dataclass
class Gathered:
    """One column so far: numbers while its cells are, else text."""

    name: str
    numeric: bool = True
    whole: bool = True
    lost: bool = False  # parsed as numbers in vain: its text has to be read again
    rows: int = 0
    present: int = 0
    strays: int = 0
    examples: list[tuple[int, str]] = field(default_factory=list)
    parts: list[pl.Series] = field(default_factory=list)

    def add(self, column: pl.Series) -> None:
        """Takes some more cells."""
        present = len(column) - column.null_count()
        if self.numeric and not self.lost:
            column = self._parsed(column, present)
        self.rows += len(column)
        self.present += present
        self.parts.append(column)

    def _parsed(self, column: pl.Series, present: int) -> pl.Series:
        if self.whole:
            integers = column.cast(pl.Int64, strict=False)
            if integers.null_count() == column.null_count():
                padded = column.str.starts_with("0") & (column.str.len_bytes() > 1)
                self.lost = bool(padded.any())
                return integers
        values = numbers(column)
        bad = values.null_count() - column.null_count()
        if bad and not self.present and bad > (1.0 - ENOUGH) * present:
            self.numeric = False  # from the first slab on
            return column
        self.whole = False
        if bad:
            found = _strays(column, values, _EXAMPLES - len(self.examples))
            self.examples += [(self.rows + row, text) for row, text in found]
            self.strays += bad
        return values

    @property
    def is_number(self) -> bool:
        """Whether all but a few of the cells are numbers, none of them padded with zeros."""
        few = self.strays <= (1.0 - ENOUGH) * self.present
        return self.numeric and not self.lost and few and self.present > 0

    def joined(self) -> pl.Series:
        """The column, whole numbers as integers if all are."""
        kinds = {part.dtype for part in self.parts}
        kind = next(kind for kind in (pl.String, pl.Float64, pl.Int64) if kind in kinds)
        parts = [part.cast(kind) for part in self.parts]  # before text, slabs without any value
        column = parts[0].clone()
        for part in parts[1:]:
            column.append(part)
        return column.rechunk()


def typed_columns(
    source: Input, how: Dialect, text: Collection[str] = ()
) -> tuple[pl.DataFrame, dict[str, str], list[str]]:
    """All rows with types, the date formats that were met, and notes on what was decided."""
    walk = TextRows(source, how)
    held = {name: Gathered(name, numeric=name not in text) for name in how.names}
    for frame in walk:
        for column in frame.iter_columns():
            held[column.name].add(column)
    notes = _walk_notes(walk)
    again = [c.name for c in held.values() if c.numeric and c.present and not c.is_number]
    for name, parts in _texts(source, how, again).items():
        held[name].parts, held[name].numeric = parts, False
    formats: dict[str, str] = {}
    done = []
    for name, gathered in held.items():
        if not gathered.present:
            done.append(pl.Series(name, [None] * gathered.rows, dtype=pl.String))
            continue
        values = gathered.joined()
        gathered.parts = []
        if gathered.is_number:
            notes += _stray_note(name, "numbers", gathered.strays, gathered.examples)
        elif name not in text:
            values, written, remarks = _interpreted(values, gathered.lost)
            notes += remarks
            if written:
                formats[name] = written
        done.append(values)
    return pl.DataFrame(done), formats, notes


def _walk_notes(walk: TextRows) -> list[str]:
    notes = []
    if walk.markers:
        total = sum(walk.markers.values())
        marks = ", ".join(f"'{mark}'" for mark in sorted(walk.markers))
        notes.append(f"{_count(total, 'cell')} holding {marks} read as missing")
    if walk.commas:
        notes.append(f"decimal commas read as points in {_count(walk.commas, 'cell')}")
    if walk.blanks:
        notes.append(f"{_count(walk.blanks, 'blank line')} skipped")
    return notes


def _stray_note(name: str, kind: str, count: int, examples: Sequence[tuple[int, str]]) -> list[str]:
    if not count:
        return []
    shown = ", ".join(f"'{text[:40]}' in row {row}" for row, text in examples)
    more = ", …" if count > len(examples) else ""
    return [
        f"column '{name}' is read as {kind}; {_count(count, 'cell')} holding none "
        f"read as missing ({shown}{more})"
    ]


def _strays(column: pl.Series, values: pl.Series, most: int = _EXAMPLES) -> list[tuple[int, str]]:
    """(row from 1, text) of the first cells that have no value of the kind."""
    where = (values.is_null() & column.is_not_null()).arg_true()[:most].to_list()
    return [(at + 1, str(column[at])) for at in where]


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _texts(source: Input, how: Dialect, names: Sequence[str]) -> dict[str, list[pl.Series]]:
    held: dict[str, list[pl.Series]] = {name: [] for name in names}
    if names:
        for frame in TextRows(source, how, names):
            for column in frame.iter_columns():
                held[column.name].append(column)
    return held


def _interpreted(column: pl.Series, padded: bool) -> tuple[pl.Series, str, list[str]]:
    """A column of text as what it is, with its date format and remarks."""
    name = column.name
    if padded:
        remark = f"column '{name}' has numbers with leading zeros: it is kept as text"
        return column, "", [remark]
    present = len(column) - column.null_count()
    values = numbers(column)
    bad = values.null_count() - column.null_count()
    if bad <= (1.0 - ENOUGH) * present:  # the first slab looked otherwise
        return values, "", _stray_note(name, "numbers", bad, _strays(column, values))
    if _are_truths(column.head(1000)) and _are_truths(column):
        return (column.str.to_lowercase() == "true").alias(name), "", []
    told = date_format(column)
    if told is not None and told[1] is not None:
        return column, "", [told[1]]
    if told is not None:
        values = moments(column, told[0])
        bad = values.null_count() - column.null_count()
        remarks = _stray_note(name, "dates", bad, _strays(column, values))
        if (values.dt.truncate("1d") == values).all():
            values = values.cast(pl.Date)
        return values.alias(name), told[0], remarks
    if bad < 0.5 * present:
        (row, text), *_ = _strays(column, values, 1)
        return (
            column,
            "",
            [
                f"column '{name}' is kept as text: {bad} of its {present} cells hold no number "
                f"('{text[:40]}' in row {row})"
            ],
        )
    return column, "", _numberlike(column)


def _are_truths(column: pl.Series) -> bool:
    return bool(column.drop_nulls().str.to_lowercase().is_in(["true", "false"]).all())


def _numberlike(column: pl.Series) -> list[str]:
    held = column.drop_nulls().head(1000)
    for pattern, words in _NUMBERLIKE.items():
        fits = held.filter(held.str.contains(pattern))
        if len(fits) > 0.9 * len(held):
            what = words.format(f"'{fits[0]}'")
            return [f"column '{column.name}' is kept as text, though it holds {what}"]
    return []
