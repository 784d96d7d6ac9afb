"""scikit-learn's own checks, all of them, with no expected failure."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from estimators import (
    answer,
    cluster,
    discriminant,
    kernel,
    linear,
    manifold,
    mixture,
    neighbours,
    spectral,
    svm,
)
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

import fenchel

ESTIMATORS = [
    *linear.ESTIMATORS,
    *cluster.ESTIMATORS,
    *mixture.ESTIMATORS,
    *discriminant.ESTIMATORS,
    *neighbours.ESTIMATORS,
    *spectral.ESTIMATORS,
    *manifold.ESTIMATORS,
    *kernel.ESTIMATORS,
    *svm.ESTIMATORS,
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
        X, y = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30) % 2
        if hasattr(estimator, "predict"):
            check(type(estimator).__name__, estimator, X, y, "NotAnArray")
            return
        wrapped = [estimator_checks._NotAnArray(part) for part in (X, y)]  # what the check does
        model = clone(estimator).fit(*wrapped)
        np.testing.assert_allclose(answer(model, X), answer(clone(estimator).fit(X, y), X))
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
    assert np.isfinite(answer(pipe, X)).all()
    if hasattr(pipe, "score"):
        assert np.isfinite(pipe.score(X, y))
    if parameter and hasattr(estimator, "score"):
        name = parameter.pop()
        search = GridSearchCV(clone(estimator), {name: [0.1, 0.9]}, cv=3).fit(X, y)
        assert search.best_params_[name] in (0.1, 0.9)
