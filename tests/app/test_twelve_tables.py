"""The report on small tables written as twelve well-known public ones are."""

from __future__ import annotations

import json

import polars as pl
import pytest
from app.shell import together
from app.tables import TABLES

ASKED = {
    "fit": [
        *("fit", "SMSSpamCollection", "--target", "column 1", "-o", "sms.fen", "--json"),
        *("--test-share", "0.3"),
    ],
    "predict": ["predict", "sms.fen", "new.csv", "-o", "out.csv"],
    "asked": ["report", "sonar.all-data", "-o", "asked"],
    "calm": ["report", "sonar.all-data", "--no-target", "-o", "calm"],
}


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Every report, every model scored on the whole table, in one process."""
    room = tmp_path_factory.mktemp("twelve")
    jobs = dict(ASKED)
    for make in TABLES:
        made = make()
        (room / made.file_name).write_bytes(made.content)
        out = make.__name__
        # The grades of the wine are whole numbers, some of them rare: they are taken for a number.
        model = "ridge" if made.kind == "number" or out == "wine" else "logistic"
        jobs[f"report {out}"] = [
            *("report", made.file_name, "--target", made.target, "-o", out, "--model", model),
        ]
        jobs[f"score {out}"] = ["score", f"{out}/model.fen", made.file_name, "--json"]
    new = pl.DataFrame({"column 2": ["WINNER!! claim your free prize now", "see you at home"]})
    new.write_csv(room / "new.csv")
    found = together(list(jobs.values()), room, room / "said")
    return room, dict(zip(jobs, found, strict=True))


@pytest.mark.parametrize("make", TABLES, ids=lambda make: make.__name__)
def test_the_report_says_what_is_so(make, done):
    room, jobs = done
    made, out = make(), make.__name__
    report = jobs[f"report {out}"]
    said = report.fine()
    numbers = json.loads((room / out / "report.json").read_text())
    assert numbers["rows"]["read"] == made.rows  # no row is lost to a header that is none
    names = [one["name"] for one in numbers["columns"]]
    assert names == [name for name in made.names if name != made.target]
    codes = {one["code"]: one["severity"] for one in numbers["findings"]}
    assert (codes["R1"] == "problem") is (made.problems > 0)
    if made.problems:
        assert "problem: the table seems to have no header" in report.err
        assert "R1 how the file was read" in said
    assert numbers["certificate"]["certified"] and numbers["worth"]["better"], said
    assert numbers["challenger"]["score"]["value"] > 0.0
    assert numbers["model"]["importance"]["columns"]
    assert all(one["kind"] != "text" or "tf-idf" in one["rule"] for one in numbers["columns"])
    scored = jobs[f"score {out}"].document()
    assert scored["rows"] == numbers["rows"]["used"]
    # The rows of the fit are most of the table: nothing has moved.
    chance = 0.01 / len(scored["drift"])
    assert all(one["psi"] < 0.1 or one["p_value"] > chance for one in scored["drift"])


def test_messages_get_a_classifier_of_their_words(done):
    room, jobs = done
    assert jobs["fit"].document()["metrics"]["auc"]["value"] > 0.9
    jobs["predict"].fine()
    assert pl.read_csv(room / "out.csv")["prediction"].to_list() == ["spam", "ham"]


def test_a_table_whose_last_column_looks_like_a_target_is_asked_about(done):
    _, jobs = done
    first, second, *_ = jobs["asked"].fine().splitlines()
    assert first.startswith("no target was named, but these columns look like one: 'column 61'")
    assert second.endswith("--target 'column 61'")
    assert "look like one" not in jobs["calm"].fine() and "S0" not in jobs["calm"].out
