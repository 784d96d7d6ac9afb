"""Partial areas: definitions, scikit-learn, invariances, comparison of two scores."""

from __future__ import annotations

import math
import pickle

import numpy as np
import oracles.parts as oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import make_scorer, roc_auc_score

from fenchel import (
    Curve,
    Estimate,
    auc,
    compare_auc,
    compare_partial_auc,
    curve_partial_auc,
    partial_auc,
)
from fenchel.score.area.compare_partial_auc import _effects, _variance
from fenchel.score.area.partial_auc import Box
from fenchel.score.labels import marked

ROWS = st.lists(
    st.tuples(st.booleans(), st.integers(-3, 3), st.integers(1, 3)), min_size=2, max_size=25
)
SHARE = st.integers(0, 8).map(lambda eighths: eighths / 8)


def both_classes(rows):
    y, score, weight = (np.array(column) for column in zip(*rows, strict=True))
    return (y, score, weight) if y.any() and not y.all() else None


def sample(seed, n=200, shift=1.0, step=None, share=0.4):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < share
    score = rng.standard_normal(n) + shift * y
    return y, score if step is None else np.round(score / step) * step, rng.random(n) + 0.2


@settings(max_examples=150, deadline=None)
@given(ROWS, SHARE, SHARE, SHARE, SHARE)
def test_the_area_is_its_definition(rows, a, b, c, d):
    if (found := both_classes(rows)) is None or not (a < b and c < d):
        return
    y, score, weight = found
    box = {"min_fpr": a, "max_fpr": b, "min_tpr": c, "max_tpr": d}
    area = partial_auc(y, score, sample_weight=weight, **box)
    points = oracles.vertices(y, score, weight)
    assert area == pytest.approx(oracles.area_in_box(points, a, b, c, d), abs=1e-14)
    whole, chance = (b - a) * (d - c), oracles.area_in_box([(0, 0), (1, 1)], a, b, c, d)
    share = partial_auc(y, score, sample_weight=weight, scale="share", **box)
    assert share == pytest.approx(area / whole, abs=1e-13)
    if whole > chance:
        level = partial_auc(y, score, sample_weight=weight, scale="standardised", **box)
        assert level == pytest.approx(0.5 + 0.5 * (area - chance) / (whole - chance), abs=1e-12)


@pytest.mark.parametrize("step", [None, 0.5])
@pytest.mark.parametrize("max_fpr", [0.01, 0.1, 0.35, 0.9])
@pytest.mark.parametrize("weighted", [False, True])
def test_scikit_learn_standardises_alike(max_fpr, step, weighted):
    y, score, weight = sample(3, 500, step=step)
    weight = weight if weighted else None
    theirs = roc_auc_score(y, score, max_fpr=max_fpr, sample_weight=weight)
    ours = partial_auc(y, score, max_fpr=max_fpr, scale="standardised", sample_weight=weight)
    assert ours == pytest.approx(theirs, abs=1e-12)


def test_the_whole_square_is_the_auc():
    y, score, weight = sample(4, step=0.25)
    whole = auc(y, score, sample_weight=weight)
    for scale in ("area", "share", "standardised"):
        found = partial_auc(y, score, sample_weight=weight, scale=scale)
        assert found == pytest.approx(whole, abs=1e-13)


def test_parts_add_up_and_the_two_ways_overlap():
    y, score, _ = sample(5, step=0.25)
    columns = [partial_auc(y, score, min_fpr=k / 5, max_fpr=(k + 1) / 5) for k in range(5)]
    layers = [partial_auc(y, score, min_tpr=k / 5, max_tpr=(k + 1) / 5) for k in range(5)]
    assert sum(columns) == pytest.approx(auc(y, score), abs=1e-13)
    assert sum(layers) == pytest.approx(auc(y, score), abs=1e-13)
    two_way = partial_auc(y, score, max_fpr=0.2, min_tpr=0.4)
    below = partial_auc(y, score, max_fpr=0.2, max_tpr=0.4)
    assert two_way + below == pytest.approx(columns[0], abs=1e-13)


def test_few_missed_positives_are_few_false_alarms_of_the_other_class():
    y, score, weight = sample(6, step=0.25)
    missed = partial_auc(y, score, min_tpr=0.7, max_tpr=0.9, sample_weight=weight)
    alarms = partial_auc(~y, -score, min_fpr=0.1, max_fpr=0.3, sample_weight=weight)
    assert missed == pytest.approx(alarms, abs=1e-13)


@pytest.mark.parametrize(
    "box", [{"max_fpr": 0.2}, {"min_tpr": 0.7}, {"max_fpr": 0.4, "min_tpr": 0.3}]
)
def test_only_the_order_counts_and_weights_are_repeats(box):
    y, score, _ = sample(7, 120, step=0.25)
    before = score.copy()
    found = partial_auc(y, score, level=0.9, **box)
    assert (score == before).all()
    for other in (np.exp(score), 3.0 * score - 1.0, score.astype(np.float32)):
        moved = partial_auc(y, other, level=0.9, **box)
        assert (moved, moved.low, moved.high) == (found, found.low, found.high)
    order = np.random.default_rng(0).permutation(y.size)
    assert partial_auc(y[order], score[order], **box) == float(found)
    edge = np.where(score == score.max(), np.inf, np.where(score == score.min(), -np.inf, score))
    assert partial_auc(y, edge, **box) == float(found)
    times = np.random.default_rng(1).integers(0, 4, y.size)
    repeated = partial_auc(np.repeat(y, times), np.repeat(score, times), **box)
    assert partial_auc(y, score, sample_weight=times, **box) == pytest.approx(repeated, abs=1e-13)
    assert partial_auc(y, score, sample_weight=5.0 * np.ones(y.size), level=0.9, **box).low == (
        pytest.approx(found.low, abs=1e-12)
    )
    labels = np.where(y, "no", "yes")
    assert partial_auc(labels, score, pos_label="no", **box) == float(found)


def test_curves_add_up_to_the_curve_of_the_table():
    y, score, _ = sample(8, 300, step=0.25)
    both = Curve.of(y[:150], score[:150]) + Curve.of(y[150:], score[150:])
    merged = curve_partial_auc(both, max_fpr=0.2, level=0.9)
    found = partial_auc(y, score, max_fpr=0.2, level=0.9)
    assert (merged, merged.low, merged.high) == (found, found.low, found.high)


def test_pooled_groups_widen_the_interval_by_what_they_hide():
    y, score, _ = sample(9, 2000)
    exact = partial_auc(y, score, max_fpr=0.2, level=0.95)
    pooled = curve_partial_auc(Curve.of(y, score, limit=40), max_fpr=0.2, level=0.95)
    assert pooled.low < exact.low and exact.high < pooled.high
    assert abs(pooled - exact) < pooled.high - exact.high + exact.low - pooled.low


def test_a_perfect_score_has_an_interval_too():
    y = np.arange(60) % 2
    found = partial_auc(y, y, max_fpr=0.2, level=0.95)
    assert found == pytest.approx(0.2, abs=1e-15)
    assert 0.1 < found.low < 0.2 and found.high == pytest.approx(0.2, abs=1e-15)
    worst = partial_auc(y, -y, max_fpr=0.2, level=0.95)
    assert worst == 0.0 and worst.low == 0.0 and 0.0 < worst.high < 0.1
    single = partial_auc([0, 1], [0.0, 1.0], max_fpr=0.5, level=0.95)
    assert 0.0 < single.low < 0.05


def test_the_estimate_pickles_and_the_same_call_gives_the_same_interval():
    y, score, _ = sample(10)
    first, second = (partial_auc(y, score, max_fpr=0.1, level=0.95) for _ in range(2))
    assert isinstance(first, Estimate) and "Bayesian bootstrap" in first.method
    assert (first.low, first.high) == (second.low, second.high)
    again = pickle.loads(pickle.dumps(first))
    assert (again, again.low) == (first, first.low)
    assert type(partial_auc(y, score, max_fpr=0.1)) is float
    assert make_scorer(partial_auc, max_fpr=0.1) is not None


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"max_fpr": 0.0}, "min_fpr < max_fpr"),
        ({"max_fpr": 1.2}, "max_fpr=1.2"),
        ({"min_tpr": -0.1}, "min_tpr=-0.1"),
        ({"min_tpr": 0.9, "max_tpr": 0.8}, "min_tpr < max_tpr"),
        ({"scale": "half"}, "scale must be"),
        ({"level": 1.0}, "level must lie"),
    ],
)
def test_errors_name_the_parameter(how, said):
    with pytest.raises(ValueError, match=said):
        partial_auc([0, 1, 1], [0.1, 0.2, 0.3], **how)
    with pytest.raises(ValueError, match="one class only"):
        partial_auc([1, 1], [0.1, 0.2], max_fpr=0.1)
    with pytest.raises(ValueError, match="NaN in row 1"):
        partial_auc([0, 1], [0.1, np.nan], max_fpr=0.1)


# ------------------------------------------------------------------------------ two scores


def test_the_effects_of_rows_are_those_of_a_little_more_weight():
    y, score, weight = sample(11, 40, step=0.5)
    box = Box(0.0, 0.23, 0.15, 1.0)
    rows, curve = marked(y, score, weight), Curve.of(y, score, sample_weight=weight)
    effect = _effects(rows, curve, box)
    for mine in (y, ~y):
        total = weight[mine].sum()
        centred = effect - (weight[mine] * effect[mine]).sum() / total
        for i in np.flatnonzero(mine):
            step = 1e-6 * np.eye(y.size)[i]
            more, less = (
                partial_auc(
                    y, score, max_fpr=0.23, min_tpr=0.15, sample_weight=weight + sign * step
                )
                for sign in (1.0, -1.0)
            )
            assert (more - less) / 2e-6 == pytest.approx(centred[i] / total, abs=1e-7)


def test_the_two_standard_errors_agree():
    y, score, _ = sample(12, 3000)
    for box in (Box(0, 0.2), Box(0, 1, 0.7, 1), Box(0, 0.3, 0.4, 1)):
        drawn = box.interval(Curve.of(y, score), "area", 0.95).standard_error
        variance, freedom = _variance(
            _effects(marked(y, score), Curve.of(y, score), box), marked(y, score)
        )
        assert drawn == pytest.approx(math.sqrt(variance), rel=0.06)
        assert freedom > 100


def test_over_the_whole_square_the_comparison_is_delongs():
    y, score, weight = sample(13, step=0.25)
    other = np.round(score + np.random.default_rng(1).normal(size=y.size), 1)
    for w in (None, weight):
        delong = compare_auc(y, score, other, sample_weight=w)
        found = compare_partial_auc(y, score, other, sample_weight=w)
        assert found.z == pytest.approx(delong.z, rel=1e-9)
        assert found.difference == pytest.approx(delong.difference, abs=1e-13)
        assert delong.p_value <= found.p_value < 1.5 * delong.p_value + 1e-9


def test_comparisons_turn_their_sign_and_keep_their_scale():
    y, score, _ = sample(14)
    other = score + np.random.default_rng(2).normal(size=y.size)
    there = compare_partial_auc(y, score, other, max_fpr=0.3)
    back = compare_partial_auc(y, other, score, max_fpr=0.3, scale="share")
    assert there.z == pytest.approx(-back.z, rel=1e-12)
    assert there.difference.low == pytest.approx(-0.3 * back.difference.high, rel=1e-12)
    assert there.first == pytest.approx(0.3 * back.second, rel=1e-12)
    assert str(there).startswith("AUC")


def test_scores_that_no_row_tells_apart():
    y = np.arange(40) % 2
    same = compare_partial_auc(y, 0.5 * y, 0.5 * y, max_fpr=0.1)
    assert (same.difference, same.difference.low, same.p_value) == (0.0, 0.0, 1.0)
    both = compare_partial_auc(y, y, y + 0.1 * np.sin(np.arange(40)), max_fpr=0.1)
    assert both.difference == 0.0 and both.difference.low < -0.02 < 0.02 < both.difference.high
    assert math.isnan(both.z) and math.isnan(both.p_value)
    lone = compare_partial_auc([0, 0, 1], [1, 2, 3], [2, 1, 0], max_fpr=0.5)
    assert math.isnan(lone.z) and lone.difference.low < 0.0
