"""The factored curvature of the rows at a joint, kept from step to step while few of them change.

For one θ and μ every row at a joint has the curvature h = s/(μ + smoothing) and no other row has
any: H = Σ hᵢx̃ᵢx̃ᵢ' + λI changes by the rows that come and go. A new matrix of m rows and its factor
take (m + d/3) d² operations, k rows more or less k d² by Woodbury's identity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.hessian.dense import HessianFactor, PSDFactor
from fenchel.data.arrays import is_sparse, to_float64, to_numpy
from fenchel.data.design.matrix import MatrixDesign

Floats = NDArray[np.float64]
# Rows that may come and go, as a share of the columns: a factor is then a third of the work of a
# new one, and the next step may yet use it.
FEW = 8


@dataclass(frozen=True, slots=True, eq=False)
class ActiveCurvature:
    """H for the curvatures h of the rows of a table, and its factor."""

    table: MatrixDesign
    h: Floats
    lam: Any
    centre: Floats
    intercept: bool
    root: PSDFactor

    @classmethod
    def of(
        cls, table: MatrixDesign, h: Floats, gram: Floats, lam: Any, centre: Floats, free: bool
    ) -> ActiveCurvature:
        """From Σ hᵢx̃ᵢx̃ᵢ'."""
        H = gram.copy()
        H.flat[: table.dimension * (len(H) + 1) : len(H) + 1] += lam
        return cls(table, h, lam, centre, free, PSDFactor.of(H))

    @property
    def factor(self) -> HessianFactor:
        return HessianFactor(self.root, self.centre, self.intercept)

    def at(self, table: MatrixDesign, h: Floats, lam: Any) -> HessianFactor | None:
        """The factor for other rows at a joint; None where too many came or went."""
        if self.table is not table or np.any(self.lam != lam) or not table.blocks.local:
            return None
        rows = np.flatnonzero(h != self.h)
        if FEW * len(rows) > table.dimension:
            return None
        if not len(rows):
            return self.factor
        X = table.blocks.take(rows).X
        change = h[rows] - self.h[rows]
        U = to_numpy(to_float64(X.toarray() if is_sparse(X) else X)) - self.centre
        if self.intercept:
            U = np.column_stack([U, np.ones(len(rows))])
        U *= np.sqrt(np.abs(change))[:, None]
        root = self.root.updated(U.T, np.sign(change))
        return None if root is None else HessianFactor(root, self.centre, self.intercept)
