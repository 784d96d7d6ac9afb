"""How times fall with threads, 1, 2, 4, ... all cores, and that the bits stay the same.

Speed-up is the time on one thread over the time on n; efficiency is speed-up / n.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from joblib import cpu_count

from .data import coin
from .report import pipes

RUNS, ENOUGH = 5, 4.0  # at most so many timed runs, and none begins after so many seconds
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


@dataclass
class Times:
    """The best time of each number of threads; whether all gave the same bits; or why not."""

    job: Job
    seconds: dict[int, float] = field(default_factory=dict)
    agree: bool = True
    failure: str = ""

    def speed_up(self, threads: int) -> float:
        return self.seconds[1] / self.seconds[threads]

    def cells(self, counts: list[int]) -> list[str]:
        if self.failure:
            return [self.job.title, *("-" for _ in counts), "-", "-", "-", self.failure]
        most = max(self.seconds)
        rate = ""
        if self.job.reads:
            rate = f"{8e-9 * self.job.rows * self.job.columns / self.seconds[most]:.1f} GB/s"
        return [
            self.job.title,
            *(f"{self.seconds[n]:.3g}" for n in counts),
            f"{self.speed_up(most):.1f}",
            f"{self.speed_up(most) / most:.0%}",
            "yes" if self.agree else "NO",
            rate,
        ]


def thread_counts(cores: int) -> list[int]:
    """1, 2, 4, ... and all cores."""
    return sorted({*(2**k for k in range(cores.bit_length()) if 2**k <= cores), cores})


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
    from fenchel.convex.margin import Logistic

    X, z = table(n, d)
    design = MatrixDesign(as_blocks(X, np.where(labels(z) == 1, 1.0, -1.0)))
    problem, w = Problem(Logistic(), L2(1e-6), design, True), np.full(d, 0.1)

    def task() -> tuple[Any, ...]:
        seen = problem.evaluate((w.copy(), 0.1))
        return seen.value, seen.pull, seen.level

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
        Job("scan of a Parquet file", size(2_000_000), 30, scanning, missing=no_polars),
    ]


def digest(numbers: tuple[Any, ...]) -> str:
    bits = hashlib.sha256()
    for value in numbers:
        bits.update(np.ascontiguousarray(value).tobytes())
    return bits.hexdigest()


def measure(job: Job, counts: list[int]) -> Times:
    """All numbers of threads in one process, the table made once."""
    from fenchel import threads

    times = Times(job, failure=job.missing)
    if times.failure:
        return times
    found = set()
    with warnings.catch_warnings(), job.ready(job.rows, job.columns) as task:
        warnings.simplefilter("ignore")
        with threads(counts[-1]):
            found.add(digest(task()))  # compiles, and starts the threads
        for n in counts:
            with threads(n):
                began, seconds = time.perf_counter(), []
                while not seconds or (len(seconds) < RUNS and time.perf_counter() - began < ENOUGH):
                    start = time.perf_counter()
                    numbers = task()
                    seconds.append(time.perf_counter() - start)
                    found.add(digest(numbers))
            times.seconds[n] = min(seconds)
    times.agree = len(found) == 1
    return times


def page(scale: str, only: str, say: Callable[[str], None]) -> tuple[str, Any]:
    """The table, and the same for a file."""
    counts = thread_counts(cpu_count())
    rows = []
    for job in jobs(scale):
        if only not in job.title.lower():
            continue
        rows.append(measure(job, counts))
        say(f"  {' | '.join(rows[-1].cells(counts))}")
    header = ["seconds on so many threads", *map(str, counts)]
    header += ["speed-up", "efficiency", "same bits", "remark"]
    note = (
        f"Best of up to {RUNS} warm runs. Speed-up and efficiency are those of all "
        f"{counts[-1]} threads; same bits: of every number that is compared, from every run and "
        f"every number of threads. BLAS threads outside our passes: "
        f"{os.environ.get('OMP_NUM_THREADS', 'its default')}."
    )
    body = [row.cells(counts) for row in rows]
    raw = [
        {
            "job": row.job.title,
            "seconds": {str(n): seconds for n, seconds in row.seconds.items()},
            "same_bits": row.agree,
            "missing": row.failure,
        }
        for row in rows
    ]
    return f"## Scaling\n\n{note}\n\n{pipes(header, body)}", raw
