"""A bar in the terminal for work that takes a while; plain lines where rich is not installed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Advance = Callable[[float, str], None]


def _quiet(done: float, text: str) -> None:
    pass


def _printed(done: float, text: str) -> None:
    print(text, file=sys.stderr)


@contextmanager
def bar(shown: int | bool, text: str, total: float = 1.0) -> Iterator[Advance]:
    """A callback (done of total, text) that moves a bar on stderr; silent unless shown."""
    if not shown:
        yield _quiet
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    except ImportError:  # a line a step instead of a bar
        yield _printed
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as drawn:
        task = drawn.add_task(text, total=total)

        def advance(done: float, text: str) -> None:
            drawn.update(task, completed=min(max(done, 0.0), total), description=text)

        yield advance
