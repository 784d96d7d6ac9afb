"""fenchel compare: which model of this library suits a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fenchel.app.command_line import options
from fenchel.app.command_line.terminal import estimate_words, note, say, say_json, say_rows, stepper

if TYPE_CHECKING:
    from fenchel.app.report.analysis.model_comparison import Contest
    from fenchel.app.report.split import Grouping
    from fenchel.app.table.text.reading_options import Reading

_NAMES = ("score", "above_baseline", "auc", "accuracy", "r2")


@click.command()
@options.table
@options.target
@options.model(
    "--model",
    "names",
    multiple=True,
    help="A model to compare; may be repeated. Left out: all that fit the task.",
)
@click.option(
    "--folds",
    type=click.IntRange(2, 100),
    help="Outer folds, each of which judges once. Left out: 5.",
)
@options.kind
@options.positive
@options.by
@options.drop
@options.text
@options.as_is
@options.seed
@options.level
@options.require
@options.reading
@options.as_json
@options.quiet
def command(
    table: str,
    target: str | None,
    names: tuple[str, ...],
    folds: int | None,
    kind: str | None,
    positive: str | None,
    by: Grouping,
    drop: tuple[str, ...],
    text: tuple[str, ...],
    as_is: bool,
    seed: int,
    level: float,
    require: tuple[str, ...],
    reading: Reading,
    as_json: bool,
    quiet: bool,
) -> None:
    """Compare models on TABLE by nested cross-validation, with a constant beside them.

    Each outer fold chooses the parameters of every model inside its training rows and judges them
    on rows that took no part. Scores are the AUC for two classes, the accuracy for more, R² for a
    number; the intervals and the differences to the best are corrected for folds that overlap.

    \b
    Examples:
      fenchel compare patients.csv --target diagnosis
      fenchel compare houses.csv --target price --model ridge --model lasso --require "r2>=0.6"
    """
    from dataclasses import replace

    from fenchel.app.catalogue import SCORING
    from fenchel.app.command_line.requirements import bar_entries, check_bars, parse_bars
    from fenchel.app.prepare import check_folds, prepare
    from fenchel.app.report.analysis.model_comparison import contest
    from fenchel.app.report.split import effort, sampled

    bars = parse_bars(require, _NAMES)
    step = stepper(quiet)
    data = prepare(
        table,
        target,
        kind=kind,
        positive=positive,
        by=by,
        drop=drop,
        text=text,
        as_is=as_is,
        seed=seed,
        least=True,
        reading=reading,
        step=step,
    )
    if not quiet:
        for line in data.notes:
            note(line)
    rows = sampled(data.task, data.y, seed)
    if len(rows) < len(data.y) and not quiet:
        note(f"models are compared on a sample of {len(rows)} of {len(data.y)} rows")
    X, y = data.X[rows], data.y[rows]
    work = effort(len(y), X.shape[1], len(data.task.classes), None)
    if folds is not None:
        work = replace(work, outer=check_folds(data.task, y, folds))
        if work.outer < folds and not quiet:
            note(f"{work.outer} outer folds, not {folds}: no class has rows for more")
    found = contest(data.task, X, y, names or None, work, seed, step, data.folder.of(rows))
    standings = _standings(found, level)
    best = standings[0]
    scoring = SCORING[data.task.kind]
    results = {
        "score": best["score"],
        scoring: best["score"],
        "above_baseline": best["above_baseline"],
    }
    if as_json:
        from fenchel.app.command_line.shared_output import task_entry

        baseline = found.baseline
        say_json(
            {
                "verb": "compare",
                "table": data.source.to_dict(),
                "task": task_entry(data.task),
                "rows": len(y),
                "scoring": scoring,
                "outer_folds": len(found.folds),
                "inner_folds": found.inner,
                "best": best["name"],
                "models": standings,
                "baseline": {
                    "name": found.constant.name,
                    "words": found.constant.words,
                    "score": baseline.mean(level=level),
                    "folds": baseline.test["score"],
                },
                "bars": bar_entries(bars, results),
            }
        )
    else:
        _say(data, found, standings, scoring, level)
    check_bars(bars, results)


def _standings(found: Contest, level: float) -> list[dict[str, Any]]:
    """The models, the best first."""
    from fenchel.score.selection.model_comparison import compare_models

    best = found.nested[found.best].outer
    rows: list[dict[str, Any]] = []
    for entry, nested in zip(found.entries, found.nested, strict=True):
        outer = nested.outer
        below = None if outer is best else compare_models(best, outer, level=level)
        above = compare_models(outer, found.baseline, level=level)
        rows.append(
            {
                "name": entry.name,
                "words": entry.words,
                "score": outer.mean(level=level),
                "below_best": None if below is None else below.difference,
                "p_value": None if below is None else below.p_value,
                "above_baseline": above.difference,
                "folds": outer.test["score"],
                "params": list(nested.params),
                "worst_gap": None if outer.worst is None else outer.worst[1].relative_gap,
                "fit_seconds": float(outer.fit_seconds.sum()),
            }
        )
    rows.sort(key=lambda row: -float(row["score"]))  # of equals the one listed first
    return rows


def _say(
    data: Any, found: Contest, standings: list[dict[str, Any]], scoring: str, level: float
) -> None:
    from fenchel.app.command_line.shared_output import task_words

    say(f"{data.source.name}: {len(data.y)} rows; {task_words(data.task)}")
    say(f"{len(found.folds)} outer folds, {found.inner} inner ones, the same for every model")
    baseline: dict[str, Any] = {"name": "baseline", "words": found.constant.words}
    baseline |= {"score": found.baseline.mean(level=level), "below_best": None, "worst_gap": None}
    rows = [_row(one) for one in standings]
    above: Any = standings[0]["above_baseline"]
    rows.append((*_row(baseline)[:3], *estimate_words(above)[:2], "", found.constant.words))
    head = ("model", scoring, f"{100 * level:g} % interval", "below best", "interval", "gap", "")
    say_rows(head, rows, (1, 3))
    say(f"best        {standings[0]['words']}", bold=True)
    value, between, method = estimate_words(standings[0]["score"])
    say(f"{scoring:<12}{value} {between} ({method})", bold=True)
    if not getattr(above, "low", float(above)) > 0.0:
        say(f"the best is not shown to be better than a constant at {100 * level:g} %", fg="red")
    near = [row["name"] for row in standings[1:] if _is_tie(row["below_best"])]
    if near:
        say(f"not told apart from it at {100 * level:g} %: {', '.join(near)}")


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    value, between, _ = estimate_words(one["score"])
    below, beside = ("", "") if one["below_best"] is None else estimate_words(one["below_best"])[:2]
    gap = "" if one["worst_gap"] is None else f"{one['worst_gap']:.1g}"
    return one["name"], value, between, below, beside, gap, one["words"]


def _is_tie(difference: Any) -> bool:
    return difference is not None and not difference.low > 0.0
