"""The local AUC: its definition by pairs, invariances, limits."""

from __future__ import annotations

import numpy as np
import oracles.parts as oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV

from fenchel import Curve, auc, curve_local_auc, local_auc, partial_auc


def sample(seed, n=150, step=0.25):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    return y, np.round((rng.standard_normal(n) + y) / step) * step


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(st.booleans(), st.integers(-3, 3), st.integers(1, 3)), min_size=2, max_size=25
    ),
    st.integers(1, 10),
)
def test_the_local_auc_is_its_definition(rows, tenths):
    y, score, weight = (np.array(column) for column in zip(*rows, strict=True))
    if y.all() or not y.any():
        return
    found = local_auc(y, score, rate=tenths / 10, sample_weight=weight)
    assert found == pytest.approx(oracles.pairs_local_auc(y, score, tenths / 10, weight), abs=1e-12)
    ceiling = tenths / 10 * weight.sum() / weight[y].sum()
    assert 0.0 <= found <= min(ceiling, 1.0) + 1e-12


def test_all_rows_give_the_auc_and_fewer_rows_less():
    y, score = sample(0)
    values = [local_auc(y, score, rate=k / 20) for k in range(1, 21)]
    assert values[-1] == pytest.approx(auc(y, score), abs=1e-13)
    assert (np.diff(values) >= 0.0).all()


def test_it_is_the_partial_area_up_to_the_recall_of_the_best():
    y, score = sample(1)
    best = np.argsort(-score, kind="stable")
    n = int((score >= np.sort(score)[-30]).sum())  # whole groups of ties
    recall = y[best[:n]].sum() / y.sum()
    found = local_auc(y, score, rate=n / y.size)
    assert found == pytest.approx(partial_auc(y, score, max_tpr=recall), abs=1e-13)
    assert found <= recall


def test_a_perfect_score_reaches_the_ceiling():
    y = np.arange(100) < 20
    score = -np.arange(100.0)
    assert local_auc(y, score, rate=0.1) == pytest.approx(0.5, abs=1e-13)
    assert local_auc(y, score, rate=0.2) == pytest.approx(1.0, abs=1e-13)
    found = local_auc(y, score, rate=0.1, level=0.95)
    assert 0.3 < found.low < 0.5 < found.high <= 1.0


def test_only_the_order_counts_and_weights_are_repeats():
    y, score = sample(2)
    before = score.copy()
    found = local_auc(y, score, rate=0.2, level=0.9)
    assert (score == before).all() and found.low < found < found.high
    for other in (np.exp(score), 7.0 * score, score.astype(np.float32)):
        moved = local_auc(y, other, rate=0.2, level=0.9)
        assert (moved, moved.low, moved.high) == (found, found.low, found.high)
    edge = np.where(score == score.max(), np.inf, np.where(score == score.min(), -np.inf, score))
    assert local_auc(y, edge, rate=0.2) == float(found)
    order = np.random.default_rng(0).permutation(y.size)
    assert local_auc(y[order], score[order], rate=0.2) == float(found)
    times = np.random.default_rng(1).integers(0, 4, y.size)
    repeated = local_auc(np.repeat(y, times), np.repeat(score, times), rate=0.2)
    weighted = local_auc(y, score, rate=0.2, sample_weight=times)
    assert weighted == pytest.approx(repeated, abs=1e-13)
    assert local_auc(np.where(y, 0, 1), score, rate=0.2, pos_label=0) == float(found)


def test_merged_curves_and_pooled_ones():
    y, score = sample(3, 2000, step=1e-6)
    found = local_auc(y, score, rate=0.1, level=0.95)
    both = Curve.of(y[:700], score[:700]) + Curve.of(y[700:], score[700:])
    merged = curve_local_auc(both, 0.1, level=0.95)
    assert (merged, merged.low, merged.high) == (found, found.low, found.high)
    pooled = curve_local_auc(Curve.of(y, score, limit=50), 0.1, level=0.95)
    assert pooled.low < found.low and found.high < pooled.high


def test_a_search_can_maximise_it():
    X, y = make_classification(300, random_state=0)
    scoring = make_scorer(local_auc, response_method="decision_function", rate=0.2)
    search = GridSearchCV(LogisticRegression(), {"C": [1e-3, 1.0]}, scoring=scoring, cv=3)
    search.fit(X, y)
    assert 0.0 < search.best_score_ <= 0.41


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.1, np.nan])
def test_a_rate_is_a_share(rate):
    with pytest.raises(ValueError, match="rate must be a share"):
        local_auc([0, 1], [0.0, 1.0], rate=rate)
