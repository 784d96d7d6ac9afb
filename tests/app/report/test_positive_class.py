"""The positive class: chosen, said, and the same numbers under any names of the labels."""

from __future__ import annotations

import json
import re

import numpy as np
import polars as pl
import pytest
from app import reports
from app.shell import together

from fenchel.app.report.build import Options, build

QUICK = {"models": ("logistic", "svm"), "challenger": False}


def rows(names=("good", "bad"), n=240):
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=n), rng.choice(["u", "v", "w"], n)
    y = np.where(x + rng.normal(size=n) > 0.5, names[1], names[0])
    return pl.DataFrame({"x": x, "z": z, "y": y})


def numbers(names, positive):
    options = Options(target="y", positive=positive, **QUICK)
    return build(reports.source(rows(names)), options).numbers


def compared(found):
    """The numbers, with the names of the classes and what only quotes them left out."""
    kept = {key: found[key] for key in ("rows", "metrics", "contest", "certificate", "calibration")}
    kept["decisions"] = found["decisions"]["table"]
    kept["chosen"] = found["model"]["chosen_params"]
    kept["coefficients"] = [one["scaled"] for one in found["model"]["coefficients"]]
    kept["importance"] = found["model"]["importance"]
    kept["risk"] = found["risk"]["bounds"]
    return re.sub(r'"reason": "[^"]*"', "", json.dumps(kept, sort_keys=True))  # may quote a class


def test_renamed_labels_change_neither_the_split_nor_any_number():
    first = compared(numbers(("good", "bad"), "bad"))
    for names in (("bad", "good"), ("1", "2"), ("zz", "aa"), ("no", "yes"), ("yes", "no")):
        assert compared(numbers(names, names[1])) == first


def test_the_other_class_turns_the_numbers_round():
    bad, good = numbers(("good", "bad"), "bad"), numbers(("good", "bad"), "good")
    assert (bad["task"]["positive"], good["task"]["positive"]) == ("bad", "good")
    rates = [{one["key"]: one["model"]["value"] for one in n["metrics"]} for n in (bad, good)]
    assert rates[0]["recall"] != rates[1]["recall"]
    assert bad["balance"][1]["class"] == "bad" and good["balance"][1]["class"] == "good"


def test_it_is_said_with_its_reason_and_the_option():
    report = build(reports.source(rows()), Options(target="y", **QUICK))
    assert report.verdict()[1] == "positive class: bad (by its name; --positive chooses)"
    page = report.html()
    assert "by its name; --positive chooses another" in page
    asked = build(reports.source(rows()), Options(target="y", positive="good", **QUICK))
    assert asked.verdict()[1] == "positive class: good (as --positive says)"


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    path = tmp_path_factory.mktemp("positive")
    rows().write_csv(path / "table.csv")
    return path


JOBS = {
    "fit": ["fit", "table.csv", "--target", "y", "--positive", "good", "-o", "m.fen", "--json"],
    "score": ["score", "m.fen", "table.csv", "--json"],
    "predict": ["predict", "m.fen", "table.csv", "-o", "p.csv"],
    "wrong": ["fit", "table.csv", "--target", "y", "--positive", "worse"],
    "compare": [
        *("compare", "table.csv", "--target", "y", "--positive", "good", "--model", "logistic"),
        "--json",
    ],
    "certify": ["certify", "m.fen", "table.csv", "--json"],
}


def test_every_verb_takes_it(room):
    done = dict(zip(JOBS, together(list(JOBS.values()), room, room / "said"), strict=True))
    for verb in ("fit", "score", "compare"):
        assert done[verb].document()["task"]["positive"] == "good"
    done["predict"].fine()
    assert pl.read_csv(room / "p.csv").columns == [
        "prediction", "probability bad", "probability good"
    ]  # fmt: skip
    said = done["wrong"].failed(2)
    assert "--positive 'worse' is not a class of 'y': it has 'bad' and 'good'" in said
    assert done["certify"].document()["certificate"]["relative_gap"] < 1e-6
