"""Figures of maps into few dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from show.inputs import EVIL, LONG, MANY_X, MANY_Z, WORSE, X, Z, rng

from fenchel import show

SPACE = np.stack([X, Z, X * Z], axis=1)[:80]
NEXT = np.stack([np.arange(79), np.arange(1, 80)], axis=1)
MANY = np.stack([1e9 + MANY_X, 1e-9 * MANY_Z, np.cos(MANY_X)], axis=1)
DIRECTION = np.linspace(0.0, 6.0, 99)
FULL = np.stack([np.cos(DIRECTION), np.sin(DIRECTION)], axis=1)


def chained(n: int, steps: int) -> Any:
    """A graph that joins each row to the next few, but for some gaps."""
    i = np.repeat(np.arange(n), steps)
    j = i + np.tile(np.arange(1, steps + 1), n)
    kept = (j < n) & (i % 7000 < 6990)
    return csr_array((np.ones(kept.sum()), (i[kept], j[kept])), shape=(n, n))


CASES: dict[str, Callable[..., Any]] = {
    "scree": lambda **w: show.scree(np.linspace(1.0, 0.0, 100), **w),
    "scree of one column": lambda **w: show.scree([2.0], **w),
    "scree with negative values": lambda **w: show.scree(np.linspace(3.0, -1.0, 100), **w),
    "map_quality": lambda **w: show.map_quality(
        [1, 2, 3],
        trustworthiness=[0.8, 0.97, 0.99],
        continuity=[0.9, 0.98, 0.98],
        residual_variance=[0.4, 0.05, 0.0],
        chosen=2,
        **w,
    ),
    "map_quality of one map": lambda **w: show.map_quality([7], continuity=[1.0], **w),
    "embedding": lambda **w: show.embedding(
        np.stack([1e9 + MANY_X, 1e-9 * MANY_Z], axis=1),
        rng.integers(9, size=20_000),
        labels=[EVIL, WORSE, LONG, *range(6)],
        names=[EVIL, LONG],
        **w,
    ),
    "embedding without groups": lambda **w: show.embedding([[0.0, 0.0]] * 3, **w),
    "embedding with names": lambda **w: show.embedding(
        np.stack([X, Z], axis=1), row_names=[f"{k} {EVIL}" for k in range(300)], **w
    ),
    "embedding of numbers": lambda **w: show.embedding(
        np.stack([MANY_X, MANY_Z], axis=1), values=1e-9 * MANY_X, value_name=EVIL, **w
    ),
    "embedding of one number": lambda **w: show.embedding(
        [[0.0, 1e-9]], values=[7.0], row_names=[LONG], **w
    ),
    "biplot": lambda **w: show.biplot(
        np.stack([X, Z], axis=1)[:60] - 0.1,
        [[1.0, 0.2], [-0.5, 0.1], [0.0, 0.0]],
        Z[:60] > 0.0,
        shares=[0.6, 0.2],
        column_names=[EVIL, WORSE, LONG],
        labels=[EVIL, LONG],
        names=[EVIL, LONG],
        **w,
    ),
    "biplot of many": lambda **w: show.biplot(
        1e9 * np.stack([MANY_X, 1e-18 * MANY_Z], axis=1),
        1e-9 * FULL,
        rng.integers(9, size=20_000),
        column_names=[EVIL] * 99,
        **w,
    ),
    "biplot of one row": lambda **w: show.biplot([[0.0, 0.0]], [[0.0, 0.0]], **w),
    "correlation_circle": lambda **w: show.correlation_circle(
        0.9 * FULL[::30], [EVIL, WORSE, LONG, EVIL], shares=[0.6, 0.2], axes=[EVIL, LONG], **w
    ),
    "correlation_circle of many": lambda **w: show.correlation_circle(
        FULL, [f"{EVIL} {k}" for k in range(99)], **w
    ),
    "correlation_circle of one": lambda **w: show.correlation_circle([[0.0, 0.0]], **w),
    "embedding_3d": lambda **w: show.embedding_3d(
        SPACE, Z[:80] > X[:80], labels=[EVIL, WORSE], names=[EVIL, WORSE, LONG], **w
    ),
    "embedding_3d of many": lambda **w: show.embedding_3d(
        MANY, rng.integers(9, size=20_000), labels=[EVIL] * 9, is_cube=True, **w
    ),
    "embedding_3d of numbers": lambda **w: show.embedding_3d(
        MANY, values=MANY_X, value_name=EVIL, turn=360.0, tilt=-90.0, **w
    ),
    "embedding_3d of one row": lambda **w: show.embedding_3d([[5.0, 5.0, 5.0]], **w),
    "neighbour_graph": lambda **w: show.neighbour_graph(
        SPACE, NEXT, values=X[:80], names=[EVIL, WORSE, LONG], value_name=EVIL, **w
    ),
    "neighbour_graph in a plane": lambda **w: show.neighbour_graph(
        np.stack([X, 1e-9 * Z], axis=1), chained(300, 9), Z > X, labels=[EVIL, WORSE], **w
    ),
    "neighbour_graph of many": lambda **w: show.neighbour_graph(
        MANY, chained(20_000, 5), rng.integers(9, size=20_000), labels=[EVIL] * 9, **w
    ),
    "neighbour_graph without edges": lambda **w: show.neighbour_graph(
        np.stack([X, Z], axis=1), np.empty((0, 2), dtype=int), **w
    ),
}
