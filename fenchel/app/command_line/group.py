"""The verbs of the command line, each imported when it is called."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from fenchel import __version__

# In the order of use; each lives in fenchel/app/verbs under its name.
VERBS = {
    "report": "Study a table and write a report, a model file and every number.",
    "compare": "Compare the models of a table's task by nested cross-validation.",
    "fit": "Fit a model to a table, with a proof of its optimum.",
    "predict": "Predict the rows of a table of any size.",
    "score": "Judge a model by a table, every number with its interval.",
    "certify": "Prove anew how far a model is from its optimum, and bound its error.",
    "inspect": "Tell what a model file holds, without loading the model.",
    "completion": "Print the completion script of a shell.",
}


class PipeClosed(Exception):
    """Whoever read the output has gone; under this name, for click would exit with 1."""


class LazyGroup(click.Group):
    """Lists its verbs without importing them: help has to be there at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        command: Any = import_module(f"fenchel.app.commands.{cmd_name}").command
        return command if isinstance(command, click.Command) else None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise PipeClosed from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=True,
    subcommand_metavar="VERB [ARGUMENTS]",
)
@click.version_option(__version__, prog_name="fenchel", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of a failure.")
@click.pass_context
def commands(ctx: click.Context) -> None:
    """Statistical learning that proves its answers: from a table to a decision.

    Tables are CSV, TSV, Parquet, Arrow or .npy files, or - for standard input.

    \b
    Examples:
      fenchel report                          a report on bundled data
      fenchel report table.csv --target y     the same on your own
      fenchel fit table.csv --target y -o model.fen
      fenchel predict model.fen new.parquet -o answers.csv

    \b
    Exit codes: 0 fine, 1 a bar set by --require is not met, 2 usage, 3 bad data.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
