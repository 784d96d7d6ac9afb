"""Clusterings and projections judged: how far what they leave over may be from the least."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fenchel.convex.certificate import Certificate, Kind
from fenchel.data.arrays import host, is_sparse
from fenchel.data.table import as_blocks
from fenchel.score.groups import Floats

EPS = float(np.finfo(np.float64).eps)


def certify_clusters(X: Any, labels: Any) -> Certificate:
    """The scatter within clusters, and a bound that no clustering into as many can beat.

    Σᵢ |xᵢ - m(cᵢ)|² ≥ optimum ≥ tr S - (λ₁ + … + λ_{k-1})

    with m(c) the mean of cluster c, S the scatter matrix and λ its eigenvalues from the largest
    down: the best centres lie in an affine space of dimension k - 1, and no such space comes
    nearer to the rows than that of the first k - 1 principal components. The bound is honest about
    being loose: it is exact where clusters are points on a line or all alike, and far below the
    optimum where each cluster is wide in many directions. O(n d min(n, d)).

    Parameters
    ----------
    X : array of shape (n, d)
    labels : array of shape (n,)
        The cluster of each row, from any estimator; k is the number of different ones.

    Returns
    -------
    Certificate
        Of kind "spectral".

    References
    ----------
    Zha, He, Ding, Gu and Simon, Spectral relaxation for k-means clustering, NIPS (2001).
    Ding and He, K-means clustering via principal component analysis, ICML (2004).

    Examples
    --------
    >>> from fenchel import certify_clusters
    >>> c = certify_clusters([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1])
    >>> c.value, c.bound
    (1.0, 0.0)
    """
    cloud = _Cloud(X)
    left = apart(cloud.rows, labels)
    return cloud.certificate(left, len(np.unique(np.asarray(labels))) - 1, "spectral")


def certify_projection(X: Any, components: Any) -> Certificate:
    """What a projection leaves over, and a bound that no other of its dimension can beat.

    Σᵢ |(I - P)(xᵢ - m)|² ≥ optimum = tr S - (λ₁ + … + λᵣ)

    with P the projection onto the rows of `components`, which need not be orthogonal, m the mean
    and r their rank: principal components reach the optimum. O(n d min(n, d)).

    Parameters
    ----------
    X : array of shape (n, d)
    components : array of shape (r, d)
        Directions such as `PCA().fit(X).components_`.

    Returns
    -------
    Certificate
        Of kind "eigen".

    References
    ----------
    Eckart and Young, The approximation of one matrix by another of lower rank, Psychometrika 1
    (1936).

    Examples
    --------
    >>> from fenchel import certify_projection
    >>> X = [[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0]]
    >>> c = certify_projection(X, [[1.0, 0.0]])
    >>> round(c.value, 9), round(c.bound, 9)
    (1.0, 1.0)
    """
    cloud = _Cloud(X)
    W = np.atleast_2d(np.asarray(components, dtype=np.float64))
    if W.ndim != 2 or W.shape[1] != cloud.rows.shape[1]:
        raise ValueError(f"components must have {cloud.rows.shape[1]} columns, got {W.shape}")
    if not np.isfinite(W).all():
        raise ValueError("components must be finite")
    # Singular vectors of the directions: repeated ones and such of length zero span nothing new.
    _, size, V = np.linalg.svd(W, full_matrices=False)
    V = V[size > max(W.shape) * EPS * size.max(initial=0.0)]
    return cloud.certificate(cloud.rows - (cloud.rows @ V.T) @ V, len(V), "eigen")


def apart(rows: Floats, labels: Any) -> Floats:
    """The rows less the mean of their cluster."""
    found, codes = np.unique(np.asarray(labels), return_inverse=True)
    if codes.shape != (len(rows),):
        raise ValueError(f"labels must be one for each of {len(rows)} rows, got {codes.shape}")
    # Two rounds: the mean of what the first one leaves makes good its rounding.
    left = rows.copy()
    for code in range(len(found)):
        mine = codes == code
        part = left[mine]
        part -= part.mean(axis=0)
        left[mine] = part - part.mean(axis=0)
    return left


def scatter_spectrum(X: Any) -> Floats:
    """Eigenvalues of the scatter matrix Σᵢ (xᵢ - m)(xᵢ - m)', the largest first."""
    cloud = _Cloud(X)
    return cloud.values * cloud.scale * cloud.scale


def scatter_bounds(X: Any, most: int) -> Floats:
    """Lower bounds of the scatter within 1, 2, …, `most` clusters."""
    cloud = _Cloud(X)
    return np.array([cloud.bound(r) for r in range(most)]) * cloud.scale * cloud.scale


class _Cloud:
    """Rows around their mean, over a power of two that keeps squares in range."""

    def __init__(self, X: Any) -> None:
        given = as_blocks(X).gather().X
        rows = np.asarray(host(given.toarray() if is_sparse(given) else given), np.float64)
        n, d = rows.shape
        most = np.abs(rows).max(axis=0, initial=0.0)
        self.scale = 2.0 ** math.frexp(float(most.max(initial=0.0)))[1]
        rows, most = rows / self.scale, most / self.scale
        rows = rows - rows.mean(axis=0)
        rows -= rows.mean(axis=0)
        self.rows = rows
        self.total = float(np.sum(rows * rows))
        # How far the rows are from those around the true mean, as a matrix: two roundings of each
        # entry, and a mean of n terms.
        self.drift = 6.0 * EPS * math.sqrt(n) * float(np.linalg.norm(most))
        self.drift += 2.0 * EPS * n * math.sqrt(self.total)
        S = rows.T @ rows if d <= n else rows @ rows.T
        self.values: Floats = np.maximum(np.linalg.eigvalsh(S)[::-1], 0.0)

    def bound(self, dimension: int) -> float:
        """At most the squared distance of the rows from any affine space of that dimension.

        Products and eigenvalues are off by roundings of the whole scatter. The distance itself
        moves by no more than the matrix does (both are Frobenius norms), which pays the drift.
        """
        n, d = self.rows.shape
        if dimension >= min(n - 1, d):
            return 0.0
        slack = 4.0 * EPS * (n + d) * (dimension + 1.0) * self.total
        left = self.total - float(self.values[:dimension].sum()) - slack
        return max(math.sqrt(max(left, 0.0)) - self.drift, 0.0) ** 2

    def certificate(self, left: Floats, dimension: int, kind: Kind) -> Certificate:
        """Of what is left over where an affine space of that dimension is the best there is."""
        value, bound = float(np.sum(left * left)), self.bound(dimension)
        floor = 4.0 * EPS * max(left.shape) * self.total + self.drift * self.drift
        found = Certificate(value, min(bound, value), kind, floor=floor)
        return found.scaled(self.scale).scaled(self.scale)
