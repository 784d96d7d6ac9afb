"""Fisher's discriminants against their definition, each other, and rows that attack the bound."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from oracles.discriminant import fisher, moments
from scipy import sparse
from sklearn.datasets import load_iris

from fenchel import (
    FisherDiscriminant,
    KernelFisherDiscriminant,
    LinearDiscriminantAnalysis,
    RankDeficient,
    certify,
    kernels,
    scan,
    threads,
)

BOTH = pytest.mark.parametrize("kind", [FisherDiscriminant, KernelFisherDiscriminant])


def three(seed=0, n=90, d=4):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    A = rng.normal(size=(d, d)) / np.sqrt(d) + 2 * np.eye(d)
    return rng.normal(size=(n, d)) @ A + 4 * rng.normal(size=(3, d))[y], y


@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
def test_axes_by_definition(ridge, weighted):
    X, y = three()
    s = np.random.default_rng(1).random(len(y)) + 0.1 if weighted else None
    model = FisherDiscriminant(ridge=ridge).fit(X, y, s)
    values, axes, _, T = fisher(X, y, ridge, s)
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-10)
    np.testing.assert_allclose(abs(model.scalings_), abs(axes), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(model.scalings_.T @ T @ model.scalings_, np.eye(2), atol=1e-12)
    share = (np.ones(len(y)) if s is None else s) / (len(y) if s is None else s.sum())
    np.testing.assert_allclose(share @ model.transform(X), 0.0, atol=1e-12)
    centres = (model.means_ - model.xbar_) @ model.scalings_
    apart = ((model.transform(X)[:, None] - centres) ** 2).sum(axis=2)
    np.testing.assert_array_equal(model.predict(X), apart.argmin(axis=1))
    proof = certify(model, X, y, s)
    assert proof.kind == "eigen" and proof.closed(1e-12) and 0.0 <= proof.gap < 1e-9
    assert proof.value == pytest.approx(-values.sum(), rel=1e-12)


def test_two_classes_have_one_direction():
    X, y = three()
    X, y = X[y < 2], np.array(["no", "yes"])[y[y < 2]]
    model = FisherDiscriminant(ridge=0.1).fit(X, y)
    first, second = (m for _, m, _ in moments(X, y))
    T = fisher(X, y, 0.1)[3]
    np.testing.assert_allclose(model.coef_[0], np.linalg.solve(T, second - first), rtol=1e-10)
    half = model.decision_function([0.5 * (first + second), first, second])
    np.testing.assert_allclose(half, [0.0, -0.5, 0.5] * (model.coef_ @ (second - first)), atol=1e-9)


def test_without_a_ridge_the_rule_is_that_of_linear_discriminant_analysis():
    X, y = load_iris(return_X_y=True)
    X, y = X[20:], y[20:]
    model = FisherDiscriminant().fit(X, y)
    other = LinearDiscriminantAnalysis(priors=[1 / 3] * 3).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), other.predict(X))
    np.testing.assert_allclose(
        model.decision_function(X)[:, 1:] - model.decision_function(X)[:, :1],
        other.decision_function(X)[:, 1:] - other.decision_function(X)[:, :1],
        rtol=1e-8,
        atol=1e-8,
    )
    one = FisherDiscriminant(n_components=1).fit(X, y)
    np.testing.assert_allclose(one.transform(X), model.transform(X)[:, :1], atol=1e-12)
    assert one.certificate_.closed(1e-12) and one.score(X, y) > 0.9
    with pytest.raises(ValueError, match=r"n_components cannot be larger .* = 2, got 3"):
        FisherDiscriminant(3).fit(X, y)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.filterwarnings("ignore::fenchel.RankDeficient")
def test_few_rows_are_fitted_in_their_own_space(ridge):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 60)) * 10.0 ** rng.integers(-2, 3, 60), np.arange(30) % 3
    X[y == 1, :3] += 2 * X.std(axis=0)[:3]
    wide = FisherDiscriminant(ridge=ridge).fit(X, y)
    # The same rows as often as makes them more than the columns.
    tall = FisherDiscriminant(ridge=ridge).fit(np.tile(X, (3, 1)), np.tile(y, 3))
    np.testing.assert_allclose(wide.eigenvalues_, tall.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(wide.coef_, tall.coef_, rtol=1e-6, atol=1e-9 * abs(tall.coef_).max())
    assert wide.certificate_.closed(1e-10) and certify(wide, X, y).closed(1e-10)
    assert np.isfinite(wide.certificate_.bound) == (ridge > 0.0)
    other = certify(wide, X + rng.normal(size=X.shape), y)
    assert other.value > other.bound or ridge == 0.0
    assert not other.closed(1e-3)
    same = FisherDiscriminant(ridge=ridge).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(same.coef_, wide.coef_, rtol=1e-12)


def test_a_linear_kernel_gives_the_axes_of_the_columns():
    X, y = three()
    s = np.arange(len(y)) % 4 + 0.0
    columns = FisherDiscriminant(ridge=0.04).fit(X, y, s)
    kernel = KernelFisherDiscriminant(kernel="linear", ridge=0.01).fit(X, y, s)
    np.testing.assert_allclose(kernel.eigenvalues_, columns.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(abs(kernel.transform(X)), abs(columns.transform(X)), atol=1e-9)
    np.testing.assert_array_equal(kernel.predict(X), columns.predict(X))
    # Of other rows the two make the same statement.
    mine, yours = certify(kernel, X[::2], y[::2]), certify(columns, X[::2], y[::2])
    assert mine.value == pytest.approx(yours.value, rel=1e-7)
    assert mine.bound == pytest.approx(yours.bound, rel=1e-7) and mine.bound < mine.value


def test_kernels_given_in_every_way():
    X, y = three()
    kernel = kernels.Gaussian(0.1)
    K = kernel.tile(X, X)
    first = KernelFisherDiscriminant(kernel=kernel).fit(X, y)
    for given, rows in (("rbf", X), (lambda A, B: kernel.tile(A, B), X), ("precomputed", K)):
        model = KernelFisherDiscriminant(kernel=given, gamma=0.1).fit(rows, y)
        np.testing.assert_allclose(model.transform(rows), first.transform(X), atol=1e-7)
        np.testing.assert_array_equal(model.predict(rows), first.predict(X))
        assert certify(model, rows, y).closed(1e-6)
    assert first.score(X, y) > 0.85 and first.get_feature_names_out().shape == (2,)
    centres = np.array([first.transform(X[y == k]).mean(axis=0) for k in range(3)])
    np.testing.assert_allclose(first.centres_, centres, atol=1e-8)


@BOTH
def test_a_weight_is_a_row_that_often(kind):
    X, y = three(n=60)
    s = np.arange(60) % 3
    model = kind(ridge=0.1).fit(X, y, s)
    other = kind(ridge=0.1).fit(np.repeat(X, s, axis=0), np.repeat(y, s))
    np.testing.assert_allclose(model.eigenvalues_, other.eigenvalues_, rtol=1e-8)
    np.testing.assert_allclose(abs(model.transform(X)), abs(other.transform(X)), atol=1e-6)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
@pytest.mark.parametrize("columns", [4, 120])
@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.filterwarnings("ignore::fenchel.RankDeficient")
def test_scales_change_nothing(scale, columns, ridge):
    X, y = three(d=columns)
    model = FisherDiscriminant(ridge=ridge).fit(X, y)
    far = FisherDiscriminant(ridge=ridge).fit(X * scale, y)
    np.testing.assert_allclose(far.eigenvalues_, model.eigenvalues_, rtol=1e-8)
    np.testing.assert_allclose(far.transform(X * scale), model.transform(X), atol=1e-7)
    assert far.certificate_.closed(1e-9)


def exact_criterion(X, y, ridge):
    """The sum of all eigenvalues, tr(T⁻¹S_B), in fractions of integers."""
    rows = [[Fraction(float(x)) for x in row] for row in X]
    n, d = X.shape
    classes = np.unique(y)
    means = {
        k: [
            sum(c) / Fraction(len(c))
            for c in zip(*[r for r, t in zip(rows, y, strict=True) if t == k], strict=True)
        ]
        for k in classes
    }
    m = [sum(c) / Fraction(n) for c in zip(*rows, strict=True)]
    T = [[Fraction(0)] * d for _ in range(d)]
    B = [[Fraction(0)] * d for _ in range(d)]
    for row, t in zip(rows, y, strict=True):
        for i in range(d):
            for j in range(d):
                T[i][j] += (row[i] - means[t][i]) * (row[j] - means[t][j]) / n
                B[i][j] += (means[t][i] - m[i]) * (means[t][j] - m[j]) / n
    rho = Fraction(ridge) * sum(T[i][i] for i in range(d)) / d
    for i in range(d):
        T[i][i] += rho
    for i in range(d):  # Gauss and Jordan
        pivot = T[i][i]
        T[i], B[i] = [a / pivot for a in T[i]], [b / pivot for b in B[i]]
        for r in range(d):
            if r != i:
                f = T[r][i]
                T[r] = [a - f * b for a, b in zip(T[r], T[i], strict=True)]
                B[r] = [a - f * b for a, b in zip(B[r], B[i], strict=True)]
    return sum(B[i][i] for i in range(d))


@pytest.mark.parametrize("ridge", [0.0, 0.25])
@pytest.mark.parametrize("attack", ["offset", "columns", "near", "single"])
def test_no_axes_beat_the_bound(attack, ridge):
    X, y = three(3, n=24, d=3)
    if attack == "offset":
        X = X + 1e9
    elif attack == "columns":
        X = X * np.array([1e-7, 1.0, 1e8])
    elif attack == "near":
        X[:, 2] = X[:, 0] + X[:, 1] + 1e-3 * X[:, 2]
    else:
        X = X.astype(np.float32)
    model = FisherDiscriminant(ridge=ridge).fit(X, y)
    best = exact_criterion(X, y, ridge)
    proof = model.certificate_
    assert Fraction(proof.bound) <= -best
    assert proof.value == pytest.approx(-float(best), rel=1e-6)
    assert proof.closed(1e-5 if attack in ("single", "near") else 1e-9)


@pytest.mark.parametrize("home", ["scan", "sparse", "float32", "parts", "threads"])
def test_homes(home, tmp_path):
    X, y = three(n=400)
    model = FisherDiscriminant(ridge=0.1).fit(X, y)
    other = FisherDiscriminant(ridge=0.1)
    if home == "scan":
        path = tmp_path / "rows.csv"
        names = [*"abcd", "y"]
        pd.DataFrame(np.column_stack([X, y]), columns=names).to_csv(path, index=False)
        with scan(path, target="y") as table:
            other.fit(table)
    elif home == "sparse":
        other.fit(sparse.csr_array(X), y)
    elif home == "float32":
        other.fit(X.astype(np.float32), y)
        assert other.transform(X.astype(np.float32)).dtype == np.float32
    elif home == "parts":
        for part in np.array_split(np.arange(400), 3):
            other.partial_fit(X[part], y[part], classes=[0, 1, 2])
    else:
        with threads(1):
            other.fit(X, y)
    tol = 1e-4 if home == "float32" else 1e-10
    np.testing.assert_allclose(other.coef_, model.coef_, rtol=tol, atol=tol)


@BOTH
def test_what_cannot_be_fitted_is_said(kind):
    X, y = three(n=30)
    with pytest.raises(ValueError, match="must be more than the number of classes"):
        kind(ridge=0.1).fit(np.eye(3)[y], y)
    with pytest.raises(ValueError, match="ridge"):
        kind(ridge=-1.0).fit(X, y)


def test_a_singular_scatter_is_said():
    X, y = three()
    with pytest.warns(RankDeficient, match="rank 4 in 5 columns"):
        model = FisherDiscriminant().fit(np.column_stack([X, X[:, 0]]), y)
    values = fisher(X, y)[0]
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-8)
    assert model.certificate_.bound == -np.inf and model.certificate_.closed(1e-9)
