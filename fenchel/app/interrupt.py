"""Ctrl-C at the command line: it ends the command, wherever it strikes."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import Any

_struck = False


class Interrupted(BaseException):
    """Under this name, for a solver that is interrupted by KeyboardInterrupt hands out what it has,
    and the command would go on with it."""


def check() -> None:
    """Interrupted, if Ctrl-C struck where its exception was lost.

    Python drops what is raised inside a callback of another library. So every step of a command
    asks, and every file before it takes its place.
    """
    if _struck:
        raise Interrupted


@contextmanager
def interruptible() -> Iterator[None]:
    """Inside, Ctrl-C raises Interrupted; only where Python's own handler is in force."""
    global _struck
    usual, told = signal.getsignal(signal.SIGINT), sys.unraisablehook
    if usual is not signal.default_int_handler or current_thread() is not main_thread():
        yield
        return

    def stop(*_: object) -> None:
        global _struck
        _struck = True
        raise Interrupted

    def tell(lost: Any) -> None:
        if lost.exc_type is not Interrupted:
            told(lost)

    _struck = False
    signal.signal(signal.SIGINT, stop)
    sys.unraisablehook = tell
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        sys.unraisablehook = told
        _struck = False
