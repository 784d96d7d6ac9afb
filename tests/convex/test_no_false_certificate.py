"""Problems on which certificates were false once, each judged in exact arithmetic.

bound ≤ P at the coefficients as returned and at a better point; |value - P| within the gap.
"""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
from convex.audit.exact import Exact, hinge, huber, log_loss, pinball, square
from scipy.sparse import csr_array
from sklearn import linear_model as lm
from sklearn import svm

import fenchel
from fenchel import certify

OFFSET = 1e9 + np.arange(6.0)[:, None]
RISING = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.5])


def fitted(model, X, y, s=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y, s)


def signs(y):
    return np.where(np.asarray(y) == 1, 1.0, -1.0)


def point(model):
    w = [Fraction(float(v)) for v in np.ravel(model.coef_)]
    return w, Fraction(float(np.ravel(model.intercept_)[0]))


def assert_true(proof, problem, at, *, closed=None):
    """The certificate against P at its point and at a better one, exactly."""
    own = problem.value(*at)
    assert proof.value >= proof.bound
    if proof.kind == "estimate":
        assert not closed
        return
    assert abs(Fraction(proof.value) - own) <= Fraction(proof.value) - Fraction(proof.bound)
    assert Fraction(proof.bound) <= own
    better = problem.better(*at)
    if better is not None:
        assert Fraction(proof.bound) <= problem.value(*better)
    if closed:
        assert proof.closed(1e-6)


# A: sparse columns with an offset -----------------------------------------------------------------


@pytest.mark.parametrize("wrap", [np.asarray, csr_array], ids=["dense", "csr"])
def test_ridge_on_columns_far_from_zero(wrap):
    model = fitted(fenchel.Ridge(alpha=1e-3), wrap(OFFSET), RISING)
    problem = Exact.of(OFFSET, RISING, None, square, l2=2 * Fraction(1e-3), kind="square")
    assert_true(model.certificate_, problem, point(model))
    # The least possible value is 0.1201955126..., and no certificate says more.
    assert model.certificate_.bound <= 0.1201955127 and model.certificate_.value >= 0.1201955126


# B: a tiny loss, or one huge weight, with a penalty -----------------------------------------------


@pytest.mark.parametrize(
    ("X", "y", "C", "weights"),
    [
        ([[-8e6], [-1e7]], [1, 0], 1142.5224546891816, None),
        ([[0.0], [1e4], [2e3], [9e3]], [0, 1, 0, 1], 1e4, None),
        ([[0.1], [0.9], [0.3], [0.4]], [0, 1, 1, 0], 1.0, [1.0, 1e12, 1.0, 1.0]),
    ],
    ids=["two rows", "four rows", "huge weight"],
)
def test_logistic_losses_that_are_tiny(X, y, C, weights):
    X = np.array(X)
    model = fitted(fenchel.LogisticRegression(C=C), X, y, weights)
    problem = Exact.of(X, signs(y), weights, log_loss, C, l2=1.0, kind="logistic")
    assert_true(model.certificate_, problem, point(model), closed=model.converged_)


def test_a_multinomial_loss_that_is_tiny():
    X = np.array([[0.0], [1.0], [2.0]]) * 1e5
    proof = fitted(fenchel.LogisticRegression(C=1e4), X, [0, 1, 2]).certificate_
    assert proof.bound <= proof.value
    assert proof.kind in ("duality", "exact")


# C: no penalty, logistic --------------------------------------------------------------------------


@pytest.mark.parametrize("twin", [False, True])
def test_logistic_without_a_penalty_and_a_huge_weight(twin):
    X, y = np.array([[1.0], [-0.3], [-0.4]]), [1, 0, 1]
    X = np.append(X, X, axis=1) if twin else X
    s = [1e12, 0.727647648773452, 1.799717775754738]
    model = fitted(fenchel.LogisticRegression(C=np.inf, fit_intercept=False), X, y, s)
    # In one column the scores are those of the sum of both coefficients.
    problem = Exact.of(X[:, :1], signs(y), s, log_loss, intercept=False, kind="logistic")
    w, b = point(model)
    assert_true(model.certificate_, problem, ([sum(w)], b), closed=model.converged_)
    assert model.certificate_.bound <= 20.8478924


def test_classes_that_a_plane_separates_have_no_positive_optimum():
    X, y = np.array([[-1.29869e12], [-56091.1], [-56093.1]]), np.array([1, 0, 1])
    theirs = fitted(lm.LogisticRegression(C=np.inf, class_weight={0: 0.001, 1: 2}), X, y)
    proof = certify(theirs, X, y)
    assert proof.kind == "estimate" or proof.bound <= 0.0


def test_three_classes_without_a_penalty_are_certified_without_a_crash():
    X, y = [[1.0], [0.0], [2.0]], [2, 0, 1]
    model = fitted(fenchel.LogisticRegression(C=np.inf), X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        proof = certify(model, X, y)
    assert proof.kind == "estimate" or proof.bound <= 0.0


# D: offset columns, dense, and a free intercept ---------------------------------------------------


@pytest.mark.parametrize("C", [1e3, 1.0])
def test_a_support_vector_regression_far_from_zero(C):
    model = fitted(fenchel.LinearSVR(C=C), OFFSET, RISING)
    problem = Exact.of(OFFSET, RISING, None, lambda y, z: abs(y - z), C, l2=1.0, kind="pinball")
    assert_true(model.certificate_, problem, point(model), closed=model.converged_)
    least = problem.value([Fraction(1)], Fraction(-(10**9)))
    assert model.certificate_.bound <= least == C / 2 + Fraction(1, 2)


@pytest.mark.parametrize("alpha", [0.0, 1e-4, 1.0])
def test_huber_far_from_zero(alpha):
    y = RISING + np.array([0.1, -0.2, 0.0, 30.0, 0.1, 0.0])
    model = fitted(fenchel.HuberRegressor(alpha=alpha), OFFSET, y)
    loss = huber(1.35, float(model.scale_))
    problem = Exact.of(OFFSET, y, None, loss, l2=2 * Fraction(alpha), kind="huber")
    assert_true(model.certificate_, problem, point(model), closed=model.converged_)


@pytest.mark.parametrize("C", [1e8, 1e12, 1e16])
def test_a_hinge_that_hardly_a_penalty_holds(C):
    """No θ of floats has Φ*(sθ) = -λw to the digits that |·|²/(2λ) asks for: the bound is moved
    there, as it is without a penalty."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3)) * [1.0, 1e-4, 1e5]
    y = np.where(X[:, 0] + rng.standard_normal(30) > 0.0, 1, 0)
    model = fitted(fenchel.LinearSVC(loss="hinge", C=C), X, y)
    problem = Exact.of(X, signs(y), None, hinge, C, l2=1.0, kind="hinge")
    assert model.converged_
    assert_true(model.certificate_, problem, point(model), closed=True)
    target = X[:, 0] + rng.standard_normal(30)
    model = fitted(fenchel.LinearSVR(C=C, epsilon=0.0), X, target)
    problem = Exact.of(X, target, None, pinball(0.5), 2.0 * C, l2=1.0)
    assert model.converged_ or C > 1e12
    proof, own = model.certificate_, problem.value(*point(model))
    assert proof.bound <= own and abs(own - Fraction(proof.value)) <= Fraction(proof.gap)


@pytest.mark.parametrize("size", [1e-20, 1e-38, 1e-100])
def test_targets_of_any_size_have_the_same_proof(size):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3))
    y = X[:, 0] + rng.standard_normal(30)
    whole = fitted(fenchel.QuantileRegressor(alpha=0.01), X, y).certificate_
    proof = fitted(fenchel.QuantileRegressor(alpha=0.01), X, size * y).certificate_
    assert proof.closed(1e-6) and proof.bound <= proof.value
    assert proof.value / size == pytest.approx(whole.value, rel=1e-6)


# E: columns dependent through rounding alone ------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.0, 1e-12])
@pytest.mark.parametrize("family", ["squares", "logistic", "huber"])
def test_columns_dependent_but_for_rounding(alpha, family):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((4, 3))
    X[:, 2] = X[:, 0] + X[:, 1]  # in exact arithmetic of full rank: with b the fit is exact
    y = rng.standard_normal(4)
    if family == "logistic":
        y = np.array([0, 1, 1, 0])
        model = fenchel.LogisticRegression(C=np.inf if alpha == 0.0 else 1.0 / alpha)
    elif family == "huber":
        model = fenchel.HuberRegressor(alpha=alpha)
    else:
        model = fenchel.LinearRegression() if alpha == 0.0 else fenchel.Ridge(alpha=alpha)
    proof = fitted(model, X, y).certificate_
    # Some point of the full problem lies as near zero as one likes, but for its penalty.
    rows = [[*map(Fraction, row), Fraction(1)] for row in X.tolist()]
    from convex.audit.exact import solve

    exact = solve(rows, [Fraction(v) for v in (signs(y) if family == "logistic" else y)])
    assert exact is not None
    least = alpha * sum(v * v for v in exact[:3])
    assert proof.kind == "estimate" or proof.bound <= max(float(least), 1e-12)
    assert not (model.converged_ and proof.kind == "estimate")


# F: float32 ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["ridge", "squares", "hinge", "huber", "logistic"])
def test_the_value_is_that_of_the_coefficients_as_returned_in_float32(family):
    rng = np.random.default_rng(5)
    X = (rng.standard_normal((9, 2)) + 3.0).astype(np.float32)
    y, s = X.sum(axis=1, dtype=np.float64) + 0.1 * rng.standard_normal(9), rng.uniform(0.1, 2.0, 9)
    codes = np.where(y > np.median(y), 1, 0)
    codes[:2] = 0, 1
    if family == "ridge":
        model = fitted(fenchel.Ridge(alpha=0.5), X, y, s)
        problem = Exact.of(X, y, s, square, l2=1.0, kind="square")
    elif family == "squares":
        model = fitted(fenchel.LinearRegression(), X, y, s)
        problem = Exact.of(X, y, s, square, kind="square")
    elif family == "hinge":
        model = fitted(fenchel.LinearSVC(loss="hinge"), X, codes, s)
        problem = Exact.of(X, signs(codes), s, hinge, l2=1.0, kind="hinge")
    elif family == "huber":
        model = fitted(fenchel.HuberRegressor(alpha=0.5), X, y, s)
        problem = Exact.of(X, y, s, huber(1.35, float(model.scale_)), l2=1.0, kind="huber")
    else:
        model = fitted(fenchel.LogisticRegression(), X, codes, s)
        problem = Exact.of(X, signs(codes), s, log_loss, l2=1.0, kind="logistic")
    own = problem.value(*point(model))
    assert float(own) == pytest.approx(model.certificate_.value, rel=1e-13)
    assert_true(model.certificate_, problem, point(model), closed=model.converged_)


def test_a_separating_plane_in_float32_is_valued_as_it_is_returned():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 2)).astype(np.float32), np.arange(12) % 3
    X[y == 1, 0] = 3.0 + np.arange(4, dtype=np.float32) / 7.0  # class 1 lies beyond all others
    model = fitted(fenchel.ERMClassifier(penalty=None), X, y)
    for k in range(3):
        sign = np.where(y == k, 1.0, -1.0)
        w = [Fraction(float(v)) for v in model.coef_[k]]
        own = Exact.of(X, sign, None, log_loss, Fraction(1, 12), kind="logistic").value(
            w, Fraction(float(model.intercept_[k]))
        )
        assert model.certificates_[k].value == pytest.approx(float(own), rel=1e-13)


# G, H: denormal columns, and convergence without the gap ------------------------------------------


def test_denormal_columns_leave_no_bound_above_the_optimum():
    X, y = np.array([[1e-310], [-3e-310], [2e-310], [1e-310]]), np.array([1.0, -2.0, 2.5, 0.5])
    for model in (fenchel.Ridge(), fenchel.HuberRegressor(), fenchel.LeastAbsoluteDeviations()):
        try:
            proof = fitted(model, X, y).certificate_
        except ValueError:  # the remedy is to scale the column
            continue
        assert proof.bound <= proof.value and np.isfinite(model.coef_).all()


def test_nothing_converges_without_the_gap():
    X, y = [[0.0, 0.0], [0.0, -0.2244]], [1.34, 0.681]
    model = fitted(fenchel.LeastAbsoluteDeviations(fit_intercept=False), X, y)
    assert not model.converged_ or model.certificate_.relative_gap <= model.tol
    assert model.certificate_.bound <= 0.67 <= model.certificate_.value + 1e-15  # |1.34|/2


@pytest.mark.parametrize("wrap", [np.asarray, csr_array])
def test_quantiles_that_do_not_cross_on_a_denormal_column(wrap):
    X = wrap(np.array([[1.0, -1e-310], [0.0, 2e-310], [1.0, 3e-310], [0.0, 0.0], [1.0, 1e-310]]))
    y = np.array([2.0, 5.0, -1.0, 0.0, 2.0])
    free = fenchel.QuantileRegressor(quantile=[0.5, 0.75], alpha=0.0, non_crossing=True)
    with pytest.raises(ValueError, match=r"column 1 reaches only 3e-310.*multiply it by a power"):
        free.fit(X, [-1.0, 2.0, 3.0, 0.0, 1.0])
    for intercept in (True, False):
        model = fenchel.QuantileRegressor(
            quantile=[0.5, 0.75], alpha=0.1, non_crossing=True, fit_intercept=intercept
        ).fit(X, y)
        assert model.converged_ and not model.coef_[:, 1].any()


# The families whose proofs are their own ----------------------------------------------------------


def test_a_rank_of_rows_far_from_zero():
    X, y = OFFSET + np.array([[0.0], [0.3], [-0.1], [0.0], [0.2], [0.0]]), RISING
    for loss in ("hinge", "squared_hinge", "logistic"):
        model = fitted(fenchel.PairwiseRanker(loss=loss, alpha=1e-3), X, y)
        pairs = [(i, j) for i in range(6) for j in range(6) if y[i] > y[j]]
        rows = np.array([X[i] - X[j] for i, j in pairs])  # exact
        of = {"hinge": hinge, "logistic": log_loss}.get(loss, lambda a, z: hinge(a, z) ** 2)
        problem = Exact.of(rows, np.ones(len(pairs)), None, of, Fraction(1, len(pairs)),
                           l2=1e-3, intercept=False, kind=loss)  # fmt: skip
        w, _ = point(model)
        assert_true(model.certificate_, problem, (w, Fraction(0)), closed=model.converged_)


def test_quantiles_that_do_not_cross_far_from_zero():
    y = RISING + np.array([0.3, -0.2, 0.1, 0.0, -0.4, 0.2])
    model = fitted(
        fenchel.QuantileRegressor(quantile=[0.25, 0.75], alpha=0.0, non_crossing=True), OFFSET, y
    )
    own = Fraction(0)
    for w, b, q in zip(model.coef_, model.intercept_, (0.25, 0.75), strict=True):
        share = Fraction(q)
        for x, t in zip(OFFSET[:, 0], y, strict=True):
            r = Fraction(float(t)) - Fraction(float(x)) * Fraction(float(w[0])) - Fraction(float(b))
            own += max(share * r, (share - 1) * r) / 6
    proof = model.certificate_
    assert Fraction(proof.bound) <= own and proof.bound <= proof.value
    assert abs(Fraction(proof.value) - own) <= Fraction(proof.value) - Fraction(proof.bound)


def test_kernel_machines_of_rows_far_from_zero():
    X = np.append(OFFSET, OFFSET[::-1], axis=1)
    y = np.array([0, 0, 1, 0, 1, 1])
    theirs = fitted(svm.SVC(kernel="linear", C=1.0, max_iter=1000), X, y)
    proof = certify(theirs, X, y)
    coef = np.zeros(6)
    coef[theirs.support_] = theirs.dual_coef_[0]
    rows = [[Fraction(v) for v in row] for row in X.tolist()]
    c = [Fraction(v) for v in coef.tolist()]
    w = [sum(a * row[j] for a, row in zip(c, rows, strict=True)) for j in range(2)]
    b = Fraction(float(theirs.intercept_[0]))
    problem = Exact.of(X, signs(y), None, hinge, l2=1.0, kind="hinge")
    assert Fraction(proof.bound) <= problem.value(w, b)
    assert proof.bound <= proof.value
    off = abs(Fraction(proof.value) - problem.value(w, b))
    assert off <= Fraction(proof.value) - Fraction(proof.bound)


def test_a_machine_on_rows_far_from_zero_states_the_value_of_its_coefficients():
    """Σβ is zero but for rounding, of which rows at 10⁴ make scores: they are made again in pairs
    of floats where they hold much of the value."""
    rng = np.random.default_rng(0)
    y = np.arange(12) % 2
    s = 10.0 ** rng.uniform(-6, 6, 12)
    model = fitted(fenchel.SVC(kernel="linear", C=6e6), np.full((12, 2), 1e4), y, s)
    w = Fraction(10**4) * sum(Fraction(v) for v in model.dual_coef_[0].tolist())
    problem = Exact.of(np.full((12, 2), 1e4), signs(y), s, hinge, 6e6, l2=1.0)
    own = problem.value([w, w], Fraction(float(model.intercept_[0])))
    assert model.certificate_.value == pytest.approx(float(own), rel=1e-9)


@pytest.mark.parametrize("seed", [1, 3, 6])
def test_a_heavy_row_leaves_finite_coefficients(seed):
    """Of the Hessian about the rows' mean a weight of 10¹² leaves rounding alone."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_t(2, size=(19, 22)), np.arange(19) == 3
    s = rng.uniform(0.3, 2.0, 19)
    s[15] = 1e12
    model = fenchel.LinearSVC(penalty="l1", loss="hinge", C=0.01, max_iter=1, warm_start=True)
    model = fitted(fitted(model, X, y, s).set_params(C=1e5), X, y, s)
    assert np.isfinite(model.coef_).all() and np.isfinite(model.loss_gap_)
