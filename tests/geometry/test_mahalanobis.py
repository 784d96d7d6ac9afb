"""Quadratic scores of rows: the compiled tiles against the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from fenchel.data import Block, as_blocks, threads
from fenchel.data.statistic import RowLayout
from fenchel.geometry.mahalanobis.scores import QuadraticScores
from fenchel.testing import check_statistic


def scores(rng, K, d, q):
    roots = rng.normal(size=(K, q, d))
    return QuadraticScores.of(rng.normal(size=(K, d)), roots, rng.normal(size=K)), roots


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 40), st.integers(0, 300))
def test_any_shape(seed, K, d, n):
    rng = np.random.default_rng(seed)
    stat, _ = scores(rng, K, d, int(rng.integers(1, d + 1)))
    check_statistic(stat, Block(0, rng.normal(size=(n + 1, d))), tol=1e-11)


@pytest.mark.parametrize("layout", ["C", "F", "C32", "F32", "csr", "csr32"])
def test_every_layout(layout):
    rng = np.random.default_rng(0)
    stat, roots = scores(rng, 3, 20, 20)
    X = rng.normal(size=(1500, 20)) * (rng.random((1500, 20)) < 0.5)
    kind = np.float32 if "32" in layout else np.float64
    rows = sparse.csr_array(X.astype(kind)) if "csr" in layout else X.astype(kind, order=layout[0])
    check_statistic(stat, Block(0, rows), tol=1e-11)
    X = X.astype(kind).astype(float)
    means = stat.centre + np.array(
        [np.linalg.solve(R, t) for R, t in zip(stat.R, stat.t, strict=True)]
    )
    want = [
        a - 0.5 * (((X - m) @ R.T) ** 2).sum(1)
        for a, m, R in zip(stat.offset, means, roots, strict=True)
    ]
    np.testing.assert_allclose(stat(Block(0, X)), np.stack(want, axis=1), rtol=1e-9, atol=1e-9)


def test_same_bits_for_any_threads():
    rng = np.random.default_rng(0)
    stat, _ = scores(rng, 4, 30, 30)
    X = rng.normal(size=(20_000, 30))
    found = []
    for count in (1, 2, 7, 16):
        with threads(count):
            found.append(as_blocks(X).reduce(stat))
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


@pytest.mark.parametrize("d", [3, 50, 97, 400])
@pytest.mark.parametrize("K", [2, 5, 9])
def test_tiles_are_cut_at_the_same_rows_in_any_range(d, K):
    """The bits of a product may depend on its number of rows, and a range begins at any part."""
    stat, _ = scores(np.random.default_rng(0), K, d, d)
    loop = stat.compiled(Block(0, np.zeros((5000, d))), RowLayout("C", np.dtype(np.float64), d))
    assert loop.part % loop.tile == 0
