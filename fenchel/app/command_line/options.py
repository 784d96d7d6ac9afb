"""Options that several verbs share, written once so that they read alike."""

from __future__ import annotations

import csv
from collections.abc import Callable
from functools import wraps
from typing import Any

import click
from click.shell_completion import CompletionItem

from fenchel.app.table.text.reading_options import Reading, delimiter_of

Command = Callable[..., Any]


def listed_models() -> str:
    """The names of the models of each kind of task."""
    from fenchel.app.catalogue import MODELS, MORE

    kinds = {"classes": "two classes", "numbers": "number"}
    parts = [
        f"{', '.join(entry.name for entry in (*MODELS[kind], *MORE[kind]))} for {words}"
        for words, kind in kinds.items()
    ]
    return "; ".join(parts)


def _models(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of models, which the shell completes."""
    from fenchel.app.catalogue import MODELS, MORE

    entries = {e.name: e for part in (MODELS, MORE) for group in part.values() for e in group}
    return [
        CompletionItem(name, help=entry.words)
        for name, entry in entries.items()
        if name.startswith(incomplete)
    ]


def _known(ctx: click.Context, param: click.Parameter, value: float) -> float:
    if value != value:
        raise click.BadParameter("nan is not a number", ctx, param)
    return value


def share(*names: str, default: float, help: str, zero: bool = False) -> Command:
    """An option that lies between 0 and 1, both left out unless `zero` lets 0 in."""
    return click.option(
        *names,
        type=click.FloatRange(0.0, 1.0, min_open=not zero, max_open=True),
        callback=_known,
        metavar="SHARE",
        default=default,
        show_default=True,
        help=help,
    )


def model(*names: str, multiple: bool, help: str) -> Command:
    """An option that names a model."""
    return click.option(
        *names, multiple=multiple, metavar="NAME", shell_complete=_models, help=help
    )


_READING = (
    click.option(
        "--header/--no-header",
        default=None,
        help="Whether the first line holds the names of the columns. Left out: found by its cells.",
    ),
    click.option(
        "--names",
        "column_names",
        metavar="NAMES",
        help="Names of the columns, separated by commas. The first line is then a row, unless "
        "--header is given.",
    ),
    click.option(
        "--skip",
        type=click.IntRange(0),
        default=0,
        metavar="LINES",
        help="Lines to leave out before the header or the first row.",
    ),
    click.option(
        "--delimiter",
        metavar="CHARACTER",
        help="What separates columns: a character, or comma, semicolon, tab, bar or space. Left "
        "out: found.",
    ),
    click.option(
        "--quoting",
        type=click.Choice(["standard", "none"]),
        help="Whether cells may stand between quotes, or quotes are characters. Left out: found.",
    ),
    click.option(
        "--decimal",
        type=click.Choice(["point", "comma"]),
        help="The mark before decimals, where a number could be read in two ways.",
    ),
    click.option(
        "--skip-bad-lines",
        is_flag=True,
        help="Leave out lines with too many or too few fields, count them and name the first.",
    ),
)


def reading(command: Command) -> Command:
    """Options about how a text table is written, which come as one argument, `reading`."""

    @wraps(command)
    def with_reading(*args: Any, **given: Any) -> Any:
        header, names, mark = (given.pop(name) for name in ("header", "column_names", "delimiter"))
        marks = {"point": ".", "comma": ",", None: None}
        how = Reading(
            header=header,
            names=() if names is None else separated(names),
            skip=given.pop("skip"),
            delimiter=None if mark is None else delimiter_of(mark),
            quoting=given.pop("quoting"),
            bad_lines="skip" if given.pop("skip_bad_lines") else "error",
            decimal=marks[given.pop("decimal")],  # type: ignore[arg-type]
        )
        return command(*args, reading=how, **given)

    made: Command = with_reading
    for option in reversed(_READING):
        made = option(made)
    return made


def separated(text: str) -> tuple[str, ...]:
    """Names between commas; one with a comma in it stands between quotes."""
    return tuple(name.strip() for name in next(csv.reader([text], skipinitialspace=True), []))


def by(command: Command) -> Command:
    """Options about how rows are split, which come as one argument, `by`."""

    @wraps(command)
    def with_split(*args: Any, **given: Any) -> Any:
        from fenchel.app.report.split import Grouping

        return command(*args, by=Grouping(given.pop("groups"), given.pop("time")), **given)

    made: Command = click.option(
        "--time",
        metavar="NAME",
        help="A column of dates or numbers that orders the rows: the latest are the test rows.",
    )(with_split)
    return click.option(
        "--groups",
        metavar="NAME",
        help="A column whose values hold rows together, such as a patient: a group is either in "
        "training or in test.",
    )(made)


table = click.argument("table", metavar="TABLE")
model_file = click.argument("model_file", metavar="MODEL")
target = click.option(
    "--target",
    metavar="NAME",
    help="The column to predict. Left out: one with a usual name (target, y, label, class, …).",
)
kind = click.option(
    "--as",
    "kind",
    type=click.Choice(["classes", "number"]),
    help="Take the target for classes, or for a number, whatever it looks like.",
)
positive = click.option(
    "--positive",
    metavar="CLASS",
    help="The positive of two classes. Left out: the one whose name says so (1, yes, true, "
    "positive, bad, …), else the rarer.",
)
text = click.option(
    "--text",
    multiple=True,
    metavar="NAME",
    help="A column to read as text, by its words; may be repeated. Left out: columns of sentences.",
)
as_is = click.option(
    "--as-is",
    is_flag=True,
    help="Take every number as it stands: codes such as -999 are not treated as missing, and "
    "extreme cells are not clipped.",
)
drop = click.option(
    "--drop", multiple=True, metavar="NAME", help="A column to leave out; may be repeated."
)
seed = click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    metavar="NUMBER",
    default=0,
    show_default="0",
    help="What random choices start from.",
)
level = share("--level", default=0.95, help="Coverage of the intervals.")
delta = share("--delta", default=0.05, help="Probability with which a bound may be wrong.")
require = click.option(
    "--require",
    multiple=True,
    metavar="BAR",
    help='A bar such as "auc>=0.9" or "accuracy.low>=0.8"; exit code 1 if it is not met.',
)
as_json = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document on standard output."
)
quiet = click.option(
    "-q", "--quiet", is_flag=True, help="Tell no progress and no notes, only warnings."
)
