"""fenchel score: a model judged by a table that has the target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fenchel.app.terminal import say, say_json, stepper
from fenchel.app.verbs import options

if TYPE_CHECKING:
    from fenchel.app.metrics import Tally
    from fenchel.app.modelfile import ModelFile
    from fenchel.app.table.plan import Surprises


@click.command()
@options.model_file
@options.table
@options.level
@options.require
@options.as_json
@options.quiet
def command(
    model_file: str,
    table: str,
    level: float,
    require: tuple[str, ...],
    as_json: bool,
    quiet: bool,
) -> None:
    """Judge a model by TABLE, which holds the target: every number with its interval.

    The table is read in batches; of each row only its class and one or two numbers are kept. Rows
    without a target are left out and counted. Numbers are honest for rows that the model was not
    fitted to.

    \b
    Examples:
      fenchel score model.fen test.csv
      fenchel score model.fen test.parquet --require "auc.low>=0.9" --require "recall>=0.8"
    """
    from fenchel.app.bars import bar_entries, check_bars, parse_bars
    from fenchel.app.metrics import NAMES
    from fenchel.app.table.encode import Surprises
    from fenchel.app.verbs.predict import tell_notes
    from fenchel.app.verbs.told import (
        is_training_table,
        opened_model,
        say_metrics,
        task_entry,
        task_words,
    )

    known = dict.fromkeys(name for names in NAMES.values() for name in names)
    bars = parse_bars(require, known)
    held = opened_model(model_file)
    told: list[str] = []
    if is_training_table(held, table):
        told.append(f"the model was fitted to {table}: these numbers flatter it")
    surprises = Surprises()
    tally, left_out = gathered(held, table, told, surprises, stepper(quiet))
    judged = tally.metrics(level)
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
                "notes": told,
                "bars": bar_entries(bars, judged),
            }
        )
    else:
        say(f"{table}: {tally.rows} rows; {task_words(held.task)}")
        true = tally.column("true")
        assert true is not None
        say_metrics(held.task, judged, true)
    check_bars(bars, judged)


def gathered(
    held: ModelFile, table: str, told: list[str], surprises: Surprises, step: Any
) -> tuple[Tally, int]:
    """What is to be known of the rows of a table, and how many have no target."""
    from fenchel.app.answers import answers_of
    from fenchel.app.metrics import Tally
    from fenchel.app.training import of_table
    from fenchel.app.verbs.predict import needed_rows

    assert held.task is not None and held.encoder is not None
    step(f"judging by {table}")
    task, tally = held.task, Tally(held.task)
    seen = 0
    for batch in needed_rows(held, table, (task.target,), told):
        with of_table(table, seen + 1):
            rows = task.judged(batch)
        if rows.height:
            with of_table(table, seen + 1):
                y = task.codes(rows)
            tally.add(y, answers_of(held.model, held.encoder.transform(rows, surprises)))
        seen += batch.height
    told += surprises.sentences()
    left_out = seen - tally.rows
    if left_out:
        told.append(f"{left_out} of {seen} rows have no target '{task.target}' and are left out")
    return tally, left_out
