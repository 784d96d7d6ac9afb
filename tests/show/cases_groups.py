"""Figures of clusters, mixtures and densities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from show.inputs import EVIL, HISTORY, LONG, MANY_X, MANY_Z, WORSE, X, Z, rng

from fenchel import ChoiceOfK, show, voronoi_cells

BOX = (-9.0, 9.0, -9.0, 9.0)
PATHS = [np.stack([X, Z], axis=1)[: 4 + t] * 2.0**-t for t in range(7)]
CELLS = [voronoi_cells(C, BOX) for C in PATHS]
FINE = rng.random((230, 2))
MANY_CENTRES = 1e9 * rng.random((3000, 2))
CHOICE = ChoiceOfK(
    counts=(1, 2, 3, 4),
    method="likelihood",
    values={
        "likelihood": np.array([-9.0, -3.0, -3.1, -np.inf]),
        "bic": np.array([1e6, 2e5, 2.1e5, 3e5]),
        "silhouette": np.full(4, np.nan),
        "gap": np.array([0.1, 0.8, 0.85, 0.8]),
    },
    errors={"likelihood": np.array([0.5, 0.0, 0.1, 0.0]), "gap": np.full(4, 0.05)},
    scatter=None,
    k=2,
    choices={"likelihood": 2, "bic": 2, "gap": 3},
    rows=400,
    is_clear=True,
)

CASES: dict[str, Callable[..., Any]] = {
    "elbow": lambda **w: show.elbow(
        [1, 2, 3, 4],
        [9.0, 3.0, 2.5, 2.2],
        bound=[9.0, 2.5, 1.0, 0.0],
        reference=[12.0, 8.0, 6.0, 5.0],
        chosen=2,
        **w,
    ),
    "elbow of one cluster": lambda **w: show.elbow([1], [1e-200], chosen=1, **w),
    "restarts": lambda **w: show.restarts([3.0, 2.0, 2.0], bound=1.2, **w),
    "restarts all alike": lambda **w: show.restarts(np.full(10, 1e-9), **w),
    "silhouettes": lambda **w: show.silhouettes(
        np.clip(MANY_X, -1.0, 1.0), rng.integers(9, size=20_000), labels=[EVIL] * 9, **w
    ),
    "silhouettes of few rows": lambda **w: show.silhouettes([0.5, -0.5, 1.0], [0, 2, 2], **w),
    "lloyd_iterations": lambda **w: show.lloyd_iterations(
        np.stack([X, Z], axis=1)[:60], PATHS[:2], CELLS[:2], names=[EVIL, LONG]
    ),
    "lloyd_iterations of many": lambda **w: show.lloyd_iterations(
        np.stack([MANY_X, MANY_Z], axis=1) * 1e-200,
        [1e-200 * C for C in PATHS],
        [[1e-200 * cell for cell in cells] for cells in CELLS],
        codes=rng.integers(9, size=20_000),
        labels=[EVIL, WORSE, LONG, *range(6)],
    ),
    "lloyd_iterations without cells": lambda **w: show.lloyd_iterations(
        [[1.0, 2.0]] * 3, [[[1.0, 2.0]]], steps=[7]
    ),
    "cluster_classes": lambda **w: show.cluster_classes(
        [0, 0, 1, 2, 2],
        [EVIL, EVIL, WORSE, LONG, EVIL],
        labels=[WORSE, EVIL, LONG],
        **w,
    ),
    "cluster_classes of many": lambda **w: show.cluster_classes(
        rng.integers(40, size=999), rng.integers(30, size=999), class_labels=[EVIL] * 30, **w
    ),
    "choice_of_k": lambda **w: show.choice_of_k(CHOICE, **w),
    "choice_of_k of many numbers": lambda **w: show.choice_of_k(
        ChoiceOfK(
            tuple(range(1, 400)), "gap", {"gap": np.full(399, 1e9)}, {}, None, 1, {}, 9, False
        ),
        **w,
    ),
    "dendrogram": lambda **w: show.dendrogram(
        [0, 1, 2], [9.0, 3.0, 4.0, 1.0, 1.0, 2.0, 0.0], [9, 5, 4, 2, 3, 1, 3], cut=3, **w
    ),
    "dendrogram of many clusters": lambda **w: show.dendrogram(
        np.arange(99), np.geomspace(1e9, 1.0, 199), np.arange(199), cut=40, **w
    ),
    "dendrogram of one cluster": lambda **w: show.dendrogram([], [0.0], [3.0], cut=1, **w),
    "mixture_ellipses": lambda **w: show.mixture_ellipses(
        np.stack([X, Z], axis=1)[:30],
        [0.2, 0.8],
        [[-1.0, 0.0], [1.0, 1.0]],
        [np.eye(2), [[1.0, 0.9], [0.9, 1.0]]],
        labels=[EVIL, WORSE],
        names=[EVIL, LONG],
        **w,
    ),
    "mixture_ellipses of many": lambda **w: show.mixture_ellipses(
        1e-9 * np.stack([MANY_X, MANY_Z], axis=1),
        np.full(30, 1 / 30),
        1e-9 * rng.normal(size=(30, 2)),
        np.full(30, 1e-18),
        covariance_type="spherical",
        levels=[0.1, 0.5, 0.9, 0.99],
        labels=[EVIL] * 30,
        **w,
    ),
    "mixture_ellipses of one": lambda **w: show.mixture_ellipses(
        [[0.0, 0.0]], [1.0], [[0.0, 0.0]], np.eye(2), covariance_type="tied", **w
    ),
    "density_cells": lambda **w: show.density_cells(
        PATHS[0], CELLS[0], lambda x, y: np.exp(-x * x), history=HISTORY, names=[EVIL, LONG], **w
    ),
    "density_cells of an image": lambda **w: show.density_cells(
        FINE, voronoi_cells(FINE, (0, 1, 0, 1)), rng.random((99, 80)), **w
    ),
    "density_cells of many": lambda **w: show.density_cells(
        MANY_CENTRES, voronoi_cells(MANY_CENTRES, (0, 1e9, 0, 1e9)), rng.random((3, 2)), **w
    ),
}
