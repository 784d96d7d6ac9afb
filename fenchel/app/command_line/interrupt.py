"""Ctrl-C at the command line: it ends the command, wherever it strikes."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import Any

_struck = False


def check() -> None:
    """KeyboardInterrupt, if Ctrl-C struck where its exception was lost.

    Python drops what is raised inside a callback of another library, and some libraries swallow
    it. So every step of a command asks, and every file before it takes its place.
    """
    if _struck:
        raise KeyboardInterrupt


@contextmanager
def interruptible() -> Iterator[None]:
    """Inside, Ctrl-C is remembered; only where Python's own handler is in force."""
    global _struck
    usual, told = signal.getsignal(signal.SIGINT), sys.unraisablehook
    if usual is not signal.default_int_handler or current_thread() is not main_thread():
        yield
        return

    def stop(*_: object) -> None:
        global _struck
        _struck = True
        raise KeyboardInterrupt

    def tell(lost: Any) -> None:
        if lost.exc_type is not KeyboardInterrupt:
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
