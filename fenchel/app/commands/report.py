"""fenchel report: the main job, from a table to a decision with its proof."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fenchel.app.command_line import options
from fenchel.app.command_line.terminal import note, problem, say, say_json, stepper

if TYPE_CHECKING:
    from fenchel.app.report.build import Report
    from fenchel.app.report.split import Grouping
    from fenchel.app.table.files.table_reader import TableSource
    from fenchel.app.table.text.reading_options import Reading

_BOUNDS = ("gap", "error", "false_positive", "false_negative")


@click.command()
@click.argument("table", metavar="[TABLE]", required=False)
@options.target
@click.option("--no-target", is_flag=True, help="Predict nothing: look for clusters and axes.")
@options.positive
@options.by
@click.option(
    "--out",
    "-o",
    default="fenchel-report",
    show_default=True,
    metavar="PLACE",
    help="A folder, or the name of the HTML file; the model and the numbers go beside it.",
)
@options.share(
    "--test-share",
    default=0.25,
    help="Share of the rows that is locked away and looked at once, at the end.",
)
@options.seed
@click.option(
    "--cost-fp", type=float, default=1.0, show_default=True, help="Cost of a false alarm."
)
@click.option("--cost-fn", type=float, default=1.0, show_default=True, help="Cost of a miss.")
@options.share(
    "--alpha",
    default=0.05,
    help="False positive rate that the Neyman-Pearson threshold promises.",
)
@options.delta
@options.level
@options.drop
@options.text
@options.as_is
@options.model(
    "--model",
    "models",
    multiple=True,
    help="A model to compare; may be repeated. Left out: all that fit the task.",
)
@options.kind
@click.option(
    "--challenger/--no-challenger",
    default=True,
    help="Whether gradient-boosted trees are fitted beside the models, as a yardstick.",
)
@click.option(
    "--clusters",
    is_flag=True,
    help="With a target too: look for clusters of the training rows, and for classes in them.",
)
@click.option("--show-rows", is_flag=True, help="Let the report show rows of the table.")
@click.option("--open", "opens", is_flag=True, help="Open the report in a browser.")
@options.require
@options.reading
@options.as_json
@options.quiet
@click.pass_obj
def command(
    args: list[str] | None,
    table: str | None,
    target: str | None,
    no_target: bool,
    positive: str | None,
    by: Grouping,
    out: str,
    test_share: float,
    seed: int,
    cost_fp: float,
    cost_fn: float,
    alpha: float,
    delta: float,
    level: float,
    drop: tuple[str, ...],
    text: tuple[str, ...],
    as_is: bool,
    models: tuple[str, ...],
    kind: str | None,
    challenger: bool,
    clusters: bool,
    show_rows: bool,
    opens: bool,
    require: tuple[str, ...],
    reading: Reading,
    as_json: bool,
    quiet: bool,
) -> None:
    """Study TABLE and write one HTML file, the model and every number.

    Finds the task, profiles and encodes the columns, locks a test part away, compares the models
    that fit by nested cross-validation, fits the best and judges it once, beside a constant and
    beside gradient-boosted trees. Where no column is the target: clusters and principal axes, a
    model of the clusters, and the place of every row in a CSV file. Without TABLE: data about
    breast cancer that comes with scikit-learn.

    \b
    Examples:
      fenchel report
      fenchel report patients.csv --target diagnosis --positive ill --cost-fn 10
      fenchel report visits.csv --target outcome --groups patient
      fenchel report sales.parquet --target amount --out sales.html --open
      fenchel report patients.csv --require "auc.low>=0.9" --json > numbers.json
    """
    import shlex

    from fenchel.app.command_line.requirements import bar_entries, check_bars, parse_bars
    from fenchel.app.errors import BadUsage
    from fenchel.app.metrics import NAMES
    from fenchel.app.prepare import asked_task, of_table
    from fenchel.app.report.build import Options, build
    from fenchel.app.table.task import find_task

    names = [name for group in NAMES.values() for name in group]
    bars = parse_bars(require, tuple(dict.fromkeys((*names, *_BOUNDS))))
    _check_out(out, table)
    step = stepper(quiet)
    source = _source(table, reading, text, step)
    for line in source.problems:
        problem(line)
    if no_target and (target is not None or kind is not None):
        raise BadUsage("--no-target predicts nothing: leave out --target and --as")
    if bars and kind is None:
        seen = source.frame.drop(list(drop), strict=False)
        if no_target or find_task(seen, target).kind == "none":
            raise BadUsage(
                f"--require {require[0]!r} is a requirement on a model, and the table has no "
                "target: name its column by --target"
            )
    with of_table(source.name):
        found = None if kind is None else asked_task(source.frame, target, kind).kind
        found = "none" if no_target else found
        report = build(
            source,
            Options(
                target=target,
                positive=positive,
                by=by,
                kind=found,
                test_share=test_share,
                seed=seed,
                cost_fp=cost_fp,
                cost_fn=cost_fn,
                alpha=alpha,
                delta=delta,
                level=level,
                drop=drop,
                text=text,
                as_is=as_is,
                challenger=challenger,
                clusters=clusters,
                show_rows=show_rows,
                models=models or None,
                command=shlex.join(["fenchel", *(args or ["report"])]),
                progress=step,
            ),
        )
    step("writing")
    paths = [str(path) for path in report.write(out)]
    if as_json:
        reached = bar_entries(bars, _results(report))
        say_json({"verb": "report", "files": paths, "bars": reached, **report.numbers})
    else:
        if not quiet:
            for line in (*source.notes, *report.task.notes):
                note(line)
        first, *rest = report.verdict()
        say(first, bold=True)
        for line in rest:
            say(line)
        say(f"written: {', '.join(paths)}")
    if opens:
        _open(paths[0])
    check_bars(bars, _results(report))


def _check_out(out: str, table: str | None) -> None:
    """Where the files go is looked at before the work begins."""
    from pathlib import Path

    from fenchel.app.output_paths import check_folder, check_output

    page = Path(out)
    if page.suffix.lower() not in (".html", ".htm"):
        page = page / "report.html"
    check_folder(str(page.parent), out, made=True)
    if page.parent.exists():
        model = page.with_name("model.fen" if page.name == "report.html" else f"{page.stem}.fen")
        rows = page.with_name("rows.csv" if page.name == "report.html" else f"{page.stem}-rows.csv")
        for path in (page, page.with_suffix(".json"), model, rows):
            check_output(str(path), (table,), model=path == model)


def _source(table: str | None, reading: Reading, text: tuple[str, ...], step: Any) -> TableSource:
    from fenchel.app.table.files.table_reader import bundled, read_table

    if table is None:
        step("reading the bundled data")
        return bundled()
    step(f"reading {table}")
    return read_table(table, text=text, reading=reading)


def _results(report: Report) -> dict[str, Any]:
    """What bars may be set on: metrics of the test part, the gap, the bounds of the error."""
    from math import nan

    from fenchel.app.report.estimates import estimate_of

    numbers = report.numbers
    found: dict[str, Any] = {}
    for metric in numbers.get("metrics", ()):
        value = estimate_of(metric["model"])
        found[metric["key"]] = nan if value is None else value
    proof = numbers.get("certificate")
    if proof:
        gap = proof.get("relative_gap")
        found["gap"] = nan if gap is None else gap
    for name, entry in (numbers.get("risk") or {}).get("bounds", {}).items():
        found[name] = estimate_of(entry)
    return found


def _open(path: str) -> None:
    import webbrowser
    from pathlib import Path

    webbrowser.open(Path(path).resolve().as_uri())
