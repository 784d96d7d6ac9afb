"""Tables in every state that people send them in."""

from __future__ import annotations

import gzip
import io
import os
import sys
from datetime import date

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from fenchel.app.errors import BadData
from fenchel.app.table.files.table_reader import batches, bundled, column_names, read_table
from fenchel.app.table.text import text_rows as text


def read(path, **how):
    return read_table(path, **how)


def note(source, words):
    found = [said for said in source.notes if words in said]
    assert len(found) == 1, source.notes
    return found[0]


def test_plain(put):
    got = read(put("a,b,c\n1,x,2.5\n2,y,3\n"))
    assert got.frame.to_dict(as_series=False) == {"a": [1, 2], "b": ["x", "y"], "c": [2.5, 3.0]}
    assert got.frame.schema == {"a": pl.Int64, "b": pl.String, "c": pl.Float64}
    assert (got.name, got.format, got.notes, len(got.sha256)) == ("t.csv", "CSV", (), 64)


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_delimiters_and_line_ends(put, mark, end):
    lines = ["a,b", "1,x", '2,"p{0}q"', '3,"say ""hi"""', '4,"two\nlines"']
    content = end.join(lines).replace(",", mark).format(mark)
    got = read(put(content))
    assert got.frame["b"].to_list() == ["x", f"p{mark}q", 'say "hi"', "two\nlines"]
    assert got.frame["a"].to_list() == [1, 2, 3, 4]
    assert got.format == ("TSV" if mark == "\t" else "CSV")
    assert bool(got.notes) == (mark != ",")


def test_byte_order_mark(put):
    got = read(put(b"\xef\xbb\xbfa;b\r\n1;2\r\n"))
    assert got.frame.columns == ["a", "b"]
    note(got, "byte order mark dropped")
    note(got, "semicolon")


def test_decimal_commas_go_with_semicolons(put):
    got = read(put('a;b;c\n1,5;"x, y";1,2\n-2;z;u\n'))
    assert got.frame["a"].to_list() == [1.5, -2.0]
    assert got.frame["b"].to_list() == ["x, y", "z"]
    assert got.frame["c"].to_list() == ["1,2", "u"]  # text stays as it is written
    note(got, "column 'a' is read as numbers: '1,5' as 1.5")
    commas = read(put('a,b\n"1,5",x\n"2,5",y\n'))
    assert commas.frame["a"].to_list() == [1.5, 2.5]


def test_names_with_anything_in_them(put):
    got = read(put('"a,b","say ""hi""",<script>alert(1)</script>, x ,\n1,2,3,4,5\n'))
    names = ["a,b", 'say "hi"', "<script>alert(1)</script>", "x", "column 5"]
    assert got.frame.columns == names
    note(got, "column 5 has no name")


def test_duplicated_names(put):
    got = read(put("a,a_2,a,a\n1,2,3,4\n"))
    assert got.frame.columns == ["a", "a_2", "a_3", "a_4"]
    note(got, "duplicate column 'a' renamed 'a_3'")


def test_latin_1(put):
    assert read(put("a\nmüde\n")).notes == ()
    got = read(put("a,b\nmüde,5 €\n".encode("cp1252")))
    assert got.frame.row(0) == ("müde", 5)
    note(got, "Latin-1")
    assert read(put(b"a\n\xe9\x81\n")).frame["a"][0] == "é\x81"
    # A letter that lies across the border of two chunks of the first look.
    wide = "a\n" + "x" * (2**23 - 3) + "ü\n"
    with pytest.raises(BadData, match="more than"):
        read(put(wide))


def test_missing_markers(put):
    got = read(put("a,b\nNA,x\n?,\n3,N/A\n-,null\n 5 , nan\n"))
    assert got.frame["a"].to_list() == [None, None, 3, None, 5]
    assert got.frame["b"].to_list() == ["x", None, None, None, None]
    assert "6 cells" in note(got, "read as missing")


def test_all_missing_column(put):
    got = read(put("a,b\n1,\n2,NA\n"))
    assert got.frame["b"].null_count() == 2


def test_few_strays_become_missing_and_are_named(put):
    rows = [str(i) for i in range(300)]
    rows[16], rows[200] = "abc", "12 m"
    got = read(put("a,b\n" + "".join(f"{r},{i}\n" for i, r in enumerate(rows))))
    assert got.frame["a"].null_count() == 2 and got.frame["a"].dtype == pl.Float64
    said = note(got, "column 'a' is read as numbers")
    assert "2 cells that are no numbers are read as missing ('abc' in row 17, '12 m' in " in said
    rows[3:9] = ["x"] * 6
    got = read(put("a,b\n" + "".join(f"{r},{i}\n" for i, r in enumerate(rows))))
    assert got.frame["a"].to_list() == rows
    assert "8 of its 300 cells" in note(got, "kept as text")


def test_strays_beyond_the_first_slab(put, monkeypatch):
    monkeypatch.setattr(text, "_SLAB", 4096)
    good = [f"{i}.50" for i in range(3000)]
    words = [f"w{i % 7}" for i in range(3000)]
    late = "a,b\n" + "".join(f"{x},{i}\n" for i, x in enumerate(good + words))
    got = read(put(late))
    assert got.frame["a"].to_list() == good + words  # "0.50" as written, not 0.5
    early = "a,b\n" + "".join(f"{x},{i}\n" for i, x in enumerate(words[:500] + good * 30))
    assert read(put(early)).frame["a"].dtype == pl.Float64
    empty = read(put("a,b\n" + ",1\n" * 5000 + "word,1\n"))
    assert empty.frame["a"].null_count() == 5000 and empty.frame["a"][-1] == "word"
    whole = read(put("a\n" + "1\n" * 9000 + "2.5\n"))
    assert whole.frame["a"].dtype == pl.Float64 and whole.frame["a"].sum() == 9002.5


def test_leading_zeros_stay_text(put):
    got = read(put("zip,n\n01067,1\n10115,0\n"))
    assert got.frame["zip"].to_list() == ["01067", "10115"]
    assert got.frame["n"].dtype == pl.Int64
    note(got, "leading zeros")


def test_truth_values(put):
    got = read(put("a,b\nTrue,yes\nfalse,no\n,yes\n"))
    assert got.frame["a"].to_list() == [True, False, None]
    assert got.frame["b"].dtype == pl.String


@pytest.mark.parametrize(
    ("cells", "first", "written"),
    [
        (["2024-02-01", "2024-12-31"], date(2024, 2, 1), "ISO"),
        (["13/02/2024", "01/02/2024"], date(2024, 2, 13), "%d/%m/%Y"),
        (["02/13/2024", "01/02/2024"], date(2024, 2, 13), "%m/%d/%Y"),
        (["13.02.2024", "1.2.2024"], date(2024, 2, 13), "%d.%m.%Y"),
        (["2024/02/13", ""], date(2024, 2, 13), "%Y/%m/%d"),
    ],
)
def test_dates(put, cells, first, written):
    got = read(put("d,x\n" + "".join(f"{cell},1\n" for cell in cells)))
    assert got.frame["d"][0] == first and got.formats == {"d": written}


def test_times_and_ambiguous_dates(put):
    got = read(put("d,e\n2024-02-01T10:30,01/02/2024\n2024-02-02 11:00:05Z,03/04/2024\n"))
    assert got.frame["d"].dtype == pl.Datetime("us") and str(got.frame["d"][0])[11:16] == "10:30"
    assert got.frame["e"].dtype == pl.String
    note(got, "day and month cannot be told apart")


def test_columns_that_shall_stay_text(put):
    got = read(put("a,b\n1,2024-01-01\n2,2024-01-02\n"), text=("a", "b"))
    assert got.frame.row(0) == ("1", "2024-01-01")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty"),
        ("a,b\n", "has columns but no rows"),
        ("a,b", "has columns but no rows"),
        ("\n\n", "no header"),
        ("a,b\n1,2\n3\n", r"line 3 \(row 2\) has 1 field where the header has 2"),
        ("a,b\n1,2\n\n3,4,5\n", r"line 4 \(row 2\) has 3 fields"),
        ("1,2\n3,4\n3,4,5\n", r"line 3 \(row 3\) has 3 fields where the other lines have 2"),
        ('a,b\n1,"x,y"\n2,"z\n', "line 3 has a quote that is not closed"),
        ('a,b\n"x,y",2\n"p\nq"\n', r"line 3 \(row 2\) has 1 field"),
        ("a,b\r1,2\r3,4", "carriage returns alone"),
        (b"a,b\n1,\0\n", "is not text"),
        (b"\xff\xfea\0", "UTF-16"),
        (b"PK\x03\x04xxxx", "zip archive"),
        (b"\x80\x04\x95abc", "pickle"),
        ("a\n" + "x" * (2**20 + 1), "a cell of 1048577 bytes"),
        ("x" * 2**21, "first line of more than"),
        (",".join(f"c{i}" for i in range(10_001)) + "\n", "10001 columns, more than 10000"),
    ],
)
def test_unreadable_text(put, content, words):
    path = put(content)
    with pytest.raises(BadData, match=words) as caught:
        read(path)
    assert "\n" not in str(caught.value) and path in str(caught.value)
    with pytest.raises(BadData, match=words):
        list(batches(path))


def test_blank_lines(put):
    got = read(put("a,b\n1,2\n\n\n3,\n\r\n"))
    assert got.frame.rows() == [(1, 2), (3, None)]
    note(got, "2 blank lines skipped")
    for end in ("\n", "\r\n"):
        lines = end.join(["a", "1", "", "3", "", ""])
        assert read(put(lines)).frame["a"].to_list() == [1, None, 3]


def test_one_row_and_one_column(put):
    assert read(put("a,b\n1,2")).frame.rows() == [(1, 2)]
    assert read(put("a\n1\n2\n")).frame.columns == ["a"]
    assert read(put("text\nhello, you\nbye; all\n")).frame["text"].to_list() == [
        "hello, you",
        "bye; all",
    ]


def test_names_that_open_nothing(put, tmp_path):
    put("a\n1\n", "adult.csv")
    with pytest.raises(BadData, match=r"did you mean .*adult\.csv"):
        read(str(tmp_path / "adlt.csv"))
    with pytest.raises(BadData, match="is a directory"):
        read(str(tmp_path))
    with pytest.raises(BadData, match="no readable directory"):
        read(str(tmp_path / "no" / "t.csv"))
    with pytest.raises(BadData, match="is not a file"):
        read("/dev/null")
    with pytest.raises(BadData, match="cannot be opened"):
        read("a\0b")
    with pytest.raises(BadData, match="save it as CSV"):
        read(put(b"PK\x03\x04xxxx", "book.xlsx"))


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux")
def test_no_permission(put, monkeypatch):
    path = put("a\n1\n")
    os.chmod(path, 0)
    if os.access(path, os.R_OK):  # the superuser may read everything
        monkeypatch.setattr("builtins.open", _refuse)
    with pytest.raises(BadData, match="cannot be read: change its permissions"):
        read(path)


def _refuse(*_, **__):
    raise PermissionError(13, "Permission denied")


def test_gzip(put):
    packed = gzip.compress(b"a,b\n1,2\n3,4\n")
    got = read(put(packed, "t.csv.gz"))
    assert got.frame.rows() == [(1, 2), (3, 4)]
    note(got, "gzip")
    with pytest.raises(BadData, match="damaged or truncated"):
        read(put(packed[:-9], "t.csv.gz"))
    with pytest.raises(BadData, match="Parquet compressed by gzip"):
        read(put(gzip.compress(b"PAR1...."), "t.parquet.gz"))


@pytest.mark.parametrize("kind", ["parquet", "arrow", "feather", "ipc"])
def test_files_with_types(tmp_path, kind):
    frame = pl.DataFrame(
        {
            "i": pl.Series([1, None, 3], dtype=pl.UInt8),
            "f": pl.Series([0.5, float("nan"), -1.0], dtype=pl.Float32),
            "s": ["x", "?", " y"],
            "c": pl.Series(["p", "q", "p"], dtype=pl.Categorical),
            "d": [date(2024, 1, 1), None, date(2024, 1, 3)],
            "l": [[1], [2, 3], []],
        }
    )
    path = str(tmp_path / f"t.{kind}")
    frame.write_parquet(path) if kind == "parquet" else frame.write_ipc(path)
    got = read(path)
    assert got.frame.columns == ["i", "f", "s", "c", "d"]
    assert got.frame["s"].to_list() == ["x", None, "y"] and got.frame["f"].null_count() == 1
    note(got, "column 'l' holds List")
    assert_frame_equal(pl.concat(batches(path, rows=2)), got.frame)
    assert column_names(path) == tuple(got.frame.columns)
    with open(path, "rb") as file:
        content = file.read()
    with open(path, "wb") as file:
        file.write(content[:-20])
    with pytest.raises(BadData, match="cannot be read as"):
        read(path)


def test_npy(tmp_path):
    path = str(tmp_path / "t.npy")
    for array in (np.arange(6.0).reshape(3, 2), np.asfortranarray(np.arange(6).reshape(3, 2))):
        np.save(path, array)
        assert read(path).frame.columns == ["0", "1"] and read(path).format == "npy"
        assert pl.concat(batches(path, ["1"], 2))["1"].to_list() == [1, 3, 5]
    np.save(path, np.array([(1, "u"), (2, "v")], dtype=[("n", ">i4"), ("s", "U1")]))
    assert read(path).frame.rows() == [(1, "u"), (2, "v")]
    for bad in (np.zeros((2, 2, 2)), np.array([1 + 2j]), np.array(5.0)):
        np.save(path, bad)
        with pytest.raises(BadData, match="cannot be read as npy"):
            read(path)
    np.save(path, np.array([{}], dtype=object))
    with pytest.raises(BadData, match="Python objects"):
        read(path)


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "stream", "npy"])
def test_standard_input(monkeypatch, kind):
    held = io.BytesIO()
    frame = pl.DataFrame({"0": [1.0, 2.0], "1": [3.0, 4.5]})
    write = {
        "csv": frame.write_csv,
        "parquet": frame.write_parquet,
        "arrow": frame.write_ipc,
        "stream": frame.write_ipc_stream,
        "npy": lambda file: np.save(file, frame.to_numpy()),
    }[kind]
    write(held)
    for take in (lambda: read_table("-").frame, lambda: pl.concat(batches("-")).cast(pl.Float64)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(held.getvalue())))
        assert take().to_numpy().tolist() == [[1.0, 3.0], [2.0, 4.5]]


def test_batches_are_the_table(put, monkeypatch):
    monkeypatch.setattr(text, "_SLAB", 512)
    path = put("a;b\n" + "".join(f'{i},5;"x;{i}\n"\n' for i in range(1000)))
    parts = list(batches(path, ["b", "a"], 17))
    assert max(part.height for part in parts) <= 17
    whole = pl.concat(parts)
    assert whole.columns == ["b", "a"] and whole["a"].to_list() == [f"{i},5" for i in range(1000)]
    assert read(path).frame["b"].to_list() == whole["b"].to_list()
    with pytest.raises(BadData, match="no column 'B2': did you mean 'b'"):
        list(batches(path, ["B2"]))


def test_bundled():
    got = bundled()
    assert got.frame.shape == (569, 31) and got.notes == ()
    assert set(got.frame["diagnosis"]) == {"malignant", "benign"}
    assert got.sha256 == bundled().sha256
