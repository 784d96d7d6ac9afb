"""The seam carries more than convex fits: k-means, mixtures and PCA as plain statistics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from data import naive
from data.cases import HOMES

from fenchel.data import Moments, Totals
from fenchel.data.arrays import is_sparse, like, logsumexp, to_float64, to_numpy

CENTRES = np.array([[-4.0, 0.0, 1.0], [0.0, 3.0, -1.0], [4.0, -2.0, 0.0]])


@pytest.fixture(params=HOMES, ids=lambda home: home.name)
def table(request, tmp_path):
    """Rows around three centres, some entries exactly zero, in one home after the other."""
    rng = np.random.default_rng(7)
    X = CENTRES[rng.integers(0, 3, 400)] + rng.standard_normal((400, 3))
    X[rng.random((400, 3)) < 0.1] = 0.0
    X = X.astype(np.float32).astype(float)  # held exactly in every home
    s = rng.integers(1, 9, 400) / 4.0
    return X, s, request.param.build(X, X[:, 0], s, tmp_path)


def rows_of(block):
    """The rows in float64, as an array of their own library."""
    return to_float64(block.X.toarray() if is_sparse(block.X) else block.X)


def test_a_step_of_k_means(table):
    X, s, blocks = table

    def stat(block):
        rows = rows_of(block)
        C = like(CENTRES, rows)
        weight = to_float64(block.weight)
        D = (rows**2).sum(1)[:, None] - 2 * rows @ C.T + (C**2).sum(1)
        nearest = to_numpy(D.argmin(1))
        Z = like(np.eye(3)[nearest], rows) * weight[:, None]
        return Totals(to_numpy(Z.T @ rows), to_numpy(Z.sum(0)), float((Z * D).sum()))

    sums, weights, cost = blocks.reduce(stat)
    centres, want, price = naive.lloyd_step(X, s, CENTRES)
    np.testing.assert_allclose(sums / weights[:, None], centres, rtol=1e-13)
    np.testing.assert_allclose(weights, want, rtol=1e-14)
    assert cost == pytest.approx(price, rel=1e-12)


def test_a_step_of_a_gaussian_mixture(table):
    X, s, blocks = table
    shares = np.array([0.3, 0.3, 0.4])
    covariances = np.array([np.eye(3), np.diag([2.0, 1.0, 1.0]), np.eye(3) + 0.3])

    def stat(block):
        rows, weight = rows_of(block), to_float64(block.weight)
        joint = []
        for share, mean, covariance in zip(shares, CENTRES, covariances, strict=True):
            L = np.linalg.cholesky(covariance)
            U = (rows - like(mean, rows)) @ like(np.linalg.inv(L).T, rows)
            level = np.log(share) - np.log(np.diag(L)).sum() - 1.5 * np.log(2 * np.pi)
            joint.append(to_numpy(level - 0.5 * (U**2).sum(1)))
        joint = np.stack(joint, 1)
        total = logsumexp(joint)
        R = np.exp(joint - total[:, None]) * to_numpy(weight)[:, None]
        # A component is the moments of all rows, each with its responsibility as weight.
        parts = [Moments.of_rows(rows, like(R[:, k], rows)) for k in range(3)]
        return Totals(*parts, float(to_numpy(weight) @ total))

    *parts, likelihood = blocks.reduce(stat)
    mass, centres, spread, want = naive.em_step(X, s, shares, CENTRES, covariances)
    total = sum(part.weight for part in parts)
    np.testing.assert_allclose([part.weight / total for part in parts], mass, rtol=1e-12)
    np.testing.assert_allclose([part.mean for part in parts], centres, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose([part.covariance for part in parts], spread, rtol=1e-10, atol=1e-11)
    assert likelihood == pytest.approx(want, rel=1e-12)


def test_principal_directions(table):
    X, s, blocks = table
    values, vectors = np.linalg.eigh(blocks.reduce(Moments.of).covariance)
    want, directions = naive.principal_directions(X, s)
    np.testing.assert_allclose(values[::-1], want, rtol=1e-12)
    np.testing.assert_allclose(np.abs(np.sum(vectors[:, ::-1] * directions, 0)), 1.0, rtol=1e-12)


def test_rows_by_number(table):
    X, s, blocks = table
    rows = [399, 3, 3, 250, 0]
    taken = blocks.take(rows)
    np.testing.assert_array_equal(to_numpy(rows_of(taken)), X[rows])
    np.testing.assert_array_equal(to_numpy(taken.y), X[rows, 0])
    np.testing.assert_array_equal(to_numpy(taken.weight), s[rows])
    with pytest.raises(IndexError, match="row 400 of a table with 400 rows"):
        blocks.take([1, 400])


def test_values_beside_the_rows(table):
    X, _, blocks = table
    dual, fold = np.linspace(-1.0, 1.0, 800).reshape(400, 2), np.arange(400) % 5
    beside = blocks.with_aux(dual=dual).with_aux(fold=fold)
    sums = beside.reduce(
        lambda block: Totals(
            to_numpy(to_float64(block.aux["dual"])).T @ to_numpy(rows_of(block)),
            float(to_numpy(block.y).sum()),
        )
    )
    np.testing.assert_allclose(sums[0], dual.T @ X, rtol=1e-12, atol=1e-12)
    taken = beside.take([7, 399])
    np.testing.assert_array_equal(to_numpy(taken.aux["fold"]), fold[[7, 399]])
    assert beside.n_cols == blocks.n_cols and beside.dtype == blocks.dtype
    with pytest.raises(ValueError, match="fold has 3 entries for 400 rows"):
        blocks.with_aux(fold=np.arange(3))


def test_a_map_tells_what_it_makes(table):
    _, _, blocks = table
    dense = blocks.map(lambda block: replace(block, X=np.asarray(to_numpy(rows_of(block)))))
    assert dense.dtype == np.float64 and not dense.sparse
    single = blocks.map(
        lambda block: replace(block, X=np.float32(to_numpy(rows_of(block)))[:, :2]), 2
    )
    assert single.dtype == np.float32 and single.n_cols == 2
    assert blocks.map_targets(lambda block: block).sparse == blocks.sparse


def test_pairs_of_blocks(table):
    X, s, blocks = table

    def of_pair(block, part):
        return Totals(
            to_numpy(rows_of(block)).T
            @ np.outer(to_numpy(block.weight), to_numpy(part.weight))
            @ to_numpy(rows_of(part))
        )

    (cross,) = blocks.pairs(blocks, of_pair)
    np.testing.assert_allclose(cross, np.outer(s @ X, s @ X), rtol=1e-12)

    def squares(block, part):
        a, b = to_numpy(rows_of(block)), to_numpy(rows_of(part))
        total = float(((a[:, None] - b[None]) ** 2).sum())
        return total if block.start == part.start else 2.0 * total

    half = blocks.pairs(None, squares)
    want = float(((X[:, None] - X[None]) ** 2).sum())
    assert half == pytest.approx(want, rel=1e-12)
