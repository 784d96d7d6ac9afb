"""Tables in files: the same rows, a cache that comes and goes, and faults that name the file."""

from __future__ import annotations

import gc
import gzip
import json
import logging
import os
import subprocess
import sys

import numpy as np
import pytest

from fenchel.data import Moments, TableFileError, as_blocks, scan, threads
from fenchel.data.files.readers import ParquetReader
from fenchel.testing import check_blocks

pl = pytest.importorskip("polars")
N = 20_000
FEATURES = [f"c{j}" for j in range(30)]


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 30))
    labels = np.array(["mid", "low", "high"])[rng.integers(0, 3, N)]
    columns = {f"c{j}": X[:, j] for j in range(30)}
    others = {"y": X[:, 0] > 0, "label": labels, "count": rng.integers(0, 9, N)}
    return pl.DataFrame(columns | others | {"s": rng.random(N)})


def write(frame, room, kind):
    path = room / f"t.{kind}"
    if kind == "parquet":
        frame.write_parquet(path, row_group_size=3000)
    elif kind.endswith("gz"):
        path.write_bytes(gzip.compress(frame.write_csv().encode(), 1))
    else:
        frame.write_csv(path, separator="\t" if kind == "tsv" else ",")
    return path


@pytest.mark.parametrize("kind", ["parquet", "csv", "csv.gz", "tsv"])
def test_a_file_gives_the_same_bits_as_memory(frame, tmp_path, kind):
    X, s = frame.select(FEATURES).to_numpy(), frame["s"].to_numpy()
    memory = as_blocks(X, frame["count"].to_numpy(), s)
    options = {"target": "count", "weight": "s", "columns": FEATURES}
    with scan(write(frame, tmp_path, kind), **options) as table:
        assert table.names == tuple(FEATURES) and not table.local and table.classes is None
        assert table.count == memory.count > 1
        whole = table.gather()
        np.testing.assert_array_equal(whole.X, X)
        np.testing.assert_array_equal(whole.weight, s)
        assert whole.y.dtype == np.int64
        np.testing.assert_array_equal(whole.y, frame["count"].to_numpy())
        for n in (1, 2):
            with threads(n):
                a, b = memory.reduce(Moments.of), table.reduce(Moments.of)
            assert a.scatter.tobytes() == b.scatter.tobytes()
        check_blocks(table)
        for block in table:
            assert block.X.flags.c_contiguous and not block.X.flags.writeable


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_targets(frame, tmp_path, kind):
    path = write(frame, tmp_path, kind)
    with scan(path, target="label", columns=["c2", "c1"]) as table:
        assert table.classes.tolist() == ["high", "low", "mid"]
        block = table.gather()
        assert block.y.dtype == np.int64
        assert table.classes[block.y].tolist() == frame["label"].to_list()
        np.testing.assert_array_equal(block.X, frame.select("c2", "c1").to_numpy())
        assert table.names == ("c2", "c1")
    with scan(path, target="y", columns=["c1"]) as table:
        assert table.gather().y.dtype == bool
        assert table.gather().y.tolist() == frame["y"].to_list()
    with scan(path, target="c0", columns=["count", "y"], dtype="float32") as table:
        block = table.gather()
        assert block.X.dtype == block.y.dtype == np.float32
        np.testing.assert_array_equal(block.X[:, 0], frame["count"].to_numpy())
    with scan(path, columns=["c1"]) as table:
        assert table.gather().y is None


def test_categories_are_labels(tmp_path):
    text = pl.Series("y", ["b", "a", "c", "a"])
    for kind in (pl.Categorical, pl.Enum(["c", "b", "a"]), pl.String):
        pl.DataFrame({"x": [1.0, 2, 3, 4], "y": text.cast(kind)}).write_parquet(tmp_path / "t.pq")
        with scan(tmp_path / "t.pq", target="y") as table:
            assert table.classes.tolist() == ["a", "b", "c"]
            assert table.gather().y.tolist() == [1, 0, 2, 0]


def test_types_of_columns(tmp_path):
    kinds = [pl.Int8, pl.UInt64, pl.Float32, pl.Boolean, pl.Decimal(10, 2), pl.Float64]
    frame = pl.DataFrame({f"c{i}": pl.Series([0, 1, 1]).cast(k) for i, k in enumerate(kinds)})
    path = tmp_path / "t.parquet"
    frame.write_parquet(path)
    with scan(path) as table:
        assert table.dtype == np.float64
        np.testing.assert_array_equal(table.gather().X, np.repeat([[0.0], [1.0], [1.0]], 6, 1))
    with scan(path, columns=["c2"]) as table:
        assert table.dtype == np.float32
    with scan(path, columns=["c2", "c3"]) as table:
        assert table.dtype == np.float64
    with scan(path, target="c5", columns=["c2"], weight="c0") as table:
        assert table.gather().y.dtype == table.gather().weight.dtype == np.float32


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f4", "<f8", ">f8", "i2", "?", "f2"])
def test_npy(tmp_path, order, dtype):
    X = np.asarray(np.random.default_rng(0).integers(0, 2, (900, 5)), dtype=dtype, order=order)
    path = tmp_path / "t.npy"
    np.save(path, X)
    kind = np.float32 if dtype in ("<f4", "f2") else np.float64
    mapped = order == "C" and dtype in ("<f4", "<f8")
    for options, columns in (
        ({}, range(5)),
        ({"target": 2}, [0, 1, 3, 4]),
        ({"target": -1, "columns": [3, 0]}, [3, 0]),
        ({"target": 1, "weight": 4}, [0, 2, 3]),
    ):
        with scan(path, **options) as table:
            assert (table.cache_dir is None) == mapped == (table.cache_bytes == 0)
            block = table.gather()
            assert table.dtype == block.X.dtype == kind
            np.testing.assert_array_equal(block.X, X[:, columns])
            if "target" in options:
                np.testing.assert_array_equal(block.y, X[:, options["target"]])
            if "weight" in options:
                np.testing.assert_array_equal(block.weight, X[:, options["weight"]])
            check_blocks(table)
    assert path.exists()


def test_large_row_groups_are_read_in_parts(frame, tmp_path, monkeypatch):
    """The same rows, whatever fits: many row groups at once, slices of one, or one by columns."""
    monkeypatch.setattr("fenchel.data.files.readers._STEP", 300_000)
    monkeypatch.setattr("fenchel.data.files.readers._SLICE", 300_000)
    turned = []

    class Counted(ParquetReader):
        def _turned(self, piece, *args):
            turned.append(piece.rows)
            return super()._turned(piece, *args)

    monkeypatch.setattr("fenchel.data.files.scan.ParquetReader", Counted)
    frame = frame.head(6000)
    X = frame.select(FEATURES).to_numpy()
    for size in (100, 400, 3000, 6000):
        path = tmp_path / f"{size}.parquet"
        frame.write_parquet(path, row_group_size=size)
        with scan(path, target="label", weight="s", columns=FEATURES) as table:
            np.testing.assert_array_equal(table.gather().X, X)
            assert table.classes[table.gather().y].tolist() == frame["label"].to_list()
            np.testing.assert_array_equal(table.gather().weight, frame["s"].to_numpy())
            assert sorted(p.name for p in table.cache_dir.iterdir()) == [
                "X.bin", "manifest.json", "weight.bin", "y.bin",
            ]  # fmt: skip
    assert turned == [6000]


def test_two_large_row_groups_share_one_file(frame, tmp_path, monkeypatch):
    """Whole numbers, truth values and float32 among them; nothing of the file is left."""
    monkeypatch.setattr("fenchel.data.files.readers._STEP", 10_000)
    monkeypatch.setattr("fenchel.data.files.readers._SLICE", 10_000)
    path = tmp_path / "t.parquet"
    part = frame.head(5000).with_columns(pl.col("c3").cast(pl.Float32))
    part.write_parquet(path, row_group_size=3000)
    names = ["count", "c5", "c3", "y"]
    with scan(path, columns=names) as table:
        np.testing.assert_array_equal(table.gather().X, part.select(names).to_numpy())
        assert not (table.cache_dir / "columns.bin").exists()


def test_checksums_do_not_depend_on_the_batches(frame, tmp_path):
    """Batches end anywhere in a block of the cache; the checksums are those of whole blocks."""
    sums = []
    for size in (777, 3000, 20_000):
        path = tmp_path / f"{size}.parquet"
        frame.write_parquet(path, row_group_size=size)
        with scan(path, columns=FEATURES, target="s") as table:
            manifest = json.loads((table.cache_dir / "manifest.json").read_text())
            table.reduce(lambda block: 0)  # each block is verified
        sums.append([manifest["arrays"][name]["crc32"] for name in ("X", "y")])
    assert sums[0] == sums[1] == sums[2]


@pytest.mark.parametrize("end", ["", "\r\n", "\n\r\n\n"], ids=["none", "one", "empty lines"])
def test_text_in_slabs(tmp_path, monkeypatch, end):
    """Quoted line ends, CRLF, a byte order mark, any end of the file: wherever a slab ends."""
    rows = [(f'"a\n""{i}"', i, i / 3) for i in range(200)]
    text = "label,n,x\r\n" + "\r\n".join(f"{a},{b},{c!r}" for a, b, c in rows) + end
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    for size in (2, 17, 100, 10**6):
        monkeypatch.setattr("fenchel.data.files.readers._SLAB", size)
        with scan(path, target="label") as table:
            assert table.names == ("n", "x")
            assert table.gather().X.tolist() == [[b, c] for _, b, c in rows]
            assert table.classes[table.gather().y].tolist() == [f'a\n"{i}' for i in range(200)]


def test_whole_numbers_that_become_fractions(tmp_path, monkeypatch):
    monkeypatch.setattr("fenchel.data.files.readers._HEAD", 40)
    monkeypatch.setattr("fenchel.data.files.readers._SLAB", 200)
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{i},{i}\n" for i in range(100)) + "1,2.5\n3,4\n")
    for dtype in (None, "float32"):
        with scan(path, target="y", dtype=dtype) as table:
            assert table.gather().y.dtype == table.dtype
            assert table.gather().y.tolist() == [*range(100), 2.5, 4.0]
            check_blocks(table)


def test_floats_are_read_to_the_last_bit(tmp_path):
    values = np.random.default_rng(0).standard_normal(2000) * 10.0 ** np.arange(-100, 100, 0.1)
    path = tmp_path / "t.csv"
    path.write_text("x\n" + "".join(f"{v!r}\n" for v in values.tolist()))
    with scan(path) as table:
        np.testing.assert_array_equal(table.gather().X[:, 0], values)


# ----------------------------------------------------------------------------------- the cache


@pytest.fixture
def path(frame, tmp_path):
    return write(frame.drop("label"), tmp_path, "parquet")


def test_the_cache_says_its_size_and_goes_when_closed(path, tmp_path, caplog):
    room = tmp_path / "room"
    room.mkdir()
    with caplog.at_level(logging.INFO, "fenchel"):
        table = scan(path, target="y", weight="s", cache_dir=room)
    (directory,) = room.iterdir()
    assert table.cache_dir == directory
    sizes = {file.name: file.stat().st_size for file in directory.iterdir()}
    assert table.cache_bytes == sizes["X.bin"] + sizes["y.bin"] + sizes["weight.bin"]
    assert table.cache_bytes == N * (31 * 8 + 1 + 8)
    assert "20000 x 31 float64, cache 5.1 MB" in repr(table)
    assert "5.1 MB cached in" in caplog.text
    manifest = json.loads((directory / "manifest.json").read_text())
    assert manifest["arrays"]["X"]["shape"] == [N, 31]
    assert len(manifest["arrays"]["X"]["crc32"]) == table.count
    table.close()
    table.close()
    assert not list(room.iterdir()) and "closed" in repr(table)
    with pytest.raises(TableFileError, match="closed: scan it again"):
        table.reduce(lambda block: 0)


def test_the_cache_goes_with_the_table(path, tmp_path):
    room = tmp_path / "room"
    room.mkdir()
    table = scan(path, cache_dir=room)
    block = next(iter(table))
    del table
    gc.collect()
    assert not list(room.iterdir())
    assert np.isfinite(block.X).all()  # what is still held stays readable


def test_the_cache_goes_at_exit_and_a_forked_child_leaves_it(path, tmp_path):
    script = (
        "import os, sys; from fenchel.data import scan\n"
        "t = scan(sys.argv[1], cache_dir=sys.argv[2])\n"
        "child = os.fork()\n"
        "if child == 0: sys.exit()\n"
        "os.waitpid(child, 0)\n"
        "print(t.reduce(lambda b: b.n_rows), len(os.listdir(sys.argv[2])))\n"
    )
    room = tmp_path / "room"
    room.mkdir()
    command = [sys.executable, "-W", "ignore", "-c", script, str(path), str(room)]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["20000", "1"]
    assert not list(room.iterdir())


def test_a_failed_scan_leaves_nothing(frame, tmp_path):
    room = tmp_path / "room"
    room.mkdir()
    bad = frame.with_columns(c3=pl.when(pl.col("c4") > 3).then(None).otherwise(pl.col("c3")))
    row = int(np.flatnonzero(frame["c4"].to_numpy() > 3)[0])
    for kind in ("parquet", "csv"):
        path = write(bad, tmp_path, kind)
        with pytest.raises(ValueError, match=rf"t.{kind}: .*NaN .* row {row}, column 3 \('c3'\)"):
            scan(path, columns=FEATURES, cache_dir=room)
    assert not list(room.iterdir())


@pytest.mark.parametrize("name", ["X.bin", "y.bin", "weight.bin"])
def test_a_damaged_cache_is_found_at_the_first_pass(path, name):
    table = scan(path, target="y", weight="s")
    file = table.cache_dir / name
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    message = rf"{name} is damaged in block {table.count - 1} \(rows \d+ to 19999\): scan"
    with pytest.raises(TableFileError, match=message):
        table.reduce(lambda block: 0)
    os.truncate(file, 100)
    with pytest.raises(TableFileError, match="truncated"):
        table.reduce(lambda block: 0)


def test_no_place_for_the_cache(path, tmp_path, monkeypatch):
    with pytest.raises(TableFileError, match=r"no cache for .* in .*nowhere.*cache_dir="):
        scan(path, cache_dir=tmp_path / "nowhere")
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    with pytest.raises(TableFileError, match=r"needs 0.0 GB and .* choose another directory"):
        scan(path)
