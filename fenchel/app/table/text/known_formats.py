"""Columns of new rows whose numbers or dates are written in another way than at a model's fit."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from fenchel.app.table.text.cells import DATE_FORMATS, ENOUGH, date_format, moments
from fenchel.app.table.text.number_columns import Choice, Convention, choose, example, number_notes
from fenchel.app.table.text.number_format import (
    NUMBER_FORMATS,
    PLAIN,
    FormatEvidence,
    NumberFormat,
    evidence,
)


class KnownFormats:
    """Reads columns by the format found in their first rows, where the expected one does not fit.

    A column is decided once, by the first frame that holds a cell of it, and then for all rows.
    Cells that the expected format reads stay text, for whoever knows that format.
    """

    def __init__(
        self,
        expected: Mapping[str, str],
        decimal: str | None = None,
        delimiter: str = ",",
        target: str | None = None,
    ) -> None:
        self._target = target
        self._expected = {name: written for name, written in expected.items() if written}
        self._decimal, self._delimiter = decimal, delimiter
        self._decided: dict[str, str] = {}  # column -> its format here; empty: the expected one
        self.notes: list[str] = []

    def applied(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The frame with those columns read."""
        for name, written in self._expected.items():
            if name not in frame.columns or frame[name].dtype != pl.String:
                continue
            column = frame[name]
            if name not in self._decided:
                if column.null_count() == len(column):
                    continue
                is_date = written in DATE_FORMATS
                self._decided[name] = (self._date if is_date else self._number)(column, written)
            here = self._decided[name]
            if name == self._target:
                frame = frame.with_columns(_plain_text(column, here or written))
            elif here in NUMBER_FORMATS:
                frame = frame.with_columns(NumberFormat.of(here).parse(column))
            elif here:
                frame = frame.with_columns(moments(column, here).alias(name))
        return frame

    def _date(self, column: pl.Series, written: str) -> str:
        cells = column.drop_nulls()
        if len(cells) - moments(cells, written).null_count() >= ENOUGH * len(cells):
            return ""
        found = date_format(cells)
        if found is None or found[1] is not None:
            return ""
        first = moments(cells, found[0])
        self.notes.append(
            f"column '{column.name}' has dates written in another way than at the fit: "
            f"'{cells[0]}' is read as {first[0]}"
        )
        return found[0]

    def _number(self, column: pl.Series, written: str) -> str:
        cells, form = column.drop_nulls(), NumberFormat.of(written)
        count = form.fits(cells)
        asked = self._decimal in (None, form.decimal)
        if asked and count >= ENOUGH * len(cells):
            return ""
        found = evidence(cells)
        if not isinstance(found, FormatEvidence):
            return ""
        choice = choose(
            found, Convention(), decimal=self._decimal, expected=written, delimiter=self._delimiter
        )
        if choice.form == form or (asked and choice.form.fits(cells) <= count):
            return ""
        if not _same_unit(form.unit, choice.form.unit):
            return ""  # 12 % is not 12, nor $ 5 the same as 5 €: the cells are not of this column
        reason = choice.reason or "this is not how it was written at the fit"
        shown = example(cells, choice.form.parse(cells), Choice(choice.form, reason))
        self.notes += number_notes([shown] if shown is not None else [])
        return choice.form.written


def _same_unit(at_fit: str, here: str) -> bool:
    """Whether numbers may be compared; a currency may be left out, a percent sign may not."""
    return at_fit == here or ("%" not in (at_fit, here) and "" in (at_fit, here))


def _plain_text(column: pl.Series, written: str) -> pl.Series:
    """Numbers of this format as text of plain ones; other cells as they stand."""
    if written not in NUMBER_FORMATS or written == PLAIN:
        return column
    values = NumberFormat.of(written).parse(column).cast(pl.String)
    return values.zip_with(values.is_not_null(), column)
