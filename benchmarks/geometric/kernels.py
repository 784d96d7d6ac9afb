"""Kernel machines: support vectors, ridge, landmarks, logistic regression, strings."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from benchmarks.data import Table
from benchmarks.gap import Verdict
from benchmarks.machine import Work
from benchmarks.protocol import Contender, Workload

from . import expansions
from .contenders import call, fitted, off_by
from .tables import IMAGES, blobs, images, letters

GAMMA = 0.02
GAP = 1e-3  # relative, of the dual: what scikit-learn's default tolerance proves
TOLERANCES = (1e-2, 1e-3, 1e-4)
RESIDUAL = 1e-9  # of ridge equations: float64 accuracy at a condition of about 1e5


class Sizes(NamedTuple):
    blobs: tuple[int, int]
    images: tuple[int, int]
    ridge: int
    landmarks: tuple[int, int]
    strings: tuple[int, int]


SIZES = {
    "full": Sizes((20_000, 50), (60_000, 28), 8_000, (200_000, 2_000), (1_000, 200)),
    "small": Sizes((800, 8), (1_500, 8), 400, (2_000, 60), (20, 30)),
}


def two_groups(n: int, d: int) -> Table:
    """Groups that belong to two classes by turns, 5 % of the labels flipped."""
    X, groups = blobs(n, d, 40, seed=7, spread=0.35)
    rng = np.random.default_rng(0)
    y = groups % 2
    return Table(X, np.where(rng.random(n) < 0.05, 1 - y, y))


def two_garments(n: int, side: int) -> Table:
    """The images of the classes 0 and 6: tops and shirts."""
    X, y = images(n, side)
    some = (y == 0) | (y == 6)
    return Table(X[some], (y[some] == 6).astype(np.int64))


def waves(n: int, seed: int = 2) -> Table:
    """A smooth function of 20 columns with noise of deviation 0.1."""
    X = blobs(n, 20, 10, seed=seed)[0]
    rng = np.random.default_rng(0)
    return Table(X, np.sin(X @ rng.standard_normal(20) / 4) + 0.1 * rng.standard_normal(n))


def pairs(table: Table) -> Work:
    n, d = table.X.shape
    return Work(2.0 * n * n * d, 8.0 * n * d, "one product of all rows with all rows")


def dual_coefficients(model: Any) -> Any:
    coef = model.dual_coef_
    return model.support_, np.ravel(coef.toarray() if issparse(coef) else coef)


def support_vectors(name: str, table: Callable[[], Table], C: float) -> Workload:
    def machine(label: str, path: str, dtype: Any, **more: Any) -> Contender:
        return fitted(
            f"{label}, {np.dtype(dtype).name}",
            path,
            dual_coefficients,
            labels=True,
            dtype=dtype,
            C=C,
            gamma=GAMMA,
            ladder=TOLERANCES,
            cache_size=2000,
            **more,
        )

    return Workload(
        f"SVC, Gaussian kernel, {name}, C={C:g}",
        GAP,
        table,
        lambda table, found: expansions.svm(table.X.astype(np.float64), table.y, C, GAMMA, *found),
        pairs,
        (
            machine("fenchel", "fenchel.SVC", np.float64, ours=True),
            machine("fenchel", "fenchel.SVC", np.float32, ours=True),
            machine("scikit-learn", "sklearn.svm.SVC", np.float64),
            machine("scikit-learn-intelex", "sklearnex.svm.SVC", np.float64),
            machine("scikit-learn-intelex", "sklearnex.svm.SVC", np.float32),
        ),
        note="The duality gap of the coefficients, made feasible, with the best intercept.",
    )


class Predicted(NamedTuple):
    labels: Any
    vectors: Any
    coef: Any
    intercept: float


def predicting(name: str, path: str, dtype: Any, **more: Any) -> Contender:
    def prepare(table: Table) -> Callable[[], Any]:
        module, _, cls = path.rpartition(".")
        kind = getattr(import_module(module), cls)
        X = table.X.astype(dtype)
        model = kind(C=1.0, gamma=GAMMA, cache_size=2000).fit(X, table.y)
        vectors, (_, coef) = model.support_vectors_, dual_coefficients(model)
        b = float(np.ravel(model.intercept_)[0])
        return lambda: Predicted(model.predict(X), vectors, coef, b)

    return call(f"{name}, {np.dtype(dtype).name}", prepare, **more)


def prediction(n: int, d: int) -> Workload:
    def judge(table: Table, found: Predicted) -> Verdict:
        some = np.linspace(0, n - 1, 200).astype(int)
        f = expansions.kernel_product(table.X[some], found.vectors, GAMMA, found.coef)
        return off_by(np.mean(found.labels[some] != (f + found.intercept > 0)))

    return Workload(
        f"SVC predict, Gaussian kernel, {n:,} x {d}, C=1",
        1e-3,
        lambda: two_groups(n, d),
        judge,
        pairs,
        (
            predicting("fenchel", "fenchel.SVC", np.float64, ours=True),
            predicting("fenchel", "fenchel.SVC", np.float32, ours=True),
            predicting("scikit-learn", "sklearn.svm.SVC", np.float64),
            predicting("scikit-learn-intelex", "sklearnex.svm.SVC", np.float64),
            predicting("scikit-learn-intelex", "sklearnex.svm.SVC", np.float32),
        ),
        note="Each predicts with its own support vectors, about 60 % of the rows; the share of "
        "some rows whose class the sign of the judge's sum does not give.",
    )


def single_cholesky(alpha: float) -> Contender:
    """What a factor in float32 alone gives: a yardstick for time, not for accuracy."""

    def prepare(table: Table) -> Callable[[], Any]:
        from scipy.linalg import cho_factor, cho_solve

        X, y = table.X.astype(np.float32), table.y.astype(np.float32)

        def task() -> Any:
            square = (X * X).sum(axis=1)
            K = X @ X.T
            K *= 2
            K -= square
            K -= square[:, None]
            K *= GAMMA
            np.exp(K, out=K)
            K.flat[:: len(K) + 1] += alpha
            factor = cho_factor(K, overwrite_a=True, lower=True, check_finite=False)
            return cho_solve(factor, y, check_finite=False)

        return task

    return call("numpy float32 Cholesky", prepare, yardstick=True)


def kernel_ridge(n: int, alpha: float = 0.1) -> Workload:
    def read(model: Any) -> Any:
        return model.dual_coef_

    settings = {"alpha": alpha, "kernel": "rbf", "gamma": GAMMA}
    return Workload(
        f"KernelRidge, Gaussian kernel, n={n:,}, d=20",
        RESIDUAL,
        lambda: waves(n),
        lambda table, c: off_by(expansions.ridge_residual(*table, alpha, GAMMA, c)),
        lambda table: Work(n**3 / 3.0, 8.0 * n * n, "a Cholesky factor in float64"),
        (
            fitted(
                "fenchel",
                "fenchel.KernelRidge",
                read,
                ours=True,
                labels=True,
                ladder=(1e-6, 1e-9, 1e-12),
                **settings,
            ),
            fitted(
                "scikit-learn", "sklearn.kernel_ridge.KernelRidge", read, labels=True, **settings
            ),
            single_cholesky(alpha),
        ),
        note="The relative residual of the equations.",
    )


def landmarks(n: int, m: int, alpha: float = 0.1) -> Workload:
    def unexplained(table: Table, model: Any) -> Verdict:
        """Of the target on rows that were not seen."""
        fresh = waves(len(table.X) + 5_000)
        X, y = fresh.X[-5_000:], fresh.y[-5_000:]
        left = y - np.ravel(model.predict(X))
        return off_by(left @ left / ((y - y.mean()) ** 2).sum())

    def read(model: Any) -> Any:
        return model

    def pipeline(dtype: Any) -> Contender:
        def prepare(table: Table) -> Callable[[], Any]:
            from sklearn.kernel_approximation import Nystroem
            from sklearn.linear_model import Ridge
            from sklearn.pipeline import make_pipeline

            X, y = table.X.astype(dtype), table.y.astype(dtype)

            def task() -> Any:
                features = Nystroem(gamma=GAMMA, n_components=m, random_state=0)
                return make_pipeline(features, Ridge(alpha=alpha)).fit(X, y)

            return task

        return call(f"scikit-learn, {np.dtype(dtype).name}", prepare)

    def ours(dtype: Any) -> Contender:
        return fitted(
            f"fenchel, {np.dtype(dtype).name}",
            "fenchel.KernelRidge",
            read,
            ours=True,
            labels=True,
            dtype=dtype,
            alpha=alpha,
            kernel="rbf",
            gamma=GAMMA,
            landmarks=m,
        )

    return Workload(
        f"ridge on {m:,} landmarks, n={n:,}, d=20",
        # A few thousand rows and a few dozen landmarks tell less of the waves.
        0.05 if n >= 100_000 else 0.2,
        lambda: waves(n),
        unexplained,
        lambda table: Work(2.0 * n * m * (m + 20), 8.0 * n * 20, "kernel values and their Gram"),
        (ours(np.float64), ours(np.float32), pipeline(np.float64), pipeline(np.float32)),
        note="1 - R² on fresh rows: the share that is left.",
    )


def kernel_logistic(n: int, C: float = 1.0) -> Workload:
    def read(model: Any) -> Any:
        return model.dual_coef_, float(np.ravel(model.intercept_)[0])

    def ridge(model: Any) -> Any:
        return model.dual_coef_

    def judge(table: Table, found: Any) -> Verdict:
        if isinstance(found, tuple):
            return expansions.logistic(table.X, table.y, C, GAMMA, *found)
        return off_by(expansions.ridge_residual(*table, 1 / C, GAMMA, found))

    return Workload(
        f"KernelLogisticRegression, Gaussian kernel, n={n:,}, d=50",
        1e-6,
        lambda: two_groups(n, 50),
        judge,
        pairs,
        (
            fitted(
                "fenchel",
                "fenchel.KernelLogisticRegression",
                read,
                ours=True,
                labels=True,
                C=C,
                kernel="rbf",
                gamma=GAMMA,
            ),
            fitted(
                "fenchel KernelRidge",
                "fenchel.KernelRidge",
                ridge,
                labels=True,
                alpha=1 / C,
                kernel="rbf",
                gamma=GAMMA,
                tol=1e-9,
                problem=1,
            ),
        ),
        one_problem=False,
        note="The peer is one ridge fit of ours on the same rows: a logistic one is to take no "
        "more than three times as long, a ratio of 0.33.",
    )


def strings(n: int, length: int, k: int = 4, decay: float = 0.5) -> Workload:
    def prepare(table: Table) -> Callable[[], Any]:
        from fenchel.data.design.kernel_tiles import gram_matrix
        from fenchel.geometry.strings.subsequence import Subsequence

        texts = [bytes(row) for row in table.X]
        return lambda: gram_matrix(Subsequence(k, decay), np.array(texts, object))

    def judge(table: Table, K: Any) -> Verdict:
        rng, error = np.random.default_rng(0), 0.0
        for i, j in rng.integers(0, n, (10, 2)):
            own = [expansions.subsequences(table.X[a], table.X[a], k, decay) for a in (i, j)]
            right = expansions.subsequences(table.X[i], table.X[j], k, decay)
            error = max(error, abs(K[i, j] * np.sqrt(own[0] * own[1]) / right - 1.0))
        return off_by(error)

    return Workload(
        f"Gram matrix of the subsequence kernel, {n:,} strings of {length}, k={k}",
        1e-9,
        lambda: Table(letters(n, length, seed=1), np.zeros(1)),
        judge,
        lambda table: Work(
            3.0 * k * length**2 * n * (n + 1) / 2, 0.0, "three operations a cell and level"
        ),
        (call("fenchel", prepare, ours=True),),
        note="No peer in Python; to reach: 20 s for 1,000 strings of 200 letters.",
    )


def workloads(scale: str) -> list[Workload]:
    size = SIZES[scale]
    (n, d), (m, side) = size.blobs, size.images
    what = IMAGES if scale == "full" else "synthetic images"
    return [
        support_vectors(f"{n:,} x {d}", lambda: two_groups(n, d), 1.0),
        support_vectors(
            f"{what}, two classes of {m:,} x {side**2}", lambda: two_garments(m, side), 10.0
        ),
        prediction(n, d),
        kernel_ridge(size.ridge),
        landmarks(*size.landmarks),
        kernel_logistic(size.ridge),
        strings(*size.strings),
    ]
