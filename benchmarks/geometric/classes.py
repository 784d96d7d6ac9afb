"""Gaussian classes and neighbours: discriminants, exact nearest rows, leave-one-out for all k."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from benchmarks.data import Table
from benchmarks.gap import Verdict
from benchmarks.machine import Work
from benchmarks.protocol import Contender, Workload

from . import densities
from .contenders import Reference, call, fitted, off_by
from .tables import IMAGES, blobs, images

EQUAL = 1e-6
CLASSES = 5
JUDGED = 100  # rows that the judge compares with all points


class Search(NamedTuple):
    points: int
    rows: int
    columns: int
    k: int = 10


class Sizes(NamedTuple):
    classes: tuple[int, int]
    images: Search
    noise: Search  # of full intrinsic dimension
    space: Search
    votes: Search


SIZES = {
    "full": Sizes(
        (1_000_000, 50),
        Search(60_000, 10_000, 28),
        Search(30_000, 5_000, 256),
        Search(1_000_000, 200_000, 3),
        Search(20_000, 20_000, 20, 100),
    ),
    "small": Sizes(
        (3_000, 6),
        Search(800, 150, 8),
        Search(800, 150, 40),
        Search(2_000, 300, 3),
        Search(500, 500, 6, 20),
    ),
}


def class_table(n: int, d: int) -> Table:
    return Table(*blobs(n, d, CLASSES, seed=4, spread=0.4))


moments = Reference(lambda table: densities.class_moments(*table))


def sampled(table: Table) -> Any:
    return table.X[:: max(1, len(table.X) // 5_000)]


def one_reading(table: Table) -> Work:
    n, d = table.X.shape
    return Work(2.0 * n * d * d, 8.0 * n * d, "the scatter of the columns")


def linear(n: int, d: int) -> Workload:
    def coefficients(model: Any) -> Any:
        return model.coef_

    peer = "sklearn.discriminant_analysis.LinearDiscriminantAnalysis"
    return Workload(
        f"LDA fit, {n:,} x {d}, {CLASSES} classes",
        EQUAL,
        lambda: class_table(n, d),
        lambda table, coef: off_by(densities.linear_error(moments(table), coef)),
        one_reading,
        (
            fitted(
                "fenchel",
                "fenchel.LinearDiscriminantAnalysis",
                coefficients,
                ours=True,
                labels=True,
            ),
            *(
                fitted(f"scikit-learn {solver}", peer, coefficients, labels=True, solver=solver)
                for solver in ("lsqr", "eigen", "svd")
            ),
        ),
        note="The coefficients equal Σ⁻¹μ of the judge's own moments.",
    )


def quadratic(n: int, d: int) -> Workload:
    def judge(table: Table, model: Any) -> Verdict:
        rows = sampled(table)
        scores = model.decision_function(rows)
        return off_by(densities.quadratic_error(moments(table), rows, scores))

    def read(model: Any) -> Any:
        return model

    peer = "sklearn.discriminant_analysis.QuadraticDiscriminantAnalysis"
    return Workload(
        f"QDA fit, {n:,} x {d}, {CLASSES} classes",
        EQUAL,
        lambda: class_table(n, d),
        judge,
        one_reading,
        (
            fitted(
                "fenchel", "fenchel.QuadraticDiscriminantAnalysis", read, ours=True, labels=True
            ),
            *(
                fitted(f"scikit-learn {solver}", peer, read, labels=True, solver=solver)
                for solver in ("eigen", "svd")
            ),
        ),
        note="The scores of some rows equal the log-densities by the judge's own moments.",
    )


def predicting(name: str, path: str, *, ours: bool = False) -> Contender:
    def prepare(table: Table) -> Callable[[], Any]:
        module, _, cls = path.rpartition(".")
        model = getattr(import_module(module), cls)().fit(*table)
        return lambda: model.predict(table.X)

    return call(name, prepare, ours=ours)


def prediction(n: int, d: int, kind: str, cls: str) -> Workload:
    def judge(table: Table, labels: Any) -> Verdict:
        seen = moments(table)
        if kind == "LDA":
            pooled = seen.counts / seen.counts.sum()
            shared = np.einsum("k,kab->ab", pooled, seen.scatters / seen.counts[:, None, None])
            seen = seen._replace(scatters=seen.counts[:, None, None] * shared)
        rows = sampled(table)
        scores = densities.quadratic_scores(seen, rows, unbiased=False)
        step = max(1, len(table.X) // 5_000)
        return off_by(np.mean(labels[::step] != scores.argmax(axis=1)))

    def work(table: Table) -> Work:
        flops = 2.0 * n * d * CLASSES * (d if kind == "QDA" else 1)
        return Work(flops, 8.0 * n * d, "a product of the rows and each class")

    return Workload(
        f"{kind} predict, {n:,} x {d}, {CLASSES} classes",
        1e-3,
        lambda: class_table(n, d),
        judge,
        work,
        (
            predicting("fenchel", f"fenchel.{cls}", ours=True),
            predicting("scikit-learn", f"sklearn.discriminant_analysis.{cls}"),
        ),
        note="The share of some rows whose class the judge's own densities do not give.",
    )


def judge_neighbours(table: Table, numbers: Any) -> Verdict:
    some = np.linspace(0, len(table.X) - 1, JUDGED).astype(int)
    chosen = np.asarray(numbers, np.int64)[some]
    return Verdict(*densities.neighbour_sums(table.y, table.X[some], chosen))


def our_search(k: int) -> Contender:
    def prepare(table: Table) -> Callable[[], Any]:
        from fenchel import NearestNeighbors

        def task() -> Any:
            return NearestNeighbors(n_neighbors=k).fit(table.y).kneighbors(table.X)[1]

        return task

    return call("fenchel", prepare, ours=True)


def searching(name: str, module: str, k: int, algorithm: str) -> Contender:
    def prepare(table: Table) -> Callable[[], Any]:
        kind = import_module(module).NearestNeighbors

        def task() -> Any:
            model = kind(n_neighbors=k, algorithm=algorithm, n_jobs=-1).fit(table.y)
            return model.kneighbors(table.X)[1]

        return task

    return call(name, prepare)


def faiss_search(k: int) -> Contender:
    def prepare(table: Table) -> Callable[[], Any]:
        import faiss

        def task() -> Any:
            index = faiss.IndexFlatL2(table.y.shape[1])
            index.add(table.y)
            return index.search(table.X, k)[1]

        return task

    return call("faiss flat", prepare)


def scipy_search(k: int) -> Contender:
    def prepare(table: Table) -> Callable[[], Any]:
        from scipy.spatial import cKDTree

        return lambda: cKDTree(table.y).query(table.X, k, workers=-1)[1]

    return call("scipy cKDTree", prepare)


def mlpack_search(k: int) -> Contender:
    def prepare(table: Table) -> Callable[[], Any]:
        import mlpack

        def task() -> Any:
            # It would put the rows of the arrays that it is given into another order.
            settings = {"algorithm": "dual_tree", "copy_all_inputs": True}
            return mlpack.knn(k=k, reference=table.y, query=table.X, **settings)["neighbors"]

        return task

    return call("mlpack dual tree", prepare)


def search_work(table: Table) -> Work:
    n, d = table.X.shape
    m = len(table.y)
    return Work(2.0 * n * m * d, 4.0 * (n + m) * d, "one product of rows and points")


def image_points(size: Search) -> Table:
    queries = images(size.rows, size.columns, held=True)[0]
    return Table(queries, images(size.points, size.columns)[0])


def noise_points(size: Search) -> Table:
    rng = np.random.default_rng(12)
    rows = rng.standard_normal((size.rows, size.columns), dtype=np.float32)
    return Table(rows, rng.standard_normal((size.points, size.columns), dtype=np.float32))


def space_points(size: Search) -> Table:
    X = blobs(size.points + size.rows, size.columns, 50, seed=9)[0]
    return Table(X[size.points :].copy(), X[: size.points].copy())


def neighbours(name: str, table: Callable[[], Table], k: int, *peers: Contender) -> Workload:
    return Workload(
        name, EQUAL, table, judge_neighbours, search_work, (our_search(k), *peers),
        note="Fitting and asking; the sum of the squared distances of some rows, against the "
        "nearest by the judge.",
    )  # fmt: skip


def brute(k: int) -> tuple[Contender, ...]:
    return (
        searching("scikit-learn brute", "sklearn.neighbors", k, "brute"),
        searching("scikit-learn-intelex brute", "sklearnex.neighbors", k, "brute"),
        faiss_search(k),
    )


def trees(k: int) -> tuple[Contender, ...]:
    return (
        scipy_search(k),
        searching("scikit-learn k-d tree", "sklearn.neighbors", k, "kd_tree"),
        searching("scikit-learn-intelex k-d tree", "sklearnex.neighbors", k, "kd_tree"),
        mlpack_search(k),
    )


def leave_one_out(size: Search) -> Workload:
    truth = Reference(lambda table: densities.leave_one_out_errors(*table, most=size.k))

    def prepare(table: Table) -> Callable[[], Any]:
        from fenchel import KNeighborsClassifier

        def task() -> Any:
            model = KNeighborsClassifier(n_neighbors="auto", max_neighbors=size.k)
            return model.fit(*table).loo_errors_

        return task

    def one_pass(table: Table) -> Callable[[], Any]:
        from fenchel import NearestNeighbors

        model = NearestNeighbors(n_neighbors=size.k)
        return lambda: model.fit(table.X).kneighbors()[1]

    def peer_pass(table: Table) -> Callable[[], Any]:
        from sklearn.neighbors import NearestNeighbors

        model = NearestNeighbors(n_neighbors=size.k, n_jobs=-1)
        return lambda: model.fit(table.X).kneighbors()[1]

    def judge(table: Table, found: Any) -> Verdict:
        if found.ndim == 1:
            return off_by(np.abs(found - truth(table)).max())
        some = np.linspace(0, len(table.X) - 1, JUDGED).astype(int)
        own = np.column_stack([some, found[some]])
        return Verdict(*densities.neighbour_sums(table.X, table.X[some], own))

    return Workload(
        f"leave-one-out for k to {size.k}, {size.rows:,} x {size.columns}, {CLASSES} classes",
        # A row whose neighbours lie equally far but for rounding may be counted either way.
        1e-3,
        lambda: Table(*blobs(size.rows, size.columns, CLASSES, seed=5, spread=0.5)),
        judge,
        lambda table: search_work(Table(table.X, table.X)),
        (
            call("fenchel, all errors", prepare, ours=True),
            call("fenchel, one search", one_pass, problem=1),
            call("scikit-learn, one search", peer_pass, problem=1),
        ),
        one_problem=False,
        note=f"The peers only search the {size.k} neighbours of every row: the errors of all k "
        "are to take no more than 1.5 times one search of ours, a ratio of 0.67.",
    )


def workloads(scale: str) -> list[Workload]:
    size = SIZES[scale]
    n, d = size.classes
    pictures, noise, space = size.images, size.noise, size.space
    what = IMAGES if scale == "full" else "synthetic images"
    return [
        linear(n, d),
        prediction(n, d, "LDA", "LinearDiscriminantAnalysis"),
        quadratic(n, d),
        prediction(n, d, "QDA", "QuadraticDiscriminantAnalysis"),
        neighbours(
            f"{pictures.k} nearest of {pictures.points:,}, {what}, {pictures.rows:,} x "
            f"{pictures.columns**2}, float32",
            lambda: image_points(pictures),
            pictures.k,
            *brute(pictures.k),
        ),
        neighbours(
            f"{noise.k} nearest of {noise.points:,}, noise, {noise.rows:,} x {noise.columns}, "
            "float32",
            lambda: noise_points(noise),
            noise.k,
            *brute(noise.k),
        ),
        neighbours(
            f"{space.k} nearest of {space.points:,}, {space.rows:,} x {space.columns}",
            lambda: space_points(space),
            space.k,
            *trees(space.k),
        ),
        leave_one_out(size.votes),
    ]
