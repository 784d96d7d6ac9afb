"""Classification by the k nearest rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from fenchel.data.arrays import answer_type
from fenchel.geometry.search.search import Floats, Integers
from fenchel.models.array_namespace import dispatches, fit_of_rows, on_device_of
from fenchel.models.estimator import as_numpy
from fenchel.models.neighbours.leave_one_out import Misclassified
from fenchel.models.neighbours.training_rows import labelled_rows
from fenchel.models.neighbours.votes import class_votes, refuse_no_votes
from fenchel.models.neighbours.voting import Voting


class KNeighborsClassifier(ClassifierMixin, Voting):
    """Classification by a vote of the k nearest rows, exact, with k by leave-one-out if wanted.

        p_c(x) = Σⱼ takenⱼ f(dⱼ) 1[yⱼ = c] / Σⱼ takenⱼ f(dⱼ)

    over the nearest rows, whose weights reach k. Equal distances go to the row with the lower
    number, equal votes to the smallest class: the same answer for every `algorithm`.

    Parameters
    ----------
    n_neighbors : int or "auto", default=5
        "auto": the smallest number, up to `max_neighbors`, with the least leave-one-out error.
    weights : {"uniform", "distance"} or callable, default="uniform"
        f: 1; 1/d, and where a distance is zero those rows alone; or a function of an array (n, m)
        of distances.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        Accepted; the answer is the same.
    leaf_size : int, default=30
        Accepted.
    p : float, default=2
        Of "minkowski".
    metric : str or callable, default="minkowski"
        A name of scikit-learn's, "precomputed" for rows of distances, or a function of two rows.
    metric_params : dict, default=None
    n_jobs : int, default=None
        Accepted; `fenchel.threads` sets the number of threads.
    kernel : str or kernel of fenchel.kernels, default=None
        In place of a metric: d² = κ(x, x) + κ(z, z) - 2 κ(x, z).
    max_neighbors : int, default=100
        The largest number that "auto" and `leave_one_out` look at.

    Attributes
    ----------
    classes_ : array of shape (K,)
    n_neighbors_ : int
    loo_errors_ : array
        For n_neighbors="auto": the leave-one-out error of 1, 2, … neighbours.
    loo_standard_errors_ : array
        The standard error of each.
    X_fit_, y_fit_, weight_fit_ : the training rows, codes of their classes, their weights or None
    n_samples_fit_ : int
    effective_metric_ : str
    certificate_ : Certificate
        The leave-one-out error: "exact", since it is the definition of a number.

    Notes
    -----
    `sample_weight` counts copies: a row of weight 2 is two rows, so that n_neighbors is reached by
    weight and not by number; a row without weight is not there. Leave-one-out leaves one copy out.

    Reference: Cover and Hart, Nearest neighbor pattern classification, 1967.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fenchel import KNeighborsClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KNeighborsClassifier(n_neighbors="auto").fit(X, y)
    >>> model.n_neighbors_, round(float(model.loo_errors_.min()), 4)
    (19, 0.02)
    """

    classes_: Any
    elsewhere = "share of rows misclassified"

    @fit_of_rows
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KNeighborsClassifier:
        """Keep the rows X and their labels y; sample_weight: how many copies of each."""
        training = labelled_rows(self, X, y, sample_weight)
        self.classes_ = training.classes
        self._learn(training)
        return self

    def _judge(self, voters: Integers | None) -> Misclassified:
        codes = self.y_fit_ if voters is None else self.y_fit_[voters]
        return Misclassified(codes, len(self.classes_))

    def _shares(self, X: Any) -> Floats:
        check_is_fitted(self)
        parts = []
        for numbers, votes, start in self._votes(X):
            each = class_votes(votes, self.y_fit_[numbers], len(self.classes_))
            refuse_no_votes(each.sum(axis=1), start)
            parts.append(each)
        return np.concatenate(parts)

    def predict(self, X: Any) -> Any:
        """The class with most votes, of equal ones the smallest; X=None: for the training rows,
        each by the others."""
        votes = self._shares(X)
        labels = self.classes_[votes.argmax(axis=1)]
        return on_device_of(labels, X) if X is not None and dispatches(X) else labels

    def predict_proba(self, X: Any) -> Any:
        """The share of the votes for each class, (n, K), in the precision of the rows; X=None as in
        `predict`."""
        votes = self._shares(X)
        shares = (votes / votes.sum(axis=1, keepdims=True)).astype(
            answer_type(self.X_fit_), copy=False
        )
        return on_device_of(shares, X) if X is not None and dispatches(X) else shares

    @property
    def _fitted_target(self) -> NDArray[Any]:
        return np.asarray(self.classes_[self.y_fit_])

    def _risk(self, X: Any, target: NDArray[Any], s: Floats) -> float:
        return float(s @ (as_numpy(self.predict(X)) != target)) / float(s.sum())
