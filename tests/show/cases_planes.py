"""Figures of rules and classes in a plane."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from show.inputs import EVIL, LONG, MANY_X, MANY_Z, SIDE, WORSE, X, Z, rng

from fenchel import show


def ragged(P: Any) -> Any:
    """A rule that changes its mind everywhere."""
    return (np.floor(7.0 * P[:, 0]) * np.floor(5.0 * P[:, 1])).astype(int) % 9


CASES: dict[str, Callable[..., Any]] = {
    "decision_boundary": lambda **w: show.decision_boundary(
        SIDE,
        SIDE,
        (SIDE[:, None] > SIDE**2).astype(int),
        np.stack([X, Z], axis=1),
        (Z > X).astype(int),
        sure=np.abs(SIDE[:, None] - SIDE**2),
        labels=[EVIL, WORSE],
        names=[EVIL, LONG],
        **w,
    ),
    "decision_boundary of many classes": lambda **w: show.decision_boundary(
        1e-7 * SIDE,
        SIDE,
        rng.integers(9, size=(25, 25)),
        np.stack([1e-7 * MANY_X, MANY_Z], axis=1),
        rng.integers(9, size=20_000),
        **w,
    ),
    "decision_boundary of a function": lambda **w: show.decision_boundary(
        None,
        None,
        lambda P: np.where(P[:, 1] > P[:, 0] ** 2, EVIL, WORSE),
        np.stack([X, Z], axis=1),
        np.where(Z > X, EVIL, WORSE),
        sure=lambda P: np.abs(P[:, 1] - P[:, 0] ** 2),
        **w,
    ),
    "decision_boundary of a ragged rule": lambda **w: show.decision_boundary(
        None, None, ragged, np.stack([MANY_X, MANY_Z], axis=1), rng.integers(9, size=20_000), **w
    ),
    "boundary_lines": lambda **w: show.boundary_lines(
        {EVIL: lambda P: P[:, 0] > P[:, 1], WORSE: lambda P: P[:, 0] > 0.0, LONG: ragged},
        np.stack([X, Z], axis=1),
        Z > X,
        labels=[EVIL, WORSE],
        names=[EVIL, LONG],
        **w,
    ),
    "boundary_lines of one class": lambda **w: show.boundary_lines(
        {"all": lambda P: np.zeros(len(P))}, [[1e9, 1e-9]] * 3, [0, 0, 0], **w
    ),
    "class_ellipses": lambda **w: show.class_ellipses(
        np.stack([X, 1e-9 * Z], axis=1),
        (Z > X).astype(int),
        [[0.5, 0.0], [-0.5, 0.0]],
        np.diag([1.0, 1e-18]),
        levels=[0.99, 0.5, 0.9],
        labels=[EVIL, WORSE],
        names=[EVIL, LONG],
        **w,
    ),
    "class_ellipses of many classes": lambda **w: show.class_ellipses(
        np.stack([MANY_X, MANY_Z], axis=1),
        rng.integers(9, size=20_000),
        rng.normal(size=(9, 2)),
        [np.diag([1.0 + k, 0.0]) for k in range(9)],
        **w,
    ),
}
