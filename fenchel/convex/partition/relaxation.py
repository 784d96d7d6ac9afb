"""The semidefinite relaxation of k-means, and what any dual point of it proves.

    minimise ⟨C, Z⟩  over  Z ⪰ 0, Z ≥ 0, Z u = u, tr Z = k;    Cᵢⱼ = ½ uᵢ uⱼ |xᵢ - xⱼ|², uᵢ = √sᵢ

A partition into k clusters is the projection Z = Σₐ uₐuₐ' / |uₐ|², uₐ the part of u in cluster a,
and ⟨C, Z⟩ its weighted scatter within clusters. For every such Z and every matrix B ≥ 0, with
q = u / |u| and P = I - qq',

    ⟨C, Z⟩  ≥  ⟨C - B, Z⟩  ≥  q'(C - B) q + Σ of the k - 1 smallest eigenvalues of P(C - B)P

on the complement of u, since Z - qq' is a projection of rank k - 1 there. B = 0 gives the spectral
bound, and the best B the optimum of the relaxation. No B can prove too much, so that it need not
come from a solver that is trusted. O(m³) for m rows.

References: Peng and Wei, Approximating k-means-type clustering via semidefinite programming, SIAM
J. Optim. 18 (2007); Jansson, Chaykin and Keil, Rigorous error bounds for the optimal value in
semidefinite programming, SIAM J. Numer. Anal. 46 (2007).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.convex.objective import Objective

Floats = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True, eq=False)
class PrimalDual:
    """Z ⪰ 0 with Zu = u and tr Z = k, perhaps with entries below zero, and B ≥ 0."""

    Z: Floats
    B: Floats


@dataclass(frozen=True, slots=True)
class RelaxationValue:
    """⟨C, Z⟩ at the nearest Z ≥ 0 towards the centre of the domain, and the bound of B."""

    value: float
    bound: float


@dataclass(frozen=True, eq=False)
class PartitionRelaxation(Objective[PrimalDual]):
    """The relaxation for rows of weight s = u².

    cost: at most C entry by entry, whatever was rounded on the way, and symmetric; root: u > 0; k:
    fewer than rows.
    """

    cost: Floats
    root: Floats
    k: int

    @classmethod
    def of_distances(
        cls, squares: Floats, weight: Floats | None, k: int, error: float
    ) -> PartitionRelaxation:
        """squares: |xᵢ - xⱼ|², each off by at most `error` times itself; weight: positive."""
        m = len(squares)
        if not 1 <= k < m:
            raise ValueError(f"k must be at least 1 and less than the {m} rows, got {k}")
        root = np.ones(m) if weight is None else np.sqrt(weight)
        # Three products and a root that stands for the weight: 8 EPS, and the distances' own.
        half = (0.5 * (1.0 - error - 8.0 * EPS)) * root
        cost = squares * half[:, None] * root
        return cls(np.minimum(cost, cost.T), root, k)

    @property
    def m(self) -> int:
        return len(self.root)

    @cached_property
    def axis(self) -> Floats:
        """q = u / |u|."""
        return np.asarray(self.root / np.linalg.norm(self.root))

    @cached_property
    def reflector(self) -> Floats:
        """w, |w| = 1: H = I - 2ww' maps q to the first axis, but for its sign."""
        w = self.axis.copy()
        w[0] += 1.0
        return np.asarray(w / np.linalg.norm(w))

    def reflected(self, M: Floats) -> Floats:
        """HMH of a symmetric matrix: its first entry is q'Mq, the rest is M on u's complement."""
        w = self.reflector
        t = M @ w
        t -= (w @ t) * w
        cross = np.outer(2.0 * w, t)
        return np.asarray(M - cross - cross.T)

    def bound(self, B: Floats) -> float:
        """What B ≥ 0 proves; the spectral bound where it proves less or is no such matrix."""
        if not np.isfinite(self.cost).all():
            return 0.0
        plain = self._bound(self.cost)
        if not np.isfinite(B).all():
            return plain
        # At most C entry by entry: then its own roundings prove no more than it does. Symmetric,
        # for LAPACK reads one half: what is left where C and B cancel may be rounding alone.
        M = np.minimum(self.cost - B, self.cost)
        return max(plain, self._bound(np.minimum(M, M.T)))

    def _bound(self, M: Floats) -> float:
        R = self.reflected(M)
        low = np.linalg.eigvalsh(R[1:, 1:])[: self.k - 1]
        # The reflection and LAPACK's eigenvalues are those of a matrix that is off by a few m
        # roundings of its norm (Higham, lemma 19.3; LAPACK Users' Guide, section 4.7), which moves
        # each of k eigenvalues by no more.
        slack = 32.0 * EPS * self.m * self.k * float(np.linalg.norm(M))
        return max(float(R[0, 0]) + float(low.sum()) - slack, 0.0)

    def origin(self) -> PrimalDual:
        return PrimalDual(self.centre, np.zeros_like(self.cost))

    @cached_property
    def centre(self) -> Floats:
        """qq' + (k - 1)/(m - 1) (I - qq'): of all feasible Z the one whose entries are largest."""
        share = (self.k - 1.0) / (self.m - 1.0)
        Z = np.outer((1.0 - share) * self.axis, self.axis)
        Z.flat[:: self.m + 1] += share
        return Z

    def evaluate(self, point: PrimalDual, *, exact: bool = False) -> RelaxationValue:
        Z, inner = point.Z, self.centre
        below = Z < 0.0
        # Entries below zero need a share t of the centre: (1 - t) Z + t inner ≥ 0.
        t = float((-Z[below] / (inner[below] - Z[below])).max(initial=0.0))
        value = (1.0 - t) * float((self.cost * Z).sum()) + t * float((self.cost * inner).sum())
        return RelaxationValue(value, self.bound(point.B))

    def certify(
        self, point: PrimalDual, seen: Any = None, dual: Any = None, enough: float = 1e-9
    ) -> Certificate:
        found = seen if isinstance(seen, RelaxationValue) else self.evaluate(point)
        return Certificate(found.value, min(found.bound, found.value), "duality")


def leading_scatter(C: Floats, basis: Floats, steps: int = 8) -> float:
    """About the largest eigenvalue of -C outside the span of an orthonormal basis, at most that, by
    the power method: off u that of the scatter, off the clusters' parts of u of that within."""
    v = np.random.RandomState(0).standard_normal(len(C))
    found = 0.0
    for _ in range(steps):
        v -= basis @ (basis.T @ v)
        size = float(np.linalg.norm(v))
        if not size > 0.0:
            break
        v = -(C @ (v / size))
        v -= basis @ (basis.T @ v)
        found = float(np.linalg.norm(v))
    return found
