"""Clusterings and projections judged: how far what they leave over may be from the least."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fenchel.convex.certificate import Certificate, Kind
from fenchel.data.arrays import host, is_sparse
from fenchel.data.table import as_blocks
from fenchel.score.groups import Floats
from fenchel.score.labels import column, missing_of

EPS = float(np.finfo(np.float64).eps)
SMALLEST, LARGEST = float(np.finfo(np.float64).tiny), float(np.finfo(np.float64).max)


def certify_clusters(X: Any, labels: Any) -> Certificate:
    """The scatter within clusters, and a bound that no clustering into as many can beat.

    Σᵢ |xᵢ - m(cᵢ)|² ≥ optimum ≥ tr S - (λ₁ + … + λ_{k-1})

    with m(c) the mean of cluster c, S the scatter matrix and λ its eigenvalues from the largest
    down: the best centres lie in an affine space of dimension k - 1, and no such space comes
    nearer to the rows than that of the first k - 1 principal components. The bound is honest about
    being loose: it is exact for one cluster and where every cluster is a single point, and far
    below the optimum where clusters are wide in many directions. O(n d min(n, d)).

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
    return Cloud(X).clustered(labels)


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
    return Cloud(X).projected(components)


class Cloud:
    """Rows around their mean, over a power of two that keeps squares in range.

    Attributes
    ----------
    rows : array of shape (n, d)
        (x - mean) / 2^exponent.
    total : float
        Their scatter Σᵢ |xᵢ|², in these units.
    values : array
        Eigenvalues of their scatter matrix, the largest first, in these units.
    """

    def __init__(self, X: Any) -> None:
        given = as_blocks(X).gather().X
        rows = np.asarray(host(given.toarray() if is_sparse(given) else given), np.float64)
        n, d = rows.shape
        most = np.abs(rows).max(axis=0, initial=0.0)
        self.exponent = math.frexp(float(most.max(initial=0.0)))[1]
        rows, most = np.ldexp(rows, -self.exponent), np.ldexp(most, -self.exponent)
        rows = rows - rows.mean(axis=0)
        rows -= rows.mean(axis=0)
        self.rows: Floats = rows
        self.total = float(np.sum(rows * rows))
        # How far the rows are from those around the true mean, as a matrix: two roundings of each
        # entry, and a mean of n terms.
        self.drift = 6.0 * EPS * math.sqrt(n) * float(np.linalg.norm(most))
        self.drift += 2.0 * EPS * n * math.sqrt(self.total)
        S = rows.T @ rows if d <= n else rows @ rows.T
        self.values: Floats = np.maximum(np.linalg.eigvalsh(S)[::-1], 0.0)

    def clustered(self, labels: Any) -> Certificate:
        """What `certify_clusters` says of these labels."""
        left, count = apart(self.rows, labels)
        return self._certificate(left, count - 1, "spectral")

    def projected(self, components: Any) -> Certificate:
        """What `certify_projection` says of these directions."""
        W = np.atleast_2d(np.asarray(components, dtype=np.float64))
        if W.ndim != 2 or W.shape[1] != self.rows.shape[1]:
            raise ValueError(f"components must have {self.rows.shape[1]} columns, got {W.shape}")
        if not np.isfinite(W).all():
            raise ValueError("components must be finite")
        # Singular vectors of the directions: repeated ones and such of length zero add nothing.
        _, size, V = np.linalg.svd(W, full_matrices=False)
        V = V[size > max(W.shape) * EPS * size.max(initial=0.0)]
        return self._certificate(self.rows - (self.rows @ V.T) @ V, len(V), "eigen")

    def bound(self, dimension: int) -> float:
        """At most the squared distance of the rows from any affine space of that dimension.

        In these units. Products and eigenvalues are off by roundings of the whole scatter. The
        distance itself moves by no more than the matrix does (both are Frobenius norms), which
        pays the drift.
        """
        n, d = self.rows.shape
        if dimension >= min(n - 1, d):
            return 0.0
        slack = 4.0 * EPS * (n + d) * (dimension + 1.0) * self.total
        left = self.total - float(self.values[:dimension].sum()) - slack
        return max(math.sqrt(max(left, 0.0)) - self.drift, 0.0) ** 2

    def outside(self, value: float) -> float:
        """A square of these units in those of the table; infinite where no float holds it."""
        try:
            return math.ldexp(value, 2 * self.exponent)
        except OverflowError:
            return math.inf

    def _certificate(self, left: Floats, dimension: int, kind: Kind) -> Certificate:
        """Of what is left over where an affine space of that dimension is the best there is."""
        value = float(np.sum(left * left))
        bound = self.outside(min(self.bound(dimension), value))
        # A lower bound is rounded down: to the largest float, and to zero among the denormal ones.
        bound = min(bound, LARGEST) if bound >= SMALLEST else 0.0
        floor = 4.0 * EPS * max(left.shape) * self.total + self.drift * self.drift
        floor = max(self.outside(floor), SMALLEST if self.total > 0.0 else 0.0)
        return Certificate(self.outside(value), bound, kind, floor=floor)


def apart(rows: Floats, labels: Any) -> tuple[Floats, int]:
    """The rows less the mean of their cluster, and how many clusters there are."""
    given = column(labels, "labels")
    if given.dtype.kind in "fO" and (bad := missing_of(given)).any():
        raise ValueError(f"labels is {given[bad.argmax()]!r} in row {int(bad.argmax())}: drop it")
    found, codes = np.unique(given, return_inverse=True)
    if codes.shape != (len(rows),):
        raise ValueError(f"labels must be one for each of {len(rows)} rows, got {codes.shape}")
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(len(found)))
    counts = np.diff(np.append(starts, len(rows)))[:, None]
    left = rows.copy()
    for _ in range(2):  # the mean of what the first round leaves makes good its rounding
        left -= (np.add.reduceat(left[order], starts, axis=0) / counts)[codes]
    return left, len(found)
