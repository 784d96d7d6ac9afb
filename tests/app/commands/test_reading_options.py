"""The options about how a table is written, and what the verbs say of what they found."""

from __future__ import annotations

import csv
import io

import polars as pl
import pytest
from app.shell import alone, together
from app.tables import census, european_export, heart, messages, us_export

import fenchel

NAMES = ",".join(f"c{number}" for number in range(1, 15))

JOBS = {
    "census": ["fit", "adult.data", "--target", "column 15", "-o", "adult.fen", "--json"],
    "census quiet": ["fit", "adult.data", "--target", "column 15", "--no-header", "-q"],
    "census no target": ["fit", "adult.data", "--target", "income"],
    "census again": ["predict", "adult.fen", "adult.data", "-o", "adult.csv", "--json"],
    "census scored": ["score", "adult.fen", "adult.data", "--json"],
    "census first": ["predict", "adult.fen", "one.data"],
    "heart": ["fit", "cleveland.data", "--names", NAMES, "--target", "c14", "-o", "heart.fen"],
    "heart bare": ["predict", "heart.fen", "cleveland.data"],
    "heart named": ["predict", "heart.fen", "cleveland.data", "--names", NAMES, "--keep", "c1,c2"],
    "heart short": ["predict", "heart.fen", "cleveland.data", "--names", "a,b"],
    "heart twice": ["predict", "heart.fen", "cleveland.data", "--names", "a,b,a"],
    "heart headed": ["certify", "heart.fen", "headed.csv", "--names", NAMES, "--header"],
    "europe": ["fit", "europe.csv", "--target", "Preis", "-o", "europe.fen", "--json"],
    "europe plain": ["predict", "europe.fen", "plain.csv", "-o", "plain.parquet", "--json"],
    "europe itself": ["predict", "europe.fen", "europe.csv", "-o", "itself.parquet", "-q"],
    "europe scored": ["score", "europe.fen", "europe.csv", "--json"],
    "europe scored plain": ["score", "europe.fen", "plain.csv", "--json"],
    "europe certified": ["certify", "europe.fen", "europe.csv", "--json"],
    "us": ["compare", "us.csv", "--target", "churned", "--model", "logistic", "--json"],
    "ragged": ["fit", "ragged.csv", "--target", "y"],
    "ragged skipped": ["fit", "ragged.csv", "--target", "y", "--skip-bad-lines", "--json"],
    "sms": ["report", "sms", "--target", "column 1", "--out", "sms.html", "--no-header"],
    "delimiter": ["fit", "us.csv", "--delimiter", "ab"],
    "delimiter word": ["fit", "us.csv", "--delimiter", "semicolon", "--target", "churned"],
    "skip": ["fit", "us.csv", "--skip", "100000"],
    "parquet": ["fit", "plain.parquet.in", "--no-header", "--target", "Preis"],
    "codes": ["fit", "codes.csv", "--target", "y"],
    "codes compared": ["compare", "codes.csv", "--target", "y", "--model", "logistic"],
    "codes as they stand": ["fit", "codes.csv", "--target", "y", "--as-is"],
    "quoting": ["fit", "us.csv", "--quoting", "some"],
}


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    room = tmp_path_factory.mktemp("room")
    adult = census(rows=200)
    (room / "adult.data").write_bytes(adult.content)
    (room / "one.data").write_bytes(adult.content.split(b"\n")[0] + b"\n")
    hearts = heart(rows=150).content
    (room / "cleveland.data").write_bytes(hearts)
    header = ",".join(f"h{number}" for number in range(14)).encode() + b"\n"
    (room / "headed.csv").write_bytes(header + hearts)
    europe = european_export(rows=100).content
    (room / "europe.csv").write_bytes(europe)
    (room / "plain.csv").write_text(_plain(europe.decode()))
    pl.DataFrame({"Preis": [1.0, 2.0], "x": [1, 2]}).write_parquet(room / "plain.parquet.in")
    (room / "us.csv").write_bytes(us_export(rows=120).content)
    (room / "sms").write_bytes(messages(rows=120).content)
    rows = [f"{i % 7},{i % 3},{'no' if i % 7 < 3 else 'yes'}" for i in range(60)]
    codes = [
        f"{20 + i * 7 % 50 if i % 10 else -999},{i % 3},{'no' if i % 7 < 3 else 'yes'}"
        for i in range(120)
    ]
    codes[5] = "33,99999999,no"
    (room / "codes.csv").write_text("\n".join(["age,b,y", *codes, ""]))
    (room / "ragged.csv").write_text("\n".join(["a,b,y", *rows[:6], "1,2", *rows[6:], ""]))
    found = dict(zip(JOBS, together(list(JOBS.values()), room, room / "said"), strict=True))
    return found, room


def _plain(text):
    """A European export with decimal points, commas and ISO dates."""
    out = io.StringIO(newline="")
    for row in csv.reader(io.StringIO(text), delimiter=";"):
        day, *rest = row
        if day != "Datum":
            day = "-".join(reversed(day.split(".")))
            for at in (2, 3, 4, 5, 6):
                rest[at] = rest[at].removesuffix(" €").replace(".", "").replace(",", ".")
        csv.writer(out, lineterminator="\n").writerow([day, *rest])
    return out.getvalue()


def problems(done):
    return [line for line in done.err.splitlines() if line.startswith("problem: ")]


def test_a_missing_header_is_the_first_thing_said(done):
    said = done[0]["census"]
    assert said.err.splitlines()[1].startswith("problem: the table seems to have no header ('")
    document = said.document()
    assert document["rows"] == 200 and len(document["table"]["problems"]) == 1
    assert not problems(done[0]["census quiet"]) and done[0]["census quiet"].fine()
    lost = done[0]["census no target"]
    assert problems(lost) and "no column 'income'" in lost.err.splitlines()[-1] and lost.code == 3


def test_rows_without_a_header_as_at_the_fit(done):
    found = done[0]["census again"].document()
    assert found["rows"] == 200 and found["problems"] == []
    assert "no header, as where the model was fitted" in found["notes"]
    assert done[0]["census scored"].document()["rows"] == 200
    assert len(done[0]["census first"].fine().splitlines()) == 2


def test_names_are_those_of_the_file_that_is_read(done):
    done[0]["heart"].fine()
    bare = done[0]["heart bare"]
    assert problems(bare) and "no column 'c1'" in bare.err.splitlines()[-1] and bare.code == 3
    lines = done[0]["heart named"].fine().splitlines()
    assert lines[0].startswith("c1,c2,prediction") and len(lines) == 151
    assert "c1,c2" in lines[0] and not problems(done[0]["heart named"])
    assert "gives 2 names, and cleveland.data has 14 columns" in done[0]["heart short"].failed(2)
    assert "'a' twice" in done[0]["heart twice"].failed(2)
    assert "agrees with the one in the model file" in done[0]["heart headed"].fine()


def test_a_model_reads_every_dialect_of_its_columns(done):
    """An export with decimal commas, and the same rows with points, give the same predictions."""
    found, room = done
    notes = found["europe"].document()["table"]["notes"]
    assert any("'Rabatt' is read as numbers" in said and "divided by 100" in said for said in notes)
    assert found["europe plain"].document()["rows"] == 100
    assert found["europe itself"].code == 0
    one, other = (pl.read_parquet(room / f"{name}.parquet") for name in ("itself", "plain"))
    assert (one["prediction"] - other["prediction"]).abs().max() < 1e-9
    cells = [line.split(";") for line in european_export(rows=100).content.decode().splitlines()]
    table = pl.DataFrame(cells[1:], schema=cells[0], orient="row")
    from_python = fenchel.open_model(str(room / "europe.fen")).predict(table)
    assert from_python["prediction"].to_list() == one["prediction"].to_list()
    first, second = (found[name].document() for name in ("europe scored", "europe scored plain"))
    assert first["rows"] == second["rows"] == 100
    assert first["metrics"]["rmse"]["value"] == pytest.approx(second["metrics"]["rmse"]["value"])
    assert found["europe certified"].document()["agrees"] is True


def test_numbers_as_people_write_them_are_compared(done):
    notes = done[0]["us"].document()["table"]["notes"]
    assert any("'$" in said for said in notes)


def test_damaged_lines(done):
    said = done[0]["ragged"].failed(3)
    assert "line 8 (row 7) has 2 fields where the header has 3" in said
    assert "--skip-bad-lines" in said
    found = done[0]["ragged skipped"].document()
    assert found["rows"] == 60
    assert "1 damaged line left out (line 8 with 2 fields)" in found["table"]["notes"]


def test_a_report_on_text_messages(done):
    said = done[0]["sms"]
    said.fine()
    assert "quotes are read as characters" in said.err and not problems(said)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("delimiter", "--delimiter 'ab' is not one character"),
        ("skip", "--skip 100000 leaves nothing of us.csv, which has 121 lines"),
        ("parquet", "--no-header is for text tables"),
        ("quoting", "'some' is not one of"),
    ],
)
def test_usage(done, name, words):
    assert words in done[0][name].failed(2)


def test_a_wrong_delimiter_is_found_out(done):
    assert "no column 'churned'" in done[0]["delimiter word"].failed(3)


def test_standard_input_takes_the_options(done):
    _, room = done
    rows = b"\n".join((room / "cleveland.data").read_bytes().split(b"\n")[:5]) + b"\n"
    said = alone("predict", "heart.fen", "-", "--names", NAMES, "-q", cwd=room, stdin=rows)
    assert len(said.fine().splitlines()) == 6


def test_fit_and_compare_say_which_numbers_they_do_not_take_as_they_stand(done):
    for job in ("codes", "codes compared"):
        done[0][job].fine()
        said = done[0][job].err
        assert "note: in column 'age' -999 counts as missing" in said
        assert "note: column 'b' is clipped to" in said and "--as-is" in said
    assert "-999" not in done[0]["codes as they stand"].err
