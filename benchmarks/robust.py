"""Regression that a few wild targets cannot move: quantiles, and Huber's loss with its scale."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import bounds, gap
from .data import Table, dense_regression
from .logistic import read, work
from .protocol import Workload, estimator, our_ladder, tolerances

TARGET = 1e-6
SIZES = {"full": ((20_000, 20), (100_000, 50)), "small": ((400, 5), (1_000, 6))}
QUANTILE, L1 = 0.8, 1e-3
EPSILON, L2 = 1.35, 1.0


def heavy(n: int, d: int, seed: int) -> Table:
    """Noise of Student's distribution with 3 degrees of freedom."""
    X, y = dense_regression(n, d, condition=100, seed=seed)
    return Table(X, y + np.random.default_rng(seed + 1).standard_t(3, n))


def read_scale(model: Any) -> tuple[np.ndarray, float, float]:
    return (*read(model), float(model.scale_))


def quantile_known(table: Table) -> tuple[float, ...]:
    theta = bounds.quantile_dual(*table, QUANTILE, L1)
    return (gap.quantile_bound(*table, QUANTILE, L1, theta),)


def workloads(scale: str) -> list[Workload]:
    few, many = SIZES[scale]
    lines: dict[str, Any] = {"quantile": QUANTILE, "alpha": L1}
    curves: dict[str, Any] = {"epsilon": EPSILON, "alpha": L2}
    ladder = our_ladder(TARGET)
    return [
        Workload(
            f"quantile {QUANTILE:g}, {few[0]:,} x {few[1]}, alpha={L1:g}",
            TARGET,
            lambda: heavy(*few, seed=12),
            lambda table, point: gap.quantile(*table, QUANTILE, L1, *point),
            work,
            (
                estimator("fenchel", "fenchel.QuantileRegressor", ladder, read, ours=True, **lines),
                *(
                    estimator(
                        f"scikit-learn {solver}",
                        "sklearn.linear_model.QuantileRegressor",
                        (0.0,),
                        read,
                        solver=solver,
                        **lines,
                    )
                    for solver in ("highs", "highs-ds", "highs-ipm")
                ),
            ),
            known=quantile_known,
            note="All are judged by their value against one lower bound, found beforehand: the "
            "dual's linear program, its solution checked in numpy. scikit-learn has no tolerance.",
        ),
        Workload(
            f"Huber with scale, {many[0]:,} x {many[1]}, alpha={L2:g}",
            TARGET,
            lambda: heavy(*many, seed=14),
            lambda table, point: gap.huber(*table, EPSILON, L2, *point),
            work,
            (
                estimator(
                    "fenchel", "fenchel.HuberRegressor", ladder, read_scale, ours=True, **curves
                ),
                estimator(
                    "scikit-learn",
                    "sklearn.linear_model.HuberRegressor",
                    tolerances(1e-1, 1e-7, 1),
                    read_scale,
                    max_iter=10_000,
                    **curves,
                ),
            ),
        ),
    ]
