"""Kronecker approximation of the Hessian of a joint loss of many classes.

∇²P = Σ sᵢ Bᵢ ⊗ x̃ᵢx̃ᵢ' + λI with Bᵢ = diag(pᵢ) - pᵢpᵢ'. Replacing the mean of the products by the
product of the means gives B ⊗ G + λI, which two small eigendecompositions invert for every λ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray
from scipy import linalg

from fenchel.data.arrays import Array, to_numpy
from fenchel.data.blocks import Totals
from fenchel.data.design.matrix import Point

if TYPE_CHECKING:
    from fenchel.convex.problem import Problem

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Kronecker:
    """(B ⊗ G + ridge)⁻¹ through the eigenpairs of both.

    G is the scatter of the rows weighted by their curvature, about their weighted mean `centre`,
    so that slopes and intercepts separate.

    Reference: Martens and Grosse, 2015 (the idea, for networks).
    """

    rows: Floats
    row_vectors: Floats
    classes: Floats
    class_vectors: Floats
    centre: Floats
    intercept: bool
    ridge: float = 0.0

    def factor(self, ridge: float) -> Kronecker:
        return replace(self, ridge=ridge)

    def solve(self, g: Floats, level: Any) -> Point:
        """(Δw, Δb) with M (Δw, Δb) = (g, level)."""
        slopes = g - np.multiply.outer(self.centre, level) if self.intercept else g
        inside = self.row_vectors.T @ slopes @ self.class_vectors
        inside /= np.multiply.outer(self.rows, self.classes) + self.ridge
        dw = self.row_vectors @ inside @ self.class_vectors.T
        if not self.intercept:
            return dw, np.zeros_like(level)
        db = self.class_vectors @ ((self.class_vectors.T @ level) / self.classes)
        return dw, db - self.centre @ dw


def kronecker(problem: Problem, point: Point, centre: Floats) -> Kronecker:
    """The Kronecker approximation of a joint loss's curvature at a point: two passes."""
    design, K = problem.table, problem.outputs
    assert K is not None
    d, loss = design.dimension, problem.loss

    def bent(y: Array, z: Array) -> Array:
        P = loss.curvature(y, z)
        return array_namespace(P).sum(P * (1.0 - P), axis=1)

    scatter = design.gram(point, bent, centre if problem.intercept else None)
    total = max(scatter[d, d], 1e-300)
    G = scatter[:d, :d] / total
    shift = np.zeros(d)
    if problem.intercept:
        shift = scatter[d, :d] / total
        G -= np.outer(shift, shift)
    row_values, row_vectors = linalg.eigh(G, check_finite=False)
    return Kronecker(
        np.clip(row_values, 1e-12 * max(row_values[-1], 1e-300), None),
        row_vectors,
        *_between_classes(problem, point),
        centre + shift,
        problem.intercept,
    )


def at_point(known: Kronecker, problem: Problem, point: Point) -> Kronecker:
    """The same scatter of rows with the classes' curvature of another point: one pass, and nearly
    as good as a new one."""
    classes, class_vectors = _between_classes(problem, point)
    return replace(known, classes=classes, class_vectors=class_vectors)


def _between_classes(problem: Problem, point: Point) -> tuple[Floats, Floats]:
    """The eigenpairs of B, the mean of diag(p) - pp'."""
    loss, design = problem.loss, problem.design

    def rows(y: Array, scores: list[Array], s: Array | None) -> tuple[Array, Totals]:
        P = loss.curvature(y, scores[0])
        sP = P if s is None else P * s[:, None]
        return 0.0 * P[:, :1], Totals(to_numpy(sP.T @ P), to_numpy(sP.sum(0)))

    _, _, PP, mean = design.sweep([point], rows)
    values, vectors = linalg.eigh((np.diag(mean) - PP) / design.weight, check_finite=False)
    # Adding one vector to all classes changes nothing: any curvature will do there.
    return np.clip(values, max(1e-3 * values[-1], 1e-300), None), vectors
