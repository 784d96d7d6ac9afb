"""The dual point of the Peng-Wei relaxation that belongs to a clustering, in closed form.

For clusters a of mass Sₐ and mean μₐ, δₐᵦ = μₐ - μᵦ, hₐᵦ = SₐSᵦ / (Sₐ + Sᵦ) and a number z > 0,
rows i of a and j of b have in per-unit weight

    qₐᵦ(i) = |xᵢ - μᵦ|² - |xᵢ - μₐ|² = |δ|² + 2 (xᵢ - μₐ)·δ,    gₐᵦ(i) = max(qₐᵦ(i) - z/hₐᵦ, 0)
    Bᵢⱼ = ½ √(SₐSᵦ / (mₐᵦ mᵦₐ)) gₐᵦ(i) gᵦₐ(j),   mₐᵦ = Σ sᵢ gₐᵦ(i);    B = 0 within clusters

Where no maximum was needed and z is at least the largest eigenvalue of the scatter within clusters
plus B, seen on the complement of the clusters, this dual point meets the clustering's own value:
no other clustering into as many is better. Elsewhere it is a good one to begin with, and its own
bound often already a good one.

Reference: Iguchi, Mixon, Peterson and Villar, Probably certifiably correct k-means clustering,
Math. Program. 165 (2017).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.partition.relaxation import (
    EPS,
    PartitionRelaxation,
    PrimalDual,
    leading_scatter,
)

Floats = NDArray[np.float64]
# z over the largest eigenvalue within clusters, for a start: of ½ and 1 the first was ahead after
# ten steps of the alternating directions on ten of ten tables.
SHARE = 0.5
# Rows of the matrix whose eigenvalues prove a clustering optimal: so many take half a second.
WIDEST = 1500


def start_of(
    problem: PartitionRelaxation, labels: NDArray[np.integer], share: float = SHARE
) -> PrimalDual:
    """The partition as Z, and B in closed form with z = share times the eigenvalue."""
    codes = np.unique(labels, return_inverse=True)[1]
    k, u, C = int(codes.max()) + 1, problem.root, problem.cost
    if k == 1:
        return problem.origin()
    parts = np.zeros((problem.m, k))
    parts[np.arange(problem.m), codes] = u
    mass = (parts * parts).sum(axis=0)
    Z = (parts / mass) @ parts.T
    seen = C @ parts  # ½ uᵢ Σ_{j in a} sⱼ |xᵢ - xⱼ|²
    scatter = (parts * seen).sum(axis=0) / mass
    from_mean = (2.0 * seen / u[:, None] - scatter) / mass
    q = from_mean - from_mean[np.arange(problem.m), codes][:, None]
    z = share * leading_scatter(C, parts / np.sqrt(mass))
    harmonic = mass * mass[:, None] / (mass + mass[:, None])
    g = np.maximum(q - z / harmonic[codes], 0.0) * u[:, None]
    g[np.arange(problem.m), codes] = 0.0
    weight = parts.T @ g  # m of a (row) and b (column)
    both = np.sqrt(weight * weight.T)
    factor = 0.5 * np.sqrt(mass * mass[:, None]) / np.where(both > 0.0, both, np.inf)
    B = np.zeros_like(C)
    for a in range(k):
        rows = np.flatnonzero(codes == a)
        # Columns of all others at once: each looks up its own cluster's gᵦₐ.
        B[rows] = (g[rows] * factor[a])[:, codes] * g[:, a]
    return PrimalDual(Z, B)


def low_rank_bound(
    R: Floats, columns: int, pairs: NDArray[np.integer], mass: Floats, k: int, error: float
) -> float:
    """The bound of B in closed form, from one triangular factor of as many rows as there are.

    R: of the matrix [√s, √s y, √s g], y the rows about a common point (`columns` of them) and g one
    column for each ordered pair of clusters (`pairs`); error: each column of that matrix is off by
    at most so much of its own length.

    With F the last columns off √s and K the coupling of g, the spectrum is that of FKF', of rank
    columns + pairs, whatever the number of rows.
    """
    if not np.isfinite(R).all() or R[0, 0] == 0.0:
        return 0.0
    sizes = np.linalg.norm(R, axis=0)
    place = {(int(a), int(b)): i for i, (a, b) in enumerate(pairs)}
    twin = np.array([place[int(b), int(a)] for a, b in pairs], dtype=np.int64)
    sums = R[0, 0] * R[0, 1 + columns :]  # Σ s g of each pair
    both = np.sqrt(np.maximum(sums, 0.0) * np.maximum(sums[twin], 0.0))
    own, other = mass[pairs[:, 0]], mass[pairs[:, 1]]
    factor = 0.5 * np.sqrt(own * other) / np.where(both > 0.0, both, np.inf)
    inner = R[1:, 1:]
    coupled = inner[:, columns:] * factor
    A = inner[:, :columns] @ inner[:, :columns].T
    A += coupled @ inner[:, columns:][:, twin].T
    total = float((inner[:, :columns] ** 2).sum())
    paid = float((factor * sums * sums[twin]).sum()) / R[0, 0] ** 2
    top = np.linalg.eigvalsh(0.5 * (A + A.T))[::-1][: k - 1]
    # The norm of FKF' and of what is paid, from full columns; every column, and the direction √s
    # that is taken out of it, is off by `error`.
    size = float((sizes[1 : 1 + columns] ** 2).sum())
    size += float((factor * sizes[1 + columns :] * sizes[1 + columns :][twin]).sum())
    slack = (k + 1.0) * 8.0 * error * size + k * 32.0 * EPS * R.shape[1] * size
    return total - paid - float(np.maximum(top, 0.0).sum()) - slack


@dataclass(frozen=True, slots=True, eq=False)
class ClusterGeometry:
    """What the proof of optimality asks of a clustering, in units in which squares are safe.

    mass: S; means: μ about a common point; least: min over rows i of a of qₐᵦ(i); factors: Rₐ with
    Rₐ'Rₐ the scatter of cluster a about its mean; reach: the largest |xᵢ - μₐ|; rows: n; error:
    means and differences from them are off by at most so much; drift: a factor Rₐ, as a matrix, by
    at most so much of its length.
    """

    mass: Floats
    means: Floats
    least: Floats
    factors: tuple[Floats, ...]
    reach: float
    rows: int
    error: float
    drift: float


def largest_multiplier(found: ClusterGeometry) -> float:
    """A z up to which no gₐᵦ needs its maximum; at most 0 where there is none.

    The error of q is at most 8ε(|δ| + r) + 8ε² + (d + 4) EPS (|δ| + r)², r the reach.
    """
    k, d = found.means.shape
    delta = found.means[:, None, :] - found.means
    size = np.linalg.norm(delta, axis=2) + found.reach
    e = found.error
    off = 8.0 * e * size + 8.0 * e * e + (d + 4.0) * EPS * size * size
    own = found.mass
    harmonic = own * own[:, None] / (own + own[:, None])
    z = harmonic * (found.least - off) * (1.0 - (4.0 * found.rows + 16.0) * EPS)
    return float(z[~np.eye(k, dtype=bool)].min())


def is_optimal(found: ClusterGeometry) -> bool:
    """Whether the clustering is proved to be the best of all into as many clusters.

    Every inequality holds with more to spare than all roundings together can take, so that it holds
    for the rows as they are.
    """
    most = largest_multiplier(found)
    k = len(found.mass)
    rows = [len(R) for R in found.factors]
    if k < 2 or not most > 0.0 or sum(rows) > WIDEST:
        return False
    # Each cluster's scatter is a diagonal block: its eigenvalues are at most the whole's largest.
    if max(float(np.linalg.norm(R, 2)) for R in found.factors if R.size) ** 2 > most:
        return False
    # The largest eigenvalue grows with z, slowly far from the largest z and without end near it.
    return any(_holds(found, share * most) for share in (0.5, 0.75, 0.25, 0.9, 0.1))


def _holds(found: ClusterGeometry, z: float) -> bool:
    """Whether z exceeds the largest eigenvalue, all errors paid.

    The scatter within clusters plus B, off the clusters' own vectors, is L T L', L the clusters'
    centred rows one below the other in diagonal blocks, T = I on the diagonal and
    I - cδδ', c = 2 / (|δ|² - z/h), elsewhere.
    """
    k, d = found.means.shape
    e, n = found.error, float(found.rows)
    norms = [float(np.linalg.norm(R)) for R in found.factors]
    scatter = sum(one * one for one in norms)
    size = scatter**0.5
    starts = np.cumsum([0, *(len(R) for R in found.factors)])
    A = np.empty((starts[-1], starts[-1]))
    worst, largest = 0.0, 1.0
    for a in range(k):
        Ra = found.factors[a]
        here = slice(starts[a], starts[a + 1])
        A[here, here] = Ra @ Ra.T
        for b in range(a):
            Rb = found.factors[b]
            there = slice(starts[b], starts[b + 1])
            delta = found.means[a] - found.means[b]
            square = float(delta @ delta)
            over = z * (1.0 / found.mass[a] + 1.0 / found.mass[b])
            room = square - over
            length = square**0.5
            # |δ| is off by 2ε, masses by n roundings.
            off = 4.0 * e * length + 4.0 * e * e + (d + 4.0) * EPS * square
            off += (4.0 * n + 16.0) * EPS * over
            if not off < 0.25 * room:
                return False
            c = 2.0 / room
            A[here, there] = Ra @ Rb.T - c * np.outer(Ra @ delta, Rb @ delta)
            A[there, here] = A[here, there].T
            # Relative errors: c by off / (room - off), each δ by 2ε / |δ|, arithmetic by 8 EPS.
            relative = 2.0 * off / room + 8.0 * e / length + (2.0 * d + 8.0) * EPS
            worst = max(worst, c * square * relative)
            largest = max(largest, 1.0 + c * square)
    T = k * largest  # a matrix of k x k blocks is at most k times as large as the largest of them
    eta = e * (float(found.mass.sum()) ** 0.5) + found.drift * size
    slack = (2.0 * size + eta) * eta * T + (size + eta) ** 2 * k * worst
    slack += 32.0 * EPS * (len(A) + d) * scatter * T
    if not (np.isfinite(slack) and np.isfinite(A).all()):
        return False
    return bool(float(np.linalg.eigvalsh(A)[-1]) + slack < z)
