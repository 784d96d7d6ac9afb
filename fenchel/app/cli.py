"""The command `fenchel`: whatever happens, an exit code and at most one sentence."""

from __future__ import annotations

import errno
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from fenchel.app.command_line.interrupt import check, interruptible

FINE, NOT_MET, USAGE, BAD_DATA, BROKEN = 0, 1, 2, 3, 70
INTERRUPTED, PIPE_CLOSED = 130, 141
_APP = ("click", "polars", "rich", "altair", "vl_convert")


def main() -> NoReturn:
    """The entry point: runs the command line and ends the process."""
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except OSError:  # Python would try once more while it ends, and complain
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def run(args: Sequence[str]) -> int:
    """The exit code of a command line: 0, 1 bar not met, 2 usage, 3 bad data, 70 unexpected."""
    given = list(args)
    options = given[: given.index("--")] if "--" in given else given
    debug = "--debug" in options  # anywhere: it is added to a command that failed
    if debug:
        given.remove("--debug")
    _open_streams()
    try:
        with interruptible():
            return _guarded(given, debug)
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit:
        raise
    except BaseException as error:  # a panic of polars is no Exception
        return _unexpected(error, debug)


def _open_streams() -> None:
    """Streams that take every name, also where a terminal cannot write it or there is none."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
        with suppress(AttributeError):
            getattr(sys, name).reconfigure(errors="backslashreplace")


def _guarded(args: list[str], debug: bool) -> int:
    try:
        import click
    except ModuleNotFoundError as error:
        return _not_installed(error)
    from fenchel.app.command_line.group import PipeClosed, commands
    from fenchel.app.command_line.requirements import BarNotMet
    from fenchel.app.command_line.terminal import tell
    from fenchel.app.errors import BadData, BadUsage

    def failed(sentence: object, code: int) -> int:
        if debug:
            traceback.print_exc()
        tell(f"fenchel: {sentence}", fg="red")
        return code

    with warnings.catch_warnings():
        _tell_warnings()
        try:
            found = commands.main(args, prog_name="fenchel", standalone_mode=False, obj=args)
            check()
            sys.stdout.flush()
            return found if isinstance(found, int) else FINE
        except click.exceptions.Exit as done:
            return done.exit_code
        except click.UsageError as error:
            where = error.ctx.command_path if error.ctx is not None else "fenchel"
            sentence = error.format_message().rstrip(".")
            see = f"see '{where} --help'"
            join = f" S{see[1:]}" if sentence.endswith("?") else f"; {see}"
            return failed(f"{sentence}{join}", USAGE)
        except click.ClickException as error:
            return failed(error.format_message(), USAGE)
        except (click.Abort, KeyboardInterrupt):
            return failed("interrupted", INTERRUPTED)
        except (BrokenPipeError, PipeClosed):
            return PIPE_CLOSED
        except BarNotMet as error:
            return failed(f"not met: {error}", NOT_MET)
        except BadUsage as error:
            return failed(error, USAGE)
        except BadData as error:
            return failed(error, BAD_DATA)
        except OSError as error:
            if error.filename is None and error.errno in (errno.ENOSPC, errno.EIO, errno.EBADF):
                return failed(f"cannot write the output: {error.strerror}", BAD_DATA)
            raise
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] in _APP:
                return _not_installed(error)
            raise


def _tell_warnings() -> None:
    """Warnings of the library are printed once each; those of other packages are not shown."""
    from fenchel.app.command_line.terminal import warn

    told: set[str] = set()

    def show(message: Warning | str, *rest: object, **more: object) -> None:
        text = " ".join(str(message).split())
        if text not in told:
            told.add(text)
            warn(text)

    warnings.simplefilter("ignore")
    warnings.simplefilter("always", UserWarning)
    warnings.showwarning = show


def _not_installed(error: ModuleNotFoundError) -> int:
    line = f'fenchel: the command line needs {error.name}: pip install "fenchel[app]"'
    print(line, file=sys.stderr)
    return USAGE


def _unexpected(error: BaseException, debug: bool) -> int:
    from fenchel.app.command_line.terminal import tell

    if debug:
        traceback.print_exception(error)
    first = (str(error).strip() or "no message").splitlines()[0]
    what = "out of memory" if isinstance(error, MemoryError) else type(error).__name__
    hint = "" if debug else "; run with --debug for the details"
    tell(f"fenchel: unexpected {what}: {first[:300]}{hint}", fg="red")
    return BROKEN
