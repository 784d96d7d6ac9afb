"""Validation and learning curves against scikit-learn's; warm paths against cold fits."""

from __future__ import annotations

import numpy as np
import oracles.score as oracles
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GroupKFold, StratifiedKFold
from sklearn.model_selection import learning_curve as sklearn_learning_curve
from sklearn.model_selection import validation_curve as sklearn_validation_curve
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from fenchel import (
    ERMClassifier,
    Lasso,
    LinearSVC,
    LogisticRegression,
    Ridge,
    learning_curve,
    validation_curve,
)


def rows(n=150, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    z = X[:, 0] - 0.5 * X[:, 1] + rng.normal(size=n)
    return X, (z > 0).astype(int), z


PIPE = make_pipeline(StandardScaler(), LogisticRegression())


@pytest.mark.parametrize(
    ("model", "name", "values"),
    [
        (KNeighborsClassifier(), "n_neighbors", [1, 5, 9]),
        (RandomForestClassifier(4, random_state=0), "max_depth", [1, 3, None]),
        (SGDClassifier(random_state=0, max_iter=2000), "alpha", np.array([0.01, 1.0])),
        (make_pipeline(StandardScaler(), GaussianNB()), "gaussiannb__var_smoothing", (1e-9, 1.0)),
    ],
    ids=lambda entry: type(entry).__name__,
)
@pytest.mark.parametrize("scoring", [None, "roc_auc"])
def test_validation_curve_is_scikit_learns(model, name, values, scoring):
    X, y, _ = rows()
    settings = {"param_name": name, "param_range": values, "scoring": scoring, "cv": 4}
    found = validation_curve(model, X, y, **settings)
    expected = sklearn_validation_curve(model, X, y, **settings)
    train, test = found
    np.testing.assert_array_equal(train, expected[0])
    np.testing.assert_array_equal(test, expected[1])
    assert found[1] is found.test_scores and len(found) == 2
    means = expected[1].mean(axis=1)
    assert found.best == values[int(means.argmax())] or means.max() == means[found.best_index]


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("sizes", [np.linspace(0.1, 1.0, 5), [0.2, 0.5], [50, 20, 100]], ids=str)
def test_learning_curve_is_scikit_learns(sizes, shuffle):
    X, y, z = rows()
    groups = np.arange(len(y)) % 8
    for model, target, cv in ((GaussianNB(), y, StratifiedKFold(4)), (Ridge(), z, GroupKFold(4))):
        settings = {"train_sizes": sizes, "cv": cv, "shuffle": shuffle, "random_state": 3}
        settings["groups"] = groups if isinstance(cv, GroupKFold) else None
        found = learning_curve(model, X, target, **settings)
        expected = sklearn_learning_curve(model, X, target, **settings)
        counts, train, test = found
        np.testing.assert_array_equal(counts, expected[0])
        np.testing.assert_array_equal(train, expected[1])
        np.testing.assert_array_equal(test, expected[2])
        assert found.fit_seconds.shape == test.shape == np.shape(found.certificates)


def test_intervals_know_the_rows_fitted():
    X, y, _ = rows()
    found = learning_curve(GaussianNB(), X, y, train_sizes=[30, 120], cv=5)
    for estimate, size, row in zip(found.estimates(0.9), (30, 120), found.test_scores, strict=True):
        mean, low, high, _ = oracles.corrected_t(list(row), 30, size, 0.9)
        np.testing.assert_allclose([estimate, estimate.low, estimate.high], [mean, low, high])
    assert "120 rows: " in str(found)
    curve = validation_curve(
        GaussianNB(), X, y, param_name="var_smoothing", param_range=[1e-9, 1.0], cv=5
    )
    mean, low, high, _ = oracles.corrected_t(list(curve.train_scores[1]), 30, 120, 0.95)
    estimate = curve.estimates(train=True)[1]
    np.testing.assert_allclose([estimate, estimate.low, estimate.high], [mean, low, high])
    assert "best: var_smoothing=" in str(curve)


def gaps(found):
    return np.array([[c.relative_gap for c in row] for row in found.certificates])


@pytest.mark.parametrize(
    ("model", "name", "values"),
    [
        (LogisticRegression(), "C", [0.001, 0.01, 0.1, 1.0, 10.0]),
        (PIPE, "logisticregression__C", [0.001, 0.01, 0.1, 1.0, 10.0]),
        (LogisticRegression(l1_ratio=0.5, solver="auto"), "C", [0.05, 0.1, 1.0]),
        (LinearSVC(), "C", [0.01, 0.1, 1.0]),
        (ERMClassifier(), "lam", [1.0, 0.1, 0.01]),
    ],
    ids=["logistic", "pipeline", "sparse", "svm", "erm"],
)
def test_a_warm_path_proves_what_cold_fits_prove(model, name, values):
    X, y, _ = rows(n=300, d=8)
    settings = {"param_name": name, "param_range": values, "scoring": "roc_auc"}
    before = repr(model)
    warm = validation_curve(model, X, y, **settings)
    cold = validation_curve(model, X, y, warm_start=False, **settings)
    assert repr(model) == before
    assert (gaps(warm) <= 1e-6).all() and (gaps(cold) <= 1e-6).all()
    for a, b in zip(np.ravel(warm.certificates), np.ravel(cold.certificates), strict=True):
        # One optimum lies in both, up to rounding.
        assert min(a.value, b.value) >= max(a.bound, b.bound) * (1.0 - 1e-12)
    np.testing.assert_allclose(warm.test_scores, cold.test_scores, atol=2e-2)
    np.testing.assert_array_equal(warm.test_scores[0], cold.test_scores[0])


def test_a_warm_path_takes_fewer_steps():
    X, y, z = rows(n=400, d=10)
    settings = {"param_range": np.geomspace(0.001, 10.0, 12), "cv": 3}
    for model, name, target in ((LogisticRegression(), "C", y), (LinearSVC(), "C", y)):
        warm = validation_curve(model, X, target, param_name=name, **settings)
        cold = validation_curve(model, X, target, param_name=name, warm_start=False, **settings)
        steps = [sum(c.steps for c in np.ravel(found.certificates)) for found in (warm, cold)]
        assert steps[0] < 0.75 * steps[1]
    path = {"param_name": "alpha", "param_range": np.geomspace(1.0, 0.001, 12)}
    warm = validation_curve(Lasso(tol=1e-9), X, z, **path)
    cold = validation_curve(Lasso(tol=1e-9), X, z, warm_start=False, **path)
    np.testing.assert_allclose(warm.test_scores, cold.test_scores, atol=1e-6)


def test_only_a_duality_gap_makes_a_start_safe():
    """scikit-learn's forests keep their trees under warm_start, and a deeper one stays shallow."""
    X, y, _ = rows()
    forest = RandomForestClassifier(5, random_state=0)
    settings = {"param_name": "max_depth", "param_range": [1, 8]}
    found = validation_curve(forest, X, y, **settings)
    cold = validation_curve(forest, X, y, warm_start=False, **settings)
    np.testing.assert_array_equal(found.train_scores, cold.train_scores)
    assert (found.train_scores[1] > found.train_scores[0]).all()


def test_a_step_before_the_last_is_never_walked_warm():
    X, y, _ = rows()
    model = make_pipeline(PolynomialFeatures(), StandardScaler(), LogisticRegression())
    settings = {"param_name": "polynomialfeatures__degree", "param_range": [1, 2, 1]}
    found = validation_curve(model, X, y, **settings)
    np.testing.assert_array_equal(found.test_scores[0], found.test_scores[2])


def test_the_same_bits_for_any_number_of_jobs():
    X, y, _ = rows()
    path = {"param_name": "logisticregression__C", "param_range": [0.01, 0.1, 1.0]}
    one, two = (validation_curve(PIPE, X, y, n_jobs=n, **path) for n in (1, 2))
    assert one.test_scores.tobytes() == two.test_scores.tobytes()
    assert one.train_scores.tobytes() == two.train_scores.tobytes()
    sizes = {"train_sizes": [0.5, 1.0], "shuffle": True}
    one, two = (learning_curve(PIPE, X, y, n_jobs=n, **sizes) for n in (1, 2))
    assert one.test_scores.tobytes() == two.test_scores.tobytes()


@pytest.mark.parametrize("seed", range(20))
def test_the_rule_of_one_standard_error(seed):
    X, y, _ = rows(seed=seed)
    Cs = [1e-4, 1e-3, 1e-2, 0.1, 1.0]
    found = validation_curve(LogisticRegression(), X, y, param_name="C", param_range=Cs)
    scores = found.test_scores.tolist()
    assert found.one_standard_error() == Cs[oracles.simplest_within_one_error(scores)]
    last = Cs[oracles.simplest_within_one_error(scores, simplest_last=True)]
    assert found.one_standard_error(simplest="last") == last


def test_what_cannot_be_asked():
    X, y, _ = rows()
    model = GaussianNB()
    with pytest.raises(ValueError, match="param_name='C' is not a parameter of GaussianNB: priors"):
        validation_curve(model, X, y, param_name="C", param_range=[1.0])
    with pytest.raises(ValueError, match="param_range is empty"):
        validation_curve(model, X, y, param_name="priors", param_range=[])
    path = {"param_name": "var_smoothing", "param_range": [1e-9, 1e-3]}
    with pytest.raises(ValueError, match="scoring has 2 metrics, accuracy, f1: give one"):
        validation_curve(model, X, y, scoring=["accuracy", "f1"], **path)
    single = validation_curve(model, X, y, cv=[(np.arange(100), np.arange(100, 150))], **path)
    with pytest.raises(ValueError, match="at least two folds"):
        single.one_standard_error()
    with pytest.raises(ValueError, match="simplest must be 'first' or 'last', got 'small'"):
        single.one_standard_error("small")
    for sizes in ([0.0, 0.5], [1.5], [0, 5], [500], [], ["half"]):
        with pytest.raises(ValueError, match="train_sizes"):
            learning_curve(model, X, y, train_sizes=sizes)
