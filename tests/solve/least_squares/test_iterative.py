from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from solve.least_squares import nist
from solve.tables import Pieces, draw, fit, shortest

from fenchel.solve.least_squares.solve import least_squares


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("shape", [(400, 30), (30, 80), (400, 31)])
def test_iterative(shape, intercept):
    n, d = shape
    rng = np.random.default_rng(11)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.3)
    if d == 31:
        X[:, -1], X[:, 5] = 2.0 * X[:, 0], 0.0
    Y = rng.normal(size=(n, 2))
    found = fit(sp.csr_array(X), Y, None, intercept, sparse_columns=10)
    assert found.method == "iterative" and found.kind == "stationary" and found.rank is None
    for k in range(2):
        w, b = shortest(X, Y[:, k], None, intercept)
        assert_allclose(found.coef[:, k], w, rtol=1e-8, atol=1e-9)
        assert_allclose(found.intercept[k], b, atol=1e-9)
    assert found.bound <= found.value <= found.bound + 1e-9 * found.tss_origin.sum()
    assert 1.0 < found.condition < 100.0
    assert np.isnan(found.bse).all() and np.isnan(found.scale).all()
    with pytest.raises(ValueError, match="iterative"):
        _ = found.root


def test_iterative_gives_up_for_the_direct_method():
    ref = nist.read("Wampler3")
    found = fit(sp.csr_array(ref.X), ref.y, sparse_columns=2)
    assert found.method == "orthogonal"
    assert nist.digits(found.coef, ref.coef[1:]) >= 14


def test_a_wide_table_that_does_not_fit_in_memory():
    class Vast(Pieces):
        def gather(self):
            raise MemoryError("too large")

    X, y, _ = draw(20, 50)
    found = least_squares(Vast(X, y, pieces=3))
    assert found.method == "iterative"
    assert_allclose(found.coef, shortest(X, y)[0], rtol=1e-8, atol=1e-10)
