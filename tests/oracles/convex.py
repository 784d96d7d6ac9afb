"""Naive definitions, as a textbook writes them: slow, scalar, right where nothing overflows."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.spatial import ConvexHull

# ------------------------------------------------------------------------------- losses, scalar


def square(y, z):
    return (z - y) ** 2 / 2


def absolute(y, z):
    return abs(z - y)


def huber(y, z, eps):
    r = abs(z - y)
    return r**2 / 2 if r <= eps else eps * r - eps**2 / 2


def pinball(y, z, quantile):
    return quantile * (y - z) if y >= z else (1 - quantile) * (z - y)


def epsilon_insensitive(y, z, eps):
    return max(0.0, abs(z - y) - eps)


def squared_epsilon_insensitive(y, z, eps):
    return max(0.0, abs(z - y) - eps) ** 2 / 2


def square_margin(y, z):
    return (1 - y * z) ** 2


def logistic(y, z):
    return math.log(1 + math.exp(-y * z))


def hinge(y, z):
    return max(0.0, 1 - y * z)


def squared_hinge(y, z):
    return max(0.0, 1 - y * z) ** 2


def exponential(y, z):
    return math.exp(-y * z)


def modified_huber(y, z):
    m = y * z
    if m >= -1:
        return max(0.0, 1 - m) ** 2
    return -4 * m


def multinomial(y, z):
    return -math.log(math.exp(z[y]) / sum(math.exp(score) for score in z))


def multiclass_hinge(y, z):
    return max([0.0, *(1 + z[k] - z[y] for k in range(len(z)) if k != y)])


# ------------------------------------------------------------------ penalties, one coefficient


def l2(w, lam):
    return lam / 2 * w**2


def l1(w, lam, positive=False):
    return math.inf if positive and w < 0 else lam * abs(w)


def elastic_net(w, lam, l1_ratio, positive=False):
    if positive and w < 0:
        return math.inf
    return lam * (l1_ratio * abs(w) + (1 - l1_ratio) / 2 * w**2)


def non_negative(w):
    return 0.0 if w >= 0 else math.inf


# --------------------------------------------------------------------------------- convex duals


def minimum(f: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """(argmin, min) of a convex function on an interval, by ternary search.

    Where the function is infinite it is so on the left.
    """
    for _ in range(200):
        a, b = (2 * low + high) / 3, (low + 2 * high) / 3
        if math.isfinite(f(a)) and f(a) <= f(b):
            high = b
        else:
            low = a
    return min([(low, f(low)), (high, f(high))], key=lambda pair: pair[1])


def conjugate(f: Callable[[float], float], theta: float, reach: float = 1e3) -> float:
    """sup θ z − f(z) over |z| ≤ reach; inf if it still grows at the end of the interval."""

    def fall(z):
        return f(z) - theta * z

    z, least = minimum(fall, -reach, reach)
    end = math.copysign(reach, z)
    grows = fall(end) < fall(end / 2) - 1e-6 * abs(theta) - 1e-9
    return math.inf if grows and abs(z) > 0.99 * reach else -least


def prox(f: Callable[[float], float], w: float, step: float) -> float:
    """argmin step f(u) + (u − w)²/2, for f least at 0."""
    return minimum(lambda u: step * f(u) + (u - w) ** 2 / 2, min(w, 0.0), max(w, 0.0))[0]


# ---------------------------------------------------------------------------------- calibration


def optimal_risks(phi: Callable, eta: float, reach: float = 40.0) -> tuple[float, float]:
    """H(η) and H⁻(η): the least conditional φ-risk over all scores, and over the wrong signs."""
    a = np.sinh(np.linspace(-np.arcsinh(reach), np.arcsinh(reach), 40001))
    risk = eta * phi(a) + (1 - eta) * phi(-a)
    return risk.min(), risk[a * (2 * eta - 1) <= 1e-12].min()


def psi(phi: Callable, thetas: np.ndarray) -> np.ndarray:
    """The convex envelope, on an even grid of [−1, 1], of H⁻((1 + θ)/2) − H((1 + θ)/2)."""
    gaps = []
    for theta in thetas:
        best, wrong = optimal_risks(phi, (1 + theta) / 2)
        gaps.append(wrong - best)
    return lower_envelope(thetas, np.array(gaps))


def lower_envelope(x: np.ndarray, f: np.ndarray) -> np.ndarray:
    """The largest convex function below the points (x, f), at x."""
    if np.ptp(f) == 0:
        return f.copy()
    roof = np.max(f) + 1  # closes the hull from above
    corners = np.column_stack([np.append(x, [x[0], x[-1]]), np.append(f, [roof, roof])])
    below = sorted(v for v in ConvexHull(corners).vertices if v < len(x))
    return np.interp(x, x[below], f[below])


# ------------------------------------------------------------------------------------ row by row


def perceptron(X, y, eta=1.0, bias=False, epochs=1):
    """(w, b, average of the planes after each look, mistakes): y = ±1, rows in order."""
    R = max(math.sqrt(sum(v * v for v in x)) for x in X)
    w, b, mistakes, seen = np.zeros(X.shape[1]), 0.0, 0, []
    for _ in range(epochs):
        for x, t in zip(X, y, strict=True):
            if t * (w @ x + b) <= 0:
                w, b, mistakes = w + eta * t * x, b + eta * t * R**2 * bias, mistakes + 1
            seen.append(np.append(w, b))
    return w, b, np.mean(seen, axis=0), mistakes


def adaline(X, y, eta, bias=True, epochs=1):
    """(w, b, average of the planes after each look): y = ±1, rows in order."""
    w, b, seen = np.zeros(X.shape[1]), 0.0, []
    for _ in range(epochs):
        for x, t in zip(X, y, strict=True):
            error = t - (w @ x + b)
            w, b = w + eta * error * x, b + eta * error * bias
            seen.append(np.append(w, b))
    return w, b, np.mean(seen, axis=0)


def separates(X, y, bias):
    """Whether a plane has every row strictly on its side, by linear programming."""
    from scipy.optimize import linprog

    A = y[:, None] * (np.hstack([X, np.ones((len(X), 1))]) if bias else X)
    free = [(-1, 1)] * A.shape[1] + [(None, 1)]
    answer = linprog(
        np.append(np.zeros(A.shape[1]), -1.0),
        A_ub=np.hstack([-A, np.ones((len(A), 1))]),
        b_ub=np.zeros(len(A)),
        bounds=free,
    )
    return -answer.fun > 1e-9


def proximal_gradient(loss, penalty, X, y, weight, intercept, steps=5000):
    """The value that many short proximal gradient steps reach, written out."""
    n, d = X.shape
    s = np.ones(n) if weight is None else weight
    s = s / s.sum()
    shape = (d, loss.n_classes) if hasattr(loss, "n_classes") else (d,)
    w, b = np.zeros(shape), np.zeros(shape[1:])
    rows = np.concatenate([X, np.ones((n, int(intercept)))], axis=1)
    step = 1.0 / (loss.smoothness * np.linalg.eigvalsh((rows.T * s) @ rows)[-1])
    for _ in range(steps):
        slope = (loss.gradient(y, X @ w + b).T * s).T
        w = penalty.prox(w - step * (X.T @ slope), step)
        b = b - step * intercept * slope.sum(axis=0)
    return float(s @ loss.value(y, X @ w + b)) + penalty.value(w, np.vdot)


# ---------------------------------------------------------------------------------------- ranking


def pairs(y, groups, weight):
    """(i, j, sᵢsⱼ) of every pair with yᵢ > yⱼ in one group."""
    n = range(len(y))
    found = [(i, j) for i in n for j in n if y[i] > y[j] and groups[i] == groups[j]]
    return [(i, j, weight[i] * weight[j]) for i, j in found if weight[i] * weight[j] > 0]


def pair_mean(f: Callable, y, groups, weight, z):
    """The mean of f(zᵢ - zⱼ) over the pairs, by their weight."""
    listed = pairs(y, groups, weight)
    return sum(s * f(z[i] - z[j]) for i, j, s in listed) / sum(s for _, _, s in listed)


def pair_forces(df: Callable, y, groups, weight, z):
    """The derivative of that mean in each score."""
    listed, out = pairs(y, groups, weight), np.zeros(len(z))
    mass = sum(s for _, _, s in listed)
    for i, j, s in listed:
        slope = s * df(z[i] - z[j]) / mass
        out[i] += slope
        out[j] -= slope
    return out


def concordance(y, groups, weight, z):
    return pair_mean(lambda t: 1.0 if t > 0 else 0.5 if t == 0 else 0.0, y, groups, weight, z)


# ----------------------------------------------------- losses of straight pieces as linear programs


def linear_program(loss, penalty, X, y, s, intercept):
    """min Σ s l(y, Xw + b) + Ω(w) for the hinge, absolute, pinball or ε-insensitive loss and an L1
    penalty or a sign constraint: one variable uᵢ ≥ each straight piece of row i."""
    from scipy.optimize import linprog

    n, d = X.shape
    name = type(loss).__name__
    low, high, width = -1.0, 1.0, 0.0
    if name == "Pinball":
        low, high = -loss.quantile, 1.0 - loss.quantile
    if name == "EpsilonInsensitive":
        width = loss.eps
    lows = np.where(y > 0, -1.0, 0.0) if name == "Hinge" else np.full(n, low)
    highs = np.where(y > 0, 0.0, 1.0) if name == "Hinge" else np.full(n, high)
    positive = name_of_constraint(penalty)
    lam = getattr(penalty, "lam", 0.0)
    # variables: w⁺ (d), w⁻ (d), b, u (n); u ≥ low (z - y + width), u ≥ high (z - y - width), u ≥ 0
    rows, right = [], []
    for slope, shift in ((lows, width), (highs, -width)):
        A = np.hstack([slope[:, None] * X, -slope[:, None] * X, slope[:, None], -np.eye(n)])
        rows.append(A)
        right.append(slope * (y - shift))
    c = np.concatenate([np.full(2 * d, lam), [0.0], s])
    free = (None, None) if intercept else (0.0, 0.0)
    minus = (0.0, 0.0) if positive else (0.0, None)
    bounds = [(0.0, None)] * d + [minus] * d + [free] + [(0.0, None)] * n
    answer = linprog(c, A_ub=np.vstack(rows), b_ub=np.concatenate(right), bounds=bounds)
    assert answer.status == 0, answer.message
    return answer.fun


def name_of_constraint(penalty):
    return type(penalty).__name__ == "NonNegative" or getattr(penalty, "positive", False)
