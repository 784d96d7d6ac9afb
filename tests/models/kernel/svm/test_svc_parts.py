"""The hard margin and its proof, probabilities, and warm starts of support vector machines."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn import svm
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_predict

import fenchel
from fenchel import SVC, NotSeparable, certify, kernels
from fenchel.models.kernel.svm.machines import machines_of
from fenchel.models.kernel.svm.probabilities import (
    class_probabilities,
    coupled,
    fit_curve,
    folds_of,
)

IRIS, KINDS = load_iris(return_X_y=True)


def test_the_margin_of_four_points():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0], [1.0, 5.0]])
    model = SVC(C=np.inf, kernel="linear").fit(X, [0, 0, 1, 1])
    assert model.margins_ == pytest.approx([1.5], rel=1e-9)
    assert np.allclose(model.coef_, [[0.0, 2 / 3]], atol=1e-9)
    assert model.intercept_ == pytest.approx([-1.0])
    assert model.certificate_.value == pytest.approx(2 / 9)
    assert model.certificate_.relative_gap <= 1e-8 and model.converged_


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("kernel", ["rbf", "poly", kernels.Laplacian(0.5), "precomputed"])
def test_the_limit_of_large_C(kernel, multi_class):
    X = kernels.Gaussian(0.5).tile(IRIS, IRIS) if kernel == "precomputed" else IRIS
    settings = {"kernel": kernel, "gamma": 0.5, "coef0": 1.0, "multi_class": multi_class}
    hard = SVC(C=np.inf, **settings).fit(X, KINDS)
    assert (hard.margins_ > 0.0).all() and hard.score(X, KINDS) == 1.0
    assert hard.certificate_.relative_gap <= 1e-6 and hard.certificate_.residual <= 1e-6
    assert certify(hard, X, KINDS).value == pytest.approx(hard.certificate_.value, rel=1e-9)
    soft = SVC(C=1e12, tol=1e-7, **settings).fit(X, KINDS)
    assert np.allclose(hard.dual_coef_[:, 0], 0.0) or len(hard.support_) == len(soft.support_)
    size = np.abs(soft.decision_function(X)).max()
    assert np.allclose(hard.decision_function(X), soft.decision_function(X), atol=1e-4 * size)
    assert hard.margins_ == pytest.approx(1 / np.sqrt(2 * np.array([
        one.value for one in hard.certificates_])))  # fmt: skip


@pytest.mark.parametrize("c", [1e-70, 1e-3, 1e70])
def test_a_margin_of_any_size(c):
    X, y = IRIS[:100] - IRIS[:100].mean(axis=0), KINDS[:100]
    plain = SVC(C=np.inf, kernel="linear").fit(X, y)
    model = SVC(C=np.inf, kernel="linear").fit(X * c, y)
    assert model.margins_ / c == pytest.approx(plain.margins_, rel=1e-9)
    assert model.certificate_.relative_gap <= 1e-8


def test_far_from_zero_the_bound_pays_for_rounding():
    model = SVC(C=np.inf, kernel="linear").fit(IRIS[:100] + 1e5, KINDS[:100])
    plain = SVC(C=np.inf, kernel="linear").fit(IRIS[:100], KINDS[:100])
    proof = model.certificate_
    assert proof.bound <= plain.certificate_.value and proof.value >= plain.certificate_.bound


def test_a_point_common_to_both_hulls():
    X, y = IRIS, np.where(KINDS == 1, "b", "c")
    keep = KINDS > 0
    with pytest.warns(NotSeparable, match="separates 'c' and 'b'|separates 'b' and 'c'"):
        model = SVC(C=np.inf, kernel="linear").fit(X[keep], y[keep])
    proof = model.proofs_[0]
    sides = np.where(y[keep] == "c", 1.0, -1.0)[proof.rows] * proof.coefficients
    assert proof.exact and abs(sides.sum()) <= 1e-12 and (proof.coefficients > 0.0).all()
    assert np.abs(sides @ X[keep][proof.rows]).max() <= 1e-12 * np.abs(X).max()
    assert model.margins_ == 0.0 and not model.converged_ and model.fit_status_ == 1
    assert model.certificate_.value == np.inf and model.certificate_.bound > 1e20
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.filterwarnings("ignore::fenchel.NotSeparable")
def test_equal_rows_of_both_classes_in_any_kernel():
    X = np.array([[0.0], [1.0], [2.0], [1.0]])
    for kernel in ("rbf", "linear", kernels.Laplacian(1.0)):
        model = SVC(C=np.inf, kernel=kernel, gamma=1.0).fit(X, [0, 0, 1, 1])
        assert model.margins_ == 0.0 and not model.converged_
    ignored = SVC(C=np.inf, kernel="linear").fit(X, [0, 0, 1, 1], sample_weight=[1, 1, 1, 0])
    assert ignored.margins_ == pytest.approx([0.5])


def test_a_hard_margin_asks_for_a_convex_problem():
    with (
        pytest.warns(UserWarning, match="not positive"),
        pytest.raises(ValueError, match="C=inf needs a positive semi-definite kernel"),
    ):
        SVC(C=np.inf, kernel="sigmoid", gamma=1.0, coef0=-1.0).fit(IRIS, KINDS)


def test_the_curve_is_that_of_a_plain_minimiser():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(80) < 0.3, 1.0, -1.0)
    scores, s = 3.0 * (y + rng.standard_normal(80)), rng.integers(0, 3, 80).astype(float)
    ups, downs = s[y > 0].sum(), s[y < 0].sum()
    t = np.where(y > 0, (ups + 1) / (ups + 2), 1 / (downs + 2))

    def likelihood(ab):
        m = ab[0] * scores + ab[1]
        return s @ (t * np.logaddexp(0, m) + (1 - t) * np.logaddexp(0, -m))

    found = minimize(likelihood, [0.0, 0.0], tol=1e-12).x
    assert fit_curve(scores, y, s) == pytest.approx(tuple(found), abs=1e-4)
    far = np.array(fit_curve(1e100 * scores, y, s)) * [1e100, 1.0]
    assert far == pytest.approx(np.array(fit_curve(scores, y, s)), rel=1e-6)


def test_pairs_are_coupled_by_least_squares():
    rng = np.random.default_rng(1)
    machines, r = machines_of(4, "ovo"), rng.random((20, 6))
    P = coupled(machines, r, 4)
    assert np.allclose(P.sum(axis=1), 1.0) and (P >= 0.0).all()

    def misfit(p, row):
        return sum((row[q] * p[m.rest] - (1 - row[q]) * p[m.positive]) ** 2
                   for q, m in enumerate(machines))  # fmt: skip

    for p, row in zip(P, r, strict=True):
        for _ in range(50):
            other = np.maximum(p + 0.01 * rng.standard_normal(4), 0.0)
            assert misfit(p, row) <= misfit(other / other.sum(), row) + 1e-12
    truth = rng.dirichlet(np.ones(4), 20)
    told = np.column_stack([truth[:, m.positive] / (truth[:, m.positive] + truth[:, m.rest])
                            for m in machines])  # fmt: skip
    assert np.allclose(class_probabilities(machines, told, 4), truth, atol=1e-5)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_probabilities_of_left_out_rows(multi_class):
    model = SVC(probability=True, gamma=0.2, multi_class=multi_class).fit(IRIS, KINDS)
    P = model.predict_proba(IRIS)
    assert P.shape == (150, 3) and np.allclose(P.sum(axis=1), 1.0)
    assert np.array_equal(np.log(P), model.predict_log_proba(IRIS))
    assert (P.argmax(axis=1) == KINDS).mean() >= 0.95
    again = SVC(probability=True, gamma=0.2, multi_class=multi_class, random_state=7)
    assert np.array_equal(P, again.fit(IRIS, KINDS).predict_proba(IRIS))
    other = svm.SVC(gamma=0.2)
    if multi_class == "ovo":  # scikit-learn's machines, left out by the same folds
        two = KINDS < 2
        y = np.where(KINDS[two] == 1, 1.0, -1.0)
        fold = folds_of(IRIS[two], y, np.ones(100))
        parts = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(5)]
        scores = cross_val_predict(other, IRIS[two], y, cv=parts, method="decision_function")
        binary = SVC(probability=True, gamma=0.2).fit(IRIS[two], KINDS[two])
        A, B = fit_curve(scores, y, np.ones(100))
        assert (binary.probA_[0], binary.probB_[0]) == pytest.approx((A, B), rel=0.01, abs=0.01)
        P = binary.predict_proba(IRIS)
        z = binary.decision_function(IRIS)
        assert np.allclose(P[:, 1], 1 / (1 + np.exp(binary.probA_ * z + binary.probB_)))


def test_probabilities_where_they_are_not_to_be_had():
    with pytest.raises(AttributeError, match="predict_proba"):
        SVC().fit(IRIS, KINDS).predict_proba(IRIS)
    with pytest.warns(UserWarning, match="a single distinct row"):
        lone = SVC(probability=True).fit(IRIS[[0, 1, 2, 60]], [0, 0, 0, 1])
    assert lone.predict_proba(IRIS[[60]])[0, 1] > lone.predict_proba(IRIS[[0]])[0, 1]
    hard = SVC(C=np.inf, probability=True, gamma=0.5).fit(IRIS, KINDS)
    assert (hard.predict_proba(IRIS).argmax(axis=1) == KINDS).mean() >= 0.95


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_a_warm_start_goes_on(multi_class):
    settings, warm = {"gamma": 0.5, "multi_class": multi_class}, 0
    for seed in range(3):  # of one machine alone rounding decides which takes fewer steps
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((400, 3))
        y = np.digitize(X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(400), [-0.5, 0.5])
        model = SVC(warm_start=True, **settings).fit(X, y)
        model.fit(X, y)
        assert model.n_iter_.sum() == 0
        model.set_params(C=1.2).fit(X, y)
        cold = SVC(C=1.2, **settings).fit(X, y)
        warm += int(model.n_iter_.sum() - cold.n_iter_.sum())
        assert np.abs(model.decision_function(X) - cold.decision_function(X)).max() < 1e-2
        assert model.certificate_.residual <= 1e-3
    assert warm < 0
    model.fit(X[:300], y[:300] > 0)  # other rows, other classes: it begins anew
    assert model.score(X[:300], y[:300] > 0) > 0.7


def test_folds_do_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 6, (60, 2)).astype(float), np.where(rng.random(60) < 0.5, 1.0, -1.0)
    order, s = rng.permutation(60), np.ones(60)
    assert np.array_equal(folds_of(X, y, s)[order], folds_of(X[order], y[order], s))
    table = sparse.csr_array(X)
    assert np.array_equal(folds_of(table, y, s)[order], folds_of(table[order], y[order], s))
    for kind in (X, table):
        model = SVC(probability=True, gamma=0.5).fit(kind, y)
        shuffled = SVC(probability=True, gamma=0.5).fit(kind[order], y[order])
        assert np.allclose(model.predict_proba(kind), shuffled.predict_proba(kind), atol=1e-6)


def test_a_model_file_keeps_the_proof(tmp_path):
    model = SVC(C=np.inf, gamma=0.5, probability=True).fit(IRIS, KINDS)
    fenchel.save(model, tmp_path / "m.fen")
    loaded = fenchel.load(tmp_path / "m.fen")
    assert np.array_equal(loaded.predict_proba(IRIS), model.predict_proba(IRIS))
    assert np.array_equal(loaded.proofs_[2].rows, model.proofs_[2].rows)
    assert np.array_equal(loaded.margins_, model.margins_)


def test_an_earlier_fit_leaves_nothing():
    model = SVC(C=np.inf, gamma=0.5).fit(IRIS, KINDS)
    model.set_params(C=1.0).fit(IRIS, KINDS)
    assert "proofs_" not in vars(model) and certify(model, IRIS, KINDS).relative_gap < 1e-3
