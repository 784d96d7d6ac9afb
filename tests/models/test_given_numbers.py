"""The value of a certificate is the objective at `coef_` as returned, on the numbers as given.

Rows in float32 round coefficients after the proof, and a target or weights in float64 beside them
have digits that float32 does not hold. The objectives are written down anew, in exact fractions
where there are no logarithms.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import fenchel
from fenchel import NotCertified


def rows(seed: int) -> tuple[Any, Any, Any]:
    """float32 rows with an offset, a target and weights that float32 does not hold."""
    rng = np.random.default_rng(seed)
    X = (rng.standard_normal((30, 3)) + np.array([0.0, 30.0, -5.0])).astype(np.float32)
    y = X.astype(float) @ [1.0, -2.0, 0.5] + 0.1 * rng.standard_normal(30)
    return X, y, rng.uniform(0.1, 2.0, 30)


def residuals(model: Any, X: Any, y: Any, k: int | None = None) -> list[Fraction]:
    w = np.ravel(model.coef_ if k is None else model.coef_[k]).tolist()
    b = Fraction(float(np.ravel(model.intercept_)[k or 0]))
    parts = [[Fraction(v) * Fraction(c) for v, c in zip(row, w, strict=True)] for row in X.tolist()]
    return [Fraction(t) - b - sum(part) for t, part in zip(y.tolist(), parts, strict=True)]


def squares(model: Any, X: Any, y: Any, s: Any) -> Fraction:
    r = residuals(model, X, y)
    return sum((Fraction(u) * v * v for u, v in zip(s.tolist(), r, strict=True)), Fraction(0))


def ridge(model: Any, X: Any, y: Any, s: Any) -> Fraction:
    return squares(model, X, y, s) + sum(Fraction(float(w)) ** 2 for w in model.coef_)


def lasso(model: Any, X: Any, y: Any, s: Any) -> Fraction:
    total = sum(map(Fraction, s.tolist()))
    penalty = sum(abs(Fraction(float(w))) for w in model.coef_)
    return squares(model, X, y, s) / total / 2 + Fraction(0.01) * penalty


def absolute(model: Any, X: Any, y: Any, s: Any) -> Fraction:
    total = sum(map(Fraction, s.tolist()))
    r = residuals(model, X, y)
    return sum(Fraction(u) * abs(v) for u, v in zip(s.tolist(), r, strict=True)) / total


def quantiles(model: Any, X: Any, y: Any, s: Any) -> Fraction:
    total, value = sum(map(Fraction, s.tolist())), Fraction(0)
    for k, q in enumerate((0.3, 0.7)):
        r, q = residuals(model, X, y, k), Fraction(q)
        lost = (max(q * v, (q - 1) * v) for v in r)
        value += sum(Fraction(u) * v for u, v in zip(s.tolist(), lost, strict=True)) / total
    return value


def huber(model: Any, X: Any, y: Any, s: Any) -> Fraction:
    sigma, eps, value = Fraction(float(model.scale_)), Fraction(1.35), Fraction(0)
    for u, r in zip(s.tolist(), residuals(model, X, y), strict=True):
        small = abs(r) <= eps * sigma
        h = r * r / sigma if small else 2 * eps * abs(r) - eps * eps * sigma
        value += Fraction(u) * (sigma + h)
    return value + Fraction(1e-4) * sum(Fraction(float(w)) ** 2 for w in model.coef_)


CASES = [
    (fenchel.Ridge(), ridge),
    (fenchel.Ridge(positive=True), ridge),
    (fenchel.LinearRegression(), squares),
    (fenchel.LinearRegression(positive=True), squares),
    (fenchel.Lasso(alpha=0.01), lasso),
    (fenchel.Lasso(alpha=0.01, max_iter=1), lasso),
    (fenchel.LeastAbsoluteDeviations(alpha=0.0), absolute),
    (fenchel.QuantileRegressor(quantile=[0.3, 0.7], alpha=0.0), quantiles),
    (fenchel.QuantileRegressor(quantile=[0.3, 0.7], alpha=0.0, non_crossing=True), quantiles),
    (fenchel.HuberRegressor(), huber),
]


@pytest.mark.parametrize(("model", "objective"), CASES, ids=[f"{m}"[:70] for m, _ in CASES])
@pytest.mark.parametrize("weighted", [False, True])
def test_value_of_float32_rows(
    model: Any, objective: Callable[..., Fraction], weighted: bool, global_random_seed: int
) -> None:
    X, y, s = rows(global_random_seed)
    if isinstance(model, fenchel.QuantileRegressor) and model.non_crossing and weighted:
        s = np.round(s) + 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCertified)
        model.fit(X, y, s if weighted else None)
    assert model.coef_.dtype == np.float32
    value = objective(model, X, y, s if weighted else np.ones(len(y)))
    proof = model.certificate_
    assert abs(Fraction(proof.value) / value - 1) < 1e-12
    assert Fraction(proof.bound) <= value
    assert not model.converged_ or proof.relative_gap <= 1e-6


@pytest.mark.parametrize("steps", [0, 1, 100])
@pytest.mark.parametrize("classes", [2, 3])
def test_value_of_float32_classes(classes: int, steps: int, global_random_seed: int) -> None:
    X, y, s = rows(global_random_seed)
    labels = np.digitize(y, np.quantile(y, [0.5] if classes == 2 else [0.3, 0.6]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCertified)
        model = fenchel.LogisticRegression(max_iter=steps).fit(X, labels, s)
    W, b = model.coef_.astype(float), model.intercept_.astype(float)
    Z = X.astype(float) @ W.T + b
    Z = np.column_stack([np.zeros(len(Z)), Z]) if classes == 2 else Z
    top = Z.max(axis=1)
    lost = np.log(np.exp(Z - top[:, None]).sum(axis=1)) + top - Z[np.arange(len(Z)), labels]
    value = math.fsum(s * lost) + 0.5 * math.fsum(W.ravel() ** 2)
    assert model.certificate_.value == pytest.approx(value, rel=1e-12)
