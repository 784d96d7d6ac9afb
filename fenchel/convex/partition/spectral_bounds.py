"""Lower bounds on what any clustering, or any projection, leaves over: the spectral relaxation.

    min over k centres  Σᵢ minⱼ |xᵢ - mⱼ|²  ≥  tr S - (λ₁ + … + λ_{k-1})
    min over projections P of rank r  Σᵢ |(I - P)(xᵢ - m)|²  =  tr S - (λ₁ + … + λᵣ)

S the scatter matrix and λ its eigenvalues, the largest first. Cost O(n d min(n, d)).

Reference: Zha, He, Ding, Gu and Simon, Spectral relaxation for k-means clustering, NIPS (2001).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate, Kind
from fenchel.data.arrays import is_sparse, to_numpy
from fenchel.data.blocks import Blocks, Totals
from fenchel.data.intake import as_blocks
from fenchel.data.moments.class_moments import Moments

Floats = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)
WIDEST = 4096  # columns of a scatter matrix, 128 MiB, whose eigenvalues take half a minute
SMALLEST, LARGEST = float(np.finfo(np.float64).tiny), float(np.finfo(np.float64).max)


def square_in_units(value: float, exponent: int) -> float:
    """4^exponent times a square; infinite where no float holds it."""
    try:
        return math.ldexp(value, 2 * exponent)
    except OverflowError:
        return math.inf


def lower_bound_in_units(value: float, exponent: int) -> float:
    """4^exponent times a lower bound, rounded down: to the largest float, and to zero among the
    denormal ones."""
    bound = min(square_in_units(value, exponent), LARGEST)
    return bound if bound >= SMALLEST else 0.0


class CentredRows:
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
        rows = np.asarray(to_numpy(given.toarray() if is_sparse(given) else given), np.float64)
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

    def clustered(self, codes: NDArray[np.int64], count: int) -> Certificate:
        """The scatter within clusters 0 … count - 1, and the spectral bound of so many."""
        return self._certificate(within_clusters(self.rows, codes, count), count - 1, "spectral")

    def projected(self, components: Any) -> Certificate:
        """The scatter outside the span of the directions, and the least for as many."""
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
        return square_in_units(value, self.exponent)

    def _certificate(self, left: Floats, dimension: int, kind: Kind) -> Certificate:
        """Of the residual scatter of the best affine space of that dimension."""
        value = float(np.sum(left * left))
        bound = lower_bound_in_units(min(self.bound(dimension), value), self.exponent)
        floor = 4.0 * EPS * max(left.shape) * self.total + self.drift * self.drift
        floor = max(self.outside(floor), SMALLEST if self.total > 0.0 else 0.0)
        return Certificate(self.outside(value), bound, kind, floor=floor)


def scatter_bound(blocks: Blocks, dimension: int) -> float:
    """At most the weighted squared distance Σ sᵢ d²(xᵢ, A) of the rows from any affine space A of
    that dimension, by one pass over them: of weighted rows, in any home, of moderate size.

    The same bound as that of `CentredRows`, from moments in place of rows; 0 where the scatter
    matrix would be too large (WIDEST columns). O(n d²).
    """
    return scatter_bounds(blocks, (dimension,))[0]


def scatter_bounds(blocks: Blocks, dimensions: Sequence[int]) -> tuple[float, ...]:
    """`scatter_bound` of several dimensions, in one pass."""
    d = blocks.n_cols
    if d > WIDEST or min(dimensions) >= min(blocks.n_rows - 1, d):
        return (0.0,) * len(dimensions)
    seen, size, parts = blocks.reduce(
        lambda block: Totals(Moments.of(block), _Maximum.of(block.X), 1)
    )
    total = float(np.trace(seen.scatter))
    values = np.maximum(np.linalg.eigvalsh(seen.scatter)[::-1], 0.0)
    n = float(blocks.n_rows)
    # The roundings of `CentredRows`, once more for each level of the tree in which means merge.
    levels = 2.0 + math.log2(max(parts, 1))
    drift = 6.0 * levels * EPS * math.sqrt(seen.weight) * float(np.linalg.norm(size.values))
    drift += 2.0 * EPS * n * math.sqrt(total)
    found = []
    for dimension in dimensions:
        slack = 4.0 * EPS * (n + d) * (dimension + 1.0) * total
        left = total - float(values[:dimension].sum()) - slack
        inside = dimension < min(blocks.n_rows - 1, d)
        found.append(max(math.sqrt(max(left, 0.0)) - drift, 0.0) ** 2 if inside else 0.0)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Maximum:
    """The largest |x| of each column."""

    values: Floats

    @classmethod
    def of(cls, X: Any) -> _Maximum:
        rows = abs(X)
        most = rows.max(axis=0).toarray() if is_sparse(X) else to_numpy(rows).max(axis=0)
        return cls(np.asarray(most, np.float64).ravel())

    def __add__(self, other: _Maximum) -> _Maximum:
        return _Maximum(np.maximum(self.values, other.values))


def within_clusters(rows: Floats, codes: NDArray[np.int64], count: int) -> Floats:
    """The rows less the mean of their cluster; codes 0 … count - 1, each of them present."""
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(count))
    counts = np.diff(np.append(starts, len(rows)))[:, None]
    left = rows.copy()
    for _ in range(2):  # the mean of what the first round leaves makes good its rounding
        left -= (np.add.reduceat(left[order], starts, axis=0) / counts)[codes]
    return left
