"""The formula with a kernel: every loss, against the coordinates of the kernel's span."""

from __future__ import annotations

import numpy as np
import pytest

from fenchel import (
    L1,
    SVC,
    SVR,
    ERMClassifier,
    ERMRegressor,
    Huber,
    KernelLogisticRegression,
    KernelRidge,
    certify,
    kernels,
    load,
    save,
)
from fenchel.data.design.kernel import gram_matrix
from fenchel.models.linear.erm import DISTANCES, JOINT, MARGINS

KERNEL = kernels.Gaussian(0.5)


def table(n=100, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    f = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(n)
    return X, f, rng.integers(0, 3, n) * 0.5


def coordinates(X):
    """Rows whose inner products are the kernel's values."""
    values, vectors = np.linalg.eigh(gram_matrix(KERNEL, X))
    return vectors * np.sqrt(np.maximum(values, 0.0))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("loss", [*MARGINS, *JOINT])
def test_every_loss_of_classes_is_that_of_the_coordinates(loss, K, intercept, tmp_path):
    X, f, s = table()
    y = np.digitize(f, np.quantile(f, np.arange(1, K) / K))
    settings = {"loss": loss, "lam": 1e-2, "fit_intercept": intercept, "class_weight": "balanced"}
    model = ERMClassifier(kernel=KERNEL, **settings).fit(X, y, s)
    plain = ERMClassifier(**settings).fit(coordinates(X), y, s)
    assert model.converged_ and model.certificate_.kind == "duality"
    assert model.certificate_.value == pytest.approx(plain.certificate_.value, rel=3e-6)
    np.testing.assert_allclose(
        model.decision_function(X), plain.decision_function(coordinates(X)), atol=2e-2
    )
    assert certify(model, X, y, s).closed(1e-6)
    assert not model.dual_coef_[s == 0.0].any()
    save(model, tmp_path / "m.fen")
    np.testing.assert_array_equal(load(tmp_path / "m.fen").predict(X), model.predict(X))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", DISTANCES)
def test_every_loss_of_residuals_is_that_of_the_coordinates(loss, intercept, tmp_path):
    X, y, s = table()
    model = ERMRegressor(loss, lam=1e-2, fit_intercept=intercept, kernel=KERNEL).fit(X, y, s)
    plain = ERMRegressor(loss, lam=1e-2, fit_intercept=intercept).fit(coordinates(X), y, s)
    assert model.converged_ and model.certificate_.kind == "duality"
    assert model.certificate_.value == pytest.approx(plain.certificate_.value, rel=3e-6)
    np.testing.assert_allclose(model.predict(X), plain.predict(coordinates(X)), atol=2e-2)
    assert np.shape(model.intercept_) == np.shape(plain.intercept_)
    assert certify(model, X, y, s).closed(1e-6)
    save(model, tmp_path / "m.fen")
    np.testing.assert_array_equal(load(tmp_path / "m.fen").predict(X), model.predict(X))


def test_the_estimators_with_names_are_among_these():
    X, y, s = table()
    s, total, lam = s + 0.5, (s + 0.5).sum(), 1e-2
    own = {"kernel": "rbf", "gamma": 0.4}
    ridge = KernelRidge(total * lam, **own).fit(X, y, s)
    square = ERMRegressor("square", lam=lam, fit_intercept=False, **own).fit(X, y, s)
    np.testing.assert_allclose(square.predict(X), ridge.predict(X), atol=1e-5)
    C = 1.0 / (lam * total)
    tube = ERMRegressor("epsilon_insensitive", lam=lam, **own).fit(X, y, s)
    epsilon = tube.loss_.eps
    vector = SVR(C=C, epsilon=epsilon, tol=1e-8, **own).fit(X, y, s)
    np.testing.assert_allclose(tube.predict(X), vector.predict(X), atol=2e-3)
    labels = y > 0.0
    hinge = ERMClassifier("hinge", lam=lam, **own).fit(X, labels, s)
    svc = SVC(C=C, tol=1e-8, **own).fit(X, labels, s)
    np.testing.assert_allclose(hinge.decision_function(X), svc.decision_function(X), atol=2e-3)
    log = ERMClassifier("logistic", lam=lam, tol=1e-9, **own).fit(X, labels, s)
    other = KernelLogisticRegression(C=C, tol=1e-9, **own).fit(X, labels, s)
    np.testing.assert_allclose(log.predict_proba(X), other.predict_proba(X), atol=1e-6)
    assert other.certificate_.value == pytest.approx(log.certificate_.value / lam, rel=1e-8)


def test_what_is_refused_in_one_sentence():
    X, y, _ = table(30)
    for penalty in ("l1", "elasticnet", None, L1(0.1)):
        for model in (ERMRegressor(penalty=penalty, kernel="rbf"),
                      ERMClassifier(penalty=penalty, kernel="rbf")):  # fmt: skip
            with pytest.raises(ValueError, match="; with kernel='rbf' use penalty='l2'") as told:
                model.fit(X, y > 0.0)
            assert ". " not in str(told.value)
    with pytest.raises(ValueError, match="without a penalty a kernel"):
        ERMRegressor(lam=0.0, kernel="rbf").fit(X, y)
    with pytest.raises(ValueError, match="not positive semi-definite"):
        ERMRegressor(kernel="sigmoid").fit(X, y)
    K = gram_matrix(KERNEL, X) - 0.1 * np.eye(30)
    with pytest.raises(ValueError, match="not positive semi-definite"):
        ERMClassifier("hinge", kernel="precomputed").fit(K, y > 0.0)


def test_with_a_kernel_and_without_in_turn():
    X, y, _ = table(40)
    model = ERMRegressor(Huber(0.5), kernel="rbf").fit(X, y)
    assert "coef_" not in vars(model)
    model.set_params(kernel=None).fit(X, y)
    assert "dual_coef_" not in vars(model) and model.coef_.shape == (3,)
    model.set_params(kernel="rbf", warm_start=True).fit(X, y)
    steps = model.n_iter_
    assert model.fit(X, y).n_iter_ <= steps and "coef_" not in vars(model)


@pytest.mark.parametrize("lam", [1e-2, 1e-5])
def test_a_narrow_joint_is_nearly_a_kink(lam):
    X, y, s = table()
    narrow = ERMRegressor(Huber(1e-5), lam=lam * 1e-5, kernel=KERNEL).fit(X, y, s)
    absolute = ERMRegressor("absolute", lam=lam, kernel=KERNEL).fit(X, y, s)
    assert narrow.converged_
    value = absolute.certificate_.value
    assert narrow.certificate_.value / 1e-5 == pytest.approx(value, rel=1e-3)


def test_strings():
    rng = np.random.default_rng(0)
    rows = ["".join(rng.choice(list("ACGT"), 12)) for _ in range(60)]
    y = np.array([float(row.count("A")) for row in rows])
    kernel = kernels.Spectrum(1)
    model = ERMRegressor("huber", lam=1e-3, kernel=kernel).fit(rows, y)
    assert np.abs(model.predict(rows) - y).max() < 1.0 and certify(model, rows, y).closed(1e-6)
    hinge = ERMClassifier("hinge", lam=1e-3, kernel=kernel).fit(rows, y > 3.0)
    assert hinge.score(rows, y > 3.0) > 0.9
