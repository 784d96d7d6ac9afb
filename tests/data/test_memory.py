"""A file four times larger than the memory it may use.

Measured is the peak of resident memory (VmHWM) of a process of its own: what the allocators hold
and the pages of mapped files that are in use, so that nothing is hidden in a mapping. The start
of the libraries, with their threads, is measured first on small files and not counted.
"""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/status")

CHILD = """
import json, sys
import numpy as np
from fenchel.data import Moments, Totals, scan

def resident(what):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(what)) * 1024

def work(path, target):
    with scan(path, target=target) as table:
        w = np.full(table.n_cols, 0.1)
        def gradient(block):
            return block.X.T @ (np.tanh(block.X @ w) - block.y)
        for _ in range(2):
            moments, g = table.reduce(lambda b: Totals(Moments.of(b), gradient(b)))
        return table.n_rows, table.n_cols, float(moments.scatter.trace()), float(g.sum())

small, path, target = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
work(small, target)
before = resident("VmRSS:")
with open("/proc/self/clear_refs", "w") as refs:
    refs.write("5")  # the peak is counted from here
answer = work(path, target)
print(json.dumps([resident("VmHWM:") - before, *answer]))
"""


def write(path, once, n_rows, **kwargs):
    """Few distinct rows many times over: quick to make, and no smaller on disk."""
    if path.suffix == ".npy":
        np.save(path, np.resize(once, (n_rows, once.shape[1])))
        return 0
    pl = pytest.importorskip("polars")
    names = ["y", *(f"c{j}" for j in range(1, once.shape[1]))]
    columns = {name: np.resize(once[:, j], n_rows) for j, name in enumerate(names)}
    pl.DataFrame(columns).write_parquet(path, compression="uncompressed", **kwargs)
    return "y"


def grows_by(tmp_path, suffix, megabytes, **kwargs):
    """Peak memory for a file of so many megabytes, in megabytes; the answer is checked."""
    n_cols = 31
    once = np.random.default_rng(0).standard_normal((4096, n_cols))
    times = megabytes * 10**6 // (8 * n_cols * len(once))
    small, large = tmp_path / f"small{suffix}", tmp_path / f"large{suffix}"
    target = write(small, once, 20_000, **kwargs)
    write(large, once, times * len(once), **kwargs)
    size = large.stat().st_size
    command = [sys.executable, "-c", CHILD, str(small), str(large), json.dumps(target)]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    peak, n, d, trace, gradient = json.loads(said.stdout)
    y, Z = once[:, 0], once[:, 1:]
    g = Z.T @ (np.tanh(Z @ np.full(30, 0.1)) - y)
    assert (n, d) == (times * len(once), 30)
    assert trace == pytest.approx(times * ((Z - Z.mean(0)) ** 2).sum(), rel=1e-10)
    assert gradient == pytest.approx(times * g.sum(), rel=1e-8)
    assert size >= 0.99e6 * megabytes
    return peak / 1e6


def test_a_mapped_file_four_times_larger_than_its_memory(tmp_path):
    assert grows_by(tmp_path, ".npy", 120) < 30


def test_a_parsed_file_four_times_larger_than_its_memory(tmp_path):
    assert grows_by(tmp_path, ".parquet", 400, row_group_size=50_000) < 100


@pytest.mark.slow
@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(50_000, id="small", marks=pytest.mark.exhaustive),  # as the 400 MB above
        pytest.param(262_144, id="large"),
        pytest.param(None, id="one group"),
    ],
)
def test_any_row_groups(tmp_path, rows):
    assert grows_by(tmp_path, ".parquet", 800, row_group_size=rows or 10**8) < 200


@pytest.mark.slow
def test_a_large_mapped_file(tmp_path):
    assert grows_by(tmp_path, ".npy", 800) < 50
