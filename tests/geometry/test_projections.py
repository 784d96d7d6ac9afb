"""Neighbours by projections: the naive search's answer, and bounds that hold."""

from __future__ import annotations

import numpy as np
import oracles.geometry as naive
import pytest

from fenchel.data.blocks import threads
from fenchel.geometry import tiles
from fenchel.geometry.distance import Points
from fenchel.geometry.projection.axes import projected, projection_of
from fenchel.geometry.projection.fold import NearestByProjections
from fenchel.geometry.tiles import Nearest, Tile, fold_pairs


def sheet(n, d, dtype, offset, noise, seed):
    """Rows near a few directions of many columns."""
    rng = np.random.default_rng(seed)
    axes = rng.standard_normal((4, d)) * np.geomspace(3.0, 0.3, 4)[:, None]
    X = rng.standard_normal((n, 4)) @ axes + noise * rng.standard_normal((n, d)) + offset
    return X.astype(dtype)


@pytest.fixture
def always(monkeypatch):
    """Projections for tables of any size; how many of the first rows' pairs each fold left open."""
    monkeypatch.setattr(tiles, "MANY", 0.0)
    monkeypatch.setattr(tiles, "FEWEST_POINTS", 2)
    monkeypatch.setattr(tiles, "FEWEST_COLUMNS", 17)
    seen = []
    visit = NearestByProjections.visit

    def noted(self, *given):
        found = visit(self, *given)
        seen.append(found)
        return found

    monkeypatch.setattr(NearestByProjections, "visit", noted)
    return seen


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [17, 40, 200])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e8])
def test_the_naive_search(always, d, dtype, offset, global_random_seed):
    X = sheet(700, d, dtype, offset, 0.05, global_random_seed)
    Q = sheet(600, d, dtype, offset, 0.05, global_random_seed)
    X[500:] = X[:200]  # ties
    Q[550:] = X[:50]
    Q[0] += 1e6  # far from all
    for k, tile in ((1, None), (6, Tile(7, 45))):
        expected = naive.nearest(Q, X, k)
        for count in (1, 2):
            with threads(count):
                found = fold_pairs(Q, X, Nearest(k), tile=tile)
            for a, b in zip(found, expected, strict=True):
                np.testing.assert_array_equal(a, b)
    # At the largest offset few numbers differ in single precision, and too many pairs stay open.
    assert always or offset == 1e8


@pytest.mark.parametrize("scale", [1e-30, 1e30, 1e-140, 1e120])
def test_any_scale(always, scale):
    X = sheet(400, 30, np.float64, 0.0, 0.1, 3) * scale
    found, expected = fold_pairs(X, X, Nearest(5)), naive.nearest(X, X, 5)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)
    assert always


def test_noise_goes_on_without_projections_and_sheets_with_them(always):
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((2000, 40)).astype(np.float32)
    with threads(1):
        fold_pairs(noise, noise, Nearest(5))
    assert len(always) == 1  # the rows that were to tell
    always.clear()
    X = sheet(2000, 40, np.float32, 0.0, 0.01, 0)
    fold_pairs(X, X, Nearest(5))
    assert len(always) > 1 and sum(always) < 2000 * 2000 / 20


def test_projected_distances_are_below_the_distances(global_random_seed):
    X = sheet(300, 100, np.float32, 10.0, 0.3, global_random_seed)
    products = Points.of(X).products
    found = projection_of(products)
    stored = products.doubled.astype(np.float64) / -2.0
    T = projected(stored, found.axes)
    np.testing.assert_allclose((T * T).sum(axis=1), (stored * stored).sum(axis=1), rtol=1e-12)
    t = found.doubled.astype(np.float64) / -2.0
    norms = (1.0 - found.slack) * (t * t).sum(axis=1)
    bound = norms[:, None] - 2.0 * t @ t.T + found.norms
    true = naive.nearest(X, X, 300)[1].max()
    D = ((X.astype(np.float64)[:, None] - X.astype(np.float64)) ** 2).sum(axis=2)
    assert true == pytest.approx(D.max())
    assert (bound <= D * products.scale**2).all()
    near = np.less(D, np.median(D))
    assert (bound[near] > 0.5 * D[near] * products.scale**2).mean() > 0.5
