"""Rows scaled by powers of two for Huber's regression, and its start: median and a first scale."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from fenchel.convex.concomitant_scale import ScalePoint
from fenchel.data.arrays import is_sparse, to_float64, to_numpy
from fenchel.data.blocks import Block, Blocks, free_memory
from fenchel.data.in_memory import ArrayBlocks
from fenchel.solve.centring import CentredProblem, centred

Floats = NDArray[np.float64]
FEW = 1024  # rows that tell a first scale
MOST = 2000  # rows up to which X is replaced by its coordinates in the row space
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class ScaledRows:
    """The rows as Newton's method sees them: y divided by 2^exponent, y and columns far from zero
    moved there, and turned into as many columns as the rows span where those are fewer.

    plain: the rows as they came, but for the power of two.
    constant: the one value that y has, where an intercept can be it (or zero).
    """

    rows: Blocks
    plain: Blocks
    exponent: int
    middle: float  # taken from y before it is divided
    moved: CentredProblem | None
    basis: Floats | None
    constant: float | None

    @classmethod
    def of(cls, blocks: Blocks, intercept: bool) -> ScaledRows:
        low, high = blocks.reduce(_range).ends
        constant = high if low == high and (intercept or high == 0.0) else None
        size = max(abs(low), abs(high))
        exponent = 0 if 1e-50 < size < 1e50 or size == 0.0 else int(np.frexp(size)[1])
        exponent = max(min(exponent, 1000), -1000)
        moved = centred(blocks) if intercept else None
        middle = 0.5 * low + 0.5 * high
        middle = middle if intercept and abs(middle) > 16.0 * (0.5 * high - 0.5 * low) else 0.0
        rows = blocks if moved is None else moved.rows
        plain = blocks
        if exponent:
            plain = blocks.map(lambda block: _scaled(block, exponent, 0.0))
        if exponent or middle:
            rows = rows.map(lambda block: _scaled(block, exponent, middle))
            constant = None if constant is None else math.ldexp(constant - middle, -exponent)
        turned = _span(rows) if blocks.local else None
        basis = None
        if turned is not None:
            basis, rows = turned
        return cls(rows, plain, exponent, middle, moved, basis, constant)

    @property
    def has_moved_rows(self) -> bool:
        """Whether entries of the rows were rounded on the way."""
        return self.middle != 0.0 or self.moved is not None or self.basis is not None

    def plain_point(self, at: ScalePoint) -> ScalePoint:
        """The point that `outward` gives, among the plain rows."""
        out = self.outward(at)
        w, b, scale = (np.ldexp(v, -self.exponent) for v in (out.w, out.b, out.sigma))
        return ScalePoint(w, float(b), float(scale))

    def inward(self, at: ScalePoint) -> ScalePoint:
        w, at_zero, sigma = (
            np.ldexp(v, -self.exponent) for v in (at.w, at.b - self.middle, at.sigma)
        )
        b = float(at_zero if self.moved is None else self.moved.inward(w, float(at_zero)))
        return ScalePoint(w if self.basis is None else self.basis.T @ w, b, float(sigma))

    def outward(self, at: ScalePoint) -> ScalePoint:
        w = at.w if self.basis is None else self.basis @ at.w
        b = at.b if self.moved is None else self.moved.outward(w, at.b)
        with np.errstate(over="ignore"):
            W, B, scale = (np.ldexp(v, self.exponent) for v in (w, b, at.sigma))
        return ScalePoint(W, float(B) + self.middle, float(scale))


def _span(rows: Blocks) -> tuple[Floats, Blocks] | None:
    """An orthonormal basis of what the rows span, and the rows in it; None where they are so many
    that they span everything.

    Directions that only the penalty holds would be lost beside the curvature of a tiny scale.
    """
    n, d = rows.n_rows, rows.n_cols
    if n > min(4 * d, MOST) or 24.0 * n * d > free_memory():
        return None
    whole = rows.gather()
    X, (y, s) = to_float64(whole.X), target_of(whole)
    keep = slice(None) if whole.weight is None else to_numpy(whole.weight) > 0.0
    table = to_numpy((X.toarray() if is_sparse(X) else X)[keep])
    length = np.abs(table).max(axis=0)
    length = length[length > 0.0]
    if len(table) == 0 or len(length) == 0 or length.max() > 1e6 * length.min():
        return None  # a small column is no rounding
    Q, R, order = linalg.qr(table.T, mode="economic", pivoting=True, check_finite=False)
    pivots = np.abs(np.diagonal(R))
    rank = int((pivots > 4.0 * EPS * max(table.shape) * pivots[0]).sum())
    if rank == d:
        return None
    turned = np.empty((len(table), rank))
    turned[order] = R[:rank].T
    return np.ascontiguousarray(Q[:, :rank]), ArrayBlocks(Block(0, turned, y, s))


@dataclass(frozen=True, slots=True)
class _Range:
    ends: tuple[float, float]

    def __add__(self, other: _Range) -> _Range:
        (a, b), (c, d) = self.ends, other.ends
        return _Range((min(a, c), max(b, d)))


def _range(block: Block) -> _Range:
    if block.y is None:
        raise ValueError("HuberRegressor needs a target: pass y, or target= to scan")
    y = to_numpy(block.y)
    if block.weight is not None:
        y = y[to_numpy(block.weight) > 0.0]
    y = y.astype(np.float64, copy=False)  # integers have no infinity
    return _Range((float(y.min(initial=math.inf)), float(y.max(initial=-math.inf))))


def _scaled(block: Block, exponent: int, middle: float) -> Block:
    y = to_float64(block.y)
    y = (y - middle if middle else y) * 2.0**-exponent
    return Block(block.start, block.X, y, block.weight)


def target_of(block: Block) -> tuple[Floats, Floats]:
    y = to_numpy(to_float64(block.y))
    s = np.ones(len(y)) if block.weight is None else to_numpy(to_float64(block.weight))
    keep = s > 0.0
    return (y[keep], s[keep]) if keep.any() else (np.zeros(1), np.ones(1))


def median(y: Floats, s: Floats) -> float:
    order = np.argsort(y, kind="stable")
    below = np.cumsum(s[order])
    return float(y[order][np.searchsorted(below, 0.5 * below[-1])])


def best_scale(r: Floats, s: Floats, eps: float) -> float:
    """σ with Σ s min(r/σ, ε)² = Σ s, for r ≥ 0; zero where there is none.

    The left side falls from ε² to zero as σ grows, and between the corners at r/ε it is known.
    """
    order = np.argsort(r, kind="stable")
    r, s = r[order], s[order]
    unit = r[-1] if r[-1] > 0.0 else 1.0
    inside = np.cumsum(s * (r / unit) ** 2)
    outside = s.sum() - np.cumsum(s)
    room = s.sum() - eps * eps * outside  # Σ s r²/σ² over the inliers
    with np.errstate(divide="ignore", invalid="ignore"):
        sigma = np.where(room > 0.0, unit * np.sqrt(inside / room), np.inf)
    fits = sigma * eps <= np.append(r[1:], np.inf)
    return float(sigma[np.argmax(fits)]) if fits.any() else 0.0
