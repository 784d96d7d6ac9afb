"""Folds that cannot be fitted or judged: errors that name the fold and the remedy, or a score."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold
from sklearn.naive_bayes import GaussianNB

from fenchel import FoldFailed, LogisticRegression, cross_validate, learning_curve, select


def sorted_rows(classes=2, n=60):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(classes), n // classes)
    return rng.normal(size=(n, 3)) + y[:, None], np.array(["a", "b", "c"])[y]


class Brittle(RegressorMixin, BaseEstimator):
    """Fails where the first row's target is what it dreads."""

    def __init__(self, dread=0.0, alpha=1.0):
        self.dread = dread
        self.alpha = alpha

    def fit(self, X, y):
        if self.dread in y[:1]:
            raise ArithmeticError("it was there")
        self.mean_ = y.mean()
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def test_a_class_missing_in_training_is_named():
    X, y = sorted_rows(3)
    with pytest.raises(ValueError, match=r"fold 1 has no row of class 'a' to fit on.*Stratified"):
        cross_validate(GaussianNB(), X, y, cv=[(np.arange(60), np.arange(9)), *KFold(3).split(X)])
    with pytest.raises(ValueError, match="fold 0 has no row of class 'a'"):
        select(GaussianNB(), {"var_smoothing": [1e-9, 1e-3]}, X, y, cv=KFold(3))
    cross_validate(GaussianNB(), X, y, cv=StratifiedKFold(3))


def test_a_missing_class_can_be_scored_instead():
    X, y = sorted_rows(3)
    folds = [*StratifiedKFold(2).split(X, y), *KFold(3).split(X)]
    with pytest.warns(FoldFailed, match=r"3 of 5 fits failed.* are nan now.*fold 2 has no row"):
        found = cross_validate(GaussianNB(), X, y, cv=folds, error_score=np.nan)
    assert np.isnan(found["test_score"]).tolist() == [False, False, True, True, True]
    assert np.isnan(found.mean()) and len(found.rows) == 60 and len(found.predictions) == 60


@pytest.mark.filterwarnings("ignore:Only one class:sklearn.exceptions.UndefinedMetricWarning")
def test_one_class_to_judge_by_is_named():
    X, y = sorted_rows()
    folds = [*StratifiedKFold(2).split(X, y), (np.arange(10, 60), np.arange(10))]
    with pytest.raises(ValueError, match=r"roc_auc is NaN in fold 2, where every row is of class "):
        cross_validate(GaussianNB(), X, y, cv=folds, scoring=["accuracy", "roc_auc"])
    with pytest.warns(FoldFailed, match=r"1 of 3 fits .* score is NaN in fold 2.* 'a'.*Stratified"):
        found = cross_validate(GaussianNB(), X, y, cv=folds, scoring="roc_auc", error_score=np.nan)
    assert np.isnan(found["test_score"]).tolist() == [False, False, True]
    assert found.curve.n_positive == 30 and len(found.rows) == 70
    with pytest.raises(ValueError, match=r"one class only(.|\n)*score could not .* fold 2, where"):
        cross_validate(GaussianNB(), X, y, cv=folds, scoring="auc")
    plain = cross_validate(GaussianNB(), X, y, cv=folds)
    assert plain.curve.n_negative == 30  # ten of them were judged twice, and are ten rows


@pytest.mark.filterwarnings("ignore:R.2 score is not well-defined")
def test_an_undefined_score_of_one_row():
    X, _ = sorted_rows()
    z = X.sum(axis=1) + X[:, 0] ** 2
    with pytest.raises(ValueError, match="score is NaN in fold 0: pass error_score=nan"):
        cross_validate(LinearRegression(), X, z, cv=LeaveOneOut())
    found = cross_validate(
        LinearRegression(), X, z, cv=LeaveOneOut(), scoring="neg_mean_absolute_error"
    )
    assert found["test_score"].shape == (60,)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_keeps_its_type_and_names_the_fold(n_jobs):
    X, _ = sorted_rows()
    z = np.arange(60.0)
    with pytest.raises(ArithmeticError, match="it was there\nfold 0 could not be fitted"):
        cross_validate(Brittle(12.0), X, z, n_jobs=n_jobs)


def test_a_fit_that_fails_can_be_scored_instead():
    X, _ = sorted_rows()
    z = np.arange(60.0)
    message = r"1 of 5 fits .* are -1.0 now; the first: fold 0 could not.*Arithmetic.*it was there"
    with pytest.warns(FoldFailed, match=message):
        found = cross_validate(
            Brittle(12.0), X, z, error_score=-1, return_train_score=True, return_estimator=True
        )
    assert found["test_score"][0] == found["train_score"][0] == -1.0
    assert (found["test_score"][1:] != -1.0).all() and found["estimator"][0] is None
    np.testing.assert_array_equal(found.rows, np.arange(12, 60))
    np.testing.assert_array_equal(found.targets, z[12:])
    with pytest.raises(ValueError, match=r"all 5 fits failed; the first: fold 0"):
        cross_validate(Brittle(0.0), X, np.zeros(60), error_score=np.nan)


def test_a_scorer_that_fails():
    X, y = sorted_rows()

    def picky(model, X, y):
        if X[0, 0] == first:
            raise LookupError("not this one")
        return 0.5

    first = X[12, 0]
    folds = list(KFold(5).split(X[::-1], y))
    scoring = {"picky": picky, "accuracy": "accuracy"}
    with pytest.raises(LookupError, match="not this one\npicky could not be computed in fold 1"):
        cross_validate(GaussianNB(), X, y, cv=folds, scoring=scoring)
    with pytest.warns(FoldFailed, match="picky could not be computed in fold 1.*not this one"):
        found = cross_validate(GaussianNB(), X, y, cv=folds, scoring=scoring, error_score=0.25)
    assert found["test_picky"].tolist() == [0.5, 0.25, 0.5, 0.5, 0.5]
    assert (found["test_accuracy"] > 0).all()
    with pytest.raises(ValueError, match="'score' must be one number, got 'good'"):
        cross_validate(GaussianNB(), X, y, scoring=lambda model, X, y: "good")


def test_candidates_that_fail_lose():
    X, _ = sorted_rows()
    z = np.arange(60.0)
    with pytest.warns(FoldFailed, match="1 of 10 fits .* fold 0 with dread=12.0 could not"):
        found = select(Brittle(), {"dread": [12.0, -1.0]}, X, z, error_score=np.nan)
    assert found.params == {"dread": -1.0} and np.isnan(found.scores[0, 0])
    with pytest.raises(ArithmeticError, match=r"fold 0 with dread=12\.0 could not be fitted"):
        select(Brittle(), {"dread": [12.0, -1.0]}, X, z)


def test_few_rows_of_sorted_classes():
    X, y = sorted_rows()
    with pytest.raises(
        ValueError, match=r"fold 0 with 4 training rows has no row of class 'b'.*sh"
    ):
        learning_curve(LogisticRegression(), X, y, train_sizes=[4, 48])


def test_warnings_point_at_the_caller():
    X, _ = sorted_rows()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        cross_validate(Brittle(12.0), X, np.arange(60.0), error_score=np.nan)
    assert [w.filename for w in told] == [__file__]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"error_score": "skip"}, "error_score must be 'raise' or a number, got 'skip'"),
        ({"scoring": []}, "scoring is empty"),
        ({"scoring": ["accuracy", "accuracy"]}, "scoring names a metric twice"),
        ({"scoring": [accuracy_score]}, "give scorers as a dict"),
        ({"scoring": accuracy_score}, "make_scorer"),
        ({"scoring": 3}, "scoring must be None, a name"),
        ({"cv": [(np.arange(5), np.arange(60, 70))]}, "fold 0 of cv names row 69 of 60 rows"),
        ({"cv": [(np.arange(50), np.zeros(0))]}, "fold 0 has no row to judge"),
        ({"cv": [(np.arange(50.0), np.arange(9))]}, "fold 0 of cv must be two arrays of row num"),
        ({"cv": []}, "makes no fold"),
        ({"n_jobs": 0}, "n_jobs must be None"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_arguments_that_make_no_sense(settings, message):
    X, y = sorted_rows()
    with pytest.raises(ValueError, match=message):
        cross_validate(GaussianNB(), X, y, **settings)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_jobs": "two"}, ValueError, "n_jobs must be None or a whole number"),
        ({"params": 3}, TypeError, "params must be a dict"),
    ],
)
def test_arguments_of_the_wrong_type(settings, error, message):
    X, y = sorted_rows()
    with pytest.raises(error, match=message):
        cross_validate(GaussianNB(), X, y, **settings)
