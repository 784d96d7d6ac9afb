"""The names of the columns of a text table, from its first lines and from what the user says."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from fenchel.app.errors import BadData, BadUsage
from fenchel.app.table.text.delimiter import (
    TextLayout,
    records,
    sample_size,
    uncommented,
    usual_width,
)
from fenchel.app.table.text.header import HeaderEvidence, distinct_names, header_evidence, listed
from fenchel.app.table.text.number_format import is_number
from fenchel.app.table.text.quoting import Quoting
from fenchel.app.table.text.reading_options import Reading
from fenchel.data.display.counts import counted

MOST_COLUMNS = 10_000


@dataclass(frozen=True)
class ColumnNames:
    """The names of the columns and where they come from."""

    names: tuple[str, ...]
    header: bool
    lines: int  # physical lines of the header, with blank lines above it
    trailing: bool  # every row ends in a delimiter, behind which there is nothing
    notes: tuple[str, ...]
    problems: tuple[str, ...]


def name_columns(
    name: str,
    table: Sequence[str],
    layout: TextLayout,
    quoting: Quoting,
    reading: Reading,
    known: Collection[str],
) -> ColumnNames:
    """The columns of the table whose first physical lines are given.

    Parameters
    ----------
    name : of the file, for messages
    table : physical lines
    layout, quoting : how they are cut
    reading : what the user says
    known : names that a header may have
    """
    if layout.commented:
        table = [uncommented(table[0]), *table[1:]]
    found = _sampled(table, layout.delimiter, quoting)
    if not found:
        raise BadData(f"{name} has a first line that cannot be read: a cell of it is too long")
    (ends, first), *below = found
    rows = [fields for _, fields in below]
    usual = usual_width([first, *rows])
    if max(len(first), usual) > MOST_COLUMNS:
        most = max(len(first), usual)
        raise BadData(f"{name} has {most} columns, more than {MOST_COLUMNS}: keep those you need")
    seen = header_evidence(first, rows, known) if not layout.commented else None
    header = reading.has_header
    if header is None:
        header = seen is None or seen.header
    width, trailing, notes = _width(first, rows, header, usual)
    if trailing and len(reading.names) == usual:  # a last column that is empty so far
        width, trailing, notes = usual, False, []
    named = header and not trailing and usual == len(first) + 1 and _are_names(rows, layout)
    if named and _agree(rows, usual):
        width = usual
    if header and not trailing and width == len(first) != usual and _agree(rows, usual):
        raise BadData(
            f"{name}: its header has {counted(len(first), 'field')} and the lines below it have "
            f"{usual}: correct it, put cells with a delimiter in them between quotes, or leave it "
            "out with --skip and give the names with --names"
        )
    names = list(reading.names)
    if names and len(names) != width:
        raise BadUsage(
            f"--names gives {counted(len(names), 'name')}, and {name} has "
            f"{counted(width, 'column')}: give one for each"
        )
    if not names and header:
        names = [*([""] * (width - len(first))), *first][:width]
        if not any(one.strip() for one in names):
            raise BadData(
                f"{name} has no header in its first line: add the names of the columns, or say "
                "--no-header"
            )
    if not names:
        names = [f"column {number}" for number in range(1, width + 1)]
    distinct, renamed = distinct_names(names)
    said, problems = _first_line(seen, header, first, distinct, reading)
    if width == len(first) + 1 and header and not reading.names:
        problems.append(
            "the header has one name less than the rows have fields: the first column is taken for "
            f"the names of the rows and called '{distinct[0]}'; confirm it with --header --names"
        )
    if problems and not header and set(distinct) & set(known) and not reading.names:
        said, problems = ["no header, as where the model was fitted"], []
    notes += [*renamed, *said]
    lines = ends if header else 0
    return ColumnNames(distinct, header, lines, trailing, tuple(notes), tuple(problems))


def _sampled(table: Sequence[str], delimiter: str, quoting: Quoting) -> list[tuple[int, list[str]]]:
    first = next(records(table, delimiter, quoting, 1), None)
    if first is None:
        return []
    return list(records(table, delimiter, quoting, 1 + sample_size(len(first[1]))))


def _width(
    first: Sequence[str], rows: Sequence[Sequence[str]], header: bool, usual: int
) -> tuple[int, bool, list[str]]:
    """How many columns there are; whether every row ends in a delimiter; a note if it is so."""
    lines = rows if header else [first, *rows]
    full = [fields for fields in lines if len(fields) == usual]
    near = sum(len(fields) in (usual - 1, usual) for fields in lines)  # the last may lack it
    ends = usual > 1 and len(full) > 0.5 * len(lines) and near >= 0.9 * len(lines)
    ends = ends and not any(fields[-1].strip() for fields in full)
    if ends and (not header or len(first) == usual - 1 or not first[-1].strip()):
        return usual - 1, True, ["every line ends in a delimiter: no column is made of that"]
    if not header:
        return usual, False, []
    agree = _agree(rows, usual)
    if agree and len(first) == usual + 1 and not first[-1].strip():
        return usual, False, ["the header ends in a delimiter: no column is made of that"]
    return len(first), False, []


def _are_names(rows: Sequence[Sequence[str]], layout: TextLayout) -> bool:
    """Whether the first cells of the rows name them, as those do that R writes: all different, and
    no numbers where these could be parts of a number with a comma."""
    cells = [fields[0].strip() for fields in rows if fields]
    if layout.delimiter in ",;" and any(is_number(cell) for cell in cells):
        return False
    return len(set(cells)) == len(cells)


def _agree(rows: Sequence[Sequence[str]], usual: int) -> bool:
    """Whether nearly all rows have so many fields."""
    return len(rows) > 1 and sum(len(fields) == usual for fields in rows) >= 0.9 * len(rows)


def _first_line(
    seen: HeaderEvidence | None,
    header: bool,
    first: Sequence[str],
    names: Sequence[str],
    reading: Reading,
) -> tuple[list[str], list[str]]:
    """Notes and problems about what the first line was taken for."""
    if seen is None:
        return [], []
    shown = listed([cell.strip() for cell in first])
    if reading.has_header is None and not header:
        why = f" ({seen.reason})" if seen.reason else ""
        last = f"'{names[0]}'" if len(names) == 1 else f"'{names[0]}' to '{names[-1]}'"
        return [], [
            f"the table seems to have no header{why}: its first line is read as a row and its "
            f"columns are called {last}; confirm it with --no-header, name the columns with "
            "--names, or say --header if the first line holds their names"
        ]
    if reading.has_header is None and seen.doubtful:
        return [], [
            f"the first line ({shown}) is taken for the names of the columns, though it looks like "
            "the rows: confirm it with --header, or say --no-header if it is a row"
        ]
    if reading.has_header is None and seen.numbers:
        return [
            f"the first line ({shown}) holds numbers unlike those below it and is taken for the "
            "names of the columns: say --no-header if it is a row"
        ], []
    if reading.has_header is None and not seen.sure:
        return [
            f"the first line ({shown}) is taken for the names of the columns, though little tells "
            "it from the rows: say --no-header if it is a row"
        ], []
    if reading.has_header is None or seen.header == header or not seen.sure:
        return [], []
    looks = f"the first line ({shown}) looks like {'a row' if header else 'a header'}"
    if reading.header is None:
        return [], [f"{looks} and is read as a row because of --names: add --header if it is one"]
    option = "--header" if header else "--no-header"
    return [f"{looks} and is read as {'a header' if header else 'a row'} because of {option}"], []
