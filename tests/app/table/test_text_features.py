"""Texts as weights of their n-grams, and how they travel through the encoder."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from fenchel.app.table.encoding.encoder import Encoder, Surprises
from fenchel.app.table.encoding.text_features import SCALE, TextFeatures, reads_as_prose
from fenchel.app.table.profile.column_profile import profile
from fenchel.app.table.task import Task, find_task

RNG = np.random.default_rng(7)
HAM = ["see you at home", "call me when you are home", "ok see you later", "Straße: wir sehen uns"]
SPAM = ["FREE prize! call 0800 123456 now", "free entry, text WIN to 80086", "claim your prize now"]


def texts(n=200, seed=0):
    rng = np.random.default_rng(seed)
    words = ["a", "the", "home", "call", "later", "prize", "free", "now", "see", "you", "win"]
    return [" ".join(rng.choice(words, rng.integers(3, 9))) for _ in range(n)]


def counted(text):
    """The features of one text by their definition."""
    words = [re.sub(r"\d", "#", word) for word in re.findall(r"[^\W\d_]+|\d+", text.lower())]
    found = Counter(words)
    found.update(f"{a} {b}" for a, b in pairwise(words))
    for word in words:
        edged = f"·{word}·"
        for size in (3, 4):
            found.update(f"~{edged[k : k + size]}" for k in range(len(edged) - size + 1))
    return found


def test_against_the_definition():
    column = pl.Series([*HAM, *SPAM] * 4)
    found = TextFeatures.fit(column)
    grams = [counted(text) for text in column]
    df = Counter(gram for one in grams for gram in one)
    n = len(column)
    assert set(found.grams) == {gram for gram, count in df.items() if 3 <= count <= 0.95 * n}
    X = found.transform(column).toarray()
    for row, one in zip(X, grams, strict=True):
        weights = np.array(
            [
                (1.0 + math.log(one[gram])) * (1.0 + math.log((1 + n) / (1 + df[gram])))
                if one[gram]
                else 0.0
                for gram in found.grams
            ]
        )
        np.testing.assert_allclose(row, SCALE * weights / np.linalg.norm(weights), rtol=1e-12)


def test_the_vocabulary_is_bounded_and_the_same_every_time():
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnop"))
    column = pl.Series(
        [" ".join("".join(rng.choice(letters, 3)) for _ in range(60)) for _ in range(800)]
    )
    found = TextFeatures.fit(column)
    assert found.words <= 2000 and len(found.grams) - found.words <= 1000
    assert TextFeatures.fit(column) == found


def test_batches_and_missing_texts():
    column = pl.Series([*texts(), None, "", "zzz"])
    found = TextFeatures.fit(column)
    whole = found.transform(column)
    parts = sparse.vstack([found.transform(column[k : k + 7]) for k in range(0, 203, 7)])
    np.testing.assert_array_equal(whole.toarray(), parts.toarray())
    assert whole[[200, 201, 202]].nnz == 0
    assert found.transform(column[:0]).shape == (0, len(found.grams))


def test_nothing_frequent_enough():
    assert TextFeatures.fit(pl.Series(["alpha beta", "gamma delta"])) is None
    assert TextFeatures.fit(pl.Series([None, None], dtype=pl.String)) is None


@pytest.mark.parametrize(
    ("values", "prose"),
    [
        (texts(), True),
        ([*HAM, *SPAM] * 20, True),
        ([f"k{i:04}" for i in range(100)], False),
        ([f"{i} Elm Street" for i in range(100)], False),  # one text with a number in it
        (
            [" ".join("".join(w) for w in RNG.choice(list("abcdefgh"), (3, 6))) for _ in range(99)],
            False,
        ),
        (["1,169 2,345 3,567"] * 50, False),
        (["Bath", "Ely"] * 50, False),
    ],
)
def test_prose_is_told_from_names(values, prose):
    assert reads_as_prose(pl.Series(values)) is prose


def messages(n=300, seed=0):
    rng = np.random.default_rng(seed)
    kind = rng.random(n) < 0.3
    body = [f"{rng.choice(SPAM if k else HAM)} {rng.choice(texts(30, seed))}" for k in kind]
    return pl.DataFrame({"length": [float(len(t)) for t in body], "body": body,
                         "y": np.where(kind, "spam", "ham")})  # fmt: skip


def test_through_the_encoder():
    frame = messages()
    task = find_task(frame)
    kinds = {one.name: one.kind for one in profile(frame, task)}
    assert kinds == {"length": "number", "body": "text"}
    encoder = Encoder.fit(frame, task)
    X = encoder.transform(frame)
    assert sparse.issparse(X) and X.format == "csr" and X.shape == (300, len(encoder.names))
    np.testing.assert_allclose(np.linalg.norm(X[:, [0]].toarray()), math.sqrt(300.0))
    assert encoder.names[0] == "length" and "body: 'free'" in encoder.names
    assert any(name.startswith("body: …") for name in encoder.names)
    (rule,) = [plan.rule for plan in encoder.plans if plan.kind == "text"]
    assert "words and pairs of words and" in rule and "tf-idf" in rule
    parts = [encoder.transform(frame.slice(k, 41)) for k in range(0, 300, 41)]
    np.testing.assert_array_equal(sparse.vstack(parts).toarray(), X.toarray())
    state, arrays = encoder.to_state()
    again = Encoder.from_state(json.loads(json.dumps(state)), arrays)
    assert again == encoder
    np.testing.assert_array_equal(again.transform(frame).toarray(), X.toarray())


def test_any_column_can_be_made_a_text_and_dropped():
    frame = messages().with_columns(town=pl.Series(["Bath Spa", "Ely", "Wells"] * 100))
    task = find_task(frame)
    encoder = Encoder.fit(frame, task, text=["town"], drop=["body"])
    kinds = {plan.name: plan.kind for plan in encoder.plans}
    assert kinds == {"length": "number", "body": "dropped", "town": "text"}
    with pytest.raises(Exception, match="no column 'twon' for --text: did you mean 'town'"):
        Encoder.fit(frame, task, text=["twon"])


def test_codes_and_dominating_cells_are_made_harmless():
    rng = np.random.default_rng(0)
    age, amount = rng.integers(18, 90, 400).astype(float), rng.lognormal(7.0, 1.0, 400)
    age[::10], amount[5] = -999.0, 99_999_999.0
    frame = pl.DataFrame({"age": age, "amount": amount, "y": rng.integers(0, 2, 400)})
    task = find_task(frame)
    encoder = Encoder.fit(frame, task)
    X = encoder.transform(frame)
    assert encoder.names == ("age", "age is missing", "amount")
    assert X[:, 1].sum() == 40 and np.abs(X[:, 0]).max() < 3.0 and X[:, 2].max() < 30.0
    rules = {plan.name: plan.rule for plan in encoder.plans}
    assert "-999 counted as missing" in rules["age"] and "clipped to" in rules["amount"]
    state, arrays = encoder.to_state()
    again = Encoder.from_state(json.loads(json.dumps(state)), arrays)
    assert again == encoder
    new = pl.DataFrame({"age": [-999.0, 40.0, None], "amount": [1e12, 5.0, 7.0]})
    surprises = Surprises()
    rows = again.transform(new, surprises)
    assert rows[0, 1] == rows[2, 1] == 1.0 and rows[0, 2] == X[:, 2].max() < 20.0
    assert surprises.sentences() == ()
    plain = Encoder.fit(frame, task, as_is=True)
    assert plain.names == ("age", "amount")
    assert plain.transform(frame)[:, 1].max() > 19.0


def test_files_of_the_first_format_are_read():
    frame = pl.DataFrame({"a": [1.0, 2.0, 4.0] * 10, "c": ["u", "v", "w"] * 10})
    encoder = Encoder.fit(frame, Task("none"))
    state, arrays = encoder.to_state()
    for plan in state["plans"]:
        del plan["codes"], plan["clip"]
    del arrays["weights"]
    assert Encoder.from_state({**state, "format": 1}, arrays) == encoder
    with pytest.raises(ValueError, match="entries of a plan"):
        Encoder.from_state({**state, "format": 2}, {**arrays, "weights": np.zeros(0)})
