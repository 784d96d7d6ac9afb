"""fenchel predict: rows stream in, predictions stream out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from fenchel.app.terminal import note, say, say_json, stepper, tell, warn
from fenchel.app.verbs import options

if TYPE_CHECKING:
    import polars as pl

    from fenchel.app.modelfile import ModelFile
    from fenchel.app.table.plan import Surprises


@click.command()
@options.model_file
@options.table
@click.option(
    "-o",
    "--out",
    default="-",
    metavar="FILE",
    help="The file to write, *.csv, *.tsv or *.parquet. Left out, or -: CSV on standard output.",
)
@click.option(
    "--keep",
    multiple=True,
    metavar="COLUMNS",
    help="Columns of TABLE to copy, separated by commas; may be repeated.",
)
@options.as_json
@options.quiet
def command(
    model_file: str, table: str, out: str, keep: tuple[str, ...], as_json: bool, quiet: bool
) -> None:
    """Predict every row of TABLE, a table of any size, in bounded memory.

    Columns are matched by name. Writes a column "prediction" and, for classes, one of the
    probability (or score) of each class. Rows keep their order.

    \b
    Examples:
      fenchel predict model.fen new.parquet -o answers.parquet
      fenchel predict model.fen new.csv --keep id,name -o answers.csv
      cat new.csv | fenchel predict model.fen - | head
    """
    from fenchel.app.answers import answers_of, prediction_columns, prediction_frame
    from fenchel.app.fault import BadUsage
    from fenchel.app.place import check_place
    from fenchel.app.table.encode import Surprises
    from fenchel.app.table.write import PredictionWriter
    from fenchel.app.verbs.told import opened_model

    if as_json and out == "-":
        raise BadUsage("--json and the predictions both go to standard output: name a file with -o")
    check_place(out, (table, model_file))
    held = opened_model(model_file)
    there = _columns_of(table)
    copied = tuple(dict.fromkeys(part for text in keep for part in _names(text, there)))
    made = prediction_columns(held.task, held.model)
    for name in copied:
        if name in made:
            raise BadUsage(f"--keep '{name}' is the name of a column of predictions: rename it")
    step = stepper(quiet)
    step(f"predicting {table}")
    surprises = Surprises()
    told: list[str] = []
    counted: Counter[str] = Counter()
    with PredictionWriter(out) as writer:
        for batch in needed_rows(held, table, copied, told):
            answers = answers_of(held.model, held.encoder.transform(batch, surprises))
            frame = prediction_frame(held.task, held.model, answers)
            if held.task.classes:
                counts = frame["prediction"].value_counts()
                counted.update(dict(counts.iter_rows()))
            writer.write(batch.select(copied).hstack(frame) if copied else frame)
    told += surprises.sentences()
    tell_notes(told, surprises, quiet)
    where = "standard output" if out == "-" else out
    if as_json:
        say_json(
            {
                "verb": "predict",
                "model": {"file": model_file, "sha256": held.sha256},
                "table": table,
                "file": out,
                "rows": writer.rows,
                "columns": [*copied, *made],
                "predicted": {name: counted[name] for name in held.task.classes} or None,
                "notes": told,
            }
        )
    elif out != "-":
        say(f"{writer.rows} predictions written to {where}")
    elif not quiet:
        tell(f"{writer.rows} predictions written to {where}", dim=True)


def tell_notes(told: list[str], surprises: Surprises, quiet: bool) -> None:
    """Notes on standard error; a column of which most cells cannot be used is a warning."""
    loud = surprises.sentences(loud=True)
    for line in told:
        if line in loud:
            warn(line)
        elif not quiet:
            note(line)


def _columns_of(table: str) -> list[str]:
    from pathlib import Path

    from fenchel.app.table.read import column_names

    return list(column_names(table)) if table != "-" and Path(table).is_file() else []


def _names(text: str, there: list[str]) -> list[str]:
    """A column of that name, or names between commas; one with a comma stands between quotes."""
    import csv

    if text in there:
        return [text]

    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]


def needed_rows(
    held: ModelFile, table: str, more: tuple[str, ...], told: list[str]
) -> Iterator[pl.DataFrame]:
    """The rows of a table with the columns that the model needs and `more`, in batches.

    A pipe is read once, so that its columns are looked at when they come.
    """
    from fenchel.app.fault import BadData
    from fenchel.app.table.read import batches
    from fenchel.app.table.task import near
    from fenchel.app.training import of_table

    assert held.encoder is not None
    wanted: list[str] | None = None
    name = "standard input" if table == "-" else table
    there = _columns_of(table)
    if there:
        with of_table(name):
            told += held.encoder.check(there)
        wanted = list(dict.fromkeys([*held.encoder.columns, *more]))
    for number, batch in enumerate(batches(table, wanted)):
        if wanted is None and number == 0:
            with of_table(name):
                told += held.encoder.check(batch.columns)
                for column in more:
                    if column not in batch.columns:
                        remedy = near(column, batch.columns)
                        raise BadData(f"the table has no column '{column}': {remedy}")
        yield batch
