"""Classification into K classes at once: one score per class."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from fenchel.convex.loss import Loss
from fenchel.data.arrays import Array, double, host, like, xlogx


@final
@dataclass(frozen=True, slots=True)
class Multinomial(Loss):
    """The negative log-likelihood of P(y = k | z) = e^{z_k} / Σⱼ e^{z_j}.

    l(y, z) = log Σₖ e^{z_k} − z_y,  l*(y, θ) = Σₖ qₖ log qₖ with q = θ + e_y

    y (n,) holds codes 0 … K − 1, z and θ are (n, K). Gradient P − E, with the rows of P the class
    probabilities and those of E the unit vectors e_y. Domain of l*: q ≥ 0, Σₖ qₖ = 1, the sum
    within its rounding. The second derivative diag(p) − p pᵀ is stored as P, and its largest
    eigenvalue is at most 1/2.

    Reference: Böhning, Multinomial logistic regression algorithm, Ann. Inst. Statist. Math. 44
    (1992).
    """

    n_classes: int
    smoothness: ClassVar[float] = 0.5

    def __post_init__(self) -> None:
        if operator.index(self.n_classes) < 2:
            raise ValueError(f"n_classes must be at least 2, got {self.n_classes!r}")
        object.__setattr__(self, "n_classes", operator.index(self.n_classes))

    def value(self, y: Array, z: Array) -> Array:
        return self.evaluate(y, z)[0]

    def gradient(self, y: Array, z: Array) -> Array:
        return self.evaluate(y, z)[1]

    def curvature(self, y: Array, z: Array) -> Array:
        return self.evaluate(y, z)[2]

    def evaluate(self, y: Array, z: Array) -> tuple[Array, Array, Array]:
        xp = array_namespace(z)
        rows = self._rows(z)
        # Classes are few and rows are many: with one contiguous row per class, numpy's maximum and
        # sum over the classes run as vector instructions, several times faster than along rows.
        Z = xp.reshape(xp.reshape(z.T, (-1,)), (z.shape[1], z.shape[0]))
        P = Z - xp.max(Z, axis=0)
        value = -P[y, rows]
        xp.exp(P, out=P)
        total = xp.sum(P, axis=0)
        value += xp.log(total)
        P /= total
        G = xp.asarray(P, copy=True)
        G[y, rows] -= 1.0
        return value, G.T, P.T

    def conjugate(self, y: Array, theta: Array) -> Array:
        xp = array_namespace(theta)
        Q = self._simplex(y, theta)
        slack = max(1e-12, 4.0 * self.n_classes * float(xp.finfo(Q.dtype).eps))
        inside = xp.all(Q >= 0.0, axis=-1) & (xp.abs(xp.sum(Q, axis=-1) - 1.0) <= slack)
        return xp.where(inside, xp.sum(xlogx(Q.clip(0.0, None)), axis=-1), xp.inf)

    def bend(self, curvature: Array, u: Array) -> Array:
        """P∘U − P (Σₖ P∘U): diag(p) − p pᵀ applied to each row of U."""
        xp = array_namespace(curvature)
        bent = curvature * u
        bent -= curvature * xp.sum(bent, axis=-1, keepdims=True)
        return bent

    def imbalance(self, y: Array, theta: Array, weight: Array | None) -> NDArray[np.float64]:
        """[Σ s q, Σ s e_y], (2, K): the class masses that θ predicts and those observed."""
        xp = array_namespace(theta)
        theta = double(theta)
        s = xp.ones_like(theta[:, 0]) if weight is None else double(weight)
        observed = s @ self._simplex(y, xp.zeros_like(theta))
        return np.stack([host(s @ theta + observed), host(observed)])

    def center(self, y: Array, theta: Array, imbalance: NDArray[np.float64]) -> Array:
        """q T − e_y, with T a stochastic matrix that carries the predicted masses to the observed.

        Each class keeps what it should have; its excess goes to the classes in deficit, in
        proportion to their deficits. A stochastic T keeps every q on the simplex.
        """
        predicted, observed = np.clip(imbalance, 0.0, None)
        deficit = np.clip(observed - predicted, 0.0, None)
        T = np.eye(self.n_classes)
        if deficit.any():
            kept = np.ones(self.n_classes)
            np.divide(np.minimum(predicted, observed), predicted, out=kept, where=predicted > 0.0)
            T = np.diag(kept) + np.outer(1.0 - kept, deficit / deficit.sum())
        Q = self._simplex(y, theta) @ like(T, theta)
        Q[self._rows(Q), y] -= 1.0
        return Q

    def _simplex(self, y: Array, theta: Array) -> Array:
        """Q = θ + E."""
        Q = array_namespace(theta).asarray(theta, copy=True)
        Q[self._rows(Q), y] += 1.0
        return Q

    def _rows(self, z: Array) -> Array:
        return array_namespace(z).arange(z.shape[0], device=z.device)
