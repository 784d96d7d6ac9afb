"""Figures of columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from show.inputs import CORRELATION, EVIL, LONG, WORSE, rng

from fenchel import show

CASES: dict[str, Callable[..., Any]] = {
    "column_histograms": lambda **w: show.column_histograms(
        {EVIL: ([5, 3, 0], [EVIL, WORSE, LONG]), WORSE: ([1, 2], [0.0, 1e-9, 3.5])}
    ),
    "column_histograms of many": lambda **w: show.column_histograms(
        {f"{EVIL} {i}": (rng.integers(1, 10**6, 30), np.linspace(-1e5, 1e5, 31)) for i in range(99)}
    ),
    "class_histograms": lambda **w: show.class_histograms(
        {EVIL: [5, 3, 0, 9], WORSE: [0, 7, 7, 1]}, [0.0, 1.0, 2.0, 3.0, 4.0], column=LONG, **w
    ),
    "class_histograms of many classes": lambda **w: show.class_histograms(
        {f"{EVIL} {i}": rng.integers(0, 99, 300) for i in range(9)},
        np.geomspace(1e-9, 1e-3, 301),
        **w,
    ),
    "class_histograms of levels": lambda **w: show.class_histograms(
        {EVIL: np.arange(30), WORSE: np.ones(30)}, [f"{EVIL} {i}" for i in range(30)], **w
    ),
    "correlation_heatmap": lambda **w: show.correlation_heatmap(
        CORRELATION[:6, :6], [EVIL, WORSE, LONG, 3, 4, 5], **w
    ),
    "correlation_heatmap of many": lambda **w: show.correlation_heatmap(
        CORRELATION, [f"{EVIL} {i}" for i in range(60)], **w
    ),
    "correlation_heatmap of one": lambda **w: show.correlation_heatmap([[1.0]], **w),
    "drift": lambda **w: show.drift([EVIL, WORSE, LONG], [0.4, 0.01, 0.15], **w),
    "drift of many": lambda **w: show.drift(range(99), np.linspace(0.0, 3.0, 99), **w),
}
