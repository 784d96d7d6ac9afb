"""Delimiters, titles, comments, damaged lines: how text tables are written, found or said."""

from __future__ import annotations

import gzip

import polars as pl
import pytest
from app.tables import TABLES

from fenchel.app.errors import BadData, BadUsage
from fenchel.app.table.files.table_reader import (
    Reading,
    batches,
    column_names,
    open_table,
    read_table,
)
from fenchel.app.table.text import text_rows as text
from fenchel.app.table.text.text_rows import single_spaces


def rows_of(path, **how):
    return read_table(path, reading=Reading(**how)).frame.rows()


def said(source, words):
    found = [note for note in source.notes if words in note]
    assert len(found) == 1, source.notes
    return found[0]


# ------------------------------------------------------------------------------ delimiters


@pytest.mark.parametrize(
    "content",
    [
        "a b c\n1 x 2.5\n2 y 3.5\n",
        "  a   b\tc\n  1  x  2.5  \n\t2  y  3.5\r\n",
        'a b c\n1 "x" 2.5\n2 "y" 3.5\n',
    ],
)
def test_runs_of_blanks(put, content):
    got = read_table(put(content))
    assert got.frame.columns == ["a", "b", "c"]
    assert got.frame.rows() == [(1, "x", 2.5), (2, "y", 3.5)]
    assert got.format == "space-separated text"
    said(got, "delimiter space")


def test_blanks_between_quotes_stay(put):
    got = read_table(put('name  n\n"Mazda  RX4"   21\n"Fiat 128"  32\n'))
    assert got.frame.rows() == [("Mazda  RX4", 21), ("Fiat 128", 32)]


def test_words_between_blanks_are_prose(put):
    got = read_table(put("text\ngood film\nbad film\nnice thing\n"))
    assert got.frame.columns == ["text"] and got.frame["text"][0] == "good film"
    assert read_table(put("good film\nbad film\nnice thing\n")).frame.width == 1
    got = read_table(put("price\n5 kr\n1.000 kr\n"))
    assert got.frame["price"].to_list() == [5, 1000]


@pytest.mark.parametrize(
    ("content", "width", "mark"),
    [
        ("1,5;2,5;x\n2,5;3,5;y\n0,5;1,5;x\n", 3, "semicolon"),
        ("2024-01-01 10:00,1,2\n2024-01-01 11:00,2,2\n2024-01-02 10:00,7,1\n", 3, None),
        ("a|b\n1,5|2\n2,5|3\n", 2, "bar"),
        ("x y,z\n1 2,3\n4 5,6\n", 2, None),
        ("1,5 2,25 3\n2,5 3,25 4\n", 3, "space"),
        ("name;text\na;hello, you; all\nb;bye\nc;so, so\n", None, None),
    ],
)
def test_the_delimiter_of_whole_fields(put, content, width, mark):
    path = put(content)
    if width is None:
        with pytest.raises(BadData, match=r"line 2 \(row 1\) has 3 fields"):
            read_table(path)
        return
    got = read_table(path)
    assert got.frame.width == width
    assert bool([note for note in got.notes if note.startswith("delimiter")]) == (mark is not None)
    if mark:
        said(got, f"delimiter {mark}")


def test_forced_delimiters(put):
    assert rows_of(put("a,b;c\nx,y;3\n"), delimiter=";") == [("x,y", 3)]
    assert rows_of(put("a:b\n1:2\n3:4\n"), delimiter=":") == [(1, 2), (3, 4)]
    assert rows_of(put("a b\nx  y\n"), delimiter=" ") == [("x", "y")]
    assert column_names(put("a;b\n1;2\n"), reading=Reading(delimiter=",")) == ("a;b",)
    for bad in ("", "::", "x", '"', "\n", "é"):
        with pytest.raises(BadUsage, match="--delimiter"):
            Reading(delimiter=bad)


def test_single_spaces():
    assert single_spaces(b"  1 2   3  \n\t4\t 5 6\r\n 7 8", False) == b"1 2 3\n4 5 6\r\n7 8"
    assert single_spaces(b' "a  b"  2 \n"c" 3', True) == b'"a  b" 2\n"c" 3'
    assert single_spaces(b"", True) == b""


# ------------------------------------------------------------------------- above the table


def test_titles_comments_and_hints(put):
    wanted = [(1, 2.5), (3, 4.5)]
    got = read_table(put("Sales of 2024\n\na,b\n1,2.5\n3,4.5\n"))
    assert got.frame.columns == ["a", "b"] and got.frame.rows() == wanted
    assert "'Sales of 2024'" in said(got, "above the table")
    got = read_table(put("Sales of 2024,,\na,b,c\n1,2.5,x\n3,4.5,y\n"))
    assert got.frame.columns == ["a", "b", "c"]
    said(got, "above the table")
    got = read_table(put("# made by hand\n# in 2024\na,b\n1,2.5\n3,4.5\n"))
    assert got.frame.rows() == wanted and got.frame.columns == ["a", "b"]
    assert "2 lines of comments ('# made by hand')" in said(got, "not read")
    got = read_table(put("# made by hand\nSales of 2024\na,b\n1,2.5\n3,4.5\n"))
    assert got.frame.rows() == wanted
    said(got, "1 line of comments")
    said(got, "1 line above the table")
    got = read_table(put("#ff0000,1\n#00ff00,2\nblack,3\nwhite,4\n"))
    assert got.frame.height == 4  # colours, no comments
    got = read_table(put("# a,b\n1,2.5\n3,4.5\n"))
    assert got.frame.rows() == wanted and got.frame.columns == ["a", "b"]
    got = read_table(put("sep=;\na;b\n1;2,5\n3;4,5\n"))
    assert got.frame.rows() == wanted
    said(got, "names the delimiter")
    got = read_table(put("\n\r\na,b\n1,2.5\n3,4.5\n"))
    assert got.frame.rows() == wanted
    got = read_table(put("Messwerte\n1,2.5\n3,4.5\n7,7.5\n"))
    assert got.frame.height == 3 and got.problems


@pytest.mark.parametrize(
    "content",
    [
        "text\nhello, you\nbye, all\n",  # a column of prose with a comma in each line
        "#,name\n1,x\n2,y\n",
        "a,b\n# 1,2\n3,4\n",
    ],
)
def test_what_only_looks_like_a_title_or_comment(put, content):
    got = read_table(put(content))
    assert got.frame.height == 2
    assert got.frame.columns == [name.strip() for name in content.split("\n")[0].split(",")]


def test_skipped_lines(put):
    path = put('about this: "x\nmore, of, it\na,b\n1,2\n3,4\n')
    got = read_table(path, reading=Reading(skip=2))
    assert got.frame.rows() == [(1, 2), (3, 4)] and got.frame.columns == ["a", "b"]
    said(got, "2 lines skipped at the top")
    assert rows_of(path, skip=3, header=False) == [(1, 2), (3, 4)]
    with pytest.raises(BadUsage, match=r"--skip 5 leaves nothing of .* 5 lines"):
        read_table(path, reading=Reading(skip=5))
    with pytest.raises(BadUsage, match="--skip -1"):
        Reading(skip=-1)


# ----------------------------------------------------------------------- names and widths


def test_names(put):
    path = put("1,2,3\n4,5,6\n")
    assert read_table(path, reading=Reading(names=("a", "b", "c"))).frame.columns == ["a", "b", "c"]
    with pytest.raises(BadUsage, match=r"--names gives 2 names, and .* has 3 columns"):
        read_table(path, reading=Reading(names=("a", "b")))
    with pytest.raises(BadUsage, match="'a' twice"):
        Reading(names=("a", "b", "a"))
    with pytest.raises(BadUsage, match="empty name"):
        Reading(names=("a", ""))


def test_names_of_files_with_types(tmp_path):
    path = str(tmp_path / "t.parquet")
    pl.DataFrame({"a": [1, 2], "b": ["x", "y"]}).write_parquet(path)
    got = read_table(path, reading=Reading(names=("n", "s")))
    assert got.frame.columns == ["n", "s"] and got.frame.rows() == [(1, "x"), (2, "y")]
    (batch,) = batches(path, ["s"], reading=Reading(names=("n", "s")))
    assert batch["s"].to_list() == ["x", "y"]
    with pytest.raises(BadUsage, match=r"--names gives 1 names, and .* has 2 columns"):
        read_table(path, reading=Reading(names=("n",)))
    given = {"header": False, "skip": 1, "delimiter": ",", "quoting": "none", "decimal": ","}
    for option, value in given.items():
        with pytest.raises(BadUsage, match="is for text tables"):
            read_table(path, reading=Reading(**{option: value}))


def test_a_delimiter_at_the_end_of_every_line(put):
    for content in ("a,b,\n1,2,\n3,4,\n", "a,b\n1,2,\n3,4,\n"):
        got = read_table(put(content))
        assert got.frame.columns == ["a", "b"] and got.frame.rows() == [(1, 2), (3, 4)]
        said(got, "every line ends in a delimiter")
    assert read_table(put("1,2,\n3,4,\n5,6")).frame.rows() == [(1, 2), (3, 4), (5, 6)]
    got = read_table(put("a,b,\n1,2\n3,4\n"))
    assert got.frame.columns == ["a", "b"]
    said(got, "the header ends in a delimiter")
    late = "a,b,\n" + "1,2,\n" * 2000 + "1,2,3\n" + "1,2,\n"
    with pytest.raises(BadData, match=r"line 2002 \(row 2001\) has a value behind its last comma"):
        read_table(put(late))
    with pytest.raises(BadData, match=r"line 2002 \(row 2001\) has a value behind its last comma"):
        list(batches(put(late), ["a"]))
    bare = put("1,2,\n" * 2000 + "1,2,3\n")
    with pytest.raises(BadData, match="--names"):
        read_table(bare)
    assert rows_of(bare, names=("a", "b", "c"))[-1] == (1, 2, 3)


def test_a_header_of_another_table(put):
    """As scikit-learn keeps its own: counts and classes above the rows."""
    path = put("569,malignant\n" + "1.5,2.5,3.5,0\n2.5,1.5,3.0,1\n" * 3)
    with pytest.raises(BadData, match=r"its header has 2 fields and the lines below it have 4"):
        read_table(path, reading=Reading(header=True))
    assert rows_of(path, skip=1, names=("a", "b", "c", "y"))[0] == (1.5, 2.5, 3.5, 0)


def test_names_of_rows(put):
    """As R's write.table does it: the header lacks the first column."""
    got = read_table(put('"mpg" "cyl"\n"Mazda RX4" 21 6\n"Fiat 128" 32.4 4\n'))
    assert got.frame.columns == ["column 1", "mpg", "cyl"]
    assert got.frame.row(0) == ("Mazda RX4", 21.0, 6)
    assert "names of the rows" in got.problems[0]
    again = read_table(
        put('"mpg" "cyl"\n"Mazda RX4" 21 6\n"Fiat 128" 32.4 4\n'), expected={"mpg": "", "cyl": ""}
    )
    assert again.problems == got.problems
    for content in ("id,amount\n1,1,169\n2,2,300\n", "a,b\n$1,200,5\n$2,300,6\n"):
        with pytest.raises(BadData, match="2 fields and the lines below it have 3"):
            read_table(put(content))  # cells with a comma that nobody put between quotes


# --------------------------------------------------------------------------- damaged lines


def test_damaged_lines_are_named_by_line_and_row(put, monkeypatch):
    monkeypatch.setattr(text, "_SLAB", 256)
    good = "".join(f'{i},"two\nlines"\n' for i in range(100))
    path = put(f"# about\na,b\n{good}1,2,3\n5,6\n")
    with pytest.raises(BadData, match=r"line 203 \(row 101\) has 3 fields where the header has 2"):
        read_table(path)
    with pytest.raises(BadData, match=r"line 203 \(row 101\) has 3 fields"):
        list(batches(path, ["a"]))


def test_damaged_lines_left_out(put, monkeypatch):
    lines = ["a,b", *(f"{i},{i}.5" for i in range(50))]
    for at, bad in ((3, "1"), (20, "1,2,3"), (21, ""), (40, "1,2,3,4"), (44, "5,6,7")):
        lines.insert(at, bad)
    content = "\n".join(lines) + "\n"
    for size in (64, 2**23):
        monkeypatch.setattr(text, "_SLAB", size)
        path = put(content)
        got = read_table(path, reading=Reading(bad_lines="skip"))
        assert got.frame.rows() == [(i, i + 0.5) for i in range(50)]
        note = said(got, "damaged lines left out")
        assert note.startswith("4 damaged lines left out (line 4 with 1 field, line 21 with 3 ")
        assert note.endswith(", line 41 with 4 fields, …)")
        with open_table(path, reading=Reading(bad_lines="skip")) as opened:
            assert pl.concat(opened.batches(rows=9)).height == 50
            assert note in opened.notes
    with pytest.raises(BadData, match="--skip-bad-lines"):
        read_table(path)


def test_a_table_of_nothing_but_damaged_lines(put):
    path = put("a,b\n1,2,3\n")
    with pytest.raises(BadData, match="no rows"):
        read_table(path, reading=Reading(bad_lines="skip"))


# ----------------------------------------------------------------------------------- quotes

SMS = 'ham\tGo until jurong point, "crazy..\nham\t"Gimme a few" was ok\nspam\t"win\nham\tso "so" \n'


def test_quotes_without_a_rule(put, monkeypatch):
    for size in (16, 2**23):
        monkeypatch.setattr(text, "_SLAB", size)
        got = read_table(put(SMS * 3, "sms"))
        assert got.frame.height == 12 and got.frame.width == 2
        assert got.frame["column 2"].to_list()[:4] == [
            'Go until jurong point, "crazy..',
            '"Gimme a few" was ok',
            '"win',
            'so "so"',
        ]
        said(got, "quotes are read as characters")


def test_quotes_in_the_middle_of_cells(put, monkeypatch):
    content = 'item,size,note\npipe,5" wide,"a, b"\nrod,6" or 7","say ""hi"""\nbar, "8 ","x\ny"\n'
    wanted = [
        ("pipe", '5" wide', "a, b"),
        ("rod", '6" or 7"', 'say "hi"'),
        ("bar", "8", "x\ny"),
    ]
    for size in (16, 2**23):
        monkeypatch.setattr(text, "_SLAB", size)
        got = read_table(put(content))
        assert got.frame.rows() == wanted
        said(got, "quotes in the middle of a cell are read as characters")
        assert read_table(put(content), reading=Reading(quoting="standard")).frame.rows() == wanted
    crlf = read_table(put(content.replace("\n", "\r\n")))
    assert crlf.frame.rows() == [*wanted[:2], ("bar", "8", "x\r\ny")]


def test_standard_quotes_are_not_remarked(put):
    got = read_table(put('"a","b"\n"1","x ""y"" z"\n"2","p,\nq"\n"",""\n'))
    assert got.notes == () and got.frame.rows() == [
        (1, 'x "y" z'),
        (2, "p,\nq"),
        (None, None),
    ]


def test_lines_that_are_whole_by_themselves_are_not_joined(put):
    got = read_table(put('k\tt\nham\t"hello\nspam\tbye"\nham\tx\n'))
    assert got.frame["t"].to_list() == ['"hello', 'bye"', "x"]
    said(got, "quotes are read as characters")


def test_forced_quoting(put):
    path = put('a,b\n"x",1\n"y",2\n')
    got = read_table(path, reading=Reading(quoting="none"))
    assert got.frame["a"].to_list() == ['"x"', '"y"']
    joined = read_table(put('k\tt\nham\t"hello\nspam\tbye"\n'), reading=Reading(quoting="standard"))
    assert joined.frame.height == 1


def test_a_broken_quote_among_quoted_cells(put):
    rows = [f'"{i}, x","p{i}"' for i in range(20)]
    rows[7] = '"7, x,"p7"'
    path = put('"a","b"\n' + "\n".join(rows) + "\n")
    with pytest.raises(BadData, match="line 9 has a quote that is not closed") as caught:
        read_table(path)
    for option in ("--quoting none", "--skip-bad-lines"):
        assert option in str(caught.value)
    got = read_table(path, reading=Reading(bad_lines="skip"))
    assert got.frame.height == 19
    assert "line 9 with a quote that is not closed" in said(got, "damaged line")
    with pytest.raises(BadData, match="line 9"):
        read_table(path, reading=Reading(quoting="standard"))


def test_a_stray_quote_far_behind_the_head(put, monkeypatch):
    rows = [f"{i},word {i}" for i in range(30_000)]
    rows[25_000] = '25000,an "odd one'
    got = read_table(put("n,t\n" + "\n".join(rows) + "\n"))
    assert got.frame.height == 30_000 and got.frame["t"][25_000] == 'an "odd one'
    said(got, "quotes in the middle")


# ------------------------------------------------------------------------------ all at once


@pytest.mark.parametrize("make", TABLES)
@pytest.mark.parametrize("change", ["bom", "crlf", "gzip", "latin-1", "small pieces"])
def test_made_tables_in_other_clothes(put, make, change, monkeypatch):
    made = make(rows=60)
    plain = read_table(put(made.content, made.file_name)).frame
    content, name = made.content, made.file_name
    if change == "bom":
        content = b"\xef\xbb\xbf" + content
    elif change == "crlf":
        content = content.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    elif change == "gzip":
        content, name = gzip.compress(content), name + ".gz"
    elif change == "latin-1":
        content = content.decode().encode("cp1252")
    else:
        monkeypatch.setattr(text, "_SLAB", 300)
    path = put(content, name)
    got = read_table(path)
    assert got.frame.equals(plain) and len(got.problems) == made.problems
    assert pl.concat(batches(path, rows=7)).height == 60


def test_arff_is_named(put):
    with pytest.raises(BadData, match="ARFF"):
        read_table(put("% about\n@relation x\n@attribute a numeric\n@data\n1\n"))
