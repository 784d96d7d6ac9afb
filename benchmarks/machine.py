"""What this machine is and can do: processor, versions, measured BLAS rate and read bandwidth."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from joblib import cpu_count
from threadpoolctl import threadpool_limits

PACKAGES = (
    "fenchel",
    "numpy",
    "scipy",
    "numba",
    "scikit-learn",
    "scikit-learn-intelex",
    "snapml",
    "liblinear-official",
    "skglm",
    "celer",
    "faiss-cpu",
    "mlpack",
)


@dataclass(frozen=True, slots=True)
class Work:
    """What no method can avoid on a workload: operations, bytes read, and which ones they are."""

    flops: float
    bytes: float
    meaning: str


@dataclass(frozen=True, slots=True)
class Machine:
    processor: str
    threads: int
    memory_gib: float
    flops_per_second: float  # float64 matrix product, all threads
    bytes_per_second: float  # reading, all threads

    def floor(self, work: Work) -> float:
        """Seconds: the longer of the arithmetic and the reading."""
        return max(work.flops / self.flops_per_second, work.bytes / self.bytes_per_second)


def best(run: Callable[[], Any], times: int) -> float:
    run()
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def blas_rate(size: int = 2000) -> float:
    rng = np.random.default_rng(0)
    A, B, out = rng.random((size, size)), rng.random((size, size)), np.empty((size, size))
    return 2 * size**3 / best(lambda: np.matmul(A, B, out=out), 4)


def read_bandwidth(megabytes: int = 400) -> float:
    """x·x over an array much larger than the caches, each thread on its own part."""
    parts = np.array_split(np.ones(megabytes * 125_000), cpu_count())
    with threadpool_limits(1), ThreadPoolExecutor(cpu_count()) as pool:
        seconds = best(lambda: list(pool.map(lambda part: np.dot(part, part), parts)), 6)
    return megabytes * 1e6 / seconds


def processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def measure() -> Machine:
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Machine(processor(), cpu_count(), pages / 2**30, blas_rate(), read_bandwidth())


def versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "system": platform.platform(terse=True)}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
