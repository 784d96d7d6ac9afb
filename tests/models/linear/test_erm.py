"""The formula as an estimator: every loss with every penalty, against scikit-learn and programs."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import ElasticNet as TheirNet
from sklearn.linear_model import LogisticRegression as TheirLogistic
from sklearn.linear_model import Ridge as TheirRidge
from sklearn.preprocessing import StandardScaler

from fenchel import (
    L1,
    L2,
    Absolute,
    ERMClassifier,
    ERMRegressor,
    Hinge,
    Huber,
    LogisticRegression,
    Multinomial,
    NonNegative,
    NotCertified,
    Pinball,
    Square,
)
from fenchel.convex.penalty import ElasticNet
from fenchel.models.linear.erm import DISTANCES, MARGINS

IRIS = load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
PENALTIES = [
    "l2",
    "l1",
    "elasticnet",
    None,
    L2(0.3),
    L1(0.05, positive=True),
    ElasticNet(0.1, 0.9),
]


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@pytest.mark.parametrize("loss", DISTANCES)
def test_every_regression_pair_is_proved(loss, penalty):
    X, y = DIABETES
    model = ERMRegressor(loss=loss, penalty=penalty).fit(100.0 * X, y / 50.0)
    assert model.converged_ and model.certificate_.relative_gap <= 1e-6
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("penalty", [p for p in PENALTIES if p is not None], ids=repr)
@pytest.mark.parametrize("loss", [*MARGINS, "multinomial"])
def test_every_classification_pair_is_proved(loss, penalty):
    X, y = IRIS
    model = ERMClassifier(loss=loss, penalty=penalty).fit(X, y)
    assert model.converged_ and model.certificate_.relative_gap <= 1e-6
    assert model.coef_.shape == (3, 4)
    assert len(model.certificates_) == (1 if loss == "multinomial" else 3)
    assert model.decision_function(X).shape == (150, 3)


@pytest.mark.parametrize("loss", ["square", "absolute", "huber", "logistic", "hinge"])
def test_the_sign_constraint_goes_with_every_loss(loss):
    X, y = DIABETES
    if loss in MARGINS and loss != "square":
        model = ERMClassifier(loss=loss, penalty=NonNegative()).fit(X, y > 140)
    else:
        model = ERMRegressor(loss=loss, penalty=NonNegative()).fit(X, y / 50.0)
    assert model.converged_ and (model.coef_ >= 0.0).all()


def test_named_pairs_are_their_namesakes():
    X, y = DIABETES
    n = len(y)
    ridge = ERMRegressor("square", L2(0.1)).fit(X, y)
    theirs = TheirRidge(alpha=0.1 * n).fit(X, y)
    assert np.allclose(ridge.coef_, theirs.coef_, rtol=1e-6)
    net = ERMRegressor(Square(), ElasticNet(0.01, 0.5), tol=1e-10).fit(X, y)
    theirs = TheirNet(alpha=0.01, l1_ratio=0.5, tol=1e-12, max_iter=10**6).fit(X, y)
    assert np.allclose(net.coef_, theirs.coef_, atol=1e-3)
    XI, yi = IRIS
    joint = ERMClassifier("multinomial", L2(1 / 150)).fit(XI, yi)
    assert np.allclose(joint.coef_, LogisticRegression().fit(XI, yi).coef_, atol=1e-3)
    two = yi < 2
    pair = ERMClassifier("logistic", L2(1 / 100)).fit(XI[two], yi[two])
    theirs = TheirLogistic(tol=1e-10, max_iter=10**4).fit(XI[two], yi[two])
    assert np.allclose(pair.coef_, theirs.coef_, atol=1e-4)
    assert np.allclose(pair.predict_proba(XI), theirs.predict_proba(XI), atol=1e-4)


def test_huber_of_the_lecture_lies_between_square_and_absolute():
    X, y = DIABETES
    wide = ERMRegressor(Huber(1e6), None).fit(X, y)
    square = ERMRegressor("square", None).fit(X, y)
    assert np.allclose(wide.coef_, square.coef_, rtol=1e-6)
    narrow = ERMRegressor(Huber(1e-3), None).fit(X, y)
    absolute = ERMRegressor("absolute", None).fit(X, y)
    value = np.abs(y - narrow.predict(X)).mean()
    assert value == pytest.approx(absolute.certificate_.value, rel=1e-4)


def test_probabilities_of_one_against_rest_sum_to_one():
    X, y = IRIS
    model = ERMClassifier("logistic").fit(X, y)
    P = model.predict_proba(X)
    assert np.allclose(P.sum(axis=1), 1.0) and P.shape == (150, 3)
    assert np.allclose(np.log(P), model.predict_log_proba(X))
    assert (P.argmax(axis=1) == model.decision_function(X).argmax(axis=1)).all()
    assert not hasattr(ERMClassifier("hinge").fit(X, y), "predict_proba")


def test_warm_start_begins_where_the_last_fit_ended():
    X, y = load_iris(return_X_y=True)
    model = ERMClassifier("squared_hinge", warm_start=True).fit(X, y)
    again = model.fit(X, y)
    assert again.n_iter_ <= 1 and again.converged_


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda X, y: ERMClassifier(loss=Absolute()).fit(X, y), "take ERMRegressor"),
        (lambda X, y: ERMRegressor(loss=Hinge()).fit(X, y), "take ERMClassifier"),
        (lambda X, y: ERMClassifier(loss=Multinomial(5)).fit(X, y), "3 classes"),
        (lambda X, y: ERMClassifier(lam=-1.0).fit(X, y), "'lam' parameter"),
        (lambda X, y: ERMClassifier(loss="nonsense").fit(X, y), "'loss' parameter"),
        (lambda X, y: ERMClassifier().fit(X, np.zeros(len(y))), "only one class: 0"),
        (lambda X, y: Pinball(1.5), "quantile must lie strictly between 0 and 1"),
        (lambda X, y: ElasticNet(1.0, 1.5), r"l1_ratio must lie in \[0, 1\]"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make(*IRIS)


def test_scaling_rows_and_columns_is_no_trouble():
    X, y = IRIS
    X = StandardScaler().fit_transform(X) * np.array([1e-6, 1.0, 1e6, 1.0])
    for loss in ("hinge", "logistic"):
        model = ERMClassifier(loss, None if loss == "hinge" else L2(1e-6)).fit(X, y > 0)
        assert model.converged_ and model.score(X, y > 0) == 1.0


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "modified_huber"])
def test_separable_classes_have_no_loss_on_a_long_plane(loss):
    X, y = IRIS
    for rows in (X, X.astype(np.float32), 1e-6 * X):
        model = ERMClassifier(loss, None).fit(rows, y == 0)
        assert model.converged_ and model.certificate_.value == 0.0
        # What was certified is what the coefficients do, in their own precision.
        z = rows.astype(float) @ model.coef_[0].astype(float) + float(model.intercept_[0])
        assert (np.where(y == 0, 1.0, -1.0) * z).min() >= 1.0


@pytest.mark.parametrize("loss", ["logistic", "exponential", "multinomial"])
def test_separable_classes_are_named_where_the_loss_falls_for_ever(loss):
    with pytest.warns(NotCertified, match="separated completely.*Give it a penalty"):
        model = ERMClassifier(loss, None).fit(IRIS[0], IRIS[1] == 0)
    assert not model.converged_ and model.score(IRIS[0], IRIS[1] == 0) == 1.0


def test_a_pair_that_is_refused_says_what_would_work():
    with pytest.raises(ValueError, match="use a little L1 with positive=True"):
        ERMClassifier("multinomial", NonNegative()).fit(*IRIS)


def test_a_warning_points_at_the_caller():
    with pytest.warns(NotCertified) as caught:
        ERMClassifier("hinge", max_iter=1).fit(*IRIS)
    assert caught[0].filename == __file__
