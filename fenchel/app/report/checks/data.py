"""Checks of the table: how it was read, what its columns and cells hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

from fenchel.app.report.checks.finding import Finding, check, graded, listed
from fenchel.app.table.profile.redundancy import MOST_COLUMNS
from fenchel.data.display.counts import counted, plural
from fenchel.data.display.rounding import percent
from fenchel.show.formatting import number

Numbers = dict[str, Any]
MANY_MISSING = 0.3  # share of the rows of a column
# Notes of the reader that tell of a guess, or of cells and lines that were lost.
_DOUBT = re.compile(r"assumed|that (is|are) no |skipped|left out|kept as text|cannot be told apart")


def checks(numbers: Numbers) -> Iterator[Finding]:
    """How the file was read, then columns, cells and rows."""
    yield _reading(numbers)
    columns = numbers["columns"]
    yield _missing(columns)
    yield from _left_out(columns)
    yield _unused(columns, numbers["task"]["target"] is not None)
    yield _texts(columns)
    yield _spellings(columns)
    yield from _repeated(numbers)
    yield _leaks(numbers)
    yield _suspects(columns)
    yield from _target(numbers)
    yield _nearly_constant(columns)
    yield from _rows(numbers)


def _reading(numbers: Numbers) -> Finding:
    said = numbers["source"]["problems"]
    doubts = [note for note in numbers["source"]["notes"] if _DOUBT.search(note)]
    return check(
        "R1",
        "how the file was read",
        bool(said or doubts),
        "problem" if said else "warning",
        " ".join(_sentence(one) for one in (*said, *doubts)[:6]),
        "The file was read as it is written, with nothing to confirm.",
        "If the file was read wrongly, every number of this report is about another table.",
        "Confirm it, or say how the file is written by the options named here.",
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _missing(columns: list[Numbers]) -> Finding:
    missing = [one for one in columns if one["missing"] and one["kind"] != "empty"]
    empty = any(one["kind"] == "empty" for one in columns)
    share = max((one["missing"] / max(one["rows"], 1) for one in missing), default=0.0)
    return check(
        "D1",
        "missing values",
        bool(missing),
        "warning" if share > MANY_MISSING else "info",
        f"Missing values in {len(missing)} of {counted(len(columns), 'column')}, at most "
        f"{percent(share)} of the rows: {listed([one['name'] for one in missing])}.",
        "No column has missing values" + (" but those that are empty." if empty else "."),
        "Filled values are guesses, and that a value is missing may itself be informative.",
        "Missing cells are filled, and a column of its own marks them; where they are many, find "
        "out why they are missing.",
    )


def _left_out(columns: list[Numbers]) -> Iterator[Finding]:
    constant = [one["name"] for one in columns if one["kind"] in ("constant", "empty")]
    yield check(
        "D2",
        "constant columns",
        bool(constant),
        "info",
        f"Left out because they are constant or empty: {listed(constant)}.",
        "No column is constant or empty.",
        "A column without variation cannot help to predict anything.",
        "Remove them from the table.",
    )
    names = [one["name"] for one in columns if one["kind"] == "identifier"]
    yield check(
        "D3",
        "identifiers",
        bool(names),
        "info",
        f"Left out because they identify rows or groups of rows: {listed(names)}.",
        "No column looks like an identifier.",
        "A model that learns identifiers has learnt nothing that holds for new rows.",
        "If such a column is text, read it as text with --text NAME; if it describes the rows, "
        "code what it says in columns of its own.",
    )


def _unused(columns: list[Numbers], is_predicted: bool) -> Finding:
    """Columns that are left out for another reason than the checks beside this one name."""
    told = ("constant", "empty", "identifier")
    lost = [
        one
        for one in columns
        if one["left_out"] and one["kind"] not in told and not one["same_as"] and not one["copy"]
        and one["left_out"] not in ("as asked", "the rows are split by it")
    ]  # fmt: skip
    said = "; ".join(f"'{one['name'][:40]}': {one['left_out']}" for one in lost[:4])
    more = f"; and {len(lost) - 4} more" if len(lost) > 4 else ""
    return check(
        "D13",
        "columns that could not be used",
        bool(lost),
        "warning",
        f"Left out of {'the model' if is_predicted else 'clusters and axes'}: {said}{more}.",
        "Every other column is used.",
        f"What such a column says about the {'target' if is_predicted else 'rows'} is lost.",
        "Write it as numbers, dates, or categories of more rows each"
        + ("; or read it by its words with --text NAME." if is_predicted else "."),
    )


def _spellings(columns: list[Numbers]) -> Finding:
    found = [(one["name"], group) for one in columns for group in one["spellings"]]
    said = "; ".join(
        f"'{name[:40]}' has {', '.join(repr(level[:30]) for level in group[:4])}"
        for name, group in found[:3]
    )
    more = f"; and {len(found) - 3} more" if len(found) > 3 else ""
    return check(
        "D14",
        "spellings of one level",
        bool(found),
        "warning",
        f"Levels that differ in case, blanks or points alone: {said}{more}.",
        "No two levels of a category differ in spelling alone.",
        "They count as different levels, and share their rows.",
        "Write them alike.",
    )


def _target(numbers: Numbers) -> Iterator[Finding]:
    if numbers["task"]["kind"] == "none":
        return
    said = numbers["target_doubts"]
    yield check(
        "D12",
        "values of the target",
        bool(said),
        "problem",
        f"In the target '{numbers['task']['target'][:60]}': {'; '.join(said[:3])}.",
        "No value of the target stands apart.",
        "A model learns whatever stands in the target, mistakes included.",
        "Correct those cells, or empty them so that their rows are left out.",
    )


def _texts(columns: list[Numbers]) -> Finding:
    texts = [one for one in columns if one["kind"] == "text" and one["used"]]
    return check(
        "D8",
        "text columns",
        bool(texts),
        "info",
        "; ".join(f"'{one['name'][:60]}' is text: {one['rule']}" for one in texts[:3]) + ".",
        "No column is text."
        if not any(one["kind"] == "text" for one in columns)
        else "Columns of text are not used here.",
        "Words are counted; their order, beyond pairs, and their meaning are not seen.",
        "Leave a text out with --drop NAME if it should not be used.",
    )


def _repeated(numbers: Numbers) -> Iterator[Finding]:
    same = [one["name"] for one in numbers["columns"] if one["same_as"]]
    yield check(
        "D4",
        "equal columns",
        bool(same),
        "info",
        f"Left out because they equal an earlier column: {listed(same)}.",
        "No two columns are equal.",
        "A copy adds nothing, and its coefficient is shared with the column that it repeats.",
        "The copies are left out; remove them from the table.",
    )
    near = numbers["near_duplicates"]
    first = "; ".join(
        f"'{one['first'][:40]}' and '{one['second'][:40]}' ({one['words']})" for one in near[:3]
    )
    more = f"; and {len(near) - 3} more {plural(len(near) - 3, 'pair')}" if len(near) > 3 else ""
    yield check(
        "D9",
        "nearly equal columns",
        bool(near),
        "info",
        f"These columns say nearly the same: {first}{more}.",
        "No two columns are nearly equal."
        if len(numbers["columns"]) <= MOST_COLUMNS
        else f"Nearly equal columns are not looked for among more than {MOST_COLUMNS}.",
        "Their single coefficients mean little, and rows in which they differ may be mistakes.",
        "Keep one of each pair, or find out why they differ.",
    )


def _leaks(numbers: Numbers) -> Finding:
    leaks = [one for one in numbers["columns"] if one["leak"]]
    return check(
        "D5",
        "suspected leaks",
        bool(leaks),
        "problem",
        "; ".join(f"'{one['name'][:40]}': {one['leak']}" for one in leaks[:4])
        + (f"; and {len(leaks) - 4} more." if len(leaks) > 4 else "."),
        "No single column predicts the target almost perfectly."
        if numbers["task"]["target"] is not None
        else "There is no target that a column could give away.",
        "A column that predicts the target by itself is often a consequence of it, unknown at the "
        "time when a prediction is needed.",
        "Find out when the column is recorded; if that is after the fact, leave it out with "
        "--drop NAME."
        if any(one["used"] for one in leaks)
        else "No model sees it: it was left out. If it should not be there, --drop NAME.",
    )


def _suspects(columns: list[Numbers]) -> Finding:
    found = [
        (one, suspect, suspect["count"] / max(one["rows"], 1))
        for one in columns
        for suspect in one["suspects"]
        if one["kind"] in ("number", "date")
    ]
    done = []
    coded = [one["name"] for one, *_ in found if one["codes"]]
    clipped = [one["name"] for one, *_ in found if one["clipped"]]
    if coded:
        done.append(f"the codes of {listed(list(dict.fromkeys(coded)), 3)} count as missing")
    if clipped:
        done.append(f"the extreme cells of {listed(list(dict.fromkeys(clipped)), 3)} are clipped")
    did = f"In this report {' and '.join(done)}; --as-is takes every number as it stands. "
    loud = any(suspect["kind"] != "repeated" for _, suspect, _ in found)
    said = [_suspect_words(*one) for one in found[:4]]
    more = f"; and {len(found) - 4} more" if len(found) > 4 else ""
    return check(
        "D7",
        "suspicious values",
        bool(found),
        "warning" if loud else "info",
        "; ".join(said) + more + ".",
        "No value stands far apart from the others of its column, alone or repeated.",
        "A code such as -999 or one mistyped amount distorts means, scales and coefficients.",
        (did if done else "") + "Correct those cells, or empty them if the value is unknown.",
    )


def _suspect_words(column: Numbers, suspect: Numbers, share: float) -> str:
    name, count = column["name"][:40], suspect["count"]
    value, nearest = (_cell(column, suspect[key]) for key in ("cell", "nearest"))
    if suspect["kind"] == "code":
        return (
            f"'{name}' holds {value} in {counted(count, 'row')} ({percent(share)}), far from all "
            f"other values (the nearest is {nearest})"
        )
    if suspect["kind"] == "repeated":
        return (
            f"'{name}' holds {value} in {counted(count, 'row')} ({percent(share)}), while its "
            "other values hardly repeat"
        )
    row = f" (row {suspect['rows'][0] + 1})" if suspect["rows"] else ""
    if count == 1:
        return (
            f"one cell of '{name}', {value}{row}, makes most of its variance; all others end at "
            f"{nearest}"
        )
    return (
        f"{count} cells of '{name}', up to {value}{row}, make most of its variance; all others end "
        f"at {nearest}"
    )


def _cell(column: Numbers, value: float) -> str:
    """A value of a column as a reader knows it: days are written as dates."""
    if column["kind"] != "date":
        return number(value, 9)
    return str(date(1970, 1, 1) + timedelta(days=round(value)))


def _nearly_constant(columns: list[Numbers]) -> Finding:
    flat = [one for one in columns if one["others"] and one["kind"] != "constant"]
    said = ", ".join(
        f"'{one['name'][:40]}' (but for {counted(one['others'], 'row')})" for one in flat[:4]
    )
    more = f" and {len(flat) - 4} more" if len(flat) > 4 else ""
    return check(
        "D10",
        "nearly constant columns",
        bool(flat),
        "info",
        f"Columns that hold one value in nearly all rows: {said}{more}.",
        "No column holds one value in nearly all rows.",
        "What a model learns from a handful of rows seldom holds for new ones.",
        "Check whether the few other values are mistakes; drop the column if they are.",
    )


def _rows(numbers: Numbers) -> Iterator[Finding]:
    totals = numbers["total_rows"]
    yield check(
        "D11",
        "totals and footnotes among the rows",
        bool(totals),
        "problem",
        "Rows that are no observations: "
        + "; ".join(f"row {one['row']:,}, for {one['words']}" for one in totals)
        + ".",
        "No row at the ends of the table sums up the others.",
        "A total is far from every row, and distorts scales and fits.",
        "Delete those lines from the file and run the report again.",
    )
    again, used = numbers["duplicates"]["rows"], max(numbers["rows"]["used"], 1)
    yield check(
        "D6",
        "duplicate rows",
        again > 0,
        graded(again / used, 0.1, 0.5),
        f"{counted(again, 'row')} ({percent(again / used)}) equal an earlier row in every column.",
        "No two rows are equal.",
        "Intervals assume that rows are independent, and repeated rows are not.",
        "Find out whether they were entered twice; remove the repetitions if they were.",
    )
