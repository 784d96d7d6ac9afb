"""Certificates of scikit-learn's classifiers where fewer classes are fitted than are named."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import linear_model as lm
from sklearn import svm

import fenchel


def test_one_class_of_a_ridge_classifier_has_the_target_that_was_fitted() -> None:
    """scikit-learn labels a lone class -1: of y = 1 everywhere the intercept is -1, and the loss
    at it is zero."""
    X = np.arange(4.0)[:, None]
    for y in ([1, 1, 1, 1], [0, 0, 0, 0]):
        model = lm.RidgeClassifier().fit(X, y)
        assert model.intercept_[0] == -1.0
        assert fenchel.certify(model, X, y).value == 0.0
        through = lm.RidgeClassifier(fit_intercept=False).fit(X, y)
        value = np.sum((-1.0 - X[:, 0] * through.coef_[0]) ** 2) + through.coef_[0] ** 2
        assert fenchel.certify(through, X, y).value == pytest.approx(value, rel=1e-14)


def test_planes_fewer_than_classes_are_refused() -> None:
    """liblinear leaves out a class without weight, and predicts with the classes that remain."""
    X, y = np.arange(8.0)[:, None] % 5, np.array([0, 0, 2, 0, 2, 1, 3, 3])
    for weight in ([1, 1, 1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 0, 1, 1]):
        model = svm.LinearSVC().fit(X, y, weight)
        with pytest.raises(
            ValueError, match=r"coef_ has \d rows for 4 classes, not 4: a class whose"
        ):
            fenchel.certify(model, X, y, weight)
