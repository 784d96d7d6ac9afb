from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from solve.tables import draw, fit, shortest


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    "case", ["plain", "weights", "offset", "repeated rows", "few columns vary"]
)
def test_wide(case, intercept):
    X, y, rng = draw(20, 50, seed=5)
    s = rng.random(20) if case == "weights" else None
    if case == "offset":
        X += 1e6
    if case == "repeated rows":
        X[3] = X[7]
    if case == "few columns vary":
        X[:, 4:] = 2.0
    found = fit(X, y, s, intercept)
    w, b = shortest(X, y, s, intercept)
    assert_allclose(found.coef, w, rtol=1e-7 if case == "offset" else 1e-10, atol=1e-12)
    if case != "offset":
        assert_allclose(found.intercept, b, rtol=1e-9, atol=1e-12)
    rows = {"repeated rows": 19, "few columns vary": 5}.get(case, 20)
    assert found.rank == rows - intercept
    met = rows == 20 and (intercept or case != "offset")
    assert found.method == ("dual" if met else "orthogonal")
    assert_allclose(found.value, np.sum((y - X @ w - b) ** 2), rtol=1e-8, atol=1e-12)
    assert 0.0 <= found.bound <= found.value <= found.bound + 1e-17 * found.tss_origin


def test_wide_hazards():
    X, y, _ = draw(4, 6, seed=6)
    found = fit(X * 1e150, y * 1e300)
    plain = fit(X, y)
    assert_allclose(found.coef, plain.coef * 1e150, rtol=1e-12)
    assert found.exponent != 0 and found.value <= found.tss_origin * 1e-25
    one = fit(X[:1], y[:1])
    assert_array_equal(one.coef, np.zeros(6))
    assert one.intercept == y[0] and one.value == 0.0
