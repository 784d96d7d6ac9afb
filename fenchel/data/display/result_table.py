"""Results that are tables: a dataframe to compute with, and HTML for a notebook.

A result says its columns and its caption; `to_frame` and `_repr_html_` are the same for all. The
HTML is one `<table>` with inline styles, no script and no address: its colours are those of the
page around it, so that it reads on a light and on a dark ground.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from decimal import Context
from html import escape
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np

from fenchel.data.display.rounding import DOWN, UP, interval_texts, percent, rounded

Kind = Literal["pandas", "polars"]
KINDS: tuple[Kind, ...] = ("pandas", "polars")
SHOWN = 20  # rows of the HTML; of more the first 12 and the last 6
FIRST, LAST = 12, 6
LONGEST = 80  # characters of a cell
# Columns of bounds, by the end of their name: rounded outward, so that they are still bounds.
LOWER = ("low", "bound")
UPPER = ("high", "upper", "gap")
PRECISE = ("value", "bound")  # of a certificate: they differ in late digits
LINE = "1px solid rgba(128, 128, 128, 0.35)"


class Tabular(ABC):
    """A result that shows itself as a table."""

    __slots__ = ()

    @abstractmethod
    def columns(self) -> dict[str, Any]:
        """The columns by name, all of one length."""

    @abstractmethod
    def caption(self) -> str:
        """What the table shows, in a line."""

    def shares(self) -> tuple[str, ...]:
        """Names of the columns that are shares: the HTML has them in per cent, as sentences do."""
        return ()

    def to_frame(self, kind: Kind | None = None) -> Any:
        """The table as a dataframe.

        Parameters
        ----------
        kind : {"pandas", "polars"}, optional
            By default pandas where it is installed, else polars.
        """
        return frame_of(self.columns(), kind)

    def _repr_html_(self) -> str:
        return html_table(self.columns(), self.caption(), self.shares())


def frame_of(columns: Mapping[str, Any], kind: str | None = None) -> Any:
    """The columns as a dataframe of that kind, or of the first kind that is installed."""
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind must be 'pandas' or 'polars', got {kind!r}")
    plain = {name: _column(values) for name, values in columns.items()}
    for name in KINDS if kind is None else (kind,):
        try:
            if name == "pandas":
                import pandas

                return pandas.DataFrame(plain)
            import polars

            return polars.DataFrame(plain)
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] != name:
                raise
    wanted = "pandas or polars" if kind is None else kind
    remedy = "pip install pandas" if kind is None else f"pip install {kind}"
    raise ImportError(f"to_frame needs {wanted}, which is not installed: {remedy}")


def frame_like(frame: Any, given: Any) -> Any:
    """A polars dataframe as the kind of table that was given: pandas, with its index, or pyarrow.

    Anything else gets the polars dataframe itself.
    """
    home = type(given).__module__.partition(".")[0]
    if home == "pandas":
        import pandas

        if isinstance(given, pandas.DataFrame):
            data = {name: frame[name].to_numpy() for name in frame.columns}
            return pandas.DataFrame(data, index=given.index)
    if home == "pyarrow":
        return frame.to_arrow()
    return frame


def html_table(columns: Mapping[str, Any], caption: str, shares: Sequence[str] = ()) -> str:
    """The columns as an HTML table; every text is escaped.

    Columns x, x_low and x_high are one: a number with its interval. Shares are in per cent.
    """
    plain = {name: _column(values) for name, values in columns.items()}
    ends = {name: (f"{name}_low", f"{name}_high") for name in plain}
    ends = {name: pair for name, pair in ends.items() if plain.keys() >= {*pair}}
    n = len(next(iter(plain.values()))) if plain else 0
    rows = list(range(n))
    if n > SHOWN:
        rows = [*rows[:FIRST], -1, *rows[n - LAST :]]
        caption = f"{caption} ({n:,} rows)"
    numeric = {name: _is_numeric(values) for name, values in plain.items()}
    inside = {end for pair in ends.values() for end in pair}
    shown = [name for name in plain if name not in inside]
    head = "".join(
        f'<th scope="col" style="{_style(numeric[name], head=True)}">{escape(_spoken(name))}</th>'
        for name in shown
    )

    def cell(name: str, row: int) -> str:
        if row < 0:
            return "…"
        is_share, value = name in shares, plain[name][row]
        ends_of = [plain[end][row] for end in ends.get(name, ())]
        if _is_missing(value) or not ends_of or any(map(_is_missing, ends_of)):
            if is_share and not _is_missing(value):
                return percent(float(value), _side(name))
            return _cell(value, name)
        low, high = map(float, ends_of)
        texts = interval_texts(float(value), low, high, percent=is_share)
        return f"{texts[0]}{' %' if is_share else ''} [{texts[1]}, {texts[2]}]"

    body = []
    for row in rows:
        cells = [
            f'<td style="{_style(numeric[name])}">{escape(cell(name, row))}</td>' for name in shown
        ]
        body.append(f"<tr>{''.join(cells)}</tr>")
    return (
        '<div style="overflow-x:auto;max-width:100%">'
        '<table style="border-collapse:collapse;color:inherit;background:transparent">'
        '<caption style="caption-side:top;text-align:left;padding:2px 8px 6px 0;color:inherit">'
        f"{escape(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def _style(numeric: bool, head: bool = False) -> str:
    side = "right" if numeric else "left"
    weight = ";font-weight:600" if head else ";font-variant-numeric:tabular-nums"
    return (
        f"text-align:{side};padding:2px 10px;border:0;border-bottom:{LINE};color:inherit;"
        f"background:transparent;white-space:nowrap{weight}"
    )


def _spoken(name: str) -> str:
    return name.replace("_", " ")


def _cell(value: Any, name: str) -> str:
    if _is_missing(value):
        return "–"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, Integral):
        return f"{int(value):,}"
    if isinstance(value, Real):
        return _number(float(value), name)
    text = " ".join(str(value).split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _number(value: float, name: str) -> str:
    """Four significant digits, ten of an objective and its bound; bounds are rounded outward."""
    if not math.isfinite(value):
        return str(value)
    return rounded(value, _side(name), 10 if name in PRECISE else 4)


def _side(name: str) -> Context | None:
    """How a column of that name is rounded: bounds outward, others to the nearest."""
    return DOWN if name.endswith(LOWER) else UP if name.endswith(UPPER) else None


def _column(values: Any) -> Any:
    """One kind of entry in a column: numbers, texts or truth values, or else all as texts."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "biufUM":
        return values
    listed: Sequence[Any] = [_plain(value) for value in values]
    kinds = {type(value) for value in listed if value is not None}
    if len(kinds) <= 1 and kinds <= {bool, int, float, str}:
        return listed
    if kinds <= {int, float}:
        return [None if value is None else float(value) for value in listed]
    return [None if value is None else str(value) for value in listed]


def _plain(value: Any) -> Any:
    """Python's own type of a number, also of a subclass of float."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, float) else value


def _is_numeric(values: Any) -> bool:
    if isinstance(values, np.ndarray):
        return bool(values.dtype.kind in "iuf")
    return all(value is None or type(value) in (int, float) for value in values)
