"""Linear kernels on rows far from zero: a narrow certificate, of the rows as they came."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from fenchel import SVC, SVR, certify


def exactly(model, X, y, loss):
    """The objective of the coefficients as they are, in fractions."""
    rows = [[Fraction(v) for v in row] for row in X.tolist()]
    beta = [Fraction(0)] * len(rows)
    for i, c in zip(model.support_.tolist(), model.dual_coef_[0].tolist(), strict=True):
        beta[i] = Fraction(c)
    d = len(rows[0])
    w = [sum(b * row[q] for b, row in zip(beta, rows, strict=True)) for q in range(d)]
    b = Fraction(float(model.intercept_[0]))
    z = [sum(u * v for u, v in zip(w, row, strict=True)) + b for row in rows]
    losses = sum(loss(Fraction(float(t)), score) for t, score in zip(y, z, strict=True))
    return Fraction(float(model.C)) * losses + sum(u * u for u in w) / 2


@pytest.mark.parametrize("offset", [1e3, 1e6, 3e8])
@pytest.mark.parametrize("kind", ["SVC", "SVR"])
def test_the_certificate_is_of_the_rows_as_they_came(kind, offset):
    rng = np.random.default_rng(3)
    X = rng.integers(-64, 65, (60, 3)) / 16.0
    z = X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(60)
    X[:, :2] += np.array([offset, -2.0 * offset])
    if kind == "SVC":
        y, model = np.where(z > 0.0, 1.0, -1.0), SVC(kernel="linear", C=0.5, tol=1e-6)

        def loss(t, score):
            return max(Fraction(0), 1 - t * score)
    else:
        y, model = z, SVR(kernel="linear", C=0.5, tol=1e-6)

        def loss(t, score):
            return max(Fraction(0), abs(t - score) - Fraction(model.epsilon))

    model.fit(X, y)
    value = exactly(model, X, y, loss)
    for proof in (model.certificate_, certify(model, X, y)):
        assert Fraction(proof.bound) <= value
        assert float(value) <= proof.value * (1.0 + 1e-9)
        assert proof.relative_gap <= 1e-4
    near = (SVC if kind == "SVC" else SVR)(**model.get_params()).fit(X - X.mean(axis=0), y)
    assert near.certificate_.value == pytest.approx(model.certificate_.value, rel=1e-4)
    wide = (SVC if kind == "SVC" else SVR)(**model.get_params()).fit(sparse.csr_array(X), y)
    assert wide.certificate_.relative_gap <= 1e-4


def test_pairs_of_classes_and_weights():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 2))
    y = np.digitize(X[:, 0] + 0.3 * rng.standard_normal(150), [-0.5, 0.5])
    s = rng.integers(0, 3, 150).astype(float)
    far, near = (SVC(kernel="linear").fit(X + c, y, s) for c in (2.0**20, 0.0))
    assert far.certificate_.relative_gap <= 1e-3
    assert np.mean(far.predict(X + 2.0**20) == near.predict(X)) > 0.98
    assert certify(far, X + 2.0**20, y, s).relative_gap <= 1e-3
