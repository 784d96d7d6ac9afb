"""Fisher's axes: the leading eigenvectors of S_B u = λ S_W u.

With W = Σ wₖ, class means mₖ, m their mean, T the scatter within classes over W, ridge included:

    S_B = Σₖ (wₖ / W) (mₖ - m)(mₖ - m)' = B'B,    R'R = T⁻¹,    B R' = P Σ V',

the eigenvalues are Σ², the axes U = R'V, for which U'TU = I. They maximise Fisher's criterion
J(U) = tr((U'TU)⁻¹ U'S_B U), whose maximum over k axes is the sum of the k leading eigenvalues.

**The bound.** R is a computed factor: E = R T R' - I is made and measured. T⁻¹ = R'(I + E)⁻¹R, so
no eigenvalue exceeds that of R S_B R' by more than the factor 1 / (1 - |E|). The products are off
by ε (2 d + K + 8) of the norms multiplied, at most (Higham 2002, section 3.5), the singular values
by 10 (d + K) ε of the largest; the bound is charged with both. Means and scatters are those that
the pass has found.

Reference: Fisher, The use of multiple measurements in taxonomic problems, 1936. Rao, 1948.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.models.discriminant.estimates.covariance import EPS, InverseRoot

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Scatters:
    """Class weights (K,), means (K, r) and covariance within classes T (r, r), its root R; rest:
    what T is in directions that these coordinates leave out, times the identity."""

    weight: Floats
    mean: Floats
    T: Floats
    root: InverseRoot
    rest: float = 0.0

    @property
    def middle(self) -> Floats:
        """m, the mean of all rows."""
        return np.asarray((self.weight / self.weight.sum()) @ self.mean)

    @property
    def between(self) -> Floats:
        """B (K, r), B'B = S_B."""
        share = np.sqrt(self.weight / self.weight.sum())
        return np.asarray(share[:, None] * (self.mean - self.middle))


def fisher_axes(scatters: Scatters, most: int) -> tuple[Floats, Floats]:
    """The eigenvalues above rounding, largest first, and U (r, number): no more than `most`."""
    Y = scatters.between @ scatters.root.R.T
    _, size, V = np.linalg.svd(Y, full_matrices=False)
    keep = size > 10.0 * (sum(Y.shape)) * EPS * size.max(initial=0.0)
    return size[keep][:most] ** 2, scatters.root.R.T @ V[keep][:most].T


def fisher_certificate(scatters: Scatters, axes: Floats, outside: Floats | None) -> Certificate:
    """-J(U) and the least that it can be; residual: the largest |S_B u - λTu| in the norm of T⁻¹,
    of u'Tu = 1, relative to the first eigenvalue.

    outside (number, number): inner products of what the coordinates leave out of the axes.
    """
    B, T, R = scatters.between, scatters.T, scatters.root.R
    count = axes.shape[1]
    Y = B @ R.T
    singular = np.linalg.svd(Y, compute_uv=False).astype(np.float64)
    # Of axes of any length: those of float32 columns are far from U'TU = 1 by their rounding.
    G, projected = axes.T @ T @ axes, B @ axes
    if outside is not None:
        G = G + scatters.rest * outside
    values, V = np.linalg.eigh((G + G.T) / 2.0)
    seen = values > len(T) * EPS * max(float(values.max(initial=0.0)), 0.0)
    Z = projected @ V[:, seen] / np.sqrt(values[seen])
    J = float((Z * Z).sum())
    bound = -_most_criterion(scatters, Y, singular, count)
    top = float(singular.max(initial=0.0)) ** 2
    residual = _residual(scatters, axes, G, Y) / top if top > 0.0 else 0.0
    return Certificate(-J, bound, "eigen", residual=residual)


def _most_criterion(scatters: Scatters, Y: Floats, singular: Floats, count: int) -> float:
    """The sum of the `count` leading eigenvalues, its rounding added; infinite where T, and so the
    criterion's denominator, vanishes in some direction."""
    T, R = scatters.T, scatters.root.R
    d, K = len(T), len(Y)
    if scatters.root.rank < d:
        return float("inf")
    B, column = scatters.between, np.linalg.norm(R, axis=0)
    # A mean is rounded at its own size, an offset included.
    size = (d + K + 8) * np.linalg.norm(B, axis=0) + (K + 4) * np.abs(scatters.mean).max(axis=0)
    # D = diag T scales the rounding: |R||T||R'| ≤ (Σ √Dᵢ |rᵢ|)², the norms of R's columns.
    scaled = float((column * np.sqrt(np.diagonal(T))).sum()) ** 2
    with np.errstate(over="ignore", invalid="ignore"):
        E = np.linalg.norm(R @ T @ R.T - np.eye(d)) + (2 * d + 8) * EPS * scaled
        slack = EPS * float(size @ column) + 10.0 * (d + K) * EPS * np.linalg.norm(Y)
    if not E < 1.0:
        return float("inf")
    largest = np.sort(singular)[::-1][:count] + slack
    return float((largest @ largest) * (1.0 + (count + 8) * EPS) / (1.0 - E))


def _residual(scatters: Scatters, axes: Floats, G: Floats, Y: Floats) -> float:
    """max over the axes of |R S_B u - λ R T u|, u of u'Tu = 1 and λ = u'S_B u."""
    if not axes.shape[1]:
        return 0.0
    R, T, B = scatters.root.R, scatters.T, scatters.between
    length = np.sqrt(np.maximum(np.diagonal(G), 0.0))
    U = axes / np.where(length > 0.0, length, 1.0)
    BU = B @ U
    apart = Y.T @ BU - (R @ (T @ U)) * (BU * BU).sum(axis=0)
    return float(np.linalg.norm(apart, axis=0).max())
