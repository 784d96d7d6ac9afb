"""fenchel completion: the script that teaches a shell to complete this command."""

from __future__ import annotations

import click


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script of SHELL.

    \b
    Examples:
      fenchel completion bash >> ~/.bashrc
      fenchel completion zsh >> ~/.zshrc
      fenchel completion fish > ~/.config/fish/completions/fenchel.fish
    """
    from click.shell_completion import ShellComplete, get_completion_class

    from fenchel.app.command_line.group import commands

    kind = get_completion_class(shell)
    assert kind is not None
    complete = kind(commands, {}, "fenchel", "_FENCHEL_COMPLETE")
    # Not its own source(), which runs the shell to ask for its version.
    click.echo(ShellComplete.source(complete))
