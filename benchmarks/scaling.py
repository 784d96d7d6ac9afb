"""How times fall with threads, 1, 2, 4, ... all cores, and that the bits stay the same.

Speed-up is the time on one thread over the time on n; efficiency is speed-up / n.
"""

from __future__ import annotations

import hashlib
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import cpu_count

from .report import pipes
from .scaling_jobs import Job, jobs

RUNS, ENOUGH = 5, 4.0  # at most so many timed runs, and none begins after so many seconds


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
