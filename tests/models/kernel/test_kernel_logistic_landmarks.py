"""Kernel logistic regression on landmarks: the linear model of the features, and two proofs."""

from __future__ import annotations

import numpy as np
import pytest

import fenchel
from fenchel import (
    ERMClassifier,
    ERMRegressor,
    KernelLogisticRegression,
    LogisticRegression,
    Nystroem,
    certify,
    kernels,
)

KERNEL = kernels.Gaussian(0.4)


def noisy(K=2, n=300):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    z = np.sin(2.0 * X[:, 0]) + 0.3 * rng.standard_normal(n)
    y = np.digitize(z, [0.0] if K == 2 else [-0.5, 0.5])
    return X, y, rng.integers(0, 3, n) * 1.0


@pytest.mark.parametrize("K", [2, 3])
def test_the_linear_model_of_the_features(K, tmp_path):
    X, y, _ = noisy(K)
    map = Nystroem(KERNEL, n_components=40).fit(X)
    some, phi = map.component_indices_, map.transform(X)
    ours = KernelLogisticRegression(C=2.0, kernel=KERNEL, landmarks=some, tol=1e-8).fit(X, y)
    linear = LogisticRegression(C=2.0, tol=1e-8).fit(phi, y)
    assert np.allclose(ours.predict_proba(X), linear.predict_proba(phi), atol=1e-4)
    assert ours.certificate_.value == pytest.approx(linear.certificate_.value, rel=1e-7)
    assert ours.converged_ and set(ours.landmarks_) == set(some)
    fenchel.save(ours, tmp_path / "model.fen")
    again = fenchel.load(tmp_path / "model.fen")
    assert np.array_equal(again.predict_proba(X), ours.predict_proba(X))


@pytest.mark.parametrize("K", [2, 3])
def test_the_cost_of_landmarks_is_bounded(K):
    X, y, s = noisy(K)
    best = KernelLogisticRegression(kernel=KERNEL).fit(X, y, s).certificate_
    gaps = []
    for landmarks in (40, 100, np.flatnonzero(s)):
        few = KernelLogisticRegression(kernel=KERNEL, landmarks=landmarks).fit(X, y, s)
        full, again = few.full_certificate_, certify(few, X, y, s)
        for proof in (full, again):
            assert proof.bound <= best.value and proof.value >= best.bound
        assert again.value == pytest.approx(full.value, rel=1e-9)
        assert full.value == pytest.approx(few.certificate_.value, rel=1e-7)
        gaps.append(full.relative_gap)
    assert gaps[2] < gaps[1] < gaps[0] and gaps[2] < 1e-5
    assert "among all functions of the kernel" in few.storage_
    few.set_params(landmarks=10).fit(X, y, s)
    assert "full_certificate_" not in vars(few)
    few.set_params(landmarks=None).fit(X, y, s)
    assert "landmarks_" not in vars(few) and few.certificate_.closed(1e-6)


def test_matrices_and_strings():
    X, y, _ = noisy()
    some = np.arange(0, 300, 6)
    at = KernelLogisticRegression(kernel=KERNEL, landmarks=some).fit(X, y).predict_proba(X[:9])
    K = KERNEL.tile(X, X)
    given = KernelLogisticRegression(kernel="precomputed", landmarks=some).fit(K, y)
    assert np.allclose(given.predict_proba(K[:9]), at, atol=1e-4)
    words = ["".join(row) for row in np.random.default_rng(0).choice(list("ACG"), (80, 8))]
    labels = np.array([word.count("A") > 2 for word in words])
    model = KernelLogisticRegression(kernel=kernels.Spectrum(2), landmarks=80).fit(words, labels)
    assert len(model.landmarks_) <= 9 and model.score(words, labels) > 0.7


def test_any_loss(tmp_path):
    X, y, s = noisy()
    z = np.sin(2.0 * X[:, 0])
    every = np.flatnonzero(s)
    models = [
        (ERMClassifier("hinge", kernel=KERNEL), y),
        (ERMClassifier("squared_hinge", kernel=KERNEL), noisy(3)[1]),
        (ERMRegressor("huber", kernel=KERNEL), z),
        (ERMRegressor("absolute", kernel=KERNEL, lam=0.01), z),
    ]
    for model, target in models:
        best = model.set_params(landmarks=None).fit(X, target, s).certificate_
        same = model.set_params(landmarks=every, tol=1e-8).fit(X, target, s)
        assert same.certificate_.value == pytest.approx(best.value, rel=1e-5)
        few = model.set_params(landmarks=60, tol=1e-6).fit(X, target, s)
        for proof in (few.full_certificate_, certify(few, X, target, s)):
            assert proof.bound <= best.value and proof.value >= best.bound
        fenchel.save(few, tmp_path / "model.fen")
        assert np.array_equal(fenchel.load(tmp_path / "model.fen").predict(X), few.predict(X))
    with pytest.raises(ValueError, match="give kernel"):
        ERMRegressor(landmarks=5).fit(X, z)
