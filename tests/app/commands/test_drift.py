"""`score` names columns that have moved since training; `fit` gives odds ratios where it can."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from app.shell import together

JOBS = {
    "fit": ["fit", "train.csv", "--target", "ill", "-o", "m.fen", "--json"],
    "same": ["score", "m.fen", "same.csv"],
    "moved": ["score", "m.fen", "moved.csv"],
    "json": ["score", "m.fen", "moved.csv", "--json"],
    "odds": ["fit", "train.csv", "--target", "ill", "--set", "C=inf", "-q"],
    "odds json": ["fit", "train.csv", "--target", "ill", "--set", "C=inf", "--json"],
    "slopes": ["fit", "train.csv", "--target", "age", "--model", "least-squares", "--json"],
}


def rows(n, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    age = rng.normal(50.0 + shift, 10.0, n)
    job = rng.choice(["clerk", "cook", "pilot"], n, p=[0.5, 0.3, 0.2])
    ill = rng.random(n) < 1.0 / (1.0 + np.exp(-(0.05 * (age - 50.0) + 0.7 * (job == "cook"))))
    return pl.DataFrame({"age": age.round(1), "job": job, "ill": np.where(ill, "yes", "no")})


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    room = tmp_path_factory.mktemp("drift")
    rows(500, 0).write_csv(room / "train.csv")
    rows(400, 1).write_csv(room / "same.csv")
    rows(400, 2, shift=15.0).write_csv(room / "moved.csv")
    return dict(zip(JOBS, together(list(JOBS.values()), room, room / "said"), strict=True))


def test_rows_of_the_same_law(done):
    said = done["same"].fine()
    assert "no drift: the largest population stability index is 0.0" in said


def test_columns_that_have_moved_are_named(done):
    said = done["moved"].fine()
    assert "'age' has moved since training: population stability index" in said
    assert "a large shift" in said and "'job' has moved" not in said
    found = {one["column"]: one for one in done["json"].document()["drift"]}
    assert found["age"]["psi"] > 0.25 and found["age"]["p_value"] < 1e-6
    assert set(found) == {"age", "job", "prediction of the model"}


def test_odds_ratios_where_there_is_no_penalty(done):
    said = done["odds"].fine()
    assert "odds ratio" in said and "against 'clerk'" in said
    found = done["odds json"].document()["intervals"]
    held = {one["column"]: one["estimate"] for one in found["columns"]}
    assert held["job=cook"]["low"] < np.exp(0.7) < held["job=cook"]["high"]
    assert done["fit"].document()["intervals"] is None  # penalised
    slopes = done["slopes"].document()["intervals"]
    assert slopes["kind"] == "slope" and len(slopes["columns"]) == 3
