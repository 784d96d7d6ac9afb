"""Average precision: its definition, scikit-learn, invariances."""

from __future__ import annotations

import numpy as np
import oracles.parts as oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from fenchel import Curve, average_precision, curve_average_precision


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(st.booleans(), st.integers(-3, 3), st.integers(1, 3)), min_size=2, max_size=25
    )
)
def test_average_precision_is_its_definition(rows):
    y, score, weight = (np.array(column) for column in zip(*rows, strict=True))
    if y.all() or not y.any():
        return
    found = average_precision(y, score, sample_weight=weight)
    assert found == pytest.approx(oracles.mean_precision(y, score, weight), abs=1e-13)
    theirs = average_precision_score(y, score, sample_weight=weight)
    assert found == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("step", [1e-9, 0.5])
@pytest.mark.parametrize("weighted", [False, True])
def test_scikit_learn_gives_the_same(step, weighted):
    rng = np.random.default_rng(0)
    y = rng.random(2000) < 0.05
    score = np.round((rng.standard_normal(2000) + y) / step) * step
    weight = rng.random(2000) if weighted else None
    theirs = average_precision_score(y, score, sample_weight=weight)
    assert average_precision(y, score, sample_weight=weight) == pytest.approx(theirs, abs=1e-12)
    assert average_precision(~y, -score, pos_label=True, sample_weight=weight) == pytest.approx(
        average_precision_score(~y, -score, sample_weight=weight), abs=1e-12
    )


def test_only_the_order_counts_and_weights_are_repeats():
    rng = np.random.default_rng(1)
    y = rng.random(150) < 0.3
    score = np.round(rng.standard_normal(150) + y, 1)
    before = score.copy()
    found = average_precision(y, score, level=0.9)
    assert (score == before).all() and found.low < found < found.high
    for other in (np.exp(score), 7.0 * score, score.astype(np.float32)):
        moved = average_precision(y, other, level=0.9)
        assert (moved, moved.low, moved.high) == (found, found.low, found.high)
    edge = np.where(score == score.max(), np.inf, np.where(score == score.min(), -np.inf, score))
    assert average_precision(y, edge) == float(found)
    times = rng.integers(0, 4, y.size)
    repeated = average_precision(np.repeat(y, times), np.repeat(score, times))
    assert average_precision(y, score, sample_weight=times) == pytest.approx(repeated, abs=1e-13)


def test_merged_curves_and_pooled_ones():
    rng = np.random.default_rng(2)
    y = rng.random(3000) < 0.2
    score = rng.standard_normal(3000) + y
    found = average_precision(y, score, level=0.95)
    both = Curve.of(y[:700], score[:700]) + Curve.of(y[700:], score[700:])
    merged = curve_average_precision(both, level=0.95)
    assert (merged, merged.low, merged.high) == (found, found.low, found.high)
    pooled = curve_average_precision(Curve.of(y, score, limit=60), level=0.95)
    assert pooled.low < found.low and found.high < pooled.high


def test_perfect_and_useless_scores():
    y = np.arange(100) < 30
    perfect = average_precision(y, y, level=0.95)
    assert perfect == 1.0 and 0.7 < perfect.low < 1.0 == perfect.high
    useless = average_precision(y, np.zeros(100), level=0.95)
    assert useless == pytest.approx(0.3, abs=1e-15) and useless.low < 0.3 < useless.high
    with pytest.raises(ValueError, match="one class only"):
        average_precision([1, 1], [0.1, 0.2])
