"""What a table asks for: two classes, several, a number, or nothing in particular."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from difflib import get_close_matches
from typing import Any, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fenchel.app.errors import BadData, BadUsage
from fenchel.app.table.text.cells import cells, labels_of, numbers
from fenchel.data.display.counts import counted

Kind = Literal["two classes", "several classes", "number", "none"]
# Names that a column to predict goes by, the surest first; separators and case do not count.
USUAL = (
    *("target", "y", "label", "class", "outcome", "diagnosis", "response", "labels", "classes"),
    *("species", "survived", "churn", "churned", "default", "risk", "credit_risk", "fraud"),
    *("is_fraud", "isfraud", "spam", "is_spam", "attrition", "exited", "readmitted"),
    *("heart_disease", "loan_status", "default_payment_next_month", "default_payment"),
    *("target_class", "class_label", "median_house_value", "medv", "saleprice", "sale_price"),
)
# Names that speak for a target only where it is customary to put one: the last or first column.
USUAL_AT_THE_ENDS = (
    *("num", "quality", "price", "income", "salary", "status", "result", "rating", "grade"),
    *("sentiment", "category", "type", "cost", "group", "decision", "state"),
)
# Names of the class that is looked for: the case, the event, the loss.
_POSITIVE = frozenset(
    (
        *("true", "yes", "y", "t", "positive", "pos", "+", "present", "case", "event"),
        *("malignant", "bad", "spam", "fraud", "fraudulent", "default", "defaulted", "churn"),
        *("churned", "sick", "ill", "disease", "diseased", "died", "dead", "failure", "failed"),
        *("fail", "abnormal", "attack", "anomaly", "defect", "defective", "charged off"),
    )
)
_NEGATIVE_OF_ONE = frozenset(("0", "-1"))  # beside 1; of 1 and 2 neither name says anything
_MOST_CLASSES = 100
_MOST_WHOLE = 20  # distinct whole numbers that are still classes
_LARGEST = 1e100
_LEAST_WHOLE = 5  # rows that each of them needs


@dataclass(frozen=True)
class Task:
    """The question a table is asked.

    Of two classes the positive one, which stands last, is the one asked for; else the one with a
    name that says so (1 beside 0 or -1, true, yes, positive, case, bad, …) if just one has; else
    the rarer. `positive_by` says which of these it was.
    """

    kind: Kind
    target: str | None = None
    classes: tuple[str, ...] = ()
    reason: str = ""
    dropped: int = 0  # rows without a target
    notes: tuple[str, ...] = ()
    positive_by: str = ""

    @property
    def positive(self) -> str | None:
        """The positive of two classes."""
        return self.classes[-1] if self.kind == "two classes" else None

    def kept(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The rows that have a target."""
        if self.target is None:
            return frame
        values = _values(frame, self.target)
        there = (numbers(values) if self.kind == "number" else values).is_not_null()
        return frame if there.all() else frame.filter(there)

    def judged(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The rows that have a target, which must then be one of this task.

        A number to predict takes text for missing where it learns; to be judged by it, every cell
        that holds something must hold a number.
        """
        if self.target is None:
            return frame
        values = _values(frame, self.target)
        there = values.is_not_null()
        return frame if there.all() else frame.filter(there)

    def codes(self, frame: pl.DataFrame) -> NDArray[Any]:
        """The target: class codes 0 … K-1 (int64) in the order of `classes`, or float64.

        A missing target and a class that training did not have are BadData, which names the row.
        """
        if self.target is None:
            raise BadUsage("there is no target: name its column with --target")
        values = _values(frame, self.target)
        found = numbers(values) if self.kind == "number" else _codes(values, self.classes)
        bad = found.is_null().arg_true()
        if len(bad):
            row, held = int(bad[0]), values[int(bad[0])]
            if held is None:
                raise BadData(f"the target '{self.target}' is missing in row {row + 1}: drop it")
            known = ", ".join(f"'{label}'" for label in self.classes[:5])
            wanted = f"one of the classes {known}" if self.classes else "a number"
            raise BadData(
                f"the target '{self.target}' is {str(held)[:60]!r} in row {row + 1}, where "
                f"{wanted} is needed: correct or drop that row"
            )
        return found.to_numpy().astype(np.float64 if self.kind == "number" else np.int64)

    def to_dict(self) -> dict[str, Any]:
        """The task in plain values."""
        return {**asdict(self), "classes": list(self.classes), "notes": list(self.notes)}

    @classmethod
    def from_dict(cls, given: Any) -> Task:
        """The task of `to_dict`; ValueError for anything else."""
        known = {part.name for part in fields(cls)}
        if (
            not isinstance(given, dict)
            or known - set(given) - {"positive_by"}
            or set(given) - known
        ):
            raise ValueError(f"a task has the entries {', '.join(sorted(known))}")
        kind, target, reason = given["kind"], given["target"], given["reason"]
        lists = {name: given[name] for name in ("classes", "notes")}
        for name, held in lists.items():
            if not isinstance(held, list) or not all(isinstance(text, str) for text in held):
                raise ValueError(f"the {name} of a task are a list of texts")
        classes = tuple(lists["classes"])
        positive_by = given.get("positive_by", "")  # files of the first releases have none
        if kind not in get_args(Kind) or not all(isinstance(t, str) for t in (reason, positive_by)):
            raise ValueError("a task is of two classes, several classes, a number or none")
        if type(given["dropped"]) is not int or given["dropped"] < 0:
            raise ValueError("the dropped rows of a task are counted")
        named = target is None if kind == "none" else isinstance(target, str)
        if not named:
            raise ValueError("the target of a task is the name of a column")
        right = {"two classes": len(classes) == 2, "several classes": len(classes) > 2}
        if not right.get(kind, not classes) or len(set(classes)) < len(classes):
            raise ValueError("the classes of a task do not fit its kind")
        notes = tuple(lists["notes"])
        return cls(kind, target, classes, reason, given["dropped"], notes, positive_by)


def find_task(
    frame: pl.DataFrame,
    target: str | None = None,
    kind: Kind | None = None,
    positive: str | None = None,
) -> Task:
    """The task of a table; `kind` overrules what its target looks like.

    Without a target a column with a usual name (target, y, label, class, outcome, risk, …) is
    taken, and if there is none the task is "none". Two distinct values are two classes. Three or
    more are classes if they are text (at most 100), truth values, or at most 20 whole numbers of at
    least 5 rows each; other numbers are a number. `positive` names the positive of two classes.
    """
    if kind == "none":
        return Task("none", reason="no target was asked for")
    if target is None:
        target, how = _usual(frame)
        if target is None:
            return Task("none", reason=how)
    else:
        how = f"the target '{target}' was named"
        if target not in frame.columns:
            raise BadData(f"the table has no column '{target}': {near(target, frame.columns)}")
    values = _values(frame, target)
    dropped = values.null_count()
    if dropped == len(values):
        raise BadData(f"the target '{target}' is missing in every row: choose another column")
    held = values.drop_nulls()
    counts = labels_of(held).value_counts(sort=True)
    frequencies = dict(zip(counts.to_series(0).to_list(), counts["count"].to_list(), strict=True))
    if len(frequencies) == 1:
        rest = f" and {dropped} missing cells ('-' counts as missing)" if dropped else ""
        raise BadData(
            f"the target '{target}' holds nothing but '{next(iter(frequencies))}'{rest}: there is "
            "nothing to predict; choose another column"
        )
    found, why = (
        _kind(target, held, frequencies) if kind is None else (kind, "that kind was asked for")
    )
    _check_kind(target, found, held, frequencies)
    notes = [f"{counted(dropped, 'row')} without a target left out"] if dropped else []
    reason = f"{how}; {why}"
    if positive is not None and found != "two classes":
        raise BadUsage(
            f"--positive names one of two classes, and the target '{target}' holds {_what(found)}: "
            "leave it out"
        )
    if found == "number":
        return Task("number", target, (), reason, dropped, tuple(notes))
    single = [label for label, count in frequencies.items() if count == 1]
    for label in single[:3]:
        notes.append(f"the class '{label}' has a single row: nothing can be said about it")
    classes, positive_by = _ordered(found, frequencies, positive, target)
    return Task(found, target, classes, reason, dropped, tuple(notes), positive_by)


def _what(kind: Kind) -> str:
    return "numbers" if kind == "number" else kind


def near(name: str, known: Sequence[str]) -> str:
    """The remedy for the name of a column that is not there."""
    folded = {other.casefold(): other for other in reversed(known)}
    found = get_close_matches(name.casefold(), list(folded), 1, 0.65)
    if found:
        return f"did you mean '{folded[found[0]]}'?"
    more = f" and {len(known) - 5} more" if len(known) > 5 else ""
    return "it has " + ", ".join(f"'{other}'" for other in known[:5]) + more


def _usual(frame: pl.DataFrame) -> tuple[str | None, str]:
    """The column with a usual name of a target, and why it was taken or none was."""
    names = frame.columns
    folded: dict[str, str] = {}
    for name in names:
        folded.setdefault(_normal(name), name)
    ends = {_normal(name) for name in (names[-1:] + names[:1])}
    usual = (*USUAL, *(name for name in USUAL_AT_THE_ENDS if name in ends))
    found = [folded[name] for name in usual if name in folded]
    if found:
        varied = [name for name in found if not _is_one(frame[name])]
        name = (varied or found)[0]
        return name, f"the column '{name}' has a usual name of a target"
    return None, (
        "no column has a usual name of a target (target, y, label, class, outcome, …): name one "
        "with --target"
    )


def _is_one(column: pl.Series) -> bool:
    """Whether all cells that are not missing are equal."""
    held = column.drop_nulls()
    if not len(held) or held.dtype.is_nested():
        return not len(held)
    return bool((held == held[0]).all())


def _normal(name: str) -> str:
    return re.sub(r"[\s._-]+", "_", name.strip().casefold())


def target_candidates(frame: pl.DataFrame, most: int = 4) -> list[tuple[str, str]]:
    """Columns that look like something to predict, each with the reason, the likeliest first.

    The last column where it holds few values, then the first, then any with a name of
    `USUAL_AT_THE_ENDS` or of two values.
    """
    found: dict[str, tuple[int, str]] = {}
    last, first = frame.columns[-1], frame.columns[0]
    for name in frame.columns:
        values = frame[name].drop_nulls()
        if values.dtype.is_nested() or values.dtype in (pl.Object, pl.Binary, pl.Date, pl.Datetime):
            continue
        distinct = values.n_unique()
        if distinct < 2 or distinct > 0.5 * len(values):
            continue
        few = distinct <= (_MOST_WHOLE if values.dtype != pl.String else 10)
        place = {last: 0, first: 1}.get(name, 2) if few else 3
        usual = _normal(name) in USUAL_AT_THE_ENDS
        if place > 1 and distinct > 2 and not usual:
            continue
        words = {0: "the last column, ", 1: "the first column, "}.get(place, "")
        found[name] = place - 3 * usual, f"{words}{distinct} different values"
    ranked = sorted(found, key=lambda name: found[name][0])
    return [(name, found[name][1]) for name in ranked[:most]]


def _values(frame: pl.DataFrame, target: str) -> pl.Series:
    """The target as text, numbers or truth values, null where it is missing."""
    if target not in frame.columns:
        raise BadData(f"the table has no column '{target}': {near(target, frame.columns)}")
    values = frame[target]
    kind = values.dtype
    if kind in (pl.Categorical, pl.Enum):
        values = values.cast(pl.String)
    if values.dtype == pl.String:
        return cells(values)
    if kind.is_float() or kind.is_decimal():
        return numbers(values)
    if kind.is_integer() or kind in (pl.Boolean, pl.Null):
        return values
    raise BadData(
        f"the target '{target}' holds {_kind_words(kind)}, which are neither numbers nor classes: "
        "choose another column"
    )


def _kind_words(kind: Any) -> str:
    if kind in (pl.Date, pl.Datetime):
        return "dates"
    return "lists" if kind.is_nested() else f"values of type {kind}"


def _codes(values: pl.Series, classes: Sequence[str]) -> pl.Series:
    places = dict(zip(classes, range(len(classes)), strict=True))
    labels = labels_of(values)
    found = labels.replace_strict(places, default=None, return_dtype=pl.Int64)
    if values.dtype != pl.String or found.null_count() == values.null_count():
        return found
    # Text of another hand: 1.0 for 1, True for true.
    for other in (labels_of(numbers(labels)), labels.str.to_lowercase()):
        again = other.replace_strict(places, default=None, return_dtype=pl.Int64)
        found = found.zip_with(found.is_not_null(), again)
    return found


def _kind(target: str, held: pl.Series, frequencies: dict[str, int]) -> tuple[Kind, str]:
    if len(frequencies) == 2:
        return "two classes", "it holds two values"
    if held.dtype in (pl.String, pl.Boolean):
        return "several classes", f"it holds {len(frequencies)} texts"
    whole = bool((held == held.round(0)).all()) if held.dtype.is_float() else True
    few = len(frequencies) <= _MOST_WHOLE and min(frequencies.values()) >= _LEAST_WHOLE
    if whole and few:
        return "several classes", f"it holds only {len(frequencies)} whole numbers, each often"
    return "number", f"it holds {len(frequencies)} different numbers"


def _check_kind(target: str, kind: Kind, held: pl.Series, frequencies: dict[str, int]) -> None:
    if kind == "number":
        values = numbers(held)
        if values.null_count():
            row = int(values.is_null().arg_true()[0])
            raise BadData(
                f"the target '{target}' holds {held[row]!r}, which is no number: correct it, or "
                "choose another column"
            )
        most = max(abs(float(end)) for end in (values.min(), values.max()))  # type: ignore[arg-type]
        if most > _LARGEST:
            raise BadData(
                f"the target '{target}' holds {most:.3g}, whose squares no float can hold: divide "
                "the column by a constant"
            )
    elif len(frequencies) > _MOST_CLASSES:
        raise BadData(
            f"the target '{target}' holds {len(frequencies)} different values, more than "
            f"{_MOST_CLASSES}: these cannot be classes; choose another column"
        )
    elif (kind == "two classes") != (len(frequencies) == 2):
        raise BadUsage(f"the target '{target}' holds {len(frequencies)} values: it has not {kind}")


def _ordered(
    kind: Kind, frequencies: dict[str, int], asked: str | None, target: str
) -> tuple[tuple[str, ...], str]:
    """Numbers by size and text by letters; of two classes the positive one last, and why it is."""
    labels = sorted(frequencies, key=_sort_key)
    if kind != "two classes":
        return tuple(labels), ""
    if asked is not None:
        positive, why = _asked(asked, labels, target), "as --positive says"
    elif len(usual := [label for label in labels if _says_positive(label, labels)]) == 1:
        positive, why = usual[0], "by its name"
    else:
        positive = min(reversed(labels), key=lambda label: frequencies[label])
        equal = len(set(frequencies.values())) == 1
        why = "the last by name of two equally frequent" if equal else "the rarer of the two"
    return tuple(sorted(labels, key=lambda label: label == positive)), why


def _asked(asked: str, labels: Sequence[str], target: str) -> str:
    """The label that --positive names: exactly, as a number, or ignoring case."""
    plain = asked.strip()
    by_value = [one for one in labels if _sort_key(one)[:2] == _sort_key(plain)[:2] != (True, 0.0)]
    by_letters = [one for one in labels if one.casefold() == plain.casefold()]
    if plain in labels:
        return plain
    if len(found := by_value or by_letters) == 1:
        return found[0]
    listed = " and ".join(f"'{label}'" for label in labels)
    raise BadUsage(f"--positive '{asked}' is not a class of '{target}': it has {listed}")


def _says_positive(label: str, labels: Sequence[str]) -> bool:
    if label == "1":
        return any(other in _NEGATIVE_OF_ONE for other in labels)
    return label.casefold() in _POSITIVE


def _sort_key(label: str) -> tuple[bool, float, str]:
    try:
        return False, float(label), label
    except ValueError:
        return True, 0.0, label
