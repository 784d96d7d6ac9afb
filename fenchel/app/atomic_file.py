"""A file that appears when it is whole, or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from fenchel.app.command_line.interrupt import check


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Write beside `path`, then put what was written in its place in one step.

    If anything fails, or the process dies, whatever was at `path` before is still there as it was.
    A link keeps pointing where it did; a file that is replaced keeps its permissions.
    """
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    beside = os.path.join(folder, f".{name[:100]}.{secrets.token_hex(8)}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:  # around the opening too: an interrupt may strike when the file is there already
        with open(os.open(beside, flags, 0o666), "wb") as file:
            with suppress(FileNotFoundError):
                os.chmod(beside, stat.S_IMODE(os.stat(target).st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        check()
        os.replace(beside, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(beside)
        raise
    _settle(folder)


def _settle(folder: str) -> None:
    """The new name itself reaches the disk, where the system can be asked for that."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network disks refuse, and the file is whole all the same
            os.fsync(handle)
    finally:
        os.close(handle)
