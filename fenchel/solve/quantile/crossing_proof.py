"""The proof of several quantiles that do not cross, rounding included.

    Q(w, b) ≥ Σₖ Σᵢ sᵢθₖᵢrₖᵢ + Σ ηw - Σₖ [μₖ·(wₖ₊₁ - wₖ) + λₖ(bₖ₊₁ - bₖ)]
              - Σₖ |⟨(pₖ, eₖ), (Δwₖ, Δbₖ)⟩|

with the signs of `solve.quantile`. θ, η, λ and ν are floating-point numbers inside their intervals;
the sums are made of exact products, in pairs of floats or by `math.fsum`, on the rows as they came,
but for powers of two. What is charged for (p, e), with |·| ≤ their errors added:

rows      maxᵢ|x̃ᵢ·v| (Σ s|rₖ| + Q/min(qₖ, 1 - qₖ)) for Σ s x̃x̃'v = (pₖ, eₖ), by a verified factor
penalty   |Δwⱼ| ≤ |wⱼ| + Q/α, and of the mean score |x̄·Δw + Δb| ≤ Σ s|r| + Q/min(qₖ, 1 - qₖ)

A point that rounding leaves outside of a constraint by δ is charged λδ. The weights made to sum to
one are right to 3U, and with them Q, which is a sum of terms that are not negative.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certification.coordinates import Coordinates
from fenchel.convex.certification.dual_point import PointValue
from fenchel.convex.certification.rounding import PAIRS, TREE, UNDERFLOW, U, down, gamma, up
from fenchel.convex.certification.straight_pieces import reach_of_rows, row_weights
from fenchel.convex.certification.verified_solve import VerifiedFactor
from fenchel.data.arrays import is_sparse, to_float64, to_numpy
from fenchel.data.blocks import Block, Blocks
from fenchel.data.design.matrix import MatrixDesign
from fenchel.data.in_memory import ArrayBlocks
from fenchel.data.linear_algebra.double_double import (
    DoubleDouble,
    OzakiMatrix,
    two_product,
    two_sum,
)

Floats = NDArray[np.float64]
LARGEST = 2.0**900  # of a price: products with it stay inside float64
ROWS = 2**16  # of a slice of the table, whose products stay exact


@dataclass(frozen=True, slots=True, eq=False)
class Dual:
    """θ (n, K), λ (K - 1) and ν (d, K - 1)."""

    theta: Floats
    lam: Floats
    nu: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A bound of Q; whether of the whole problem, or of the directions alone that float64 tells
    apart."""

    bound: float
    whole: bool


@dataclass(frozen=True, eq=False)
class CrossingProof:
    """Rows of positive weight in memory, y over 2^exponent and columns over 2^exponents."""

    X: Any
    y: Floats
    s: Floats
    q: Floats
    prices: Floats  # α of each column
    intercept: bool
    exponent: int
    exponents: NDArray[np.int64]

    @classmethod
    def of(cls, blocks: Blocks, q: Floats, alpha: float, intercept: bool) -> CrossingProof:
        whole = blocks.gather()
        y = to_numpy(to_float64(whole.y))
        X: Any = to_float64(whole.X)
        X = X if is_sparse(X) else to_numpy(X)
        s = np.ones(len(y)) if whole.weight is None else to_numpy(to_float64(whole.weight))
        X, y, s = X[s > 0.0], y[s > 0.0], s[s > 0.0]
        top = abs(X).max(axis=0)
        top = np.asarray(top.toarray() if is_sparse(top) else top, np.float64).reshape(-1)
        exponents = np.where(top > 0.0, np.frexp(top)[1], 0).astype(np.int64)
        exponent = min(int(np.frexp(np.abs(y).max(initial=0.0))[1]), 1000)
        # In two factors: 2^1029, which takes a column of denormal numbers to one, is no float64.
        for part in (exponents // 2, exponents - exponents // 2):
            scale = np.ldexp(1.0, -part)
            X = X.multiply(scale[None, :]).tocsr() if is_sparse(X) else X * scale
        with np.errstate(over="ignore"):
            prices = np.ldexp(np.full(len(top), alpha), -exponents)
        prices = np.minimum(prices, LARGEST)  # a bound of a lower price is one of this too
        total = math.fsum(s.tolist())
        return cls(X, np.ldexp(y, -exponent), s / total, q, prices, intercept, exponent, exponents)

    @property
    def unit(self) -> float:
        """By which values are multiplied."""
        return math.ldexp(1.0, self.exponent)

    def inward(self, w: Floats, b: Floats) -> tuple[Floats, Floats]:
        """A point in these units, exactly."""
        return np.ldexp(w, self.exponents[:, None] - self.exponent), np.ldexp(b, -self.exponent)

    @property
    def table(self) -> MatrixDesign:
        """The rows, written down."""
        return self.design

    @cached_property
    def design(self) -> MatrixDesign:
        """The rows as coordinates see them."""
        return MatrixDesign(ArrayBlocks(Block(0, self.X, self.y, self.s), None))

    @cached_property
    def _ends(self) -> tuple[Floats, Floats]:
        if is_sparse(self.X):
            low, high = (f(axis=0).toarray().ravel() for f in (self.X.min, self.X.max))
        else:
            low, high = self.X.min(axis=0), self.X.max(axis=0)
        return np.asarray(low, np.float64), np.asarray(high, np.float64)

    @cached_property
    def _parts(self) -> list[tuple[slice, OzakiMatrix]]:
        n = len(self.y)
        cuts = [slice(lo, min(lo + ROWS, n)) for lo in range(0, n, ROWS)]
        return [(cut, OzakiMatrix.of(self.X[cut])) for cut in cuts]

    @cached_property
    def _sizes(self) -> Floats:
        low, high = self._ends
        return np.maximum(np.abs(low), np.abs(high))

    def residuals(self, w: Floats, b: Floats) -> DoubleDouble:
        """y - Xw - b in pairs."""
        found = [part.forward(DoubleDouble.of(w)) for _, part in self._parts]
        z = DoubleDouble(
            np.concatenate([part.hi for part in found]), np.concatenate([part.lo for part in found])
        )
        z = z.plus(np.broadcast_to(b, z.hi.shape))
        return -z.plus(np.broadcast_to(-self.y[:, None], z.hi.shape))

    def slack(self, w: Floats, b: Floats) -> Floats:
        """The least of x·(wₖ₊₁ - wₖ) + bₖ₊₁ - bₖ over the box, for each k."""
        low, high = self._ends
        out = np.empty(len(b) - 1)
        for k in range(len(b) - 1):
            D = DoubleDouble(*two_sum(w[:, k + 1], -w[:, k]))
            corner = np.where(D.hi > 0.0, low, high)
            parts = [*two_product(D.hi, corner), *two_product(D.lo, corner)]
            # A sum of exact products that is rounded once has the sign of the exact one.
            out[k] = math.fsum([*np.concatenate(parts).tolist(), float(b[k + 1]), -float(b[k])])
        return out

    def lifted(self, w: Floats, b: Floats, kind: Any = np.float64) -> tuple[Floats, Floats]:
        """The point in a floating type, in the units of the rows as they came, with intercepts
        raised until no constraint is broken; without intercepts, coefficients of columns of one
        sign."""
        w, b = _rounded(w, kind), _rounded(b, kind)
        low, high = self._ends
        away = np.where(low > 0.0, 1.0, np.where(high < 0.0, -1.0, 0.0))
        away[self.exponent - self.exponents > 1000] = 0.0  # where no float takes such a step
        gain = float(np.minimum(low * away, high * away).sum())
        away = np.ldexp(away, self.exponent - self.exponents)
        for lift in (2.0, 4.0, 8.0, 16.0):
            inside = self.inward(w, b)
            short = np.maximum(-self.slack(*inside), 0.0)
            if not short.any() or not (self.intercept or gain > 0.0):
                break
            least = (
                float(np.finfo(kind).eps) * np.abs(inside[1] if self.intercept else inside[0]).max()
            )
            more = np.where(short > 0.0, np.maximum(lift * short, least), 0.0)
            more = np.append(0.0, np.cumsum(more))
            if self.intercept:
                b = _rounded(b + np.ldexp(more, self.exponent), kind)
            else:
                w = _rounded(w + np.multiply.outer(away, more / gain), kind)
        return w, b

    def value(self, w: Floats, b: Floats) -> PointValue:
        """Q at a point in these units, its constraints left aside."""
        return self._value(w, b, self.residuals(w, b))

    def _value(self, w: Floats, b: Floats, r: DoubleDouble) -> PointValue:
        q = self.q
        loss = float(self.s @ np.maximum(q * r.hi, (q - 1.0) * r.hi).sum(axis=1))
        value = loss + float(self.prices @ np.abs(w).sum(axis=1))
        error = value * gamma(len(self.y) * len(q) + len(w) + 16)
        return PointValue(value, up(error + len(q) * self._far(w, b) * PAIRS + UNDERFLOW))

    def _far(self, w: Floats, b: Floats) -> float:
        """At least the sum of the sizes of the terms of any residual."""
        far = float(np.max(self._sizes @ np.abs(w) + np.abs(b)))
        return far + float(np.abs(self.y).max(initial=0.0))

    def found(self, w: Floats, b: Floats, dual: Dual) -> Found:
        """The bound of Q by multipliers, from a point in these units."""
        r = self.residuals(w, b)
        size = self.s @ np.abs(r.hi) * (1.0 + gamma(len(self.y) + 8))
        slack = np.minimum(self.slack(w, b), 0.0)
        top = up(self._value(w, b, r).top - len(self.q) * float(slack.sum()), 4)
        found = self._bound(w, b, dual, r, size, top)
        # Without intercepts no point near this one is known to meet a constraint that it breaks.
        known = found.whole and (self.intercept or not slack.any())
        return Found(max(found.bound, 0.0), known)

    def feasible(self, dual: Dual) -> Dual:
        """The multipliers inside their intervals."""
        lam = np.maximum(dual.lam, 0.0)
        low = np.nextafter(self.q - 1.0, 0.0)  # 1 - q is rounded where q is small
        return Dual(np.clip(dual.theta, low, self.q), lam, np.clip(dual.nu, 0.0, lam))

    def _bound(
        self,
        w: Floats,
        b: Floats,
        dual: Dual,
        r: DoubleDouble,
        size: Floats,
        value: float,
    ) -> Found:
        (low, high), d, K = self._ends, len(w), len(self.q)
        force = DoubleDouble(*two_product(dual.theta, np.broadcast_to(self.s[:, None], r.hi.shape)))
        pull = self._pulled(force)
        mass = np.abs(force.hi).sum(axis=0)
        mu = [
            DoubleDouble(*two_product(np.full(d, dual.lam[k]), low))
            + DoubleDouble(*two_product(dual.nu[:, k], high))
            + DoubleDouble(*two_product(dual.nu[:, k], -low))
            for k in range(K - 1)
        ]
        products = force.times(r.hi).plus(force.hi * r.lo)
        terms = [products.hi.ravel(), products.lo.ravel()]
        gross = float(np.abs(products.hi).sum()) + float(mass.sum()) * self._far(w, b)
        held = np.zeros(K)
        left, errors, levels = np.zeros((d, K)), np.zeros((d, K)), np.zeros(K)
        for k in range(K):
            p = DoubleDouble(pull.hi[:, k], pull.lo[:, k])
            level = [*force.hi[:, k].tolist(), *force.lo[:, k].tolist()]
            for sign, j in ((-1.0, k), (1.0, k - 1)):
                if 0 <= j < K - 1:
                    p = p + DoubleDouble(sign * mu[j].hi, sign * mu[j].lo)
                    level.append(sign * float(dual.lam[j]))
                    held[k] += float(dual.lam[j])
            eta = np.clip(p.hi, -self.prices, self.prices)
            p = p.plus(-eta)
            part = DoubleDouble(*two_product(eta, w[:, k]))
            terms += [part.hi, part.lo]
            gross += float(np.abs(part.hi).sum())
            left[:, k] = p.hi
            errors[:, k] = np.abs(p.hi) * gamma(4) + 4.0 * PAIRS * self._sizes * (
                mass[k] + 3.0 * held[k] + np.abs(eta)
            ) + UNDERFLOW  # fmt: skip
            levels[k] = math.fsum(level)
        slack = self.slack(w, b) if K > 1 else np.zeros(0)
        broken = 0.0
        for k in range(K - 1):
            D = DoubleDouble(*two_sum(w[:, k + 1], -w[:, k]))
            part = mu[k].times(D.hi).plus(mu[k].hi * D.lo)
            step, rest = two_sum(b[k + 1 : k + 2], -b[k : k + 1])
            last, more = two_product(np.full(1, dual.lam[k]), step)
            terms += [-part.hi, -part.lo, -last, -more, -dual.lam[k] * rest]
            gross += float(np.abs(part.hi).sum() + np.abs(last).sum())
            broken += dual.lam[k] * max(-float(slack[k]), 0.0)
        total = math.fsum(np.concatenate(terms).tolist())
        total -= abs(total) * 2.0 * U + gross * 4.0 * PAIRS + up(broken) + UNDERFLOW
        near = size + value / np.minimum(self.q, 1.0 - self.q)
        near = near * (1.0 + gamma(len(self.y) + 16))
        charges, whole = self._charges(left, errors, levels, w, near, value)
        return Found(down(total - up(float(np.sum(charges)), K + 4) - 8.0 * U * value, 4), whole)

    def _pulled(self, force: DoubleDouble) -> DoubleDouble:
        parts = [
            part.adjoint(DoubleDouble(force.hi[cut], force.lo[cut])) for cut, part in self._parts
        ]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total

    @cached_property
    def _matrix(self) -> tuple[Floats, Floats, float]:
        """Σ s x̃x̃' about a centre, that centre, and the relative error of the entries."""
        X, d = self.X, self.X.shape[1]
        centre = np.zeros(d)
        if self.intercept and not is_sparse(X):
            centre = self.s @ X
        rows = X.toarray() if is_sparse(X) else X - centre
        if self.intercept:
            rows = np.append(rows, np.ones((len(rows), 1)), axis=1)
        half = rows * np.sqrt(self.s)[:, None]
        return half.T @ half, centre, gamma(len(rows) + TREE) + 32.0 * U

    @cached_property
    def _factor(self) -> VerifiedFactor | None:
        H, _, eta = self._matrix
        return VerifiedFactor.of(H, eta)

    def _charges(
        self, p: Floats, error: Floats, levels: Floats, w: Floats, near: Floats, value: float
    ) -> tuple[list[float], bool]:
        """What is paid for (p, e) of each quantile, and whether that bounds the whole problem."""
        charges, whole = [], True
        H, centre, eta = self._matrix
        about = Coordinates(centre, np.arange(len(p)))
        for k in range(len(levels)):
            level = float(levels[k]) if self.intercept else 0.0
            off = abs(level) * U + UNDERFLOW if self.intercept else 0.0
            g, e = about.gradient(p[:, k], error[:, k], level, off, self.intercept)
            paid = self._by_penalty(g, e, w[:, k], float(near[k]), value)
            if self._factor is not None:
                v, left, _ = self._factor.solved(H, eta, g, e)
                sizes = self._sizes + np.abs(centre)
                sizes = np.append(sizes, 1.0) if self.intercept else sizes
                tau = self._factor.reach(self._factor.square(0.0 * left, left), sizes)
                paid = min(paid, up((tau + self._peak(v, centre, sizes)) * near[k], 4))
            elif not paid <= 1e-9 * value:
                found, exact = self._by_span(p[:, k], error[:, k], level, off)
                if found * near[k] < paid:
                    paid, whole = up(found * near[k], 4), whole and exact
            charges.append(paid)
        return charges, whole

    def _by_penalty(self, g: Floats, e: Floats, w: Floats, near: float, value: float) -> float:
        if not (self.prices > 0.0).all():
            return math.inf
        d = len(w)
        far = np.abs(w) + value / self.prices
        size = np.abs(g) + e
        charge = float(size[:d] @ far)
        if self.intercept:
            # The centre is the weighted mean but for rounding.
            charge += float(size[d]) * (near + gamma(len(self.y) + 8) * float(self._sizes @ far))
            if is_sparse(self.X):
                charge += float(size[d]) * float(self._sizes @ far)
        return up(charge, d + 8)

    def _by_span(self, p: Floats, error: Floats, level: float, off: float) -> tuple[float, bool]:
        """max |x̃·v| in coordinates of what the rows span, and whether all of it."""
        for part in (False, True):
            with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
                found = reach_of_rows(
                    self, Coordinates.of(self), p, error, level, off, row_weights, part
                )
            if found is not None:
                return found[0], not part
        return math.inf, True

    def _peak(self, v: Floats, centre: Floats, sizes: Floats) -> float:
        d = len(centre)
        rows = self.X if is_sparse(self.X) else self.X - centre
        z = np.asarray(rows @ v[:d]) + (v[d] if self.intercept else 0.0)
        return up(float(np.abs(z).max(initial=0.0)) + float(sizes @ np.abs(v)) * gamma(d + 6), 2)


def _rounded(v: Floats, kind: Any) -> Floats:
    """Numbers of a floating type, where it holds them."""
    with np.errstate(over="ignore"):
        found = v.astype(kind).astype(np.float64)
    return found if np.isfinite(found).all() else v
