"""A bounded linear program that is several copies of one table beside a few columns.

minimise Σₖ cₖ·xₖ + ½ Σⱼ gⱼuⱼ²  subject to  Σᵢ mᵢxₖᵢx̃ᵢ + (B u)ₖ = 0 for each k, (B u)₀ = 0,
lₖ ≤ xₖ ≤ hₖ (each an n-vector between two numbers), low ≤ u ≤ high

A step solves one system of the size of B's rows, whose matrix has a gram matrix of the table for
each k on its diagonal: n d² operations a copy. Some thirty steps are enough whatever n.

Reference: Mehrotra, On the implementation of a primal-dual interior point method, SIAM J. Optim. 2
(1992); Portnoy and Koenker, The Gaussian hare and the Laplacian tortoise, Statist. Sci. 12 (1997).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.hessian.dense import PSDFactor

Floats = NDArray[np.float64]


class RowsWithIntercept(Protocol):
    """A table with its intercept, x̃."""

    def scores(self, v: Floats) -> Floats:
        """x̃·v, one column for each of v's."""

    def pulled(self, z: Floats) -> Floats:
        """Σ zᵢx̃ᵢ, one column for each of z's."""

    def matrix(self, m: Floats) -> Floats:
        """Σ mᵢx̃ᵢx̃ᵢ'."""


@dataclass(frozen=True, eq=False)
class BlockLP:
    """The program's data: m (n,), c (n, K), l and h (K,); B, whose first rows are those of the
    copies one after the other, low and high, which may be infinite, and g (none: zero)."""

    rows: RowsWithIntercept
    m: Floats
    cost: Floats
    ends: tuple[Floats, Floats]
    side: Floats
    low: Floats
    high: Floats
    bend: Floats | None = None

    def solve(
        self, start: Floats, tol: float, max_steps: int = 80
    ) -> tuple[Floats, Floats, Floats]:
        """x (n, K), u and the multipliers of the equations; start: u inside its bounds."""
        here = best = self._begin(start)
        scale = 1.0 + float(np.abs(self.cost).sum())
        least, since = math.inf, 0
        for _ in range(max_steps):
            product = here.product()
            lost = float(np.abs(self._times(here.x)).max()) / len(self.m)
            rest = self._rest(here)
            left = max(product / scale, lost, float(np.abs(rest).max()) / scale)
            best, least, since = (here, left, 0) if left < least else (best, least, since + 1)
            if left <= tol or since > 4:  # beyond some point rounding only spoils it
                break
            solve = self._system(here)
            mu = product / here.pairs
            ahead = self._step(here, solve, rest, 0.0, None)
            t, r = self._longest(here, ahead)
            sigma = (here.moved(ahead, t, r).product() / product) ** 3
            toward = self._step(here, solve, rest, sigma * mu, ahead)
            t, r = self._longest(here, toward)
            if not max(t, r) > 1e-8:
                break
            here = here.moved(toward, 0.9995 * t, 0.9995 * r)
        n, K = self.cost.shape
        return best.x[: n * K].reshape(K, n).T, best.x[n * K :], best.pi

    def _longest(self, here: InteriorPoint, step: InteriorPoint) -> tuple[float, float]:
        """Steps in x and in the multipliers; one for both where a quadratic ties them."""
        t, r = here.longest(step)
        return (t, r) if self.bend is None else (min(t, r), min(t, r))

    def _begin(self, start: Floats) -> InteriorPoint:
        n = len(self.cost)
        low, high = self.ends
        x = np.concatenate([np.repeat(0.5 * (low + high), n), start])
        down = np.concatenate([np.repeat(0.5 * (high - low), n), start - self.low])
        up = np.concatenate([np.repeat(0.5 * (high - low), n), self.high - start])
        c = self._cost()
        unit = float(np.abs(self.cost).mean()) + 1e-300
        zl, zu = np.maximum(c, 0.0) + unit, np.maximum(-c, 0.0) + unit
        zl[np.isinf(down)], zu[np.isinf(up)] = 0.0, 0.0
        bend = np.zeros(len(x))
        if self.bend is not None:
            bend[len(x) - len(start) :] = self.bend
        return InteriorPoint(x, down, up, zl, zu, np.zeros(len(self.side)), bend)

    def _cost(self) -> Floats:
        return np.concatenate([self.cost.T.ravel(), np.zeros(self.side.shape[1])])

    def _times(self, x: Floats) -> Floats:
        n, K = self.cost.shape
        out = self.side @ x[n * K :]
        pull = self.rows.pulled(self.m[:, None] * x[: n * K].reshape(K, n).T)
        out[: pull.size] += pull.T.ravel()
        return np.asarray(out)

    def _adjoint(self, pi: Floats) -> Floats:
        _, K = self.cost.shape
        size = self._size
        z = self.m[:, None] * self.rows.scores(pi[: K * size].reshape(K, size).T)
        return np.concatenate([z.T.ravel(), self.side.T @ pi])

    @property
    def _size(self) -> int:
        """Equations of one copy."""
        return int(self.rows.pulled(np.zeros((len(self.m), 1))).shape[0])

    def _rest(self, here: InteriorPoint) -> Floats:
        return self._cost() + here.bend * here.x - self._adjoint(here.pi) - here.zl + here.zu

    def _system(self, here: InteriorPoint) -> Callable[[Floats], Floats]:
        n, K = self.cost.shape
        D = here.weight()
        M = (self.side * D[n * K :]) @ self.side.T
        size = self._size
        for k in range(K):
            part = slice(k * size, (k + 1) * size)
            M[part, part] += self.rows.matrix(self.m * self.m * D[k * n : (k + 1) * n])
        return PSDFactor.of(M).solve

    def _step(
        self,
        here: InteriorPoint,
        solve: Callable[[Floats], Floats],
        rest: Floats,
        mu: float,
        ahead: InteriorPoint | None,
    ) -> InteriorPoint:
        """Newton's step for z·(distance to its end) = μ and the equations; `ahead`, the step that
        aims at none, gives the second-order term."""
        low, high = mu - _times(here.down, here.zl), mu - _times(here.up, here.zu)
        if ahead is not None:
            low = low - ahead.x * ahead.zl
            high = high + ahead.x * ahead.zu
        toward = low / here.down - high / here.up  # an end at infinity pushes nothing
        D = here.weight()
        pi = solve(-self._times(here.x) + self._times(D * (rest - toward)))
        dx = D * (self._adjoint(pi) - rest + toward)
        zl, zu = (low - here.zl * dx) / here.down, (high + here.zu * dx) / here.up
        return replace(here, x=dx, zl=zl, zu=zu, pi=pi)


@dataclass(frozen=True, slots=True, eq=False)
class InteriorPoint:
    """A point strictly inside: x, its distances down and up to the ends, their multipliers, π.

    The distances are kept by themselves: near an end the difference has no digits left.
    """

    x: Floats
    down: Floats
    up: Floats
    zl: Floats
    zu: Floats
    pi: Floats
    bend: Floats

    @property
    def pairs(self) -> int:
        return int(np.isfinite(self.down).sum() + np.isfinite(self.up).sum())

    def product(self) -> float:
        return float((_times(self.down, self.zl) + _times(self.up, self.zu)).sum())

    def weight(self) -> Floats:
        return np.asarray(1.0 / (self.bend + self.zl / self.down + self.zu / self.up))

    def longest(self, step: InteriorPoint) -> tuple[float, float]:
        """The longest steps, at most 1, in x and in the multipliers that stay inside."""

        def limit(values: Floats, change: Floats) -> float:
            falls = change < 0.0
            if not falls.any():
                return 1.0
            return min(1.0, float((-values[falls] / change[falls]).min()))

        t = min(limit(self.down, step.x), limit(self.up, -step.x))
        return t, min(limit(self.zl, step.zl), limit(self.zu, step.zu))

    def moved(self, step: InteriorPoint, t: float, r: float) -> InteriorPoint:
        return InteriorPoint(
            self.x + t * step.x,
            self.down + t * step.x,
            self.up - t * step.x,
            self.zl + r * step.zl,
            self.zu + r * step.zu,
            self.pi + r * step.pi,
            self.bend,
        )


def _times(distance: Floats, z: Floats) -> Floats:
    return np.where(np.isinf(distance), 0.0, distance) * z
