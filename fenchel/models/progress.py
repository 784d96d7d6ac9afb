"""A line in the terminal while a long fit closes its gap."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from fenchel.convex.certificate import Certificate

Show = Callable[[int, Any, Certificate], None]


def _quiet(step: int, point: Any, certificate: Certificate) -> None:
    pass


def _line(step: int, certificate: Certificate) -> str:
    proved = "estimated" if certificate.kind == "estimate" else "proved"
    gap = max(certificate.relative_gap, 1e-300)
    return f"step {step}: objective {certificate.value:.6g}, {proved} gap {gap:.1e}"


@contextmanager
def watch(verbose: int | bool, tol: float) -> Iterator[Show]:
    """A callback that shows the gap on its way down to tol; silent unless verbose."""
    if not verbose:
        yield _quiet
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    except ImportError:  # a line a step instead of a bar
        yield lambda step, point, certificate: print(_line(step, certificate), file=sys.stderr)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("fitting", total=1.0)

        def show(step: int, point: Any, certificate: Certificate) -> None:
            gap = max(certificate.relative_gap, 1e-300)
            done = math.log(min(gap, 1.0)) / math.log(max(min(tol, 0.1), 1e-300))
            text = _line(step, certificate)
            bar.update(task, completed=min(max(done, 0.0), 1.0), description=text)

        yield show
