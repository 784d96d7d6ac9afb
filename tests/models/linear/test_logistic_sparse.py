"""Logistic regression with an L1 part in its penalty, against scikit-learn and its own proofs."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression as Peer
from sklearn.linear_model import LogisticRegressionCV as PeerCV

from fenchel import LogisticRegression, LogisticRegressionCV


def table(n=400, d=6, classes=2, seed=0):
    return make_classification(
        n, d, n_informative=d - 1, n_redundant=1, n_classes=classes, random_state=seed, flip_y=0.1
    )


def sparse_objective(model, X, y, C, ratio, s=None):
    """C Σ s l + ρ|w|₁ + (1 - ρ)|w|²/2, as scikit-learn writes it."""
    z = X @ model.coef_.T + model.intercept_
    if len(model.classes_) == 2:
        loss = np.logaddexp(0.0, -(2 * y - 1) * z[:, 0])
    else:
        loss = np.logaddexp.reduce(z, axis=1) - z[np.arange(len(y)), y]
    w = model.coef_
    return C * np.average(loss, weights=s) * (len(y) if s is None else s.sum()) + (
        ratio * np.abs(w).sum() + (1 - ratio) / 2 * (w**2).sum()
    )


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("ratio", [1.0, 0.4])
@pytest.mark.parametrize("C", [0.02, 1.0])
def test_l1_agrees_with_sklearn(C, ratio, intercept, classes) -> None:
    X, y = table(200, classes=classes)
    s = np.random.default_rng(1).uniform(0.2, 2.0, len(y))
    ours = LogisticRegression(C=C, l1_ratio=ratio, fit_intercept=intercept).fit(X, y, s)
    peer = Peer(
        C=C, l1_ratio=ratio, fit_intercept=intercept, solver="saga", tol=1e-9, max_iter=100_000
    ).fit(X, y, s)
    best = sparse_objective(peer, X, y, C, ratio, s)
    proof = ours.certificate_
    assert ours.converged_ and proof.relative_gap <= 1e-6 and proof.kind == "duality"
    assert proof.value == pytest.approx(sparse_objective(ours, X, y, C, ratio, s), rel=1e-9)
    assert proof.bound <= best * (1 + 1e-9) and proof.value <= best * (1 + 1e-6)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=5e-3)


def test_a_named_penalty_decides() -> None:
    X, y = table(150)
    X = X[:, :4]
    one = LogisticRegression(C=0.05, l1_ratio=1.0).fit(X, y)
    assert (one.coef_ == 0.0).any()
    for same in (
        LogisticRegression("l1", C=0.05),
        LogisticRegression("l1", C=0.05, solver="liblinear"),
        LogisticRegression("elasticnet", C=0.05, l1_ratio=1.0, solver="saga"),
    ):
        np.testing.assert_array_equal(same.fit(X, y).coef_, one.coef_)
    plain = LogisticRegression(C=0.05).fit(X, y)
    with pytest.warns(UserWarning, match="only used when penalty is 'elasticnet'"):
        other = LogisticRegression("l2", C=0.05, l1_ratio=0.5).fit(X, y)
    np.testing.assert_array_equal(plain.coef_, other.coef_)
    free = LogisticRegression(C=np.inf, l1_ratio=1.0).fit(X, y)
    np.testing.assert_array_equal(free.coef_, LogisticRegression(C=np.inf).fit(X, y).coef_)


def test_l1_weights_are_repeats_and_float32_is_certified() -> None:
    X, y = table(120)
    s = np.random.default_rng(2).integers(0, 4, len(y))
    model = LogisticRegression(C=0.1, l1_ratio=1.0, tol=1e-10)
    weighted = model.fit(X, y, sample_weight=s).certificate_
    repeated = model.fit(np.repeat(X, s, axis=0), np.repeat(y, s)).certificate_
    assert weighted.value == pytest.approx(repeated.value, rel=1e-9)
    single = LogisticRegression(C=0.1, l1_ratio=1.0).fit(X.astype(np.float32), y)
    assert single.coef_.dtype == np.float32 and single.converged_
    wide = LogisticRegression(C=0.1, l1_ratio=1.0).fit(csr_array(X), y)
    assert wide.certificate_.value == pytest.approx(single.certificate_.value, rel=1e-5)


@pytest.mark.parametrize("classes", [2, 3])
def test_cross_validation_over_ratios_agrees_with_sklearn(classes) -> None:
    X, y = table(150, 4, classes=classes)
    given = {"Cs": [0.05, 0.5], "l1_ratios": [0.0, 0.5, 1.0], "cv": 3, "scoring": "neg_log_loss"}
    ours = LogisticRegressionCV(**given, tol=1e-8).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = PeerCV(
            **given,
            solver="saga",
            tol=1e-8,
            max_iter=50_000,
            use_legacy_attributes=False,
            random_state=0,  # unseeded, saga now and then stops at zero
        ).fit(X, y)
    assert ours.scores_.shape == peer.scores_.shape == ours.gaps_.shape == (3, 3, 2)
    assert ours.coefs_paths_.shape == peer.coefs_paths_.shape
    np.testing.assert_allclose(ours.scores_, peer.scores_, atol=1e-4)
    np.testing.assert_allclose(ours.coefs_paths_[..., :-1], peer.coefs_paths_[..., :-1], atol=5e-3)
    assert (ours.C_, ours.l1_ratio_) == (peer.C_, peer.l1_ratio_)
    assert ours.gaps_.max() <= 1e-6 and ours.converged_
    np.testing.assert_array_equal(ours.l1_ratios_, [0.0, 0.5, 1.0])
    with pytest.raises(ValueError, match=r"l1_ratios must hold numbers in \[0, 1\]"):
        LogisticRegressionCV(l1_ratios=[0.5, 2.0]).fit(X, y)
    with pytest.raises(ValueError, match=r"l1_ratios must hold numbers in \[0, 1\], got \['a'\]"):
        LogisticRegressionCV(l1_ratios=["a"]).fit(X, y)
    with pytest.raises(ValueError, match="use solver='auto'"):
        LogisticRegressionCV(l1_ratios=[0.5], solver="newton-cg").fit(X, y)
    assert LogisticRegressionCV(Cs=[0.1], penalty="l1", cv=3).fit(X, y).l1_ratio_ == 1.0
