"""Selection and nested cross-validation against scikit-learn's search and the double loop."""

from __future__ import annotations

import numpy as np
import oracles.score as oracles
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import get_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    ParameterGrid,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fenchel import ElasticNet, LogisticRegression, Ridge, nested_cross_validate, select
from fenchel.score.selection.parameter_search import paths_of


def rows(n=150, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    z = X[:, 0] - 0.5 * X[:, 1] + rng.normal(size=n)
    return X, (z > 0).astype(int), z


PIPE = Pipeline([("scale", StandardScaler()), ("fit", KNeighborsClassifier())])
SEARCHES = [
    (KNeighborsClassifier(), {"weights": ["uniform", "distance"], "n_neighbors": [9, 5, 3, 1]}),
    (PIPE, {"fit__n_neighbors": [5, 3], "scale": [StandardScaler(), "passthrough"]}),
    (RandomForestClassifier(3, random_state=0), [{"max_depth": [1, 2]}, {"n_estimators": [2, 6]}]),
    (PIPE, [{"fit": [SVC(), KNeighborsClassifier(3)]}, {"fit__p": [1, 2]}]),
]


@pytest.mark.parametrize("scoring", [None, "f1"])
@pytest.mark.parametrize(("model", "grid"), SEARCHES, ids=["knn", "pipeline", "list", "steps"])
def test_the_choice_is_scikit_learns(model, grid, scoring):
    X, y, _ = rows()
    found = select(model, grid, X, y, scoring=scoring, cv=4)
    search = GridSearchCV(model, grid, scoring=scoring, cv=4).fit(X, y)
    assert repr(found.candidates) == repr(tuple(search.cv_results_["params"]))
    assert repr(found.params) == repr(search.best_params_)
    assert found.index == found.best_index == search.best_index_
    expected = np.stack([search.cv_results_[f"split{k}_test_score"] for k in range(4)], axis=1)
    np.testing.assert_array_equal(found.scores, expected)
    np.testing.assert_array_equal(found.estimator.predict(X), search.predict(X))
    assert found.mean() == pytest.approx(search.best_score_, rel=1e-12)


@pytest.mark.parametrize("scoring", [None, "roc_auc"])
@pytest.mark.parametrize(("model", "grid"), SEARCHES, ids=["knn", "pipeline", "list", "steps"])
def test_nested_is_the_double_loop(model, grid, scoring):
    X, y, _ = rows()
    inner = KFold(3, shuffle=True, random_state=1)
    outer = StratifiedKFold(4, shuffle=True, random_state=2)
    found = nested_cross_validate(model, grid, X, y, inner=inner, outer=outer, scoring=scoring)
    search = GridSearchCV(model, grid, scoring=scoring, cv=inner)
    judge = (lambda m, X, y: m.score(X, y)) if scoring is None else get_scorer(scoring)
    folds = list(outer.split(X, y))
    naive = oracles.fold_by_fold(search, X, y, folds, judge)
    np.testing.assert_array_equal(found.outer["test_score"], naive)
    for k, (train, _) in enumerate(folds):
        alone = clone(search).fit(X[train], y[train])
        assert repr(found.params[k]) == repr(alone.best_params_)
        means = found.inner[k].scores.mean(axis=1)
        np.testing.assert_array_equal(means, alone.cv_results_["mean_test_score"])
        for (a, b), (i, j) in zip(found.inner[k].folds, inner.split(X[train]), strict=True):
            np.testing.assert_array_equal(a, train[i])
            np.testing.assert_array_equal(b, train[j])
    np.testing.assert_array_equal(found.outer.rows, np.arange(len(y)))
    assert found.outer.curve.n_positive == y.sum()


def test_groups_times_and_weights_go_all_the_way_down():
    X, _, z = rows()
    groups = np.arange(len(z)) % 10
    weight = np.random.default_rng(0).uniform(0.1, 2.0, len(z))
    grid = {"alpha": [10.0, 1.0, 0.1]}
    found = nested_cross_validate(
        Ridge(),
        grid,
        X,
        z,
        groups=groups,
        inner=GroupKFold(3),
        outer=GroupKFold(4),
        params={"sample_weight": weight},
    )
    for (train, test), choice, score in zip(
        found.outer.folds, found.inner, found.outer["test_score"], strict=True
    ):
        assert not set(groups[train]) & set(groups[test])
        for a, b in choice.folds:
            assert not set(groups[a]) & set(groups[b]) and not set(b) - set(train)
        search = GridSearchCV(Ridge(), grid, cv=GroupKFold(3))
        search.fit(X[train], z[train], groups=groups[train], sample_weight=weight[train])
        assert choice.params == search.best_params_
        assert score == search.score(X[test], z[test])
    later = nested_cross_validate(
        Ridge(), grid, X, z, inner=TimeSeriesSplit(2), outer=TimeSeriesSplit(3)
    )
    for (train, test), choice in zip(later.outer.folds, later.inner, strict=True):
        assert train.max() < test.min()
        assert all(a.max() < b.min() <= train.max() for a, b in choice.folds)


def test_paths_follow_the_last_parameter_listed():
    grid = {"b": [2, 1], "c": ["x", "y", "z"], "a": [0.1, 0.2]}
    candidates, paths = paths_of(grid)
    assert list(candidates) == list(ParameterGrid(grid))
    assert len(paths) == 6 and {path.walked for path in paths} == {"a"}
    for path in paths:
        settings = [candidates[m] for m in path.members]
        assert [s["a"] for s in settings] == [0.1, 0.2]
        assert len({(s["b"], s["c"]) for s in settings}) == 1
    assert sorted(m for path in paths for m in path.members) == list(range(12))
    candidates, paths = paths_of([{}, {"a": [1, 2]}])
    assert list(candidates) == [{}, {"a": 1}, {"a": 2}]
    assert [path.members for path in paths] == [(0,), (1, 2)]


def test_warm_paths_choose_what_cold_fits_choose():
    X, _, z = rows(n=200, d=10)
    grid = {"l1_ratio": [0.5, 1.0], "alpha": [1.0, 0.3, 0.1, 0.03, 0.01]}
    model = ElasticNet(tol=1e-8)
    before = repr(model)
    warm = select(model, grid, X, z)
    cold = select(model, grid, X, z, warm_start=False)
    assert repr(model) == before and not vars(model).get("coef_")
    np.testing.assert_allclose(warm.scores, cold.scores, atol=1e-6)
    assert warm.params == cold.params and not warm.estimator.warm_start
    np.testing.assert_array_equal(warm.estimator.coef_, cold.estimator.coef_)
    assert np.shape(warm.certificates) == warm.scores.shape == warm.fit_seconds.shape
    assert warm.certificate.relative_gap <= 1e-8 and "certificate" in str(warm)


def test_the_simplest_within_one_standard_error():
    X, y, _ = rows(n=200)
    grid = {"fit_intercept": [True, False], "C": [1e-4, 1e-3, 1e-2, 0.1, 1.0]}
    found = select(LogisticRegression(), grid, X, y, rule="one_standard_error")
    best = found.candidates[found.best_index]
    home = [
        i for i, c in enumerate(found.candidates) if c["fit_intercept"] == best["fit_intercept"]
    ]
    place = oracles.simplest_within_one_error(found.scores[home].tolist())
    assert found.params == found.candidates[home[place]]
    last = select(
        LogisticRegression(), grid, X, y, rule="one_standard_error", simplest="last", refit=False
    )
    place = oracles.simplest_within_one_error(found.scores[home].tolist(), simplest_last=True)
    assert last.params == found.candidates[home[place]]
    assert last.estimator is None and last.certificate is None
    nested = nested_cross_validate(
        LogisticRegression(), grid, X, y, inner=3, outer=3, rule="one_standard_error"
    )
    assert all(choice.rule == "one_standard_error" for choice in nested.inner)
    assert "fold 2: C=" in str(nested)


def test_the_same_bits_for_any_number_of_jobs():
    X, y, _ = rows()
    model = make_pipeline(StandardScaler(), RandomForestClassifier(3))
    grid = {"randomforestclassifier__max_depth": [1, 3]}
    one, two = (
        nested_cross_validate(model, grid, X, y, inner=2, outer=3, n_jobs=n) for n in (1, 2)
    )
    assert one.params == two.params
    assert one.outer.scores.tobytes() == two.outer.scores.tobytes()
    for a, b in zip(one.inner, two.inner, strict=True):
        assert a.scores.tobytes() == b.scores.tobytes()
    one, two = (select(model, grid, X, y, n_jobs=n, cv=3) for n in (1, 2))
    assert one.scores.tobytes() == two.scores.tobytes()
    np.testing.assert_array_equal(one.estimator.predict_proba(X), two.estimator.predict_proba(X))


def test_what_cannot_be_asked():
    X, y, _ = rows()
    model, grid = LogisticRegression(), {"C": [0.1, 1.0]}
    with pytest.raises(
        ValueError, match="rule must be 'best' or 'one_standard_error', got 'worst'"
    ):
        select(model, grid, X, y, rule="worst")
    with pytest.raises(ValueError, match="simplest must be"):
        select(model, grid, X, y, simplest="middle")
    with pytest.raises(ValueError, match="grid is empty"):
        select(model, [], X, y)
    with pytest.raises(ValueError, match="Invalid parameter 'D'"):
        select(model, {"D": [1.0]}, X, y)
    with pytest.raises(ValueError, match="scoring has 2 metrics"):
        select(model, grid, X, y, scoring=["accuracy", "f1"])
    with pytest.raises(ValueError, match="inner must be a number of folds or a splitter"):
        nested_cross_validate(model, grid, X, y, inner=[(np.arange(9), np.arange(9, 20))])
    broken = np.arange(150) < 75
    order = np.argsort(y, kind="stable")
    with pytest.raises(ValueError, match="outer fold 0, inner fold 1 has no row of class 1"):
        nested_cross_validate(
            model, grid, X[order], y[order], inner=KFold(2), outer=[(broken.nonzero()[0], [1, 149])]
        )
