"""Support vector regression and one class: scikit-learn's answers, homes, and the proof."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from oracles.svm import exact_dual
from scipy import sparse
from sklearn import svm

import fenchel
from fenchel import SVR, NotCertified, OneClassSVM, certify, kernels, minimise
from fenchel.convex.loss.one_class import OneClass
from fenchel.data.design.kernel import GramDesign
from fenchel.solve.decomposition.block_smo import BlockSMO

TIGHT = {"tol": 1e-8}
PAIRS = [(SVR, svm.SVR), (OneClassSVM, svm.OneClassSVM)]


def noisy(n=160, seed=0, d=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(n)


def scores(model, X):
    return model.predict(X) if isinstance(model, SVR) else model.decision_function(X)


def same_machine(ours, theirs, X, close=1e-5):
    size = np.abs(theirs.dual_coef_).max()
    assert np.array_equal(ours.support_, theirs.support_)
    assert np.array_equal(ours.n_support_, theirs.n_support_)
    assert np.allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-3 * size)
    assert np.allclose(ours.intercept_, theirs.intercept_, atol=close)
    assert ours.intercept_.shape == theirs.intercept_.shape
    assert ours.shape_fit_ == theirs.shape_fit_ and ours.fit_status_ == 0


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"kernel": "linear", "C": 0.1},
        {"kernel": "poly", "coef0": 1.0, "degree": 2, "epsilon": 0.5},
        {"gamma": 0.3, "C": 10.0, "epsilon": 0.3},
        {"epsilon": 0.0},
    ],
    ids=str,
)
def test_the_regression_of_scikit_learn(settings):
    X, y = noisy()
    ours, theirs = SVR(**settings, **TIGHT).fit(X, y), svm.SVR(**settings, **TIGHT).fit(X, y)
    same_machine(ours, theirs, X)
    assert np.allclose(ours.predict(X), theirs.predict(X), atol=1e-5)
    if settings.get("kernel") == "linear":
        assert np.allclose(ours.coef_, theirs.coef_, atol=1e-5)
    proof = certify(ours, X, y)
    assert proof.relative_gap <= 1e-6 and ours.certificate_.relative_gap <= 1e-6
    assert proof.value == pytest.approx(ours.certificate_.value, rel=1e-9)


@pytest.mark.parametrize(
    "settings",
    [{}, {"nu": 0.05, "gamma": 0.3}, {"nu": 0.99}, {"kernel": "poly", "coef0": 1.0, "nu": 0.3}],
    ids=str,
)
def test_the_one_class_of_scikit_learn(settings):
    X, _ = noisy()
    ours = OneClassSVM(**settings, **TIGHT).fit(X)
    theirs = svm.OneClassSVM(**settings, **TIGHT).fit(X)
    same_machine(ours, theirs, X, 1e-4)
    assert np.allclose(ours.offset_, theirs.offset_, atol=1e-4)
    assert ours.offset_.shape == theirs.offset_.shape
    assert np.allclose(ours.score_samples(X), theirs.score_samples(X), atol=1e-4)
    far = np.abs(ours.decision_function(X)) > 1e-4
    assert np.array_equal(ours.predict(X)[far], theirs.predict(X)[far])
    assert set(ours.predict(X)) <= {-1, 1}
    proof = certify(ours, X)
    assert proof.relative_gap <= 1e-8
    assert proof.value == pytest.approx(-0.5 * ours.dual_coef_[0] @ ours.score_samples(
        X[ours.support_]), rel=1e-6)  # fmt: skip
    nu = settings.get("nu", 0.5)
    assert (ours.predict(X) < 0).mean() <= nu <= len(ours.support_) / len(X)


def test_all_rows_are_support_vectors_where_nu_is_one():
    """libsvm answers with an infinite offset."""
    X, _ = noisy(40)
    model = OneClassSVM(nu=1.0, gamma=0.5).fit(X)
    assert np.array_equal(model.dual_coef_, np.ones((1, 40))) and np.isfinite(model.offset_)
    assert model.certificate_.relative_gap <= 1e-12


@pytest.mark.parametrize("weighted", [False, True])
def test_one_class_in_exact_fractions(weighted):
    """By Σβ = 0: α = β + νs, whose linear term is -νKs."""
    rng = np.random.default_rng(3)
    X = rng.integers(-3, 4, (5, 2)).astype(float)
    s = np.array([1.0, 2.0, 1.0, 3.0, 1.0]) if weighted else np.ones(5)
    K, nu = X @ X.T + np.eye(5), 0.375
    value, beta = exact_dual(K, -nu * K @ s, -nu * s, (1 - nu) * s)
    expected = -(value + 0.5 * nu**2 * s @ K @ s)
    problem = OneClass(GramDesign(K, np.zeros(5), s), nu)
    found = minimise(problem, BlockSMO(goal=1e-12), tol=1e-11)
    assert found.certificate.value == pytest.approx(expected, rel=1e-10)
    assert found.certificate.bound <= expected * (1 - 1e-13)
    assert np.allclose(found.point[0], beta + nu * s, atol=1e-6)
    attacked = problem.certify((rng.random(5) * 9.0 - 3.0, 0.3))
    assert attacked.bound <= expected <= attacked.value


@pytest.mark.parametrize("ours, theirs", PAIRS)
def test_weights_are_repeated_rows(ours, theirs):
    X, y = noisy()
    s = np.random.default_rng(1).integers(0, 4, 160)
    weighted = ours(gamma=0.5, **TIGHT).fit(X, y, sample_weight=s)
    repeated = ours(gamma=0.5, **TIGHT).fit(np.repeat(X, s, axis=0), np.repeat(y, s))
    value = repeated.certificate_.value
    assert weighted.certificate_.value == pytest.approx(value, rel=1e-8)
    assert np.allclose(scores(weighted, X), scores(repeated, X), atol=1e-6)
    other = theirs(gamma=0.5, **TIGHT).fit(X, y, sample_weight=s)
    assert np.allclose(scores(weighted, X), (
        other.predict(X) if ours is SVR else other.decision_function(X)), atol=1e-5)  # fmt: skip
    assert certify(weighted, X, y, s).value == pytest.approx(value, rel=1e-8)
    one = ours(gamma=0.5, **TIGHT).fit(X, y, sample_weight=1.0)
    assert np.array_equal(scores(one, X), scores(ours(gamma=0.5, **TIGHT).fit(X, y), X))


@pytest.mark.torch
@pytest.mark.parametrize("kind", [SVR, OneClassSVM])
def test_kernels_and_homes_agree(kind, tmp_path):
    torch, da = pytest.importorskip("torch"), pytest.importorskip("dask.array")
    X, y = noisy()
    expected = scores(kind(gamma=0.5).fit(X, y), X)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.assign(y=y).to_parquet(tmp_path / "t.parquet")
    K = kernels.Gaussian(0.5).tile(X, X)
    for kernel, rows, target, close in (
        (kernels.Gaussian(0.5), X, y, 1e-8),
        (0.5 * kernels.Gaussian(0.5) + 0.5 * kernels.Gaussian(0.5), X, y, 1e-8),
        (lambda a, b: kernels.Gaussian(0.5).tile(a, b), X, y, 1e-8),
        ("precomputed", K, y, 1e-8),
        ("rbf", sparse.csr_array(X), y, 1e-8),
        ("rbf", X.astype(np.float32), y, 1e-3),
        ("rbf", frame, y, 1e-8),
        ("rbf", torch.from_numpy(X), torch.from_numpy(y), 1e-8),
        ("rbf", da.from_array(X, chunks=(50, 3)), da.from_array(y, chunks=50), 1e-8),
        ("rbf", fenchel.scan(tmp_path / "t.parquet", target="y"), None, 1e-8),
    ):
        model = kind(kernel=kernel, gamma=0.5).fit(rows, target)
        assert np.allclose(scores(model, rows), expected, atol=close)
        assert certify(model, rows, target).relative_gap <= 0.1 * close


def test_numbers_of_any_size():
    X, y = noisy(100)
    for c in (1e-150, 1e-6, 1e6, 1e150):
        model = SVR(C=10.0 * c, epsilon=0.1 * c, tol=1e-6 * c).fit(X * 16.0, y * c)
        plain = SVR(C=10.0, epsilon=0.1, tol=1e-6).fit(X * 16.0, y)
        assert np.allclose(model.predict(X * 16.0) / c, plain.predict(X * 16.0), atol=1e-5)
        far = OneClassSVM(tol=1e-8).fit(X * c)
        near = OneClassSVM(tol=1e-8).fit(X)
        assert np.allclose(far.decision_function(X * c), near.decision_function(X), atol=1e-5)


def test_many_rows_in_blocks():
    """More rows than a block, a store that forgets, rows in float32."""
    X, y = noisy(2500, 5, 4)
    model = SVR(gamma=0.2, cache_size=1.0).fit(X, y)
    other = svm.SVR(gamma=0.2, tol=1e-6).fit(X, y)
    assert model.certificate_.residual <= 1e-3
    assert np.abs(model.predict(X) - other.predict(X)).max() <= 5e-3
    one = OneClassSVM(gamma=0.2, nu=0.2, cache_size=1.0).fit(X)
    two = svm.OneClassSVM(gamma=0.2, nu=0.2, tol=1e-6).fit(X)
    assert (one.predict(X) < 0).mean() <= 0.2
    assert one.certificate_.residual <= 1e-3 and one.certificate_.relative_gap <= 1e-5
    assert np.abs(one.score_samples(X) - two.score_samples(X)).max() <= 5e-3
    assert certify(one, X).bound <= one.certificate_.value


def test_a_wide_tube_needs_no_support_vector():
    X, y = noisy(50)
    model = SVR(epsilon=100.0).fit(X, y)
    assert len(model.support_) == 0 and model.dual_coef_.shape == (1, 0)
    assert np.array_equal(model.predict(X), np.repeat(model.intercept_, 50))
    assert certify(model, X, y).gap == 0.0


@pytest.mark.parametrize("kind", [SVR, OneClassSVM])
def test_what_is_refused(kind):
    X, y = noisy(40)
    for settings, words in (
        ({"kernel": "precomputed"}, "square"),
        ({"gamma": -1.0}, "gamma"),
        ({"nu": 0.0} if kind is OneClassSVM else {"C": np.inf}, "nu|'C'"),
        ({"kernel": "strange"}, "kernel"),
    ):
        with pytest.raises(ValueError, match=words):
            kind(**settings).fit(X, y)
    with pytest.raises(ValueError, match="pass the rows it was fitted on"):
        certify(kind().fit(X, y), X[::-1], y[::-1])
    with pytest.warns(NotCertified, match="max_iter|residual|gap"):
        kind(max_iter=2).fit(X, y)
    with pytest.warns(UserWarning, match="smallest eigenvalue"):
        model = kind(kernel="sigmoid", gamma=1.0, coef0=-1.0).fit(X, y)
    assert model.certificate_.kind == "stationary" and model.certificate_.bound == -np.inf
    if kind is SVR:
        with pytest.raises(ValueError, match="requires y"):
            kind().fit(X)
