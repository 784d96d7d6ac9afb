from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from solve.tables import Pieces, draw, fit

from fenchel.solve.least_squares.solve import least_squares


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("power", [300, -300, 0])
def test_columns_and_target_at_the_ends_of_the_range(intercept, power):
    X, y, _ = draw(seed=7)
    size = np.array([1e150, 1e-150, 1.0, 1e8, 1e-200])
    # Powers of two, so that the scaled problem is the same one to the last bit.
    size, unit = 2.0 ** np.round(np.log2(size)), 2.0 ** round(power * np.log2(10.0))
    with np.errstate(over="ignore"):
        truth = fit(X, y, None, intercept).coef / size * unit
    found = fit(X * size, y * unit, None, intercept)
    assert_array_equal(found.coef, truth)
    plain = fit(X, y, None, intercept)
    assert_array_equal(found.intercept, plain.intercept * unit)
    assert np.isfinite([found.value, found.bound, found.tss, found.rss]).all()
    assert (found.exponent == 0) == (power == 0)
    assert_allclose(found.value / found.tss_origin, plain.value / plain.tss_origin, rtol=1e-13)
    assert_allclose(found.scale, plain.scale * unit, rtol=1e-13)
    assert_allclose(found.r2, plain.r2, rtol=1e-13)
    with np.errstate(over="ignore"):
        assert_allclose(found.bse, plain.bse / size * unit, rtol=1e-12)
    assert found.rank == 5


def test_denormal_column():
    X, y, _ = draw(d=2)
    X = X * [1.0, 2.0**-1040]  # some bits go, but the column stays
    found = fit(X, y * 1e-20)
    assert found.rank == 2
    assert_allclose(found.coef[1], fit(X * [1.0, 2.0**1000], y * 1e-20).coef[1] * 2.0**1000)


@pytest.mark.parametrize("intercept", [False, True])
def test_weights_are_repetitions(intercept):
    X, y, rng = draw(seed=8)
    s = rng.integers(0, 4, 60)
    X[s == 0] = 1e300  # rows of weight zero are as if removed
    repeated = fit(np.repeat(X, s, axis=0), np.repeat(y, s), None, intercept)
    for factor in (1.0, 0.1, 1e-300, 1e300):
        found = fit(X, y, s * factor, intercept)
        assert_allclose(found.coef, repeated.coef, rtol=1e-13)
        assert_allclose(found.intercept, repeated.intercept, rtol=1e-13)
        assert_allclose(found.r2, repeated.r2, rtol=1e-13)
        assert found.n_rows == np.sum(s > 0)
    assert_allclose(fit(X, y, s * 1.0, intercept).value, repeated.value, rtol=1e-13)


def test_blocks_of_weight_zero():
    X, y, rng = draw(seed=9)
    s = rng.random(60)
    s[:35] = 0.0
    found = least_squares(Pieces(X, y, s, pieces=17))
    assert_allclose(found.coef, fit(X[35:], y[35:], s[35:]).coef, rtol=1e-13)
    dependent = least_squares(Pieces(np.c_[X, X[:, 0]], y, s, pieces=17))
    assert dependent.rank == 5


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("copy", [False, True])
def test_sparse_is_dense(intercept, copy, sparse_arrays_only):
    X, y, rng = draw(seed=10)
    X[rng.random(X.shape) < 0.6] = 0.0
    X = np.c_[X, X[:, 1]] if copy else X
    s = rng.random(60)
    dense, found = fit(X, y, s, intercept), fit(sp.csr_array(X), y, s, intercept)
    assert (found.rank, found.dependent) == (dense.rank, dense.dependent)
    assert_allclose(found.coef, dense.coef, rtol=1e-13)
    assert_allclose([found.value, found.bound], [dense.value, dense.bound], rtol=1e-13)
    wide = fit(sp.csr_array(X[:4]), y[:4], None, intercept)
    assert_allclose(wide.coef, fit(X[:4], y[:4], None, intercept).coef, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("shape", [(60, 5), (20, 50), (3000, 40)])
def test_torch_is_numpy(shape):
    torch = pytest.importorskip("torch")
    X, y, rng = draw(*shape, seed=12)
    s = rng.random(len(y))
    for A in (X, np.c_[X, X[:, 0]]):
        found = fit(torch.tensor(A), torch.tensor(y), torch.tensor(s))
        assert_allclose(found.coef, fit(A, y, s).coef, rtol=1e-11, atol=1e-13)


def test_float32_is_its_cast():
    X, y, _ = draw()
    X, y = X.astype(np.float32), y.astype(np.float32)
    assert_array_equal(fit(X, y).coef, fit(X.astype(float), y.astype(float)).coef)


def test_several_targets():
    X, y, rng = draw()
    Y = np.c_[y, rng.normal(size=60), np.zeros(60)]
    for A in (X, np.c_[X, X[:, 0]], X[:4]):
        found = fit(A, Y[: len(A)])
        assert found.coef.shape == (A.shape[1], 3) and found.intercept.shape == (3,)
        for k in range(3):
            one = fit(A, Y[: len(A), k])
            assert_allclose(found.coef[:, k], one.coef, rtol=1e-13, atol=1e-15)
            assert_allclose(found.intercept[k], one.intercept, rtol=1e-13, atol=1e-15)
            assert_allclose(found.bse[:, k], one.bse, rtol=1e-12)
            assert one.bse.shape == one.coef.shape and one.intercept_bse.shape == ()
        assert_allclose(found.value, found.rss.sum())
