"""How many of the trials are done, in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fenchel.data.display.progress_bar import bar


@contextmanager
def counted(shown: bool, what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A callback that takes how many are done; silent unless shown, and for no news."""
    with bar(shown, f"{what}: 0 of {total}", total) as advance:
        last = 0

        def show(done: int) -> None:
            nonlocal last
            if done > last:
                last = done
                advance(done, f"{what}: {done} of {total}")

        yield show
