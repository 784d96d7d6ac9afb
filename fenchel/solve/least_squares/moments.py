"""Sufficient statistics of a regression: weight, means and scatter of [x, y], in one pass."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import like, to_float64
from fenchel.data.blocks import Block, Blocks, Totals
from fenchel.data.moments.class_moments import Moments
from fenchel.data.moments.scatter_loops import ScatterKernel, symmetric
from fenchel.data.statistic import RowLayout, Slots, Statistic
from fenchel.solve.centring import FAR, CentredProblem, centred
from fenchel.solve.least_squares.scaling import ColumnRange, Scaling, joint_moments, positive_rows

Floats = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)
_TOP = 1e305  # sums of squares above it have no room left in float64
_OFFSET = 1e4  # means so many times the spread are taken off the rows before they are fitted


@dataclass(frozen=True, slots=True, eq=False)
class RegressionMoments:
    """W = Σ s, and for the columns [x, y]: means m, squares Σ s (x - m)², scatter (or None).

    The target was divided by 2^exponent, which is 0 unless its squares leave float64's range.
    moved: the columns that were moved near zero before, if any.
    """

    d: int
    flat: bool  # y is a vector
    weight: float
    mean: Floats
    square: Floats
    scatter: Floats | None
    exponent: int = 0
    moved: CentredProblem | None = None

    @property
    def targets(self) -> int:
        return len(self.mean) - self.d

    @property
    def free(self) -> NDArray[np.bool_]:
        """The columns of x that vary by more than rounding."""
        rounding = self.weight * (4.0 * EPS * self.mean[: self.d]) ** 2
        return self.square[: self.d] > rounding

    @property
    def looks_far(self) -> NDArray[np.bool_]:
        """The columns of x that may be far from zero in the sense of `centring`: a column is spread
        no wider than its range."""
        with np.errstate(over="ignore", invalid="ignore"):
            mean, square = self.mean[: self.d], self.square[: self.d]
            return np.asarray(mean * mean * self.weight > (0.5 * FAR) ** 2 * square)

    def gram(self, intercept: bool) -> tuple[Floats, Floats]:
        """X̃'SX̃ and X̃'Sỹ: about the means with an intercept, about zero without one."""
        assert self.scatter is not None
        S, d = self.scatter, self.d
        if not intercept:
            S = S + self.weight * np.outer(self.mean, self.mean)
        A, cross = S[:d, :d].copy(), S[:d, d:].copy()
        if intercept:
            still = ~self.free
            A[still], A[:, still], cross[still] = 0.0, 0.0, 0.0
        return A, cross

    def size(self) -> Floats:
        """Σ s y² / W of each target."""
        with np.errstate(over="ignore"):
            return self.square[self.d :] / self.weight + self.mean[self.d :] ** 2


def regression_moments(
    blocks: Blocks, scatter: bool, intercept: bool = False
) -> tuple[Blocks, RegressionMoments]:
    """One pass, more where the target must be scaled or columns moved, and the rows it describes.

    scatter: whether to make the (d + K)² numbers of the scatter as well. intercept: whether one is
    free, so that columns far from zero can be moved.
    """
    rows, found = _scaled(blocks, scatter)
    if not intercept or not found.looks_far.any():
        return rows, found
    moved = centred(blocks)
    if moved is None:
        return rows, found
    rows, found = _scaled(moved.rows, scatter)
    return rows, replace(found, moved=moved)


def _scaled(blocks: Blocks, scatter: bool) -> tuple[Blocks, RegressionMoments]:
    found = _pass(blocks, scatter)
    d = blocks.n_cols
    if np.isfinite(found.square[:d]).all():
        top = (found.weight * found.size()).max()
        if 1e-280 < top < _TOP or not (top > 0.0 or found.mean[d:].any()):
            return blocks, found
    ranges: ColumnRange = blocks.reduce(ColumnRange.of)
    wide = np.flatnonzero(ranges.size > 1e150)
    if len(wide):
        raise ValueError(
            f"{blocks.column(int(wide[0]))} reaches {ranges.size[wide[0]]:.2g}, whose square "
            "leaves the range of float64: divide it by a power of ten"
        )
    exponent = int(np.clip(np.frexp(ranges.target)[1], -1000, 1000))

    blocks = divided(blocks, exponent)
    return blocks, replace(_pass(blocks, scatter), exponent=exponent)


def divided(blocks: Blocks, exponent: int) -> Blocks:
    """The rows with their target divided by 2^exponent."""
    if not exponent:
        return blocks

    def scaled(block: Block) -> Block:
        y = to_float64(block.y) * 2.0**-exponent
        return Block(block.start, to_float64(block.X), y, block.weight)

    return blocks.map(scaled, dtype=np.float64, sparse=blocks.sparse)


def _pass(blocks: Blocks, scatter: bool) -> RegressionMoments:
    d = blocks.n_cols
    frame = Scaling(np.zeros(d, np.int64))

    def columns(block: Block) -> Totals:
        with np.errstate(over="ignore", invalid="ignore"):
            return Totals(_is_flat(block), frame.columns(block)[2])

    flat, sums = blocks.reduce(JointMoments() if scatter else columns)
    square = np.maximum(np.diagonal(sums.scatter), 0.0) if scatter else sums.square
    return RegressionMoments(
        d, flat > 0, sums.weight, sums.mean, square, sums.scatter if scatter else None
    )


@dataclass(frozen=True, slots=True)
class JointMoments(Statistic[Totals]):
    """Totals(parts whose target is a vector, the moments of [x, y])."""

    def __call__(self, block: Block) -> Totals:
        with np.errstate(over="ignore", invalid="ignore"):
            return Totals(_is_flat(block), _finite(joint_moments(*positive_rows(block))))

    def compiled(self, block: Block, layout: RowLayout) -> JointScatter | None:
        if block.y is None or layout.order == "csr":
            return None
        y = to_float64(block.y).reshape(block.n_rows, -1)
        return JointScatter(block, layout, None, True, y)


class JointScatter(ScatterKernel[Any]):
    """`JointMoments` of dense rows in memory."""

    def __init__(self, block: Block, *rest: Any) -> None:
        super().__init__(block, *rest)
        self.flat = _is_flat(block)

    def result(self, sums: Slots) -> Moments:
        W, M, S = sums
        return _finite(Moments(float(W[0]), M[0], symmetric(S[0])))

    def total(self, slots: Slots) -> Totals:
        return Totals(self.flat, super().total(slots))


def _is_flat(block: Block) -> int:
    return int(block.y is not None and block.y.ndim == 1)


def _finite(moments: Moments) -> Moments:
    """The moments, or NaN where squares leave float64: it adds without a signal, infinities do
    not."""
    if np.abs(np.diagonal(moments.scatter)).max() < _TOP:
        return moments
    return Moments(moments.weight, moments.mean * np.nan, moments.scatter * np.nan)


def recentred(blocks: Blocks, found: RegressionMoments) -> tuple[Blocks, RegressionMoments]:
    """The rows less the means of targets and columns that are so large that rounding would show.

    Columns of sparse rows stay as they are.
    """
    spread = np.sqrt(found.square / found.weight)
    d = found.d
    vary = np.append(found.free & (not blocks.sparse), np.ones(found.targets, bool))
    far = vary & (np.abs(found.mean) > _OFFSET * spread)
    if not far.any():
        return blocks, found
    shift = np.where(far, found.mean, 0.0)

    def shifted(block: Block) -> Block:
        assert block.y is not None
        X, y = to_float64(block.X), to_float64(block.y)
        X = X - like(shift[:d], X) if shift[:d].any() else X
        y = y - (shift[d] if y.ndim == 1 else like(shift[d:], y))
        return Block(block.start, X, y, block.weight)

    moved = blocks.map(shifted, dtype=np.float64, sparse=blocks.sparse)
    return moved, replace(found, mean=found.mean - shift)
