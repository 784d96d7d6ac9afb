"""Figures of two classes and a threshold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from show.inputs import (
    BAND,
    CURVE,
    EVIL,
    LONG,
    MANY,
    MANY_BAND,
    MANY_SCORE,
    MANY_Y,
    PROBA,
    WORSE,
    Y,
)

from fenchel import show

CASES: dict[str, Callable[..., Any]] = {
    "roc": lambda **w: show.roc(CURVE, band=BAND, threshold=0.3, **w),
    "roc of many rows": lambda **w: show.roc(
        MANY,
        band=MANY_BAND,
        threshold=1.5,
        costs=(1.0, 7.0),
        **w,
    ),
    "roc with a title": lambda **w: show.roc(CURVE, title=EVIL, **w),
    "precision_recall": lambda **w: show.precision_recall(CURVE, threshold=0.3, **w),
    "precision_recall of many rows": lambda **w: show.precision_recall(
        MANY, threshold=1.5, precision=0.4, **w
    ),
    "score_histogram": lambda **w: show.score_histogram(
        CURVE, labels=[EVIL, WORSE], threshold=0.3, **w
    ),
    "score_histogram of many rows": lambda **w: show.score_histogram(MANY, threshold=9.0, **w),
    "confusion": lambda **w: show.confusion(CURVE, [EVIL, WORSE], threshold=0.3, **w),
    "confusion of counts": lambda **w: show.confusion([[50, 3], [0, 0]], [EVIL, WORSE], **w),
    "confusion of many classes": lambda **w: show.confusion(
        np.full((70, 70), 7.0), [f"{EVIL} {i}" for i in range(70)], **w
    ),
    "confusion of labels": lambda **w: show.confusion(
        [EVIL, WORSE, WORSE, LONG], [EVIL, EVIL, WORSE, LONG], **w
    ),
    "det": lambda **w: show.det(CURVE, threshold=0.3, **w),
    "det of many rows": lambda **w: show.det(MANY_Y, MANY_SCORE, **w),
    "gains": lambda **w: show.gains(CURVE, threshold=0.3, **w),
    "lift": lambda **w: show.lift(CURVE, threshold=0.3, **w),
    "lift of many rows": lambda **w: show.lift(MANY, **w),
    "calibration": lambda **w: show.calibration(Y, PROBA, **w),
    "calibration that is off": lambda **w: show.calibration(
        np.where(MANY_Y == 1, EVIL, WORSE),
        1.0 / (1.0 + np.exp(-MANY_SCORE)),
        simultaneous=False,
        **w,
    ),
    "net_benefit": lambda **w: show.net_benefit(Y, PROBA, threshold=0.3, **w),
}
