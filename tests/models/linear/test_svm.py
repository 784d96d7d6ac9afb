"""Linear support vector machines against liblinear and against programs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn import svm as theirs
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.preprocessing import StandardScaler

import fenchel
from fenchel import LinearSVC, LinearSVR, NotCertified, certify

CANCER = load_breast_cancer(return_X_y=True)
CANCER = StandardScaler().fit_transform(CANCER[0]), CANCER[1]
IRIS = load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)


def objective(model, X, y, s=None):
    s = np.ones(len(y)) if s is None else s
    total = 0.0
    for k, (w, b) in enumerate(zip(model.coef_, model.intercept_, strict=True)):
        sign = np.where(y == model.classes_[1 if len(model.coef_) == 1 else k], 1.0, -1.0)
        short = np.maximum(0.0, 1.0 - sign * (X @ w + b))
        short = short if model.loss == "hinge" else short**2
        omega = np.abs(w).sum() if model.penalty == "l1" else 0.5 * w @ w
        total += model.C * s @ short + omega
    return total


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_intercept_scaling_gives_their_answer(loss, C):
    X, y = CANCER
    ours = LinearSVC(loss=loss, C=C, intercept_scaling=2.0, tol=1e-9).fit(X, y)
    other = theirs.LinearSVC(loss=loss, C=C, intercept_scaling=2.0, tol=1e-10, max_iter=10**7)
    other.fit(X, y)
    assert np.allclose(ours.coef_, other.coef_, atol=1e-4)
    assert np.allclose(ours.intercept_, other.intercept_, atol=1e-4)
    held = objective(ours, X, y) + float(ours.intercept_[0] / 2.0) ** 2 / 2
    assert ours.certificate_.value == pytest.approx(held, rel=1e-9)


@pytest.mark.parametrize("penalty", ["l2", "l1"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_intercept_is_free_and_the_value_right(loss, penalty):
    X, y = IRIS
    s = np.random.default_rng(0).integers(0, 3, 150).astype(float)
    model = LinearSVC(loss=loss, penalty=penalty, C=0.5).fit(X, y, sample_weight=s)
    assert model.converged_ and model.coef_.shape == (3, 4) and len(model.certificates_) == 3
    assert model.certificate_.value == pytest.approx(objective(model, X, y, s), rel=1e-9)
    # Moving all rows moves a free intercept and nothing else.
    moved = LinearSVC(loss=loss, penalty=penalty, C=0.5).fit(X + 10.0, y, sample_weight=s)
    assert moved.certificate_.value == pytest.approx(model.certificate_.value, rel=2e-6)


def test_smooth_loss_against_a_general_minimiser():
    X, y = CANCER
    X, sign = X[:, :5], np.where(y == 1, 1.0, -1.0)

    def value(v):
        short = np.maximum(0.0, 1.0 - sign * (X @ v[:5] + v[5]))
        return 0.1 * short @ short + v[:5] @ v[:5] / 2

    best = minimize(value, np.zeros(6), tol=1e-14).fun
    model = LinearSVC(C=0.1).fit(X, y)
    assert model.certificate_.value == pytest.approx(best, rel=1e-8)
    assert model.certificate_.bound <= best * (1 + 1e-10)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_kinds_of_rows_agree(loss):
    X, y = CANCER
    model = LinearSVC(loss=loss, C=0.1, tol=1e-9).fit(X, y)
    for rows in (csr_array(X), np.asfortranarray(X), X.astype(np.float32)):
        tol = 1e-6 if rows.dtype == np.float32 else 1e-9
        other = LinearSVC(loss=loss, C=0.1, tol=tol).fit(rows, y)
        assert np.allclose(other.coef_, model.coef_, atol=2e-2 if tol > 1e-9 else 2e-3)
        assert other.coef_.dtype == rows.dtype


def test_class_weight_is_row_weight():
    X, y = IRIS
    by_class = LinearSVC(C=0.1, class_weight={0: 1.0, 1: 2.0, 2: 0.5}).fit(X, y)
    by_row = LinearSVC(C=0.1).fit(X, y, sample_weight=np.array([1.0, 2.0, 0.5])[y])
    assert np.allclose(by_class.coef_, by_row.coef_, atol=1e-8)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("scaling", [None, 1.0])
def test_regression_against_liblinear(loss, scaling):
    X, y = DIABETES
    X, y = 20.0 * X, y / 50.0
    ours = LinearSVR(loss=loss, epsilon=0.2, C=0.3, intercept_scaling=scaling, tol=1e-9).fit(X, y)
    r = np.maximum(0.0, np.abs(y - X @ ours.coef_ - ours.intercept_) - 0.2)
    r = r if loss == "epsilon_insensitive" else r**2
    value = 0.3 * r.sum() + ours.coef_ @ ours.coef_ / 2
    if scaling is None:
        assert ours.certificate_.value == pytest.approx(value, rel=1e-9)
        return
    assert ours.certificate_.value == pytest.approx(value + ours.intercept_**2 / 2, rel=1e-9)
    other = theirs.LinearSVR(loss=loss, epsilon=0.2, C=0.3, tol=1e-9, max_iter=10**7).fit(X, y)
    assert np.allclose(ours.coef_, other.coef_, atol=1e-3)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": -1.0}, "'C' parameter of LinearSVC must be a float in the range"),
        ({"C": 0.0}, "'C' parameter"),
        ({"intercept_scaling": 0.0}, "'intercept_scaling' parameter"),
        ({"loss": "log"}, "'loss' parameter"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        LinearSVC(**parameters).fit(*IRIS)


def test_one_class_and_too_few_steps():
    X, y = CANCER
    with pytest.raises(ValueError, match="only one class"):
        LinearSVC().fit(X, np.ones(len(y)))
    with pytest.warns(NotCertified, match="max_iter"):
        model = LinearSVC(loss="hinge", max_iter=1).fit(X, y)
    assert not model.converged_


def test_separable_rows_without_a_penalty_have_no_loss():
    from fenchel import ERMClassifier

    X = np.array([[0.0], [1.0], [3.0], [4.0]])
    model = ERMClassifier("hinge", None).fit(X, [0, 0, 1, 1])
    assert model.certificate_.value == 0.0 and model.converged_


@pytest.mark.parametrize("change", [{"C": 2.0}, {"fit_intercept": False}, {"intercept_scaling": 3}])
@pytest.mark.parametrize("scaling", [None, 1.0])
def test_a_warm_start_knows_how_the_intercept_was_held(scaling, change):
    svr = LinearSVR(intercept_scaling=scaling, epsilon=5.0, warm_start=True)
    svc = LinearSVC(intercept_scaling=scaling, warm_start=True)
    for model, (X, y) in ((svr, DIABETES), (svc, IRIS), (clone(svc), (IRIS[0], IRIS[1] == 1))):
        model.fit(X, y).set_params(**change)
        cold = clone(model).fit(X, y)
        assert model.fit(X, y).converged_
        assert model.certificate_.value == pytest.approx(cold.certificate_.value, rel=2e-6)
        assert model.fit(X, y).n_iter_ < cold.n_iter_ or cold.n_iter_ < 2


@pytest.mark.parametrize("scaling", [None, 1.0])
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 1.0, 1: 3.0, 2: 0.5}])
def test_crammer_and_singer(scaling, class_weight, tmp_path):
    X, y = IRIS
    s = np.random.default_rng(0).integers(1, 4, len(y))
    given = {"multi_class": "crammer_singer", "class_weight": class_weight, "C": 0.5}
    model = LinearSVC(intercept_scaling=scaling, **given).fit(X, y, sample_weight=s)
    assert model.converged_ and model.coef_.shape == (3, 4) and len(model.certificates_) == 1
    np.testing.assert_allclose(model.coef_.sum(axis=0), 0.0, atol=1e-3)
    assert abs(model.intercept_.sum()) <= 1e-3
    proof = certify(model, X, y, s)
    assert proof.value == pytest.approx(model.certificate_.value) and proof.relative_gap <= 1e-6
    repeated = LinearSVC(intercept_scaling=scaling, **given).fit(X.repeat(s, axis=0), y.repeat(s))
    if class_weight != "balanced":
        assert repeated.certificate_.value == pytest.approx(model.certificate_.value, rel=1e-5)
    peer = theirs.LinearSVC(intercept_scaling=1.0, tol=1e-8, max_iter=100_000, **given)
    if scaling is not None and class_weight != "balanced":
        other = certify(peer.fit(X, y, sample_weight=s), X, y, s)
        assert other.value == pytest.approx(proof.value, rel=1e-4)
        assert other.bound == pytest.approx(proof.bound, rel=1e-6)
    fenchel.save(model, tmp_path / "m.fen")
    loaded = fenchel.load(tmp_path / "m.fen")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.loss_ == fenchel.MulticlassHinge(3)
    cold = model.n_iter_
    assert model.set_params(warm_start=True).fit(X, y, sample_weight=s).n_iter_ < cold


def test_crammer_and_singer_of_two_classes():
    X, y = IRIS[0][50:], IRIS[1][50:]
    given = {"multi_class": "crammer_singer", "C": 0.3}
    for scaling in (None, 1.0):
        model = LinearSVC(intercept_scaling=scaling, **given).fit(X, y)
        twice = LinearSVC(loss="hinge", C=0.6, intercept_scaling=scaling).fit(X, y)
        np.testing.assert_allclose(model.coef_, twice.coef_, rtol=1e-3, atol=1e-5)
        assert model.certificate_.value == pytest.approx(0.5 * twice.certificate_.value, rel=1e-5)
        assert certify(model, X, y).relative_gap <= 1e-6
    other = certify(theirs.LinearSVC(tol=1e-8, max_iter=100_000, **given).fit(X, y), X, y)
    assert other.value == pytest.approx(model.certificate_.value, rel=1e-4)


def test_the_multiclass_hinge_as_a_formula():
    from fenchel import ERMClassifier, MulticlassHinge

    X, y = IRIS
    named = ERMClassifier("multiclass_hinge", lam=0.01).fit(X, y)
    given = ERMClassifier(MulticlassHinge(3), lam=0.01).fit(X, y)
    svc = LinearSVC(multi_class="crammer_singer", C=1.0 / (0.01 * len(y))).fit(X, y)
    np.testing.assert_array_equal(named.coef_, given.coef_)
    assert named.certificate_.value == pytest.approx(0.01 * svc.certificate_.value, rel=1e-5)
    assert certify(named, X, y).relative_gap <= 1e-6
    two = ERMClassifier("multiclass_hinge", lam=0.01).fit(X, y > 0)
    assert two.loss_ == fenchel.Hinge() and two.coef_.shape == (1, 4)
    with pytest.raises(ValueError, match="does not fit y"):
        ERMClassifier(MulticlassHinge(4)).fit(X, y)
    with pytest.raises(ValueError, match="positive L2 penalty"):
        ERMClassifier("multiclass_hinge", penalty="l1").fit(X, y)
