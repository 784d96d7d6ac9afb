"""Curves against scikit-learn and the definitions, their sums, their pooled form, their hull."""

from __future__ import annotations

import io
import math
import pickle
from copy import deepcopy

import joblib
import numpy as np
import oracles.score as oracles
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from fenchel import (
    Curve,
    det_curve,
    gains_curve,
    iso_error_line,
    lift_curve,
    precision_recall_curve,
    roc_curve,
)
from fenchel.data.blocks import threads
from fenchel.data.reduction import tree_sum
from fenchel.score.curves.score_counts import MANY, count_by_score
from fenchel.score.labels import LabelledScores


def draw(n, rng, *, levels=None, weighted=False):
    y = rng.random(n) < 0.4
    y[:2] = [True, False]
    score = rng.standard_normal(n) + y
    if levels is not None:
        score = np.round(score * levels) / levels
    return y, score, rng.integers(0, 4, n).astype(float) if weighted else None


CASES = [(n, levels, w) for n in (2, 3, 40, 300) for levels in (None, 2) for w in (False, True)]


@pytest.mark.parametrize(("n", "levels", "weighted"), CASES)
def test_curves_are_those_of_scikit_learn(n, levels, weighted):
    y, score, weight = draw(n, np.random.default_rng(n), levels=levels, weighted=weighted)
    if weighted:
        weight[:2] = 1.0
    pairs = [
        (roc_curve, metrics.roc_curve, {"drop_intermediate": False}),
        (precision_recall_curve, metrics.precision_recall_curve, {}),
        (precision_recall_curve, metrics.precision_recall_curve, {"drop_intermediate": True}),
        (det_curve, metrics.det_curve, {}),
        (det_curve, metrics.det_curve, {"drop_intermediate": True}),
    ]
    if not weighted:
        pairs.append((roc_curve, metrics.roc_curve, {}))
    kept = slice(None) if weight is None else weight > 0  # scikit-learn keeps their vertices
    for ours, theirs, options in pairs:
        got = ours(y, score, sample_weight=weight, **options)
        s = None if weight is None else weight[kept]
        want = theirs(y[kept], score[kept], sample_weight=s, **options)
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-15)


def test_every_vertex_is_the_rate_of_its_threshold():
    y, score, _ = draw(60, np.random.default_rng(0), levels=3)
    curve = Curve.of(y, score)
    for t, tpr, fpr in zip(curve.thresholds, curve.tpr, curve.fpr, strict=True):
        assert (tpr, fpr) == pytest.approx(oracles.rates_at(y, score, t), abs=1e-15)
    flagged, lift, thresholds = lift_curve(y, score)
    shares, found, _ = gains_curve(y, score)
    for u, times, t in zip(flagged, lift, thresholds, strict=True):
        chosen = score >= t
        assert u == pytest.approx(chosen.mean())
        assert times == pytest.approx(y[chosen].mean() / y.mean())
    assert np.allclose(shares[1:], flagged) and np.allclose(found, curve.tpr)
    assert (curve.tpr[-1], curve.fpr[-1]) == (1.0, 1.0)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.booleans(),
            st.sampled_from([-np.inf, -1.0, -0.0, 0.0, 5e-324, 0.1, 1.0, np.inf]),
            st.integers(0, 3),
        ),
        min_size=1,
        max_size=30,
    ),
    st.integers(1, 5),
)
def test_parts_add_up_and_weights_are_repeats(rows, parts):
    y, score, weight = (np.array(column) for column in zip(*rows, strict=True))
    if not (weight[y].any() and weight[~y].any()):
        return
    whole = Curve.of(y, score, sample_weight=weight)
    repeated = Curve.of(np.repeat(y, weight), np.repeat(score, weight))
    kept = weight > 0
    cut = np.array_split(np.flatnonzero(kept), parts)
    summed = tree_sum(
        Curve.of(y[i], score[i], sample_weight=weight[i], pos_label=True) for i in cut
    )
    for other in (repeated, summed):
        np.testing.assert_array_equal(whole.low, other.low)
        np.testing.assert_array_equal(whole.tp, other.tp)
        np.testing.assert_array_equal(whole.fp, other.fp)
    assert whole.auc() == pytest.approx(oracles.pairs_auc(y, score, weight), abs=1e-14)
    flipped = Curve.of(y, -score, sample_weight=weight)
    assert whole.auc() + flipped.auc() == pytest.approx(1.0, abs=1e-14)


def awkward(kind, n, rng):
    score = {
        "normal": lambda: rng.standard_normal(n),
        "ties": lambda: rng.integers(0, 50, n).astype(float),
        "constant": lambda: np.full(n, 3.5),
        "heavy": lambda: np.exp(40.0 * rng.standard_normal(n)),
        "two scales": lambda: np.where(
            rng.random(n) < 0.5, 1.0 + 1e-9 * rng.random(n), rng.random(n)
        ),
        "infinite": lambda: rng.choice([-np.inf, 0.0, 1.0, np.inf], n),
        "some infinite": lambda: np.where(rng.random(n) < 0.1, np.inf, rng.standard_normal(n)),
        "huge": lambda: 1.7e308 * rng.uniform(-1.0, 1.0, n),
        "denormal": lambda: rng.integers(0, 10**6, n) * 5e-324,
        "signed zeros": lambda: rng.choice([-0.0, 0.0, -1e-300, 1e-300], n),
        "sorted": lambda: np.sort(rng.random(n)),
    }[kind]()
    return score


@pytest.mark.parametrize(
    "kind",
    [
        *("normal", "ties", "constant", "heavy", "two scales", "infinite", "some infinite"),
        *("huge", "denormal", "signed zeros", "sorted"),
    ],
)
def test_sorting_in_buckets_is_sorting(kind):
    rng = np.random.default_rng(1)
    n = MANY + 17
    score = awkward(kind, n, rng)
    y = rng.random(n) < 0.3
    kept = score.copy()
    fast = count_by_score(LabelledScores(y, score, None))
    slow = count_by_score(LabelledScores(y, score, np.ones(n)))
    for name in ("score", "positive", "negative"):
        np.testing.assert_array_equal(getattr(fast, name), getattr(slow, name))
    np.testing.assert_array_equal(score, kept)
    with threads(1):
        alone = count_by_score(LabelledScores(y, score, None))
    np.testing.assert_array_equal(alone.positive, fast.positive)


@pytest.mark.parametrize("levels", [None, 4])
def test_dropping_vertices_of_many_rows_keeps_the_curve(levels):
    y, score, _ = draw(MANY + 5, np.random.default_rng(3), levels=levels)
    for a, b in zip(roc_curve(y, score), metrics.roc_curve(y, score), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)


@pytest.mark.parametrize("kind", ["normal", "heavy", "ties", "some infinite", "two scales"])
@pytest.mark.parametrize("limit", [2, 16, 512])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_pooled_curve_keeps_its_bounds(kind, limit, weighted):
    rng = np.random.default_rng(5)
    n = 6000
    score = awkward(kind, n, rng)
    y = rng.random(n) < 1.0 / (1.0 + np.exp(-np.clip(score, -5.0, 5.0)))
    weight = rng.random(n) if weighted else None
    whole = Curve.of(y, score, sample_weight=weight)
    parts = np.array_split(rng.permutation(n), 13)
    pooled = tree_sum(
        Curve.of(
            y[i],
            score[i],
            sample_weight=None if weight is None else weight[i],
            pos_label=True,
            limit=limit,
        )
        for i in parts
    )
    assert pooled.high.size <= limit
    low, high = pooled.auc_bounds()
    assert low - 1e-12 <= whole.auc() <= high + 1e-12
    # Every vertex that is left is a vertex of the whole curve.
    at = np.searchsorted(-whole.thresholds[1:], -pooled.thresholds[1:]) + 1
    at = np.append(0, at)
    np.testing.assert_array_equal(whole.thresholds[at], pooled.thresholds)
    np.testing.assert_allclose(whole.tpr[at], pooled.tpr, atol=1e-12)
    np.testing.assert_allclose(whole.fpr[at], pooled.fpr, atol=1e-12)
    # And no vertex that is gone lies farther from one that is left than the slack.
    near = np.clip(np.searchsorted(pooled.fpr, whole.fpr), 1, pooled.fpr.size - 1)
    away = np.minimum(whole.fpr - pooled.fpr[near - 1], pooled.fpr[near] - whole.fpr)
    assert away.max() <= pooled.slack + 1e-12
    if limit == 512 and kind != "two scales":
        assert high - low < 0.01
    if kind == "ties" and limit == 512:
        assert pooled.is_exact and pooled.slack == 0.0


def test_the_hull_is_the_least_concave_curve_above():
    rng = np.random.default_rng(2)
    for n in (2, 5, 50, 400):
        y, score, _ = draw(n, rng, levels=4)
        curve = Curve.of(y, score)
        keep = curve.hull()
        x, h = curve.fpr[keep], curve.tpr[keep]
        assert (keep[0], keep[-1]) == (0, curve.fpr.size - 1)
        if keep.size > 2:
            cross = np.diff(x)[:-1] * np.diff(h)[1:] - np.diff(h)[:-1] * np.diff(x)[1:]
            assert (cross < 0.0).all()
        for a, b in zip(curve.fpr, curve.tpr, strict=True):
            heights = h[np.isclose(x, a)]
            top = heights.max() if heights.size else np.interp(a, x, h)
            assert b <= top + 1e-12
        # The cheapest vertex for any costs is on it.
        for prior, fp, fn in ((0.5, 1.0, 1.0), (0.1, 2.0, 7.0), (0.9, 0.3, 5.0)):
            cost = curve.cost(prior, fp, fn)
            assert cost[keep].min() == pytest.approx(cost.min(), abs=1e-15)


def test_iso_error_lines_are_lines_of_equal_cost():
    for error, prior, fp, fn in ((0.2, 0.5, 1.0, 1.0), (0.4, 0.1, 2.0, 7.0), (0.01, 0.3, 1.0, 1.0)):
        x, t = iso_error_line(error, prior, cost_fp=fp, cost_fn=fn, fpr=np.linspace(0, 1, 11))
        cost = prior * fn * (1 - t) + (1 - prior) * fp * x
        np.testing.assert_allclose(cost, error, rtol=1e-12)
        assert ((t >= 0) & (t <= 1) & (x >= 0) & (x <= 1)).all() and x.size >= 2
    assert iso_error_line(2.0, 0.5)[0].size == 0
    with pytest.raises(ValueError, match="prior must lie strictly between 0 and 1, got 1"):
        iso_error_line(0.1, 1)
    with pytest.raises(ValueError, match="cost_fp=0"):
        iso_error_line(0.1, 0.5, cost_fp=0)


@pytest.mark.parametrize(
    ("y", "score", "message"),
    [
        ([0, 1, 1], [0.0, np.nan, 1.0], "score is NaN in row 1"),
        ([0, 1], [0.0, 1.0, 2.0], "y has 2 rows and the scores have 3"),
        ([0, 1, 2], [0.0, 1.0, 2.0], "more than two classes: 0, 2 and, in row 1, 1"),
        ([], [], "y is empty"),
        ([0, 1], ["a", "b"], "scores must be numbers"),
        (
            [0, 1],
            [[0.0, 1.0], [2.0, 3.0]],
            r"score must be one column of values, got shape \(2, 2\)",
        ),
        ([0.0, np.nan], [0.0, 1.0], "y is NaN in row 1"),
    ],
)
def test_errors_name_the_row_or_the_class(y, score, message):
    with pytest.raises(ValueError, match=message):
        roc_curve(y, score)


def test_labels_of_any_kind_and_a_chosen_positive_class():
    score = [0.1, 0.4, 0.35, 0.8]
    want = Curve.of([0, 0, 1, 1], score).auc()
    for y in (["a", "a", "b", "b"], [-1, -1, 1, 1], [False, False, True, True], [1, 1, 2, 2]):
        assert Curve.of(y, score).auc() == want
    assert Curve.of(["a", "a", "b", "b"], score, pos_label="a").auc() == 1.0 - want
    with pytest.raises(ValueError, match="pos_label='c' is not a label of y"):
        roc_curve(["a", "a", "b", "b"], score, pos_label="c")
    with pytest.raises(ValueError, match="limit must be at least 2"):
        Curve.of([0, 1], [0, 1], limit=1)
    with pytest.raises(ValueError, match="no negative row"):
        Curve.of([1, 1], [0.1, 0.2], pos_label=1).auc()


def joblib_copy(value):
    with io.BytesIO() as file:
        joblib.dump(value, file)
        file.seek(0)
        return joblib.load(file)


@pytest.mark.parametrize(
    "stored",
    [lambda c: pickle.loads(pickle.dumps(c)), deepcopy, joblib_copy],
    ids=["pickle", "deepcopy", "joblib"],
)
def test_a_stored_curve_still_knows_that_it_counts(stored):
    curve = Curve.of([0, 1, 1], [1.0, 2.0, 3.0])
    back = stored(curve)
    assert back.is_counted and back.auc() == curve.auc() and back.limit is None
    weighted = Curve.of([0, 1, 1], [1.0, 2.0, 3.0], sample_weight=[1.0, 2.0, 3.0], limit=2)
    back = stored(weighted)
    assert not back.is_counted and back.limit == 2
    assert np.array_equal(back.positive2, weighted.positive2)
    assert np.array_equal(back.low, weighted.low)


def test_a_part_without_rows_brings_its_limit_along():
    nothing = Curve.of([], [], pos_label=1, limit=3)
    curve = Curve.of([0, 1] * 10, np.arange(20.0))
    assert (nothing + curve).high.size == (curve + nothing).high.size == 3
    with pytest.raises(ValueError, match="no positive row"):
        _ = nothing.prior
    with pytest.raises(TypeError):
        _ = curve + 1


@pytest.mark.parametrize("label", [2, "1"])
def test_a_part_with_two_other_classes_has_no_positive_one(label):
    with pytest.raises(ValueError, match="is not a label of y, which has 0 and 1"):
        Curve.of([0, 1, 1], [1.0, 2.0, 3.0], pos_label=label)


@pytest.mark.parametrize(
    ("y", "score", "settings", "message"),
    [
        (np.ma.array([0, 1, 1], mask=[0, 1, 0]), [1, 2, 3], {}, "y is masked in row 1"),
        ([0, 1, 1], np.ma.array([1, 2, 3], mask=[0, 0, 1]), {}, "score is masked in row 2"),
        (np.array(["a", None, "b"], dtype=object), [1, 2, 3], {}, "y is None in row 1"),
        (np.array([0, 1, math.nan], dtype=object), [1, 2, 3], {}, "y is NaN in row 2"),
        (np.array([0, pd.NA, 1], dtype=object), [1, 2, 3], {}, "y is <NA> in row 1"),
        ([[0], [1, 2]], [1, 2], {}, "y must be one column"),
        ([0, 1, 1], [1, 2, 3], {"pos_label": [0, 1]}, "pos_label must be one label"),
        ([0, 1, 1], [1, 2, 3], {"limit": "9"}, "limit must be at least 2"),
    ],
)
def test_what_is_no_column_of_labels_or_scores(y, score, settings, message):
    with pytest.raises(ValueError, match=message):
        Curve.of(y, score, **settings)
