"""Numbers as people write them: grouped thousands, decimal commas, currencies, percents.

A format is a layout (which mark stands before the decimals, which one between groups of three
digits) and a unit. The formats are a closed set, since model files store them by name.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from fenchel.app.table.text.cells import ENOUGH, numbers

_LAYOUTS = {
    "1234.5": (".", ""),
    "1,234.5": (".", ","),
    "1 234.5": (".", " "),
    "1'234.5": (".", "'"),
    "1234,5": (",", ""),
    "1.234,5": (",", "."),
    "1 234,5": (",", " "),
    "1'234,5": (",", "'"),
}
_CURRENCIES = (
    *("$", "€", "£", "¥", "₹", "USD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR", "CAD", "AUD"),
    *("SEK", "NOK", "DKK", "PLN", "CZK", "BRL", "MXN", "ZAR", "US$", "R$", "kr", "zł", "Kč", "Fr."),
)
UNITS = ("", "%", *_CURRENCIES)
PLAIN = "1234.5"
NUMBER_FORMATS = frozenset(f"{name} {unit}".strip() for name in _LAYOUTS for unit in UNITS)

_LONGEST = 60  # letters of a number
_SAMPLE = 1000  # cells that decide whether a column is worth a closer look
_MINUS = r"\-−"  # the keyboard's and the typographer's
_GROUPS = {"": "", ",": ",", ".": r"\.", " ": r"[ \u{a0}\u{2009}\u{202f}]", "'": r"['’]"}
_UNIT = "|".join(re.escape(unit) for unit in sorted(UNITS[1:], key=len, reverse=True))
_EXPONENT = r"(?:[eE][+-]?\d+)?"
_GROUPED = r"\d{1,3}(?:([,. '’\u00a0\u2009\u202f])\d{3})(?:\2\d{3})*"
_CELL = re.compile(
    rf"\(?\s*[+{_MINUS}]?\s*({_UNIT})?\s*[+{_MINUS}]?\s*"
    rf"(?:{_GROUPED}(?:[.,]\d*)?|\d+(?:[.,]\d*)?|[.,]\d+){_EXPONENT}"
    rf"\s*({_UNIT})?\s*[{_MINUS}]?\s*\)?"
)


@dataclass(frozen=True)
class NumberFormat:
    """One way to write numbers; parse and the name of the format are each other's inverse.

    A sign stands before the number, behind it (1,200-) or is a pair of brackets (accounting). The
    unit may be left out, but for a percent sign, without which only 0 is clear.
    """

    layout: str
    unit: str = ""

    @property
    def written(self) -> str:
        """The name of the format, one of NUMBER_FORMATS."""
        return f"{self.layout} {self.unit}".strip()

    @classmethod
    def of(cls, written: str) -> NumberFormat:
        """The format of that name."""
        layout = max((name for name in _LAYOUTS if written.startswith(name)), key=len)
        return cls(layout, written.removeprefix(layout).strip())

    @property
    def decimal(self) -> str:
        """The mark before the decimals."""
        return _LAYOUTS[self.layout][0]

    @property
    def group(self) -> str:
        """The mark between groups of three digits; empty if there is none."""
        return _LAYOUTS[self.layout][1]

    @cached_property
    def pattern(self) -> str:
        """A regular expression whose groups are what stands before, the digits, and behind."""
        point, group = re.escape(self.decimal), _GROUPS[self.group]
        # Groups never follow a zero: 0,172 can only be a decimal.
        whole = rf"(?:[1-9]\d{{0,2}}(?:{group}\d{{3}})+|\d+)" if group else r"\d+"
        digits = rf"(?:{whole}(?:{point}\d*)?|{point}\d+){'' if self.group else _EXPONENT}"
        unit = rf"(?:{re.escape(self.unit)})?" if self.unit else ""
        sign = rf"[+{_MINUS}]?"
        before = rf"\(?\s*{sign}\s*{unit}\s*{sign}\s*"
        return rf"^({before})({digits})(\s*{unit}\s*[{_MINUS}]?\s*\)?)$"

    def fits(self, column: pl.Series) -> int:
        """How many cells of text are numbers in this format."""
        return len(column) - self.parse(column).null_count()

    def parse(self, column: pl.Series) -> pl.Series:
        """Text as float64, null where it is no finite number in this format."""
        if self.written == PLAIN:
            return numbers(column)
        parts = column.str.strip_chars().str.extract_groups(self.pattern).struct
        before, digits, behind = (parts.field(str(number)) for number in (1, 2, 3))
        around = before + behind
        sign = around.str.replace_all(rf"[^+()%{_MINUS}]", "")
        body = digits
        if self.group:
            body = body.str.replace_all(_GROUPS[self.group], "")
        if self.decimal == ",":
            body = body.str.replace(",", ".", literal=True)
        values = body.cast(pl.Float64, strict=False)
        if self.unit == "%":
            counted = around.str.count_matches("%")
            clear = (counted == 1) | ((counted == 0) & (values == 0.0))
            values = values.set(~clear.fill_null(False), None) / 100.0
            sign = sign.str.replace_all("%", "", literal=True)
        minus = sign.is_in(["-", "−", "()"])
        values = values.set(~(minus | sign.is_in(["", "+"])).fill_null(False), None)
        values = values.zip_with(~minus.fill_null(False), -values)
        return values.set(~values.is_finite().fill_null(False), None).alias(column.name)


def read_numbers(column: pl.Series, written: str | None) -> pl.Series:
    """A column as float64, its text read by the format of that name (None: plain numbers)."""
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if written is None or column.dtype != pl.String:
        return numbers(column)
    return NumberFormat.of(written).parse(column)


@dataclass(frozen=True)
class FormatEvidence:
    """The formats that read nearly all cells of a column, at most one for each decimal mark."""

    point: NumberFormat | None
    comma: NumberFormat | None
    ambiguous: bool  # both read it, and they disagree about the numbers
    plain_small: bool = False  # cells below 1000 stand without a mark: the mark groups thousands
    plain_large: bool = False  # a cell above 999 stands without a mark: the mark does not group

    @property
    def decimal(self) -> str | None:
        """The decimal mark, where the cells leave no doubt; None where they say nothing."""
        if self.point is None or self.comma is None:
            return "," if self.point is None else "."
        return None


def is_number(text: str) -> bool:
    """Whether a cell holds a number, plain or as people write it."""
    if len(text) > _LONGEST:
        return False
    try:
        return math.isfinite(float(text)) and "_" not in text  # 1_000 is a number to Python alone
    except ValueError:
        return _CELL.fullmatch(text) is not None


def spread(cells: pl.Series) -> pl.Series:
    """Some cells from all parts of a column."""
    return cells.gather_every(max(1, len(cells) // _SAMPLE))


def evidence(column: pl.Series) -> FormatEvidence | str | None:
    """What the cells of a column of text say about how its numbers are written.

    None if they are no numbers; a remark if they are, but cannot be read as numbers of one column.
    """
    cells = column.drop_nulls()
    sample = spread(cells)
    if not len(sample):
        return None
    some = sample.gather_every(max(1, len(sample) // 20)).to_list()
    if sum(_matched(cell) is not None for cell in some) < 0.5 * len(some):
        return None
    matched = [found for cell in sample if (found := _matched(cell)) is not None]
    if len(matched) < 0.9 * len(sample) or _are_addresses(sample):
        return None
    counted = Counter(unit for match in matched for unit in match.group(1, 3) if unit)
    units = [unit for unit, count in counted.most_common() if count > (1.0 - ENOUGH) * len(sample)]
    if len(units) > 1:
        shown = [next(m[0] for m in matched if unit in m.group(1, 3)) for unit in units[:2]]
        return (
            f"column '{column.name}' is kept as text: its cells have different units (such as "
            f"'{shown[0]}' and '{shown[1]}'); convert them to one"
        )
    unit = units[0] if units else ""
    if cells.str.contains(r"^[^\d.,]*0\d").any():
        return f"column '{column.name}' has numbers with leading zeros: it is kept as text"
    points, point = _best(".", unit, sample, cells)
    commas, comma = _best(",", unit, sample, cells)
    if point is None and comma is None:
        return None
    if points != commas:  # a cell that only one of them reads tells them apart
        point, comma = (point, None) if points > commas else (None, comma)
    has_mark = point is None or comma is None or bool(cells.str.contains(r"\d[.,]\d").any())
    ambiguous = point is not None and comma is not None and has_mark
    if not ambiguous:
        return FormatEvidence(point, comma, False)
    bare = cells.filter(~cells.str.contains(r"\d[.,]\d"))
    large = bare.str.contains(r"\d{4}")
    return FormatEvidence(point, comma, True, bool((~large).any()), bool(large.any()))


def _matched(cell: str) -> re.Match[str] | None:
    return _CELL.fullmatch(cell.strip()) if len(cell) <= _LONGEST else None


def _are_addresses(sample: pl.Series) -> bool:
    """Whether cells that could be grouped numbers are IP addresses or telephone numbers."""
    octet = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
    addresses = sample.str.contains(rf"^{octet}(?:\.{octet}){{3}}$")
    calls = sample.str.contains(r"^(?:\+|00)\d+ \d{3}")
    return max(int(addresses.sum()), int(calls.sum())) > 0.5 * len(sample)


def _best(
    mark: str, unit: str, sample: pl.Series, cells: pl.Series
) -> tuple[int, NumberFormat | None]:
    """The simplest format with this decimal mark of those that read the most cells, and how many
    it reads; none if it does not read nearly all."""
    found: list[tuple[int, NumberFormat]] = []
    for layout, (decimal, _) in _LAYOUTS.items():
        form = NumberFormat(layout, unit)
        if decimal == mark and form.fits(sample) >= 0.9 * len(sample):
            found.append((form.fits(cells), form))
    most = max((count for count, _ in found), default=0)
    if most < ENOUGH * len(cells):
        return 0, None
    return most, next(form for count, form in found if count == most)
