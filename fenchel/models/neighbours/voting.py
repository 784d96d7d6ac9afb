"""Predictions by the k nearest rows, and k itself by leave-one-out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from fenchel.convex.certificate import Certificate
from fenchel.geometry.search.search import Floats, Integers, NeighbourSearch, rows_from
from fenchel.models.estimator import is_remote, validated_blocks
from fenchel.models.neighbours.leave_one_out import MeanErrors, NeighbourErrors, NeighboursLeftOut
from fenchel.models.neighbours.neighbourhood import PARAMETERS, Neighbourhood
from fenchel.models.neighbours.scoring_rows import are_rows_of_fit, exact, scored_targets
from fenchel.models.neighbours.training_rows import TrainingRows
from fenchel.models.neighbours.votes import distance_weights, neighbourhoods, taken


class Voting(Neighbourhood):
    """Estimators whose answer is a vote or a mean of the nearest training rows."""

    y_fit_: Any
    weight_fit_: Floats | None
    n_neighbors_: int
    definition = "leave-one-out error"
    elsewhere: ClassVar[str]  # what is taken of rows other than those of the fit

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PARAMETERS,
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "weights": [StrOptions({"uniform", "distance"}), callable, None],
        "max_neighbors": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_neighbors: int | str = 5,
        *,
        weights: Any = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float = 2,
        metric: Any = "minkowski",
        metric_params: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
        kernel: Any = None,
        max_neighbors: int = 100,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.kernel = kernel
        self.max_neighbors = max_neighbors

    def _learn(self, training: TrainingRows) -> None:
        """Keep the rows, and choose the number of neighbours."""
        self._keep(training)
        s = training.weight
        self.weight_fit_ = s
        self.y_fit_ = training.target
        for name in ("loo_errors_", "loo_standard_errors_", "certificate_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if not isinstance(self.n_neighbors, str):
            self.n_neighbors_ = int(self.n_neighbors)
            return
        mass = self._mass
        if mass < 2.0:
            raise ValueError(
                f"n_neighbors='auto' leaves one row out, and the rows (n_samples = "
                f"{len(training.rows)}) have a total weight of {mass:g}: give n_neighbors"
            )
        found = self._left_out(min(int(self.max_neighbors), int(mass) - 1))
        self.loo_errors_, self.loo_standard_errors_ = found.values()
        self.n_neighbors_ = found.best + 1
        self.certificate_ = exact(float(self.loo_errors_[found.best]))

    def leave_one_out(self, max_neighbors: int | None = None, return_std: bool = False) -> Any:
        """The exact leave-one-out error for 1, 2, … neighbours, from one search.

        Of a classifier the share of rows that the others misclassify; of a regressor the mean
        squared error. max_neighbors: by default the estimator's, or all where there are fewer.
        return_std: also the standard errors of these means, of rows as independent draws.
        """
        check_is_fitted(self, "X_fit_")
        if max_neighbors is None:
            max_neighbors = min(int(self.max_neighbors), int(self._mass) - 1)
        errors, spread = self._left_out(self._count(max_neighbors)).values()
        return (errors, spread) if return_std else errors

    def _left_out(self, most: int) -> MeanErrors:
        voters, s = self._voters()
        rows = self.X_fit_ if voters is None else self.X_fit_[voters]
        left = NeighboursLeftOut(self._search(voters), rows, np.arange(len(rows)), s)
        with rows_from(0, voters):
            return left.errors(self._judge(voters), self.weights, most)

    @abstractmethod
    def _judge(self, voters: Integers | None) -> NeighbourErrors:
        """How predictions for these training rows (None: all) are judged."""

    def _voters(self) -> tuple[Integers | None, Floats | None]:
        """The training rows with weight (None: all), and their weights (None: all one)."""
        s = self.weight_fit_
        if s is None or (s > 0.0).all():
            return None, s
        chosen = np.flatnonzero(s > 0.0)
        return chosen, s[chosen]

    def _votes(self, X: Any) -> Iterator[tuple[Integers, Floats, int]]:
        """For each block of rows the numbers of neighbours, their votes, and the first row; X is
        None for the training rows, each without itself."""
        check_is_fitted(self)
        voters, s = self._voters()
        search, k, start = self._search(voters), self.n_neighbors_, 0
        own = 1.0 if X is None else 0.0
        mass = (float(search.n_points) if s is None else float(s.sum())) - own
        found = (
            self._others(voters, s, search, k, mass)
            if X is None
            else self._new(X, s, search, k, mass)
        )
        for numbers, distances, counts in found:
            votes = taken(counts, k) * distance_weights(self.weights, distances)
            yield (numbers if voters is None else voters[numbers]), votes, start
            start += len(numbers)

    def _new(
        self, X: Any, s: Floats | None, search: NeighbourSearch, k: int, mass: float
    ) -> Iterator[tuple[Integers, Floats, Floats]]:
        for start, Q in self._parts(X):
            self._refuse_too_many(k, mass, Q.shape[0])
            with rows_from(start):
                numbers, distances = neighbourhoods(search, Q, k, s)
            yield numbers, distances, np.ones(numbers.shape) if s is None else s[numbers]

    def _others(
        self,
        voters: Integers | None,
        s: Floats | None,
        search: NeighbourSearch,
        k: int,
        mass: float,
    ) -> Iterator[tuple[Integers, Floats, Floats]]:
        n = self.n_samples_fit_
        self._refuse_too_many(k, mass, n)
        own = np.arange(n)
        if voters is not None:
            own = np.full(n, -1)
            own[voters] = np.arange(len(voters))
        left = NeighboursLeftOut(search, self.X_fit_, own, s)
        for rows in left.parts(k):
            yield left.neighbours(rows, k)

    @cached_property
    def certificate_(self) -> Certificate:
        """The leave-one-out error at `n_neighbors_`: "exact", a definition. Computed when asked
        for, unless n_neighbors="auto" has found it."""
        check_is_fitted(self)
        return exact(float(self.leave_one_out(self.n_neighbors_)[-1]))

    def certify_on(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """The mean error of the predictions for these rows, each with its weight: a definition, so
        "exact". On the very rows of the fit it is the leave-one-out error, as in `certificate_`,
        where there are neighbours enough to leave a row out."""
        if y is None and not is_remote(X):
            raise ValueError(f"certifying a {type(self).__name__} needs the target y of the rows")
        check_is_fitted(self, "X_fit_")
        target, s = scored_targets(X, y, sample_weight)
        if self._leaves_out(X, target, s):
            return exact(float(self.leave_one_out(self.n_neighbors_)[-1]))
        return exact(self._risk(X, target, s))

    def definition_on(self, X: Any, y: Any = None, sample_weight: Any = None) -> str:
        """What `certify_on` takes of these rows."""
        left_out = self._leaves_out(X, *scored_targets(X, y, sample_weight))
        return self.definition if left_out else self.elsewhere

    def _leaves_out(self, X: Any, target: NDArray[Any], s: Floats) -> bool:
        """Whether these are the rows of the fit, with neighbours enough to leave one out."""
        blocks, fitted = validated_blocks(self, X, reset=False), self._fitted_target
        return self.n_neighbors_ <= self._mass - 1.0 and are_rows_of_fit(
            blocks, target, s, self.X_fit_, fitted, self.weight_fit_
        )

    @property
    def _mass(self) -> float:
        s = self.weight_fit_
        return float(self.n_samples_fit_) if s is None else float(s.sum())

    @property
    def _fitted_target(self) -> NDArray[Any]:
        """The targets of the fit, as they were given."""
        return np.asarray(self.y_fit_)

    @abstractmethod
    def _risk(self, X: Any, target: NDArray[Any], s: Floats) -> float:
        """The mean error on some rows with targets and weights."""
