"""scikit-learn's own checks, all of them, with no expected failure."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

import fenchel
from fenchel import (
    Adaline,
    ElasticNet,
    ElasticNetCV,
    ERMClassifier,
    ERMRegressor,
    HuberRegressor,
    Lasso,
    LassoCV,
    LeastAbsoluteDeviations,
    LinearRegression,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    LogisticRegressionCV,
    NeymanPearsonClassifier,
    PairwiseRanker,
    Perceptron,
    QuantileRegressor,
    Ridge,
    RidgeCV,
)

ESTIMATORS = [
    LinearRegression(),
    LinearRegression(fit_intercept=False),
    Ridge(),
    Ridge(alpha=0.01, fit_intercept=False),
    RidgeCV(),
    HuberRegressor(),
    HuberRegressor(alpha=0.0, fit_intercept=False),
    LogisticRegression(),
    LogisticRegression(solver="newton-cg", tol=0.0),
    LogisticRegression(solver="gradient-descent", C=0.1, max_iter=5000),
    LogisticRegression(class_weight="balanced", C=10.0),
    LogisticRegression(C=1e4),
    LogisticRegressionCV(),
    LogisticRegressionCV(Cs=3, cv=3, use_legacy_attributes=True),
    LogisticRegression(l1_ratio=1.0),
    LogisticRegression(l1_ratio=0.5, C=0.1),
    LogisticRegressionCV(Cs=[0.01, 1.0], l1_ratios=[0.0, 1.0], cv=3),
    Lasso(),
    Lasso(alpha=0.01, fit_intercept=False),
    Lasso(alpha=0.01, positive=True),
    ElasticNet(),
    ElasticNet(alpha=0.01, l1_ratio=0.2),
    LassoCV(),
    LassoCV(alphas=4, cv=3),
    ElasticNetCV(),
    ElasticNetCV(alphas=3, l1_ratio=[0.5, 1.0], cv=3),
    PairwiseRanker(),
    PairwiseRanker(loss="logistic", alpha=0.1),
    PairwiseRanker(loss="squared_hinge", tol=1e-9),
    Perceptron(),
    Perceptron(average="averaged", eta0=0.1),
    Perceptron(penalty="elasticnet", tol=1e-3, bias_update="unit"),
    Perceptron(average="voted", max_iter=20),
    Adaline(),
    Adaline(average=True, max_iter=50),
    LinearSVC(),
    LinearSVC(loss="hinge"),
    LinearSVC(loss="hinge", penalty="l1", C=0.1),
    LinearSVC(intercept_scaling=1.0, class_weight="balanced"),
    LinearSVC(multi_class="crammer_singer"),
    LinearSVR(),
    LinearSVR(loss="squared_epsilon_insensitive", epsilon=0.1, intercept_scaling=1.0),
    LeastAbsoluteDeviations(),
    LeastAbsoluteDeviations(alpha=0.1, fit_intercept=False),
    QuantileRegressor(),
    QuantileRegressor(quantile=0.8, alpha=0.0),
    ERMClassifier(),
    ERMClassifier(loss="exponential", tol=1e-12),
    ERMClassifier(loss="hinge", penalty="l1", tol=1e-9),
    ERMRegressor(),
    ERMRegressor(loss="huber", penalty="l1", lam=0.1),
    ERMRegressor(loss="epsilon_insensitive"),
    # The checks have few rows: a promise that two negatives can keep.
    NeymanPearsonClassifier(LogisticRegression(), alpha=0.25, delta=0.6),
]
KEPT_BY_SKLEARN = [  # scikit-learn runs these on its own estimators only
    "check_param_validation",
    "check_dataframe_column_names_consistency",
    "check_estimators_data_not_an_array",
]


def test_every_estimator_is_checked_in_its_default_settings_too() -> None:
    public = {
        name
        for name in dir(fenchel)
        if inspect.isclass(getattr(fenchel, name))
        and issubclass(getattr(fenchel, name), BaseEstimator)
    }
    # A promise has no default: the checks of the one that makes it choose one.
    promise = {"NeymanPearsonClassifier"}
    assert public == {type(e).__name__ for e in ESTIMATORS}
    plain = {type(e).__name__ for e in ESTIMATORS if repr(e) == f"{type(e).__name__}()"}
    assert plain == public - promise


@pytest.mark.filterwarnings("ignore::fenchel.NotCertified")
@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(ESTIMATORS)
def test_common_checks(estimator, check) -> None:
    check(estimator)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", KEPT_BY_SKLEARN)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_checks_that_sklearn_keeps(estimator, name) -> None:
    check = getattr(estimator_checks, name)
    if name == "check_estimators_data_not_an_array":
        rng = np.random.default_rng(0)
        check(
            type(estimator).__name__,
            estimator,
            rng.normal(size=(30, 3)),
            np.arange(30) % 2,
            "NotAnArray",
        )
    else:
        check(type(estimator).__name__, estimator)


@pytest.mark.filterwarnings("ignore::fenchel.NotCertified")  # tol=0 asks for the impossible
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_works_in_pipelines_searches_and_clones(estimator) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    y = (X[:, 0] + rng.normal(size=90) > 0).astype(int)
    parameter = {"alpha", "C"} & set(estimator.get_params())
    pipe = make_pipeline(StandardScaler(), clone(estimator)).fit(X, y)
    assert np.isfinite(pipe.score(X, y))
    if parameter:
        name = parameter.pop()
        search = GridSearchCV(clone(estimator), {name: [0.1, 0.9]}, cv=3).fit(X, y)
        assert search.best_params_[name] in (0.1, 0.9)
