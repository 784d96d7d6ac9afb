"""A line in the terminal while a long fit closes its gap."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from fenchel.convex.certificate import Certificate
from fenchel.data.display.progress_bar import bar

Show = Callable[[int, Any, Certificate], None]


def _quiet(step: int, point: Any, certificate: Certificate) -> None:
    pass


@contextmanager
def watch(verbose: int | bool, tol: float) -> Iterator[Show]:
    """A callback that shows the gap on its way down to tol; silent unless verbose."""
    if not verbose:
        yield _quiet
        return
    with bar(True, "fitting") as advance:

        def show(step: int, point: Any, certificate: Certificate) -> None:
            proved = "estimated" if certificate.kind == "estimate" else "proved"
            gap = max(certificate.relative_gap, 1e-300)
            done = math.log(min(gap, 1.0)) / math.log(max(min(tol, 0.1), 1e-300))
            text = f"step {step}: objective {certificate.value:.6g}, {proved} gap {gap:.1e}"
            advance(done, text)

        yield show
