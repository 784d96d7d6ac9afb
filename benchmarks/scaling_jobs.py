"""The work whose times `python -m benchmarks scaling` takes on 1, 2, 4, ... threads."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from .data import coin

Task = Callable[[], tuple[Any, ...]]  # one run; the numbers whose bits must agree


@dataclass(frozen=True)
class Job:
    """`ready(rows, columns)` makes the table and gives the task, as a context: files go at its end.

    reads: whether one reading of the table is its whole work, for a rate in GB/s.
    """

    name: str
    rows: int
    columns: int
    ready: Callable[[int, int], Any]
    reads: bool = False
    missing: str = ""  # why it cannot run here; empty if it can

    @property
    def title(self) -> str:
        columns = f" x {self.columns:,}" if self.columns > 1 else ""
        return f"{self.name}, {self.rows:,}{columns}"


def table(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian rows and scores of deviation 2, a few rows at a time: at most one copy in memory."""
    rng = np.random.default_rng(0)
    X = np.empty((n, d))
    for start in range(0, n, 100_000):
        part = X[start : start + 100_000]
        part[:] = rng.standard_normal(part.shape)
    return X, X @ (2.0 * rng.standard_normal(d) / np.sqrt(d))


def labels(z: np.ndarray) -> np.ndarray:
    return coin(z, np.random.default_rng(1))


def noisy(z: np.ndarray) -> np.ndarray:
    return z + np.random.default_rng(1).standard_normal(len(z))


@contextmanager
def one_pass(n: int, d: int) -> Iterator[Task]:
    """Value and gradient of the logistic loss."""
    from fenchel import L2, MatrixDesign, Problem, as_blocks
    from fenchel.convex.loss.margin import Logistic

    X, z = table(n, d)
    design = MatrixDesign(as_blocks(X, np.where(labels(z) == 1, 1.0, -1.0)))
    problem, w = Problem(Logistic(), L2(1e-6), design, True), np.full(d, 0.1)

    def task() -> tuple[Any, ...]:
        seen = problem.evaluate((w.copy(), 0.1))
        return seen.value, seen.grad_w, seen.grad_b

    yield task


def fit_of(
    target: Callable[[np.ndarray], np.ndarray], estimator: str, **parameters: Any
) -> Callable[[int, int], Any]:
    @contextmanager
    def ready(n: int, d: int) -> Iterator[Task]:
        import fenchel

        X, z = table(n, d)
        y, kind = target(z), getattr(fenchel, estimator)

        def task() -> tuple[Any, ...]:
            model = kind(**parameters).fit(X, y)
            return model.coef_, model.intercept_

        yield task

    return ready


def tenths(z: np.ndarray) -> np.ndarray:
    """Ten classes by the noisy score."""
    seen = noisy(z)
    return np.searchsorted(np.quantile(seen, np.arange(1, 10) / 10), seen)


@contextmanager
def lasso(n: int, d: int) -> Iterator[Task]:
    from fenchel import lasso_path

    X, z = table(n, d)
    X, y = np.asfortranarray(X), noisy(z)
    y -= y.mean()
    yield lambda: lasso_path(X, y, alphas=50)[:2]


@contextmanager
def area(n: int, _: int) -> Iterator[Task]:
    from fenchel import auc

    rng = np.random.default_rng(0)
    y = (rng.random(n) < 0.3).astype(np.int64)
    score = rng.standard_normal(n) + y
    yield lambda: (float(auc(y, score)),)


@contextmanager
def scanning(n: int, d: int) -> Iterator[Task]:
    """A Parquet file read into its cache, and one pass over that."""
    import polars

    from fenchel import scan

    X, z = table(n, d)
    names = {f"x{j}": X[:, j] for j in range(d)}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.parquet"
        polars.DataFrame({**names, "y": z}).write_parquet(file)

        def task() -> tuple[Any, ...]:
            with scan(file, target="y", cache_dir=folder) as blocks:
                return blocks.n_rows, blocks.reduce(lambda block: block.y @ block.X)

        yield task


def groups(n: int, d: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of k overlapping Gaussian groups, and their groups."""
    rng = np.random.default_rng(0)
    centres, group = 2.0 * rng.standard_normal((k, d)), rng.integers(k, size=n)
    return centres[group] + rng.standard_normal((n, d)), group


def falling(n: int, d: int) -> np.ndarray:
    """float32 rows whose deviations fall like 1/j along hidden axes, as those of images do."""
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0] / np.arange(1.0, d + 1.0)[:, None]
    return (rng.standard_normal((n, d)) @ turn).astype(np.float32)


@contextmanager
def clusters(n: int, d: int) -> Iterator[Task]:
    import fenchel

    X = groups(n, d, 100)[0].astype(np.float32)
    start = X[np.random.default_rng(1).choice(n, min(100, n // 4), replace=False)]

    def task() -> tuple[Any, ...]:
        model = fenchel.KMeans(
            len(start), init=start, n_init=1, max_iter=20, tol=0.0, prove=False
        ).fit(X)
        return model.cluster_centers_, model.labels_

    yield task


@contextmanager
def mixture(n: int, d: int) -> Iterator[Task]:
    import fenchel

    X, _ = groups(n, d, 20)
    start = X[:20].copy()

    def task() -> tuple[Any, ...]:
        model = fenchel.GaussianMixture(20, means_init=start, max_iter=20, tol=0.0).fit(X)
        return model.means_, model.covariances_

    yield task


@contextmanager
def axes(n: int, d: int) -> Iterator[Task]:
    import fenchel

    X = falling(n, d)

    def task() -> tuple[Any, ...]:
        model = fenchel.PCA(min(50, d // 2)).fit(X)
        return model.components_, model.explained_variance_

    yield task


def classes_of(estimator: str) -> Callable[[int, int], Any]:
    @contextmanager
    def ready(n: int, d: int) -> Iterator[Task]:
        import fenchel

        X, y = groups(n, d, 5)
        kind = getattr(fenchel, estimator)
        yield lambda: (kind().fit(X, y).means_,)

    return ready


@contextmanager
def posterior(n: int, d: int) -> Iterator[Task]:
    import fenchel

    X, y = groups(n, d, 5)
    model = fenchel.QuadraticDiscriminantAnalysis().fit(X, y)
    yield lambda: (model.predict_proba(X),)


@contextmanager
def nearest(n: int, d: int) -> Iterator[Task]:
    import fenchel

    X = falling(n + min(n, 10_000), d)
    model = fenchel.NearestNeighbors(n_neighbors=10).fit(X[:n])
    yield lambda: model.kneighbors(X[n:])


@contextmanager
def kernel_axes(n: int, d: int) -> Iterator[Task]:
    import fenchel

    X, _ = table(n, d)
    yield lambda: (fenchel.KernelPCA(10, kernel="rbf", gamma=0.5 / d).fit(X).eigenvalues_,)


@contextmanager
def kernel_ridge(n: int, d: int) -> Iterator[Task]:
    import fenchel

    X, z = table(n, d)
    y = noisy(z)
    yield lambda: (fenchel.KernelRidge(1.0, kernel="rbf", gamma=0.5 / d).fit(X, y).dual_coef_,)


@contextmanager
def kernel_logistic(n: int, d: int) -> Iterator[Task]:
    import fenchel

    X, z = table(n, d)
    model = fenchel.KernelLogisticRegression(gamma=0.5 / d)
    y = labels(z)
    yield lambda: (model.fit(X, y).dual_coef_,)


@contextmanager
def support_vectors(n: int, d: int) -> Iterator[Task]:
    import fenchel

    X, z = table(n, d)
    y = labels(z)
    yield lambda: (fenchel.SVC(gamma=0.5 / d).fit(X, y).dual_coef_,)


def jobs(scale: str) -> list[Job]:
    full = scale == "full"

    def size(n: int) -> int:
        return n if full else n // 100

    no_polars = "" if find_spec("polars") else "polars is not installed"
    cv = fit_of(labels, "LogisticRegressionCV", Cs=5, cv=4)
    hinge = fit_of(labels, "LinearSVC", loss="hinge", C=0.01)
    return [
        Job("value and gradient", size(500_000), 50, one_pass, reads=True),
        Job("value and gradient", size(2_000_000), 100, one_pass, reads=True),
        Job("logistic L2", size(500_000), 50, fit_of(labels, "LogisticRegression")),
        Job("logistic L2", size(2_000_000), 100, fit_of(labels, "LogisticRegression")),
        Job("multinomial, 10 classes", size(100_000), 50, fit_of(tenths, "LogisticRegression")),
        Job("ridge", size(2_000_000), 100, fit_of(noisy, "Ridge")),
        Job("lasso path of 50", size(100_000), 500 if full else 50, lasso),
        Job("hinge", size(50_000), 500 if full else 20, hinge),
        Job("cross-validated logistic, 5 x 4", size(200_000), 50, cv),
        Job("AUC", size(10_000_000), 1, area),
        Job("k-means, 100 clusters, 20 iterations, float32", size(200_000), 32, clusters),
        Job("Gaussian mixture of 20, 20 iterations", size(200_000), 16, mixture),
        Job("principal axes, 50, float32", size(60_000), 784 if full else 60, axes),
        Job("linear discriminant", size(1_000_000), 50, classes_of("LinearDiscriminantAnalysis")),
        Job("quadratic discriminant, posterior", size(1_000_000), 50, posterior),
        Job("10 neighbours of 10,000 rows, float32", size(60_000), 784 if full else 20, nearest),
        Job("kernel PCA, 10 axes", size(8_000), 20, kernel_axes),
        Job("kernel ridge", size(8_000), 20, kernel_ridge),
        Job("kernel logistic", size(8_000), 20, kernel_logistic),
        Job("support vectors, RBF", size(20_000), 50, support_vectors),
        Job("scan of a Parquet file", size(2_000_000), 30, scanning, missing=no_polars),
    ]
