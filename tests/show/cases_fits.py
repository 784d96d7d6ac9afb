"""Figures of fits, folds and numbers to predict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from show.inputs import (
    EVIL,
    HISTORY,
    LEARNING,
    LONG,
    MANY_X,
    MANY_Z,
    MEAN,
    PATH,
    SIDE,
    STRENGTHS,
    TEST,
    VALIDATION,
    WALK,
    WORSE,
    H,
    X,
    Z,
    rng,
    tuned,
)

from fenchel import Certificate, Hinge, Logistic, convergence_profile, show

CASES: dict[str, Callable[..., Any]] = {
    "convergence": lambda **w: show.convergence(HISTORY, tol=1e-3, **w),
    "convergence in time": lambda **w: show.convergence(HISTORY, against="seconds", **w),
    "convergence at once": lambda **w: show.convergence([Certificate(3.0, 3.0)], **w),
    "convergence without a bound": lambda **w: show.convergence(
        [Certificate(3.0, -np.inf, "estimate"), Certificate(2.0, -np.inf, "estimate")], **w
    ),
    "leave_one_out_curve": lambda **w: show.leave_one_out_curve(
        np.arange(1, 8),
        1.0 - TEST.mean(1),
        standard_errors=np.full(7, 0.02),
        chosen=3,
        name=EVIL,
        error=LONG,
        share=True,
        **w,
    ),
    "leave_one_out_curve of many values": lambda **w: show.leave_one_out_curve(
        np.arange(1, 20_001),
        1e-9 * np.abs(np.cumsum(MANY_X)),
        standard_errors=1e-9 * np.abs(MANY_Z),
        **w,
    ),
    "leave_one_out_curve of one value": lambda **w: show.leave_one_out_curve([5], [0.0], **w),
    "local_average": lambda **w: show.local_average(
        X, Z, SIDE, np.sin(SIDE), np.where(np.abs(SIDE) < 0.3, np.inf, 0.1), names=[EVIL, LONG], **w
    ),
    "local_average of many rows": lambda **w: show.local_average(
        1e9 + MANY_X,
        1e-9 * MANY_Z,
        1e9 + np.linspace(-8.0, 8.0, 3000),
        1e-9 * np.sin(np.linspace(-8.0, 80.0, 3000)),
        np.full(3000, 1e-10),
        reach=0.1,
        **w,
    ),
    "local_average without a band": lambda **w: show.local_average([1.0], [2.0], [5.0], [2.0], **w),
    "objective": lambda **w: show.objective(HISTORY, **w),
    "objective of many steps": lambda **w: show.objective(
        [Certificate(1.0 + 0.99**t, 1.0 - 0.99**t, steps=t) for t in range(3000)], **w
    ),
    "validation_curve": lambda **w: show.validation_curve(
        VALIDATION, simplest="first", score=EVIL, **w
    ),
    "validation_curve of names": lambda **w: show.validation_curve(
        tuned(EVIL, [EVIL, WORSE, None, True, 1, LONG, ("a", 2)]), chosen=None, **w
    ),
    "learning_curve": lambda **w: show.learning_curve(LEARNING, score=EVIL, **w),
    "regularisation_path": lambda **w: show.regularisation_path(
        STRENGTHS,
        PATH,
        names=[EVIL, WORSE, *range(7)],
        chosen=0.1,
        strength=EVIL,
        **w,
    ),
    "regularisation_path of many": lambda **w: show.regularisation_path(
        np.geomspace(1e-3, 1.0, 100), np.cumsum(rng.normal(size=(100, 500)), axis=0), **w
    ),
    "coefficients": lambda **w: show.coefficients(
        [EVIL, WORSE, EVIL, LONG], [1.0, -2.0, 0.5, 0.1], what=EVIL, **w
    ),
    "coefficients with intervals": lambda **w: show.coefficients(
        [f"{EVIL} {i}" for i in range(99)],
        np.linspace(-2.0, 5.0, 99),
        intervals=(np.linspace(-3.0, 4.0, 99), np.linspace(-1.0, 6.0, 99)),
        **w,
    ),
    "predicted_observed": lambda **w: show.predicted_observed(Z, X, **w),
    "predicted_observed of 2000 rows": lambda **w: show.predicted_observed(
        MANY_Z[:2000] * 1e-7, MANY_X[:2000] * 1e-7, **w
    ),
    "predicted_observed of many rows": lambda **w: show.predicted_observed(MANY_Z, MANY_X, **w),
    "residuals": lambda **w: show.residuals(Z, X, **w),
    "residuals of many rows": lambda **w: show.residuals(MANY_Z, MANY_X, **w),
    "residuals of none": lambda **w: show.residuals([3.0, 3.0], [3.0, 3.0], **w),
    "quantile_plot": lambda **w: show.quantile_plot(Z, X, **w),
    "quantile_plot of many rows": lambda **w: show.quantile_plot(MANY_Z, MANY_X, **w),
    "leverage": lambda **w: show.leverage(np.abs(X) / 300.0, Z, columns=3, **w),
    "fold_scores": lambda **w: show.fold_scores(
        {EVIL: TEST[3], WORSE: TEST[4]}, means={EVIL: MEAN}, score=EVIL, **w
    ),
    "comparison": lambda **w: show.comparison(
        {EVIL: MEAN, WORSE: 0.5}, baseline=WORSE, score=EVIL, **w
    ),
    "importance": lambda **w: show.importance(
        [EVIL, WORSE, LONG], [0.3, -0.01, 0.1], ([0.2, -0.03, 0.05], [0.4, 0.01, 0.2]), **w
    ),
    "importance of many": lambda **w: show.importance(
        range(99), np.linspace(-1e-6, 1e-4, 99), what=EVIL, **w
    ),
    "surrogates": lambda **w: show.surrogates(**w),
    "surrogates that are given": lambda **w: show.surrogates(
        {EVIL: Hinge(), WORSE: Logistic()}, **w
    ),
    "level_lines": lambda **w: show.level_lines(H, path=WALK, **w),
    "eigen_errors": lambda **w: show.eigen_errors(convergence_profile(H, 0.5), WALK, **w),
}
