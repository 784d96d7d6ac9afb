from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from solve.tables import draw, fit, one_hot, shortest


def deficient(kind, X, rng):
    """(table, rank lost with an intercept, rank lost without)."""
    n = len(X)
    return {
        "copy": (np.c_[X, X[:, 1]], 1, 1),
        "multiple": (np.c_[X, 1e3 * X[:, 1], -1e-3 * X[:, 1]], 2, 2),
        "sum": (np.c_[X, X[:, 0] + X[:, 2] - X[:, 4]], 1, 1),
        "constant": (np.c_[X, np.full(n, 0.1)], 1, 0),
        "zero": (np.c_[X[:, :2], np.zeros(n), X[:, 2:]], 1, 1),
        "dummies": (np.c_[one_hot(rng, n, 4), X], 1, 0),
        "two traps": (np.c_[one_hot(rng, n, 4), one_hot(rng, n, 3), X, np.ones(n)], 3, 2),
    }[kind]


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    "kind", ["copy", "multiple", "sum", "constant", "zero", "dummies", "two traps"]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_dependent_columns(kind, intercept, weighted):
    X, y, rng = draw(seed=2)
    A, with_one, without = deficient(kind, X, rng)
    lost = with_one if intercept else without
    s = rng.random(len(y)) if weighted else None
    found = fit(A, y, s, intercept)
    w, b = shortest(A, y, s, intercept)
    assert found.rank == A.shape[1] - lost == A.shape[1] - len(found.dependent)
    assert_allclose(found.coef, w, rtol=1e-10, atol=1e-12)
    assert_allclose(found.intercept, b, rtol=1e-10, atol=1e-12)
    centred = A - np.average(A, axis=0, weights=s) if intercept else A
    for column, others in found.dependent:
        left = centred[:, column]
        if others:
            left = left - centred[:, others] @ np.linalg.lstsq(centred[:, others], left)[0]
        assert np.abs(left).max() < 1e-12
    # The span is all that counts for the fit, and lengths of columns change no rank.
    scaled = fit(A * 10.0 ** rng.integers(-9, 9, A.shape[1]), y, s, intercept)
    assert scaled.rank == found.rank
    assert_allclose([scaled.value, scaled.bound], found.value, rtol=1e-12)
    root = np.ones(len(y)) if s is None else np.sqrt(s)
    covariance = np.linalg.pinv(root[:, None] * centred, rcond=1e-12)
    assert_allclose(
        found.bse, found.scale * np.linalg.norm(covariance, axis=1), rtol=1e-9, atol=1e-12
    )


def test_dependent_columns_are_named_from_left_to_right():
    X, y, _ = draw()
    found = fit(np.c_[X, X[:, 1], X[:, 0] - 2 * X[:, 3], np.ones(60)], y)
    assert found.dependent == ((5, (1,)), (6, (0, 3)), (7, ()))
    assert found.coef[7] == 0.0
    assert fit(X, y).dependent == ()


def test_all_columns_constant():
    _, y, _ = draw()
    found = fit(np.ones((60, 2)) * [1.0, 0.1], y)
    assert found.rank == 0 and found.dependent == ((0, ()), (1, ()))
    assert_array_equal(found.coef, [0.0, 0.0])
    assert_allclose(found.intercept, y.mean(), rtol=1e-15)
    assert_allclose(found.value, np.sum((y - y.mean()) ** 2), rtol=1e-14)


def test_large_deficient_table():
    X, y, _ = draw(5000, 20)
    found = fit(np.c_[X, X[:, 3]], y)
    assert found.method == "orthogonal" and found.dependent == ((20, (3,)),)
    assert_allclose(found.coef, shortest(np.c_[X, X[:, 3]], y)[0], rtol=1e-10)


def test_shortest_across_scales():
    """x and 1e150 x: the norm is that of the coefficients as stated, so the large one takes all."""
    X, y, _ = draw()
    alone = fit(X, y)
    found = fit(np.c_[X, 1e150 * X[:, 0]], y)
    assert found.rank == 5
    assert_allclose(found.coef[5] * 1e150, alone.coef[0], rtol=1e-12)
    assert_allclose(found.coef[0], alone.coef[0] * 1e-300, rtol=1e-12)
    assert_allclose(found.coef[1:5], alone.coef[1:], rtol=1e-12)
