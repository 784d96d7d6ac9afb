"""A model file in Python: a line that says what it is, and the kind of table that it was given."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fenchel
from fenchel import ModelFileError, open_model, save
from fenchel.app.table.encoding.encoder import Encoder
from fenchel.app.table.task import find_task

rng = np.random.default_rng(0)
N = 80
FRAME = pl.DataFrame(
    {
        "length": rng.normal(size=N).round(3),
        "colour": rng.choice(["red", "blue"], N).tolist(),
        "kind": rng.choice(["a", "b", "c"], N).tolist(),
        "ill": np.where(rng.random(N) < 0.4, "yes", "no").tolist(),
        "price": rng.normal(size=N).round(3),
    }
)
NEW = FRAME.select("length", "colour").head(5)


def held(path, target, model):
    table = FRAME.select("length", "colour", target)
    task = find_task(table, target)
    encoder = Encoder.fit(table, task)
    y = task.codes(table) if task.kind != "number" else table[target].to_numpy()
    save(model.fit(encoder.transform(table), y), path, encoder=encoder, task=task)
    return open_model(path)


@pytest.fixture
def ill(tmp_path):
    return held(tmp_path / "m.fen", "ill", fenchel.LogisticRegression())


def test_one_line_says_what_it_is(ill, tmp_path):
    text = repr(ill)
    assert "\n" not in text and len(text) < 300
    assert text.startswith("<ModelFile: LogisticRegression, two classes, target 'ill'; classes no,")
    assert "2 columns" in text and "of the best possible (duality)" in text
    assert str(ill) == text and "manifest" not in text
    several = repr(held(tmp_path / "s.fen", "kind", fenchel.LogisticRegression()))
    assert "several classes, target 'kind'; classes a, b, c; 2 columns" in several
    number = repr(held(tmp_path / "n.fen", "price", fenchel.Ridge()))
    assert "Ridge, number, target 'price'; 2 columns" in number and "classes" not in number
    X = rng.normal(size=(40, 3))
    save(fenchel.LogisticRegression().fit(X, np.arange(40) % 8), tmp_path / "b.fen")
    bare = repr(open_model(tmp_path / "b.fen"))
    assert "classes 0, 1, 2, 3, 4, 5, … 8 in all; 3 columns" in bare
    rule = fenchel.NeymanPearsonClassifier(fenchel.LogisticRegression(), 0.3, 0.3)
    save(rule.fit(X, np.arange(40) % 2), tmp_path / "p.fen")
    assert repr(open_model(tmp_path / "p.fen")).endswith("; no certificate>")


def test_the_kind_of_table_comes_back(ill):
    said = ill.predict(NEW)
    assert isinstance(said, pl.DataFrame)
    assert said.columns == ["prediction", "probability no", "probability yes"]
    given = NEW.to_pandas().set_index(pd.Index(["r5", "r1", "r4", "r2", "r3"], name="row"))
    found = ill.predict(given)
    assert isinstance(found, pd.DataFrame)
    assert found.index.tolist() == given.index.tolist() and found.index.name == "row"
    assert found["prediction"].tolist() == said["prediction"].to_list()
    np.testing.assert_array_equal(found["probability yes"], said["probability yes"].to_numpy())
    arrow = ill.predict(NEW.to_arrow())
    assert isinstance(arrow, pa.Table) and pl.DataFrame(arrow).equals(said)
    assert ill.predict(NEW.to_dict(as_series=False)).equals(said)
    # A column of the index's own, and rows given twice.
    twice = pd.concat([given, given])
    assert ill.predict(twice).index.tolist() == twice.index.tolist()


def test_probabilities_by_the_names_of_the_classes(ill, tmp_path):
    found = ill.predict_proba(NEW)
    assert isinstance(found, pl.DataFrame) and found.columns == ["no", "yes"]
    assert found["yes"].equals(ill.predict(NEW)["probability yes"].alias("yes"))
    np.testing.assert_allclose(found.sum_horizontal().to_numpy(), 1.0)
    given = NEW.to_pandas().iloc[[3, 1]]
    frame = ill.predict_proba(given)
    assert isinstance(frame, pd.DataFrame) and frame.index.tolist() == [3, 1]
    assert frame.columns.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(frame.to_numpy(), found.to_numpy()[[3, 1]])
    assert isinstance(ill.predict_proba(NEW.to_arrow()), pa.Table)
    several = held(tmp_path / "s.fen", "kind", fenchel.LogisticRegression())
    assert several.predict_proba(NEW).columns == ["a", "b", "c"]


def test_what_has_no_probabilities_says_so(ill, tmp_path):
    number = held(tmp_path / "n.fen", "price", fenchel.Ridge())
    with pytest.raises(TypeError, match="the target is a number, which has no probabilities"):
        number.predict_proba(NEW)
    assert number.predict(NEW.to_pandas()).columns.tolist() == ["prediction"]
    margin = held(tmp_path / "v.fen", "ill", fenchel.LinearSVC())
    with pytest.raises(TypeError, match="LinearSVC gives scores and no probabilities"):
        margin.predict_proba(NEW)
    with pytest.raises(TypeError, match=r"lazy frame, which has no rows yet: call .collect\(\)"):
        ill.predict(NEW.lazy())
    save(
        fenchel.LogisticRegression().fit(rng.normal(size=(9, 2)), np.arange(9) % 2), tmp_path / "b"
    )
    with pytest.raises(ModelFileError, match="no encoder"):
        open_model(tmp_path / "b").predict_proba(NEW)
