"""Certificates of support vector machines: kernels of any kind, and the hinge's kink."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn import svm
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from fenchel import certify
from fenchel.models import support
from fenchel.solve.interior import box_dual

CANCER, MALIGN = load_breast_cancer(return_X_y=True)
CANCER = StandardScaler().fit_transform(CANCER)


def test_kernels_of_any_kind():
    K = CANCER @ CANCER.T
    by_name = svm.SVC(kernel="linear", C=0.1, tol=1e-8).fit(CANCER, MALIGN)
    made = svm.SVC(kernel="precomputed", C=0.1, tol=1e-8).fit(K, MALIGN)
    called = svm.SVC(kernel=lambda a, b: a @ b.T, C=0.1, tol=1e-8).fit(CANCER, MALIGN)
    sparse = svm.SVC(kernel="linear", C=0.1, tol=1e-8).fit(csr_array(CANCER), MALIGN)
    expected = certify(by_name, CANCER, MALIGN)
    for model, X in ((made, K), (called, CANCER), (sparse, csr_array(CANCER))):
        proof = certify(model, X, MALIGN)
        assert proof.value == pytest.approx(expected.value, rel=1e-6)
        assert proof.relative_gap <= 1e-5


def test_kernels_that_are_refused(monkeypatch):
    indefinite = svm.SVC(kernel="sigmoid").fit(CANCER, MALIGN)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        certify(indefinite, CANCER, MALIGN)
    K = CANCER @ CANCER.T
    K[0, 1] += 1.0
    lopsided = svm.SVC(kernel="precomputed").fit(K, MALIGN)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        certify(lopsided, K, MALIGN)
    model = svm.SVC().fit(CANCER, MALIGN)
    with pytest.raises(ValueError, match="fitted on 569 rows and X has 568"):
        certify(model, CANCER[1:], MALIGN[1:])
    with pytest.raises(ValueError, match="support vectors of this SVC are not the rows"):
        certify(model, CANCER[::-1], MALIGN[::-1])
    monkeypatch.setattr(support, "free_memory", lambda: 1e4)
    with pytest.raises(MemoryError, match=r"needs 0\.0 GiB and 0\.0 GiB are free"):
        certify(model, CANCER, MALIGN)


def test_a_hinge_too_wide_to_solve(monkeypatch):
    """Then the gradient is the dual point: loose, and still true."""
    model = svm.LinearSVC(loss="hinge", C=0.1, random_state=0).fit(CANCER, MALIGN)
    sharp = certify(model, CANCER, MALIGN)
    monkeypatch.setattr(support, "WIDEST", 10)
    loose = certify(model, CANCER, MALIGN)
    assert loose.value == sharp.value and loose.bound <= sharp.bound


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e4])
def test_the_interior_point_method(scale):
    """Feasible, and within its own duality gap of the optimum that scipy finds."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(60, 4)) + 0.5
    c = scale * rng.random(60) + 1e-9
    a = box_dual(A, c)
    assert (a >= 0.0).all() and (a <= c).all()
    w = A.T @ a
    dual, primal = a.sum() - w @ w / 2, w @ w / 2 + c @ np.maximum(0.0, 1.0 - A @ w)
    assert dual <= primal <= dual + 1e-6 * primal
    np.testing.assert_allclose(box_dual(csr_array(A), c), a, rtol=1e-3, atol=1e-6 * scale)

    def fall(x):
        v = A.T @ x
        return v @ v / 2 - x.sum(), A @ v - 1.0

    bounds = list(zip(np.zeros(60), c, strict=True))
    found = minimize(fall, 0.5 * c, jac=True, bounds=bounds, method="L-BFGS-B")
    assert dual >= -found.fun - 1e-8 * abs(found.fun)


def test_columns_of_any_scale():
    """Raw columns between 1e-3 and 1e3: the dual closes on the primal of an earlier step."""
    X = np.c_[load_breast_cancer().data, np.ones(len(MALIGN))]
    A = X * np.where(MALIGN == 1, 1.0, -1.0)[:, None]
    early, a = box_dual(A, np.ones(len(A)), tol=1e-6), box_dual(A, np.ones(len(A)))
    w, v = A.T @ early, A.T @ a
    primal = w @ w / 2 + np.maximum(0.0, 1.0 - A @ w).sum()
    dual = a.sum() - v @ v / 2
    assert dual <= primal <= dual * (1.0 + 1e-6)
