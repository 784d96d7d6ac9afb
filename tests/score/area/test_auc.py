"""The area and its interval: definitions, scikit-learn, invariances, measured coverage."""

from __future__ import annotations

import math

import numpy as np
import oracles.score as oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri
from sklearn.metrics import roc_auc_score

from fenchel import Curve, Estimate, auc, compare_auc, curve_auc
from fenchel.data.blocks import threads
from fenchel.score.curves.score_counts import MANY


def binormal(rng, positives, negatives, area, levels=None):
    """Scores whose true AUC is `area`."""
    y = np.arange(positives + negatives) < positives
    score = rng.standard_normal(y.size) + y * math.sqrt(2.0) * ndtri(area)
    return y, score if levels is None else np.round(score * levels)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.tuples(st.booleans(), st.integers(-3, 3), st.integers(0, 3)), min_size=2, max_size=25
    )
)
def test_area_and_variance_are_their_definitions(rows):
    y, score, weight = (np.array(column) for column in zip(*rows, strict=True))
    if min(np.count_nonzero(weight[y]), np.count_nonzero(weight[~y])) < 2:
        return
    found = auc(y, score, sample_weight=weight, level=0.9, method="plain")
    assert found == pytest.approx(oracles.pairs_auc(y, score, weight), abs=1e-14)
    assert auc(y, score, sample_weight=weight) == float(found)
    variance = oracles.delong_variance(y, score, weight)
    assert found.standard_error == pytest.approx(math.sqrt(variance), rel=1e-9, abs=1e-12)
    if not 0.0 < found < 1.0:
        return
    reach = -ndtri(0.05) * math.sqrt(variance)
    assert found.low == pytest.approx(max(found - reach, 0.0), abs=1e-12)
    scaled = auc(y, 3.0 * weight.max() * score - 1.0, sample_weight=7.0 * weight, level=0.9)
    assert scaled.standard_error == pytest.approx(found.standard_error, rel=1e-9, abs=1e-12)
    assert 0.0 < scaled.low <= scaled <= scaled.high < 1.0
    down = auc(y, -score, sample_weight=weight, level=0.9)
    assert (down.low, down.high) == pytest.approx((1.0 - scaled.high, 1.0 - scaled.low), abs=1e-9)


@pytest.mark.parametrize("levels", [None, 3])
@pytest.mark.parametrize("n", [50, MANY + 3])
def test_many_rows_are_few_rows(n, levels):
    rng = np.random.default_rng(n)
    y, score = binormal(rng, n // 3, n - n // 3, 0.8, levels)
    order = rng.permutation(n)
    y, score = y[order], score[order]
    assert auc(y, score) == pytest.approx(roc_auc_score(y, score), abs=1e-13)
    fast, slow = auc(y, score, level=0.95), auc(y, score, level=0.95, sample_weight=np.ones(n))
    assert fast == pytest.approx(slow, abs=1e-13)
    assert fast.standard_error == pytest.approx(slow.standard_error, rel=1e-10)
    with threads(1):
        assert auc(y, score, level=0.95).standard_error == fast.standard_error
    for other in (score.astype(np.float32), score[::1], score.tolist()):
        assert auc(y, other) == pytest.approx(fast, abs=1e-6)


def test_only_the_order_matters():
    y, score = binormal(np.random.default_rng(0), 30, 40, 0.8)
    want = auc(y, score, level=0.95)
    ends = np.where(score > 2.0, np.inf, np.where(score < -2.0, -np.inf, score))
    assert auc(y, np.exp(score), level=0.95).low == want.low
    assert auc(y, ends) == pytest.approx(roc_auc_score(y, np.clip(score, -2.0, 2.0)), abs=1e-15)
    merged = Curve.of(y[::2], score[::2]) + Curve.of(y[1::2], score[1::2])
    found = curve_auc(merged)
    assert (found, found.low, found.high) == (want, want.low, want.high)


@pytest.mark.parametrize(
    ("area", "positives", "negatives", "levels"),
    [
        (0.5, 30, 30, None),
        (0.75, 20, 60, None),
        (0.9, 40, 40, None),
        (0.9, 40, 40, 2),
        (0.97, 100, 100, None),
        (0.98, 200, 100, None),
        (0.8, 100, 1000, None),
    ],
)
def test_coverage_of_the_interval(area, positives, negatives, levels):
    rng = np.random.default_rng(11)
    truth = area
    if levels is not None:
        truth = auc(*binormal(rng, 2_000_000, 2_000_000, area, levels))
    repeats, inside = 3000, 0
    for _ in range(repeats):
        y, score = binormal(rng, positives, negatives, area, levels)
        found = auc(y, score, level=0.95)
        inside += found.low <= truth <= found.high
    assert 0.93 <= inside / repeats <= 0.97


@pytest.mark.parametrize(("area", "positives", "negatives"), [(0.95, 20, 500), (0.99, 20, 900)])
def test_few_rows_of_a_class_near_one_need_the_guarantee(area, positives, negatives):
    """Heavy tails, few positives: DeLong's interval is too short, as its docstring says."""
    rng = np.random.default_rng(4)
    y = np.arange(positives + negatives) < positives
    repeats = 1000
    inside = {"logit": 0, "guaranteed": 0}
    for _ in range(repeats):
        score = rng.exponential(np.where(y, area / (1.0 - area), 1.0))
        for method in inside:
            found = auc(y, score, level=0.95, method=method)
            inside[method] += found.low <= area <= found.high
    assert inside["guaranteed"] / repeats >= 0.95
    assert inside["logit"] / repeats < 0.93


def test_the_guarantee_is_its_definition():
    y, score = binormal(np.random.default_rng(0), 12, 30, 0.8)
    found = auc(y, score, level=0.9, method="guaranteed")
    for theta in (found.low, found.high):
        a = float(found)
        divergence = a * math.log(a / theta) + (1 - a) * math.log((1 - a) / (1 - theta))
        assert 12 * divergence == pytest.approx(math.log(2 / 0.1), rel=1e-9)
    apart = auc([0, 0, 1, 1], [1, 2, 3, 4], level=0.9, method="guaranteed")
    assert apart.high == 1.0 and apart.low == pytest.approx(0.05**0.5)
    assert auc([0, 1], [2, 1], level=0.9, method="guaranteed").low == 0.0


def test_classes_apart_are_not_certain():
    y = np.arange(40) < 20
    found = auc(y, y.astype(float), level=0.95)
    assert found == 1.0 and found.high == 1.0
    assert found.low == pytest.approx(0.025 ** (1 / 20)) and "exact" in found.method
    assert auc(y, -y.astype(float), level=0.95).high == pytest.approx(1.0 - found.low)
    # Whatever the law with this area, seeing all pairs in order is at most this likely.
    rng = np.random.default_rng(3)
    alone = found.low
    apart = 0
    for _ in range(2000):
        # The law that is most often apart: one class decides alone.
        score = np.where(y, (rng.random(40) < alone) * 2.0 - 1.0, 0.0)
        apart += auc(y, score) == 1.0
    assert apart / 2000 <= 0.025 + 3.0 * math.sqrt(0.025 / 2000)


def test_one_row_of_a_class_excludes_nothing():
    found = auc([0, 0, 0, 1], [1, 2, 4, 3], level=0.95)
    assert isinstance(found, Estimate) and (found.low, found.high) == (0.0, 1.0)
    assert math.isnan(found.standard_error) and "one row" in found.method


def test_comparison_is_its_definition_and_covers():
    rng = np.random.default_rng(5)
    repeats, inside, rejected = 2000, 0, 0
    y = np.arange(100) < 40
    for k in range(repeats):
        common = rng.standard_normal(100)
        a = y * 1.4 + 0.7 * common + rng.standard_normal(100)
        b = y * 1.0 + 0.7 * common + rng.standard_normal(100)
        c = y * 1.4 + 0.7 * common + rng.standard_normal(100)
        found = compare_auc(y, a, b)
        if k < 5:
            variance = oracles.delong_variance(y, a, other=b)
            assert found.difference.standard_error == pytest.approx(math.sqrt(variance), rel=1e-10)
            assert found.difference == pytest.approx(auc(y, a) - auc(y, b), abs=1e-14)
            assert found.first.low == pytest.approx(auc(y, a, level=0.95).low, abs=1e-12)
        spread = math.sqrt(2.0 * (1.0 + 0.49))
        truth = _normal(1.4 / spread) - _normal(1.0 / spread)
        inside += found.difference.low <= truth <= found.difference.high
        rejected += compare_auc(y, a, c).p_value <= 0.05
    assert 0.93 <= inside / repeats <= 0.97
    assert 0.03 <= rejected / repeats <= 0.07


def _normal(x):
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def test_a_score_compared_with_itself():
    y, score = binormal(np.random.default_rng(0), 10, 12, 0.8)
    found = compare_auc(y, score, 2.0 * score + 1.0)
    assert (found.difference, found.z, found.p_value) == (0.0, 0.0, 1.0)
    assert "difference 0" in str(found)


def test_a_comparison_of_opposites_is_not_certain():
    y, score = np.array([0, 0, 0, 1, 1, 1]), np.arange(6.0)
    found = compare_auc(y, score, -score)
    assert found.difference == 1.0 and found.difference.low < 0.5
    assert found.p_value == pytest.approx(2.0 * 0.5**3)
    alone = compare_auc([0, 0, 1], [1, 2, 3], [2, 1, 0])
    assert (alone.difference.low, alone.difference.high, alone.p_value) == (-1.0, 1.0, 1.0)


def test_inputs_are_not_changed_and_arguments_are_checked():
    y, score = binormal(np.random.default_rng(0), 10, 12, 0.8)
    weight = np.ones(22)
    before = y.copy(), score.copy(), weight.copy()
    auc(y, score, sample_weight=weight, level=0.9)
    compare_auc(y, score, -score, sample_weight=weight)
    for a, b in zip(before, (y, score, weight), strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(ValueError, match="level must lie strictly between 0 and 1, got 95"):
        auc(y, score, level=95)
    with pytest.raises(
        ValueError, match="method must be 'logit', 'plain' or 'guaranteed', got 'x'"
    ):
        auc(y, score, level=0.9, method="x")
    with pytest.raises(ValueError, match="equal weight"):
        auc(y, score, level=0.9, method="guaranteed", sample_weight=weight)
    with pytest.raises(ValueError, match=r"sample_weight.*row 3"):
        auc(y, score, sample_weight=np.where(np.arange(22) == 3, -1.0, 1.0))


def test_weights_do_not_hide_that_classes_are_apart():
    rng = np.random.default_rng(0)
    for n in range(4, 40):
        y = np.repeat([0, 1], n)
        score, weight = rng.random(2 * n) + 3 * y, rng.random(2 * n) + 0.1
        best = auc(y, score, sample_weight=weight, level=0.95)
        worst = auc(y, -score, sample_weight=weight, level=0.95)
        assert (best, worst) == (1.0, 0.0)
        assert best.method == worst.method == "exact, disjoint pairs"
        assert best.low < 0.95 and worst.high > 0.05
        both = compare_auc(y, score, -score, sample_weight=weight)
        assert (both.first, both.second) == (1.0, 0.0)
        assert both.difference.low < 0.9 and both.p_value > 0.0


def test_equal_scores_do_not_make_certainty():
    found = auc([0, 1, 0, 1], [1, 1, 1, 1], level=0.95)
    assert found == 0.5 and found.low < 0.05 and found.high > 0.95
    rng = np.random.default_rng(0)
    weight = rng.random(40) + 0.5
    found = auc(np.arange(40) % 2, np.ones(40), sample_weight=weight, level=0.95)
    assert found.high - found.low > 0.3


def test_models_that_agree_on_a_sample_may_differ():
    y, score = np.repeat([0, 1], 10), np.arange(20.0)
    other = score + np.random.default_rng(0).random(20) * 0.5  # both order every pair alike
    found = compare_auc(y, score, other)
    reach = 1.0 - 0.05**0.1
    assert found.difference == 0.0 and found.p_value == 1.0
    assert (found.difference.low, found.difference.high) == pytest.approx((-reach, reach))
    same = compare_auc(y, score, score.copy()).difference
    assert same.low == same.high == 0.0


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_weights_without_squares_are_refused(size):
    with pytest.raises(ValueError, match="divide all weights by one number"):
        auc([0, 1, 1], [1, 2, 3], sample_weight=np.full(3, size))


def test_the_guarantee_survives_pooling_and_is_not_for_weights():
    y, score = binormal(np.random.default_rng(1), 30, 30, 0.99)
    curve = Curve.of(y, score, limit=6)
    least, most = curve.auc_bounds()
    found = curve_auc(curve, method="guaranteed")
    for area, end in ((least, found.low), (most, found.high)):
        divergence = sum(
            p * math.log(p / q) for p, q in ((area, end), (1 - area, 1 - end)) if p > 0.0
        )
        assert 30 * divergence == pytest.approx(math.log(40.0), rel=1e-4)
    with pytest.raises(ValueError, match="equal weight"):
        curve_auc(Curve.of(y, score, sample_weight=np.arange(60) + 1.0), method="guaranteed")


@pytest.mark.parametrize("n", [MANY, 6 * MANY + 7])
@pytest.mark.parametrize("kind", ["distinct", "ties", "infinite", "one bucket"])
def test_many_rows_are_counted_in_whole_numbers(n, kind):
    """The area of many rows is the nearest float64, for any number of threads."""
    rng = np.random.default_rng(n)
    y = rng.random(n) < 0.2
    score = rng.standard_normal(n) + y
    if kind == "ties":
        score = np.round(score, 2)
    elif kind == "infinite":
        score[rng.random(n) < 0.1] = np.inf
        score[rng.random(n) < 0.1] = -np.inf
    elif kind == "one bucket":
        score[rng.random(n) < 0.999] = -0.0
        score[::2] += 0.0
    apart = np.sort(score[~y])
    sides = (np.searchsorted(apart, score[y], side) for side in ("left", "right"))
    twice = sum(int(side.sum()) for side in sides)
    exact = twice / (2 * int(y.sum()) * int((~y).sum()))
    for count in (1, 2, 5):
        with threads(count):
            assert auc(y, score) == exact
