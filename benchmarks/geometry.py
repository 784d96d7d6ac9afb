"""Pairs of rows and points: the nearest of a few points, and nearest neighbours in many dimensions.

A contender answers with the numbers of the points; the judge measures the squared distances of
those itself, in float64, and compares their sum with that of the true nearest on a sample of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .data import Table
from .gap import Verdict
from .machine import Work
from .protocol import Contender, Workload

TARGET = 1e-6
JUDGED = 300  # rows that the judge compares with all points
NO_TOLERANCE = (0.0,)


class Size(NamedTuple):
    rows: int
    points: int
    columns: int
    k: int


ONE = {"full": Size(200_000, 100, 32, 1), "small": Size(4_000, 20, 32, 1)}
MANY = {"full": Size(20_000, 20_000, 784, 10), "small": Size(600, 600, 40, 5)}


def cloud(size: Size) -> Table:
    """Normal rows about some centres, float32; the points stand where a target would."""
    rng = np.random.default_rng(12)
    centres = 2.0 * rng.standard_normal((20, size.columns))

    def draw(n: int) -> np.ndarray:
        noise = rng.standard_normal((n, size.columns), dtype=np.float32)
        return noise + centres[rng.integers(20, size=n)].astype(np.float32)

    return Table(draw(size.rows), draw(size.points))


def judge(table: Table, numbers: np.ndarray) -> Verdict:
    some = np.linspace(0, len(table.X) - 1, JUDGED).astype(int)
    rows, points = table.X[some].astype(np.float64), table.y.astype(np.float64)
    chosen = numbers.reshape(len(table.X), -1)[some]
    found = best = 0.0
    for row, which in zip(rows, chosen, strict=True):
        squares = ((points - row) ** 2).sum(axis=1)
        if len(set(which)) != len(which):
            raise ValueError("a point is named twice for one row")
        found += float(squares[which].sum())
        best += float(np.sort(squares)[: len(which)].sum())
    return Verdict(found, best)


def ours(k: int) -> Contender:
    def prepare(table: Table) -> Callable[[float], Any]:
        from fenchel.geometry.neighbours import nearest

        return lambda _: nearest(table.y, table.X, k)[0]

    return Contender("fenchel", prepare, lambda numbers: numbers, NO_TOLERANCE, ours=True)


def argmin() -> Contender:
    def prepare(table: Table) -> Callable[[float], Any]:
        from sklearn.metrics import pairwise_distances_argmin

        return lambda _: pairwise_distances_argmin(table.X, table.y)

    return Contender("scikit-learn argmin", prepare, lambda numbers: numbers, NO_TOLERANCE)


def brute(k: int, module: str, name: str) -> Contender:
    def prepare(table: Table) -> Callable[[float], Any]:
        from importlib import import_module

        kind = import_module(module).NearestNeighbors
        model = kind(n_neighbors=k, algorithm="brute").fit(table.y)
        return lambda _: model.kneighbors(table.X, return_distance=False)

    return Contender(name, prepare, lambda numbers: numbers, NO_TOLERANCE)


def faiss(k: int) -> Contender:
    def prepare(table: Table) -> Callable[[float], Any]:
        import faiss as library

        index = library.IndexFlatL2(table.y.shape[1])
        index.add(table.y)
        return lambda _: index.search(table.X, k)[1]

    return Contender("faiss flat", prepare, lambda numbers: numbers, NO_TOLERANCE)


def work(table: Table) -> Work:
    n, d = table.X.shape
    m = len(table.y)
    return Work(2.0 * n * m * d, 4.0 * (n + m) * d, "one product of rows and points in float32")


def workloads(scale: str) -> list[Workload]:
    one, many = ONE[scale], MANY[scale]
    peers = (
        brute(many.k, "sklearn.neighbors", "scikit-learn brute"),
        brute(many.k, "sklearnex.neighbors", "scikit-learn-intelex brute"),
        faiss(many.k),
    )
    return [
        Workload(
            f"nearest of {one.points}, {one.rows:,} x {one.columns}, float32",
            TARGET,
            lambda: cloud(one),
            judge,
            work,
            (ours(1), argmin(), faiss(1)),
        ),
        Workload(
            f"{many.k} nearest of {many.points:,}, {many.rows:,} x {many.columns}, float32",
            TARGET,
            lambda: cloud(many),
            judge,
            work,
            (ours(many.k), *peers),
        ),
    ]
