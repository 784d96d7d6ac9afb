"""A million rows through `predict`: in memory that does not grow with them, and fast."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from app.shell import surroundings

ROWS, COLUMNS = 1_000_000, 30

# The peak of the process after a small table, then after the large one: what streaming adds.
_MEASURE = """
import json, re, sys, time
from fenchel.app.cli import run

def peak():  # not ru_maxrss, which begins with the size of the process that started this one
    return int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]) / 1024

assert run(["predict", "model.fen", "small.parquet", "-o", "small.csv", "-q"]) == 0
told = {}
for name in sys.argv[1:]:
    before = peak()
    began = time.perf_counter()
    assert run(["predict", "model.fen", name, "-o", f"answers_{name}", "-q"]) == 0
    spent = time.perf_counter() - began
    after = peak()
    told[name] = {"seconds": spent, "added": after - before, "peak": after}
print(json.dumps(told), file=sys.stderr)
"""


@pytest.mark.slow
def test_a_million_rows_stream(tmp_path):
    if not Path("/proc/self/status").exists():
        pytest.skip("no /proc to read the peak of memory from")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, COLUMNS))
    y = np.where(X[:, 0] - X[:, 1] + rng.normal(size=ROWS) > 0, "yes", "no")
    frame = pl.DataFrame({f"x{j}": X[:, j] for j in range(COLUMNS)})
    frame.write_parquet(tmp_path / "large.parquet")
    frame[:200_000].with_columns(pl.all().round(6)).write_csv(tmp_path / "large.csv")
    few = frame[:5000].with_columns(pl.Series("y", y[:5000]))
    few.write_parquet(tmp_path / "small.parquet")
    fit = [sys.executable, "-m", "fenchel", "fit", "small.parquet", "-o", "model.fen", "-q"]
    subprocess.run(fit, cwd=tmp_path, env=surroundings(), check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, "large.csv", "large.parquet"],
        cwd=tmp_path,
        env=surroundings(),
        capture_output=True,
        check=True,
        timeout=300,
    )
    told = json.loads(done.stderr.decode().splitlines()[-1])
    print(told)
    answers = pl.read_parquet(tmp_path / "answers_large.parquet")
    assert answers.height == ROWS and answers.columns[0] == "prediction"
    assert (answers["prediction"] == pl.Series(y)).mean() > 0.7
    # The table has 240 MB; a busy machine is given half of the 300,000 rows a second.
    assert told["large.parquet"]["added"] < 320, told
    assert ROWS / told["large.parquet"]["seconds"] > 150_000, told
    assert told["large.csv"]["added"] < 320, told


def test_batches_do_not_matter(tmp_path):
    """The same bits for a table in one batch and row by row, from Parquet and from CSV."""
    from fenchel.app.catalogue import entry_named
    from fenchel.app.predictions import answers_of
    from fenchel.app.table.encoding.encoder import Encoder
    from fenchel.app.table.files.table_reader import batches
    from fenchel.app.table.task import find_task

    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"a": rng.normal(size=200), "c": rng.choice(["u", "v", None], 200)})
    frame = frame.with_columns(pl.Series("y", np.where(frame["a"] > 0.1, "p", "q")))
    task = find_task(frame, "y")
    encoder = Encoder.fit(frame, task)
    model = entry_named(task.kind, "logistic").make()
    X = encoder.transform(frame)
    model.fit(X, task.codes(frame))
    whole = answers_of(model, X)
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        parts = [
            answers_of(model, encoder.transform(part))
            for part in batches(str(tmp_path / name), rows=7)
        ]
        assert np.array_equal(np.concatenate([p.predicted for p in parts]), whole.predicted)
        probability = np.concatenate([part.probability for part in parts])
        assert np.allclose(probability, whole.probability, rtol=1e-12, atol=0.0)
