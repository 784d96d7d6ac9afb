"""What models say about rows, and what a constant is known to reach."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression

from fenchel.app.metrics import metrics
from fenchel.app.predictions import answers_of, is_constant
from fenchel.app.table.task import Task

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 3))
TWO = (X[:, 0] + rng.normal(size=120) > 0.4).astype(int)
THREE = np.digitize(X[:, 0] + rng.normal(size=120), [-0.5, 0.5])


def test_who_is_constant():
    for strategy in ("prior", "most_frequent", "stratified", "uniform"):
        model = DummyClassifier(strategy=strategy).fit(X, TWO)
        assert is_constant(model) == (strategy in ("prior", "most_frequent"))
        assert answers_of(model, X).constant == is_constant(model)
    assert is_constant(DummyRegressor().fit(X, TWO))
    assert not is_constant(LogisticRegression().fit(X, TWO))


def test_the_baseline_of_two_classes_is_exact_where_it_is():
    task = Task("two classes", "y", ("no", "yes"))
    model = DummyClassifier(strategy="prior").fit(X, TWO)
    found = metrics(task, TWO, answers_of(model, X))
    exact = {"auc": 0.5, "balanced_accuracy": 0.5, "mcc": 0.0, "recall": 0.0, "specificity": 1.0}
    for key, value in exact.items():
        assert found[key] == value and found[key].is_exact, key
    for key in ("accuracy", "log_loss", "brier", "average_precision"):
        assert found[key].low < found[key] < found[key].high, key
    fitted = metrics(task, TWO, answers_of(LogisticRegression().fit(X, TWO), X))
    assert all(not value.is_exact for value in fitted.values())


def test_the_baseline_of_three_classes_is_exact_where_it_is():
    task = Task("several classes", "y", ("a", "b", "c"))
    model = DummyClassifier(strategy="prior").fit(X, THREE)
    found = metrics(task, THREE, answers_of(model, X))
    assert found["balanced_accuracy"] == pytest.approx(1 / 3)
    assert found["balanced_accuracy"].is_exact and found["mcc"].is_exact
    assert not found["accuracy"].is_exact
