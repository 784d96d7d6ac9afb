"""Recompute certificates outside the library, with a budget for rounding: numpy and fractions.

Each objective is P(w, b) = Σ l(yᵢ, xᵢ·w + b) + Ω(w), and any numbers θᵢ with Σ θᵢ = 0 (the free
intercept) prove that no (w, b) whatever goes below D(θ) = -Σ l*(yᵢ, θᵢ) - Ω*(-Σ θᵢxᵢ). Both are
computed here twice. First in fractions, so without any error, or with logarithms to 50 digits, as
every float64 number is a fraction. Then in numpy, where a sum of k terms is off by at most
γ(k) = k u / (1 - k u) times the sum of their sizes, u = 2⁻⁵³: that is the budget, within which the
two computations agree.
"""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.preprocessing import StandardScaler

from fenchel import Lasso, LinearSVC, LogisticRegression, Ridge

U = 2.0**-53


def exact(values):
    """An array as fractions."""
    return [Fraction(float(v)) for v in values]


def scores(X, w, b):
    """Xw + b in fractions."""
    W, level = exact(w), Fraction(float(b))
    return [sum((Fraction(float(x)) * v for x, v in zip(row, W, strict=True)), level) for row in X]


def balanced(theta):
    """θ with Σ θ = 0 exactly: the heavier side is scaled down, where every l* allows it."""
    up = sum(t for t in theta if t > 0)
    down = -sum(t for t in theta if t < 0)
    high, low = min(up, down) / up, min(up, down) / down
    return [t * (high if t > 0 else low) for t in theta]


def pulled(X, theta):
    """Σ θᵢxᵢ in fractions."""
    return [
        sum((Fraction(float(x)) * t for x, t in zip(column, theta, strict=True)), Fraction(0))
        for column in X.T
    ]


def squares(values):
    return sum((v * v for v in values), Fraction(0))


def gamma(terms):
    return (terms + 16) * U / (1.0 - (terms + 16) * U)


def value_budget(X, near, slopes, reach):
    """What rounding may be worth in P: of its sum, and of scores, each a sum of the terms whose
    sizes add up to `reach`, by the slope of the loss there."""
    return gamma(len(X)) * near + 2.0 * gamma(X.shape[1]) * float(slopes @ reach)


def bound_budget(X, theta, sizes, strength):
    """What rounding may be worth in D: of a sum of terms of these sizes, and of strength |v|²."""
    v, off = X.T @ theta, gamma(len(theta)) * (np.abs(X).T @ np.abs(theta))
    square = strength * float(2.0 * np.abs(v) @ off + off @ off + gamma(len(v)) * (v @ v))
    return gamma(len(theta)) * float(np.sum(sizes)) + square


def ridge(X, y, alpha=1.0):
    """Σ (y - x·w - b)² + α|w|², where l*(y, θ) = θ²/4 + θy and Ω*(v) = |v|²/(4α)."""
    model = Ridge(alpha=alpha).fit(X, y)
    w, b, a = model.coef_, model.intercept_, Fraction(alpha)
    r = [z - t for z, t in zip(scores(X, w, b), exact(y), strict=True)]
    value = squares(r) + a * squares(exact(w))
    # Far from zero centring by a shift loses less than by scaling, and l* allows every θ.
    theta = [2 * v for v in r]
    middle = sum(theta) / len(theta)
    theta = [t - middle for t in theta]
    bound = -sum(t * t / 4 + t * v for t, v in zip(theta, exact(y), strict=True))
    bound -= squares(pulled(X, theta)) / (4 * a)
    plain = X @ w + b - y
    near = float(plain @ plain + alpha * (w @ w))
    reach = np.abs(X) @ np.abs(w) + abs(b) + np.abs(y)
    t = np.array([float(v) for v in theta])
    low = -float(t @ t / 4.0 + t @ y) - float(np.sum((X.T @ t) ** 2)) / (4.0 * alpha)
    off = bound_budget(X, t, t * t / 4.0 + np.abs(t * y), 0.25 / alpha)
    return model, value, bound, near, low, value_budget(X, near, 2.0 * np.abs(plain), reach), off


def lasso(X, y, alpha=0.1):
    """Σ (y - x·w - b)²/(2n) + α|w|₁, where Ω* is zero for |v| ≤ α and infinite beyond."""
    model = Lasso(alpha=alpha).fit(X, y)
    w, b, n, a = model.coef_, model.intercept_, len(y), Fraction(alpha)
    r = [z - t for z, t in zip(scores(X, w, b), exact(y), strict=True)]
    value = squares(r) / (2 * n) + a * sum(abs(v) for v in exact(w))
    theta = [v / n for v in r]
    middle = sum(theta) / n
    theta = [t - middle for t in theta]
    most = max(abs(v) for v in pulled(X, theta))
    shrink = min(Fraction(1), a / most)  # into the ball where Ω* is finite
    bound = -sum(
        n * (shrink * t) ** 2 / 2 + shrink * t * v for t, v in zip(theta, exact(y), strict=True)
    )
    plain = X @ w + b - y
    near = float(plain @ plain / (2 * n) + alpha * np.abs(w).sum())
    reach = np.abs(X) @ np.abs(w) + abs(b) + np.abs(y)
    t = np.array([float(shrink * v) for v in theta])
    low = -float(n * (t @ t) / 2.0 + t @ y)
    off = bound_budget(X, t, n * t * t / 2.0 + np.abs(t * y), 0.0)
    return model, value, bound, near, low, value_budget(X, near, np.abs(plain) / n, reach), off


def hinge(X, labels, C=0.1):
    """C Σ max(0, 1 - mᵢ) + |w|²/2, mᵢ = yᵢ(xᵢ·w + b), where l*(θ) = yθ for -1 ≤ yθ ≤ 0."""
    model = LinearSVC(loss="hinge", C=C).fit(X, labels)
    w, b, c = model.coef_[0], float(model.intercept_[0]), Fraction(C)
    y = np.where(labels == model.classes_[1], 1, -1)
    margins = [int(side) * z for side, z in zip(y, scores(X, w, b), strict=True)]
    value = c * sum(max(Fraction(0), 1 - m) for m in margins) + squares(exact(w)) / 2
    # a = 1 below the margin and 0 beyond; on it what makes w = C Σ a y x, by least squares.
    m = np.array([float(v) for v in margins])
    on, share = np.abs(m - 1.0) < 1e-5, (m < 1.0).astype(float)
    share[on] = 0.0
    rows = C * np.append(X, np.ones((len(y), 1)), axis=1) * y[:, None]
    wanted = np.append(w, 0.0) - share @ rows
    share[on] = np.clip(np.linalg.lstsq(rows[on].T, wanted, rcond=None)[0], 0.0, 1.0)
    theta = balanced([-int(side) * a for side, a in zip(y, exact(share), strict=True)])
    bound = c * sum((abs(t) for t in theta), Fraction(0))
    bound -= squares(c * v for v in pulled(X, theta)) / 2
    near = float(C * np.maximum(0.0, 1.0 - y * (X @ w + b)).sum() + w @ w / 2)
    reach = np.abs(X) @ np.abs(w) + abs(b) + 1.0
    t = np.array([float(v) for v in theta])
    low = C * float(np.abs(t).sum()) - C * C * float(np.sum((X.T @ t) ** 2)) / 2.0
    off = bound_budget(X, t, C * np.abs(t), C * C / 2.0)
    return model, value, bound, near, low, value_budget(X, near, C * (m < 1.0 + 1e-9), reach), off


def logistic(X, labels, C=1.0):
    """C Σ log(1 + e^-mᵢ) + |w|²/2, where l*(θ) = a log a + (1 - a) log(1 - a) for a = -yθ."""
    model = LogisticRegression(C=C).fit(X, labels)
    w, b, c = model.coef_[0], float(model.intercept_[0]), Fraction(C)
    y = np.where(labels == model.classes_[1], 1, -1)
    margins = [int(side) * z for side, z in zip(y, scores(X, w, b), strict=True)]
    m = np.array([float(v) for v in margins])
    a = exact(np.exp(-np.logaddexp(0.0, m)))  # 1/(1 + e^m), any choice proves something
    a = [abs(t) for t in balanced([-int(side) * v for side, v in zip(y, a, strict=True)])]
    with localcontext() as context:
        context.prec = 50

        def decimal(v):
            return Decimal(v.numerator) / Decimal(v.denominator)

        losses = sum((1 + (-decimal(v)).exp()).ln() for v in margins)
        entropy = sum(
            decimal(v) * decimal(v).ln() + (1 - decimal(v)) * (1 - decimal(v)).ln() for v in a
        )
    theta = [-int(side) * v for side, v in zip(y, a, strict=True)]
    value = c * Fraction(losses) + squares(exact(w)) / 2
    bound = -c * Fraction(entropy) - squares(c * v for v in pulled(X, theta)) / 2
    near = float(C * np.logaddexp(0.0, -m).sum() + w @ w / 2)
    slopes, reach = C * np.exp(-np.logaddexp(0.0, m)), np.abs(X) @ np.abs(w) + abs(b)
    t = np.array([float(v) for v in theta])
    p = np.abs(t)
    terms = C * (p * np.log(p) + (1.0 - p) * np.log1p(-p))
    low = -float(terms.sum()) - C * C * float(np.sum((X.T @ t) ** 2)) / 2.0
    off = bound_budget(X, t, np.abs(terms) + C * p, C * C / 2.0)
    return model, value, bound, near, low, value_budget(X, near, slopes, reach), off


body, progress = load_diabetes(return_X_y=True)
cells, malign = load_breast_cancer(return_X_y=True)
cells = StandardScaler().fit_transform(cells)
found = {
    "ridge": ridge(body, progress),
    "lasso": lasso(body, progress),
    "hinge": hinge(cells[:, :10], malign),
    "logistic": logistic(cells[:, :10], malign),
}
for name, (model, value, bound, near, low, *allowed) in found.items():
    proof = model.certificate_
    print(f"{name}: value {float(value):.12g}, bound {float(bound):.12g} in fractions")
    print(
        f"  in floats {near:.12g}, {low:.12g}; rounding at most {allowed[0]:.1e}, {allowed[1]:.1e}"
    )
    print(f"  certificate_: {proof.value:.12g}, {proof.bound:.12g}")
