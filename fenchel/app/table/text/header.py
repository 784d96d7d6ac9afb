"""Whether the first line of a text table holds the names of its columns, and which names they get.

Every column votes by a log-likelihood ratio, log P(first cell | a name) - log P(first cell | a
value), from the cells below it: a number above numbers is a value, a word above numbers is a name,
a word that is frequent below is a value, and one that is new to a column of few levels is a name.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

from fenchel.app.table.text.cells import DATE_PATTERN, MARKERS
from fenchel.app.table.text.number_format import is_number

_PRIOR = 1.0  # log odds: most tables have a header
_SURE = 2.0  # log odds (7 to 1) above which nothing needs to be said about a header
_STRONG = 4.0  # log odds (55 to 1) of a type that fits, or does not: 2 % of first cells are strays
_NEARLY = 0.9  # share of the cells that makes the type of a column
_YEARS = (1800, 2100)
_YEAR_STEPS = frozenset((1.0, -1.0, 2.0, 4.0, 5.0, 10.0))
_MANY = 6  # numbers in arithmetic progression that are no accident in a row of values
_UNCLEAR = frozenset(("none", "missing", "unknown", "inf", "-inf", "*", ".", "n.a.", "n/k", "--"))
# Words that name columns and are rarely values.
_USUAL = frozenset(
    (
        *("id", "key", "index", "name", "names", "title", "label", "labels", "class", "target"),
        *("type", "kind", "category", "group", "code", "date", "day", "month", "year", "time"),
        *("timestamp", "text", "comment", "comments", "message", "review", "description", "note"),
        *("value", "values", "amount", "count", "number", "price", "cost", "total", "score"),
        *("rating", "rank", "status", "state", "country", "city", "region", "address", "street"),
        *("email", "phone", "age", "sex", "gender", "first", "last", "user", "customer"),
        *("product", "item", "question", "answer", "sentence", "word", "url", "link", "source"),
        *("file", "path", "size", "width", "height", "length", "weight", "language", "species"),
        *("outcome", "response", "diagnosis", "feature", "var", "variable", "x", "y", "z", "a"),
        *("b", "c", "d", "e", "datum", "kunde", "titel", "typ", "wert", "preis", "menge", "ort"),
        *("nom", "prix", "ville"),
    )
)


@dataclass(frozen=True)
class HeaderEvidence:
    """What the first line is taken for; `sure` if the cells leave little doubt."""

    header: bool
    sure: bool
    numbers: bool = False  # the names are numbers, unlike those below them
    doubtful: bool = False  # only the prior speaks for a header, the cells speak against it
    reason: str = ""  # the clearest sign that the first line is a row


def header_evidence(
    first: Sequence[str], rows: Sequence[Sequence[str]], known: Collection[str] = ()
) -> HeaderEvidence:
    """Whether `first` is a header of `rows`; `known` are names that the header may have."""
    cells = [cell.strip() for cell in first]
    hits = sum(cell in known for cell in cells if cell)
    if hits and 2 * hits >= min(len(known), len(cells)):
        return HeaderEvidence(True, True)
    below = [_present(rows, at) for at in range(len(cells))]
    numeric = [
        at
        for at, values in enumerate(below)
        if (values or not rows) and _share(values, is_number) >= _NEARLY and is_number(cells[at])
    ]
    counted = _numbers_as_names(cells, below, numeric, rows)
    score, signs = _PRIOR, []
    for at, (cell, values) in enumerate(zip(cells, below, strict=True)):
        if (
            cell in MARKERS
            or cell.casefold() in _UNCLEAR
            or (counted is not None and at in numeric)
        ):
            continue
        vote, sign = _vote(cell, values, is_only=not rows)
        score += vote
        signs += [(vote, sign)] if sign else []
    score += counted or 0.0
    named = Counter(cell for cell in cells if cell and not is_number(cell))
    again = sum(count - 1 for count in named.values())
    score -= min(1.5 * again, 3.0)
    if again and not signs:
        signs.append((-1.5, f"'{named.most_common(1)[0][0]}' stands in it more than once"))
    if known and not hits and all(re.fullmatch(r"column \d+", name) for name in known):
        score -= _SURE  # a table of the same origin had no header either
    # Small whole numbers, each of which is a value of its column as well.
    common = len(numeric) < _MANY and all(cells[at] in below[at] for at in numeric)
    reason = min(signs, key=lambda sign: sign[0], default=(0.0, ""))[1]
    return HeaderEvidence(
        header=score > 0.0,
        sure=abs(score) >= _SURE,
        numbers=counted is not None and score > 0.0,
        doubtful=score > 0.0 and (score < _PRIOR or (counted is not None and common)),
        reason=reason,
    )


def _present(rows: Sequence[Sequence[str]], at: int) -> list[str]:
    found = (row[at].strip() for row in rows if at < len(row))
    return [cell for cell in found if cell not in MARKERS]


def _share(values: Sequence[str], fits: Callable[[str], bool]) -> float:
    return sum(map(fits, values)) / len(values) if values else 1.0


def _is_date(text: str) -> bool:
    return re.match(DATE_PATTERN, text) is not None


def _vote(cell: str, values: list[str], is_only: bool) -> tuple[float, str]:
    """The log odds for a name, and in words why the cell looks like a value."""
    short = f"'{cell[:40]}'"
    if is_only:  # a single line: names are rarely numbers, and nothing else can be said
        return (-_STRONG, f"{short} is a number") if is_number(cell) else (0.0, "")
    if not values:
        return 0.0, ""
    for kind, fits in (("numbers", is_number), ("dates", _is_date)):
        if _share(values, fits) >= _NEARLY:
            if not fits(cell):
                return _STRONG, ""
            if kind == "numbers" and _is_year(cell) and _share(values, _is_year) < 0.5:
                return 0.0, ""
            return -_STRONG, f"{short} stands in a column of {kind}"
    levels = Counter(values)
    if cell in levels:
        often = 3.0 if levels[cell] > 1 else 2.0
        return -often, f"{short} is one of the values of its column"
    vote = -1.0 if is_number(cell) else 0.0
    # Good and Turing: the probability that one more value is a new one.
    once = sum(count == 1 for count in levels.values())
    new = (once + 1) / (len(values) + 1)
    vote += min(3.0, -math.log(new))
    if new > 0.3:
        vote += _likeness(cell, values)
    words = re.split(r"[\W_]+", cell.casefold())
    if len(words) <= 4 and any(word in _USUAL for word in words):
        vote += 2.0
    return vote, f"{short} looks like the values of its column" if vote < 0.0 else ""


def _likeness(cell: str, values: Sequence[str]) -> float:
    """Log odds from the kind of letters and the length, for columns of many different values."""
    mean = sum(map(len, values)) / len(values)
    if mean > 20.0:  # prose, which names are not
        is_prose = len(cell) > 40 or cell.count(" ") > 5 or cell.endswith((".", "!", "…"))
        return -1.5 if is_prose else 1.0
    shapes = Counter(map(_shape, values))
    shape, count = shapes.most_common(1)[0]
    if len(values) < 3 or count < 0.8 * len(values):
        return 0.0
    weight = 2.0 if "0" in shape else 0.7
    return -weight if _shape(cell) == shape else max(weight, 1.0)


def _shape(text: str) -> str:
    """The text with A for capitals, a for other letters, 0 for digits, each run once."""
    runs = re.sub(r"[^\W\d_]", lambda found: "A" if found[0].isupper() else "a", text)
    return re.sub(r"(.)\1+", r"\1", re.sub(r"\d", "0", runs))


def _is_year(text: str) -> bool:
    return bool(re.fullmatch(r"\d{4}", text)) and _YEARS[0] <= int(text) <= _YEARS[1]


def _numbers_as_names(
    cells: Sequence[str],
    below: Sequence[Sequence[str]],
    numeric: Sequence[int],
    rows: Sequence[Sequence[str]],
) -> float | None:
    """Log odds of names that are numbers: 0, 1, 2, …, years, an even scale, numbers far from the
    values; None if they are none of these.

    Values seldom stand in arithmetic progression across a row, and those of the second row do not.
    """
    values = _numbers([cells[at] for at in numeric])
    if values is None or len(values) < 2:
        return None
    steps = _steps(values)
    years = all(_is_year(cells[at]) for at in numeric)
    if years and len(set(values)) == len(values) and steps <= _YEAR_STEPS:
        return None if any(_share(below[at], _is_year) >= 0.5 for at in numeric) else 2.0
    far = sum(_is_far(value, below[at]) for value, at in zip(values, numeric, strict=True))
    if far >= max(3, 0.8 * len(values)):
        return 3.0
    if len(steps) != 1 or 0.0 in steps:
        return None
    next_row = rows[0] if rows else ()
    second = _numbers([next_row[at] if at < len(next_row) else "" for at in numeric])
    if second is not None and _steps(second) == steps:
        return None
    counting = steps == {1.0} and values[0] in (0.0, 1.0)
    if len(values) >= _MANY or (counting and len(values) >= 3):
        return 3.0
    points = [_share(below[at], lambda text: "." in text) for at in numeric]
    if counting and rows and min(points) >= _NEARLY and not any("." in cells[at] for at in numeric):
        return 3.0  # whole numbers above decimals
    return None


def _is_far(value: float, below: Sequence[str]) -> bool:
    """Whether a number lies farther from the values than three times their range."""
    others = _numbers(below)
    if others is None or len(others) < 5:
        return False
    low, high = min(others), max(others)
    return max(low - value, value - high) > 3.0 * (high - low) > 0.0


def _numbers(texts: Sequence[str]) -> list[float] | None:
    """All of the texts as plain numbers, or None."""
    try:
        found = [float(text) for text in texts]
    except ValueError:
        return None
    return found if all(map(math.isfinite, found)) else None


def _steps(values: Sequence[float]) -> set[float]:
    return {round(after - before, 6) for before, after in pairwise(values)}


def distinct_names(fields: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """The names with every one given and none twice, and notes on those that were changed."""
    notes: list[str] = []
    given = {field.strip() for field in fields}
    names: dict[str, None] = {}
    for at, field in enumerate(fields, 1):
        plain = field.strip()
        name = plain or f"column {at}"
        count = 1
        while name in names or (name != plain and name in given):
            count += 1
            name = f"{plain or f'column {at}'}_{count}"
        if not plain:
            notes.append(f"column {at} has no name: called '{name}'")
        elif name != plain:
            notes.append(f"duplicate column '{plain}' renamed '{name}'")
        names[name] = None
    return tuple(names), notes


def listed(names: Sequence[str], most: int = 3) -> str:
    """The first of some names, between quotes."""
    more = ", …" if len(names) > most else ""
    return ", ".join(f"'{name[:40]}'" for name in names[:most]) + more
