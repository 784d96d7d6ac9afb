"""Columns of a text table, gathered slab by slab and given the type that their cells have."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from fenchel.app.table.files.source import Input
from fenchel.app.table.text.cells import DATE_FORMATS, ENOUGH, date_format, moments, numbers
from fenchel.app.table.text.dialect import Dialect
from fenchel.app.table.text.number_columns import (
    Convention,
    ReadColumn,
    choose,
    example,
    number_notes,
    parsed,
)
from fenchel.app.table.text.number_format import PLAIN, FormatEvidence, evidence, is_number, spread
from fenchel.app.table.text.reading_options import Reading
from fenchel.app.table.text.text_rows import TextRows
from fenchel.data.display.counts import counted

_EXAMPLES = 3


@dataclass
class GatheredColumn:
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

    def is_doubtful(self, expected: str) -> bool:
        """Whether the text is needed: the cells are no plain numbers, or perhaps not only these."""
        if not self.numeric or not self.present:
            return False
        if not self.is_number or any(is_number(text) for _, text in self.examples):
            return True
        return not self.whole and expected not in ("", PLAIN, *DATE_FORMATS)

    def joined(self) -> pl.Series:
        """The column, whole numbers as integers if all are."""
        kinds = {part.dtype for part in self.parts}
        kind = next(kind for kind in (pl.String, pl.Float64, pl.Int64) if kind in kinds)
        parts = [part.cast(kind) for part in self.parts]  # before text, slabs without any value
        column = parts[0].clone()
        for part in parts[1:]:
            column.append(part)
        return column.rechunk()


@dataclass
class Typed:
    """A text table with types, and what was decided about it."""

    frame: pl.DataFrame
    formats: dict[str, str]  # column -> how its numbers or dates are written
    notes: list[str]


def typed_columns(
    source: Input,
    how: Dialect,
    text: Collection[str] = (),
    reading: Reading | None = None,
    expected: Mapping[str, str] | None = None,
) -> Typed:
    """All rows with types, the formats that were met, and notes on what was decided.

    Columns in `text` stay text; `expected` are the formats that columns had where a model was
    fitted, which decide what could be read in two ways.
    """
    reading, expected = reading or Reading(), expected or {}
    skip_bad = reading.bad_lines == "skip"
    rows = TextRows(source, how, skip_bad=skip_bad)
    columns = {name: GatheredColumn(name, numeric=name not in text) for name in how.names}
    for frame in rows:
        for column in frame.iter_columns():
            columns[column.name].add(column)
    notes = rows.notes
    again = [c.name for c in columns.values() if c.is_doubtful(expected.get(c.name, ""))]
    for name, parts in _texts(source, how, again, skip_bad).items():
        columns[name].parts, columns[name].numeric = parts, False
    found: dict[str, FormatEvidence] = {}
    remarks: dict[str, list[str]] = {}
    written: dict[str, str] = {}
    done: dict[str, pl.Series] = {}
    for name, gathered in columns.items():
        if not gathered.present:
            done[name] = pl.Series(name, [None] * gathered.rows, dtype=pl.String)
            continue
        values = gathered.joined()
        gathered.parts = []
        if gathered.is_number:
            remarks[name] = _stray_note(name, "numbers", gathered.strays, gathered.examples)
        elif name not in text:
            values, kind, remarks[name] = _interpreted(values, gathered.lost)
            if isinstance(kind, FormatEvidence):
                found[name] = kind
            elif kind:
                written[name] = kind
        done[name] = values
    convention = _convention(source, how, reading, found, done)
    read: list[ReadColumn] = []
    for name in (name for name in how.names if name in found):
        choice = choose(
            found[name],
            convention,
            decimal=reading.decimal,
            expected=expected.get(name, ""),
            delimiter=how.delimiter,
        )
        column, done[name] = done[name], parsed(done[name], choice.form)
        bad = done[name].null_count() - column.null_count()
        remarks[name] = _stray_note(name, "numbers", bad, _strays(column, done[name]))
        if choice.form.written != PLAIN:
            written[name] = choice.form.written
            shown = example(column, done[name], choice)
            read += [shown] if shown is not None else []
    notes += number_notes(read)
    notes += [remark for name in how.names for remark in remarks.get(name, [])]
    frame = pl.DataFrame([done[name] for name in how.names])
    return Typed(frame, {name: written[name] for name in how.names if name in written}, notes)


def _convention(
    source: Input,
    how: Dialect,
    reading: Reading,
    found: dict[str, FormatEvidence],
    done: dict[str, pl.Series],
) -> Convention:
    """The decimal mark that the table's columns agree on, looked for only where one needs it.

    Numbers such as 1.169 in a table with decimal commas are looked at again: `found` and `done`
    get those that may be grouped by points.
    """
    commas = reading.decimal == "," or any(one.decimal == "," for one in found.values())
    if not commas and not any(one.ambiguous for one in found.values()):
        return Convention()
    floats = [name for name, column in done.items() if column.dtype == pl.Float64]
    doubtful = [name for name in floats if _may_be_grouped(done[name])]
    points = [name for name in floats if name not in doubtful]
    if not commas:  # one column with a decimal point is enough
        doubtful = [] if points else doubtful[:_EXAMPLES]
    for name, parts in _texts(source, how, doubtful, reading.bad_lines == "skip").items():
        column = parts[0].clone()
        for part in parts[1:]:
            column.append(part)
        again = evidence(column)
        if isinstance(again, FormatEvidence) and again.ambiguous:
            if commas:
                found[name], done[name] = again, column
        elif isinstance(again, FormatEvidence) and again.comma is None:
            points.append(name)
    return Convention.of(found, points)


def _may_be_grouped(values: pl.Series) -> bool:
    """Whether all numbers lie between 1 and 1000 and have three decimals or none."""
    size = values.drop_nulls().abs()
    scaled = size * 1000.0
    whole = (scaled - scaled.round(0)).abs() < 1e-6
    return bool(((size >= 1.0) | (size == 0.0)).all() and (size < 1000.0).all() and whole.all())


def _stray_note(name: str, kind: str, count: int, examples: Sequence[tuple[int, str]]) -> list[str]:
    if not count:
        return []
    shown = ", ".join(f"'{text[:40]}' in row {row}" for row, text in examples)
    more = ", …" if count > len(examples) else ""
    unfit = f"that is no {kind[:-1]} is" if count == 1 else f"that are no {kind} are"
    return [
        f"column '{name}' is read as {kind}; {counted(count, 'cell')} {unfit} read as missing "
        f"({shown}{more})"
    ]


def _strays(column: pl.Series, values: pl.Series, most: int = _EXAMPLES) -> list[tuple[int, str]]:
    """(row from 1, text) of the first cells that have no value of the kind."""
    where = (values.is_null() & column.is_not_null()).arg_true()[:most].to_list()
    return [(at + 1, str(column[at])) for at in where]


def _texts(
    source: Input, how: Dialect, names: Sequence[str], skip_bad: bool
) -> dict[str, list[pl.Series]]:
    found: dict[str, list[pl.Series]] = {name: [] for name in names}
    if names:
        for frame in TextRows(source, how, names, skip_bad=skip_bad):
            for column in frame.iter_columns():
                found[column.name].append(column)
    return found


def _interpreted(
    column: pl.Series, padded: bool
) -> tuple[pl.Series, str | FormatEvidence, list[str]]:
    """A column of text as what it is: with its date format or what is known of its numbers, and
    remarks."""
    name = column.name
    if padded:
        remark = f"column '{name}' has numbers with leading zeros: it is kept as text"
        return column, "", [remark]
    if _are_truths(column.head(1000)) and _are_truths(column):
        return (column.str.to_lowercase() == "true").alias(name), "", []
    dates = date_format(column)
    if dates is not None and dates[1] is not None:
        return column, "", [dates[1]]
    if dates is not None:
        values = moments(column, dates[0])
        bad = values.null_count() - column.null_count()
        remarks = _stray_note(name, "dates", bad, _strays(column, values))
        if (values.dt.truncate("1d") == values).all():
            values = values.cast(pl.Date)
        return values.alias(name), dates[0], remarks
    found = evidence(column)
    if isinstance(found, FormatEvidence):
        return column, found, []
    if isinstance(found, str):
        return column, "", [found]
    return column, "", _rather_numbers(column)


def _are_truths(column: pl.Series) -> bool:
    return bool(column.drop_nulls().str.to_lowercase().is_in(["true", "false"]).all())


def _rather_numbers(column: pl.Series) -> list[str]:
    """A remark on a column of text more than half of whose cells are numbers."""
    cells = spread(column.drop_nulls())
    if sum(map(is_number, cells.to_list())) <= 0.5 * len(cells):
        return []
    present = len(column) - column.null_count()
    values = numbers(column)
    bad = values.null_count() - column.null_count()
    if bad > 0.5 * present:  # numbers as people write them, each in a way of its own
        return [
            f"column '{column.name}' is kept as text, though it holds numbers such as "
            f"'{cells[0][:40]}': write all of them as 1234.5"
        ]
    (row, text), *_ = _strays(column, values, 1)
    return [
        f"column '{column.name}' is kept as text: {bad} of its {present} cells hold no number "
        f"('{text[:40]}' in row {row})"
    ]
