"""Population stability index."""

from __future__ import annotations

import numpy as np
import pytest

from fenchel import population_stability


def test_the_definition():
    e, a = np.array([50.0, 30.0, 20.0]), np.array([20.0, 30.0, 50.0])
    found = population_stability(e, a)
    p, q = (e + 0.5) / 101.5, (a + 0.5) / 101.5
    assert found.value == pytest.approx(np.sum((q - p) * np.log(q / p)), rel=1e-12)
    assert population_stability(a, e).value == pytest.approx(found.value)
    assert population_stability(e, e).value == 0.0 and population_stability(e, e).p_value == 1.0
    assert (found.expected, found.actual) == (100, 100)


def test_an_empty_bin_is_finite_and_one_empty_in_both_does_not_count():
    found = population_stability([10, 0, 10], [0, 10, 10])
    assert np.isfinite(found.value) and found.grade() == "large"
    assert population_stability([10, 0, 20], [5, 0, 25]) == population_stability([10, 20], [5, 25])


def test_chance_is_no_drift():
    rng = np.random.default_rng(0)
    shares = np.full(10, 0.1)
    p_values = np.array(
        [
            population_stability(rng.multinomial(300, shares), rng.multinomial(60, shares)).p_value
            for _ in range(2000)
        ]
    )
    assert 0.03 < np.mean(p_values < 0.05) < 0.07  # the law that the p value rests on
    small = population_stability([30] * 10, [3, 9, 5, 7, 6, 2, 8, 6, 9, 5])
    assert small.value > 0.1 and small.grade() == "stable"


@pytest.mark.parametrize(
    ("e", "a", "words"),
    [
        ([1, 2], [1, 2, 3], "same bins"),
        ([0, 0], [1, 2], "expected has no row"),
        ([1, 2], [1, -2], "actual must hold counts"),
        ([1, np.nan], [1, 2], "expected must hold counts"),
        ([0.5, 0.3, 0.2], [20, 30, 50], "expected holds shares"),
    ],
)
def test_bad_input(e, a, words):
    with pytest.raises(ValueError, match=words):
        population_stability(e, a)
