"""From a file to rows that can be passed over: our scan against what polars takes to read it.

polars holds the columns in memory; the scan checks every value, turns columns into rows and leaves
them in a cache on disk, in bounded memory. The file lies in the page cache for all.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from .data import Table, coin
from .gap import Verdict
from .machine import Work
from .protocol import Contender, Timed, Workload

SIZES = {
    "full": {"parquet": (4_000_000, 30), "csv": (500_000, 30)},
    "small": {"parquet": (40_000, 30), "csv": (10_000, 30)},
}
# What polars writes by itself, and pyarrow: row groups that are held, and that are sliced.
GROUPS = {"row groups of 2^17": 2**17, "row groups of 2^20": 2**20}
MISSING = "" if find_spec("polars") else "polars is not installed"


@dataclass(frozen=True)
class Read(Timed):
    """What was read, to be told from what was written."""

    shape: tuple[int, int]
    sums: np.ndarray  # of the columns, the target last


def table(n: int, d: int) -> Table:
    rng = np.random.default_rng(11)
    X = rng.standard_normal((n, d))
    return Table(X, coin(X[:, 0], rng))


def written(table: Table, folder: Path, kind: str, rows: int) -> Path:
    import polars as pl

    frame = pl.DataFrame({f"c{j}": column for j, column in enumerate(table.X.T)})
    frame = frame.with_columns(y=table.y)
    path = folder / f"table.{kind}"
    if kind == "csv":
        frame.write_csv(path)
    else:
        frame.write_parquet(path, row_group_size=rows)
    os.sync()  # what is still to be written of it would slow down who writes next
    return path


def ours(path: Path) -> Read:
    from fenchel import scan
    from fenchel.data import Totals

    start = time.perf_counter()
    rows = scan(path, target="y")
    seconds = time.perf_counter() - start
    with rows:
        X, y = rows.reduce(lambda block: Totals(block.X.sum(axis=0), float(block.y.sum())))
        return Read(seconds, (rows.n_rows, rows.n_cols), np.append(X, y))


def polars_read(path: Path) -> Read:
    return _frame(path, lambda frame: frame)


def polars_rows(path: Path) -> Read:
    return _frame(path, lambda frame: (frame, frame.drop("y").to_numpy(order="c")))


def _frame(path: Path, use: Callable[[Any], Any]) -> Read:
    import polars as pl

    start = time.perf_counter()
    frame = pl.read_csv(path) if path.suffix == ".csv" else pl.read_parquet(path)
    held = use(frame)
    seconds = time.perf_counter() - start
    del held
    return Read(seconds, (frame.height, frame.width - 1), frame.sum().to_numpy().ravel())


def judge(table: Table, read: Read) -> Verdict:
    """0 if it is the table that was written, else the largest relative difference of the sums."""
    wanted = np.append(table.X.sum(axis=0), table.y.sum())
    if read.shape != table.X.shape:
        return Verdict(1.0, 0.0)
    apart = np.abs(read.sums - wanted).max() / np.abs(table.X).sum(axis=0).max()
    return Verdict(1.0, 1.0 - (apart if apart > 1e-12 else 0.0))  # sums differ by rounding


def contenders(kind: str, rows: int) -> tuple[Contender, ...]:
    def contender(name: str, read: Callable[[Path], Read], **marks: bool) -> Contender:
        def prepare(table: Table) -> Callable[[float], Read]:
            folder = tempfile.mkdtemp()
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            path = written(table, Path(folder), kind, rows)
            return lambda _: read(path)

        return Contender(name, prepare, lambda model: model, (0.0,), **marks)

    return (
        contender("fenchel scan", ours, ours=True),
        contender("polars read", polars_read),
        contender("polars read, as rows", polars_rows, yardstick=True),
    )


def work(table: Table) -> Work:
    return Work(0.0, 8.0 * table.X.size, "the values of the table, once")


def workloads(scale: str) -> list[Workload]:
    (n, d), (m, k) = SIZES[scale]["parquet"], SIZES[scale]["csv"]
    note = "Nothing is fitted: the gap is how far sums of columns are from those written."
    parquet = [
        Workload(
            f"Parquet, {n:,} x {d}, {name}",
            0.0,
            lambda: table(n, d),
            judge,
            work,
            contenders("parquet", rows),
            note=note,
            missing=MISSING,
        )
        for name, rows in GROUPS.items()
    ]
    csv = Workload(
        f"CSV, {m:,} x {k}",
        0.0,
        lambda: table(m, k),
        judge,
        work,
        contenders("csv", 0),
        note=note,
        missing=MISSING,
    )
    return [*parquet, csv]
