"""No certificate is false: adversarial problems, new ones each week, against exact arithmetic.

value ≥ bound; bound ≤ P at the coefficients as returned and at points that are better to many
digits, both exact; |value - P| is within the gap, which pays for the rounding of the value.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from convex.audit.exact import Exact, hinge, huber, log_loss, pinball, square, squared_hinge
from scipy.sparse import csr_array

import fenchel

PROBLEMS = 36  # of each family: all of them take some ten seconds


@dataclass
class Table:
    X: Any
    y: Any
    s: Any


def nasty(rng: np.random.Generator, classes: bool) -> Table:
    """A small table with some of what makes float64 lose its digits."""
    n, d = int(rng.integers(3, 11)), int(rng.integers(1, 4))
    X = np.round(rng.standard_normal((n, d)), 2) if rng.random() < 0.5 else rng.normal(size=(n, d))
    if d > 1 and rng.random() < 0.25:
        X[:, -1] = X[:, 0]  # a twin
    if d > 2 and rng.random() < 0.25:
        X[:, -1] = X[:, 0] + X[:, 1]  # dependent but for rounding
    if rng.random() < 0.3:
        X = X * 10.0 ** rng.integers(-7, 8, d)
    if rng.random() < 0.3:
        X = X + 10.0 ** rng.integers(2, 10)
    if classes:
        y = np.where(X[:, 0] + 0.5 * rng.standard_normal(n) > np.median(X[:, 0]), 1, 0)
        if rng.random() < 0.2:
            y = np.where(X[:, 0] > np.median(X[:, 0]), 1, 0)  # a plane separates them
        y[0], y[1] = 0, 1
    else:
        y = X.sum(axis=1) + rng.standard_normal(n) * 10.0 ** rng.integers(-8, 3)
        y = y + (10.0 ** rng.integers(2, 9) if rng.random() < 0.2 else 0.0)
    s = None
    if rng.random() < 0.35:
        s = 10.0 ** rng.uniform(-6, 6, n) if rng.random() < 0.5 else rng.integers(0, 3, n) * 1.0
        s = s if (s > 0.0).sum() > 2 else None
    how = rng.random()
    if how < 0.15:
        X = X.astype(np.float32)
    elif how < 0.35:
        X = csr_array(X)
    return Table(X, y, s)


def signs(y: Any) -> Any:
    return np.where(y == 1, 1.0, -1.0)


def total(t: Table) -> Fraction:
    return sum((Fraction(float(v)) for v in t.s), Fraction(0)) if t.s is not None else len(t.y)


def strength(rng: np.random.Generator) -> float:
    return float(10.0 ** rng.uniform(-6, 3))


def ridge(rng, t):
    alpha, b = strength(rng), bool(rng.random() < 0.7)
    return fenchel.Ridge(alpha=alpha, fit_intercept=b), Exact.of(
        t.X, t.y, t.s, square, l2=2 * Fraction(alpha), intercept=b, kind="square"
    )


def least(rng, t):
    b = bool(rng.random() < 0.7)
    return fenchel.LinearRegression(fit_intercept=b), Exact.of(
        t.X, t.y, t.s, square, intercept=b, kind="square"
    )


def logistic(rng, t):
    C, b = strength(rng), bool(rng.random() < 0.7)
    return fenchel.LogisticRegression(C=C, fit_intercept=b), Exact.of(
        t.X, signs(t.y), t.s, log_loss, C, l2=1.0, intercept=b, kind="logistic"
    )


def machine(rng, t):
    C, b, loss = strength(rng), bool(rng.random() < 0.7), ["hinge", "squared_hinge"]
    name = loss[int(rng.random() < 0.3)]
    of = hinge if name == "hinge" else squared_hinge
    return fenchel.LinearSVC(loss=name, C=C, fit_intercept=b), Exact.of(
        t.X, signs(t.y), t.s, of, C, l2=1.0, intercept=b, kind=name
    )


def lasso(rng, t):
    alpha, b = float(10.0 ** rng.uniform(-4, 1)), bool(rng.random() < 0.7)
    return fenchel.Lasso(alpha=alpha, fit_intercept=b), Exact.of(
        t.X, t.y, t.s, square, 1 / (2 * Fraction(total(t))), l1=alpha, intercept=b, kind="lasso"
    )


def quantile(rng, t):
    q, b = float(rng.choice([0.5, 0.1, 0.9, 0.01])), bool(rng.random() < 0.7)
    alpha = 0.0 if rng.random() < 0.5 else float(10.0 ** rng.uniform(-4, 0))
    return fenchel.QuantileRegressor(quantile=q, alpha=alpha, fit_intercept=b), Exact.of(
        t.X, t.y, t.s, pinball(q), 1 / Fraction(total(t)), l1=alpha, intercept=b, kind="pinball"
    )


def scaled(rng, t):
    alpha, b = strength(rng), bool(rng.random() < 0.7)
    eps = float(rng.choice([1.0, 1.35, 3.0]))
    model = fenchel.HuberRegressor(epsilon=eps, alpha=alpha, fit_intercept=b)
    return model, Exact.of(t.X, t.y, t.s, None, l2=2 * Fraction(alpha), intercept=b, kind="huber")


FAMILIES = {
    "ridge": (ridge, False), "least squares": (least, False), "logistic": (logistic, True),
    "hinge": (machine, True), "lasso": (lasso, False), "quantile": (quantile, False),
    "huber": (scaled, False),
}  # fmt: skip


def judge(model: Any, problem: Exact) -> list[str]:
    """What is wrong with a fit's certificate."""
    proof = model.certificate_
    w = [Fraction(float(v)) for v in np.ravel(model.coef_)]
    b = Fraction(float(np.ravel(model.intercept_)[0]))
    if problem.kind == "huber":
        problem.loss = huber(model.epsilon, float(model.scale_))
    value, bound, found = Fraction(proof.value), proof.bound, []
    own = problem.value(w, b)
    if proof.value < bound:
        found.append(f"the bound {bound!r} lies above the value {proof.value!r}")
    if proof.kind == "estimate" or bound == -np.inf:
        return [*found, "converged without a proof"] if model.converged_ else found
    if Fraction(bound) > own:
        found.append(f"bound {bound!r} above P = {float(own)!r} at the coefficients")
    if abs(value - own) > value - Fraction(bound):
        off = float(value - own)
        found.append(f"value {proof.value!r} off by {off:.3g}, gap {proof.gap:.3g}")
    better = problem.better(w, b)
    if better is not None:
        other = problem.value(*better)
        if Fraction(bound) > other:
            found.append(f"bound {bound!r} above P = {float(other)!r} at a better point")
        size = max(abs(own), Fraction(proof.floor))
        if model.converged_ and own - other > 2 * Fraction(model.tol) * size:
            found.append(f"converged at {float(own)!r}, and {float(other)!r} is possible")
    if model.converged_ and not proof.relative_gap <= model.tol:
        found.append(f"converged with a relative gap of {proof.relative_gap:.2g}")
    return found


@pytest.mark.parametrize("name", FAMILIES)
def test_no_certificate_is_false(name, weekly_seed):
    make, classes = FAMILIES[name]
    wrong, judged = [], 0
    for number in range(PROBLEMS):
        rng = np.random.default_rng([weekly_seed, number, list(FAMILIES).index(name)])
        t = nasty(rng, classes)
        model, problem = make(rng, t)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model.fit(t.X, t.y, t.s)
            except ValueError:  # refused, with the reason
                continue
        judged += 1
        wrong += [f"seed {weekly_seed}, problem {number}: {what}" for what in judge(model, problem)]
    assert not wrong, "\n".join(wrong)
    assert judged > PROBLEMS // 2
