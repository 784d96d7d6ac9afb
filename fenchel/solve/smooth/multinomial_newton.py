"""Newton's method for joint losses of many classes: products with the Hessian on a sample of rows,
preconditioned by a Kronecker product."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.hessian.kronecker import Kronecker
from fenchel.convex.problem import Problem
from fenchel.data.blocks import Totals
from fenchel.data.design.matrix import Point
from fenchel.solve.line_search import pack, unpack
from fenchel.solve.smooth.newton_cg import conjugate_gradients

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class HessianOperator:
    """The Hessian of a (sampled) problem at a point, inverted by conjugate gradients.

    The Kronecker approximation preconditions it; a tenth of the residual is good enough for a
    direction that a quasi-Newton method will correct.
    """

    problem: Problem
    point: Point
    rough: Kronecker
    ridge: float = 0.0
    product: Callable[[Point], Totals] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        design, loss = self.problem.table, self.problem.loss
        product = design.hessian_product(self.point, loss.curvature, loss.curvature_product)
        object.__setattr__(self, "product", product)

    @property
    def centre(self) -> Floats:
        return self.rough.centre

    def factor(self, ridge: float) -> HessianOperator:
        return HessianOperator(self.problem, self.point, self.rough.factor(ridge), ridge)

    def solve(self, g: Floats, level: Floats) -> Point:
        problem, total = self.problem, self.problem.design.weight

        def hessian(v: Floats) -> Floats:
            u = unpack(problem, v)
            pull, up = self.product(u)
            return pack(problem, (pull / total + self.ridge * u[0], up / total))

        def precondition(r: Floats) -> Floats:
            return pack(problem, self.rough.solve(*unpack(problem, r)))

        v = conjugate_gradients(hessian, precondition, pack(problem, (g, level)), 0.01, 60)
        return unpack(problem, v)
