"""From a file to the rows a model learns from: read, asked for its task, parted, encoded."""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.utils._param_validation import InvalidParameterError

from fenchel.app.command_line.terminal import problem
from fenchel.app.errors import BadData, BadUsage
from fenchel.app.report.split import AT_RANDOM, Folder, Grouping, all_rows, split_rows
from fenchel.app.suggest import nearest
from fenchel.app.table.encoding.encoder import Encoder
from fenchel.app.table.files.table_reader import Reading, TableSource, read_table
from fenchel.app.table.task import Task, find_task

_WORDS = {"True": True, "False": False, "None": None, "inf": math.inf}


@dataclass(frozen=True, eq=False)
class Training:
    """A table ready to learn from; `test` are rows kept apart, where a share was asked for."""

    source: TableSource
    task: Task
    train: pl.DataFrame
    test: pl.DataFrame | None
    encoder: Encoder
    X: Any  # an array, or CSR where there are texts
    y: NDArray[Any]
    folder: Folder  # draws folds of the rows of X

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found and changed on the way from the file to X and y."""
        return (*self.source.notes, *self.task.notes, *self.left_out, *self.altered)

    @property
    def left_out(self) -> tuple[str, ...]:
        """The columns that the encoder drops, and why."""
        plans = [plan for plan in self.encoder.plans if plan.kind == "dropped"]
        return tuple(f"column '{plan.name}' is left out: {plan.reason}" for plan in plans)

    @property
    def altered(self) -> tuple[str, ...]:
        """The columns of numbers that are not taken as they stand: codes, and cells far off."""
        lines = []
        for plan in self.encoder.plans:
            if plan.codes:
                listed = " and ".join(f"{code:.15g}" for code in plan.codes)
                how = "counts as missing" if len(plan.codes) == 1 else "count as missing"
                lines.append(f"in column '{plan.name}' {listed} {how}; --as-is takes every number")
            if plan.clip is not None:
                low, high = plan.clip
                lines.append(
                    f"column '{plan.name}' is clipped to {low:.6g} to {high:.6g}, since a few "
                    "cells dominate its scale; --as-is takes every number"
                )
        return tuple(lines)


def origin(
    source: TableSource, test_share: float, seed: int, by: Grouping = AT_RANDOM
) -> dict[str, Any]:
    """Where the rows of a model came from: `certify` finds them again by it."""
    return {
        "name": source.name,
        "sha256": source.sha256,
        "rows": source.frame.height,
        "test_share": float(test_share),
        "seed": int(seed),
        "groups": by.groups,
        "time": by.time,
    }


def asked_task(
    frame: pl.DataFrame, target: str | None, kind: str | None, positive: str | None = None
) -> Task:
    """The task of a table that has a target; kind: None, "classes" or "number"."""
    if kind == "classes":
        try:
            return find_task(frame, target, "two classes", positive)
        except BadUsage:
            if positive is not None:
                raise
            return find_task(frame, target, "several classes")
    task = find_task(frame, target, "number" if kind == "number" else None, positive)
    if task.target is None:
        raise BadUsage(task.reason)
    return task


def prepare(
    path: str,
    target: str | None,
    *,
    kind: str | None = None,
    positive: str | None = None,
    drop: Sequence[str] = (),
    test_share: float = 0.0,
    seed: int = 0,
    by: Grouping = AT_RANDOM,
    text: Sequence[str] = (),
    as_is: bool = False,
    least: bool = False,
    reading: Reading | None = None,
    step: Callable[[str], None],
) -> Training:
    """The rows of a file that have a target, encoded; `least` asks for enough of each class."""
    step(f"reading {path}")
    source = read_table(path, text=text, reading=reading)
    for line in source.problems:
        problem(line)
    with of_table(source.name):
        task = asked_task(_without(source.frame, drop, target), target, kind, positive)
        if test_share > 0.0 or least:
            parts = split_rows(source.frame, task, test_share or 0.25, seed, by)
        else:
            parts = all_rows(source.frame, task, by)
        if not test_share > 0.0:
            everything = np.arange(parts.frame.height)
            parts = replace(parts, train=everything, test=everything[:0])
        task, train = parts.task, parts.frame[parts.train]
        test = parts.frame[parts.test] if len(parts.test) else None
        step(f"encoding {source.frame.width} columns of {source.frame.height} rows")
        encoder = Encoder.fit(
            train,
            task,
            drop=parts.by.left_out(drop),
            text=text,
            as_is=as_is,
            formats=source.formats,
        )
        X, y = encoder.transform(train), task.codes(train)
    return Training(source, task, train, test, encoder, X, y, parts.folder())


def _without(frame: pl.DataFrame, drop: Sequence[str], target: str | None) -> pl.DataFrame:
    """The columns among which a target is looked for: none that is left out."""
    if target is not None and target in drop:
        raise BadUsage(f"'{target}' is both --target and --drop: leave one out")
    return frame.drop(list(drop), strict=False)


@contextmanager
def of_table(name: str, first: int = 1) -> Iterator[None]:
    """Names the table in what is said to be wrong with it; `first`: where its rows are counted."""
    try:
        yield
    except BadData as error:
        where = f" (counted from row {first} on)" if first > 1 else ""
        raise BadData(f"{name}: {error}{where}") from None


def parse_setting(text: str) -> tuple[str, Any]:
    """NAME=VALUE with the value in JSON, a word such as True, or plain text."""
    name, sign, value = text.partition("=")
    if not sign or not name.strip().isidentifier():
        raise BadUsage(f"--set {text!r} is not NAME=VALUE: write for example --set C=0.1")
    word = value.strip()
    if word in _WORDS:
        return name.strip(), _WORDS[word]
    try:
        return name.strip(), json.loads(word)
    except (ValueError, RecursionError):
        return name.strip(), word


def configured(model: Any, settings: Sequence[str], task: Task) -> Any:
    """The model with those parameters, each checked by the model's own rules."""
    known = model.get_params(deep=False)
    for text in settings:
        name, value = parse_setting(text)
        if name not in known:
            hint = nearest(name, sorted(known), "it has")
            raise BadUsage(f"{type(model).__name__} has no parameter {name!r}: {hint}")
        if name == "class_weight" and isinstance(value, dict):
            value = _by_code(value, task)
        model.set_params(**{name: value})
    try:
        model._validate_params()
    except InvalidParameterError as error:
        raise BadUsage(" ".join(str(error).split())) from None
    return model


def _by_code(weights: dict[str, Any], task: Task) -> dict[int, Any]:
    """Weights by the names of classes, as weights of their codes."""
    for name in weights:
        if name not in task.classes:
            listed = ", ".join(f"'{label}'" for label in task.classes[:5])
            raise BadUsage(f"class_weight names '{name}', which is not a class: there are {listed}")
    return {task.classes.index(name): weight for name, weight in weights.items()}


def fitted(model: Any, data: Training, settings: Sequence[str] = ()) -> Any:
    """The model fitted; what it finds wrong with the rows is BadData, with settings BadUsage.

    Warnings name the columns of the matrix as the encoder does.
    """
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with refused(model, settings, "be fitted"):
            model = model.fit(data.X, data.y)
    for one in told:
        if is_by_construction(str(one.message), data.encoder):
            continue
        warnings.warn(with_names(str(one.message), data.encoder.names), one.category, stacklevel=2)
    return model


@contextmanager
def refused(model: Any, settings: Sequence[str], what: str) -> Iterator[None]:
    """What a model finds wrong with the rows, as BadData; with settings, as BadUsage."""
    try:
        yield
    except InvalidParameterError as error:
        raise BadUsage(" ".join(str(error).split())) from None
    except (TypeError, ValueError) as error:
        first = str(error).strip().splitlines()[0].rstrip(".")
        name = type(model).__name__
        if settings:
            given = " ".join(f"--set {text}" for text in settings)
            raise BadUsage(f"{name} cannot {what} with {given}: {first}") from None
        raise BadData(f"{name} cannot {what}: {first}") from None


def is_by_construction(text: str, encoder: Encoder) -> bool:
    """Whether a warning tells no more than that the 0/1 columns of each category sum to one."""
    said = r"(?:the covariance within classes has )?rank (\d+) (?:of|in) (\d+) columns"
    found = re.match(said, text)
    return found is not None and int(found[2]) - int(found[1]) <= encoder.one_hot


def with_names(text: str, names: Sequence[str]) -> str:
    """What a model says of column 3, said of the column by its name."""

    def called(found: re.Match[str]) -> str:
        place = int(found[1])
        return f"'{names[place]}'" if place < len(names) else found[0]

    return re.sub(r"\bcolumn (\d+)\b", called, text)


def check_folds(task: Task, y: NDArray[Any], most: int) -> int:
    """The number of folds, fewer where a class has few rows; BadData where there can be none."""
    if task.kind == "number":
        least, named = len(y), "the table has"
    else:
        counts = np.bincount(y, minlength=len(task.classes))
        least = int(counts.min())
        named = f"the class '{task.classes[int(counts.argmin())]}' has"
    if least < 2:
        raise BadData(
            f"the target '{task.target}' cannot be cross-validated: {named} a single row; leave it "
            "out, or set the parameters by --set"
        )
    return min(most, least)
