"""Cross-validation against scikit-learn's, fold by fold, for any estimator and scorer."""

from __future__ import annotations

from functools import reduce

import numpy as np
import oracles.score as oracles
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy.sparse import coo_array, csr_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_predict,
)
from sklearn.model_selection import cross_validate as sklearn_cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fenchel import Curve, LogisticRegression, Ridge, as_blocks, cross_validate, scorer


def rows(n=120, d=4, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    z = X[:, 0] + 0.7 * rng.normal(size=n)
    y = np.digitize(z, np.quantile(z, np.arange(1, classes) / classes))
    return X, y, z


def same(ours, theirs):
    assert list(ours) == list(theirs)
    for key in theirs:
        if key.startswith(("test_", "train_")):
            np.testing.assert_array_equal(ours[key], theirs[key])


ESTIMATORS = [
    LogisticRegression(),
    make_pipeline(StandardScaler(), LogisticRegression(C=0.1)),
    KNeighborsClassifier(3),
    GaussianNB(),
    RandomForestClassifier(5, random_state=3),
    SVC(),
    GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=3),
]
SCORINGS = [
    None,
    "roc_auc",
    ["accuracy", "f1", "average_precision", "roc_auc"],
    {"a": "accuracy", "b": make_scorer(accuracy_score, normalize=False)},
    lambda model, X, y: float((model.predict(X) == y).mean()),
    lambda model, X, y: {"hits": (model.predict(X) == y).sum(), "rows": len(y)},
]


@pytest.mark.parametrize("scoring", SCORINGS, ids=range(len(SCORINGS)))
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_scores_are_scikit_learns(estimator, scoring):
    X, y, _ = rows()
    cv = StratifiedKFold(4, shuffle=True, random_state=1)
    settings = {"cv": cv, "scoring": scoring, "return_train_score": True}
    same(
        cross_validate(estimator, X, y, **settings),
        sklearn_cross_validate(estimator, X, y, **settings),
    )


@pytest.mark.parametrize("estimator", [Ridge(), LinearRegression()], ids=["ours", "theirs"])
@pytest.mark.parametrize("scoring", [None, ["r2", "neg_mean_absolute_error"]])
@pytest.mark.parametrize(
    "cv",
    [
        5,
        None,
        KFold(3, shuffle=True, random_state=0),
        RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
        ShuffleSplit(4, test_size=0.2, random_state=0),
        TimeSeriesSplit(3),
        GroupKFold(4),
        [(np.arange(60), np.arange(60, 90)), (np.arange(30, 120), np.arange(30))],
        [(np.arange(120) < 80, np.arange(120) >= 80), (np.arange(120) >= 40, np.arange(120) < 40)],
    ],
    ids=str,
)
def test_every_kind_of_fold(estimator, cv, scoring):
    X, _, z = rows()
    groups = np.arange(len(z)) % 7 if isinstance(cv, GroupKFold) else None
    settings = {"cv": cv, "scoring": scoring, "groups": groups, "return_indices": True}
    ours = cross_validate(estimator, X, z, **settings)
    theirs = sklearn_cross_validate(estimator, X, z, **settings)
    same(ours, theirs)
    for (train, test), a, b in zip(ours.folds, *theirs["indices"].values(), strict=True):
        np.testing.assert_array_equal(train, np.arange(len(z))[a])
        np.testing.assert_array_equal(test, np.arange(len(z))[b])


def test_a_generator_of_folds_and_a_plain_loop():
    X, _, z = rows()
    folds = list(KFold(5).split(X))
    ours = cross_validate(Ridge(), X, z, cv=(fold for fold in folds))
    naive = oracles.fold_by_fold(Ridge(), X, z, folds, lambda m, X, y: m.score(X, y))
    np.testing.assert_array_equal(ours["test_score"], naive)


def test_our_scorers_by_name():
    X, y, _ = rows()
    scoring = ["auc", "roc_auc", "matthews_correlation", "matthews_corrcoef"]
    found = cross_validate(GaussianNB(), X, y, scoring=scoring)
    np.testing.assert_allclose(found["test_auc"], found["test_roc_auc"], rtol=1e-12)
    np.testing.assert_allclose(
        found["test_matthews_correlation"], found["test_matthews_corrcoef"], rtol=1e-12
    )
    strict = cross_validate(GaussianNB(), X, y, scoring=scorer("specificity", pos_label=0))
    recall = cross_validate(GaussianNB(), X, y, scoring="recall")
    np.testing.assert_allclose(strict["test_score"], recall["test_score"], rtol=1e-12)
    with pytest.raises(ValueError, match="no scorer is called 'aucc'"):
        cross_validate(GaussianNB(), X, y, scoring="aucc")


def test_weights_are_cut_with_the_rows():
    X, y, _ = rows()
    weight = np.random.default_rng(1).uniform(0.1, 3.0, len(y))
    settings = {"params": {"sample_weight": weight}, "scoring": ["neg_log_loss", "accuracy"]}
    same(
        cross_validate(LogisticRegression(), X, y, **settings),
        sklearn_cross_validate(LogisticRegression(), X, y, **settings),
    )


def test_metadata_routing_reaches_fit_scorer_and_splitter():
    X, y, _ = rows()
    weight = np.random.default_rng(1).uniform(0.1, 3.0, len(y))
    groups = np.arange(len(y)) % 9
    with sklearn.config_context(enable_metadata_routing=True):
        model = LogisticRegression().set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=True)
        judge = make_scorer(accuracy_score).set_score_request(sample_weight=True)
        for scoring in (None, {"weighted": judge, "plain": "accuracy"}):
            settings = {
                "cv": GroupKFold(3),
                "scoring": scoring,
                "params": {"sample_weight": weight, "groups": groups},
            }
            if scoring is not None:
                plain = make_scorer(accuracy_score).set_score_request(sample_weight=False)
                settings["scoring"] = {"weighted": judge, "plain": plain}
            same(
                cross_validate(model, X, y, **settings),
                sklearn_cross_validate(model, X, y, **settings),
            )
        with pytest.raises(ValueError, match="groups go to the splitter through params"):
            cross_validate(model, X, y, groups=groups)


def test_rows_may_come_in_any_container():
    X, y, _ = rows()
    expected = cross_validate(LogisticRegression(), X, y, scoring="roc_auc")
    names = list("abcd")
    for table, target in [
        (X.tolist(), y.tolist()),
        (csr_array(X), y),
        (coo_array(X), y),
        (np.asfortranarray(X), y),
        (pd.DataFrame(X, columns=names), pd.Series(y, index=np.arange(len(y))[::-1])),
        (pl.DataFrame(X, schema=names), pl.Series(y)),
    ]:
        found = cross_validate(LogisticRegression(), table, target, scoring="roc_auc")
        np.testing.assert_allclose(found["test_score"], expected["test_score"], rtol=1e-12)
        np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-6, atol=1e-9)
        np.testing.assert_array_equal(found.targets, y)


def test_text_labels_and_more_than_two_classes():
    X, y, _ = rows(classes=3)
    names = np.array(["low", "middle", "top"])[y]
    found = cross_validate(GaussianNB(), X, names)
    assert found.curve is None and found.scores.shape == (len(y), 3)
    assert set(found.predictions) <= set(names)
    two = cross_validate(GaussianNB(), X, np.where(y == 2, "top", "rest"))
    assert two.curve.n_positive == (y == 2).sum()


def test_out_of_fold_answers_are_in_row_order():
    X, y, z = rows()
    found = cross_validate(LogisticRegression(), X, y)
    np.testing.assert_array_equal(found.rows, np.arange(len(y)))
    np.testing.assert_array_equal(
        found.predictions, cross_val_predict(LogisticRegression(), X, y, cv=5)
    )
    np.testing.assert_array_equal(
        found.scores,
        cross_val_predict(LogisticRegression(), X, y, cv=5, method="decision_function"),
    )
    np.testing.assert_array_equal(found.targets, y)
    later = cross_validate(Ridge(), X, z, cv=TimeSeriesSplit(4))
    assert later.scores is None and later.curve is None and len(later.rows) == 96
    twice = cross_validate(Ridge(), X, z, cv=RepeatedKFold(n_splits=4, n_repeats=2, random_state=0))
    np.testing.assert_array_equal(twice.rows, np.repeat(np.arange(len(z)), 2))
    np.testing.assert_array_equal(twice.targets, np.repeat(z, 2))


def test_the_curve_is_the_sum_of_the_folds():
    X, y, _ = rows()
    found = cross_validate(GaussianNB(), X, y, return_estimator=True)
    parts = [
        Curve.of(y[test], model.predict_proba(X[test])[:, 1], pos_label=1)
        for model, (_, test) in zip(found["estimator"], found.folds, strict=True)
    ]
    merged = reduce(Curve.__add__, parts)
    for name in ("high", "positive", "negative", "tpr", "fpr"):
        np.testing.assert_array_equal(getattr(found.curve, name), getattr(merged, name))


def test_certificates_of_models_pipelines_and_searches():
    X, y, _ = rows()
    model = LogisticRegression()
    search = GridSearchCV(model, {"C": [0.1, 1.0]}, cv=3)
    for estimator in (model, make_pipeline(StandardScaler(), model), search):
        found = cross_validate(estimator, X, y)
        assert all(c.relative_gap <= 1e-6 for c in found.certificates)
        fold, worst = found.worst
        assert worst is found.certificates[fold]
        assert worst.relative_gap == max(c.relative_gap for c in found.certificates)
    bare = cross_validate(GaussianNB(), X, y)
    assert bare.certificates == (None,) * 5 and bare.worst is None
    assert "certificate" in str(found) and "certificate" not in str(bare)


def test_the_interval_is_nadeau_and_bengios():
    X, y, _ = rows()
    cv = ShuffleSplit(15, test_size=0.2, random_state=0)
    found = cross_validate(GaussianNB(), X, y, cv=cv, scoring=["accuracy", "roc_auc"])
    mean, low, high, _ = oracles.corrected_t(list(found["test_roc_auc"]), 24, 96, 0.9)
    estimate = found.mean("roc_auc", level=0.9)
    np.testing.assert_allclose([estimate, estimate.low, estimate.high], [mean, low, high])
    assert "corrected resampled t, 15 folds" in found.summary() and "accuracy" in str(found)
    assert "roc_auc" in repr(found)
    with pytest.raises(ValueError, match="metric=None: choose one of 'accuracy', 'roc_auc'"):
        found.mean()
    once = cross_validate(GaussianNB(), X, y, cv=ShuffleSplit(1, random_state=0))
    assert np.isnan([once.mean().low, once.mean().high]).all()


def test_nothing_given_is_changed():
    X, y, _ = rows()
    model = make_pipeline(StandardScaler(), LogisticRegression())
    weight = np.ones(len(y))
    before = X.tobytes(), y.tobytes(), weight.tobytes(), repr(model)
    X.flags.writeable = y.flags.writeable = weight.flags.writeable = False
    cross_validate(model, X, y, params={"logisticregression__sample_weight": weight})
    assert before == (X.tobytes(), y.tobytes(), weight.tobytes(), repr(model))
    assert not vars(model.steps[-1][1]).get("coef_", [])


class Counting(ClassifierMixin, BaseEstimator):
    """Counts how often it is asked."""

    asked: list = []  # noqa: RUF012

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        self.asked.append("predict")
        return self.classes_[(self.decision_function(X) > 0).astype(int)]

    def decision_function(self, X):
        self.asked.append("decision_function")
        return X[:, 0]


def test_each_answer_is_asked_for_once():
    X, y, _ = rows()
    for scoring in (None, ["accuracy", "f1", "roc_auc", "average_precision"]):
        Counting.asked.clear()
        cross_validate(Counting(), X, y, scoring=scoring, cv=3)
        assert Counting.asked == ["predict", "decision_function", "decision_function"] * 3
    Counting.asked.clear()
    found = cross_validate(Counting(), X, y, scoring="roc_auc", cv=3, return_predictions=False)
    assert Counting.asked == ["decision_function"] * 3
    assert found.predictions is None and found.curve is None and found.targets is None


def test_estimators_without_a_target_or_predictions():
    X, _, _ = rows()
    found = cross_validate(GaussianMixture(2, random_state=0), X, cv=3)
    theirs = sklearn_cross_validate(GaussianMixture(2, random_state=0), X, cv=3)
    np.testing.assert_array_equal(found["test_score"], theirs["test_score"])
    assert found.targets is None and found.curve is None


def test_precomputed_kernels():
    X, y, _ = rows()
    K = X @ X.T
    same(
        cross_validate(SVC(kernel="precomputed"), K, y),
        sklearn_cross_validate(SVC(kernel="precomputed"), K, y),
    )


def test_tables_that_stay_where_they_are_are_refused():
    X, y, _ = rows()
    with pytest.raises(TypeError, match=r"table of blocks.*gather.*LogisticRegressionCV"):
        cross_validate(LogisticRegression(), as_blocks(X, y), y)
