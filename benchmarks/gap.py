"""The judge: duality gaps in plain float64 numpy, independent of the library it judges.

A primal value P at the fitted point, a dual value D at a feasible point built from the fit's own
residuals: P ≥ optimum ≥ D whatever the fit did, so P - D bounds what is left to gain.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Numbers = float | Vector


class Verdict(NamedTuple):
    """Two numbers, or two arrays where several problems were solved, as along a path."""

    value: Numbers  # P, an upper bound of the optimum
    bound: Numbers  # D, a lower bound of the optimum

    @property
    def relative_gap(self) -> float:
        """The largest, of several."""
        return float(np.max(np.subtract(self.value, self.bound) / np.abs(self.value)))


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


def lasso_path(X: Any, y: Vector, alphas: Vector, W: Vector) -> Verdict:
    """‖y - Xw‖²/(2n) + α‖w‖₁ for each α, w the columns of W.

    Dual: (θ·y - ‖θ‖²/2)/n over ‖Xᵀθ‖∞ ≤ nα. θ is the residual of any point of the path, times
    the factor in reach that serves this α best: that of its own point most often does.
    """
    n = len(y)
    R = y[:, None] - np.asarray(X @ W)
    values = (R * R).sum(axis=0) / (2 * n) + alphas * np.abs(W).sum(axis=0)
    steep = np.abs(np.asarray(X.T @ R)).max(axis=0)
    along, square = R.T @ y, np.maximum((R * R).sum(axis=0), np.finfo(float).tiny)
    reach = n * alphas[:, None] / np.maximum(steep, np.finfo(float).tiny)
    c = np.clip(along / square, -reach, reach)
    return Verdict(values, ((c * along - c * c * square / 2) / n).max(axis=1))


def logistic_l1(X: Any, y: Vector, C: float, w: Vector) -> Verdict:
    """C Σ log(1 + e^{-sᵢxᵢ·w}) + ‖w‖₁. Dual: -C Σ [a log a + (1-a) log(1-a)] over 0 ≤ a ≤ 1 and
    ‖C Σ aᵢsᵢxᵢ‖∞ ≤ 1; a = 1/(1 + e^m), scaled down where it must be."""
    s = signs(y)
    m = s * (X @ w)
    value = C * np.logaddexp(0, -m).sum() + np.abs(w).sum()
    a = np.exp(-np.logaddexp(0, m))
    a *= min(1.0, 1 / (C * np.abs(X.T @ (a * s)).max()))
    return Verdict(float(value), float(-C * (xlogx(a) + xlogx(1 - a)).sum()))


def signs(y: Vector) -> Vector:
    return np.where(y == np.max(y), 1.0, -1.0)


def hinge(X: Any, y: Vector, C: float, w: Vector, b: float, *, held: bool = False) -> Verdict:
    """C Σ max(0, 1 - sᵢ(xᵢ·w + b)) + ‖w‖²/2, and + b²/2 if the intercept is held.

    The plane alone does not tell the dual variables of the rows at the kink, so that the bound
    is zero here; `hinge_bound` has a better one for whoever knows a dual point.
    """
    loss = np.maximum(1 - signs(y) * (X @ w + b), 0).sum()
    return Verdict(float(C * loss + (w @ w + held * b * b) / 2), 0.0)


def hinge_bound(
    X: Any, y: Vector, C: float, a: Vector, *, intercept: bool, held: bool = False
) -> float:
    """Σ aᵢ - ‖Σ aᵢsᵢxᵢ‖²/2, a clipped to [0, C]: a lower bound of the above for any a.

    A free intercept asks for Σ aᵢsᵢ = 0: the class whose a sum to more is scaled down. One that
    is held takes (Σ aᵢsᵢ)²/2 off.
    """
    s, a = signs(y), np.clip(a, 0, C)
    if intercept and not held:
        up, down = a[s > 0].sum(), a[s < 0].sum()
        least = min(up, down)
        a = a * np.where(s > 0, least / max(up, 1e-300), least / max(down, 1e-300))
    v, level = X.T @ (a * s), (a @ s if held else 0.0)
    return float(a.sum() - (v @ v + level**2) / 2)


def squared_hinge(X: Any, y: Vector, C: float, w: Vector) -> Verdict:
    """C Σ max(0, 1 - sᵢxᵢ·w)² + ‖w‖²/2. Dual: Σ aᵢ - Σ aᵢ²/(4C) - ‖Σ aᵢsᵢxᵢ‖²/2 over a ≥ 0;
    a = 2C max(0, 1 - m)."""
    s = signs(y)
    short = np.maximum(1 - s * (X @ w), 0)
    a = 2 * C * short
    v = X.T @ (a * s)
    value = C * (short @ short) + w @ w / 2
    return Verdict(float(value), float(a.sum() - a @ a / (4 * C) - v @ v / 2))


class Pairs(NamedTuple):
    """Means over all pairs with yᵢ > yⱼ, t = zᵢ - zⱼ, at a slope θ of φ for each of them."""

    loss: float  # φ(t)
    short: float  # φ(t) + φ*(θ) - θt
    square: float  # θ², for the hinge
    grad_w: Vector  # θ(xᵢ - xⱼ)


def pairs(X: Any, y: Vector, w: Vector, loss: str, width: float) -> Pairs:
    """Every pair is looked at. θ = φ′(t), but for the hinge -min(max(0, 1 - t)/width, 1)."""
    from . import compiled  # the contenders on other tables need no compiler

    order = np.argsort(y, kind="stable")
    z = (X @ w)[order]
    z -= (z.max() + z.min()) / 2
    lower = np.searchsorted(y[order], y[order])
    mass, reach = float(lower.sum()), float(np.ptp(z))
    out, force = np.zeros((compiled.PARTS, 3)), np.zeros((compiled.PARTS, len(z)))
    if loss == "logistic":
        if reach > 600:
            raise ValueError(f"scores differ by {reach:g}: their exponentials overflow")
        compiled.logistic_pairs(z, lower, int(600 // (reach + 1)) + 1, out, force)
    else:
        compiled.hinge_pairs(z, lower, 2 if loss == "squared_hinge" else 1, width, out, force)
    f = np.empty(len(z))
    f[order] = force.sum(axis=0)
    total, short, square = out.sum(axis=0) / mass
    return Pairs(float(total), float(short), float(square), X.T @ f / mass)


def ranking(X: Any, y: Vector, alpha: float, w: Vector, loss: str, width: float = 1e-3) -> Verdict:
    """Mean of φ(zᵢ - zⱼ) over all pairs with yᵢ > yⱼ, plus α‖w‖²/2, z = Xw.

    φ(t) = log(1 + e^{-t}), max(0, 1 - t)² or max(0, 1 - t). Dual: -φ*(θ) on average less
    ‖mean of θ(xᵢ - xⱼ)‖²/(2α), which is the value less `short` less ‖αw + pull‖²/(2α). At the
    hinge's kink no θ follows from w alone: `bounds.ranking_plane` has a w with a good one.
    """
    seen = pairs(X, y, w, loss, width)
    rest = alpha * w + seen.grad_w
    value = seen.loss + alpha * float(w @ w) / 2
    return Verdict(value, value - seen.short - float(rest @ rest) / (2 * alpha))


def quantile(X: Any, y: Vector, q: float, alpha: float, w: Vector, b: float) -> Verdict:
    """Mean of max(q r, (q - 1) r), r = y - x·w - b, plus α‖w‖₁, intercept free.

    The plane alone does not tell the dual variables of the rows it goes through; see
    `quantile_bound`.
    """
    r = y - X @ w - b
    return Verdict(float(np.maximum(q * r, (q - 1) * r).mean() + alpha * np.abs(w).sum()), 0.0)


def quantile_bound(X: Any, y: Vector, q: float, alpha: float, theta: Vector) -> float:
    """Mean of θᵢyᵢ, a lower bound of the above for q - 1 ≤ θ ≤ q, Σθ = 0, ‖Xᵀθ‖∞ ≤ nα: any θ is
    clipped, its larger side scaled down, and all of it for the last condition."""
    theta = np.clip(theta, q - 1, q)
    up, down = np.maximum(theta, 0).sum(), np.maximum(-theta, 0).sum()
    least = min(up, down)
    theta = theta * np.where(theta > 0, least / max(up, 1e-300), least / max(down, 1e-300))
    steep = np.abs(X.T @ theta).max()
    return float(theta @ y / len(y) * min(1.0, len(y) * alpha / max(steep, 1e-300)))


def huber(
    X: Any, y: Vector, epsilon: float, alpha: float, w: Vector, b: float, sigma: float
) -> Verdict:
    """Σ [σ + σH(rᵢ/σ)] + α‖w‖², r = y - x·w - b, H(t) = t² up to ε, 2ε|t| - ε² beyond; σ, b free.

    Dual: u·y - ‖Xᵀu‖²/(4α) over |u| ≤ 2ε, Σu = 0, ‖u‖² ≤ 4n; u = H′(r/σ), the larger side scaled
    down, then all of it if it is too long.
    """
    r = y - X @ w - b
    t = r / sigma
    H = np.where(np.abs(t) <= epsilon, t * t, 2 * epsilon * np.abs(t) - epsilon**2)
    value = sigma * (len(y) + H.sum()) + alpha * w @ w
    u = 2 * np.clip(t, -epsilon, epsilon)
    up, down = np.maximum(u, 0).sum(), np.maximum(-u, 0).sum()
    least = min(up, down)
    u = u * np.where(u > 0, least / max(up, 1e-300), least / max(down, 1e-300))
    u *= min(1.0, 2 * np.sqrt(len(y)) / max(np.linalg.norm(u), 1e-300))
    v = X.T @ u
    return Verdict(float(value), float(u @ (y - y.mean()) - v @ v / (4 * alpha)))
