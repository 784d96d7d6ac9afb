"""Classification into K classes at once: one score per class."""

from __future__ import annotations

import math
import operator
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from fenchel.convex.loss.base import Loss, stacked
from fenchel.convex.loss.hinge import Hinge
from fenchel.convex.loss.margin import Logistic, Margin
from fenchel.data.arrays import Array, like, to_float64
from fenchel.data.elementary import xlogx
from fenchel.data.linear_algebra.double_double import two_sum


class Joint(Loss):
    """A loss of K scores at once whose dual points are shifted probabilities.

    y (n,) holds codes 0 … K − 1, z and θ are (n, K). Domain of l*: q = θ + e_y ≥ 0, Σₖ qₖ = 1, the
    sum within its rounding.
    """

    # The loss of a margin that it is of two classes, z = z₁ − z₀.
    of_two_classes: ClassVar[type[Margin]]
    __slots__ = ()
    n_classes: int

    def centring_sums(self, y: Array, theta: Array, weight: Array | None) -> Array:
        """[Σ s q, Σ s e_y], (2, K): the class masses that θ predicts and those observed."""
        xp = array_namespace(theta)
        theta = to_float64(theta)
        s = xp.ones_like(theta[:, 0]) if weight is None else to_float64(weight)
        observed = s @ self._simplex(y, xp.zeros_like(theta))
        return stacked(s @ theta + observed, observed, theta)

    def centre_dual(self, y: Array, theta: Array, imbalance: NDArray[np.float64]) -> Array:
        """q T − e_y, with T a stochastic matrix that carries the predicted masses to the observed.

        Each class keeps what it should have; its excess goes to the classes in deficit, in
        proportion to their deficits. A stochastic T keeps every q on the simplex.
        """
        predicted, observed = np.clip(imbalance, 0.0, None)
        deficit = np.clip(observed - predicted, 0.0, None)
        if not deficit.any():
            return array_namespace(theta).asarray(theta, copy=True)
        kept = np.ones(self.n_classes)
        np.divide(np.minimum(predicted, observed), predicted, out=kept, where=predicted > 0.0)
        change = np.outer(1.0 - kept, deficit / deficit.sum()) - np.diag(1.0 - kept)
        # θ + q(T − 1): a θ far smaller than e_y keeps its digits.
        return theta + self._simplex(y, theta) @ like(change, theta)

    @abstractmethod
    def from_differences(self, y: Array, apart: Array, rest: Array) -> tuple[Array, Array]:
        """l and θ from zₖ − z_y in two parts, apart + rest, numpy arrays: with all digits of a
        small l and of small θₖ, k ≠ y."""

    @abstractmethod
    def conjugate_of_rest(self, rest: Array) -> Array:
        """l* from qₖ, k ≠ y, zero in the place of y and of sum at most 1."""

    def _simplex(self, y: Array, theta: Array) -> Array:
        """Q = θ + E."""
        Q = array_namespace(theta).asarray(theta, copy=True)
        Q[self._rows(Q), y] += 1.0
        return Q

    def _rows(self, z: Array) -> Array:
        return array_namespace(z).arange(z.shape[0], device=z.device)

    def _inside(self, Q: Array) -> Array:
        """Whether each row of Q lies on the simplex."""
        xp = array_namespace(Q)
        slack = max(1e-12, 4.0 * self.n_classes * float(xp.finfo(Q.dtype).eps))
        return xp.all(Q >= 0.0, axis=-1) & (xp.abs(xp.sum(Q, axis=-1) - 1.0) <= slack)


def _class_count(n_classes: int) -> int:
    if operator.index(n_classes) < 2:
        raise ValueError(f"n_classes must be at least 2, got {n_classes!r}")
    return operator.index(n_classes)


@final
@dataclass(frozen=True, slots=True)
class Multinomial(Joint):
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
    of_two_classes: ClassVar[type[Margin]] = Logistic
    smoothness: ClassVar[float] = 0.5
    steepness: ClassVar[float] = 2.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_classes", _class_count(self.n_classes))

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
        return xp.where(self._inside(Q), xp.sum(xlogx(Q.clip(0.0, None)), axis=-1), xp.inf)

    def from_differences(self, y: Array, apart: Array, rest: Array) -> tuple[Array, Array]:
        rows, top = np.arange(len(y)), np.maximum(apart.max(axis=1), 0.0)
        e = np.exp(apart - top[:, None]) * (1.0 + rest)
        own = e[rows, y]
        e[rows, y] = 0.0
        others = e.sum(axis=1)
        with np.errstate(divide="ignore"):
            value = np.where(top > 0.0, top + np.log(others + own), np.log1p(others))
        theta = e / (others + own)[:, None]
        theta[rows, y] = -theta.sum(axis=1)
        return value, theta

    def conjugate_of_rest(self, rest: Array) -> Array:
        total = rest.sum(axis=1)
        left = 1.0 - total
        with np.errstate(divide="ignore", invalid="ignore"):
            small = -left * np.log1p(total / left)
        return xlogx(rest).sum(axis=1) + np.where(total <= 0.5, small, xlogx(left.clip(0.0, None)))

    def curvature_product(self, curvature: Array, u: Array) -> Array:
        """P∘U − P (Σₖ P∘U): diag(p) − p pᵀ applied to each row of U."""
        xp = array_namespace(curvature)
        bent = curvature * u
        bent -= curvature * xp.sum(bent, axis=-1, keepdims=True)
        return bent


@final
@dataclass(frozen=True, slots=True)
class MulticlassHinge(Joint):
    """The hinge of the best wrong class: how far its score plus one lies above the right one's.

    l(y, z) = maxₖ (1[k ≠ y] + zₖ) − z_y,  l*(y, θ) = θ_y = q_y − 1 with q = θ + e_y

    y (n,) holds codes 0 … K − 1, z and θ are (n, K). Gradient e_m − e_y, m the class that attains
    the maximum (the first of several). Domain of l*: q ≥ 0, Σₖ qₖ = 1, the sum within its rounding.
    For two classes it is the hinge of z₁ − z₀. A kink wherever classes tie: no curvature.

    Reference: Crammer and Singer, On the algorithmic implementation of multiclass kernel-based
    vector machines, JMLR 2 (2001).
    """

    n_classes: int
    of_two_classes: ClassVar[type[Margin]] = Hinge
    smoothness: ClassVar[float] = math.inf
    steepness: ClassVar[float] = 2.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_classes", _class_count(self.n_classes))

    def value(self, y: Array, z: Array) -> Array:
        lifted, own = self._lifted(y, z)
        return array_namespace(z).max(lifted, axis=1) - own

    def gradient(self, y: Array, z: Array) -> Array:
        xp = array_namespace(z)
        lifted, _ = self._lifted(y, z)
        rows = self._rows(z)
        theta = xp.zeros_like(z)
        theta[rows, xp.argmax(lifted, axis=1)] = 1.0
        theta[rows, y] -= 1.0
        return theta

    def curvature(self, y: Array, z: Array) -> Array:
        return array_namespace(z).zeros_like(z)

    def conjugate(self, y: Array, theta: Array) -> Array:
        xp = array_namespace(theta)
        inside = self._inside(self._simplex(y, theta))
        return xp.where(inside, theta[self._rows(theta), y], xp.inf)

    def from_differences(self, y: Array, apart: Array, rest: Array) -> tuple[Array, Array]:
        rows = np.arange(len(y))
        lifted, e = two_sum(apart, np.ones_like(apart))
        lifted += e + rest
        lifted[rows, y] = 0.0
        theta = np.zeros_like(apart)
        theta[rows, lifted.argmax(axis=1)] = 1.0
        theta[rows, y] -= 1.0
        return lifted.max(axis=1), theta

    def conjugate_of_rest(self, rest: Array) -> Array:
        return -rest.sum(axis=1)

    def yosida(self, y: Array, z: Array, theta: Array, step: float) -> Array:
        """argmax_t t·z − l*(y, t) − step |t − θ|²/2 over the domain, θ the given point.

        It is the slope of the loss made smoother, a subgradient at z − step (t − θ), and so inside
        the domain of l*.

        t = q − e_y, q the projection of θ + e_y + (z + 1 − e_y)/step onto the simplex.
        """
        lifted, _ = self._lifted(y, z)
        Q = project_simplex(self._simplex(y, theta) + lifted / step)
        Q[self._rows(Q), y] -= 1.0
        return Q

    def _lifted(self, y: Array, z: Array) -> tuple[Array, Array]:
        """zₖ + 1[k ≠ y], and z_y."""
        rows = self._rows(z)
        own = z[rows, y]
        lifted = z + 1.0
        lifted[rows, y] = own
        return lifted, own


def project_simplex(V: Array) -> Array:
    """The nearest point of {q ≥ 0, Σₖ qₖ = 1} to each row of V: max(v − τ, 0).

    τ is the mean of the j largest entries less 1/j, for the largest j that leaves all of those
    positive. O(K log K) a row.

    Reference: Held, Wolfe and Crowder, Validation of subgradient optimization, Math. Program. 6
    (1974).
    """
    xp = array_namespace(V)
    K = V.shape[1]
    ordered = xp.flip(xp.sort(V, axis=1), axis=1)
    sums = xp.cumulative_sum(ordered, axis=1)
    count = xp.astype(xp.arange(1, K + 1, device=V.device), V.dtype)[None, :]
    size = xp.sum(xp.astype(count * ordered > sums - 1.0, xp.int64), axis=1)
    rows = xp.arange(V.shape[0], device=V.device)
    tau = (sums[rows, size - 1] - 1.0) / xp.astype(size, V.dtype)
    Q = (V - tau[:, None]).clip(0.0, None)
    return Q / xp.sum(Q, axis=1, keepdims=True)
