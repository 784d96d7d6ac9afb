"""scikit-learn's own checks, all of them, with no expected failure.

Every estimator faces all of them in its default settings. In its further settings it faces those
that judge an answer: names, tags, parameters and messages belong to the class, and `-m exhaustive`
runs them too.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

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
DEFAULTS = [repr(e) for e in ESTIMATORS if repr(e) == f"{type(e).__name__}()"]
OF_ANSWERS = {  # what a setting may change
    "check_classifiers_train",
    "check_regressors_train",
    "check_clustering",
    "check_transformer_general",
    "check_outliers_train",
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
    "check_methods_subset_invariance",
    "check_methods_sample_order_invariance",
    "check_fit_idempotent",
    "check_estimators_dtypes",
    "check_estimators_pickle",
    "check_estimator_sparse_array",
    "check_readonly_memmap_input",
    "check_fit2d_1sample",
    "check_fit2d_1feature",
}
KEPT_BY_SKLEARN = [  # scikit-learn runs these on its own estimators only
    "check_param_validation",
    "check_dataframe_column_names_consistency",
    "check_estimators_data_not_an_array",
]


def in_short(estimator: BaseEstimator, check: str | None = None) -> bool:
    """Whether every run of the tests tries this."""
    promise = isinstance(estimator, fenchel.NeymanPearsonClassifier)  # it has no default
    return repr(estimator) in DEFAULTS or promise or check in OF_ANSWERS


def marks(*case: Any) -> Any:
    return () if in_short(*case) else pytest.mark.exhaustive


def common_checks() -> Iterator[Any]:
    _, cases = parametrize_with_checks(ESTIMATORS).mark.args
    for estimator, check in cases:
        yield pytest.param(estimator, check, marks=marks(estimator, check.func.__name__))


def settings() -> list[Any]:
    return [pytest.param(e, id=str(e), marks=marks(e)) for e in ESTIMATORS]


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


def test_the_checks_that_are_left_to_the_exhaustive_run_are_those_of_scikit_learn() -> None:
    known = {name for name in dir(estimator_checks) if name.startswith("check_")}
    assert known >= OF_ANSWERS


@pytest.mark.filterwarnings("ignore::fenchel.NotCertified")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("estimator", "check"),
    list(common_checks()),
    ids=parametrize_with_checks([]).mark.kwargs["ids"],
)
def test_common_checks(estimator, check) -> None:
    check(estimator)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", KEPT_BY_SKLEARN)
@pytest.mark.parametrize("estimator", settings())
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
@pytest.mark.parametrize("estimator", settings())
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
