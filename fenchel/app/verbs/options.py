"""Options that several verbs share, written once so that they read alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import CompletionItem

Command = Callable[..., Any]


def listed_models() -> str:
    """The names of the models of each kind of task."""
    from fenchel.app.models import MODELS, MORE

    kinds = {"classes": "two classes", "numbers": "number"}
    parts = [
        f"{', '.join(entry.name for entry in (*MODELS[kind], *MORE[kind]))} for {words}"
        for words, kind in kinds.items()
    ]
    return "; ".join(parts)


def _models(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of models, which the shell completes."""
    from fenchel.app.models import MODELS, MORE

    entries = {e.name: e for part in (MODELS, MORE) for group in part.values() for e in group}
    return [
        CompletionItem(name, help=entry.words)
        for name, entry in entries.items()
        if name.startswith(incomplete)
    ]


def _known(ctx: click.Context, param: click.Parameter, value: float) -> float:
    if value != value:
        raise click.BadParameter("nan is no number", ctx, param)
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
