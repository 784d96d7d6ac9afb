"""From eigenvectors to clusters: rows of length 1, and the centre or axis nearest to each.

In the ideal case, clusters without affinities between them, the rows of the leading eigenvectors
lie on k orthogonal axes. A rotation R takes these to the axes of coordinates:

cluster_qr    R the orthogonal factor of k rows, chosen by a factorisation with column pivoting
discretize    from there, in turn: labels argmaxⱼ (Y R)ᵢⱼ, and R nearest to them (Procrustes)

Reference: Yu and Shi, Multiclass spectral clustering, ICCV (2003); Damle, Minden and Ying, Simple,
direct and efficient multi-way spectral clustering, Information and Inference 8 (2019).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

Floats = NDArray[np.float64]
Labels = NDArray[np.int32]
STEPS = 100  # each raises the objective or is the last; of a dozen tables none took 20


@dataclass(frozen=True, slots=True, eq=False)
class NearestCentre:
    """The label of a row is the number of the nearest centre, of equal ones the lowest."""

    centers: Floats = field(repr=False)

    @property
    def count(self) -> int:
        """Of labels."""
        return len(self.centers)

    def __call__(self, Y: Floats) -> Labels:
        squares = np.einsum("ij,ij->i", self.centers, self.centers)
        return (squares - 2.0 * (Y @ self.centers.T)).argmin(axis=1).astype(np.int32)

    def in_order(self, order: NDArray[np.int64]) -> NearestCentre:
        """With label i for what had label order[i]."""
        return NearestCentre(self.centers[order])


@dataclass(frozen=True, slots=True, eq=False)
class NearestAxis:
    """The label of a row is the number of its largest coordinate after a rotation; either: whether
    of either sign."""

    rotation: Floats = field(repr=False)
    either: bool

    @property
    def count(self) -> int:
        """Of labels."""
        return self.rotation.shape[1]

    def __call__(self, Y: Floats) -> Labels:
        turned = Y @ self.rotation
        turned = np.abs(turned) if self.either else turned
        return turned.argmax(axis=1).astype(np.int32)

    def in_order(self, order: NDArray[np.int64]) -> NearestAxis:
        """With label i for what had label order[i]."""
        return NearestAxis(self.rotation[:, order], self.either)


Rounding = NearestCentre | NearestAxis


def unit_rows(F: Any) -> Floats:
    """Rows of length 1; zero rows stay.

    Examples
    --------
    >>> from fenchel.models.cluster.spectral.rounding import unit_rows
    >>> unit_rows([[3e200, 4e200], [0.0, 0.0]]).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    F = np.asarray(F, np.float64)
    top = np.abs(F).max(axis=1, initial=0.0)
    F = F / np.where(top > 0.0, top, 1.0)[:, None]
    length = np.linalg.norm(F, axis=1)
    return np.asarray(F / np.where(length > 0.0, length, 1.0)[:, None])


def cluster_qr(rows: Floats) -> NearestAxis:
    """Damle, Minden and Ying's rotation, by rows of eigenvectors (n, k).

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.models.cluster.spectral.rounding import cluster_qr
    >>> rows = np.array([[1.0, 1.0], [2.0, 2.0], [-1.0, 1.0]])
    >>> cluster_qr(rows)(rows).tolist()
    [0, 0, 1]
    """
    k = rows.shape[1]
    _, pivots = linalg.qr(rows.T, mode="r", pivoting=True)
    return NearestAxis(_orthogonal(rows[pivots[:k]].T), True)


def discretize(rows: Floats, Y: Floats, mass: Floats) -> NearestAxis:
    """Yu and Shi's rotation: max over labels and rotations of Σᵢ sᵢ (Y R)_{i, label(i)}.

    rows: of eigenvectors, from which `cluster_qr` makes the start; Y: the same of length 1.
    """
    k = Y.shape[1]
    rotation, before = cluster_qr(rows).rotation, -np.inf
    for _ in range(STEPS):
        labels = (Y @ rotation).argmax(axis=1)
        # Σ s of the rows of each label: what R is to turn to the axes.
        sums = np.zeros((k, k))
        np.add.at(sums, labels, Y * mass[:, None])
        U, sizes, Vt = linalg.svd(sums)
        reached = float(sizes.sum())
        if reached <= before * (1.0 + 1e-14):
            break
        rotation, before = Vt.T @ U.T, reached
    return NearestAxis(np.asarray(rotation), False)


def _orthogonal(M: Floats) -> Floats:
    """The orthogonal matrix nearest to M."""
    U, _, Vt = linalg.svd(M)
    return np.asarray(U @ Vt)
