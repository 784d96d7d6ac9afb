"""Distances other than the Euclidean one, by name, by function, or of a kernel's features.

    minkowski     (Σ |xⱼ - zⱼ|ᵖ)^{1/p}, p = 1: manhattan, p = ∞: chebyshev
    cosine        1 - x·z / (‖x‖ ‖z‖), and 1 where either row is zero
    haversine     2 arcsin √(sin²((x₁ - z₁)/2) + cos x₁ cos z₁ sin²((x₂ - z₂)/2))
    of a kernel   √(κ(x, x) + κ(z, z) - 2 κ(x, z))
    others        as `scipy.spatial.distance` defines them

All are computed in float64, a pair at a time, so that a distance does not depend on its tile; but
for those of a kernel, whose tiles may be matrix products.

Reference: Deza and Deza, Encyclopedia of Distances (2016).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import Array
from fenchel.geometry.distance import rows_in_order
from fenchel.geometry.kernel.centring import kernel_distances
from fenchel.geometry.kernel.vector_kernels import KernelFunction

Floats = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)
# scikit-learn's names, and what scipy calls them.
NAMED = {
    "braycurtis": "braycurtis",
    "canberra": "canberra",
    "chebyshev": "chebyshev",
    "infinity": "chebyshev",
    "cityblock": "cityblock",
    "l1": "cityblock",
    "manhattan": "cityblock",
    "correlation": "correlation",
    "cosine": "cosine",
    "dice": "dice",
    "hamming": "hamming",
    "jaccard": "jaccard",
    "mahalanobis": "mahalanobis",
    "minkowski": "minkowski",
    "p": "minkowski",
    "rogerstanimoto": "rogerstanimoto",
    "russellrao": "russellrao",
    "seuclidean": "seuclidean",
    "sokalsneath": "sokalsneath",
    "sqeuclidean": "sqeuclidean",
    "yule": "yule",
}
EUCLIDEAN = ("euclidean", "l2")
METRICS = tuple(sorted({*NAMED, *EUCLIDEAN, "haversine", "precomputed"}))
OF_TRUTH_VALUES = ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule")


class RowMetric(ABC):
    """A distance of two rows; rows are float arrays in C order, values float64.

    refuses_negative: of given numbers a negative one is a mistake; one of a formula is rounding,
    and a function may order points by anything.
    """

    name: str
    refuses_negative: ClassVar[bool] = False

    @abstractmethod
    def tile(self, A: Array, B: Array) -> Floats:
        """The matrix d(aᵢ, bⱼ)."""


@final
@dataclass(frozen=True)
class NamedMetric(RowMetric):
    """A distance of scipy, with its parameters."""

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def tile(self, A: Array, B: Array) -> Floats:
        from scipy.spatial.distance import cdist

        A, B = (rows_in_order(rows) for rows in (A, B))
        if self.name in OF_TRUTH_VALUES:
            A, B = A != 0, B != 0
        else:
            A, B = (rows.astype(np.float64, copy=False) for rows in (A, B))
        with np.errstate(invalid="ignore", divide="ignore"):
            distances = np.asarray(cdist(A, B, self.name, **self.parameters))
        if self.name == "cosine":
            distances[~A.any(axis=1)] = 1.0
            distances[:, ~B.any(axis=1)] = 1.0
            np.maximum(distances, 0.0, out=distances)
        return distances


@final
@dataclass(frozen=True)
class Haversine(RowMetric):
    """The angle between two points of a sphere, (latitude, longitude) in radians."""

    name = "haversine"

    def tile(self, A: Array, B: Array) -> Floats:
        A, B = (rows_in_order(rows).astype(np.float64, copy=False) for rows in (A, B))
        if A.shape[1] != 2:
            raise ValueError(
                f"metric='haversine' takes two columns, latitude and longitude in radians, got "
                f"{A.shape[1]}"
            )
        up = np.sin(0.5 * (A[:, :1] - B[:, 0])) ** 2
        along = np.sin(0.5 * (A[:, 1:] - B[:, 1])) ** 2
        square = up + np.cos(A[:, :1]) * np.cos(B[:, 0]) * along
        return np.asarray(2.0 * np.arcsin(np.sqrt(np.clip(square, 0.0, 1.0))))


@final
@dataclass(frozen=True)
class FunctionMetric(RowMetric):
    """A distance by a function of two rows, called once a pair: slow."""

    function: Callable[..., Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:  # type: ignore[override]
        return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(self.function))

    def tile(self, A: Array, B: Array) -> Floats:
        left, right = list(rows_in_order(A)), list(rows_in_order(B))
        values = [[self._number(a, b) for b in right] for a in left]
        return np.array(values, np.float64).reshape(len(left), len(right))

    def _number(self, a: Array, b: Array) -> float:
        value = self.function(a, b, **self.parameters)
        try:
            return float(value)
        except (TypeError, ValueError):
            raise ValueError(
                f"the metric {self.name} gave {repr(value)[:80]} for two rows: a distance must be "
                "one number"
            ) from None


@final
@dataclass(frozen=True)
class KernelMetric(RowMetric):
    """The distance of the features of a kernel; squares within the rounding errors of their terms,
    4 ε (κ(x, x) + κ(z, z)), are zero, so that equal rows lie at distance zero."""

    kernel: KernelFunction

    @property
    def name(self) -> str:  # type: ignore[override]
        return repr(self.kernel)

    def tile(self, A: Array, B: Array) -> Floats:
        A, B = self.kernel.prepared(A, B)
        squares = kernel_distances(self.kernel, A, B)
        size = self.kernel.diagonal(A)[:, None] + self.kernel.diagonal(B)
        squares[squares <= 4.0 * EPS * size] = 0.0
        return np.sqrt(squares, out=squares)


@final
@dataclass(frozen=True)
class GivenDistances(RowMetric):
    """d(x, xⱼ) = the j-th entry of x: rows hold their distances to all points, which are numbers of
    columns."""

    name = "precomputed"
    refuses_negative: ClassVar[bool] = True

    def tile(self, A: Array, B: Array) -> Floats:
        columns = np.asarray(B).reshape(-1).astype(np.int64)
        return np.asarray(rows_in_order(A)[:, columns], np.float64)


def is_euclidean(metric: Any, p: Any, parameters: Mapping[str, Any] | None) -> bool:
    """Whether a metric of scikit-learn's parameters is the plain Euclidean one."""
    given = parameters or {}
    if metric in ("minkowski", "p"):
        return given.get("w") is None and given.get("p", p) == 2
    return isinstance(metric, str) and metric in EUCLIDEAN


def metric_of(
    metric: Any, p: Any, parameters: Mapping[str, Any] | None, points: NDArray[Any]
) -> RowMetric:
    """The metric of scikit-learn's parameters. What a metric takes from the data, the variances of
    "seuclidean" and the inverse covariance of "mahalanobis", comes from the points."""
    given = dict(parameters or {})
    if callable(metric):
        return FunctionMetric(metric, given)
    if metric == "precomputed":
        return GivenDistances()
    if metric == "haversine":
        return Haversine()
    if metric not in NAMED:
        raise ValueError(
            f"metric={metric!r} is not known: take one of {', '.join(METRICS)}, or a function of "
            "two rows"
        )
    name = NAMED[metric]
    if name == "minkowski":
        given.setdefault("p", 2 if p is None else p)
        if not isinstance(given["p"], Real) or not float(given["p"]) > 0.0:
            raise ValueError(f"p must be positive, got {given['p']!r}")
        if np.isinf(float(given["p"])) and given.get("w") is None:
            return NamedMetric("chebyshev")
        if given.get("w") is not None:
            _check_weights(given["w"], points.shape[1])
    if name == "seuclidean" and "V" not in given:
        given["V"] = points.astype(np.float64, copy=False).var(axis=0, ddof=1)
    if name == "mahalanobis":
        if "V" in given:
            given["VI"] = np.linalg.pinv(np.asarray(given.pop("V"), np.float64), hermitian=True)
        elif "VI" not in given:
            covariance = np.atleast_2d(np.cov(points.astype(np.float64, copy=False).T))
            given["VI"] = np.linalg.pinv(covariance, hermitian=True)
    return NamedMetric(name, given)


def _check_weights(w: Any, d: int) -> None:
    values = np.asarray(w, np.float64)
    if values.shape != (d,) or not (values >= 0.0).all():
        raise ValueError(
            f"w of metric_params must hold {d} nonnegative weights, one for each column"
        )
