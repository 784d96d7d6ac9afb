"""Whether a first line is a header: many shapes of tables, with and without one."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from app.tables import TABLES

from fenchel.app.table.files.table_reader import Reading, batches, bundled, column_names, read_table
from fenchel.app.table.text.header import header_evidence


def cut(text, mark=","):
    return [line.split(mark) for line in text.strip().splitlines()]


def judged(text):
    first, *rows = cut(text)
    return header_evidence(first, rows)


WITH_HEADER = {
    "names above numbers": "a,b\n1,2\n3,4",
    "one row": "a,b\n1,2",
    "one column": "x\n1\n2\n3",
    "names above words": "name,city\nAnna,Berlin\nBob,Paris\nEva,Rome",
    "capital names above words": "Name,City\nAnna,Berlin\nBob,Paris\nEva,Rome",
    "a label and prose": "label,text\nham,see you at home later today\nspam,win a prize now, call\n"
    "ham,what are you doing there now",
    "letters": "odor,cap\n" + "a,b\nb,c\na,b\nb,b\na,c\n" * 4,
    "codes": "user,score\nU001,3\nU002,4\nU003,5",
    "years": "country,2019,2020,2021\nFrance,12.5,13.1,12.9\nSpain,9.1,9.4,9.2",
    "years alone": "2019,2020,2021\n1.5,2.5,3.5\n2.5,3.5,1.5",
    "one year": "country,2019\nFrance,12.5\nSpain,9.1\nItaly,3.3",
    "counted from 0": "0,1,2\n1.5,2.5,0.1\n0.5,1.5,3.5",
    "counted from 1 above integers": "1,2,3,4\n7,1,9,4\n3,8,2,2\n1,1,1,5",
    "two counted above decimals": "0,1\n1.0,3.0\n2.0,4.5",
    "wavelengths": "400,402,404,406,408,410,y\n1,5,2,8,3,1,a\n4,4,1,9,9,2,b\n3,1,1,7,2,2,a",
    "numbers of samples": "gene,10023,10044,10102\n" + "abc,1.5,2.5,3.5\nxyz,2.5,0.5,1.5\n" * 4,
    "an empty name": ",a,b\n0,1,2\n1,3,4",
    "dates": "when,what\n2024-01-01,x\n2024-01-02,y\n2024-02-02,x",
    "missing below": "a,b\n?,x\nNA,y\n3,x",
    "a number among names": "age,sex,2\n31,m,0\n45,f,1\n22,f,0",
    "duplicates": "a,a,b\n1,2,3\n4,5,6",
    "questions of a survey": "Timestamp,How satisfied are you with our service?\n"
    + "2024-01-01 10:00,very\n2024-01-01 11:00,not at all\n" * 6,
    "amounts": "price,share\n$1.50,5 %\n$2.50,7 %",
    "a header in the middle": "a,b\n1,2\na,b\n3,4\n5,6\n7,8\n9,1\n2,3\n4,5\n6,7\n8,9\n1,1\n2,2",
}
WITHOUT = {
    "numbers": "1.5,2\n3,4\n5,6",
    "two counted integers": "0,1\n1,0\n0,0\n1,1",
    "the second row counts as well": "1,2,3\n4,5,6\n7,8,9",
    "one line": "39,State-gov,77516",
    "words and numbers": "Anna,5\nBob,7\nEva,9",
    "letters": "a,b\n" + "b,c\na,b\nb,b\na,c\n" * 4,
    "a frequent level and prose": "ham,Go until jurong point, crazy..\nspam,Free entry in a wkly"
    " comp\nham,Ok lar, joking with you now",
    "codes": "U000,A\nU001,B\nU002,A\nU003,A",
    "years below": "2019,5\n2020,6\n2021,9",
    "dates": "2024-01-01,x\n2024-01-02,y\n2024-02-02,x",
    "sorted": "1,1,1\n2,4,8\n3,9,27\n4,16,64\n5,25,125\n6,36,216",
    "an outlier": "1000000,5\n" + "5,6\n7,8\n6,9\n" * 4,
    "missing first": "?,5,x\n3,6,y\n4,7,x",
    "one stray": "unknown,5,3\n2,6,3\n3,7,1",
    "repeated": "x,x,x\nx,y,x\ny,x,x\nx,x,y",
    "amounts": "$1.50,5 %\n$2.50,7 %",
    "wide": "\n".join(
        ",".join(f"{(7 * i + 13 * j) % 11 / 10}" for j in range(300)) for i in range(9)
    ),
}


@pytest.mark.parametrize("name", WITH_HEADER)
def test_headers_are_recognised(name):
    found = judged(WITH_HEADER[name])
    assert found.header, found


@pytest.mark.parametrize("name", WITHOUT)
def test_rows_are_recognised(name):
    found = judged(WITHOUT[name])
    assert not found.header, found
    assert found.reason


CLEAR = ("names above numbers", "one column", "a label and prose", "letters", "dates", "duplicates")


@pytest.mark.parametrize("name", CLEAR)
def test_a_plain_header_is_read_without_a_word(put, name):
    got = read_table(put(WITH_HEADER[name].replace("prize now, call", "prize")))
    assert got.problems == () and not [said for said in got.notes if "first line" in said]


def test_tables_of_words_say_what_is_not_known(put):
    got = read_table(put("alpha,gamma\nbeta,delta\nepsilon,zeta\n"))
    assert got.frame.height == 2 and got.problems == ()
    (said,) = got.notes
    assert "'alpha', 'gamma'" in said and "--no-header" in said
    forced = read_table(
        put("alpha,gamma\nbeta,delta\nepsilon,zeta\n"), reading=Reading(header=False)
    )
    assert forced.frame.height == 3 and forced.notes == ()


def test_a_first_line_like_the_rows_is_a_problem(put):
    path = put("Germany\nFrance\nSpain\nItaly\n")
    got = read_table(path)
    assert got.frame.columns == ["Germany"] and "looks like the rows" in got.problems[0]
    assert read_table(path, reading=Reading(header=True)).problems == ()
    assert read_table(path, reading=Reading(header=False)).frame.height == 4


def test_a_row_that_counts_by_chance_is_a_problem(put):
    got = read_table(put("1,2,3\n2,2,1\n3,1,3\n1,3,2\n"))
    assert got.frame.height == 3 and "looks like the rows" in got.problems[0]


def test_names_that_count_are_said(put):
    got = read_table(put("0,1,2\n1.5,2.5,0.1\n0.5,1.5,3.5\n"))
    assert got.frame.columns == ["0", "1", "2"] and got.problems == ()
    assert "numbers unlike those below" in got.notes[0]


@pytest.mark.parametrize("make", TABLES)
def test_made_tables(put, make):
    made = make()
    path = put(made.content, made.file_name)
    got = read_table(path)
    assert tuple(got.frame.columns) == made.names == column_names(path)
    assert got.frame.height == made.rows == sum(part.height for part in batches(path, rows=50))
    assert len(got.problems) == made.problems
    if not made.header:
        (said,) = got.problems
        for option in ("--no-header", "--names", "--header"):
            assert option in said
        assert f"'column 1' to '{made.names[-1]}'" in said
    sure = read_table(path, reading=Reading(header=made.header))
    assert sure.problems == () and sure.frame.equals(got.frame)


@pytest.mark.parametrize("make", TABLES)
@pytest.mark.parametrize("rows", [1, 2, 3, 5])
def test_made_tables_of_few_rows(put, make, rows):
    made = make(rows=20)
    lines = made.content.splitlines(keepends=True)[: rows + made.header]
    if make.__name__ == "messages":
        lines = [b"ham\tsee you\n", b"spam\twin, now!\n", b"ham\tok then\n"] * 2
        lines = lines[: max(rows, 3)]
    got = read_table(put(b"".join(lines), made.file_name))
    assert len(got.problems) == made.problems
    assert got.frame.height == len(lines) - made.header


def test_no_false_alarm_on_ordinary_tables(put):
    """Random tables with usual kinds of columns under a header are read under it, unsaid."""
    rng = np.random.default_rng(0)
    kinds = {
        "n": lambda rows: rng.normal(size=rows).round(3),
        "i": lambda rows: rng.integers(0, 50, rows),
        "c": lambda rows: rng.choice(["red", "green", "blue"], rows),
        "z": lambda rows: rng.choice(["0", "1"], rows),
        "d": lambda rows: [f"2024-0{1 + i % 9}-11" for i in range(rows)],
        "w": lambda rows: [f"person {i}" for i in range(rows)],
    }
    for trial in range(150):
        rows, width = int(rng.integers(1, 40)), int(rng.integers(1, 9))
        picks = rng.choice(list(kinds), width)
        if not set(picks) & set("niz"):
            picks[0] = "n"
        frame = pl.DataFrame({f"{kind}_{at}": kinds[kind](rows) for at, kind in enumerate(picks)})
        got = read_table(put(frame.write_csv(), f"{trial}.csv"))
        assert got.problems == () and got.frame.columns == frame.columns
        assert not [said for said in got.notes if "first line" in said], frame
        bare = read_table(put(frame.write_csv(include_header=False), "bare.csv"))
        assert bare.problems and bare.frame.height == rows, frame


def test_bundled_data_has_a_header():
    assert bundled().problems == ()


def test_forced(put):
    path = put("39,State-gov\n50,Private\n38,State-gov\n")
    assert read_table(path).frame.height == 3
    got = read_table(path, reading=Reading(header=True))
    assert got.frame.columns == ["39", "State-gov"] and got.frame.height == 2
    assert "looks like a row" in got.notes[0] and got.problems == ()
    got = read_table(path, reading=Reading(names=("age", "work")))
    assert got.frame.columns == ["age", "work"] and got.frame.height == 3
    assert got.problems == () and got.notes == ()


def test_names_for_a_table_with_a_header(put):
    path = put("a,b\n1,2\n3,4\n")
    got = read_table(path, reading=Reading(names=("x", "y"), header=True))
    assert got.frame.columns == ["x", "y"] and got.frame.height == 2 and got.problems == ()
    got = read_table(path, reading=Reading(names=("x", "y")))
    assert got.frame.height == 3
    assert "looks like a header" in got.problems[0] and "--header" in got.problems[0]


def test_expected_names_decide(put):
    path = put("alpha,gamma\nbeta,delta\n")
    names = column_names(path, expected={"alpha": "", "gamma": "", "y": ""})
    assert names == ("alpha", "gamma")
    path = put("beta,delta\nepsilon,zeta\n")
    expected = {"column 1": "", "column 2": ""}
    assert column_names(path, expected=expected) == ("column 1", "column 2")
    got = read_table(path, expected=expected)
    assert got.problems == () and "as where the model was fitted" in got.notes[0]
