"""How a law is put to the test: the run, the verdict and its message.

`fenchel.testing` is the public door. A broken law raises an AssertionError that names the law, the
object that breaks it and the first point where.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from fenchel.data.arrays import to_numpy


def check_laws(subject: Any, laws: tuple[Callable[..., None], ...], *given: Any, seed: int) -> None:
    """Run every law on the subject with the same random numbers; a warning breaks a law too."""
    for law in laws:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            try:
                law(subject, *given, np.random.default_rng(seed))
            except RuntimeWarning as warning:
                require(subject, f"{law.__name__} without a warning", False, warning=warning)


def require(subject: Any, law: str, holds: Any, **point: Any) -> None:
    """Raise unless `holds` is true everywhere; the message shows the first row where it is not."""
    each = np.atleast_1d(np.asarray(holds, dtype=bool))
    rows = np.asarray(each.reshape(len(each), -1).all(axis=1))
    if rows.all():
        return
    i = int(np.argmin(rows))
    shown = {
        name: to_numpy(values)[i] if np.ndim(values) and len(values) == len(rows) else values
        for name, values in point.items()
    }
    where = ", ".join(f"{name} = {value}" for name, value in shown.items())
    raise AssertionError(f"{subject!r} breaks the law '{law}'" + (f" at {where}" if where else ""))
