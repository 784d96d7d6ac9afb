"""Maps: principal components, kernel components, geodesics, local weights, spectral groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.data import Table
from benchmarks.gap import Verdict
from benchmarks.machine import Work
from benchmarks.protocol import Contender, Workload

from . import subspaces
from .contenders import Reference, call, fitted, off_by
from .tables import IMAGES, blobs, images, swiss_roll

EQUAL = 1e-6
# Tolerances of scikit-learn's ARPACK, whose 0 is the precision of the machine.
ARPACK = (1e-3, 1e-6, 1e-9, 0.0)


class Sizes(NamedTuple):
    images: tuple[int, int, int]
    columns: tuple[int, int, int]
    kernel: int
    roll: int
    long_roll: tuple[int, int]
    sheet: int
    affinity: int
    graph: int
    distances: int


SIZES = {
    "full": Sizes(
        (60_000, 28, 50), (1_000_000, 50, 10), 8_000, 4_000, (20_000, 500), 8_000, 6_000, 20_000,
        4_000,
    ),
    "small": Sizes(
        (1_500, 8, 5), (3_000, 12, 4), 400, 400, (1_000, 100), 500, 400, 500, 300,
    ),
}  # fmt: skip
GROUPS = 8


def embedded(model: Any) -> Any:
    return model.embedding_


def once_read(table: Table) -> Work:
    n, d = table.X.shape
    return Work(2.0 * n * d * d, float(table.X.itemsize) * n * d, "the scatter of the columns")


def pairs(table: Table) -> Work:
    n, d = table.X.shape
    return Work(2.0 * n * n * d, 8.0 * n * n, "one product of all rows with all rows")


def alone(X: Any) -> Table:
    return Table(X, np.zeros(1))


def angle(axes: Reference) -> Callable[[Table, Any], Verdict]:
    return lambda table, found: off_by(subspaces.sine(axes(table), found))


def principal(name: str, k: int, table: Callable[[], Table]) -> Workload:
    def read(model: Any) -> Any:
        return model.components_

    def peer(solver: str, module: str, label: str) -> Contender:
        return fitted(
            f"{label} {solver}",
            f"{module}.decomposition.PCA",
            read,
            n_components=k,
            svd_solver=solver,
            **({"random_state": 0} if solver == "randomized" else {}),
        )

    return Workload(
        f"PCA, {name} to {k}, float32",
        EQUAL,
        table,
        lambda table, found: Verdict(*subspaces.projection_error(table.X, found)),
        once_read,
        (
            fitted("fenchel", "fenchel.PCA", read, ours=True, n_components=k),
            peer("covariance_eigh", "sklearn", "scikit-learn"),
            peer("randomized", "sklearn", "scikit-learn"),
            peer("covariance_eigh", "sklearnex", "scikit-learn-intelex"),
        ),
        note="The value is the squared error of the projection, against the least.",
    )


def kernel_components(n: int, gamma: float = 0.02, k: int = 10) -> Workload:
    def axes(table: Table) -> Any:
        return subspaces.leading(subspaces.centred(subspaces.gaussian(table.X, gamma)), k)

    def read(model: Any) -> Any:
        return model.eigenvectors_

    settings = {"n_components": k, "kernel": "rbf", "gamma": gamma}
    peer = "sklearn.decomposition.KernelPCA"
    return Workload(
        f"KernelPCA, Gaussian kernel, n={n:,} to {k}",
        EQUAL,
        lambda: alone(blobs(n, 20, 10, seed=2)[0]),
        angle(Reference(axes)),
        pairs,
        (
            fitted("fenchel", "fenchel.KernelPCA", read, ours=True, **settings),
            fitted(
                "scikit-learn arpack",
                peer,
                read,
                ladder=ARPACK,
                eigen_solver="arpack",
                random_state=0,
                **settings,
            ),
            fitted(
                "scikit-learn randomized",
                peer,
                read,
                eigen_solver="randomized",
                random_state=0,
                **settings,
            ),
        ),
        note="The sine of the largest angle to the judge's subspace.",
    )


def isomap(n: int) -> Workload:
    settings = {"n_neighbors": 10, "n_components": 2}
    return Workload(
        f"Isomap, swiss roll, n={n:,}, 10 neighbours to 2",
        EQUAL,
        lambda: Table(*swiss_roll(n, seed=0)),
        angle(Reference(lambda table: subspaces.geodesic_axes(table.X, 10, 2))),
        lambda table: Work(0.0, 8.0 * n * n, "all geodesics once"),
        (
            fitted("fenchel", "fenchel.Isomap", embedded, ours=True, **settings),
            fitted(
                "scikit-learn",
                "sklearn.manifold.Isomap",
                embedded,
                ladder=ARPACK,
                eigen_solver="arpack",
                n_jobs=-1,
                **settings,
            ),
        ),
        note="The sine of the largest angle to the judge's subspace.",
    )


def landmark_isomap(n: int, m: int) -> Workload:
    def unexplained(table: Table, found: Any) -> Verdict:
        """Of the flat coordinates, by a linear map of the embedding."""
        flat = table.y - table.y.mean(axis=0)
        axes = np.column_stack([found, np.ones(n)])
        left = flat - axes @ np.linalg.lstsq(axes, flat, rcond=None)[0]
        return off_by((left**2).sum() / (flat**2).sum())

    return Workload(
        f"Isomap, swiss roll, n={n:,}, {m} landmarks, 10 neighbours to 2",
        0.02,
        lambda: Table(*swiss_roll(n, seed=0)),
        unexplained,
        lambda table: Work(0.0, 8.0 * n * m, "the geodesics of the landmarks once"),
        (
            fitted(
                "fenchel",
                "fenchel.Isomap",
                embedded,
                ours=True,
                n_neighbors=10,
                n_components=2,
                n_landmarks=m,
            ),
        ),
        note="No peer has landmarks; to reach: 10 s. The share of the sheet's own coordinates "
        "that the embedding does not explain.",
    )


def locally_linear(n: int) -> Workload:
    settings = {"n_neighbors": 12, "n_components": 2}
    return Workload(
        f"LLE, swiss roll, n={n:,}, 12 neighbours to 2",
        # The smallest eigenvalues are 1e-9 of the largest: rounding turns the axes by 1e-6.
        1e-4,
        lambda: Table(*swiss_roll(n, seed=1)),
        angle(Reference(lambda table: subspaces.barycentric_axes(table.X, 12, 2))),
        lambda table: Work(0.0, 8.0 * n * 12 * 12, "the weights once"),
        (
            fitted("fenchel", "fenchel.LocallyLinearEmbedding", embedded, ours=True, **settings),
            fitted(
                "scikit-learn arpack",
                "sklearn.manifold.LocallyLinearEmbedding",
                embedded,
                ladder=(1e-6, 1e-9, 1e-12),
                eigen_solver="arpack",
                random_state=0,
                n_jobs=-1,
                **settings,
            ),
        ),
        note="The sine of the largest angle to the judge's subspace.",
    )


def spectral(
    name: str, table: Callable[[], Table], matrix: Callable[[Table], Any], **settings: Any
) -> Workload:
    A = Reference(matrix)

    def read(model: Any) -> Any:
        return model.labels_

    def found(solver: str | None, label: str) -> Contender:
        return fitted(
            label,
            "sklearn.cluster.SpectralClustering",
            read,
            n_clusters=GROUPS,
            eigen_solver=solver,
            random_state=0,
            n_jobs=-1,
            **settings,
        )

    peers = [found("arpack", "scikit-learn arpack"), found("lobpcg", "scikit-learn lobpcg")]
    return Workload(
        f"SpectralClustering, {name}, {GROUPS} groups",
        1e-3,
        table,
        lambda table, labels: Verdict(subspaces.normalised_cut(A(table), labels), 0.0),
        pairs,
        (
            fitted(
                "fenchel",
                "fenchel.SpectralClustering",
                read,
                ours=True,
                n_clusters=GROUPS,
                random_state=0,
                prove=False,
                **settings,
            ),
            *peers,
        ),
        known=lambda table: (
            subspaces.normalised_cut(A(table), subspaces.spectral_groups(A(table), GROUPS)),
        ),
        note="The value is the normalised cut: within 0.1 % of that of the judge's own groups.",
    )


def scaling(n: int) -> Workload:
    def axes(table: Table) -> Any:
        B = subspaces.squared_distances(table.X, table.X)
        B *= -0.5
        return subspaces.leading(subspaces.centred(B), 2)

    def arpack(table: Table) -> Callable[[], Any]:
        return lambda: axes(table)

    return Workload(
        f"ClassicalMDS, n={n:,} to 2",
        EQUAL,
        lambda: alone(blobs(n, 20, 8, seed=13)[0]),
        angle(Reference(axes)),
        pairs,
        (
            fitted("fenchel", "fenchel.ClassicalMDS", embedded, ours=True, n_components=2),
            fitted("scikit-learn", "sklearn.manifold.ClassicalMDS", embedded, n_components=2),
            call("numpy and ARPACK", arpack, yardstick=True),
        ),
        note="The sine of the largest angle to the judge's subspace.",
    )


def workloads(scale: str) -> list[Workload]:
    size = SIZES[scale]
    (n, side, few), (rows, columns, k) = size.images, size.columns
    what = IMAGES if scale == "full" else "synthetic images"

    def mixed(n: int) -> Callable[[], Table]:
        return lambda: alone(blobs(n, 20, GROUPS, seed=12)[0])

    return [
        principal(f"{what}, {n:,} x {side**2}", few, lambda: alone(images(n, side)[0])),
        principal(
            f"{rows:,} x {columns}",
            k,
            lambda: alone(blobs(rows, columns, 20, seed=5, dtype=np.float32)[0]),
        ),
        kernel_components(size.kernel),
        isomap(size.roll),
        landmark_isomap(*size.long_roll),
        locally_linear(size.sheet),
        spectral(
            f"Gaussian kernel, n={size.affinity:,}",
            mixed(size.affinity),
            lambda table: subspaces.gaussian(table.X, 0.05),
            gamma=0.05,
        ),
        spectral(
            f"10 neighbours, n={size.graph:,}",
            mixed(size.graph),
            lambda table: subspaces.neighbour_affinity(table.X, 10),
            affinity="nearest_neighbors",
            n_neighbors=10,
        ),
        scaling(size.distances),
    ]
