"""The table that a threshold moves along: exact counts, short numbers."""

from __future__ import annotations

import altair as alt
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from show.inputs import CURVE, MANY, MANY_SCORE, MANY_Y

from fenchel import Curve, neyman_pearson_threshold
from fenchel.show import operating_points, threshold_slider

scores = st.floats(-1e6, 1e6) | st.sampled_from([0.0, -0.0, 1.0, 0.1, np.inf, -np.inf, 1e-300])
rows = st.lists(st.tuples(st.booleans(), scores), min_size=1, max_size=40)


def counted(y, score, t):
    flagged = np.asarray(score) >= t
    return float((flagged & y).sum()), float((flagged & ~y).sum())


@given(rows, scores | st.none())
def test_every_threshold_flags_what_it_says(pairs, asked):
    pairs = [*pairs, (True, 0.25), (False, 0.75)]
    y, score = np.array([p for p, _ in pairs]), np.array([s for _, s in pairs])
    curve = Curve.of(y, score, pos_label=True)
    points = operating_points(curve, asked)
    t = points.threshold
    assert np.isfinite(t).all() and (np.diff(t) < 0.0).all()
    for i in range(len(t)):
        assert (points.tp[i], points.fp[i]) == counted(y, score, t[i])
    finite = np.unique(score[np.isfinite(score)])
    assert len(t) >= len(finite)  # every cut between scores that a number can make
    if asked is not None and np.isfinite(asked):
        i = points.chosen
        assert (points.tp[i], points.fp[i]) == counted(y, score, asked)


def test_many_rows_have_few_thresholds_evenly_spread():
    points = operating_points(MANY, 1.2345678)
    assert 350 <= len(points.threshold) <= 400
    y = MANY_Y == 1
    for i in range(0, len(points.threshold), 9):
        assert (points.tp[i], points.fp[i]) == counted(y, MANY_SCORE, points.threshold[i])
    rate = points.tp / points.n_positive + points.fp / points.n_negative
    assert np.diff(rate).max() < 2.0 / 350.0
    assert points.start == 1.2345678


def test_thresholds_are_short():
    written = [repr(t) for t in operating_points(CURVE).threshold.tolist()]
    assert max(map(len, written)) <= 10
    assert np.mean([len(t) for t in written]) < 7


def test_a_threshold_that_does_not_flag_its_own_score():
    y, score = np.array([0, 0, 0, 1, 1]), np.array([0.1, 0.2, 0.3, 0.3, 0.4])
    chosen = neyman_pearson_threshold(score[y == 0], alpha=0.7, delta=0.5)
    points = operating_points(Curve.of(y, score), chosen)
    flagged = chosen.flags(score)
    assert points.tp[points.chosen] == (flagged & (y == 1)).sum()
    assert points.fp[points.chosen] == (flagged & (y == 0)).sum()
    assert points.start > float(chosen)


def test_weights_are_counted_by_weight():
    curve = Curve.of([0, 1, 1], [0.1, 0.4, 0.9], sample_weight=[1.0, 2.5, 0.5])
    points = operating_points(curve, 0.5)
    assert points.tp[points.chosen] == 0.5 and points.n_positive == 3.0


def test_a_slider_starts_where_it_is_told():
    slider = threshold_slider(CURVE, 0.3)
    assert isinstance(slider, alt.Parameter)
    assert slider.param.value == 0.3
    assert operating_points(CURVE, slider).start == 0.3
    bind = slider.param.bind.to_dict()
    points = operating_points(CURVE, 0.3)
    assert bind["min"] == points.threshold[-1] and bind["max"] == points.threshold[0]


@pytest.mark.parametrize(
    ("threshold", "said"),
    [(float("nan"), "NaN"), (alt.param(name="t", value=1.0), "must be called 'threshold'")],
)
def test_what_is_no_threshold_is_refused(threshold, said):
    with pytest.raises(ValueError, match=said):
        operating_points(CURVE, threshold)
