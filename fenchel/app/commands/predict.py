"""fenchel predict: rows stream in, predictions stream out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from fenchel.app.command_line import options
from fenchel.app.command_line.terminal import note, problem, say, say_json, stepper, tell, warn

if TYPE_CHECKING:
    import polars as pl

    from fenchel.app.modelfile import ModelFile
    from fenchel.app.table.encoding.column_plan import Surprises
    from fenchel.app.table.files.table_reader import TableReader
    from fenchel.app.table.text.reading_options import Reading


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
@options.reading
@options.as_json
@options.quiet
def command(
    model_file: str,
    table: str,
    out: str,
    keep: tuple[str, ...],
    reading: Reading,
    as_json: bool,
    quiet: bool,
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
    from fenchel.app.command_line.shared_output import opened_model
    from fenchel.app.commands.score import reference_of
    from fenchel.app.errors import BadUsage
    from fenchel.app.output_paths import check_output
    from fenchel.app.predictions import answers_of, prediction_columns, prediction_frame
    from fenchel.app.table.encoding.encoder import Surprises
    from fenchel.app.table.files.write import PredictionWriter
    from fenchel.app.table.profile.reference import COMPARED, moved_sentences

    if as_json and out == "-":
        raise BadUsage("--json and the predictions both go to standard output: name a file with -o")
    check_output(out, (table, model_file))
    held = opened_model(model_file)
    made = prediction_columns(held.task, held.model)
    surprises = Surprises()
    reference = reference_of(held)
    told: list[str] = []
    counted: Counter[str] = Counter()
    stepper(quiet)(f"predicting {table}")
    with opened_rows(held, table, reading) as rows:
        copied = tuple(dict.fromkeys(part for text in keep for part in _names(text, rows.names)))
        for name in copied:
            if name in made:
                raise BadUsage(f"--keep '{name}' is the name of a column of predictions: rename it")
        with PredictionWriter(out) as writer:
            for batch in needed_rows(held, rows, copied, told):
                answers = answers_of(held.model, held.encoder.transform(batch, surprises))
                if reference is not None and writer.rows < COMPARED:
                    reference.add(held.encoder, batch, answers.single)
                frame = prediction_frame(held.task, held.model, answers)
                if held.task.classes:
                    counts = frame["prediction"].value_counts()
                    counted.update(dict(counts.iter_rows()))
                writer.write(batch.select(copied).hstack(frame) if copied else frame)
    told += surprises.sentences()
    tell_notes(told, surprises, quiet)
    moved = moved_sentences([] if reference is None else reference.drift())
    for line in moved:
        warn(line)
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
                "moved": list(moved),
                "problems": list(rows.problems),
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


def _names(text: str, there: Sequence[str]) -> tuple[str, ...]:
    """A column of that name, or names between commas; one with a comma stands between quotes."""
    return (text,) if text in there else options.separated(text)


@contextmanager
def opened_rows(held: ModelFile, table: str, reading: Reading) -> Iterator[TableReader]:
    """A table opened for a model, whose columns it must have; problems are reported."""
    from fenchel.app.table.files.table_reader import open_table
    from fenchel.app.table.text.number_format import PLAIN

    assert held.encoder is not None and held.task is not None
    expected, target = held.encoder.formats, held.task.target
    if held.task.kind == "number" and not expected.get(target):
        expected[target] = PLAIN
    with open_table(table, reading=reading, expected=expected, target=target) as rows:
        for line in rows.problems:
            problem(line)
        yield rows


def needed_rows(
    held: ModelFile, rows: TableReader, more: Sequence[str], told: list[str]
) -> Iterator[pl.DataFrame]:
    """The rows of a table with the columns that the model needs and `more`, in batches."""
    from fenchel.app.prepare import of_table

    assert held.encoder is not None
    with of_table(rows.name):
        told += held.encoder.check(rows.names)
    yield from rows.batches(list(dict.fromkeys([*held.encoder.columns, *more])))
    told += rows.notes
