"""`fenchel.report`: the report of a dataframe or a file, from Python."""

from __future__ import annotations

import hashlib
import io
import os
import re
import sys
from collections.abc import Sequence
from typing import Any, Literal

import polars as pl

from fenchel.app.errors import BadData, BadUsage
from fenchel.app.prepare import asked_task
from fenchel.app.report.build import Options, Report, build
from fenchel.app.report.split import Grouping
from fenchel.app.table.files.frames import polars_frame
from fenchel.app.table.files.table_reader import TableSource, bundled, read_table
from fenchel.app.table.files.typed_files import plain_frame

_OPTION = re.compile(r"--([a-z]+(?:-[a-z]+)*)")


def report(
    table: Any = None,
    target: str | None = None,
    *,
    positive: Any = None,
    kind: Literal["classes", "number", "none"] | None = None,
    groups: str | None = None,
    time: str | None = None,
    test_share: float = 0.25,
    seed: int = 0,
    cost_fp: float = 1.0,
    cost_fn: float = 1.0,
    alpha: float = 0.05,
    delta: float = 0.05,
    level: float = 0.95,
    drop: Sequence[str] = (),
    text: Sequence[str] = (),
    as_is: bool = False,
    models: Sequence[str] | None = None,
    challenger: bool = True,
    clusters: bool = False,
    show_rows: bool = False,
    n_jobs: int | None = None,
    name: str | None = None,
    progress: bool = False,
) -> Report:
    """Study a table and report on it, as `fenchel report` does at the command line.

    Finds the task, profiles and encodes the columns, locks a test part away, compares models by
    nested cross-validation, fits the chosen one and judges it once, with every number's interval.
    Without a target: clusters and principal axes.

    Parameters
    ----------
    table : DataFrame (pandas, polars), pyarrow Table, dict of columns, or path
        None: the breast cancer data that come with scikit-learn.
    target : str, optional
        The column to predict; by default one with a usual name.
    positive : optional
        The positive of two classes; by default the one whose name says so, else the rarer.
    kind : {"classes", "number", "none"}, optional
        Overrules what the target looks like; "none" predicts nothing.
    groups, time : str, optional
        A column whose values hold rows together, or that orders them, in the split and the folds.
    test_share, seed
        Of the locked test rows.
    cost_fp, cost_fn : float
        Costs of a false alarm and of a miss.
    alpha, delta, level : float
        A false positive rate to guarantee, the probability to miss it, and the coverage of
        intervals.
    drop, text : sequence of str
        Columns to leave out, and columns to read as texts.
    as_is : bool
        Take every number as it stands: no codes of missing values, no clipping.
    models : sequence of str, optional
        The models to compare, such as "logistic", "svm", "ridge"; by default all of the task.
    challenger : bool
        Whether gradient-boosted trees are fitted as a yardstick.
    clusters : bool
        Whether the training rows of a table with a target are clustered too.
    show_rows : bool
        Whether the report may show rows of the table.
    n_jobs : int, optional
        Processes; by default as many as pay.
    name : str, optional
        What the table is called in the report.
    progress : bool
        Whether to say on standard error what is being done.

    Returns
    -------
    Report
        Shows itself in a notebook; `save(place)` writes the page, the model and the numbers;
        `numbers`, `model`, `figures`, `verdict()`.

    Raises
    ------
    ValueError
        For a table that cannot be studied, or arguments that it cannot take.

    Examples
    --------
    >>> import fenchel
    >>> found = fenchel.report(models=["logistic"], challenger=False)
    >>> print(found.verdict()[1])
    positive class: malignant (by its name; --positive chooses)
    >>> found.model.certificate_.relative_gap < 1e-6
    True
    """
    given = {key: value for key, value in locals().items() if key not in ("table", "target")}
    try:
        source = _source(table, name, text)
        asked: Any = "none" if kind == "none" else None
        if kind in ("classes", "number"):
            asked = asked_task(source.frame, target, kind).kind
        elif kind not in (None, "none"):
            raise BadUsage(f"kind must be 'classes', 'number' or 'none', got {kind!r}")
        options = Options(
            target=target,
            positive=None if positive is None else str(positive),
            by=Grouping(groups, time),
            kind=asked,
            test_share=test_share,
            seed=seed,
            cost_fp=cost_fp,
            cost_fn=cost_fn,
            alpha=alpha,
            delta=delta,
            level=level,
            drop=_names(drop),
            text=_names(text),
            as_is=as_is,
            models=None if models is None else _names(models),
            challenger=challenger,
            clusters=clusters,
            show_rows=show_rows,
            n_jobs=n_jobs,
            command=_call(target, given),
            progress=_say if progress else None,
        )
        return build(source, options)
    except (BadUsage, BadData) as error:
        raise ValueError(_OPTION.sub(_argument, str(error))) from None


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    """One name, or several."""
    return (given,) if isinstance(given, str) else tuple(given)


def _argument(found: re.Match[str]) -> str:
    """An option of the command line as the argument that it is here."""
    known = {"no-target": "kind='none'", "as": "kind"}
    return known.get(found[1], found[1].replace("-", "_"))


def _call(target: str | None, given: dict[str, Any]) -> str:
    """The call that makes the report again."""
    usual = report.__kwdefaults__ or {}
    said = [] if target is None else [f"target={target!r}"]
    said += [
        f"{key}={value!r}"
        for key, value in given.items()
        if key != "progress" and repr(value) != repr(usual.get(key))
    ]
    return f"fenchel.report({', '.join(['table', *said])})"


def _say(line: str) -> None:
    print(f"{line} …", file=sys.stderr, flush=True)


def _source(table: Any, name: str | None, text: Sequence[str]) -> TableSource:
    if table is None:
        return bundled()
    if isinstance(table, str | os.PathLike):
        return read_table(os.fspath(table), text=text)
    frame = polars_frame(table)
    if not frame.height or not frame.width:
        raise BadData(f"the table has {frame.height} rows and {frame.width} columns")
    frame = plain_frame(frame)
    kind = f"{type(table).__module__.partition('.')[0]} {type(table).__name__}"
    return TableSource(frame, name or "table", kind.removeprefix("builtins "), _fingerprint(frame))


def _fingerprint(frame: pl.DataFrame) -> str:
    """SHA-256 of the table's cells and names."""
    held = io.BytesIO()
    frame.write_ipc(held)
    return hashlib.sha256(held.getvalue()).hexdigest()
