"""k nearest neighbours: tree and tiles give the naive search's answer."""

from __future__ import annotations

import numpy as np
import oracles.geometry as naive
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from fenchel.data.blocks import threads
from fenchel.geometry import neighbours
from fenchel.geometry.neighbours import nearest, tree_pays


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    """A tree for any number of rows."""
    monkeypatch.setattr(neighbours, "FEWEST_ROWS", 1)


def agrees(X, Q, k):
    expected = naive.nearest(Q, X, k)
    for count in (1, 2, 5):
        with threads(count):
            found = nearest(X, Q, k)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    d=st.integers(1, 5),
    k=st.integers(1, 20),
    grid=st.sampled_from([0.0, 0.25, 2.0]),
    offset=st.sampled_from([0.0, 1e8]),
    scale=st.sampled_from([1e-150, 1e-12, 1.0, 1e100]),
    single=st.booleans(),
)
def test_the_naive_search(seed, d, k, grid, offset, scale, single):
    rng = np.random.default_rng(seed)
    X, Q = rng.normal(size=(1100, d)), rng.normal(size=(25, d))
    if grid > 0.0:
        X, Q = np.round(X / grid) * grid, np.round(Q / grid) * grid
    X[700:] = X[:400]
    Q[:5] = X[:5]
    X, Q = X + offset, Q + offset
    if single:
        X, Q = X.astype(np.float32), Q.astype(np.float32)
    else:
        X, Q = X * scale, Q * scale
    agrees(X, Q, k)


@pytest.mark.parametrize("d", [1, 2, 3, 8, 20, 100, 200])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_dimensions(d, dtype, offset):
    rng = np.random.default_rng(d)
    X = (rng.normal(size=(700, d)) + offset).astype(dtype)
    agrees(X, X[:40], 6)
    agrees(X, (rng.normal(size=(30, d)) + offset).astype(dtype), 1)


def test_near_ties_around_the_last_candidate():
    """More points than the tree names, at distances that differ by less than rounding."""
    angle = np.linspace(0.0, 2.0 * np.pi, 600)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    agrees(X, np.zeros((1, 2)), 5)
    agrees(X, np.full((1, 2), 1e-17), 5)


def test_containers_and_all_points(monkeypatch):
    rng = np.random.default_rng(1)
    X, Q = rng.normal(size=(600, 3)), rng.normal(size=(9, 3))
    X[np.abs(X) < 0.5] = 0.0
    expected = nearest(X, Q, 4)
    for rows in (np.asfortranarray(X), csr_array(X)):
        for a, b in zip(nearest(rows, Q, 4), expected, strict=True):
            np.testing.assert_array_equal(a, b)
    agrees(X, Q, 600)
    monkeypatch.undo()
    assert tree_pays(600, 3, 4, 200) and not tree_pays(600, 3, 4, 100)
    assert not tree_pays(600, 3, 600, 200) and not tree_pays(10**6, 12, 4, 200)


@pytest.mark.parametrize("bad", [np.nan, 1e200])
def test_bad_input(bad):
    X, Q = np.random.default_rng(0).normal(size=(600, 2)), np.ones((3, 2))
    Q[2, 0] = bad
    with pytest.raises(ValueError, match="row 2 holds NaN"):
        nearest(X, Q, 2)
    with pytest.raises(ValueError, match="points hold NaN or values as large as"):
        nearest(np.where(X[0] == X, bad, X), np.ones((3, 2)), 2)
    with pytest.raises(ValueError, match="k=601 neighbours asked of 600 points"):
        nearest(X, Q, 601)
    with pytest.raises(ValueError, match="k must be at least 1"):
        nearest(X, Q, 0)
    with pytest.raises(ValueError, match="rows have 3 columns and points have 2"):
        nearest(X, np.ones((3, 3)), 2)
