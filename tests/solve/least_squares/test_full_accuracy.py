from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from solve.least_squares import nist, rational
from solve.tables import Pieces, draw, fit, one_hot, shortest

from fenchel.data.blocks import threads
from fenchel.data.intake import as_blocks
from fenchel.solve.least_squares.solve import least_squares

TEN = {"Norris", "Pontius", "NoInt1", "NoInt2", "Longley", "Wampler1", "Wampler2", "Wampler3"}
ULP = 2.0**-52


def nist_digits(name, form, blocks=as_blocks):
    ref = nist.read(name)
    if form == "intercept":
        found = least_squares(blocks(ref.X, ref.y), intercept=True)
        coef, bse = np.r_[found.intercept, found.coef], np.r_[found.intercept_bse, found.bse]
    else:
        one = np.ones((len(ref.y), int(ref.constant)))
        found = least_squares(blocks(np.hstack([one, ref.X]), ref.y), intercept=False)
        coef, bse = found.coef, found.bse
    assert found.rank == len(ref.coef) - (form == "intercept")
    pairs = [(coef, ref.coef), (bse, ref.bse), (found.scale, ref.scale), (found.r2, ref.r2)]
    return [nist.digits(ours, theirs) for ours, theirs in pairs]


FORMS = [(name, "column") for name in nist.NAMES]
FORMS += [(name, "intercept") for name in nist.NAMES if not name.startswith("NoInt")]


@pytest.mark.parametrize(("name", "form"), FORMS)
def test_nist(name, form):
    bar = 10.0 if name in TEN else 7.0
    assert min(nist_digits(name, form)) >= bar


@pytest.mark.parametrize("pieces", [1, 3, 17])
@pytest.mark.parametrize("name", ["Pontius", "Filip", "Longley", "Wampler5"])
def test_nist_in_pieces(name, pieces):
    """Coefficients come out the same to the last bit, however the rows are cut."""
    ref = nist.read(name)
    whole = fit(ref.X, ref.y)
    found = least_squares(Pieces(ref.X, ref.y, pieces=pieces))
    assert_array_equal(found.coef, whole.coef)
    assert_array_equal(found.intercept, whole.intercept)
    cut = nist_digits(name, "column", lambda X, y: Pieces(X, y, pieces=pieces))
    assert min(cut) >= (10.0 if name in TEN else 7.0)


def conditioned(kappa, n=25, d=4, seed=0):
    """Columns with the given condition number, then offsets up to 1e4 times them, wild lengths."""
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.normal(size=(n, d)))[0]
    X = U @ np.diag(np.geomspace(1.0, 1.0 / kappa, d)) @ np.linalg.qr(rng.normal(size=(d, d)))[0]
    X = (X + 10.0 ** rng.integers(-4, 4, d)) * 10.0 ** rng.integers(-8, 8, d)
    return X, rng.normal(size=n) * 1e3, rng.integers(1, 5, n).astype(float) * rng.random(n)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kappa", [1.0, 1e3, 1e6, 1e10])
def test_coefficients_are_rounded_exact_ones(kappa, intercept, weighted, global_random_seed):
    X, y, s = conditioned(kappa, seed=global_random_seed)
    s = s if weighted else None
    exact = rational.least_squares(X, y, s, intercept)
    found = fit(X, y, s, intercept)
    ours = [*found.coef, found.intercept][: len(exact.coef)]
    pairs = zip(map(_fraction, ours), exact.coef, strict=True)
    assert max(abs(float(w / e - 1)) for w, e in pairs) < ULP
    assert found.kind == "exact" and found.rank == 4
    check_bound(found, X, y, s, exact)


def _fraction(x):
    return rational.Fraction(float(x))


def check_bound(found, X, y, s, exact):
    optimum, slack = exact.optimum, _fraction(found.rounding)
    value = rational.value(X, y, s, found.coef, found.intercept)
    assert abs(value - _fraction(found.value)) <= slack + 4 * ULP * float(value)
    assert _fraction(found.bound) <= optimum + slack
    assert _fraction(found.value) >= optimum - slack
    assert found.bound <= found.value


@pytest.mark.parametrize("kappa", [1.0, 30.0, 1e3, 1e8])
@pytest.mark.parametrize("intercept", [False, True])
def test_plain_residuals_keep_ten_digits(kappa, intercept, global_random_seed):
    """On large tables twice the precision is used only where it must be."""
    X, y, s = conditioned(kappa, seed=global_random_seed)
    exact = rational.least_squares(X, y, s, intercept)
    found = fit(X, y, s, intercept, precise_values=0)
    lengths = np.linalg.norm(X - X.mean(0) * intercept, axis=0)
    error = np.array(
        [float(_fraction(w) - e) for w, e in zip(found.coef, exact.coef, strict=False)]
    )
    assert np.max(np.abs(error) * lengths) <= 1e-10 * np.max(np.abs(found.coef) * lengths)
    check_bound(found, X, y, s, exact)


@pytest.mark.parametrize("kappa", [1.0, 1e4, 1e10])
@pytest.mark.parametrize("intercept", [False, True])
def test_standard_errors(intercept, kappa, global_random_seed):
    X, y, s = conditioned(kappa, seed=global_random_seed)
    exact = rational.least_squares(X, y, s, intercept)
    found = fit(X, y, s, intercept)
    dof = 25 - 4 - intercept
    assert found.dof == dof
    variance = float(exact.optimum) / dof
    assert_allclose(found.scale, np.sqrt(variance), rtol=1e-14)
    bse = [np.sqrt(variance * float(exact.inverse[j][j])) for j in range(len(exact.coef))]
    assert_allclose([*found.bse, found.intercept_bse][: len(bse)], bse, rtol=1e-12)
    block = np.array([[float(v) for v in row[:4]] for row in exact.inverse[:4]])
    lengths = np.sqrt(np.diag(block))
    assert_allclose(
        found.root @ found.root.T / np.outer(lengths, lengths),
        block / np.outer(lengths, lengths),
        atol=1e-12,
    )


def test_offset_far_above_the_deviations():
    rng = np.random.default_rng(1)
    x, y = 1e8 + 1e-6 * rng.normal(size=(60, 1)), rng.normal(size=60)
    exact = rational.least_squares(x, y)
    for pieces in (1, 7):
        found = least_squares(Pieces(x, y, pieces=pieces))
        assert abs(float(_fraction(found.coef[0]) / exact.coef[0] - 1)) < ULP
        assert abs(float(_fraction(found.intercept) / exact.coef[1] - 1)) < ULP


def test_large_well_conditioned_table_takes_the_short_way():
    X, y, _ = draw(20000, 10)
    passes = []

    class Counted(Pieces):
        def reduce(self, stat):
            passes.append(stat)
            return super().reduce(stat)

    found = least_squares(Counted(X, y, pieces=9))
    assert found.method == "gram" and len(passes) <= 3
    w, b = shortest(X, y)
    assert_allclose(found.coef, w, rtol=1e-11)
    assert_allclose(found.intercept, b, rtol=1e-11)
    assert found.value - found.bound <= found.rounding <= 1e-11 * found.value


def test_large_ill_conditioned_table():
    X, y, rng = draw(20000, 4)
    X = np.c_[X, X[:, 0] + 1e-7 * rng.normal(size=20000)]
    found = fit(X, y)
    assert found.method == "orthogonal" and found.rank == 5
    assert 1e6 < found.condition < 1e9
    gain = found.value - found.bound
    assert gain <= found.rounding + 1e-14 * found.value


def test_same_bits_for_any_number_of_threads():
    X, y, _ = draw(30000, 8)
    results = []
    for n in (1, 2, 3):
        with threads(n):
            results.append(fit(X, y))
    for other in results[1:]:
        assert_array_equal(results[0].coef, other.coef)
        assert results[0].value == other.value and results[0].bound == other.bound


def test_inputs_are_left_alone():
    X, y, rng = draw()
    s = rng.random(60)
    before = X.tobytes(), y.tobytes(), s.tobytes()
    for A in (X, X[:4]):
        fit(A, y[: len(A)], s[: len(A)])
    assert before == (X.tobytes(), y.tobytes(), s.tobytes())


def test_a_target_is_needed():
    with pytest.raises(ValueError, match="target y"):
        least_squares(as_blocks(np.ones((3, 1))))


def test_zero_target():
    X, _, _ = draw()
    found = fit(X, np.zeros(60))
    assert_array_equal(found.coef, np.zeros(5))
    assert found.value == found.bound == 0.0


def test_constant_in_the_span_is_noticed():
    X, y, rng = draw()
    assert fit(X, y).has_constant
    assert not fit(X, y, None, False).has_constant
    for constant in (np.ones(60), one_hot(rng, 60, 3)):
        found = fit(np.c_[X, constant], y, None, False)
        assert found.has_constant
        assert_allclose(found.r2, fit(np.c_[X, constant], y).r2, rtol=1e-12)
