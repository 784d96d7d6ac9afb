"""Tall-skinny QR (TSQR) and Cholesky factors of the Gram matrix: R with R'R = X'SX.

Cost: one pass, of nd² multiplications for the Gram matrix and 2nd² for QR. A factor gives the
corrections of iterative refinement: its error decides the rate, not the result.

Reference: Demmel, Grigori, Hoemmen and Langou, Communication-optimal parallel and sequential QR and
LU factorizations, SIAM J. Sci. Comput. 34 (2012).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as sla
from numpy.typing import NDArray

from fenchel.data.arrays import Array, is_sparse, to_numpy
from fenchel.data.blocks import Block, Blocks, tree_sum
from fenchel.data.linear_algebra.double_double import DoubleDouble
from fenchel.data.moments.class_moments import Moments
from fenchel.solve.least_squares.scaling import ColumnMoments, Floats, Scaling, projected_moments

# The Gram matrix has the square of the condition number; below this its inverse, hence the
# standard errors, keep ten digits.
GRAM_LIMIT = 1e5
# Nor may means, which are rounded, exceed the deviations from them by more than its root.
OFFSET_LIMIT = 1e10
# A column whose part outside the span of the others is below this share of its length is taken
# as their combination. Rounded copies and sums come out near 1e-16, the NIST set Filip at 1e-9.
RANK_LIMIT = 2.0**-43


@dataclass(frozen=True, slots=True)
class TSQR:
    """The factor R of A = QR for rows A: R'R = A'A without ever squaring a number.

    Two parts merge by the factor of one stacked on the other.

    Reference: Demmel, Grigori, Hoemmen, Langou, Communication-optimal parallel and sequential QR
    and LU factorizations, 2012.
    """

    R: Floats

    def __add__(self, other: TSQR) -> TSQR:
        return TSQR.reduced(np.concatenate([self.R, other.R]))

    @classmethod
    def reduced(cls, A: Floats) -> TSQR:
        return cls(np.asarray(np.linalg.qr(A, mode="r")))

    @staticmethod
    def of(frame: Scaling, mean: Floats, intercept: bool) -> Callable[[Block], TSQR]:
        """The statistic of √s [1, x - m, y - ȳ], or of √s [x, 1, y] without an intercept."""

        def stat(block: Block) -> TSQR:
            X, y, s = frame.rows(block)
            m, d = X.shape
            # Sparse rows become dense here: as many at a time as the factor has anyway.
            size = max(2 * d, 4096)
            parts = (slice(i, i + size) for i in range(0, max(m, 1), size))
            return tree_sum(
                TSQR.of_rows(X[part], y[part], None if s is None else s[part], mean, intercept)
                for part in parts
            )

        return stat

    @classmethod
    def of_rows(cls, X: Array, y: Array, s: Array | None, mean: Floats, intercept: bool) -> TSQR:
        X, y = to_numpy(X.toarray() if is_sparse(X) else X), to_numpy(y)
        one = np.ones((len(X), 1))
        d = X.shape[1]
        A = np.hstack([one, X - mean[:d], y - mean[d:]] if intercept else [X, one, y])
        if s is not None:
            A *= np.sqrt(to_numpy(s))[:, None]
        return cls.reduced(A)


@dataclass(frozen=True)
class RankRevealingFactor:
    """R'R = U⁻¹ X̃'S X̃ U⁻¹ over the kept columns: X̃ centred if there is an intercept, U lengths.

    A dropped column is X̃_j/u_j = Σ_k C_kj X̃_k/u_k over the kept ones.
    """

    R: Floats  # (r, r) upper triangular
    kept: NDArray[np.intp]  # the columns of R
    dropped: NDArray[np.intp]
    C: Floats  # (r, number dropped)
    unit: Floats  # (d,) lengths of the columns
    mean: DoubleDouble  # (d,) zero without an intercept
    weight: float
    intercept: bool
    start: Floats  # (d, K) the solution before any refinement
    level: float  # share of the constant's square length outside the span; 0 with an intercept
    refined: tuple[Floats, Floats] | None = None  # what `refine` found: root and lever

    @property
    def rank(self) -> int:
        return len(self.kept)

    @property
    def condition(self) -> float:
        """An estimate of ‖R‖₁ ‖R⁻¹‖₁."""
        if not self.rank:
            return 1.0
        rcond, _ = sla.lapack.dtrcon(self.R)
        return float(1.0 / rcond) if rcond > 0.0 else np.inf

    def whiten(self, g: DoubleDouble, level: DoubleDouble) -> Floats:
        """R⁻ᵀ U⁻¹ (g - m level) for the sums g = X'Sr, level = Σ s r."""
        centred = g
        if self.intercept:
            for part in (self.mean.hi, self.mean.lo):
                centred = centred + -DoubleDouble(*_outer(part, level))
        scaled = centred.hi[self.kept] / self.unit[self.kept, None]
        return sla.solve_triangular(self.R, scaled, trans="T", check_finite=False)

    def correction(self, g: DoubleDouble, level: DoubleDouble) -> tuple[Floats, Floats]:
        """The step (δw, δb) to the minimum: (X̃'SX̃)⁻¹ (g - m level) and level/W - m·δw."""
        step = np.zeros_like(g.hi)
        u = sla.solve_triangular(self.R, self.whiten(g, level), check_finite=False)
        step[self.kept] = u / self.unit[self.kept, None]
        if not self.intercept:
            return step, np.zeros_like(level.hi)
        return step, level.hi / self.weight - self.mean.hi @ step

    def decrement(self, g: DoubleDouble, level: DoubleDouble) -> Floats:
        """g'H⁻¹g: how far Σ s r² lies above its minimum, for each target."""
        gain = np.sum(self.whiten(g, level) ** 2, axis=0)
        return gain + level.hi**2 / self.weight if self.intercept else gain

    def length(self, w: Floats) -> Floats:
        """max_j |w_j| u_j for each target: the size of w as seen on columns of length one."""
        return np.max(np.abs(w) * self.unit[:, None], axis=0, initial=0.0)

    def relations(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """Each dropped column with the kept columns that it is a combination of."""
        strong = self._strong()
        return tuple(
            (int(j), tuple(sorted(int(k) for k in self.kept[strong[:, i]])))
            for i, j in sorted(enumerate(self.dropped), key=lambda pair: pair[1])
        )

    def _strong(self) -> NDArray[np.bool_]:
        top = np.max(np.abs(self.C), axis=0, initial=0.0)
        return (np.abs(self.C) > 1e-7 * top) & (top > 0.0)

    def shortest(self, w: Floats, exponent: NDArray[np.int64]) -> Floats:
        """The solution of least norm with the fitted values of w, in units x_j 2^(e_j).

        Its coefficients lie in the row space, range of D [I C]' with D the lengths of the
        columns. Rows sorted by length and pivoted columns keep small columns accurate.

        Reference: Cox, Higham, Stability of Householder QR factorization for weighted least
        squares problems, 1998.
        """
        strong = self._strong()
        tied = np.flatnonzero(strong.any(axis=1))
        loose = np.flatnonzero(strong.any(axis=0))
        if not len(loose):
            return w
        columns = np.concatenate([self.kept[tied], self.dropped[loose]])
        # The common factor matters to nothing, and the range left is that of float64 itself.
        mantissa, power = np.frexp(self.unit[columns])
        power = power + exponent[columns]
        power = np.maximum(power - power.max(), -960)
        size = np.ldexp(mantissa, power)
        basis = np.vstack([np.eye(len(tied)), self.C[np.ix_(tied, loose)].T]) * size[:, None]
        order = np.argsort(-size, kind="stable")
        Z, _, _ = sla.qr(basis[order], mode="economic", pivoting=True)
        lengths = self.unit[columns, None]
        short = (w[columns] * lengths / size[:, None])[order]
        for _ in range(2):  # the first time may take away all but the last digits
            short = Z @ (Z.T @ short)
        out = w.copy()
        out[columns[order]] = short * size[order, None] / lengths[order]
        return out

    def root(self) -> Floats:
        """F (d, r) with F F' = (X̃'SX̃)⁻¹ over the kept columns, zero in the dropped ones."""
        if self.refined is not None:
            return self.refined[0]
        F = np.zeros((len(self.unit), self.rank))
        inverse = sla.solve_triangular(self.R, np.eye(self.rank), check_finite=False)
        F[self.kept] = inverse / self.unit[self.kept, None]
        return F

    def lever(self, F: Floats) -> Floats:
        """F'm, the intercept's part in the covariance."""
        return self.mean.hi @ F if self.refined is None else self.refined[1]

    def refine(self, blocks: Blocks, frame: Scaling) -> RankRevealingFactor:
        """The factor with a root good to the last digits, whatever the condition number.

        X̃F has nearly orthonormal columns, so the Cholesky factor L of their Gram matrix is
        accurate, and F L⁻ᵀ is the root that F should be.

        Reference: Yamamoto, Nakatsukasa, Yanagisawa, Fukaya, Roundoff error analysis of the
        CholeskyQR2 algorithm, 2015.
        """
        F = self.root()
        shift = self.lever(F)
        moments = blocks.reduce(projected_moments(frame, F, shift))
        square = moments.scatter
        if not self.intercept:
            square = square + moments.weight * np.outer(moments.mean, moments.mean)
        L = sla.cholesky(square, lower=True)
        root = sla.solve_triangular(L, F.T, lower=True).T
        lever = sla.solve_triangular(L, shift + moments.mean, lower=True)
        return replace(self, refined=(root, lever))


def _outer(m: Floats, level: DoubleDouble) -> tuple[Floats, Floats]:
    product = DoubleDouble(level.hi[None, :], level.lo[None, :]).times(m[:, None])
    return product.hi, product.lo


def gram_factor(
    moments: Moments, d: int, intercept: bool, sparse: bool
) -> RankRevealingFactor | None:
    """The Cholesky factor of the scatter, or None where its condition number spoils the digits."""
    W, mean, S = moments.weight, moments.mean, moments.scatter
    if not intercept:
        S = S + W * np.outer(mean, mean)
    square = np.diag(S)[:d].copy()
    if not (square > 0.0).all():
        return None
    unit = np.sqrt(square)
    correlation = S[:d, :d] / np.outer(unit, unit)
    try:
        R = sla.cholesky(correlation, check_finite=False)
    except sla.LinAlgError:
        return None
    norm = np.abs(correlation).sum(axis=0).max()
    rcond, _ = sla.lapack.dpocon(R, norm)
    offset = float(np.max(W * mean[:d] ** 2 / square)) if intercept else 0.0
    # The scatter of sparse rows is a difference of squares: its error is that of the larger.
    if not rcond * GRAM_LIMIT > (1.0 + offset if sparse else 1.0) or offset > OFFSET_LIMIT:
        return None
    start = sla.cho_solve((R, False), S[:d, d:] / unit[:, None], check_finite=False)
    ones = sla.solve_triangular(R, W * mean[:d] / unit, trans="T", check_finite=False)
    level = 0.0 if intercept else max(0.0, 1.0 - float(ones @ ones) / W)
    return RankRevealingFactor(
        R=R,
        kept=np.arange(d),
        dropped=np.arange(0),
        C=np.zeros((d, 0)),
        unit=unit,
        mean=DoubleDouble.of(mean[:d] if intercept else np.zeros(d)),
        weight=W,
        intercept=intercept,
        start=start / unit[:, None],
        level=level if level > 1e-9 else 0.0,
    )


def triangle_factor(
    triangle: TSQR, columns: ColumnMoments, d: int, intercept: bool, free: NDArray[np.bool_]
) -> RankRevealingFactor:
    """The factor by orthogonal steps, its columns pivoted, those that depend on others dropped.

    free: the columns that vary, or that are not zero where there is no intercept.
    """
    R = triangle.R
    mean = DoubleDouble.of(np.zeros(d))
    level = 0.0
    if intercept:
        A, right = R[1:, 1 : d + 1], R[1:, d + 1 :]
        mean = DoubleDouble.of(columns.mean[:d]).plus(R[0, 1 : d + 1] / R[0, 0])
    else:
        A, right = R[:, :d], R[:, d + 1 :]
        level = float(R[d, d] ** 2 / columns.weight) if len(R) > d else 0.0
    unit = np.where(free, np.linalg.norm(A, axis=0), 1.0)
    free = free & (unit > 0.0)
    unit[~free] = 1.0
    live = np.flatnonzero(free)
    # Among equals the first column stays: names in a warning then read from left to right.
    tilt = 1.0 - 2.0**-20 * live / d
    Q, T, pivot = sla.qr(A[:, live] * (tilt / unit[live]), mode="economic", pivoting=True)
    T /= tilt[pivot]
    rank = int(np.sum(np.abs(np.diag(T)) > RANK_LIMIT))
    R, C = T[:rank, :rank], sla.solve_triangular(T[:rank, :rank], T[:rank, rank:])
    kept, dropped = live[pivot[:rank]], live[pivot[rank:]]
    start = np.zeros((d, right.shape[1]))
    start[kept] = sla.solve_triangular(R, (Q.T @ right)[:rank]) / unit[kept, None]
    constant = np.flatnonzero(~free)
    return RankRevealingFactor(
        R=R,
        kept=kept,
        dropped=np.concatenate([dropped, constant]),
        C=np.hstack([C, np.zeros((rank, len(constant)))]),
        unit=unit,
        mean=mean,
        weight=columns.weight,
        intercept=intercept,
        start=start,
        level=level if level > 1e-18 else 0.0,
    )
