"""The judge: duality gaps in plain float64 numpy, independent of the library it judges.

A primal value P at the fitted point, a dual value D at a feasible point built from the fit's own
residuals: P ≥ optimum ≥ D whatever the fit did, so P - D bounds what is left to gain.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


class Verdict(NamedTuple):
    value: float  # P, an upper bound of the optimum
    bound: float  # D, a lower bound of the optimum

    @property
    def relative_gap(self) -> float:
        return (self.value - self.bound) / abs(self.value)


def xlogx(x: Vector) -> Vector:
    return x * np.log(np.where(x > 0, x, 1.0))


def logistic(X: Any, y: Vector, C: float, w: Vector, b: float, *, intercept: bool) -> Verdict:
    """C Σ log(1 + e^{-sᵢ(xᵢ·w + b)}) + ‖w‖²/2 with s = +1 for the larger label, else -1.

    Dual: -C Σ [aᵢ log aᵢ + (1-aᵢ) log(1-aᵢ)] - ‖C Σ aᵢsᵢxᵢ‖²/2 over 0 ≤ a ≤ 1, and Σ aᵢsᵢ = 0
    when the intercept is free. a = 1/(1 + e^m) at the fitted margins m; the class whose a sum to
    more is scaled down, which keeps every a in [0, 1].
    """
    w = np.asarray(w, np.float64).ravel()
    s = np.where(y == np.max(y), 1.0, -1.0)
    m = s * (X @ w + b)
    value = C * np.logaddexp(0, -m).sum() + w @ w / 2
    a = np.exp(-np.logaddexp(0, m))
    if intercept:
        mass = {sign: a[s == sign].sum() for sign in (-1.0, 1.0)}
        least = min(mass.values())
        a *= np.where(s > 0, least / mass[1.0], least / mass[-1.0])
    entropy = xlogx(a) + xlogx(1 - a)
    v = C * (X.T @ (a * s))
    return Verdict(float(value), float(-C * entropy.sum() - v @ v / 2))


def multinomial(X: Any, y: Vector, C: float, W: Vector, b: Vector) -> Verdict:
    """C Σ [log Σₖ e^{zᵢₖ} - zᵢ,yᵢ] + ‖W‖²/2, z = XWᵀ + b with free intercepts, y = 0..K-1.

    Dual: -C Σ Qᵢₖ log Qᵢₖ - ‖C (Q - E)ᵀX‖²/2 over rows of Q on the simplex with Σᵢ Q = Σᵢ E
    (E: the labels as indicators). Q = softmax(z) at the fit, then Q T: a stochastic T that moves
    the mass a class has too much to the classes that have too little.
    """
    W, b = np.asarray(W, np.float64), np.asarray(b, np.float64)
    Z = X @ W.T + b
    rows = np.arange(len(y))
    top = Z.max(axis=1)
    Q = np.exp(Z - top[:, None])
    total = Q.sum(axis=1)
    value = C * (np.log(total) + top - Z[rows, y]).sum() + (W * W).sum() / 2
    Q /= total[:, None]

    have, want = Q.sum(axis=0), np.bincount(y, minlength=Q.shape[1]).astype(np.float64)
    excess, deficit = np.maximum(have - want, 0), np.maximum(want - have, 0)
    T = np.diag(np.minimum(have, want) / have)
    if deficit.any():
        T += np.outer(excess / have, deficit / deficit.sum())
    Q = Q @ T
    entropy = xlogx(Q).sum()
    Q[rows, y] -= 1
    V = C * (Q.T @ X)
    return Verdict(float(value), float(-C * entropy - (V * V).sum() / 2))


def ridge(X: Any, y: Vector, alpha: float, w: Vector, b: float) -> Verdict:
    """‖y - Xw - b‖²/2 + α‖w‖²/2 with a free intercept.

    Dual: θ·y - ‖θ‖²/2 - ‖Xᵀθ‖²/(2α) over Σθ = 0; θ is the residual less its mean.
    """
    r = y - X @ w - b
    value = (r @ r + alpha * (w @ w)) / 2
    theta = r - r.mean()
    v = X.T @ theta
    # θ·(y - ȳ) = θ·y for Σθ = 0, without the rounding error of a large mean.
    bound = theta @ (y - y.mean()) - theta @ theta / 2 - v @ v / (2 * alpha)
    return Verdict(float(value), float(bound))


def leave_one_out(X: Vector, y: Vector, alphas: Vector) -> Vector:
    """Mean squared leave-one-out error of ridge with intercept, for each α.

    With Xᶜ = USVᵀ centred: residual / (1 - 1/n - Σⱼ uᵢⱼ² sⱼ²/(sⱼ² + α)), by one eigh of XᶜᵀXᶜ.
    """
    A, c = X - X.mean(axis=0), y - y.mean()
    eigenvalues, basis = np.linalg.eigh(A.T @ A)
    U = A @ basis
    shrink = 1 / (np.maximum(eigenvalues, 0)[:, None] + alphas)
    residual = c[:, None] - U @ ((U.T @ c)[:, None] * shrink)
    leverage = 1 / len(y) + (U * U) @ shrink
    return ((residual / (1 - leverage)) ** 2).mean(axis=0)
