"""Figures of maps into few dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from show.inputs import EVIL, LONG, MANY_X, MANY_Z, WORSE, rng

from fenchel import show

CASES: dict[str, Callable[..., Any]] = {
    "scree": lambda **w: show.scree(np.linspace(1.0, 0.0, 100), **w),
    "scree of one column": lambda **w: show.scree([2.0], **w),
    "embedding": lambda **w: show.embedding(
        np.stack([1e9 + MANY_X, 1e-9 * MANY_Z], axis=1),
        rng.integers(9, size=20_000),
        labels=[EVIL, WORSE, LONG, *range(6)],
        names=[EVIL, LONG],
        **w,
    ),
    "embedding without groups": lambda **w: show.embedding([[0.0, 0.0]] * 3, **w),
}
