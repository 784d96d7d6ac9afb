"""Checks of the split into training and test rows, and of what there is to learn from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fenchel.app.report.checks.finding import Finding, check, graded, listed
from fenchel.data.display.counts import counted
from fenchel.data.display.rounding import percent

Numbers = dict[str, Any]


def checks(numbers: Numbers) -> Iterator[Finding]:
    """Rows in both parts, small classes, few rows, groups and dates."""
    rows = numbers["rows"]
    both = numbers["duplicates"]["test_rows_in_training"]
    share = both / max(rows["test"], 1)
    yield check(
        "P1",
        "test rows among the training rows",
        both > 0,
        graded(share, 0.01, 0.1),
        f"{both:,} of {counted(rows['test'], 'test row')} ({percent(share)}) equal a training row.",
        "No test row equals a training row.",
        "The model has seen their targets: the test score is too good by them.",
        "Remove duplicates from the table before the report, or keep rows that belong together in "
        "one part with --groups.",
    )
    without, read = rows["without_target"], max(rows["read"], 1)
    yield check(
        "P10",
        "rows without a target",
        without > 0,
        "warning" if without > 0.05 * read else "info",
        f"{without:,} of {counted(read, 'row')} ({percent(without / read)}) have no target and "
        "were left out.",
        "Every row has a target.",
        "If targets are missing for a reason, the rows that are left are a biased sample.",
        "Find out why the target is missing.",
    )
    yield from _classes(numbers)
    made = numbers["encoding"]["columns"]
    per = rows["training"] / max(made, 1)
    yield check(
        "P4",
        "rows per column",
        per < 10,
        "warning" if per < 3 else "info",
        f"{counted(rows['training'], 'training row')} for {counted(made, 'encoded column')}: "
        f"{per:.2g} for each.",
        f"{per:.0f} training rows for each of {counted(made, 'encoded column')}.",
        "With few rows to a column a model can fit chance.",
        "The penalty is chosen to prevent this; fewer columns or more rows help more.",
    )
    surprises = numbers["encoding"]["surprises"]
    yield check(
        "P5",
        "test rows unlike the training rows",
        bool(surprises),
        "info",
        " ".join(f"{one[:1].upper()}{one[1:]}." for one in surprises[:3]),
        "The test rows hold no level and no gap that the training rows lack.",
        "The model met something that it was not trained on, and a default took its place.",
        "See the encoding of these columns; train the model again when such rows become frequent.",
    )
    if numbers["target"]:
        skew = abs(numbers["target"].get("skewness") or 0.0)
        yield check(
            "P6",
            "skewed target",
            skew > 2.0,
            "info",
            f"The target has a skewness of {skew:.1f}.",
            f"The target is not far from symmetric (skewness {skew:.1f}).",
            "A few large values dominate the squared error.",
            "Consider its logarithm as the target, or read the mean absolute error.",
        )
    yield from _dependence(numbers)


def _classes(numbers: Numbers) -> Iterator[Finding]:
    rows, balance = numbers["rows"], numbers["balance"]
    rare = rows["rare_classes"]
    yield check(
        "P2",
        "classes too small to be judged",
        bool(rare),
        "warning",
        f"Left out because they have fewer than 8 rows: {listed([one['class'] for one in rare])}.",
        "Every class has enough rows to be judged.",
        "A handful of rows can neither train a class nor judge it.",
        "Gather more rows of them, or join them with a class they belong to.",
    )
    if not balance:
        return
    least = min(one["rows"] for one in balance)
    share = least / max(rows["used"], 1)
    # A tenth, but of many classes half of what each would have if all were equal.
    low = min(0.1, 0.5 / len(balance))
    read = (
        "Read the precision-recall curve and the rates of both classes, not the accuracy."
        if len(balance) == 2
        else "Read recall and precision of each class and the balanced accuracy, not the accuracy."
    )
    yield check(
        "P3",
        "imbalance",
        share < low,
        "warning" if least < 100 else "info",
        f"The rarest class has {counted(least, 'row')}, {percent(share)} of all.",
        f"The rarest class has {percent(share)} of the rows.",
        "Accuracy is then dominated by the other classes, and few rows decide about this one.",
        read,
    )


def _dependence(numbers: Numbers) -> Iterator[Finding]:
    """Rows that are not independent: groups, and time."""
    by = numbers["rows"]["split"]
    if by["groups"] is not None:
        count = by["test_groups"]
        alone = count == numbers["rows"]["test"]
        yield check(
            "P9",
            "groups in the test",
            True,
            "info" if count >= 40 and not alone else "warning",
            f"Every group of '{by['groups'][:40]}' has one row in the test: the rows were split at "
            "random, in effect."
            if alone
            else f"The {numbers['rows']['test']:,} test rows are {count} groups. The interval of "
            f"{numbers['headline']['name']} is that of groups (bootstrap); all others count rows "
            "as independent and are too narrow.",
            "",
            "Rows of one group are alike, and tell less than as many independent rows.",
            "Name the column that holds rows together."
            if alone
            else "Rely on the interval of the headline; more groups narrow it, more rows do not.",
        )
    grouped = [one for one in numbers["columns"] if one["repeats"]]
    named = grouped[0]["name"] if grouped else ""
    said = "; ".join(
        f"'{one['name'][:40]}' has {one['distinct']:,} values in {one['rows']:,} rows"
        for one in grouped[:3]
    )
    yield check(
        "P7",
        "groups of rows",
        bool(grouped) and by["groups"] is None,
        "warning",
        f"Columns that name groups of rows: {said}. The rows were split {by['words']}.",
        f"The rows were split {by['words']}."
        if by["groups"] is not None
        else "No column names groups of rows.",
        "If rows of one group are alike, some of them in training and others in the test make "
        "the score too good.",
        f"Keep groups together: --groups {_quoted(named)}.",
    )
    dates = [one["name"] for one in numbers["columns"] if one["kind"] == "date"]
    first = dates[0] if dates else ""
    yield check(
        "P8",
        "order in time",
        bool(dates) and by["time"] is None,
        "info",
        f"The rows have dates ({listed(dates, 3)}) and were split {by['words']}.",
        f"The rows were split {by['words']}."
        if by["time"] is not None
        else "No column holds dates.",
        "A model that will predict the future should be judged on rows later than its training "
        "rows.",
        f"If that is its use, split in time: --time {_quoted(first)}.",
    )


def _quoted(name: str) -> str:
    return f"'{name[:60]}'" if " " in name else name[:60]
