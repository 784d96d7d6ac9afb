"""Figures from plain columns: arrays, lists, Series, words for labels; and what is wrong, named."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from show.inputs import CURVE, PROBA, SCORE, X, Y, Z
from show.reading import notes, picture, texts, title
from sklearn.metrics import confusion_matrix

from fenchel import Curve, show

OF_SCORES = ("roc", "precision_recall", "score_histogram", "gains", "lift", "det")
WORDS = np.where(Y == 1, "sick", "well")
PREDICTED = np.where(PROBA > 0.5, "sick", "well")
# Nothing but the data: titles and notes are the same for the same numbers.
KNOWN = {"precision_recall": {"precision": 0.5}, "roc": {"area": 0.8}}


def spec(chart):
    return json.dumps(chart.to_dict(), sort_keys=True)


def as_kinds(values):
    return [
        values,
        values.tolist(),
        tuple(values.tolist()),
        pd.Series(values, index=np.arange(len(values))[::-1]),
        pl.Series(values),
        pd.DataFrame({"v": values}),
    ]


@pytest.mark.parametrize("name", OF_SCORES)
def test_columns_of_any_kind_draw_what_the_curve_draws(name):
    figure, known = getattr(show, name), KNOWN.get(name, {})
    want = spec(figure(CURVE, threshold=0.3, **known))
    for labels, scores in zip(as_kinds(Y), as_kinds(PROBA), strict=True):
        assert spec(figure(labels, scores, threshold=0.3, **known)) == want


@pytest.mark.parametrize("name", OF_SCORES)
def test_labels_may_be_words_and_either_may_be_positive(name):
    figure, known = getattr(show, name), KNOWN.get(name, {})
    naming = {"labels": ["well", "sick"]} if name == "score_histogram" else {}
    want = spec(figure(CURVE, **known, **naming))
    for labels in as_kinds(WORDS.astype(object)):
        assert spec(figure(labels, PROBA, pos_label="sick", **known)) == want
    turned = figure(WORDS, -PROBA, **known)  # "well" is the greater word
    assert title(turned) == title(figure(Curve.of(WORDS, -PROBA), **known)) or naming


@pytest.mark.parametrize("name", OF_SCORES)
def test_weights_count(name):
    figure, known = getattr(show, name), KNOWN.get(name, {})
    twice = np.repeat(np.arange(len(Y)), 1 + (np.arange(len(Y)) % 2))
    weight = 1.0 + (np.arange(len(Y)) % 2)
    repeated = figure(Y[twice], PROBA[twice], **known)
    weighted = figure(Y, PROBA, sample_weight=weight, **known)
    assert title(repeated) == title(weighted)


def test_the_band_of_these_rows():
    chart = show.roc(Y, PROBA, band=True, level=0.9)
    assert "holds the whole curve with 90 %" in notes(chart)
    assert "whole curve" not in notes(show.roc(Y, PROBA, band=False))


def test_confusion_of_labels():
    for labels, said in zip(as_kinds(WORDS), as_kinds(PREDICTED), strict=True):
        chart = show.confusion(labels, said)
        assert spec(chart) == spec(
            show.confusion(confusion_matrix(WORDS, PREDICTED), ["sick", "well"])
        )
    right = int((WORDS == PREDICTED).sum())
    assert title(chart).startswith(f"{right} of 400 rows right")
    assert {"sick", "well", "true class", "predicted class"} <= set(texts(picture(chart)))
    named = show.confusion(Y, (PROBA > 0.5).astype(int), labels=["no", "yes"])
    assert {"no", "yes"} <= set(texts(picture(named)))
    halved = show.confusion(WORDS, PREDICTED, sample_weight=np.where(Y == 1, 3.0, 1.0))
    counts = confusion_matrix(WORDS, PREDICTED, sample_weight=np.where(Y == 1, 3.0, 1.0))
    assert title(halved) == title(show.confusion(counts))


def test_confusion_of_scores_moves():
    chart = show.confusion(WORDS, PROBA, threshold=0.5, pos_label="sick")
    assert spec(chart) == spec(show.confusion(CURVE, ["well", "sick"], threshold=0.5))
    assert chart.to_dict()["params"][0]["name"] == "threshold"


def test_numbers_of_any_kind():
    want = spec(show.predicted_observed(Z, X))
    for y, said in zip(as_kinds(Z), as_kinds(X), strict=True):
        assert spec(show.predicted_observed(y, said)) == want
        assert spec(show.residuals(y, said)) == spec(show.residuals(Z, X))
    whole = show.predicted_observed([1, 2, 3], pd.Series([1, 2, 4]))
    assert title(whole).startswith("R² 0.5")


def test_the_histogram_names_the_classes_of_its_rows():
    assert title(show.score_histogram(WORDS, SCORE)).endswith("121 of class sick")
    assert "positive" in title(show.score_histogram(Y, SCORE))
    assert "True" not in title(show.score_histogram(Y == 1, SCORE))
    with pytest.raises(ValueError, match="name the negative and the positive class, got 3"):
        show.score_histogram(Y, SCORE, labels=["a", "b", "c"])


def bad(values, row, value):
    out = np.asarray(values, dtype=object).copy()
    out[row] = value
    return out


@pytest.mark.parametrize("name", [*OF_SCORES, "calibration", "net_benefit"])
@pytest.mark.parametrize(
    ("y", "score", "said"),
    [
        (Y, PROBA[:-1], "y has 400 rows and (the scores have|probability has) 399"),
        (np.ones(400), PROBA, "y has one class only"),
        (np.where(Y == 1, np.nan, 0.0), PROBA, "y is NaN in row"),
        (bad(WORDS, 3, None), PROBA, "y is None in row 3"),
        (Y, np.where(np.arange(400) == 7, np.nan, PROBA), "(score|probability) is NaN in row 7"),
        (Y, bad(PROBA, 5, None), "(score|probability) is None in row 5"),
        (np.arange(400) % 3, PROBA, "more than two classes"),
        (PROBA, Y, "400 different values and .* has 2: the labels come first"),
        (Y, np.stack([1 - PROBA, PROBA], axis=1), r"the positive one, \[:, 1\]"),
        (Y, pd.DataFrame({"a": 1 - PROBA, "b": PROBA}), r"the positive one, \[:, 1\]"),
        (Y, WORDS, "(scores|probability) must be numbers"),
        ([], [], "empty"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_what_is_wrong_is_named(name, y, score, said):
    with pytest.raises(ValueError, match=said):
        getattr(show, name)(y, score)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: show.roc(Y), r"score is missing: give roc\(y, score\)"),
        (lambda: show.roc(CURVE, PROBA), "a Curve has its rows: leave score out"),
        (lambda: show.gains(CURVE, pos_label=1, sample_weight=[1]), "leave sample_weight, pos_lab"),
        (lambda: show.lift(Y, PROBA, pos_label=7), "pos_label=7 is not a label of y"),
        (lambda: show.confusion(WORDS), r"predicted is missing: give confusion\(y, predicted\)"),
        (lambda: show.confusion(WORDS, PREDICTED[:5]), "y has 400 rows and predicted has 5"),
        (lambda: show.confusion(WORDS, PROBA), "holds scores, not labels: give a threshold"),
        (lambda: show.confusion(Y, bad(Y, 4, None)), "predicted is None .* in row 4"),
        (lambda: show.confusion(Y, WORDS), "labels are of different kinds"),
        (lambda: show.confusion(Y, Y, labels=["a"]), "2 classes need 2 labels, got 1"),
        (lambda: show.confusion([[1, 2], [3, 4]], ["a", "b"], labels=["a", "b"]), "labels once"),
        (lambda: show.confusion([[1, 2], [3, 4]], sample_weight=[1, 2]), "counts have no rows"),
        (lambda: show.confusion([[1, -2], [3, 4]]), "not negative"),
        (lambda: show.confusion([[1, 2, 3], [3, 4, 5]]), r"square table, got shape \(2, 3\)"),
        (lambda: show.confusion(Y, Y, pos_label=1), "pos_label goes with scores"),
        (lambda: show.det([0, 1], [0.1, 0.9]), "an error of 0 or 1"),
        (lambda: show.predicted_observed([1.0, 2.0], [1.0]), "y has 2 rows and prediction has 1"),
        (lambda: show.residuals([1.0, np.inf], [1.0, 2.0]), "y is inf in row 1"),
        (lambda: show.predicted_observed(WORDS, WORDS), "y must be numbers"),
        (lambda: show.calibration(Y, PROBA, bins=0), "bins must be a whole number"),
    ],
    ids=range(20),
)
def test_arguments_are_named_with_the_remedy(call, said):
    with pytest.raises(ValueError, match=said):
        call()
