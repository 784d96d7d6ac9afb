"""Where results go: looked at before the work begins, and never what is being read."""

from __future__ import annotations

import os
from collections.abc import Iterable

from fenchel.app.errors import BadUsage

_MODEL = b"PK", b"manifest.json"  # how a model file begins, and what its first part is called


def check_output(out: str, inputs: Iterable[str | None] = (), *, model: bool = False) -> None:
    """BadUsage where `out` cannot be written, or is one of the files that are read.

    `model`: whether a model file is to be written, which replaces no file of another kind.
    """
    if out == "-":
        return
    for given in inputs:
        if given is not None and _is_same(out, given):
            raise BadUsage(f"{out} is the file that is read: name another with -o")
    if os.path.isdir(out):
        raise BadUsage(f"cannot write {out}: it is a folder; name a file in it")
    check_folder(os.path.dirname(out) or ".", out)
    if model and os.path.isfile(out):
        try:
            with open(out, "rb") as file:
                start = file.read(64)
        except OSError as error:
            raise BadUsage(f"cannot look at {out}: {error.strerror}; name another") from None
        if start and not (start.startswith(_MODEL[0]) and _MODEL[1] in start):
            raise BadUsage(
                f"{out} exists and is not a model file: name another with -o, or remove it"
            )


def check_folder(folder: str, out: str, *, made: bool = False) -> None:
    """BadUsage where nothing can be put into a folder; `made`: whether it will be made."""
    if made and not os.path.exists(folder):
        above = os.path.dirname(os.path.abspath(folder))
        if above != folder:
            check_folder(above, out, made=True)
        return
    if not os.path.exists(folder):
        raise BadUsage(f"cannot write {out}: there is no folder {folder}; make it first")
    if not os.path.isdir(folder):
        raise BadUsage(f"cannot write {out}: {folder} is a file, not a folder; name another place")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise BadUsage(f"cannot write {out}: the folder {folder} may not be written to")


def _is_same(out: str, given: str) -> bool:
    try:
        return os.path.samefile(out, given)
    except OSError:
        return False
