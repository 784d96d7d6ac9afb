"""What the first fit on a machine costs: compiling, with an empty cache for each estimator.

A fit is made twice in a fresh process; the first compiles what it needs, the second needs nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numba.core import event
from scipy import sparse

from .report import pipes

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Case:
    """An estimator and the rows that make it compile as much as it ever does in one fit."""

    estimator: str
    rows: str  # real, binary, classes, strings; wide: columns that depend on each other
    parameters: dict[str, Any]
    sparse: bool = False

    @property
    def name(self) -> str:
        said = [f"{key}={value!r}" for key, value in self.parameters.items()]
        kind = [word for word in ("sparse" if self.sparse else "", self.rows) if word]
        return f"{self.estimator}({', '.join(said)}), {' '.join(kind)}"


CASES = (
    Case("LinearRegression", "real", {}),
    Case("Ridge", "real", {}),
    Case("Ridge", "real", {}, sparse=True),
    Case("RidgeCV", "real", {}),
    Case("HuberRegressor", "real", {}),
    Case("Lasso", "real", {"alpha": 0.1}),
    Case("Lasso", "wide", {"alpha": 1e-3}),
    Case("Lasso", "real", {"alpha": 0.1}, sparse=True),
    Case("LassoCV", "wide", {"cv": 3}),
    Case("ElasticNet", "real", {"alpha": 0.1}),
    Case("ElasticNetCV", "real", {"cv": 3}),
    Case("LogisticRegression", "binary", {}),
    Case("LogisticRegression", "binary", {}, sparse=True),
    Case("LogisticRegression", "binary", {"l1_ratio": 1.0}),
    Case("LogisticRegression", "classes", {}),
    Case("LogisticRegressionCV", "binary", {"cv": 3}),
    Case("Perceptron", "binary", {}),
    Case("Perceptron", "binary", {"penalty": "l1"}),
    Case("Perceptron", "binary", {}, sparse=True),
    Case("Adaline", "binary", {"eta0": 0.01}),
    Case("LinearSVC", "binary", {"loss": "hinge"}),
    Case("LinearSVC", "binary", {"loss": "hinge"}, sparse=True),
    Case("LinearSVC", "classes", {"multi_class": "crammer_singer"}, sparse=True),
    Case("LinearSVR", "real", {}),
    Case("QuantileRegressor", "real", {"alpha": 0.1}),
    Case("LeastAbsoluteDeviations", "real", {}),
    Case("ERMClassifier", "binary", {}),
    Case("ERMRegressor", "real", {}),
    Case("PairwiseRanker", "real", {"loss": "hinge"}),
    Case("PairwiseRanker", "real", {"loss": "squared_hinge"}),
    Case("PairwiseRanker", "real", {"loss": "logistic"}),
    Case("NeymanPearsonClassifier", "binary", {"base": "LogisticRegression", "alpha": 0.1}),
    Case("KMeans", "real", {"n_clusters": 3, "random_state": 0}),
    Case("BisectingKMeans", "real", {"n_clusters": 3}),
    Case("GaussianMixture", "real", {"n_components": 2}),
    Case("KernelDensity", "real", {"bandwidth": "loo"}),
    Case("LinearDiscriminantAnalysis", "classes", {}),
    Case("QuadraticDiscriminantAnalysis", "classes", {}),
    Case("RegularizedDiscriminantAnalysis", "classes", {}),
    Case("RegularizedDiscriminantAnalysisCV", "classes", {}),
    Case("FisherDiscriminant", "classes", {}),
    Case("KernelFisherDiscriminant", "classes", {}),
    Case("NearestNeighbors", "real", {}),
    Case("KNeighborsClassifier", "classes", {}),
    Case("KNeighborsRegressor", "real", {}),
    Case("NadarayaWatson", "real", {}),
    Case("NadarayaWatsonClassifier", "classes", {}),
    Case("PCA", "real", {"n_components": 2}),
    Case("ClassicalMDS", "real", {}),
    Case("LocallyLinearEmbedding", "real", {}),
    Case("KernelPCA", "real", {"n_components": 2, "kernel": "rbf"}),
    Case("Isomap", "real", {}),
    Case("SpectralEmbedding", "real", {}),
    Case("SpectralClustering", "real", {}),
    Case("KernelRidge", "real", {"kernel": "rbf"}),
    Case("KernelRidge", "real", {"kernel": "rbf", "landmarks": 50}),
    Case("Nystroem", "real", {"n_components": 50}),
    Case("KernelRidge", "strings", {"kernel": "Mismatch"}),
    Case("KernelRidge", "strings", {"kernel": "Subsequence"}),
    Case("KernelRidgeCV", "real", {"kernel": "rbf"}),
    Case("KernelLogisticRegression", "binary", {}),
    Case("KernelLogisticRegression", "classes", {}),
    Case("ERMClassifier", "binary", {"loss": "hinge", "kernel": "rbf"}),
    Case("KNeighborsRegressor", "strings", {"n_neighbors": "auto", "kernel": "EditDistance"}),
    Case("SVC", "binary", {}),
    Case("SVR", "real", {}),
    Case("OneClassSVM", "real", {}),
    Case("SVC", "binary", {"landmarks": 50}),
    Case("SVR", "real", {"landmarks": 50}),
    Case("OneClassSVM", "real", {"landmarks": 50}),
)


@dataclass(frozen=True)
class Compiled:
    """Two fits in a process with an empty cache: wall and processor seconds of each, and what
    numba compiled: (module, function, types of its arguments)."""

    first: float
    second: float
    first_cpu: float
    second_cpu: float
    functions: tuple[tuple[str, str, str], ...]


class Listener(event.Listener):  # type: ignore[misc]
    """Writes down every function that numba compiles, its own library's too."""

    def __init__(self) -> None:
        self.functions: list[tuple[str, str, str]] = []

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"].py_func
        types = str(event.data["args"])
        self.functions.append((function.__module__, function.__qualname__, types))

    def on_end(self, event: Any) -> None:
        pass


def table(rows: str, as_sparse: bool) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(0)
    if rows == "wide":
        X = rng.standard_normal((60, 150))
        X[:, 75:78] = X[:, :3] * [1.0, -1.0, 2.0]
        return X, X[:, :5].sum(axis=1) + rng.standard_normal(60)
    X = rng.standard_normal((200, 5))
    z = X @ np.arange(1.0, 6.0) + 4.0 * rng.standard_normal(200)
    if rows == "strings":
        return ["".join(row) for row in rng.choice(list("ACGT"), (200, 30))], z
    if as_sparse:
        X = sparse.csr_matrix(X * (rng.random(X.shape) < 0.4))
    if rows == "real":
        return X, z
    return X, (z > 0).astype(int) if rows == "binary" else np.digitize(z, [-4.0, 4.0])


def fit_twice(case: Case) -> Compiled:
    """In this process: meant for a fresh one."""
    import fenchel

    listener = Listener()
    event.register("numba:compile", listener)
    X, y = table(case.rows, case.sparse)
    kind: Callable[..., Any] = getattr(fenchel, case.estimator)
    parameters = dict(case.parameters)
    if "base" in parameters:
        parameters["base"] = getattr(fenchel, parameters["base"])()
    if case.rows == "strings":
        parameters["kernel"] = getattr(fenchel.kernels, parameters["kernel"])()
    seconds: list[float] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            start, cpu = time.perf_counter(), time.process_time()
            kind(**parameters).fit(X, y)
            seconds += [time.perf_counter() - start, time.process_time() - cpu]
    return Compiled(seconds[0], seconds[2], seconds[1], seconds[3], tuple(listener.functions))


def measure(case: Case) -> Compiled:
    """In a fresh process with an empty cache; BLAS on one thread, whose waiting would count."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.compiling", str(CASES.index(case))],
            env={**os.environ, "NUMBA_CACHE_DIR": folder, "OMP_NUM_THREADS": "1"},
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
    if done.returncode:
        raise RuntimeError(f"{case.name}: {done.stderr.strip().splitlines()[-1]}")
    found = json.loads(done.stdout)
    found["functions"] = tuple(map(tuple, found["functions"]))
    return Compiled(**found)


def page(scale: str, only: str, say: Callable[[str], None]) -> tuple[str, Any]:
    """The table, and the same for a file; `scale` makes no difference."""
    body, raw = [], []
    for case in CASES:
        if only not in case.name.lower():
            continue
        found = measure(case)
        compiling, cpu = found.first - found.second, found.first_cpu - found.second_cpu
        ours = sum(module.startswith("fenchel") for module, _, _ in found.functions)
        others = len(found.functions) - ours
        body.append([case.name, f"{compiling:.2f}", f"{cpu:.2f}", str(ours), str(others)])
        raw.append({"case": case.name, "seconds": compiling, "cpu": cpu, "functions": ours})
        say(f"  {case.name}: {compiling:.2f} s")
    header = ["first fit of", "compiling, s", "processor, s", "our loops", "numba's own"]
    note = (
        "First fit less second fit of one process with an empty cache; loops compiled in between."
    )
    return f"## Compiling\n\n{note}\n\n{pipes(header, body)}", raw


if __name__ == "__main__":
    print(json.dumps(asdict(fit_twice(CASES[int(sys.argv[1])]))))
