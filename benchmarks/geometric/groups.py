"""Groups: k-means and its starts, bisection, Gaussian mixtures. All begin at the same rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.data import Table
from benchmarks.gap import Verdict
from benchmarks.machine import Work
from benchmarks.protocol import Contender, Workload

from . import partitions
from .contenders import call, fitted
from .tables import IMAGES, blobs, images, some_rows

EQUAL = 1e-6  # of inertia or likelihood, against the judge's own from the same start
STEPS = 20
SEED = 3


class Sizes(NamedTuple):
    rows: int
    columns: int
    k: int


FULL = {
    "images": Sizes(60_000, 28, 50),
    "steps": Sizes(200_000, 32, 100),
    "starts": Sizes(1_000_000, 16, 200),
    "bisection": Sizes(500_000, 16, 64),
    "mixture": Sizes(200_000, 16, 20),
}
SMALL = {
    "images": Sizes(1_500, 8, 10),
    "steps": Sizes(3_000, 8, 10),
    "starts": Sizes(4_000, 4, 12),
    "bisection": Sizes(4_000, 4, 8),
    "mixture": Sizes(4_000, 4, 4),
}


def centres(model: Any) -> Any:
    return model.cluster_centers_


def start(table: Table) -> dict[str, Any]:
    return {"init": table.y}


def sklearns(read: Callable[[Any], Any], **parameters: Any) -> tuple[Contender, ...]:
    """scikit-learn's two algorithms and Intel's, all from the start that the table has for y."""
    settings = {"given": start, "n_init": 1, **parameters}
    return (
        fitted("scikit-learn lloyd", "sklearn.cluster.KMeans", read, **settings),
        fitted("scikit-learn elkan", "sklearn.cluster.KMeans", read, algorithm="elkan", **settings),
        fitted("scikit-learn-intelex", "sklearnex.cluster.KMeans", read, **settings),
    )


def ours(**parameters: Any) -> tuple[Contender, ...]:
    settings = {"given": start, **parameters}
    path = "fenchel.KMeans"
    return (
        fitted("fenchel", path, centres, ours=True, prove=False, **settings),
        fitted("fenchel, with its bound", path, centres, ours=True, yardstick=True, **settings),
    )


def faiss_kmeans(k: int, steps: int) -> Contender:
    def prepare(table: Table) -> Callable[[], Any]:
        import faiss

        def task() -> Any:
            made = faiss.Kmeans(
                table.X.shape[1],
                k,
                niter=steps,
                max_points_per_centroid=10**9,
                min_points_per_centroid=1,
            )
            made.train(table.X, init_centroids=table.y)
            return made.centroids

        return task

    return call("faiss", prepare)


def mlpack_kmeans(k: int, steps: int) -> Contender:
    def prepare(table: Table) -> Callable[[], Any]:
        import mlpack

        X, first = table.X.astype(np.float64), table.y.astype(np.float64)
        return lambda: mlpack.kmeans(
            input_=X,
            clusters=k,
            initial_centroids=first,
            max_iterations=steps,
            algorithm="hamerly",
            copy_all_inputs=True,
        )["centroid"]

    return call("mlpack hamerly", prepare)


def judge_centres(table: Table, C: Any) -> Verdict:
    return Verdict(partitions.inertia(table.X, C), 0.0)


def lloyd_bound(steps: int, tol: float) -> Callable[[Table], tuple[float, ...]]:
    def found(table: Table) -> tuple[float, ...]:
        C = partitions.lloyd(table.X, table.y, steps, tol)
        return (partitions.inertia(table.X, C),)

    return found


def lloyd_work(steps: int) -> Callable[[Table], Work]:
    def work(table: Table) -> Work:
        n, d = table.X.shape
        product = 2.0 * n * d * len(table.y)
        return Work(
            product * steps,
            4.0 * n * d * steps,
            f"a product of rows and centres in each of {steps} steps",
        )

    return work


def image_table(size: Sizes) -> Table:
    X = images(size.rows, size.columns)[0]
    return Table(X, some_rows(X, size.k, SEED))


def blob_table(size: Sizes, *, spread: float = 1.0, dtype: Any = np.float32) -> Table:
    X = blobs(size.rows, size.columns, size.k * 3 // 2, seed=SEED, spread=spread, dtype=dtype)[0]
    return Table(X, some_rows(X, size.k, SEED))


SAME_START = (
    "The same rows to begin with and the same rule to stop; the value is the inertia, against that "
    "of the judge's own Lloyd steps in float64. fenchel's counted time is without the bound of "
    "the optimum, which no peer gives; the yardstick has it."
)


def converged(size: Sizes, name: str) -> Workload:
    steps, tol = 300, 1e-4  # scikit-learn's defaults
    return Workload(
        f"k-means to convergence, {name}, {size.rows:,} x {size.columns**2}, k={size.k}",
        EQUAL,
        lambda: image_table(size),
        judge_centres,
        lloyd_work(1),
        (
            *ours(n_clusters=size.k, max_iter=steps, tol=tol),
            *sklearns(centres, n_clusters=size.k, max_iter=steps, tol=tol),
        ),
        known=lloyd_bound(steps, tol),
        note=SAME_START,
    )


def some_steps(size: Sizes) -> Workload:
    return Workload(
        f"k-means, {STEPS} steps, {size.rows:,} x {size.columns}, k={size.k}, float32",
        EQUAL,
        lambda: blob_table(size),
        judge_centres,
        lloyd_work(STEPS),
        (
            *ours(n_clusters=size.k, max_iter=STEPS, tol=0.0),
            *sklearns(centres, n_clusters=size.k, max_iter=STEPS, tol=0.0),
            faiss_kmeans(size.k, STEPS),
            mlpack_kmeans(size.k, STEPS),
        ),
        known=lloyd_bound(STEPS, 0.0),
        note=SAME_START,
    )


def our_starts(k: int, trials: int | None) -> Contender:
    def prepare(table: Table) -> Callable[[], Any]:
        from fenchel.models.cluster.seeding import kmeans_plus_plus

        return lambda: kmeans_plus_plus(table.X, None, k, np.random.default_rng(0), trials)

    return call("fenchel", prepare, ours=True)


def scikit_learn_starts(k: int, trials: int | None) -> Contender:
    def prepare(table: Table) -> Callable[[], Any]:
        from sklearn.cluster import kmeans_plusplus

        return lambda: kmeans_plusplus(table.X, k, random_state=0, n_local_trials=trials)[0]

    return call("scikit-learn", prepare)


def faiss_starts(k: int) -> Contender:
    def prepare(table: Table) -> Callable[[], Any]:
        import faiss

        kind = faiss.ClusteringInitMethod_KMEANS_PLUS_PLUS

        def task() -> Any:
            made = faiss.Kmeans(
                table.X.shape[1], k, niter=0, max_points_per_centroid=10**9, init_method=kind
            )
            made.train(table.X)
            return made.centroids

        return task

    return call("faiss", prepare)


def starts(size: Sizes, *, greedy: bool) -> Workload:
    trials = None if greedy else 1
    drawn = 2 + int(np.log(size.k)) if greedy else 1

    def known(table: Table) -> tuple[float, ...]:
        """Of centres seeded on some of the rows: in expectation about those of them all."""
        some = table.X[:: max(1, size.rows // 30_000)]
        C = partitions.plus_plus(some, size.k, drawn, SEED)
        return (partitions.inertia(table.X, C),)

    def work(table: Table) -> Work:
        n, d = table.X.shape
        return Work(2.0 * n * d * size.k * drawn, 4.0 * n * d * size.k, "distances to each centre")

    peers = (scikit_learn_starts(size.k, trials), *(() if greedy else (faiss_starts(size.k),)))
    kind = f"greedy, {drawn} trials" if greedy else "plain"
    return Workload(
        f"k-means++ {kind}, {size.rows:,} x {size.columns}, k={size.k}, float32",
        0.15,
        lambda: blob_table(size),
        judge_centres,
        work,
        (our_starts(size.k, trials), *peers),
        known=known,
        note="The value is the potential of the centres drawn, which are random: within 15 % of "
        "that of the judge's own draw counts as equal.",
    )


def bisection(size: Sizes) -> Workload:
    def inertia(model: Any) -> float:
        return float(model.inertia_)

    settings: dict[str, Any] = {"n_clusters": size.k, "random_state": 0}
    peer = "sklearn.cluster.BisectingKMeans"
    return Workload(
        f"bisecting k-means, {size.rows:,} x {size.columns} to {size.k}, float32",
        0.02,
        lambda: blob_table(size),
        lambda table, J: Verdict(J, 0.0),
        lloyd_work(1),
        (
            fitted(
                "fenchel", "fenchel.BisectingKMeans", inertia, ours=True, prove=False, **settings
            ),
            fitted("scikit-learn, biggest inertia", peer, inertia, **settings),
            fitted(
                "scikit-learn, largest cluster",
                peer,
                inertia,
                bisecting_strategy="largest_cluster",
                **settings,
            ),
        ),
        known=lambda table: (partitions.bisected(table.X, size.k, SEED),),
        note="The value is the inertia: within 2 % of the judge's own bisection counts as equal.",
    )


def mixture(size: Sizes, dtype: Any) -> Workload:
    def read(model: Any) -> partitions.Mixture:
        found = model.weights_, model.means_, model.covariances_
        return partitions.Mixture(*(np.asarray(part, np.float64) for part in found))

    def begin(table: Table) -> dict[str, Any]:
        k, d = table.y.shape
        return {
            "means_init": table.y,
            "weights_init": np.full(k, 1.0 / k),
            "precisions_init": np.broadcast_to(np.eye(d), (k, d, d)).copy(),
        }

    def likelihood(table: Table, found: partitions.Mixture) -> float:
        return -partitions.log_likelihood(table.X, found)

    def work(table: Table) -> Work:
        n, d = table.X.shape
        products = d * (d + 1) / 2 + d + 1
        return Work(
            4.0 * n * products * size.k * STEPS,
            4.0 * n * d * STEPS,
            f"two products with the products of the columns in each of {STEPS} steps",
        )

    settings: dict[str, Any] = {
        "n_components": size.k,
        "max_iter": STEPS,
        "tol": 0.0,
        "given": begin,
    }
    kind = np.dtype(dtype).name
    return Workload(
        f"Gaussian mixture, {STEPS} steps, {size.rows:,} x {size.columns}, k={size.k}, {kind}",
        EQUAL,
        lambda: blob_table(size, spread=1.5, dtype=dtype),
        lambda table, found: Verdict(likelihood(table, found), 0.0),
        work,
        (
            fitted("fenchel", "fenchel.GaussianMixture", read, ours=True, **settings),
            fitted(
                "scikit-learn",
                "sklearn.mixture.GaussianMixture",
                read,
                init_params="random_from_data",
                random_state=0,
                **settings,
            ),
        ),
        known=lambda table: (likelihood(table, partitions.em(table.X, table.y, STEPS)),),
        note="The same means, equal weights and unit covariances to begin with; the value is the "
        "mean negative log-likelihood, against the judge's own steps.",
    )


def workloads(scale: str) -> list[Workload]:
    size = FULL if scale == "full" else SMALL
    return [
        converged(size["images"], IMAGES if scale == "full" else "synthetic images"),
        some_steps(size["steps"]),
        starts(size["starts"], greedy=True),
        starts(size["starts"], greedy=False),
        bisection(size["bisection"]),
        mixture(size["mixture"], np.float64),
        mixture(size["mixture"], np.float32),
    ]
