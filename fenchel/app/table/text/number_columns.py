"""Formats of numbers in text columns: of each from its own cells, and from the other columns.

"1,169" is 1169 or 1.169. A column whose own cells do not tell follows the columns that do; where
none does, the format is assumed, and the note says so with the remedy.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from fenchel.app.table.text.header import listed
from fenchel.app.table.text.number_format import PLAIN, FormatEvidence, NumberFormat

_MARKS = {".": "point", ",": "comma"}


@dataclass(frozen=True)
class Choice:
    """The format of a column, and how it was found where its own cells do not tell."""

    form: NumberFormat
    reason: str = ""


@dataclass(frozen=True)
class Convention:
    """The decimal mark of a table, and a column that shows it; none where columns disagree."""

    decimal: str | None = None
    column: str = ""

    @classmethod
    def of(cls, found: Mapping[str, FormatEvidence], points: Collection[str] = ()) -> Convention:
        """From columns whose cells leave no doubt; `points` have plain decimals."""
        shown = {name: one.decimal for name, one in found.items() if one.decimal is not None}
        shown |= dict.fromkeys(points, ".")
        marks = set(shown.values())
        if len(marks) != 1:
            return cls()
        name, mark = next(iter(shown.items()))
        return cls(mark, name)


def choose(
    found: FormatEvidence,
    convention: Convention,
    *,
    decimal: str | None = None,
    expected: str = "",
    delimiter: str = ",",
) -> Choice:
    """The format of a column.

    Parameters
    ----------
    found : what its cells say
    convention : what other columns of the table say
    decimal : what the user says
    expected : the format that the column had where a model was fitted
    delimiter : of the table; semicolons go with decimal commas
    """
    forms = {".": found.point, ",": found.comma}
    forms = {mark: form for mark, form in forms.items() if form is not None}
    asked = next((form for form in forms.values() if form and form.written == expected), None)
    if len(forms) == 1 or not found.ambiguous:
        wanted = [decimal, asked and asked.decimal, convention.decimal, *forms]
        return Choice(_one(forms, next(mark for mark in wanted if mark in forms)))
    if decimal in forms:
        return Choice(_one(forms, decimal), f"as --decimal {_MARKS[decimal]} says")
    if asked is not None:
        return Choice(asked, "as where the model was fitted")
    if convention.decimal in forms:
        form = _one(forms, convention.decimal)
        if form.written == PLAIN:
            return Choice(form)
        words = f"since column '{convention.column}' has a decimal {_MARKS[form.decimal]}"
        return Choice(form, f"{_meaning(form)}, {words}")
    point = _one(forms, ".")
    if point.written == PLAIN:  # 1.169 is a plain number unless something speaks against it
        return Choice(point)
    grouped, plain = _by_group(forms)
    if found.plain_large:
        return Choice(plain, f"{_meaning(plain)}, since numbers above 999 stand without it")
    if found.plain_small:
        return Choice(grouped, f"{_meaning(grouped)}, since smaller numbers stand without it")
    usual = {",": ".", ";": ","}.get(delimiter)
    form = _one(forms, usual) if usual else grouped
    other = _MARKS["," if form.decimal == "." else "."]
    return Choice(
        form,
        f"{_meaning(form)}, which is assumed, since nothing in the table tells: say --decimal "
        f"{other} if that is wrong",
    )


def _one(forms: Mapping[str, NumberFormat | None], mark: str | None) -> NumberFormat:
    form = forms.get(mark or "")
    assert form is not None
    return form


def _by_group(forms: Mapping[str, NumberFormat | None]) -> tuple[NumberFormat, NumberFormat]:
    """Of two formats the one in which the mark groups, and the one in which it is decimal."""
    point, comma = _one(forms, "."), _one(forms, ",")
    return (point, comma) if point.group == "," else (comma, point)


def _meaning(form: NumberFormat) -> str:
    """What the mark that could mean two things is taken for."""
    if form.group in (",", "."):
        return f"the {_MARKS[form.group]} groups thousands"
    return f"the {_MARKS[form.decimal]} stands before decimals"


@dataclass(frozen=True)
class ReadColumn:
    """One column that was read, for the notes."""

    name: str
    choice: Choice
    text: str
    value: float


def parsed(column: pl.Series, form: NumberFormat) -> pl.Series:
    """The column as numbers, whole ones as integers if no cell has decimals."""
    values = form.parse(column)
    if form.written == PLAIN or form.unit == "%":
        return values
    if values.abs().max() is not None and float(values.abs().max()) >= 2.0**53:  # type: ignore[arg-type]
        return values
    has_decimals = column.str.contains(form.decimal, literal=True) & values.is_not_null()
    is_whole = bool((values == values.round(0)).all()) and not has_decimals.any()
    return values.cast(pl.Int64) if is_whole else values


def example(column: pl.Series, values: pl.Series, choice: Choice) -> ReadColumn | None:
    """The first cell that is not a plain number, with its value; None if all are plain."""
    plain = column.cast(pl.Float64, strict=False)
    odd = values.is_not_null() & (plain.is_null() | (plain != values)).fill_null(True)
    at = odd.arg_true()
    if not len(at):
        return None
    return ReadColumn(column.name, choice, str(column[int(at[0])]), float(values[int(at[0])]))


def number_notes(read: Sequence[ReadColumn]) -> list[str]:
    """One sentence for each format, with the columns that have it and an example."""
    groups: dict[tuple[str, str], list[ReadColumn]] = {}
    for one in read:
        groups.setdefault((one.choice.form.written, one.choice.reason), []).append(one)
    notes = []
    for (_, reason), columns in groups.items():
        first, names = columns[0], [one.name for one in columns]
        what = f"column '{first.name}' is" if len(names) == 1 else f"columns {listed(names, 5)} are"
        percent = ", the percentage divided by 100" if first.choice.form.unit == "%" else ""
        why = f"; {reason}" if reason else ""
        notes.append(
            f"{what} read as numbers: '{first.text[:40]}' as {first.value:.15g}{percent}{why}"
        )
    return notes
