"""What a table asks for: two classes, several, a number, or nothing in particular."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from difflib import get_close_matches
from typing import Any, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fenchel.app.fault import BadData, BadUsage
from fenchel.app.table.cells import cells, labels_of, numbers

Kind = Literal["two classes", "several classes", "number", "none"]
USUAL = (
    *("target", "y", "label", "class", "outcome", "diagnosis", "response", "labels", "classes"),
    *("species", "survived", "churn", "default"),
)
_POSITIVE = frozenset(
    ("1", "true", "yes", "y", "t", "positive", "pos", "+", "present", "case", "event", "malignant")
)
_MOST_CLASSES = 100
_MOST_WHOLE = 20  # distinct whole numbers that are still classes
_LARGEST = 1e100
_LEAST_WHOLE = 5  # rows that each of them needs


@dataclass(frozen=True)
class Task:
    """The question a table is asked.

    Of two classes the positive one, which stands last, is the one with a conventional name (1,
    true, yes, positive, case, malignant, …) if just one has, else the rarer.
    """

    kind: Kind
    target: str | None = None
    classes: tuple[str, ...] = ()
    reason: str = ""
    dropped: int = 0  # rows without a target
    notes: tuple[str, ...] = ()

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
        if not isinstance(given, dict) or set(given) != {part.name for part in fields(cls)}:
            raise ValueError("a task has the entries kind, target, classes, reason, dropped, notes")
        kind, target, reason = given["kind"], given["target"], given["reason"]
        lists = {name: given[name] for name in ("classes", "notes")}
        for name, held in lists.items():
            if not isinstance(held, list) or not all(isinstance(text, str) for text in held):
                raise ValueError(f"the {name} of a task are a list of texts")
        classes = tuple(lists["classes"])
        if kind not in get_args(Kind) or not isinstance(reason, str):
            raise ValueError("a task is of two classes, several classes, a number or none")
        if type(given["dropped"]) is not int or given["dropped"] < 0:
            raise ValueError("the dropped rows of a task are counted")
        named = target is None if kind == "none" else isinstance(target, str)
        if not named:
            raise ValueError("the target of a task is the name of a column")
        right = {"two classes": len(classes) == 2, "several classes": len(classes) > 2}
        if not right.get(kind, not classes) or len(set(classes)) < len(classes):
            raise ValueError("the classes of a task do not fit its kind")
        return cls(kind, target, classes, reason, given["dropped"], tuple(lists["notes"]))


def find_task(frame: pl.DataFrame, target: str | None = None, kind: Kind | None = None) -> Task:
    """The task of a table; `kind` overrules what its target looks like.

    Without a target a column with a usual name (target, y, label, class, outcome, …) is taken, and
    if there is none the task is "none". Two distinct values are two classes. Three or more are
    classes if they are text (at most 100), truth values, or at most 20 whole numbers of at least 5
    rows each; other numbers are a number.
    """
    if kind == "none":
        return Task("none", reason="no target was asked for")
    if target is None:
        target, how = _usual(frame.columns)
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
    counted = dict(zip(counts.to_series(0).to_list(), counts["count"].to_list(), strict=True))
    if len(counted) == 1:
        rest = f" and {dropped} missing cells ('-' counts as missing)" if dropped else ""
        raise BadData(
            f"the target '{target}' holds nothing but '{next(iter(counted))}'{rest}: there is "
            "nothing to learn; choose another column"
        )
    found, why = _kind(target, held, counted) if kind is None else (kind, "that kind was asked for")
    _check_kind(target, found, held, counted)
    notes = [f"{_rows(dropped)} without a target left out"] if dropped else []
    reason = f"{how}; {why}"
    if found == "number":
        return Task("number", target, (), reason, dropped, tuple(notes))
    single = [label for label, count in counted.items() if count == 1]
    for label in single[:3]:
        notes.append(f"the class '{label}' has a single row: nothing can be said about it")
    return Task(found, target, _ordered(found, counted), reason, dropped, tuple(notes))


def _rows(count: int) -> str:
    return f"{count} row{'' if count == 1 else 's'}"


def near(name: str, known: Sequence[str]) -> str:
    """The remedy for the name of a column that is not there."""
    folded = {other.casefold(): other for other in reversed(known)}
    found = get_close_matches(name.casefold(), list(folded), 1, 0.6)
    if found:
        return f"did you mean '{folded[found[0]]}'?"
    more = f" and {len(known) - 5} more" if len(known) > 5 else ""
    return "it has " + ", ".join(f"'{other}'" for other in known[:5]) + more


def _usual(names: Sequence[str]) -> tuple[str | None, str]:
    folded: dict[str, str] = {}
    for name in names:
        folded.setdefault(name.strip().casefold(), name)
    for usual in USUAL:
        if usual in folded:
            return folded[usual], f"the column '{folded[usual]}' has a usual name of a target"
    return None, (
        "no column has a usual name of a target (target, y, label, class, outcome, …): name one "
        "with --target"
    )


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
        f"the target '{target}' holds {kind}, which is neither a number nor a class: choose "
        "another column"
    )


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


def _kind(target: str, held: pl.Series, counted: dict[str, int]) -> tuple[Kind, str]:
    if len(counted) == 2:
        return "two classes", "it holds two values"
    if held.dtype in (pl.String, pl.Boolean):
        return "several classes", f"it holds {len(counted)} texts"
    whole = bool((held == held.round(0)).all()) if held.dtype.is_float() else True
    few = len(counted) <= _MOST_WHOLE and min(counted.values()) >= _LEAST_WHOLE
    if whole and few:
        return "several classes", f"it holds only {len(counted)} whole numbers, each often"
    return "number", f"it holds {len(counted)} different numbers"


def _check_kind(target: str, kind: Kind, held: pl.Series, counted: dict[str, int]) -> None:
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
    elif len(counted) > _MOST_CLASSES:
        raise BadData(
            f"the target '{target}' holds {len(counted)} different values, more than "
            f"{_MOST_CLASSES}: these cannot be classes; choose another column"
        )
    elif (kind == "two classes") != (len(counted) == 2):
        raise BadUsage(f"the target '{target}' holds {len(counted)} values: it has not {kind}")


def _ordered(kind: Kind, counted: dict[str, int]) -> tuple[str, ...]:
    """Numbers by size and text by letters; of two classes the positive one last."""
    labels = sorted(counted, key=_sort_key)
    if kind == "two classes":
        usual = [label for label in labels if label.casefold() in _POSITIVE]
        if len(usual) == 1:
            positive = usual[0]
        else:
            positive = min(reversed(labels), key=lambda label: counted[label])
        labels.sort(key=lambda label: label == positive)
    return tuple(labels)


def _sort_key(label: str) -> tuple[bool, float, str]:
    try:
        return False, float(label), label
    except ValueError:
        return True, 0.0, label
