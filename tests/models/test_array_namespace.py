"""Rows of other array libraries: answers in the library of the rows, as in scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_array_api_input

import fenchel
from fenchel import (
    Adaline,
    ElasticNetCV,
    ERMClassifier,
    ERMRegressor,
    HuberRegressor,
    Lasso,
    LeastAbsoluteDeviations,
    LinearRegression,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    LogisticRegressionCV,
    PairwiseRanker,
    Perceptron,
    QuantileRegressor,
    Ridge,
    RidgeCV,
)

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
MODELS = [
    LinearRegression(),
    Ridge(),
    RidgeCV(),
    HuberRegressor(),
    Lasso(alpha=0.01),
    ElasticNetCV(alphas=3, cv=3),
    LinearSVR(),
    LeastAbsoluteDeviations(alpha=0.1),
    QuantileRegressor(alpha=0.01),
    ERMRegressor(),
    LogisticRegression(),
    LogisticRegressionCV(Cs=[0.01, 1.0], cv=3),
    LinearSVC(),
    ERMClassifier(),
    Perceptron(average="voted", prove=False),
    Adaline(),
    # To the optimum: at the default tol two certified fits of a kinked loss may differ by 1e-3.
    PairwiseRanker(tol=1e-12),
]


@pytest.mark.filterwarnings("ignore::fenchel.NotCertified")
@pytest.mark.filterwarnings("ignore::fenchel.RankDeficient")  # so are the rows of that check
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_tensors_come_back_as_tensors(model, dtype):
    name = type(model).__name__
    check_array_api_input(name, model, "torch", device_name="cpu", dtype_name=dtype)
    X, y = (part.astype(dtype) for part in table())
    y = y > 0 if model.__sklearn_tags__().classifier_tags else y
    plain = clone(model).fit(X, y)
    with config_context(array_api_dispatch=True):
        fitted = clone(model).fit(torch.asarray(X), torch.asarray(y))
        predicted = fitted.predict(torch.asarray(X))
    rtol = 1e-3 if dtype == "float32" else 1e-7
    np.testing.assert_allclose(fitted.coef_.numpy(), plain.coef_, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(predicted.numpy(), plain.predict(X), rtol=rtol, atol=rtol)


def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, X @ [1.0, -1.0, 0.5] + 0.3 * rng.normal(size=60)


def test_without_dispatch_fitted_arrays_are_numpys():
    X, y = table()
    model = Ridge().fit(torch.asarray(X), torch.asarray(y))
    assert type(model.coef_) is np.ndarray
    assert torch.is_tensor(model.predict(torch.asarray(X)))
    classifier = LogisticRegression().fit(torch.asarray(X), torch.asarray(y > 0))
    assert type(classifier.predict(torch.asarray(X))) is np.ndarray


def test_labels_are_texts_or_tensors():
    X, y = table()
    with config_context(array_api_dispatch=True):
        numbers = LogisticRegression().fit(torch.asarray(X), torch.asarray(1.0 * (y > 0)))
        assert torch.is_tensor(numbers.predict(torch.asarray(X)))
        texts = LogisticRegression().fit(torch.asarray(X), np.where(y > 0, "yes", "no"))
        assert texts.predict(torch.asarray(X)).dtype.kind == "U"
        # Rows of another library are scored in theirs.
        assert type(numbers.decision_function(X)) is np.ndarray


def test_a_model_of_tensors_starts_again_certifies_and_is_saved(tmp_path):
    X, y = table()
    T, t = torch.asarray(X), torch.asarray(y)
    for model in (
        LogisticRegression(warm_start=True),
        Lasso(alpha=0.01, warm_start=True),
        LinearSVC(warm_start=True),
        LinearSVR(warm_start=True),
        HuberRegressor(warm_start=True),
        Ridge(),
    ):
        target, plain = (t > 0, y > 0) if model.__sklearn_tags__().classifier_tags else (t, y)
        with config_context(array_api_dispatch=True):
            fitted = clone(model).fit(T, target).fit(T, target)
        assert torch.is_tensor(fitted.coef_)
        assert fenchel.certify(fitted, X, plain).relative_gap <= 1e-6
        fenchel.save(fitted, tmp_path / "m.fen")
        loaded = fenchel.load(tmp_path / "m.fen")
        assert type(loaded.coef_) is np.ndarray
        np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))


def test_a_tensor_for_alpha():
    X, y = table()
    Y = np.stack([y, -y, 2.0 * y], axis=1)
    alphas = np.array([0.1, 1.0, 10.0])
    want = Ridge(alpha=alphas).fit(X, Y)
    got = Ridge(alpha=torch.asarray(alphas)).fit(X, Y)
    np.testing.assert_array_equal(got.coef_, want.coef_)
    assert fenchel.certify(got, X, Y).relative_gap <= 1e-6
