"""Clusterings and projections judged: how far what they leave over may be from the least."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.convex.partition.spectral_bounds import CentredRows
from fenchel.score.labels import column, missing_of


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
    rows = CentredRows(X)
    return rows.clustered(*cluster_codes(labels, len(rows.rows)))


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
    return CentredRows(X).projected(components)


def cluster_codes(labels: Any, n: int) -> tuple[NDArray[np.int64], int]:
    """The clusters of n rows as 0 … k - 1, and k."""
    given = column(labels, "labels")
    if given.dtype.kind in "fO" and (bad := missing_of(given)).any():
        raise ValueError(f"labels is {given[bad.argmax()]!r} in row {int(bad.argmax())}: drop it")
    found, codes = np.unique(given, return_inverse=True)
    if codes.shape != (n,):
        raise ValueError(f"labels must be one for each of {n} rows, got {codes.shape}")
    return codes, len(found)
