"""Multinomial logistic regression on Fashion-MNIST, ten classes, strongly correlated pixels."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import gap
from .data import FASHION, Table, fashion_mnist
from .gap import Verdict
from .machine import Work
from .protocol import Workload, estimator, our_ladder, tolerances

TARGET = 1e-5
C = 0.01
ROWS = {"full": 60_000, "small": 1_500}


def read(model: Any) -> tuple[np.ndarray, np.ndarray]:
    return model.coef_, model.intercept_


def judge(table: Table, point: tuple[np.ndarray, np.ndarray]) -> Verdict:
    return gap.multinomial(table.X, table.y, C, *point)


def work(table: Table) -> Work:
    entries, classes = table.X.size, int(table.y.max()) + 1
    return Work(
        8.0 * entries * classes,
        16.0 * entries,
        "value and gradient twice, each in one reading of X",
    )


def workloads(scale: str) -> list[Workload]:
    n = ROWS[scale]
    shared: dict[str, Any] = {"C": C, "max_iter": 10_000}
    peers = [
        ("scikit-learn newton-cg", "sklearn", "newton-cg", tolerances(1e-2, 1e-7, 1)),
        ("scikit-learn lbfgs", "sklearn", "lbfgs", tolerances(1e-3, 1e-7, 1)),
        ("scikit-learn-intelex lbfgs", "sklearnex", "lbfgs", tolerances(1e-3, 1e-7, 1)),
    ]
    if scale == "full":  # its 7,850² Hessian takes half a minute even for few rows
        ladder = tolerances(1e-2, 1e-6, 1)
        peers.append(("scikit-learn newton-cholesky", "sklearn", "newton-cholesky", ladder))
    return [
        Workload(
            f"Fashion-MNIST, {n:,} x 784, 10 classes, C={C:g}",
            TARGET,
            lambda: fashion_mnist(n),
            judge,
            work,
            (
                estimator(
                    "fenchel",
                    "fenchel.LogisticRegression",
                    our_ladder(TARGET),
                    read,
                    ours=True,
                    C=C,
                ),
                *(
                    estimator(
                        name,
                        f"{package}.linear_model.LogisticRegression",
                        ladder,
                        read,
                        solver=solver,
                        **shared,
                    )
                    for name, package, solver, ladder in peers
                ),
            ),
            note="Official training images, pixels in [0, 1].",
            missing=""
            if FASHION.is_dir()
            else f"no folder {FASHION}: install Debian's dataset-fashion-mnist, or name a folder "
            "with the four .gz files in FENCHEL_FASHION_MNIST",
        )
    ]
