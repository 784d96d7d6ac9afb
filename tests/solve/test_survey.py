"""One pass over a regression table: the moments of rows and targets together."""

import numpy as np
import pytest

from fenchel.data.blocks import Block
from fenchel.data.intake import as_blocks
from fenchel.solve.least_squares.moments import JointMoments, regression_moments
from fenchel.testing import check_statistic


def joint(n, d, targets, offset=0.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + offset
    y = X[:, :targets] + rng.standard_normal((n, targets))
    return X, y, rng.integers(0, 3, n).astype(np.float64)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("targets", [0, 1, 3])
def test_the_compiled_moments_are_the_definition(order, dtype, targets):
    X, y, s = joint(6000, 9, max(targets, 1))
    y = y[:, 0] if targets == 0 else y
    table = np.asarray(X, dtype=dtype, order=order)
    for weight in (None, s):
        check_statistic(JointMoments(), Block(0, table, y, weight), tol=1e-12)


def test_an_offset_costs_no_digits():
    X, y, s = joint(20_000, 9, 1, offset=1e8)
    blocks = as_blocks(X, y[:, 0], s)
    _, found = regression_moments(blocks, scatter=True)
    mean = (s @ X) / s.sum()
    assert found.flat and np.allclose(found.square[:9], s @ (X - mean) ** 2, rtol=1e-6)


def test_squares_beyond_float64_scale_the_target():
    X, y, _ = joint(20_000, 9, 1)
    _, found = regression_moments(as_blocks(X, 1e200 * y[:, 0]), scatter=True)
    assert found.exponent > 600 and np.isfinite(found.scatter).all()
