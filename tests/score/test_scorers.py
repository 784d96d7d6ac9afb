"""Scorers of this room inside scikit-learn: which answer they ask for, which class is positive."""

from __future__ import annotations

import inspect
import pickle
from inspect import signature

import numpy as np
import pytest
from sklearn import metrics
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import fenchel
from fenchel import LogisticRegression, binomial_interval, neyman_pearson_threshold, scorer
from fenchel.score.scorers import SCORERS, neyman_pearson_rate

GIVEN = {"local_auc": {"rate": 0.2}, "partial_auc": {"max_fpr": 0.3}}


def task(n=300, classes=2, seed=0):
    X, y = make_classification(
        n, 5, n_informative=4, n_redundant=0, n_classes=classes, flip_y=0.2, random_state=seed
    )
    return X, y


def made(name):
    return scorer(name, **GIVEN.get(name, {}))


def test_every_metric_is_a_scorer():
    """A new metric joins `SCORERS`, with what it asks the estimator for."""
    asked = {"y_pred", "y_score", "y_proba"}
    public = (getattr(fenchel.score, name) for name in fenchel.score.__all__)
    metrics = {
        one
        for one in public
        if inspect.isfunction(one) and signature(one).return_annotation == "float"
        for first, second, *_ in [[*signature(one).parameters, "", ""]]
        if first == "y_true" and second in asked
    }
    # scikit-learn's own scorers of these names are ours too; a slope of 1 and an intercept of 0 are
    # best, not the greatest.
    others = {"roc_auc_score", "average_precision_score", "calibration_slope"}
    others |= {"calibration_intercept"}
    missing = metrics - {metric for metric, *_ in SCORERS.values()}
    assert {one.__name__ for one in missing} <= others


@pytest.mark.parametrize("name", SCORERS)
def test_a_scorer_is_its_metric(name):
    X, y = task()
    weight = np.where(y == 1, 2.0, 1.0)
    model = LogisticRegression().fit(X, y)
    metric, response, greater = SCORERS[name]
    answer = getattr(model, response if isinstance(response, str) else response[0])(X)
    answer = answer[:, 1] if response == "predict_proba" else answer
    sign = 1.0 if greater else -1.0
    assert made(name)(model, X, y) == sign * metric(y, answer, **GIVEN.get(name, {}))
    weighed = made(name)(model, X, y, sample_weight=weight)
    assert weighed == sign * metric(y, answer, sample_weight=weight, **GIVEN.get(name, {}))
    assert type(weighed) is float


@pytest.mark.parametrize("name", SCORERS)
def test_names_of_classes_and_order_do_not_matter(name):
    """The positive class is classes_[1], whatever it is called."""
    X, y = task()
    text = np.array(["no", "yes"])[y]
    first = made(name)(LogisticRegression().fit(X, y), X, y)
    assert made(name)(LogisticRegression().fit(X, text), X, text) == pytest.approx(first, rel=1e-6)
    mirrored = LogisticRegression().fit(X, 1 - y)
    if "pos_label" in SCORERS[name][0].__kwdefaults__:
        turned = scorer(name, pos_label=0, **GIVEN.get(name, {}))
        assert turned(mirrored, X, 1 - y) == pytest.approx(first, rel=1e-6)


@pytest.mark.parametrize("name", SCORERS)
def test_a_scorer_pickles(name):
    X, y = task()
    model = GaussianNB().fit(X, y)
    again = pickle.loads(pickle.dumps(made(name)))
    assert again(model, X, y) == made(name)(model, X, y)
    assert repr(again) == repr(made(name))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("auc", "roc_auc"),
        ("average_precision", "average_precision"),
        ("accuracy", "accuracy"),
        ("balanced_accuracy", "balanced_accuracy"),
        ("matthews_correlation", "matthews_corrcoef"),
        ("f1", "f1"),
        ("precision", "precision"),
        ("recall", "recall"),
        ("neg_brier_score", "neg_brier_score"),
        ("neg_log_loss", "neg_log_loss"),
    ],
)
def test_values_are_scikit_learns(ours, theirs):
    X, y = task()
    for model in (GaussianNB(), DecisionTreeClassifier(max_depth=3, random_state=0)):
        model.fit(X, y)
        expected = metrics.get_scorer(theirs)(model, X, y)
        assert scorer(ours)(model, X, y) == pytest.approx(expected, abs=1e-12)


def test_models_without_probabilities_or_decision_function():
    X, y = task()
    assert scorer("auc")(LinearSVC().fit(X, y), X, y) > 0.6
    assert scorer("auc")(GaussianNB().fit(X, y), X, y) > 0.6
    with pytest.raises(AttributeError, match="predict_proba"):
        scorer("neg_brier_score")(LinearSVC().fit(X, y), X, y)


@pytest.mark.parametrize("name", ["neg_brier_score", "neg_log_loss", "matthews_correlation"])
def test_three_classes(name):
    X, y = task(classes=3)
    model = GaussianNB().fit(X, y)
    theirs = "matthews_corrcoef" if name == "matthews_correlation" else name
    expected = metrics.get_scorer(theirs)(model, X, y)
    assert scorer(name)(model, X, y) == pytest.approx(expected, rel=1e-12)
    macro = metrics.get_scorer("f1_macro")(model, X, y)
    assert scorer("f1", average="macro")(model, X, y) == pytest.approx(macro, rel=1e-12)
    with pytest.raises(ValueError, match="one column"):
        scorer("auc")(model, X, y)


@pytest.mark.parametrize(
    "rule",
    [
        scorer("local_auc", rate=0.2),
        scorer("partial_auc", max_fpr=0.2),
        scorer("neyman_pearson", alpha=0.1, delta=0.1),
    ],
    ids=["local_auc", "partial_auc", "neyman_pearson"],
)
def test_grid_search_in_two_processes(rule):
    X, y = task(n=400)
    found = [
        GridSearchCV(
            DecisionTreeClassifier(random_state=0),
            {"max_depth": [1, 4]},
            scoring=rule,
            cv=3,
            n_jobs=jobs,
            error_score="raise",
        )
        .fit(X, y)
        .cv_results_["mean_test_score"]
        for jobs in (1, 2)
    ]
    assert (found[0] == found[1]).all() and np.isfinite(found[0]).all()
    assert found[0][1] > found[0][0]


def test_several_at_once():
    X, y = task()
    rules = {name: made(name) for name in ("auc", "f1", "neg_log_loss")}
    found = cross_validate(GaussianNB(), X, y, scoring=rules, cv=3, error_score="raise")
    assert (found["test_neg_log_loss"] < 0.0).all() and (found["test_auc"] > 0.5).all()
    ours = fenchel.cross_validate(GaussianNB(), X, y, scoring=rules, cv=3)
    assert np.allclose(ours["test_auc"], found["test_auc"])


# ------------------------------------------------------------------------- the Neyman-Pearson rule


def test_the_rate_at_the_promised_error():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, size=300)
    score = np.round(rng.standard_normal(300) + y, 1)
    t = neyman_pearson_threshold(score[y == 0], 0.1, 0.05)
    share = np.mean([s > float(t) for s in score[y == 1]])
    assert neyman_pearson_rate(y, score, alpha=0.1) == share
    found = neyman_pearson_rate(y, score, alpha=0.1, level=0.9)
    hits, positives = int(share * (y == 1).sum() + 0.5), int((y == 1).sum())
    assert (found.low, found.high) == binomial_interval(hits, positives, 0.9)
    weight = np.where(y == 1, rng.exponential(size=300), 3.0)
    heavy = neyman_pearson_rate(y, score, alpha=0.1, sample_weight=weight, level=0.9)
    ones = y == 1
    assert heavy == pytest.approx(weight[ones & (score > float(t))].sum() / weight[ones].sum())
    assert heavy.low < heavy < heavy.high


def test_too_few_negatives_is_an_error():
    X, y = task(n=150)
    search = GridSearchCV(
        GaussianNB(), {}, scoring=scorer("neyman_pearson"), cv=3, error_score="raise"
    )
    with pytest.raises(ValueError, match="at least 59 negatives, got 2"):
        search.fit(X, y)


# ---------------------------------------------------------------------------------- what is asked


def test_scikit_learns_names_pass():
    assert scorer("r2") is not None
    X, y = task()
    model = GaussianNB().fit(X, y)
    assert scorer("roc_auc_ovr")(model, X, y) == metrics.get_scorer("roc_auc_ovr")(model, X, y)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("giny", {}, "no scorer is called 'giny': there are accuracy, auc"),
        ("r2", {"x": 1}, "'r2' is scikit-learn's scorer and takes no parameters here"),
        ("auc", {"max_fpr": 0.1}, "'auc' has no parameter 'max_fpr': it has sample_weight, pos_l"),
        ("auc", {"level": 0.9}, "'auc' has no parameter 'level'"),
        ("local_auc", {}, r"'local_auc' needs rate, as in scorer\('local_auc', rate=0.1\)"),
    ],
)
def test_errors_name_what_is_wrong(name, parameters, message):
    with pytest.raises(ValueError, match=message):
        scorer(name, **parameters)
