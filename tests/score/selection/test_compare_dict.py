"""Models compared from estimators and rows: the same folds for all, the same numbers as by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, RidgeClassifier
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fenchel import (
    LogisticRegression,
    ModelComparison,
    ModelComparisons,
    Ridge,
    compare_models,
    cross_validate,
    show,
)

rng = np.random.default_rng(0)
Y = np.arange(150) % 2
X = rng.normal(size=(150, 4)) + 0.5 * Y[:, None]
MODELS = {
    "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    "bayes": GaussianNB(),
    "forest": RandomForestClassifier(10),
}


@pytest.fixture(scope="module")
def found():
    return compare_models(MODELS, X, Y, cv=5, scoring="auc")


def test_it_is_the_comparison_by_hand(found):
    assert isinstance(found, ModelComparisons)
    assert list(found.means) == list(MODELS)
    hand = {
        name: cross_validate(model, X, Y, cv=5, scoring="auc") for name, model in MODELS.items()
    }
    for name, validation in hand.items():
        mean = validation.mean()
        assert found.means[name] == mean
        assert (found.means[name].low, found.means[name].high) == (mean.low, mean.high)
    assert len(found.pairs) == 3
    for (a, b), pair in found.pairs.items():
        by_hand = compare_models(hand[a], hand[b])
        assert isinstance(by_hand, ModelComparison) and isinstance(pair, ModelComparison)
        assert pair.difference == by_hand.difference and pair.p_value == by_hand.p_value
        assert pair.names == (a, b) and pair.means[a] == found.means[a]
    turned = found.between("bayes", "logistic")
    assert turned.difference == -found.pairs["logistic", "bayes"].difference
    assert found.best == max(found.means, key=found.means.get)


def test_the_folds_are_the_same_whatever_the_splitter():
    """A splitter without a seed would split every model's rows anew."""
    for cv in (ShuffleSplit(4, test_size=0.2), KFold(3, shuffle=True), iter(KFold(3).split(X))):
        found = compare_models(MODELS, X, Y, cv=cv)
        parts = [validation.folds for validation in found.validations.values()]
        for other in parts[1:]:
            for one, two in zip(parts[0], other, strict=True):
                np.testing.assert_array_equal(one[1], two[1])


def test_the_seed_and_the_jobs():
    first = compare_models(MODELS, X, Y, cv=3, random_state=3)
    again = compare_models(MODELS, X, Y, cv=3, random_state=3, n_jobs=2)
    for name in MODELS:
        np.testing.assert_array_equal(
            first.validations[name].test["score"], again.validations[name].test["score"]
        )


def test_two_models_have_one_difference():
    two = {name: MODELS[name] for name in ("logistic", "bayes")}
    found = compare_models(two, X, Y, scoring="accuracy", level=0.9)
    (pair,) = found.pairs.values()
    assert found.difference is pair.difference and found.p_value == pair.p_value
    assert (found.first, found.second) == (pair.first, pair.second)
    assert (found.t, found.degrees_of_freedom) == (pair.t, pair.degrees_of_freedom)
    np.testing.assert_array_equal(found.differences, pair.differences)
    assert found.difference.level == 0.9 and found.metric == "score"
    validations = compare_models(found.validations, level=0.9)
    assert validations.difference == found.difference


def test_p_values_are_adjusted_by_holm(found):
    raw = {pair: one.p_value for pair, one in found.pairs.items()}
    adjusted = found.adjusted()
    order = sorted(raw, key=raw.get)
    want = np.minimum(
        np.maximum.accumulate([raw[pair] * (3 - k) for k, pair in enumerate(order)]), 1
    )
    assert [adjusted[pair] for pair in order] == pytest.approx(want.tolist())
    assert "adjusted" in str(found)


def test_regressors_dataframes_groups_and_weights():
    frame = pd.DataFrame(X, columns=list("abcd"))
    target = pd.Series(X @ [1.0, 2.0, 0.0, 0.0] + rng.normal(size=150))
    found = compare_models(
        {"ridge": Ridge(), "least": LinearRegression()},
        frame,
        target,
        scoring="neg_mean_squared_error",
        params={"sample_weight": np.ones(150)},
    )
    assert found.measured.label == "mean squared error, lower is better"
    several = compare_models(
        {"ridge": RidgeClassifier(), "bayes": GaussianNB()},
        X,
        Y,
        scoring=["accuracy", "roc_auc"],
        metric="roc_auc",
    )
    assert several.metric == "roc_auc" and several.measured.label == "AUC"


def test_it_can_be_drawn(found):
    chart = show.comparison(found)
    assert chart.to_dict()["title"]["text"].startswith(f"{found.best}: AUC")
    assert show.fold_scores(found.validations).to_dict()["title"]["text"].startswith(found.best)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: compare_models([GaussianNB()], X, Y), TypeError, "dict, name to estimator"),
        (lambda: compare_models({"a": GaussianNB()}, X, Y), ValueError, "needs two or more"),
        (lambda: compare_models({1: GaussianNB(), "b": 2}, X, Y), TypeError, "1 is not a str"),
        (lambda: compare_models(MODELS), ValueError, "X is missing"),
        (lambda: compare_models({"a": 1, "b": 2}, X, Y), TypeError, "needs an estimator"),
        (
            lambda: compare_models(MODELS, X, Y, scoring=["accuracy", "roc_auc"]),
            ValueError,
            "choose one of 'accuracy', 'roc_auc'",
        ),
        (lambda: compare_models(MODELS, X, Y[:-1]), ValueError, "inconsistent numbers"),
        (
            lambda: compare_models(cross_validate(GaussianNB(), X, Y), GaussianNB()),
            TypeError,
            "validation_b must come from cross_validate, got GaussianNB",
        ),
    ],
)
def test_faults_are_named(call, error, said):
    with pytest.raises(error, match=said):
        call()


def test_the_pair_is_named(found):
    with pytest.raises(ValueError, match=r"3 models .* name two, as in between\('logistic', 'ba"):
        _ = found.difference
    with pytest.raises(ValueError, match="no model is called 'lasso': there are 'logistic'"):
        found.between("lasso", "bayes")
    with pytest.raises(ValueError, match="compared with itself"):
        found.between("bayes", "bayes")
