"""Support vector machines on landmarks: the linear machine of the features, and two proofs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import fenchel
from fenchel import SVC, SVR, LinearSVC, LinearSVR, Nystroem, OneClassSVM, certify, kernels


def noisy(n=300, seed=0, d=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.sin(2.0 * X[:, 0]) + 0.3 * rng.standard_normal(n), rng.integers(0, 3, n) * 1.0


KERNEL = kernels.Gaussian(0.4)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_linear_machine_of_the_features(weighted):
    X, z, s = noisy()
    y, s = z > 0.0, s if weighted else None
    map = Nystroem(KERNEL, n_components=40).fit(X)
    some = map.component_indices_
    if weighted:
        some = some[s[some] > 0.0]
        map = Nystroem(KERNEL, n_components=len(some)).fit(X[some])
    phi = map.transform(X)
    ours = SVC(kernel=KERNEL, C=2.0, landmarks=some, tol=1e-7).fit(X, y, s)
    linear = LinearSVC(loss="hinge", C=2.0, tol=1e-7).fit(phi, y, s)
    assert np.allclose(ours.decision_function(X), linear.decision_function(phi), atol=2e-3)
    assert ours.certificate_.value == pytest.approx(linear.certificate_.value, rel=1e-6)
    assert set(ours.support_) <= set(some) and ours.converged_
    ours = SVR(kernel=KERNEL, C=2.0, landmarks=some, tol=1e-7).fit(X, z, s)
    line = LinearSVR(epsilon=0.1, C=2.0, tol=1e-7).fit(phi, z, s)
    assert np.allclose(ours.predict(X), line.predict(phi), atol=2e-3)
    assert ours.certificate_.value == pytest.approx(line.certificate_.value, rel=1e-6)


def test_the_cost_of_landmarks_is_bounded():
    X, z, s = noisy()
    for model, y in ((SVC(kernel=KERNEL), z > 0.0), (SVR(kernel=KERNEL), z)):
        best = model.set_params(tol=1e-5, landmarks=None).fit(X, y, s).certificate_
        gaps = []
        for m in (40, 100):
            model.set_params(tol=1e-5, landmarks=m).fit(X, y, s)
            full, again = model.full_certificate_, certify(model, X, y, s)
            for proof in (full, again):
                assert proof.bound <= best.value and proof.value >= best.bound
            assert again.value == pytest.approx(full.value, rel=1e-9)
            assert full.value == pytest.approx(model.certificate_.value, rel=1e-9)
            gaps.append(full.relative_gap)
        assert gaps[1] < gaps[0] < 0.5
        model.set_params(landmarks=10).fit(X, y, s)
        assert "full_certificate_" not in vars(model)


@pytest.mark.parametrize("against", ["ovo", "ovr"])
def test_several_classes(against, tmp_path):
    X, z, s = noisy()
    y = np.digitize(z, [-0.5, 0.5])
    every = np.flatnonzero(s)
    whole = SVC(kernel=KERNEL, multi_class=against, tol=1e-5).fit(X, y, s)
    same = SVC(kernel=KERNEL, multi_class=against, tol=1e-7, landmarks=every).fit(X, y, s)
    assert same.certificate_.value == pytest.approx(whole.certificate_.value, rel=1e-4)
    assert np.allclose(same.decision_function(X), whole.decision_function(X), atol=0.05)
    assert same.full_certificate_.relative_gap < 1e-4
    few = SVC(kernel=KERNEL, multi_class=against, landmarks=60).fit(X, y, s)
    assert (few.predict(X) == whole.predict(X)).mean() > 0.9
    proof = certify(few, X, y, s)
    assert proof.bound <= whole.certificate_.value
    fenchel.save(few, tmp_path / "few.fen")
    again = fenchel.load(tmp_path / "few.fen")
    assert np.array_equal(again.decision_function(X), few.decision_function(X))


def test_one_class():
    X, _, s = noisy()
    best = OneClassSVM(kernel=KERNEL, nu=0.2, tol=1e-6).fit(X, sample_weight=s)
    model = OneClassSVM(kernel=KERNEL, nu=0.2, tol=1e-6, landmarks=np.flatnonzero(s))
    same = model.fit(X, sample_weight=s)
    assert same.certificate_.value == pytest.approx(best.certificate_.value, rel=1e-4)
    assert np.allclose(same.decision_function(X), best.decision_function(X), atol=1e-3)
    gaps = []
    for m in (40, 100):
        few = OneClassSVM(kernel=KERNEL, nu=0.2, tol=1e-6, landmarks=m).fit(X, sample_weight=s)
        full, again = few.full_certificate_, certify(few, X, sample_weight=s)
        assert full.bound <= best.certificate_.value and full.value >= best.certificate_.bound
        assert again.value == pytest.approx(full.value, rel=1e-9)
        assert again.bound == pytest.approx(full.bound, rel=1e-9)
        assert full.value == pytest.approx(few.certificate_.value, rel=1e-6)
        gaps.append(full.relative_gap)
    assert gaps[1] < gaps[0]
    assert (few.predict(X) == best.predict(X)).mean() > 0.9


def test_matrices_sparse_rows_and_strings():
    X, z, _ = noisy(120)
    y, some = z > 0.0, np.arange(0, 120, 4)
    plain = SVC(kernel=KERNEL, landmarks=some, tol=1e-6).fit(X, y)
    K = KERNEL.tile(X, X)
    given = SVC(kernel="precomputed", landmarks=some, tol=1e-6).fit(K, y)
    at = plain.decision_function(X)
    assert np.allclose(given.decision_function(K), at, atol=1e-3)
    sparse = SVC(kernel=KERNEL, landmarks=some, tol=1e-6).fit(csr_array(X), y)
    assert np.allclose(sparse.decision_function(csr_array(X)), at, atol=1e-3)
    words = ["".join(row) for row in np.random.default_rng(0).choice(list("ACG"), (80, 8))]
    labels = np.array([word.count("A") > 2 for word in words])
    model = SVC(kernel=kernels.Spectrum(2), landmarks=80).fit(words, labels)
    assert len(model.support_) <= 9 and (model.predict(words) == labels).mean() > 0.7


def test_bad_input():
    X, z, _ = noisy(40)
    y = z > 0.0
    with pytest.raises(ValueError, match="C=inf is not fitted on landmarks"):
        SVC(C=np.inf, landmarks=5).fit(X, y)
    with pytest.raises(ValueError, match="probability=True is not fitted on landmarks"):
        SVC(probability=True, landmarks=5).fit(X, y)
    with pytest.raises(ValueError, match="not positive semi-definite"):
        SVC(kernel="sigmoid", landmarks=5).fit(X, y)
    classes = np.digitize(z, [-0.5, 0.5])
    only = np.flatnonzero(classes == 0)[:2]
    with pytest.raises(ValueError, match="none of the landmarks is a row of these two classes"):
        SVC(landmarks=only).fit(X, classes)
