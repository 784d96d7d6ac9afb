"""Regression by the k nearest rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from fenchel.data.arrays import answer_type
from fenchel.geometry.search.search import Floats, Integers
from fenchel.models.array_namespace import fit_of_rows
from fenchel.models.estimator import as_numpy
from fenchel.models.neighbours.leave_one_out import SquaredError
from fenchel.models.neighbours.scoring_rows import values_out
from fenchel.models.neighbours.training_rows import valued_rows
from fenchel.models.neighbours.votes import refuse_no_votes, value_sums
from fenchel.models.neighbours.voting import Voting


class KNeighborsRegressor(MultiOutputMixin, RegressorMixin, Voting):
    """Regression by the mean of the k nearest rows, exact, with k by leave-one-out if wanted.

        f(x) = Σⱼ takenⱼ f(dⱼ) yⱼ / Σⱼ takenⱼ f(dⱼ)

    over the nearest rows, whose weights reach k. Equal distances go to the row with the lower
    number: the same answer for every `algorithm`.

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
    n_neighbors_ : int
    loo_errors_ : array
        For n_neighbors="auto": the mean squared leave-one-out error of 1, 2, … neighbours.
    loo_standard_errors_ : array
        The standard error of each.
    X_fit_, y_fit_, weight_fit_ : the training rows, their targets, their weights or None
    n_samples_fit_ : int
    effective_metric_ : str
    certificate_ : Certificate
        The leave-one-out error: "exact", since it is the definition of a number.

    Notes
    -----
    `sample_weight` counts copies: a row of weight 2 is two rows, so that n_neighbors is reached by
    weight and not by number; a row without weight is not there. Leave-one-out leaves one copy out.

    Reference: Stone, Consistent nonparametric regression, 1977.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fenchel import KNeighborsRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = KNeighborsRegressor(n_neighbors="auto").fit(X, y)
    >>> model.n_neighbors_, round(model.certificate_.value)
    (18, 3209)
    """

    definition = "mean squared leave-one-out error"
    elsewhere = "mean squared error"

    @fit_of_rows
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KNeighborsRegressor:
        """Keep the rows X and their targets y; sample_weight: how many copies of each."""
        self._learn(valued_rows(self, X, y, sample_weight))
        return self

    def _judge(self, voters: Integers | None) -> SquaredError:
        values = self.y_fit_.reshape(len(self.y_fit_), -1)
        return SquaredError.of(values if voters is None else values[voters])

    def predict(self, X: Any) -> Any:
        """The mean of the neighbours' targets, (n,) or (n, K), in X's precision; a tensor for a
        tensor. X=None: for the training rows, each by the others."""
        check_is_fitted(self)
        values, parts = self.y_fit_.reshape(len(self.y_fit_), -1), []
        for numbers, votes, start in self._votes(X):
            total, sums = value_sums(votes, values[numbers])
            refuse_no_votes(total, start)
            parts.append(sums / total[:, None])
        found = np.concatenate(parts).astype(answer_type(self.X_fit_), copy=False)
        return values_out(found.reshape(len(found), *self.y_fit_.shape[1:]), X)

    def _risk(self, X: Any, target: NDArray[Any], s: Floats) -> float:
        error = as_numpy(self.predict(X)).reshape(len(s), -1) - target.reshape(len(s), -1)
        return float(s @ (error * error).mean(axis=1)) / float(s.sum())
