"""Rows in their own units: shifted to their mean, and scaled or whitened.

z = (x - c) ∘ 2⁻ᵉ W,   W upper triangular with W'SW = I, S the covariance of the scaled rows

Powers of two keep squares in range at any scale; the mean takes offsets away before anything is
squared. W is triangular for full and tied covariances, diagonal for diagonal ones, and one number
for spherical ones, so that each kind of covariance is the same kind in z.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from fenchel.convex.certificate import warn_outside
from fenchel.data.arrays import is_sparse, to_float64, to_numpy
from fenchel.data.blocks import Block, Blocks
from fenchel.data.moments.class_moments import Moments
from fenchel.solve.mixture.components import Kind, MixtureComponents

Floats = NDArray[np.float64]
# Eigenvalues of a correlation matrix below this are rounding of its entries (sums of n products):
# such directions are taken to have this share of a column's variance.
LEAST_CORRELATION = 1e-11
SMALLEST_RANGE = 1e-290  # of a column: squares of smaller differences, times a floor, vanish


@dataclass(frozen=True, slots=True)
class ColumnExtent:
    """The least and the largest value of each column, and the largest weight."""

    low: Floats
    high: Floats
    weight: float
    rows: int

    def __add__(self, other: ColumnExtent) -> ColumnExtent:
        return ColumnExtent(
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            max(self.weight, other.weight),
            self.rows + other.rows,
        )

    @classmethod
    def of(cls, block: Block) -> ColumnExtent:
        """Of the rows that have weight."""
        X, top = dense(block.X), 1.0
        if block.weight is not None:
            s = np.asarray(to_numpy(block.weight))
            top = float(s.max(initial=0.0))
            if not (s > 0.0).all():
                X = X[s > 0.0]
        low, high = X.min(axis=0, initial=np.inf), X.max(axis=0, initial=-np.inf)
        return cls(low.astype(np.float64), high.astype(np.float64), top, len(X))


def dense(X: Any) -> NDArray[Any]:
    """The rows of a block as an array of this process."""
    return np.asarray(
        to_numpy(X.toarray()) if is_sparse(X) else X if isinstance(X, np.ndarray) else to_numpy(X)
    )


@dataclass(frozen=True, slots=True, eq=False)
class Whitening:
    """The map to z and back. back: W⁻¹; scatter: Σ s zz'; weight: Σ s; single: one unit for all
    columns; deficient: a column is constant, or depends on others."""

    centre: Floats
    exponents: NDArray[np.int64]
    W: Floats
    back: Floats
    scatter: Floats
    weight: float
    single: bool = False
    deficient: bool = False

    @classmethod
    def of(
        cls, blocks: Blocks, kind: Kind, extent: ColumnExtent, *, quiet: bool = False
    ) -> Whitening:
        """From the mean and the covariance of a table: one pass."""
        with np.errstate(over="ignore"):
            span = extent.high - extent.low
        if not np.isfinite(span).all():
            j = int(np.argmin(np.isfinite(span)))
            raise ValueError(
                f"{blocks.column(j)} ranges over more than the largest float: divide it by 4"
            )
        small = (span > 0.0) & (span < SMALLEST_RANGE)
        if small.any():
            j = int(np.argmax(small))
            raise ValueError(
                f"{blocks.column(j)} ranges over {span[j]:.2g}, below {SMALLEST_RANGE:.0e}, where "
                "squares vanish: multiply it by a large number"
            )
        middle = extent.low + 0.5 * span
        constant = span == 0.0
        unit = np.where(constant, _least_unit(span, extent), span)
        exponents = np.frexp(unit)[1].astype(np.int64)
        if kind == "spherical":
            exponents = np.full_like(exponents, exponents.max())

        def scaled(block: Block) -> Moments:
            V = np.ldexp(to_float64(dense(block.X)) - middle, -exponents)
            return Moments.of_rows(V, block.weight)

        found = blocks.reduce(scaled)
        centre = middle + np.ldexp(found.mean, exponents)
        S = found.covariance
        flat = ~(np.diagonal(S) > 0.0)
        S[flat] = S[:, flat] = 0.0
        S[flat, flat] = np.ldexp(unit[flat] ** 2, -2 * exponents[flat])
        if constant.any() and not quiet:
            names = ", ".join(blocks.column(int(j)) for j in np.flatnonzero(constant)[:5])
            warn_outside(
                f"{names} is constant: its variance is taken to be a small floor, and the density "
                "has no meaning of its own in that direction. Drop the column",
                UserWarning,
            )
        made, rank = cls._made(centre, exponents, S, kind, found.scatter, found.weight)
        if rank < len(S) and not constant.any() and not quiet:
            warn_outside(
                f"the columns span {rank} of {len(S)} dimensions: variances in the others are "
                f"taken to be {LEAST_CORRELATION:g} of the columns'. Drop dependent columns, "
                "project the rows first, or use covariance_type='diag'",
                UserWarning,
            )
        return replace(made, deficient=rank < len(S) or bool(constant.any()))

    @classmethod
    def of_mixture(cls, outer: MixtureComponents) -> Whitening:
        """From the mean and the covariance of a mixture's own law."""
        kind, share = outer.kind, outer.weights
        centre = share @ outer.means
        if kind in ("full", "tied"):
            within = np.diagonal(outer.covariances, axis1=-2, axis2=-1)
        else:
            within = outer.covariances if kind == "diag" else outer.covariances[:, None]
        sizes = np.sqrt(np.broadcast_to(within, outer.means.shape)).max(axis=0)
        sizes = np.maximum(sizes, np.abs(outer.means - centre).max(axis=0))
        exponents = np.frexp(sizes)[1].astype(np.int64)
        if kind == "spherical":
            exponents = np.full_like(exponents, exponents.max())
        apart = np.ldexp(outer.means - centre, -exponents)
        S = (apart * share[:, None]).T @ apart
        if kind == "full":
            S = S + np.tensordot(
                share, np.ldexp(outer.covariances, -(exponents[:, None] + exponents)), 1
            )
        elif kind == "tied":
            S += np.ldexp(outer.covariances, -(exponents[:, None] + exponents))
        else:
            S += np.diag(
                np.ldexp(share @ np.broadcast_to(within, outer.means.shape), -2 * exponents)
            )
        return cls._made(centre, exponents, S, kind, S, 1.0)[0]

    @classmethod
    def _made(
        cls,
        centre: Floats,
        exponents: NDArray[np.int64],
        S: Floats,
        kind: Kind,
        scatter: Floats,
        weight: float,
    ) -> tuple[Whitening, int]:
        """From the covariance S of the scaled rows, and its rank."""
        d = rank = len(S)
        variances: Floats = np.diagonal(S)
        if kind == "spherical":
            W = np.eye(d) / math.sqrt(max(float(variances.mean()), 1e-300))
            back = np.diag(1.0 / np.diagonal(W))
        elif kind == "diag":
            W, back = np.diag(1.0 / np.sqrt(variances)), np.diag(np.sqrt(variances))
        else:
            sizes: Floats = np.sqrt(variances)
            R = S / sizes[:, None] / sizes
            R[np.diag_indices(d)] = 1.0
            values = np.linalg.eigvalsh(R)
            if values[0] < LEAST_CORRELATION:
                R[np.diag_indices(d)] += LEAST_CORRELATION - min(values[0], 0.0)
                rank = int((values >= LEAST_CORRELATION).sum())
            C = np.linalg.cholesky(R)
            W = np.asarray(
                solve_triangular(C, np.eye(d), lower=True).T / sizes[:, None], np.float64
            )
            back = (C * sizes[:, None]).T
        inner = W.T @ scatter @ W
        return cls(centre, exponents, W, back, inner, weight, kind == "spherical"), rank

    @property
    def log_determinant(self) -> float:
        """log |dz/dx|."""
        logs = np.log(np.abs(np.diagonal(self.W))).sum()
        return float(logs - math.log(2.0) * self.exponents.sum())

    def scaled(self, X: Any) -> Floats:
        """(x - c) ∘ 2⁻ᵉ of some rows."""
        return np.asarray(np.ldexp(to_float64(dense(X)) - self.centre, -self.exponents))

    def rows(self, X: Any) -> Floats:
        """z of some rows."""
        return np.asarray(self.scaled(X) @ self.W)

    def outward(self, inner: MixtureComponents) -> MixtureComponents:
        """The mixture of z as one of x."""
        kind, e = inner.kind, self.exponents
        means = self.centre + np.ldexp(inner.means @ self.back, e)
        if kind in ("full", "tied"):
            found = np.swapaxes(self.back, 0, 1) @ inner.covariances @ self.back
            found = 0.5 * (found + np.swapaxes(found, -1, -2))
            found = np.ldexp(found, e[:, None] + e)
            factors = np.ldexp(self.W @ inner.factors, -e[:, None])
        else:
            size = np.diagonal(self.back) if kind == "diag" else self.back[0, 0]
            by = e if kind == "diag" else e[0]
            found = np.ldexp(inner.covariances * size**2, 2 * by)
            factors = np.ldexp(inner.factors / size, -by)
        return MixtureComponents(kind, inner.weights, means, found, factors)

    def inward(self, outer: MixtureComponents) -> MixtureComponents:
        """The mixture of x as one of z."""
        kind, e = outer.kind, self.exponents
        means = np.ldexp(outer.means - self.centre, -e) @ self.W
        if kind in ("full", "tied"):
            found = np.ldexp(outer.covariances, -(e[:, None] + e))
            found = self.W.T @ found @ self.W
            found = 0.5 * (found + np.swapaxes(found, -1, -2))
            factors = self.back @ np.ldexp(outer.factors, e[:, None])
        else:
            size = np.diagonal(self.back) if kind == "diag" else self.back[0, 0]
            by = e if kind == "diag" else e[0]
            found = np.ldexp(outer.covariances, -2 * by) / size**2
            factors = np.ldexp(outer.factors, by) * size
        return MixtureComponents(kind, outer.weights, means, found, factors)


def _least_unit(span: Floats, extent: ColumnExtent) -> float:
    """The unit of constant columns: a small share of the least range of the others."""
    positive = span[span > 0.0]
    if len(positive):
        return max(1e-5 * float(positive.min()), SMALLEST_RANGE)
    size = float(np.maximum(np.abs(extent.low), np.abs(extent.high)).max())
    return max(1e-5 * size, SMALLEST_RANGE) if size > 0.0 else 1.0
