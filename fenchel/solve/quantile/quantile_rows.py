"""Rows in memory, scaled for the linear program of several quantiles; feasible planes on them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.hessian.dense import PSDFactor
from fenchel.data.arrays import is_sparse, to_float64, to_numpy
from fenchel.data.block import concatenate
from fenchel.data.blocks import Block, Blocks

Floats = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class QuantileTable:
    """Rows of positive weight in memory, columns shifted (if dense, with an intercept) and scaled
    into [-1, 1], y less its middle and over its spread."""

    X: Any
    y: Floats
    s: Floats
    low: Floats
    high: Floats
    shift: Floats
    scale: Floats
    middle: float
    unit: float
    intercept: bool
    eps: float  # the precision in which rows are scored

    @classmethod
    def of(cls, blocks: Blocks, intercept: bool) -> QuantileTable:
        whole = blocks.gather()
        y = to_numpy(to_float64(whole.y))
        X: Any = to_float64(whole.X)
        X = X if is_sparse(X) else to_numpy(X)
        s = np.ones(len(y)) if whole.weight is None else to_numpy(to_float64(whole.weight))
        X, y, s = X[s > 0.0], y[s > 0.0], s[s > 0.0]
        if is_sparse(X):
            low, high = (f(axis=0).toarray().ravel() for f in (X.min, X.max))
        else:
            low, high = X.min(axis=0), X.max(axis=0)
        shift = low if intercept and not is_sparse(X) else np.zeros(len(low))
        size = np.maximum(np.abs(low - shift), np.abs(high - shift))
        scale = np.where(size > 0.0, size, 1.0)
        X = _divided(X, scale) if is_sparse(X) else (X - shift) / scale
        middle = float(np.median(y)) if intercept else 0.0
        unit = float(np.mean(np.abs(y - middle)))
        unit = unit if unit > 0.0 else 1.0
        low, high = (low - shift) / scale, (high - shift) / scale
        y = (y - middle) / unit
        eps = float(np.finfo(blocks.dtype).eps)
        return cls(X, y, s / s.sum(), low, high, shift, scale, middle, unit, intercept, eps)

    def units(self, w: Floats, b: Floats) -> tuple[Floats, Floats]:
        """The point in the units of the rows as they came."""
        with np.errstate(over="ignore"):
            w = self.unit * w / self.scale[:, None]
        if not self.intercept or not np.isfinite(w).all():
            return w, np.zeros_like(b)
        return w, self.unit * b + self.middle - self.shift @ w

    def inward(self, w: Floats, b: Floats) -> tuple[Floats, Floats]:
        b = b + self.shift @ w - self.middle if self.intercept else b
        return w * self.scale[:, None] / self.unit, b / self.unit

    def slack(self, w: Floats, b: Floats) -> Floats:
        """The least of x·Dₖ + bₖ₊₁ - bₖ over the box, for each k."""
        D = np.diff(w, axis=1)
        least = np.minimum(self.low[:, None] * D, self.high[:, None] * D)
        return np.asarray(np.diff(b) + least.sum(axis=0))

    def parted(self, w: Floats, b: Floats) -> tuple[Floats, Floats]:
        """A feasible point near (w, b): intercepts raised, or coefficients made equal."""
        w, b = w.copy(), b.copy()
        for k in range(len(b) - 1):
            pair = slice(k, k + 2)
            if self.intercept:
                size = np.abs(w[:, pair]).sum() + np.abs(b[pair]).sum()
                slack = float(self.slack(w[:, pair], b[pair])[0])
                b[k + 1 :] += 4.0 * EPS * size - slack if slack < 0.0 else 0.0
                continue
            D = w[:, k + 1] - w[:, k]
            w[:, k + 1 :] += (self._spread(D) - D)[:, None]
        return w, b

    def _spread(self, D: Floats) -> Floats:
        """D with Σⱼ min(lⱼDⱼ, hⱼDⱼ) ≥ 0, moved along a direction that every row has on one side;
        where there is none, that sum is nowhere positive and each term must be zero."""
        least = float(np.minimum(self.low * D, self.high * D).sum())
        if least >= 0.0:
            return D
        away = np.where(self.low > 0.0, 1.0, np.where(self.high < 0.0, -1.0, 0.0))
        gain = float(np.minimum(self.low * away, self.high * away).sum())
        if gain > 0.0:
            return np.asarray(D + (4.0 * EPS * float(np.abs(D).sum()) - least) / gain * away)
        D = np.where((self.low < 0.0) & (self.high > 0.0), 0.0, D)
        return np.where(self.low >= 0.0, np.maximum(D, 0.0), np.minimum(D, 0.0))

    def scores(self, v: Floats) -> Floats:
        """x̃·v, v having one more row where there is an intercept."""
        d = len(self.low)
        return np.asarray(self.X @ v[:d]) + (v[d] if self.intercept else 0.0)

    def matrix(self, m: Floats) -> Floats:
        """Σ m x̃x̃'."""
        X = self.X
        weighted = X.multiply(m[:, None]).tocsr() if is_sparse(X) else X * m[:, None]
        G = X.T @ weighted
        G = np.asarray(G.toarray() if is_sparse(G) else G)
        if not self.intercept:
            return G
        side = np.asarray(X.T @ m)
        return np.block([[G, side[:, None]], [side[None, :], np.full((1, 1), m.sum())]])

    @cached_property
    def gram(self) -> PSDFactor:
        """Σ s x̃x̃', factored."""
        return PSDFactor.of(self.matrix(self.s))

    def pulled(self, z: Floats) -> Floats:
        """Σ zᵢx̃ᵢ."""
        pull = np.asarray(self.X.T @ z)
        return np.append(pull, z.sum(axis=0)[None, :], axis=0) if self.intercept else pull


def _divided(X: Any, scale: Floats) -> Any:
    """A CSR table with its columns divided, of which 1/scale may leave the range of floats."""
    X = X.tocsr(copy=True)
    X.data = X.data / scale[X.indices]
    return X


def apart_at_the_rows(
    blocks: Blocks, w: Floats, b: Floats, intercept: bool
) -> tuple[Floats, Floats]:
    """Intercepts raised by what rounding still leaves of crossings where the rows are scored."""
    if not intercept or len(b) == 1:
        return w, b
    kind = blocks.dtype
    for lift in (1.0, 2.0, 4.0, 8.0, 16.0):
        W, B = w.astype(kind), b.astype(kind)

        def stat(block: Block, W: Any = W, B: Any = B) -> tuple[Block]:
            X = block.X if is_sparse(block.X) else np.asarray(to_numpy(block.X), kind)
            if block.weight is not None:  # a row without weight may lie outside the box
                X = X[to_numpy(block.weight) > 0.0]
            if X.shape[0] == 0:
                return (Block(0, np.zeros((1, len(B) - 1))),)
            return (Block(0, to_numpy(np.diff(X @ W + B, axis=1).min(axis=0))[None, :]),)

        worst = concatenate(blocks.reduce(stat)).X.min(axis=0)
        if (worst >= 0.0).all():
            break
        b = b + np.append(0.0, np.cumsum(lift * 2.0 * np.maximum(-worst, 0.0)))
    return w, b
