"""Certificates of support vector machines: kernels of any kind, and the hinge's kink."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn import svm
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from fenchel import LinearSVC, certify
from fenchel.models.certificates import kernel_svm as support

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


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_the_hinge_of_a_linear_machine(scale):
    """Raw columns between 1e-3 and 1e3: the bound closes on liblinear's own value."""
    X = scale * load_breast_cancer().data
    model = svm.LinearSVC(loss="hinge", C=1e-4, random_state=0, tol=1e-10, max_iter=10**6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # liblinear does not get there on raw columns, and says so
        model.fit(X, MALIGN)
    proof = certify(model, X, MALIGN)
    w, b = model.coef_.ravel(), float(model.intercept_[0])
    y = np.where(MALIGN == 1, 1.0, -1.0)
    value = 1e-4 * np.maximum(0.0, 1.0 - y * (X @ w + b)).sum() + (w @ w + b * b) / 2
    assert proof.value == pytest.approx(value, rel=1e-9)
    assert 0.0 < proof.bound <= proof.value
    ours = LinearSVC(loss="hinge", C=1e-4, intercept_scaling=1.0).fit(X, MALIGN)
    assert proof.bound <= ours.certificate_.value * (1 + 1e-12)
    assert proof.gap <= 1.2 * (proof.value - ours.certificate_.bound)


def test_a_class_that_libsvm_left_out_is_refused():
    X, y = np.arange(6.0)[:, None], np.array([0, 0, 1, 1, 2, 2])
    s = np.array([1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = svm.SVC(kernel="linear").fit(X, y, s)
    with pytest.raises(ValueError, match="left out a class without weight"):
        certify(model, X, y, s)
