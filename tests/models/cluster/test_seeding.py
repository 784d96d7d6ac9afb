"""k-means++ by tiles in the table's precision draws what the search among all distances draws."""

from __future__ import annotations

import numpy as np
import pytest

from fenchel.data.blocks import threads
from fenchel.geometry.lloyd.potential import Potential
from fenchel.models.cluster import seeding


def drawn(monkeypatch, many, *given, seed=0):
    monkeypatch.setattr(seeding, "MANY", many)
    return seeding.kmeans_plus_plus(*given[:3], np.random.default_rng(seed), given[3])


@pytest.mark.parametrize("trials", [None, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 3, 17, 70])
def test_the_same_rows_are_drawn(monkeypatch, d, dtype, trials, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(1100, d)).astype(dtype)
    X[700:] = X[:400]
    for weight in (None, rng.integers(0, 3, 1100).astype(float)):
        given = X, weight, 9, trials
        plain = drawn(monkeypatch, 2**62, *given, seed=global_random_seed)
        tiles = drawn(monkeypatch, 0, *given, seed=global_random_seed)
        np.testing.assert_array_equal(tiles, plain)
        for count in (1, 3):
            with threads(count):
                again = drawn(monkeypatch, 0, *given, seed=global_random_seed)
            np.testing.assert_array_equal(again, tiles)


def test_the_potential_is_the_sum_of_the_nearest_squares(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, s = rng.normal(size=(600, 5)), rng.random(600)
    order = rng.permutation(600)
    potential = Potential(X, order, s)
    D = np.full(600, np.inf)
    for place in (3, 500, 77):
        potential.add(place)
        D = np.minimum(D, ((X - X[order[place]]) ** 2).sum(axis=1))
        assert potential.sums.sum() == pytest.approx(s @ D, rel=1e-13)
    places = np.array([1, 2, 599])
    after = [np.minimum(D, ((X - X[order[p]]) ** 2).sum(axis=1)) @ s for p in places]
    np.testing.assert_allclose(potential.gains(places), s @ D - after, rtol=1e-12)
    mass = s[order] * D[order]
    found = potential.drawn(np.array([0.0, 0.5, 1.0 - 1e-16]))
    assert found[0] == np.flatnonzero(mass)[0] and found[2] == np.flatnonzero(mass)[-1]
    assert np.cumsum(mass)[found[1]] >= mass.sum() / 2 > np.cumsum(mass)[found[1] - 1]


def test_rows_that_single_precision_takes_for_one_are_told_apart(monkeypatch):
    X = np.zeros((600, 2), np.float32)
    X[:, 0] = 1.0
    X[::3, 1] = 1e-30
    found = drawn(monkeypatch, 0, X, None, 2, None)
    assert sorted(found[:, 1].tolist()) == [0.0, np.float32(1e-30)]
    X[:, 1] = 0.0
    assert len(drawn(monkeypatch, 0, X, None, 2, None)) == 1
