"""Drift: later rows against the training rows that a model keeps in counts."""

from __future__ import annotations

import json
from datetime import date, timedelta
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from fenchel.app.table.encoding.encoder import Encoder
from fenchel.app.table.profile.reference import PREDICTION, Reference, drift_sentences
from fenchel.app.table.task import Task
from fenchel.score.metrics.population_stability import population_stability


def rows(n=600, seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    words = ["free", "call", "home", "now", "prize", "later"]
    return pl.DataFrame(
        {
            "age": pl.Series(rng.normal(40.0 + 20.0 * shift, 10.0, n)).set(
                pl.Series(rng.random(n) < 0.1), None
            ),
            "town": rng.choice(["Bath", "Ely", "Wells"], n, p=[0.6, 0.3, 0.1]),
            "ok": rng.random(n) < 0.5,
            "on": [date(2024, 1, 1) + timedelta(days=int(k)) for k in rng.integers(0, 90, n)],
            "text": [" ".join(rng.choice(words, rng.integers(4, 9))) for _ in range(n)],
            "kind": rng.integers(0, 3, n),
        }
    )


@pytest.fixture(scope="module")
def encoder():
    return Encoder.fit(rows(), Task("none"))


def counted(reference, encoder, frame, predicted, step=97):
    for k in range(0, frame.height, step):
        reference.add(encoder, frame.slice(k, step), predicted[k : k + step])
    return dict(reference.drift())


def test_rows_of_the_same_law_have_not_moved(encoder):
    reference = Reference.of(encoder, rows(), np.linspace(0, 1, 600))
    found = counted(reference, encoder, rows(400, 1), np.linspace(0, 1, 400))
    assert set(found) == {"age", "town", "ok", "on", "text", "kind", PREDICTION}
    assert {one.grade(0.001) for one in found.values()} == {"stable"}
    (words,) = drift_sentences(reference.drift())
    assert words.startswith("no drift: the largest population stability index is 0.")


def test_what_moved_is_named(encoder):
    reference = Reference.of(encoder, rows(), np.linspace(0, 1, 600))
    new = rows(400, 1, shift=1.0).with_columns(town=pl.lit("York"))
    found = counted(reference, encoder, new, np.linspace(0.5, 1, 400))
    assert found["age"].grade() == found["town"].grade() == found[PREDICTION].grade() == "large"
    told = drift_sentences(reference.drift())
    assert len(told) == 3 and all("has moved since training" in one for one in told)
    assert "'town' has moved since training: population stability index" in " ".join(told)


def test_against_the_definition(encoder):
    reference = Reference.of(encoder, rows(), np.zeros(600))
    age = reference.columns[0]
    x, new = rows()["age"].drop_nulls().to_numpy(), rows(300, 2)["age"]
    bins = [-np.inf, *age.edges, np.inf]
    expected = [((x > a) & (x <= b)).sum() for a, b in pairwise(bins)]
    assert age.counts.tolist() == [*expected, rows()["age"].null_count()]
    assert max(expected) - min(expected) <= 1  # deciles
    there = new.drop_nulls().to_numpy()
    actual = [((there > a) & (there <= b)).sum() for a, b in pairwise(bins)]
    found = counted(reference, encoder, rows(300, 2), np.zeros(300))["age"]
    assert found == population_stability([*expected, 600 - len(x)], [*actual, 300 - len(there)])


def test_stored_and_read_again(encoder):
    reference = Reference.of(encoder, rows(), np.linspace(0, 1, 600))
    text = json.dumps(reference.to_list())
    again = Reference.from_list(json.loads(text), encoder)
    assert again.to_list() == reference.to_list()


@pytest.mark.parametrize(
    "forge",
    [
        lambda found: found[0].update(counts=[1]),
        lambda found: found[0].update(counts=["1"] * len(found[0]["counts"])),
        lambda found: found[0].update(edges=found[0]["edges"][::-1]),
        lambda found: found[0].update(edges=[float("nan")] * len(found[0]["edges"])),
        lambda found: found[0].update(name="nobody"),
        lambda found: found[0].update(more=1),
        lambda found: found[1].update(levels=["a", "a", "b"]),
        lambda found: found[1].update(levels=None),
        lambda found: found.__setitem__(0, []),
    ],
)
def test_forged_references_are_refused(encoder, forge):
    found = Reference.of(encoder, rows(), np.zeros(600)).to_list()
    forge(found)
    with pytest.raises(ValueError):
        Reference.from_list(found, encoder)
    with pytest.raises(ValueError):
        Reference.from_list({}, encoder)
