"""Exact nearest neighbours without a target, and the graphs they make."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from fenchel.convex.certificate import Certificate
from fenchel.geometry.search.search import Within, rows_from, without_own_within
from fenchel.models.array_namespace import fit_of_rows
from fenchel.models.estimator import as_numpy
from fenchel.models.neighbours.neighbourhood import PARAMETERS, Neighbourhood, check_mode, graph
from fenchel.models.neighbours.scoring_rows import exact
from fenchel.models.neighbours.training_rows import plain_rows


class NearestNeighbors(Neighbourhood):
    """Exact nearest neighbours: the k nearest rows, or all within a radius.

    Equal distances go to the row with the lower number. Every `algorithm` gives the same answer:
    which one runs, a tree, products with a rigorous bound of the distances, or all distances, is
    decided by the shape of the rows.

    Parameters
    ----------
    n_neighbors : int, default=5
    radius : float, default=1.0
        What `radius_neighbors` asks for by default.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
    leaf_size : int, default=30
    metric : str or callable, default="minkowski"
        A name of scikit-learn's, "precomputed" for rows of distances, or a function of two rows.
    p : float, default=2
        Of "minkowski".
    metric_params : dict, default=None
    n_jobs : int, default=None
        Accepted; `fenchel.threads` sets the number of threads.
    kernel : str or kernel of fenchel.kernels, default=None
        In place of a metric: d² = κ(x, x) + κ(z, z) - 2 κ(x, z).

    Attributes
    ----------
    X_fit_ : array of shape (n, d)
    n_samples_fit_ : int
    effective_metric_ : str
    certificate_ : Certificate
        The mean distance of each training row to its nearest other rows: "exact", a definition.

    Notes
    -----
    Squared distances are one fixed sequence of float64 operations, so that neighbours do not depend
    on threads, tiles, blocks or the order of memory. `certify` gives the mean distance of its rows
    to their neighbours among the training rows.

    Reference: Friedman, Bentley and Finkel, 1977.

    Examples
    --------
    >>> from fenchel import NearestNeighbors
    >>> model = NearestNeighbors(n_neighbors=2).fit([[0.0], [1.0], [5.0], [1.0]])
    >>> distances, numbers = model.kneighbors([[1.5]])
    >>> distances.tolist(), numbers.tolist()
    ([[0.5, 0.5]], [[1, 3]])
    """

    definition = "mean distance to the neighbours"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PARAMETERS,
        "radius": [Interval(Real, 0, None, closed="left"), None],
    }

    def __init__(
        self,
        *,
        n_neighbors: int = 5,
        radius: float = 1.0,
        algorithm: str = "auto",
        leaf_size: int = 30,
        metric: Any = "minkowski",
        p: float = 2,
        metric_params: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
        kernel: Any = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.kernel = kernel

    @fit_of_rows
    def fit(self, X: Any, y: Any = None) -> NearestNeighbors:
        """Keep the rows; y is ignored."""
        self._keep(plain_rows(self, X))
        return self

    def radius_neighbors(
        self,
        X: Any = None,
        radius: float | None = None,
        return_distance: bool = True,
        sort_results: bool = False,
    ) -> Any:
        """All training rows within a radius of each row: arrays of arrays of distances and numbers,
        in the order of the numbers, or nearest first with `sort_results`. Without X those of each
        training row among the others."""
        if sort_results and not return_distance:
            raise ValueError("return_distance must be True if sort_results is True.")
        found = self._within(X, radius)
        if sort_results:
            rows = np.repeat(np.arange(len(found.starts) - 1), np.diff(found.starts))
            order = np.lexsort((found.numbers, found.distances, rows))
            found = Within(found.starts, found.numbers[order], found.distances[order])
        numbers = _ragged(found.numbers, found.starts)
        return (_ragged(found.distances, found.starts), numbers) if return_distance else numbers

    def radius_neighbors_graph(
        self,
        X: Any = None,
        radius: float | None = None,
        mode: str = "connectivity",
        sort_results: bool = False,
    ) -> Any:
        """The neighbours of `radius_neighbors` as a CSR matrix (n, rows of the fit), columns in
        order: ones, or distances for mode="distance"."""
        check_mode(mode)
        found = self._within(X, radius)
        values = found.distances if mode == "distance" else np.ones(len(found.numbers))
        numbers = found.numbers
        if sort_results:
            rows = np.repeat(np.arange(len(found.starts) - 1), np.diff(found.starts))
            order = np.lexsort((numbers, found.distances, rows))
            numbers, values = numbers[order], values[order]
        return graph(values, numbers, found.starts, self.n_samples_fit_)

    def _within(self, X: Any, radius: float | None) -> Within:
        check_is_fitted(self)
        r = float(self.radius if radius is None else radius)
        if not r >= 0.0:
            raise ValueError(f"radius must not be negative, got {r!r}")
        search = self._search(None)
        if X is None:
            found = search.within(self.X_fit_, r)
            return without_own_within(found, np.arange(self.n_samples_fit_))
        parts = []
        for start, Q in self._parts(X):
            with rows_from(start):
                parts.append(search.within(Q, r))
        counts = np.concatenate([np.diff(part.starts) for part in parts])
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return Within(starts, *(np.concatenate(s) for s in list(zip(*parts, strict=True))[1:]))

    @property
    def certificate_(self) -> Certificate:
        """Of the training rows among themselves; computed when asked for."""
        check_is_fitted(self)
        return _mean_distance(self.kneighbors()[0])

    def certify_on(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """The mean distance of the rows to their neighbours: a definition, so "exact"."""
        if sample_weight is not None:
            raise ValueError("NearestNeighbors has no sample_weight: leave it out")
        return _mean_distance(as_numpy(self.kneighbors(X)[0]))


def _mean_distance(distances: Any) -> Certificate:
    return exact(float(distances.mean()))


def _ragged(values: Any, starts: Any) -> Any:
    """An array of arrays."""
    out = np.empty(len(starts) - 1, dtype=object)
    for i in range(len(out)):
        out[i] = values[starts[i] : starts[i + 1]]
    return out


def kneighbors_graph(
    X: Any,
    n_neighbors: int,
    *,
    mode: str = "connectivity",
    metric: Any = "minkowski",
    p: float = 2,
    metric_params: Mapping[str, Any] | None = None,
    include_self: bool | str = False,
    n_jobs: int | None = None,
) -> Any:
    """The graph of k nearest neighbours of the rows of X, or of a fitted NearestNeighbors.

    include_self: whether a row is its own first neighbour; "auto": for mode="connectivity".

    Examples
    --------
    >>> from fenchel import kneighbors_graph
    >>> kneighbors_graph([[0.0], [3.0], [1.0]], 1).toarray().tolist()
    [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    model = X
    if not isinstance(X, Neighbourhood):
        model = NearestNeighbors(
            n_neighbors=n_neighbors,
            metric=metric,
            p=p,
            metric_params=metric_params,
            n_jobs=n_jobs,
        ).fit(X)
    return model.kneighbors_graph(_query(model, include_self, mode), n_neighbors, mode)


def radius_neighbors_graph(
    X: Any,
    radius: float,
    *,
    mode: str = "connectivity",
    metric: Any = "minkowski",
    p: float = 2,
    metric_params: Mapping[str, Any] | None = None,
    include_self: bool | str = False,
    n_jobs: int | None = None,
) -> Any:
    """The graph of the neighbours within a radius of the rows of X, or of a fitted
    NearestNeighbors; include_self as for `kneighbors_graph`.

    Examples
    --------
    >>> from fenchel import radius_neighbors_graph
    >>> radius_neighbors_graph([[0.0], [3.0], [1.0]], 1.5).toarray().tolist()
    [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    """
    model = X
    if not isinstance(X, NearestNeighbors):
        model = NearestNeighbors(
            radius=radius, metric=metric, p=p, metric_params=metric_params, n_jobs=n_jobs
        ).fit(X)
    return model.radius_neighbors_graph(_query(model, include_self, mode), radius, mode)


def _query(model: Any, include_self: bool | str, mode: str) -> Any:
    included = mode == "connectivity" if include_self == "auto" else include_self
    return model.X_fit_ if included else None
