"""Fits of rows made to break them: what they return is right, or one sentence says why not."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone

import fenchel
from fenchel import (
    ElasticNet,
    ERMClassifier,
    HuberRegressor,
    Lasso,
    LassoCV,
    LeastAbsoluteDeviations,
    LinearRegression,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    LogisticRegressionCV,
    PairwiseRanker,
    QuantileRegressor,
    Ridge,
    RidgeCV,
)
from fenchel.convex.loss.distance import Absolute, EpsilonInsensitive, Pinball
from fenchel.convex.penalty import L1, L2, NonNegative
from fenchel.convex.problem import Problem
from fenchel.data.design.matrix import MatrixDesign
from fenchel.data.intake import as_blocks
from fenchel.solve.centring import centred
from fenchel.solve.minimise import minimise
from fenchel.solve.piecewise.vertex import has_vertex, vertex

SIX = np.arange(6.0)[:, None]
TARGET = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.5])


def rows(seed: int = 0):
    """Rows of whole 1024ths, which an offset of 10⁹ leaves exact, with a target and classes."""
    rng = np.random.default_rng(seed)
    X = np.round(1024.0 * rng.standard_normal((40, 2))) / 1024.0
    y = X @ [1.0, -2.0] + 0.3 * rng.standard_normal(40)
    classes = (y + rng.standard_normal(40) > 0.0).astype(int)
    return X, y, classes, np.digitize(y + rng.standard_normal(40), [-1.0, 1.0])


def table(X, layout):
    return csr_array(X) if layout == "csr" else X


@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_ridge_of_a_column_far_from_zero(layout):
    model = Ridge(alpha=1e-3).fit(table(1e9 + SIX, layout), TARGET)
    near = Ridge(alpha=1e-3).fit(SIX, TARGET)
    assert_allclose(model.coef_, near.coef_, rtol=1e-14)
    assert_allclose(model.certificate_.value, 0.1201955126, rtol=1e-9)
    assert model.converged_


FITS = [
    (Ridge(), "y"),
    (Ridge(alpha=0.0), "y"),
    (Ridge(positive=True), "y"),
    (RidgeCV(), "y"),
    (LinearRegression(positive=True), "y"),
    (Lasso(alpha=0.05), "y"),
    (ElasticNet(alpha=0.05), "y"),
    (LinearSVR(C=1e3), "y"),
    (LeastAbsoluteDeviations(), "y"),
    (QuantileRegressor(quantile=0.3, alpha=0.1), "y"),
    (HuberRegressor(), "y"),
    (LogisticRegression(), "two"),
    (LogisticRegression(C=np.inf), "two"),
    (LogisticRegression(l1_ratio=1.0), "two"),
    (LogisticRegression(), "three"),
    (LinearSVC(), "two"),
    (LinearSVC(loss="hinge"), "two"),
    (ERMClassifier(loss="exponential"), "two"),
]


@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize(("model", "kind"), FITS, ids=str)
def test_an_offset_of_every_column_changes_the_intercept_alone(model, kind, layout):
    X, y, two, three = rows()
    target = {"y": y, "two": two, "three": three}[kind]
    far = X + np.array([1e9, -7e8])
    near = clone(model).fit(X, target)
    fitted = clone(model).fit(table(far, layout), target)
    assert fitted.converged_
    size = np.abs(near.coef_).max()
    # LinearSVR(C=1e3): 10⁻⁶ of a value in which |w|² hardly counts.
    assert_allclose(fitted.coef_, near.coef_, atol=1e-6 * size)
    assert_allclose(fitted.certificate_.value, near.certificate_.value, rtol=2e-7)


def test_a_path_of_far_columns_is_that_of_near_ones():
    X, y, two, _ = rows()
    far = csr_array(X + 1e8)
    path, near = (LassoCV(alphas=[0.5, 0.1, 0.01], cv=2).fit(A, y) for A in (far, X))
    assert path.alpha_ == near.alpha_
    assert_allclose(path.mse_path_, near.mse_path_, rtol=1e-6)
    assert_allclose(path.coef_, near.coef_, rtol=1e-6)
    chosen, at_zero = (
        LogisticRegressionCV(Cs=[0.1, 1.0, 10.0], cv=2).fit(A, two) for A in (far, X)
    )
    assert_allclose(chosen.coef_, at_zero.coef_, rtol=1e-6)


@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_differences_of_far_rows_are_those_of_near_ones(layout):
    X, _, _, grades = rows()
    far = table(X + np.array([1e9, -7e8]), layout)
    ranked, near = (PairwiseRanker(loss="logistic").fit(A, grades) for A in (far, X))
    assert ranked.converged_
    assert_allclose(ranked.coef_, near.coef_, rtol=1e-4)
    assert_allclose(ranked.certificate_.value, near.certificate_.value, rtol=1e-6)
    assert fenchel.certify(ranked, far, grades).relative_gap < 1e-6


def test_float32_rows_far_from_zero():
    X, y, _, _ = rows()
    far = (np.round(8.0 * X) / 8.0 + 1e4).astype(np.float32)
    near = Lasso(alpha=0.05).fit(far.astype(float) - 1e4, y)
    for layout in ("dense", "csr"):
        fitted = Lasso(alpha=0.05).fit(table(far, layout), y)
        assert fitted.coef_.dtype == np.float32
        assert_allclose(fitted.coef_, near.coef_, rtol=1e-5)


def test_weights_and_rows_are_left_as_they_are():
    X, y, _, _ = rows()
    far, s = csr_array(X + 1e9), np.linspace(0.5, 2.0, 40)
    data = far.data.copy()
    fitted = Lasso(alpha=0.05).fit(far, y, sample_weight=s)
    near = Lasso(alpha=0.05).fit(X, y, sample_weight=s)
    assert_array_equal(far.data, data)
    assert_allclose(fitted.coef_, near.coef_, atol=1e-8)


# ------------------------------------------------------------------------------- the moved columns


def blocks_of(X):
    return as_blocks(X, np.zeros(X.shape[0]), None)


def test_only_far_columns_move_and_every_difference_is_exact():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((50, 4))
    X[:, 1] = 1e9 + 100.0 * rng.standard_normal(50)  # far
    X[:, 2] = 1e9  # constant: an intercept in all but name
    X[:, 3] = 5.0 + rng.standard_normal(50)  # near
    for layout in ("dense", "csr"):
        found = centred(blocks_of(table(X, layout)))
        assert found is not None
        assert_array_equal(found.centre != 0.0, [False, True, False, False])
        moved = found.rows.gather().X
        moved = moved.toarray() if layout == "csr" else moved
        c = float(found.centre[1])
        for x, z in zip(X[:, 1], moved[:, 1], strict=True):
            assert Fraction(float(x)) - Fraction(c) == Fraction(float(z))
        assert_array_equal(moved[:, [0, 2, 3]], X[:, [0, 2, 3]])


def test_a_sparse_column_with_a_zero_is_not_far():
    X = 1e9 + np.arange(300.0)[:, None]
    X[151] = 0.0
    assert centred(blocks_of(csr_array(X))) is None
    assert centred(blocks_of(X)) is None


def test_the_intercept_is_rounded_once():
    found = centred(blocks_of(np.column_stack([1e9 + SIX, 3e8 + SIX])))
    w, b = np.array([1.0 / 3.0, -0.7]), 0.1
    exact = Fraction(b) - sum(
        (Fraction(float(c)) * Fraction(float(v)) for c, v in zip(found.centre, w, strict=True)),
        Fraction(0),
    )
    assert found.outward(w, b) == float(exact)
    assert_array_equal(
        found.outward(np.stack([w, w], axis=1), np.array([b, b])), [float(exact)] * 2
    )


# ------------------------------------------------------------------------------ beyond the range


@pytest.mark.parametrize("layout", ["dense", "csr"])
@pytest.mark.parametrize("model", [LinearRegression(), Ridge(alpha=0.0)], ids=str)
def test_a_coefficient_beyond_float64_is_refused_by_its_column(model, layout):
    X = np.column_stack([[1.0, -2.0, 3.0, 1.0], np.array([2.0, -1.0, 3.0, 0.0]) * 1e-310])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="column 1 reaches only 3e-310, so its coefficient"):
            clone(model).fit(table(X, layout), [1.0, 2.0, 3.0, 5.0])


def test_a_penalty_holds_a_column_of_denormal_numbers_at_zero():
    X = np.column_stack([[1.0, -2.0, 3.0, 1.0], np.array([2.0, -1.0, 3.0, 0.0]) * 1e-310])
    y = np.array([1.0, 2.0, 3.0, 5.0])
    for alpha in (1.0, 1e-30):
        model = Ridge(alpha=alpha).fit(X, y)
        assert model.converged_
        assert_allclose(
            model.coef_, [Ridge(alpha=alpha).fit(X[:, :1], y).coef_[0], 0.0], rtol=1e-12
        )


# ------------------------------------------------------------------------------- what is claimed


def test_coefficients_of_least_norm_keep_the_proof_of_the_others():
    model = LeastAbsoluteDeviations(fit_intercept=False)
    model.fit([[0.0, 0.0], [0.0, -0.2244]], [1.34, 0.681])
    assert_allclose(model.certificate_.value, 0.67, rtol=1e-12)
    assert model.certificate_.relative_gap <= model.tol
    assert model.converged_


def test_certify_of_separable_classes_without_a_penalty():
    X, y = [[1.0], [0.0], [2.0]], [2, 0, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fenchel.NotCertified)
        model = LogisticRegression(C=np.inf).fit(X, y)
        proof = fenchel.certify(model, X, y)
    assert proof.bound <= 0.0 < proof.value


@pytest.mark.parametrize("scaling", [0.01, 1000.0, 0.5])
def test_a_penalised_intercept_in_float32_is_valued_as_it_is_returned(scaling):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 3)).astype(np.float32)
    y = rng.standard_normal(12)  # float64 beside float32 rows
    model = LinearSVR(C=2.0, intercept_scaling=scaling)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fenchel.NotCertified)
        model.fit(X, y)
    w = [Fraction(float(v)) for v in model.coef_]
    b = Fraction(float(np.ravel(model.intercept_)[0]))
    loss = Fraction(0)
    for x, t in zip(X, y, strict=True):
        z = sum((Fraction(float(a)) * v for a, v in zip(x, w, strict=True)), b)
        loss += abs(Fraction(float(t)) - z)
    norm = sum((v * v for v in w), (b / Fraction(scaling)) ** 2)
    assert model.coef_.dtype == np.float32
    assert_allclose(model.certificate_.value, float(2 * loss + norm / 2), rtol=1e-12)


# ------------------------------------------------------------------------------- no fit for ever


def near_twins(seed: int, rows: int, columns: int, share: float):
    """Columns that differ by a small share of the first."""
    rng = np.random.default_rng(seed)
    first = rng.standard_normal((rows, 1))
    return first + share * rng.standard_normal((rows, columns)), rng


def test_a_heavy_row_without_curvature_does_not_stiffen_the_others():
    X, rng = near_twins(0, 20, 1, 0.0)
    X = np.rint(3.0 * np.column_stack([X[:, 0], rng.standard_normal(20), X[:, 0]]))
    X[:, 2] *= 1.0 + 1e-14 * rng.standard_normal(20)
    y = (X[:, 0] + X[:, 1] + 3.0 * rng.standard_normal(20) > 0.0).astype(int)
    s = np.ones(20)
    s[np.argmax(X[:, 0] * (2 * y - 1))] = 1e12
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fenchel.NotCertified)
        model = LinearSVC(penalty="l1", C=0.4).fit(X, y, sample_weight=s)
    assert model.n_iter_ < 30
    assert model.certificate_.relative_gap < 1e-4


def test_a_hinge_under_a_faint_penalty_ends_at_a_vertex():
    X, rng = near_twins(1, 16, 3, 1e-5)
    y = np.where(rng.random(16) < 0.4, 1, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fenchel.NotCertified)
        model = ERMClassifier(loss="hinge", penalty="l1", lam=1e-8, fit_intercept=False, tol=1e-10)
        model.fit(X, y)
    assert model.n_iter_ < 200
    assert model.certificate_.relative_gap < 1e-7


# A θ of float64 meets a box of 10⁻¹¹ of the columns' size to six digits.
@pytest.mark.parametrize(("scale", "gap"), [(1.0, 1e-9), (1e9, 1e-6)])
def test_the_vertex_of_a_linear_program_is_that_of_newton_steps(scale, gap):
    X, y, _, _ = rows()
    s = np.full(40, 1.0 / 40)
    for loss in (Pinball(0.3), Absolute(), EpsilonInsensitive(0.2)):
        for penalty in (L1(0.05), L2(0.0), NonNegative(), L1(0.05, positive=True)):
            design = MatrixDesign(as_blocks(scale * X, y, None))
            problem = Problem(loss, penalty, design, True)
            assert has_vertex(problem)
            point, theta = vertex(problem, y, s, np.zeros(2))
            proof = problem.certify(point, dual=theta)
            assert -1e-15 * proof.value <= proof.gap <= gap * proof.value
            other = minimise(problem, tol=gap).certificate
            assert_allclose(proof.value, other.value, rtol=2.0 * gap)


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_a_loss_beyond_float64_proves_nothing_and_warns_of_nothing(penalty):
    X, _, two, _ = rows()
    model = ERMClassifier(loss="exponential", penalty=penalty).fit(X, two)
    model.coef_ = np.array([[1e200, -1e200]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        proof = fenchel.certify(model, X, two)
    assert proof.value == np.inf and not proof.closed(1.0)


def test_a_ridge_beyond_float64_is_an_infinite_value_of_hubers_regression():
    X, y, _, _ = rows()
    model = HuberRegressor().fit(X, y)
    model.coef_ = np.array([1e300, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        proof = fenchel.certify(model, X, y)
    assert proof.value == np.inf and not proof.closed(1.0)


def test_a_strength_below_float64_is_refused_in_words():
    X, y = np.array([[0.0], [1.0], [2.0], [1.5]]), [0, 1, 1, 0]
    with pytest.raises(ValueError, match=r"C=1e-300 times the sum of the weights.*raise C"):
        fenchel.LogisticRegression(C=1e-300).fit(X, y, sample_weight=[1e-100] * 4)


def test_coefficients_too_small_for_float32_stay_in_float64():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 3)).astype(np.float32), 1e-80 * rng.standard_normal(12)
    model = fenchel.Lasso(alpha=1e-84).fit(X, y)
    left = y - X.astype(float) @ model.coef_ - model.intercept_
    value = 0.5 * np.mean(left**2) + 1e-84 * np.abs(model.coef_).sum()
    assert model.coef_.any() and model.certificate_.value == pytest.approx(value, rel=1e-9)


def test_least_squares_too_small_for_float32_states_the_value_of_its_coefficients():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 3)).astype(np.float32), 1e-57 * rng.standard_normal(12)
    model = fenchel.LinearRegression().fit(X, y)
    left = y - X.astype(float) @ model.coef_ - model.intercept_
    assert model.certificate_.value == pytest.approx(left @ left, rel=1e-9)


def test_a_faint_lasso_states_the_value_of_its_coefficients():
    """Two columns that are nearly one take coefficients of 10⁸ times the target's size, and scores
    of float64 lose as many digits."""
    rng = np.random.default_rng(0)
    x, y = 4.0 * rng.standard_normal(12), 1e24 * rng.standard_normal(12)
    X = np.stack([x, x + 1e-8 * rng.standard_normal(12)], axis=1)
    model = Lasso(alpha=1234.0).fit(X, y)
    w, b = [Fraction(v) for v in model.coef_.tolist()], Fraction(float(model.intercept_))
    left = [
        Fraction(t) - sum(a * Fraction(v) for a, v in zip(w, row, strict=True)) - b
        for row, t in zip(X.tolist(), y.tolist(), strict=True)
    ]
    value = sum(r * r for r in left) / 24 + 1234 * sum(map(abs, w))
    proof = model.certificate_
    assert proof.gap >= 0.0 and model.converged_
    assert abs(Fraction(proof.value) - value) <= Fraction(1, 10**13) * value


def test_targets_whose_squares_leave_float32():
    rng = np.random.default_rng(0)
    X = np.stack([1e-9 * (rng.random(26) > 0.5), np.full(26, -3.7)], axis=1).astype(np.float32)
    y = (-7e31 + 4e31 * (X[:, 0] > 0) + 1e30 * rng.random(26)).astype(np.float32)
    model = LeastAbsoluteDeviations(alpha=0.2).fit(X, y)
    assert model.converged_ and model.intercept_ == pytest.approx(np.median(y), rel=1e-3)


def test_a_fold_without_weight_is_refused_in_words():
    X, y = np.arange(6.0)[:, None] % 4, np.arange(6.0)
    for model in (LassoCV(cv=2), fenchel.ElasticNetCV(cv=2)):
        with pytest.raises(ValueError, match="a fold leaves no row with weight to fit"):
            model.fit(X, y, sample_weight=[0, 0, 0, 1, 2, 1])
