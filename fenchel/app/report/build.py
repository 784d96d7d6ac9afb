"""A table in; a report out: its numbers, its page, its model."""

from __future__ import annotations

import hashlib
import html
import json
import os
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from fenchel.app.atomic_file import atomic_file
from fenchel.app.errors import BadData, BadUsage
from fenchel.app.modelfile import save
from fenchel.app.predictions import answers_of
from fenchel.app.report.document import Numbers, study_numbers, study_seconds
from fenchel.app.report.figures import Figure, figure_of_time, figures
from fenchel.app.report.html.vega_bundle import begin
from fenchel.app.report.options import Options
from fenchel.app.report.structure.unsupervised import (
    LEAST_ROWS,
    look,
    row_table,
    unsupervised_figures,
    unsupervised_numbers,
)
from fenchel.app.report.study import Clock, study
from fenchel.app.report.verdict import verdict
from fenchel.app.table.encoding.encoder import Encoder
from fenchel.app.table.files.table_reader import TableSource
from fenchel.app.table.profile.reference import Reference
from fenchel.app.table.task import Task, find_task
from fenchel.data.blocks import one_thread
from fenchel.show.binary.threshold_data import operating_points

__all__ = ["Options", "Report", "build"]


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """What was found out about a table.

    Attributes
    ----------
    numbers : every number, ready for JSON; "clock" holds what differs from run to run
    figures, moving : Vega-Lite specs with their titles, by name; the latter differ by run
    model, encoder : the chosen model and what makes its rows; without a target the clusters, None
        where the columns cannot be looked at
    task : what the table was asked
    rows : without a target, the clusters and places of every row; None with one
    reference : the distribution of the training rows, which the model file keeps
    """

    numbers: Numbers
    figures: dict[str, Figure] = field(repr=False)
    moving: dict[str, Figure] = field(repr=False)
    model: Any
    encoder: Encoder | None
    task: Task
    rows: pl.DataFrame | None = field(default=None, repr=False)
    reference: list[dict[str, Any]] = field(default_factory=list, repr=False)

    def verdict(self) -> list[str]:
        """The report in a few lines."""
        return verdict(self.numbers)

    def html(self) -> str:
        """The page: one file that needs nothing else."""
        from fenchel.app.report.page import page

        return page(self.numbers, self.figures, self.moving)

    def json(self) -> str:
        """Every number; what differs from run to run is on the last line."""
        steady = {key: value for key, value in self.numbers.items() if key != "clock"}
        text = json.dumps(steady, indent=1, ensure_ascii=False, allow_nan=False)
        clock = json.dumps(self.numbers["clock"], ensure_ascii=False, allow_nan=False)
        return f'{text[:-2]},\n "clock": {clock}\n}}\n'

    def save(self, place: str | os.PathLike[str]) -> list[Path]:
        """Write page, model and numbers: see `write`."""
        return self.write(place)

    def __repr__(self) -> str:
        return "\n".join(["<fenchel report>", *self.verdict()])

    def _repr_html_(self) -> str:
        """The page inside a notebook, in a frame that can reach nothing around it."""
        page = html.escape(self.html(), quote=True)
        return (
            '<iframe title="fenchel report" sandbox="allow-scripts" width="100%" height="900" '
            f'style="border:0" srcdoc="{page}"></iframe>'
        )

    def write(self, place: str | os.PathLike[str]) -> list[Path]:
        """Write page, model or rows, and numbers into a folder, or under the name of an HTML file.

        Each file appears when it is whole, the page last. Returns the paths, the page first.
        """
        folder, stem = Path(place), None
        if folder.suffix.lower() in (".html", ".htm"):
            folder, stem = folder.parent, folder.stem
        try:
            folder.mkdir(parents=True, exist_ok=True)
            return self._written(folder, stem)
        except OSError as error:
            where = error.filename or folder
            raise BadData(f"cannot write {where}: {error.strerror or error}") from error

    def _written(self, folder: Path, stem: str | None) -> list[Path]:
        page = folder / f"{stem or 'report'}.html"
        data = folder / f"{stem or 'report'}.json"
        paths, whole = [page, data], self
        if self.model is not None:
            path = folder / f"{stem or 'model'}.fen"
            source, made = self.numbers["source"], self.numbers["reproduction"]
            data_of = {name: source[name] for name in ("name", "sha256", "rows")}
            # By these `certify` finds the rows of the fit again, and those kept apart.
            data_of |= {"seed": made["seed"]}
            if self.task.kind == "none":
                data_of |= {"test_share": 0.0, "sampled": self.numbers["shape"]["rows"]}
            else:
                data_of |= {key: made["options"][key] for key in ("test_share", "groups", "time")}
            extra = {"data": data_of, "reference": self.reference}
            save(self.model, path, encoder=self.encoder, task=self.task, extra=extra)
            sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
            clock = {**self.numbers["clock"], "model_file": {"name": path.name, "sha256": sha256}}
            whole = replace(self, numbers={**self.numbers, "clock": clock})
            paths.insert(1, path)
        if self.rows is not None:
            path = folder / f"{f'{stem}-' if stem else ''}rows.csv"
            with atomic_file(path) as file:
                self.rows.write_csv(file)
            paths.insert(1, path)
        for path, text in ((data, whole.json()), (page, whole.html())):
            with atomic_file(path) as file:
                file.write(text.encode())
        return paths


def build(source: TableSource, options: Options | None = None) -> Report:
    """Study a table.

    Parameters
    ----------
    source : Source
        Of `read_table` or `bundled`.
    options : Options
        What to predict, how to split, what errors cost.

    Returns
    -------
    Report

    Raises
    ------
    BadUsage
        For options that the table cannot take.
    BadData
        For a table that cannot be studied.
    """
    options = options or Options()
    options.check()
    began = time.perf_counter()
    clock = Clock(options)
    if options.target is not None and options.target in options.drop:
        raise BadUsage(f"'{options.target}' is both the target and left out: leave one out")
    seen = source.frame.drop(list(options.drop), strict=False)
    task = find_task(seen, options.target, options.kind, options.positive)
    if task.kind != "none" or source.frame.height >= LEAST_ROWS:
        begin()
    if task.kind == "none":
        shape = look(source, task, options, clock)
        with clock.part("gathering numbers"):
            numbers = unsupervised_numbers(source, task, options, shape)
        with clock.part("drawing figures"):
            drawn = unsupervised_figures(shape, numbers)
        with clock.part("placing every row"), one_thread():
            rows = row_table(source, shape)
        numbers["clock"] = _clock(clock, began)
        if shape.encoder is None:
            return Report(numbers, drawn, {}, None, None, task, rows)
        grouping = shape.clusterings[0]
        reference = Reference.of(shape.encoder, shape.frame, grouping.labels).to_list()
        model = grouping.model
        return Report(numbers, drawn, {}, model, shape.encoder, task, rows, reference)
    found = study(source, options, clock)
    points = None if found.curve is None else operating_points(found.curve, found.chosen)
    with clock.part("gathering numbers"):
        numbers = study_numbers(found, points)
    with clock.part("drawing figures"):
        drawn = figures(found, points, numbers)
        moving = figure_of_time(found)
    numbers["clock"] = {**_clock(clock, began), **study_seconds(found)}
    learners = found.parts.frame[found.parts.train]
    said = answers_of(found.model, found.X).single
    reference = Reference.of(found.encoder, learners, said).to_list()
    task = found.parts.task
    return Report(numbers, drawn, moving, found.model, found.encoder, task, reference=reference)


def _clock(clock: Clock, began: float) -> dict[str, Any]:
    """The date and the seconds of each part."""
    now = datetime.now(UTC).replace(microsecond=0)
    parts = {name: round(spent, 3) for name, spent in clock.seconds.items()}
    return {
        "date": now.isoformat(),
        "seconds": {**parts, "all": round(time.perf_counter() - began, 3)},
    }
