"""Ridge regression over the features of landmarks: conjugate gradients ahead of a sampled Gram.

    (Φ'SΦ + αI)w = Φ'Sy,   Φ = KB,   K = (k(xᵢ, zⱼ)), n x m, never held

The preconditioner is Φ'SΦ + αI of q m rows, drawn by their weight, in place of n: the eigenvalues
of one matrix ahead of the other then lie in ((1 - q^{-1/2})², (1 + q^{-1/2})²), whatever α, so that
each step, a pass over the rows, divides the gap by q. (FALKON takes the landmarks themselves, q =
1, for which α must not be small.) q is what makes Gram matrix and passes together cheapest; with
all rows the equations are solved directly, and passes refine.

Cost: q m³ / 2 products, or n m² / 2; m³ for two factors; n m kernel values a pass; 8 m² bytes, a
few times.

Reference: Rudi, Carratino and Rosasco, FALKON: an optimal large scale kernel method, NIPS 30
(2017); Rokhlin and Tygert, A fast randomized algorithm for overdetermined linear least-squares
regression, PNAS 105 (2008).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from fenchel.convex.certificate import Certificate
from fenchel.data.design.landmark_table import LandmarkTable
from fenchel.solve.gram.landmark_proof import Residuals, Rounding, landmark_certificate
from fenchel.solve.gram.shifted_gram import conjugate_run

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
U = 2.0**-53
# Nanoseconds of two cores for a Gaussian value with its two products, and for one of the n m² of a
# Gram matrix: 20,000 rows and 2000 landmarks took 0.06 and 0.85 s.
VALUE, PRODUCT = 1.5, 0.011
# By how much a fit begun at the sample's solution is to lower its gap, e^16 = 10^7.
DIGITS = 16.0
STEPS = 60


@dataclass(frozen=True, slots=True, eq=False)
class LandmarkSolution:
    """w (r, T) and c = Bw (m, T), their proof, the steps, and the rows of the sample."""

    w: Floats
    c: Floats
    certificate: Certificate
    steps: int
    sampled: int


@dataclass(frozen=True, eq=False)
class LandmarkRidge:
    """The problem for targets y (n, T), weights s of 0 or more, and α > 0 of each target.

    basis: B; landmark: √k(z, z); random: draws the sample; sample: how many rows, None for what is
    cheapest.
    """

    table: LandmarkTable
    basis: Floats = field(repr=False)
    landmark: Floats = field(repr=False)
    y: Floats = field(repr=False)
    s: Floats = field(repr=False)
    alpha: Floats
    random: np.random.Generator
    sample: int | None = None

    @cached_property
    def root(self) -> Floats:
        """√k(x, x) of every row."""
        return np.asarray(np.sqrt(np.maximum(self.table.diagonal(), 0.0)))

    @cached_property
    def rounding(self) -> Rounding:
        """What passes round."""
        mass, table = float(self.s @ self.root**2), self.table
        return Rounding(table.entry_error, table.sum_error, table.score_error, self.landmark, mass)

    def seen(self, c: Floats) -> tuple[Floats, Residuals]:
        """A pass at some coefficients: K'(Sρ), ρ = y - Kc, and the sums."""
        y, s, root = self.y, self.s[:, None], self.root[:, None]

        def rule(rows: slice, Z: Floats) -> tuple[Floats, Floats]:
            rho = y[rows] - Z
            r = s[rows] * rho
            sums = r * rho, r * y[rows], root[rows] * np.abs(r)
            # Along rows numpy sums by halves, which rounds less than the products do.
            return r, np.stack([np.ascontiguousarray(part.T).sum(axis=1) for part in sums])

        pull, (squares, inner, reach) = self.table.sweep(c, rule)
        return pull, Residuals(squares, self.s @ y**2, inner, reach)

    def product(self, u: Floats) -> Floats:
        """(Φ'SΦ + αI)u for the columns of a matrix."""
        s = self.s[:, None]

        def rule(rows: slice, Z: Floats) -> tuple[Floats, Floats]:
            return s[rows] * Z, np.zeros((0, Z.shape[1]))

        pull = self.table.sweep(self.basis @ u, rule)[0]
        return np.asarray(self.basis.T @ pull + self.alpha * u)

    def solve(self, tol: float) -> LandmarkSolution:
        """w of every target, to a hundredth of the relative gap tol where rounding allows it."""
        numbers, s = self._sample()
        ahead = self._preconditioner(numbers, s)
        w = np.zeros((self.basis.shape[1], self.y.shape[1]))
        energy = self.s @ self.y**2
        steps, before = 0, np.full(w.shape[1], np.inf)
        while True:
            c = self.basis @ w
            pull, seen = self.seen(c)
            r = self.basis.T @ pull - self.alpha * w
            value = seen.squares + self.alpha * np.sum(w**2, axis=0)
            norm = np.linalg.norm(r, axis=0)

            def goal(u: Floats, r: Floats = r, value: Floats = value) -> Floats:
                # The gap is |residual|²/α, and the value after u, at right angles to what is left,
                # is lower by u·r.
                least = np.maximum(value - np.sum(u * r, axis=0), 32.0 * U * energy)
                return np.asarray(np.sqrt(0.01 * tol * self.alpha * least))

            reached = (norm <= 2.0 * goal(np.zeros_like(w))).all()
            if reached or steps >= STEPS or not (norm <= 0.5 * before).any():
                break
            u, taken = conjugate_run(self.product, ahead, r, STEPS - steps, goal)
            w, steps, before = w + u, steps + taken, norm
        proof = landmark_certificate(seen, pull, w, c, self.alpha, self.basis, self.rounding)
        return LandmarkSolution(w, c, replace(proof, steps=steps), steps, len(numbers))

    def _sample(self) -> tuple[Numbers, Floats]:
        """Numbers and weights of the rows of the preconditioner: all, or drawn by weight."""
        some = np.flatnonzero(self.s)
        cheapest = sampled_rows(len(some), self.table.count)
        count, s = cheapest if self.sample is None else self.sample, self.s[some]
        if count >= len(some):
            return some, s
        even = bool((s == s[0]).all())
        share = None if even else s / s.sum()
        drawn = np.sort(self.random.choice(some, count, replace=not even, p=share))
        return drawn, np.full(count, float(s.sum()) / count)

    def _preconditioner(self, numbers: Numbers, s: Floats) -> Callable[[Floats], Floats]:
        """The inverse of B'K'SKB + αI of some rows, for the columns of a matrix.

        K'SK rounds by some U of its trace, which B then magnifies; where that comes near α, or
        squares leave the range of floats, the rows are multiplied by B first: 2 n m² products more.
        """
        top = float(self.landmark.max(initial=0.0)) ** 2
        error = U * (self.rounding.mass * top) * float(np.sum(self.basis**2))
        if 1e-70 < top < 1e70 and error <= 0.01 * float(self.alpha.min()):
            G = self.basis.T @ self.table.gram(numbers, s) @ self.basis
        else:
            G = self.table.gram(numbers, s, self.basis)
        factors = {}
        for alpha in np.unique(self.alpha):
            shift = float(alpha)
            while True:
                A = np.asfortranarray(G)
                A.reshape(-1, order="F")[:: len(A) + 1] += shift
                factor, failed = linalg.lapack.dpotrf(A, lower=1, clean=0, overwrite_a=1)
                if not failed:
                    break
                # Rounding alone: a larger shift is a preconditioner too.
                shift = max(10.0 * shift, 16.0 * U * float(np.trace(G)))
            factors[float(alpha)] = factor

        def apply(r: Floats) -> Floats:
            out = np.empty_like(r)
            for alpha, factor in factors.items():
                some = np.flatnonzero(self.alpha == alpha)
                out[:, some] = linalg.lapack.dpotrs(factor, r[:, some], lower=1)[0]
            return out

        return apply


def sampled_rows(n: int, m: int) -> int:
    """The rows of the preconditioner's Gram matrix that make the solve cheapest; n for all."""
    row, pass_ = PRODUCT * m * m, VALUE * n * m
    best, least = n, n * row + 2.0 * pass_
    q = 2.0
    while q * m < n:
        cost = q * m * row + (2.0 + DIGITS / math.log(q)) * pass_
        if cost < least:
            best, least = int(q * m), cost
        q *= 1.25
    return best
