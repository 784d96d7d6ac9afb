"""fenchel score: a model judged by a table that has the target."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fenchel.app.command_line import options
from fenchel.app.command_line.terminal import say, say_json, stepper

if TYPE_CHECKING:
    from fenchel.app.metrics import Tally
    from fenchel.app.modelfile import ModelFile
    from fenchel.app.table.encoding.column_plan import Surprises
    from fenchel.app.table.files.table_reader import TableReader
    from fenchel.app.table.profile.reference import Reference
    from fenchel.app.table.text.reading_options import Reading


@click.command()
@options.model_file
@options.table
@options.level
@options.require
@options.reading
@options.as_json
@options.quiet
def command(
    model_file: str,
    table: str,
    level: float,
    require: tuple[str, ...],
    reading: Reading,
    as_json: bool,
    quiet: bool,
) -> None:
    """Judge a model by TABLE, which holds the target: every number with its interval.

    The table is read in batches; of each row only its class and one or two numbers are kept. Rows
    without a target are left out and counted. Numbers are honest for rows that the model was not
    fitted to. Columns whose distribution has moved since training are named, with their population
    stability index.

    \b
    Examples:
      fenchel score model.fen test.csv
      fenchel score model.fen test.parquet --require "auc.low>=0.9" --require "recall>=0.8"
    """
    from fenchel.app.command_line.requirements import bar_entries, check_bars, parse_bars
    from fenchel.app.command_line.shared_output import (
        is_training_table,
        opened_model,
        say_metrics,
        task_entry,
        task_words,
    )
    from fenchel.app.commands.predict import opened_rows, tell_notes
    from fenchel.app.errors import BadUsage
    from fenchel.app.metrics import NAMES
    from fenchel.app.table.encoding.encoder import Surprises
    from fenchel.app.table.profile.reference import drift_sentences

    known = dict.fromkeys(name for names in NAMES.values() for name in names)
    bars = parse_bars(require, known)
    held = opened_model(model_file)
    if held.task.target is None:
        raise BadUsage(
            f"{model_file} holds clusters, which predict no target: 'fenchel predict' gives the "
            "cluster of each row, 'fenchel certify' their proof"
        )
    told: list[str] = []
    if is_training_table(held, table):
        told.append(f"the model was fitted to {table}: these numbers flatter it")
    surprises = Surprises()
    reference = reference_of(held)
    stepper(quiet)(f"judging by {table}")
    with opened_rows(held, table, reading) as rows:
        tally, left_out = gathered(held, rows, told, surprises, reference)
    judged = tally.metrics(level)
    drift = [] if reference is None else reference.drift()
    tell_notes(told, surprises, quiet)
    if as_json:
        say_json(
            {
                "verb": "score",
                "model": {"file": model_file, "sha256": held.sha256},
                "table": table,
                "task": task_entry(held.task),
                "rows": tally.rows,
                "rows_without_target": left_out,
                "metrics": judged,
                "drift": [
                    {"column": name, "psi": one.value, "p_value": one.p_value}
                    for name, one in drift
                ],
                "notes": told,
                "problems": list(rows.problems),
                "bars": bar_entries(bars, judged),
            }
        )
    else:
        say(f"{table}: {tally.rows} rows; {task_words(held.task)}")
        true = tally.column("true")
        assert true is not None
        say_metrics(held.task, judged, true)
        for line in drift_sentences(drift):
            say(line)
    check_bars(bars, judged)


def reference_of(held: ModelFile) -> Reference | None:
    """The distribution of the training rows, where the model file keeps it."""
    from fenchel.app.errors import ModelFileError
    from fenchel.app.table.profile.reference import Reference

    kept = (held.manifest.get("extra") or {}).get("reference")
    if not kept or held.encoder is None:
        return None
    try:
        return Reference.from_list(kept, held.encoder)
    except ValueError as error:
        raise ModelFileError(f"the model file cannot be used: {error}") from None


def gathered(
    held: ModelFile,
    rows: TableReader,
    told: list[str],
    surprises: Surprises,
    reference: Reference | None = None,
) -> tuple[Tally, int]:
    """What is to be known of the rows of a table, and how many have no target.

    The rows are counted into `reference`, where there is one.
    """
    from fenchel.app.commands.predict import needed_rows
    from fenchel.app.metrics import Tally
    from fenchel.app.predictions import answers_of
    from fenchel.app.prepare import of_table

    assert held.task is not None and held.encoder is not None
    task, tally = held.task, Tally(held.task)
    seen = 0
    for batch in needed_rows(held, rows, (task.target,), told):
        with of_table(rows.name, seen + 1):
            judged = task.judged(batch)
        if judged.height:
            with of_table(rows.name, seen + 1):
                y = task.codes(judged)
            answers = answers_of(held.model, held.encoder.transform(judged, surprises))
            tally.add(y, answers)
            if reference is not None:
                reference.add(held.encoder, judged, answers.single)
        seen += batch.height
    told += surprises.sentences()
    left_out = seen - tally.rows
    if left_out:
        told.append(f"{left_out} of {seen} rows have no target '{task.target}' and are left out")
    return tally, left_out
