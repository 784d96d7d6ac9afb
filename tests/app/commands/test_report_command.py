"""`fenchel report` as a process: its files, its document, its bars; and `certify` on its model."""

from __future__ import annotations

import numpy as np
import pytest
from app.shell import together

JOBS = {
    "report": [
        *("report", "table.csv", "--target", "y", "--out", "place", "--model", "logistic"),
        *("--json", "--require", "gap<=1e-6", "--require", "error.high<=0.9", "--seed", "3"),
    ],
    "certify": ["certify", "place/model.fen", "table.csv", "--json"],
    "words": ["report", "table.csv", "--model", "svm", "-o", "b/own name.html", "-q"],
    "bar": ["report", "table.csv", "--model", "logistic", "-o", "c", "--require", "auc>=1.1"],
    "cost": ["report", "table.csv", "--cost-fn", "-1"],
    "target": ["report", "table.csv", "--target", "z"],
    "no target": ["report", "bare.csv", "--out", "d", "--json"],
    "bar of no target": ["report", "bare.csv", "--out", "d", "--require", "auc>=0.5"],
    "where": ["report", "table.csv", "--model", "logistic", "--out", "table.csv"],
}


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    room = tmp_path_factory.mktemp("room")
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(2, 160)).round(3)
    y = np.where(a + 0.8 * rng.normal(size=160) > 0, "ill", "well")
    rows = [f"{a[i]},{b[i]},{y[i]}" for i in range(160)]
    (room / "table.csv").write_text("\n".join(["a,b,y", *rows, ""]))
    (room / "bare.csv").write_text("\n".join(["p,q,r", *rows, ""]))
    return room


@pytest.fixture(scope="module")
def done(room):
    return dict(zip(JOBS, together(list(JOBS.values()), room, room / "said"), strict=True))


def test_report_writes_and_tells_one_document(done, room):
    found = done["report"].document()
    assert done["report"].code == 0 and found["verb"] == "report"
    names = {"report.html", "model.fen", "report.json"}
    assert {path.name for path in (room / "place").iterdir()} == names
    assert len(found["files"]) == 3 and found["files"][0].endswith("report.html")
    command = found["reproduction"]["command"]
    assert command.startswith("fenchel report table.csv --target y --out place")
    assert "gap<=1e-6" in command and found["reproduction"]["seed"] == 3


def test_certify_finds_the_rows_of_the_report_again(done):
    found = done["certify"].document()
    assert found["is_training_table"] and found["agrees"]
    bounds = done["report"].document()["risk"]["bounds"]
    assert found["bounds"]["error"]["errors"] == bounds["error"]["errors"]
    assert found["bounds"]["error"]["rows"] == bounds["error"]["rows"] == 40
    assert found["table"]["rows"] == 120


def test_the_last_lines_are_the_verdict(done, room):
    said = done["words"].fine().splitlines()
    assert "hinge" in said[2] and "AUC on 40 locked test rows" in said[3]
    assert said[-1] == "written: b/own name.html, b/own name.fen, b/own name.json"
    assert (room / "b" / "own name.html").stat().st_size < 2_000_000
    assert not done["words"].err


def test_what_cannot_be_done_is_one_sentence(done):
    assert "auc is 0." in done["bar"].failed(1)
    assert done["bar"].out.splitlines()[-1].startswith("written: c/report.html")
    done["cost"].failed(2)
    assert "table.csv: the table has no column 'z'" in done["target"].failed(3)
    assert "table.csv is a file, not a folder" in done["where"].failed(2)


def test_a_table_without_target_is_described(done):
    found = done["no target"].document()
    assert done["no target"].code == 0 and found["task"]["kind"] == "none"
    assert "auc" in done["bar of no target"].failed(2)
