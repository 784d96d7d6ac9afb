"""Whatever is wrong with a file is said in one sentence that names it."""

from __future__ import annotations

import gzip
import os
import re

import numpy as np
import pytest

from fenchel.data import TableFileError, scan

pl = pytest.importorskip("polars")

GOOD = pl.DataFrame({"height": [1.0, 2.0, 3.0], "weight": [4.0, 5.0, 6.0], "sex": ["f", "m", "f"]})


def put(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def good(path):
    {".parquet": GOOD.write_parquet, ".csv": GOOD.write_csv}[path.suffix](path)
    return path


def fails(kind, message, *args, **kwargs):
    with pytest.raises(kind) as caught:
        scan(*args, **kwargs)
    said = str(caught.value)
    assert re.search(message, said), said
    assert "\n" not in said and str(args[0]) in said, said
    return said


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_columns(tmp_path, suffix):
    path = good(tmp_path / f"t{suffix}")
    fails(ValueError, "no column 'wieght': it has for example 'weight'", path, target="wieght")
    fails(ValueError, "no column 'Height': .*'height'", path, columns=["Height"])
    fails(ValueError, "no column 'q': .*'height', 'weight', 'sex'", path, weight="q")
    fails(ValueError, r"column 'sex' holds text.*columns=\[\.\.\.\]", path)
    fails(
        ValueError,
        "column 'sex' holds text.*choose another",
        path,
        columns=["height"],
        weight="sex",
    )
    fails(ValueError, "each once, and neither target", path, columns=["height", "height"])
    fails(ValueError, "neither target", path, columns=["height"], target="height")
    fails(ValueError, "no column left for X", path, columns=[], target="height")
    with pytest.raises(ValueError, match="list of names, got the one name 'height'"):
        scan(path, columns="height")
    with pytest.raises(ValueError, match="dtype must be float32 or float64"):
        scan(path, dtype="int32")


def test_text_says_where_a_column_is_no_number(tmp_path):
    path = put(tmp_path / "t.csv", "a,b\n1,2\n3,NA\n")
    fails(ValueError, r"column 'b' holds text \('NA' in row 1\)", path)


def test_text_among_numbers_far_down(tmp_path, monkeypatch):
    monkeypatch.setattr("fenchel.data.files.readers._HEAD", 100)
    monkeypatch.setattr("fenchel.data.files.readers._SLAB", 300)
    rows = [f"{i},true,{i}" for i in range(500)]
    for at, cell, message in (
        (444, "oops,true,1", "row 444, column 'a' holds 'oops' where a number is needed"),
        (321, "1,yes,1", "row 321, column 'b' holds 'yes' where a truth value is needed"),
        (77, "1,true,x", "row 77, column 'c' holds 'x' where a number"),
        (499, "1,,1", r"row 499, column 1 \('b'\)"),
    ):
        bad = [*rows[:at], cell, *rows[at + 1 :]]
        path = put(tmp_path / "t.csv", "a,b,c\n" + "\n".join(bad) + "\n")
        fails(ValueError, message, path)
    path = put(tmp_path / "t.csv", "a,b,c\n" + "\n".join([*rows, "1,true,"]) + "\n")
    fails(ValueError, "the target 'c' of row 500 is missing", path, target="c")


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_values(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"

    def write(**columns):
        frame = pl.DataFrame({"x": [1.0, 2.0, 3.0]} | columns, strict=False)
        (frame.write_parquet if suffix == ".parquet" else frame.write_csv)(path)

    write(z=[1.0, None, 2.0])
    fails(ValueError, r"NaN \(a missing value\) at row 1, column 1 \('z'\)", path)
    write(z=[1.0, 2.0, float("nan")])
    fails(ValueError, r"NaN .* row 2, column 1 \('z'\)", path)
    write(z=[float("-inf"), 2.0, 1.0])
    fails(ValueError, r"infinity at row 0, column 1 \('z'\)", path)
    write(z=[1, None, 2])
    fails(ValueError, r"NaN .* row 1, column 1 \('z'\)", path)
    fails(ValueError, "the target 'z' of row 1 is missing", path, target="z")
    write(z=[1.0, float("inf"), 2.0])
    fails(ValueError, "Input y contains infinity at row 1", path, target="z")
    fails(ValueError, "sample_weight contains infinity at row 1", path, weight="z")
    write(z=[1.0, -2.0, 2.0])
    fails(ValueError, "`sample_weight`: row 1 has -2.0", path, weight="z")
    write(z=[0.0, 0.0, 0.0])
    fails(ValueError, "all sample_weight are zero", path, weight="z")
    write(z=["a", None, "b"])
    fails(ValueError, "the target 'z' of row 1 is missing", path, target="z")
    write(z=[1e300, 1.0, 1.0])
    fails(ValueError, "infinity at row 0", path, dtype="float32")


def test_too_many_labels(tmp_path):
    path = tmp_path / "t.parquet"
    pl.DataFrame({"x": np.arange(10_001.0), "id": [str(i) for i in range(10_001)]}).write_parquet(
        path
    )
    fails(ValueError, "target 'id' holds more than 10000 different texts", path, target="id")


def test_dates_and_lists(tmp_path):
    path = tmp_path / "t.parquet"
    frame = GOOD.with_columns(day=pl.date(2020, 1, 1), many=pl.concat_list("height", "weight"))
    frame.write_parquet(path)
    fails(ValueError, "column 'day' holds Date where numbers", path, columns=["day"])
    fails(ValueError, r"column 'many' holds List\(Float64\)", path, columns=["many"])
    fails(
        ValueError,
        "column 'day' holds Date .*choose another",
        path,
        target="day",
        columns=["height"],
    )


def test_places(tmp_path):
    fails(TableFileError, "does not exist: check the path", tmp_path / "t.parquet")
    (tmp_path / "d.parquet").mkdir()
    fails(TableFileError, "is a directory", tmp_path / "d.parquet")
    fails(TableFileError, "is empty", put(tmp_path / "e.csv", b""))
    fails(
        TableFileError,
        "has a format that scan does not read: .parquet, .csv",
        put(tmp_path / "t.xls", "x"),
    )
    fails(TableFileError, "does not read", put(tmp_path / "t", "x"))
    fails(TableFileError, "does not read", put(tmp_path / "t.npy.gz", "x"))
    assert issubclass(TableFileError, OSError)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="may read everything")
def test_permission(tmp_path):
    path = good(tmp_path / "t.csv")
    path.chmod(0)
    fails(TableFileError, "may not be read", path)


def test_parquet_cut_or_damaged_anywhere(tmp_path):
    path = tmp_path / "t.parquet"
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": rng.standard_normal(500), "b": rng.standard_normal(500)})
    frame.write_parquet(path, row_group_size=100)
    whole = path.read_bytes()
    for length in (1, 3, 4, 11, 12, 100, len(whole) // 2, len(whole) - 1):
        fails(TableFileError, "PAR1 is missing|longer than", put(path, whole[:length]))
    fails(TableFileError, "no Parquet file", put(path, b"x" * 500))
    fails(TableFileError, "encrypted", put(path, whole[:-4] + b"PARE"))
    for at in range(0, len(whole) - 8, 41):  # any damage: an error that names the file, or the rows
        data = bytearray(whole)
        data[at] ^= 0xFF
        try:
            with scan(put(path, bytes(data))) as table:
                assert (table.n_rows, table.n_cols) == (500, 2)
        except (TableFileError, ValueError) as error:
            assert str(path) in str(error)


def test_duplicate_columns(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "t.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array([1.0])] * 2, names=["a", "a"]), path)
    fails(TableFileError, "two of its columns are called 'a'", path)
    fails(TableFileError, "two columns called 'b'", put(tmp_path / "t.csv", "a,b,b\n1,2,3\n"))


TEXT = [
    ("a,b\n", "has columns but no rows"),
    ("a,b", "has columns but no rows"),
    ("1.5,2\n3,4\n", "numbers in its first line.*add a header line"),
    ("a;b\n1;2\n", r"does not separate its columns by ',' \(its header is 'a;b'\)"),
    ("a,b\n1,2\n3,4,5\n", "cannot be read|2 columns in its header and 3"),
    (b"a,b\n1,\xff\xfe\n", "cannot be read: invalid utf-8"),
]


@pytest.mark.parametrize(("content", "message"), TEXT, ids=[m for _, m in TEXT])
def test_text(tmp_path, content, message):
    fails(TableFileError, message, put(tmp_path / "t.csv", content))


def test_short_lines_are_missing_values(tmp_path, monkeypatch):
    for size in (3, 5, 100):
        monkeypatch.setattr("fenchel.data.files.readers._SLAB", size)
        path = put(tmp_path / "t.csv", "a,b\n1,2\n\n3,4\n")
        fails(ValueError, r"NaN .* row 1, column 0 \('a'\)", path)
    fails(ValueError, r"NaN .* row 1, column 1 \('b'\)", put(tmp_path / "t.csv", "a,b\n1,2\n3\n"))


def test_a_quote_that_is_never_closed(tmp_path, monkeypatch):
    monkeypatch.setattr("fenchel.data.files.text_chunks._LONGEST", 2000)
    path = put(tmp_path / "t.csv", 'a,b\n1,2\n3,"' + "4,5\n" * 2000)
    monkeypatch.setattr("fenchel.data.files.readers._SLAB", 500)
    monkeypatch.setattr("fenchel.data.files.readers._HEAD", 500)
    fails(TableFileError, "a quote is not closed", path)


def test_headers_of_counted_columns_are_names(tmp_path):
    for first in (0, 1):
        path = put(tmp_path / "t.csv", f"{first},{first + 1}\n5,6\n")
        with scan(path) as table:
            assert table.n_rows == 1 and table.names == (str(first), str(first + 1))


def test_gzip(tmp_path):
    text = "a,b\n" + "".join(f"{i},{i}.5\n" for i in range(5000))
    packed = gzip.compress(text.encode())
    fails(
        TableFileError, "cannot be read", put(tmp_path / "cut.csv.gz", packed[: len(packed) // 2])
    )
    fails(TableFileError, "cannot be read", put(tmp_path / "no.csv.gz", text))
    with scan(put(tmp_path / "ok.tsv.gz", gzip.compress(b"a\tb\n1\t2\n"))) as table:
        assert table.gather().X.tolist() == [[1.0, 2.0]]


def test_npy(tmp_path):
    path = tmp_path / "t.npy"

    def save(values, **kwargs):
        np.save(path, values, **kwargs)
        return path

    fails(TableFileError, "cannot be read as .npy", put(path, b"not numpy at all"))
    fails(TableFileError, "cannot be read as .npy", save(np.array([[{}]]), allow_pickle=True))
    fails(ValueError, "Expected a table of two dimensions", save(np.arange(3.0)))
    fails(ValueError, "complex128 where numbers are needed", save(np.ones((2, 2), complex)))
    fails(ValueError, "<U1 where numbers", save(np.array([["a"]])))
    fails(ValueError, "columns are the numbers 0 to 1", save(np.ones((2, 2))), target=2)
    fails(ValueError, "no column 'y'", path, target="y")
    fails(ValueError, "no column left", path, columns=[], target=0)
    for order in "CF":
        X = np.ones((50, 3), order=order)
        X[7, 2] = np.nan
        fails(ValueError, r"NaN .* row 7, column 1 \('2'\)", save(X), target=0)
        fails(ValueError, "Input y contains NaN .* row 7", path, target=2)
        fails(ValueError, "Negative values", save(-np.ones((5, 2), order=order)), weight=0)
        fails(
            ValueError, "all sample_weight are zero", save(np.zeros((5, 2), order=order)), weight=0
        )
    save(np.ones((50, 3)))
    os.truncate(path, 500)
    fails(TableFileError, "cannot be read as .npy", path)


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".npy"])
def test_a_source_that_changes_or_vanishes(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"

    def write(value):
        X = np.full((40, 2), value)
        if suffix == ".npy":
            np.save(path, X)
        else:
            frame = pl.DataFrame(X, schema=["a", "b"])
            (frame.write_parquet if suffix == ".parquet" else frame.write_csv)(path)

    write(1.0)
    table = scan(path)
    assert table.reduce(lambda block: block.n_rows) == 40
    old = path.stat()
    write(2.0)
    os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))  # told apart by what is in it
    for use in (lambda: table.reduce(lambda block: 0), lambda: list(table), table.gather):
        with pytest.raises(TableFileError, match="has changed since it was scanned: scan it again"):
            use()
    path.unlink()
    with pytest.raises(
        TableFileError, match=r"does not exist.*was there when scanned: scan it again"
    ):
        table.reduce(lambda block: 0)
    with pytest.raises(TableFileError, match="does not exist"):
        list(table)


def test_a_source_that_changes_under_a_pass(tmp_path):
    path = tmp_path / "t.npy"
    np.save(path, np.ones((40, 2)))
    table = scan(path)

    def stat(block):
        with open(path, "r+b") as file:
            file.seek(-8, 2)
            file.write(b"\0" * 8)
        return 0

    with pytest.raises(TableFileError, match="has changed"):
        table.reduce(stat)


def test_polars_is_asked_for_by_the_name_of_the_extra(tmp_path, hide):
    path = good(tmp_path / "t.csv")
    np.save(tmp_path / "t.npy", np.ones((3, 2)))
    hide("polars")
    with pytest.raises(ModuleNotFoundError, match=r"needs polars: pip install fenchel\[app\]"):
        scan(path)
    with scan(tmp_path / "t.npy") as table:
        assert table.n_rows == 3
