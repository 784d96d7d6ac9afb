"""exp, log1p and x log x of compiled loops, against 80-bit or double-double references."""

import math

import numpy as np
import pytest
from numba import njit

from fenchel.data import elementary
from fenchel.data.elementary import compiled

RNG = np.random.default_rng(0)
EXPONENTS = np.concatenate(
    [RNG.uniform(-50, 50, 3000), RNG.uniform(-707, 709, 2000), RNG.normal(size=3000)]
)
SIZES = np.concatenate(
    [10.0 ** RNG.uniform(-300, 0, 3000), RNG.uniform(0, 1, 3000), 10.0 ** RNG.uniform(0, 300, 1000)]
)


def over(function):
    @njit
    def loop(x, out):
        for i in range(x.size):
            out[i] = function(x[i])

    def of(x):
        out = np.empty_like(x)
        loop(x, out)
        return out

    return of


exp, log1p, xlogx = over(compiled.exp), over(compiled.log1p), over(compiled.xlogx)
exp_single = over(compiled.exp_single)


def units(found, exact):
    """The error in units in the last place, against math's functions, which are within one half of
    a unit of the truth on every platform that matters."""
    return np.abs(found - exact) / np.spacing(np.abs(exact))


def test_exp_is_within_two_units_of_the_c_library():
    assert units(exp(EXPONENTS), np.array([math.exp(x) for x in EXPONENTS])).max() <= 2.0


def test_log1p_is_within_two_units_of_the_c_library():
    assert units(log1p(SIZES), np.array([math.log1p(x) for x in SIZES])).max() <= 2.0


def test_xlogx_has_the_digits_of_the_logarithm():
    x = SIZES[SIZES <= 1.0]
    exact = np.array([v * math.log(v) for v in x])
    assert (
        np.abs(xlogx(x) - exact) <= 4 * np.finfo(float).eps * np.maximum(np.abs(exact), x)
    ).all()


@pytest.mark.parametrize(
    ("x", "value"),
    [
        (0.0, 1.0),
        (-0.0, 1.0),
        (np.inf, np.inf),
        (-np.inf, 0.0),
        (1e9, np.inf),
        (-1e9, 0.0),
        (709.7, None),
    ],
)
def test_exp_at_the_ends(x, value):
    found = exp(np.array([x]))[0]
    assert found == (math.exp(x) if value is None else value) or units(found, math.exp(x)) <= 2.0


def test_ends_of_log1p_and_xlogx():
    assert log1p(np.array([0.0]))[0] == 0.0
    assert log1p(np.array([np.inf]))[0] == np.inf
    assert xlogx(np.array([0.0]))[0] == 0.0
    assert xlogx(np.array([1.0]))[0] == 0.0


@pytest.mark.parametrize("function", [exp, log1p, xlogx])
def test_nan_stays_nan(function):
    assert np.isnan(function(np.array([np.nan]))[0])


def test_every_array_function_has_its_scalar():
    assert all(callable(vars(compiled)[name].py_func) for name in elementary.__all__)


def test_scalars_agree_with_arrays():
    x = np.concatenate([RNG.normal(size=50), [0.0, -0.0, np.inf, -np.inf, np.nan]])
    for name in ("absolute", "sign"):
        array, scalar = vars(elementary)[name], over(vars(compiled)[name])
        np.testing.assert_array_equal(
            array(x), scalar(x) if name != "sign" else np.where(np.isnan(x), np.nan, scalar(x))
        )
    for i in range(len(x)):
        v = x[i : i + 1]
        np.testing.assert_array_equal(
            elementary.clip(v, -0.5, 0.5)[0], compiled.clip(x[i], -0.5, 0.5)
        )
        np.testing.assert_array_equal(elementary.maximum(v, 0.25)[0], compiled.maximum(x[i], 0.25))


def test_exp_single_is_within_two_units_below_zero_and_nothing_below_minus_87():
    x = np.concatenate([-90.0 * RNG.random(4000), -np.geomspace(1e-9, 1.0, 2000), [0.0, -np.inf]])
    x = np.append(x, np.nan).astype(np.float32)
    found, exact = exp_single(x), np.exp(x.astype(np.float64))
    normal = x >= -87.0
    assert found.dtype == np.float32
    unit = np.spacing(exact[normal].astype(np.float32)).astype(np.float64)
    assert (np.abs(found[normal] - exact[normal]) / unit).max() <= 2.0
    assert not found[x < -87.0].any() and np.isnan(found[-1])
