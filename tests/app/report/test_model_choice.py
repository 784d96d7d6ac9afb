"""Which model of a comparison is taken, and the rule that is given for it."""

from __future__ import annotations

import numpy as np
import pytest

from fenchel.app.catalogue import MODELS
from fenchel.app.report.analysis.model_comparison import _choice
from fenchel.app.table.task import Task
from fenchel.score.validation.cross_validation import cross_validate

TWO = Task("two classes", "y", ("a", "b"))


@pytest.fixture(scope="module")
def folds():
    """A function from scores of five folds to the judgement that has them."""
    from sklearn.dummy import DummyClassifier

    y = np.arange(100) % 2
    base = cross_validate(DummyClassifier(), np.zeros((100, 1)), y, cv=5, scoring="auc")

    def of(scores):
        from dataclasses import replace

        return replace(base, test={"score": np.array(scores)})

    return of


def chosen(folds, *scores):
    entries = MODELS["two classes"][: len(scores)]
    outer = [folds(one) for one in scores]
    best, taken, rule = _choice(TWO, entries, outer, np.array(scores))
    return entries[best].name, entries[taken].name, rule


def test_the_largest_mean_where_it_stands_first(folds):
    best, taken, rule = chosen(folds, [0.9, 0.91, 0.92, 0.9, 0.9], [0.8, 0.81, 0.82, 0.8, 0.8])
    assert best == taken == "logistic" and rule == "it has the largest mean AUC"


def test_the_first_within_one_standard_error(folds):
    best, taken, rule = chosen(folds, [0.9, 0.8, 0.92, 0.85, 0.9], [0.91, 0.81, 0.92, 0.86, 0.9])
    assert (best, taken) == ("logistic-l1", "logistic")
    assert rule == (
        "it is the first of the list whose mean AUC is within one standard error of the largest, "
        "that of logistic-l1"
    )


def test_probabilities_where_models_cannot_be_told_apart(folds):
    # The hinge is beyond one standard error, yet the folds do not tell it from the logistic loss.
    low, high = [0.80, 0.90, 0.79, 0.91, 0.85], [0.90, 0.901, 0.899, 0.90, 0.902]
    best, taken, rule = chosen(folds, low, low, high)
    assert (best, taken) == ("svm", "logistic")
    assert rule.startswith("it gives probabilities, and the folds cannot tell it from svm")
    clear = chosen(folds, [0.6] * 5, [0.61, 0.6, 0.6, 0.6, 0.6], high)
    assert clear[1] == "svm"  # it is better beyond doubt
