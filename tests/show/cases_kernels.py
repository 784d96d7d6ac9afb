"""Figures of kernels: smoothing, margins, matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from show.inputs import EVIL, LONG, MANY_X, MANY_Z, WORSE, X, Z, rng

from fenchel import show

PLANE = np.stack([X, Z], axis=1)
MANY = np.stack([1e9 * MANY_X, 1e-9 * MANY_Z], axis=1)


def sine(x: Any) -> Any:
    return np.sin(3.0 * np.ravel(x))


def slope(P: Any) -> Any:
    return 2.0 * (P[:, 1] - P[:, 0])


def ragged(P: Any) -> Any:
    """A decision whose sides are everywhere."""
    return 1.5 * np.sin(9e-9 * P[:, 0]) * np.cos(7e9 * P[:, 1])


def gram(n: int, sign: float = 0.0) -> Any:
    return np.exp(-0.5 * (X[:n, None] - X[:n]) ** 2) - sign


CASES: dict[str, Callable[..., Any]] = {
    "bandwidth_curves": lambda **w: show.bandwidth_curves(
        X[:40],
        np.sin(X[:40]),
        {
            0.1: sine,
            0.5: lambda p: 0.5 * sine(p),
            EVIL: np.ravel,
            LONG: lambda p: 9.0 + 0.0 * sine(p),
        },
        errors=[0.2, 0.1, np.nan, 0.4],
        error=EVIL,
        parameter=WORSE,
        truth=np.sin,
        names=(EVIL, LONG),
    ),
    "bandwidth_curves of many rows": lambda **w: show.bandwidth_curves(
        1e9 + MANY_X,
        1e-9 * MANY_Z,
        {
            k: 1e-9 * np.where(rng.random(4000) < 0.01, np.nan, rng.normal(size=4000))
            for k in range(6)
        },
        places=1e9 + np.linspace(-4.0, 4.0, 4000),
        across=3,
    ),
    "bandwidth_curves of one row": lambda **w: show.bandwidth_curves([1.0], [2.0], {1: sine}),
    "svm_street": lambda **w: show.svm_street(
        slope,
        PLANE,
        np.where(Z > X + 0.2, EVIL, WORSE),
        np.arange(30),
        [np.linspace(-1.0, 1.0, 30)],
        names=[EVIL, LONG],
        **w,
    ),
    "svm_street of many": lambda **w: show.svm_street(
        ragged,
        MANY,
        MANY_Z > MANY_X,
        np.arange(20_000),
        np.linspace(-1e-9, 1e-9, 20_000),
        labels=[EVIL, LONG],
        **w,
    ),
    "svm_street without support vectors": lambda **w: show.svm_street(
        lambda P: 9.0 * np.sign(P[:, 0] - 0.5), [[0.0, 0.0], [1.0, 0.0]], [0, 1], [], [], **w
    ),
    "gram_matrix": lambda **w: show.gram_matrix(
        gram(20), np.arange(20) % 3, labels=[EVIL, WORSE, LONG], **w
    ),
    "gram_matrix of many": lambda **w: show.gram_matrix(
        1e9 * gram(300, 0.5), rng.integers(9, size=300), labels=[EVIL] * 9, **w
    ),
    "gram_matrix without classes": lambda **w: show.gram_matrix(gram(300), **w),
    "gram_matrix of one row": lambda **w: show.gram_matrix([[0.0]], [0], **w),
}
