"""`kmeans_lower_bound`: how little any k centres can cost, by the spectrum or by semidefinite
relaxations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate, Kind
from fenchel.convex.partition.spectral_bounds import (
    lower_bound_in_units,
    scatter_bound,
    square_in_units,
)
from fenchel.data.blocks import Blocks, Totals
from fenchel.data.display.result_table import Tabular
from fenchel.data.display.rounding import DOWN, UP, percent, rounded
from fenchel.data.intake import as_blocks
from fenchel.models.cluster.bounds.best import LARGEST, BoundEffort, FoundBound, best_bound
from fenchel.models.cluster.centres import exponent_of, in_units
from fenchel.models.cluster.distinct import few_rows
from fenchel.models.cluster.kmeans import KMeans
from fenchel.models.cluster.rows import nearest_centres
from fenchel.models.estimator import as_numpy

STARTS = 4  # of k-means, where no centres are given
METHODS = ("spectral", "sdp")
ROUNDING = 1e-9  # of a value in relation to its bound, in words


@dataclass(frozen=True, slots=True)
class KMeansBound(Tabular):
    """What no k centres can go below.

    Attributes
    ----------
    n_clusters : k
    bound : no k centres cost the rows less than this
    kind : "spectral", "sdp" or, where the clustering that was looked at is proved to be the best,
        "exact"
    confidence : 1, but where random samples prove the bound
    value : J at the centres that were given or found; NaN where none were looked at
    method : how the bound was made, in words
    pieces, size : parts or samples, and rows of each; 0 where there were none

    Examples
    --------
    >>> from fenchel import kmeans_lower_bound
    >>> X = [[0.0, 0.0], [0.0, 2.0], [9.0, 0.0], [9.0, 2.0], [4.0, 9.0], [4.0, 7.0]]
    >>> found = kmeans_lower_bound(X, 3)
    >>> found.kind, found.confidence, found.value, found.words()
    ('exact', 1.0, 6.0, 'which is the best possible')
    """

    n_clusters: int
    bound: float
    kind: Kind
    confidence: float
    value: float
    method: str
    pieces: int = 0
    size: int = 0

    @property
    def excess(self) -> float:
        """By how much of the best possible the value exceeds it at most: value / bound - 1."""
        return self.certificate.excess

    @property
    def certificate(self) -> Certificate:
        """The value and the bound as a certificate."""
        return Certificate(self.value, self.bound, self.kind, confidence=self.confidence)

    def columns(self) -> dict[str, Any]:
        """One row."""
        names = ["n_clusters", "value", "bound", "kind", "confidence", "method"]
        return {name: [getattr(self, name)] for name in names}

    def caption(self) -> str:
        return f"{self}, by the {self.method}."

    def __str__(self) -> str:
        sure = "" if self.confidence == 1.0 else f" (with confidence {100 * self.confidence:g} %)"
        noun = "centres cost" if self.n_clusters > 1 else "centre costs"
        said = f"{self.n_clusters} {noun} at least {rounded(self.bound, DOWN, 4)}{sure}"
        if math.isnan(self.value):
            return said
        return f"{said}; those looked at cost {rounded(self.value, digits=4)}, {self.words()}"

    def words(self) -> str:
        """How far above the best possible the value is at most."""
        if self.kind == "exact" or self.excess <= ROUNDING:
            return "which is the best possible"
        if math.isinf(self.excess):
            return "and nothing is proved of how far that is from the best possible"
        return f"at most {percent(self.excess, UP)} above the best possible"


def kmeans_lower_bound(
    X: Any,
    k: int,
    method: Literal["spectral", "sdp"] = "sdp",
    confidence: float = 0.99,
    sample_weight: Any = None,
    random_state: int = 0,
    *,
    centers: Any = None,
    sample_size: int | None = None,
    samples: int = 100,
) -> KMeansBound:
    """A number below which no k centres can bring J(c) = Σᵢ sᵢ minⱼ ‖xᵢ - cⱼ‖².

    Parameters
    ----------
    X : array (n, d), CSR, dataframe, `scan`, dask or torch
    k : int
    method : {"spectral", "sdp"}
        "spectral": tr S - (λ₁ + … + λ_{k-1}), S the scatter matrix: one pass, and often loose.
        "sdp": the best of that and of what dual points of the Peng-Wei relaxation prove. Up to 500
        rows are relaxed together. Up to `samples` parts of `sample_size` rows, the relaxations of
        disjoint parts add up. Of larger tables random samples are relaxed, and their bound holds
        with the stated confidence, where it is better than the one that the clustering's own dual
        point proves for all rows together. Clusters far apart are proved to be the best there are.
    confidence : float, default 0.99
        Of bounds by random samples; all others hold without exception, and say 1.
    sample_weight : array (n,), optional
    random_state : int
        Of the k-means fit and of the samples.
    centers : array (k, d), optional
        A good clustering, which every method but "spectral" begins with; by default that of
        `KMeans(k, n_init=4)`. The bound holds for any, as long as random samples are not drawn by
        what chose them.
    sample_size, samples : int
        Rows of a part or sample, by default 200 or 10 k, and the most of them.

    Returns
    -------
    KMeansBound

    Notes
    -----
    Whatever the solvers did, the bound is that of a dual feasible point, with all roundings paid.
    A part of m rows takes O(m³) for each of at most 100 steps, mostly some 20 to 40: 200 rows take
    about 50 ms.

    References
    ----------
    Peng and Wei, SIAM J. Optim. 18 (2007). Mixon and Villar, Monte Carlo approximation certificates
    for k-means clustering, arXiv:1710.00956 (2017). Iguchi, Mixon, Peterson and Villar, Probably
    certifiably correct k-means clustering, Math. Program. 165 (2017). Zha and others, Spectral
    relaxation for k-means clustering, NIPS (2001).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fenchel import kmeans_lower_bound
    >>> X = load_iris().data
    >>> found = kmeans_lower_bound(X, 3)
    >>> found.kind, found.confidence, round(found.excess, 2)
    ('sdp', 1.0, 0.04)
    >>> found.value / kmeans_lower_bound(X, 3, "spectral").bound > 5.0
    True
    """
    _check(k, method, confidence, sample_size, samples, random_state)
    given = as_blocks(X, weight=sample_weight)
    if k > given.n_rows:
        raise ValueError(f"n_samples={given.n_rows} should be >= k={k}: lower k")
    exponent = exponent_of(given)
    blocks = in_units(given, exponent)
    if few_rows(blocks, k) is not None:
        words = f"rows themselves, of which at most {k} are different"
        return KMeansBound(k, 0.0, "exact", 1.0, 0.0, words)
    if method == "spectral" and centers is None:
        low = lower_bound_in_units(scatter_bound(blocks, k - 1), exponent)
        found = FoundBound(low, "spectral")
        return KMeansBound(k, low, "spectral", 1.0, math.nan, found.words)
    C = _centres(blocks, k, centers, exponent, random_state)
    J = _cost(blocks, C)
    if J == 0.0:
        return KMeansBound(k, 0.0, "exact", 1.0, 0.0, "value, which is 0")
    search = BoundEffort(confidence, random_state, sample_size, parts=samples, samples=samples)
    found = best_bound(blocks, C, J, None if method == "spectral" else search)
    low = lower_bound_in_units(min(found.bound, J), exponent)
    value = square_in_units(J, exponent)
    return KMeansBound(
        k, low, found.kind, found.confidence, value, found.words, found.pieces, found.size
    )


def _centres(blocks: Blocks, k: int, centers: Any, exponent: int, seed: int) -> NDArray[Any]:
    """Those given, or those of a fit, in units and precision of the blocks."""
    if centers is None:
        model = KMeans(k, n_init=STARTS, random_state=seed, prove=False)
        return np.ascontiguousarray(model.fit(blocks).cluster_centers_.astype(blocks.dtype))
    C = as_numpy(centers)
    if C.shape != (k, blocks.n_cols):
        raise ValueError(f"centers must be of shape ({k}, {blocks.n_cols}), got {C.shape}")
    if not np.isfinite(C).all():
        raise ValueError("centers must be finite")
    return np.ascontiguousarray(np.ldexp(C.astype(np.float64), -exponent).astype(blocks.dtype))


def _cost(blocks: Blocks, C: NDArray[Any]) -> float:
    """J(c)."""

    def stat(block: Any) -> Totals:
        squares = nearest_centres(block.X, C)[1]
        s = None if block.weight is None else np.asarray(as_numpy(block.weight), np.float64)
        return Totals(float(squares.sum() if s is None else squares @ s))

    return float(blocks.reduce(stat)[0])


def _check(k: Any, method: Any, confidence: Any, size: Any, samples: Any, seed: Any) -> None:
    for name, value, least in (("k", k, 1), ("samples", samples, 1), ("random_state", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
            raise ValueError(f"{name} must be a whole number, {least} or more, got {value!r}")
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence!r}")
    if size is not None and (not isinstance(size, Integral) or not k < size <= LARGEST):
        words = f"sample_size must be a whole number above k={k} and at most {LARGEST}"
        raise ValueError(f"{words}, got {size!r}")
