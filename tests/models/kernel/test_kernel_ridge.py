"""Kernel ridge regression: scikit-learn's answers, and a proof that fractions do not break."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from oracles.kernel import ridge_optimum, ridge_value
from scipy.sparse import csr_array
from sklearn.kernel_ridge import KernelRidge as Theirs

import fenchel
from fenchel import KernelRidge, NotCertified, certify, kernels
from fenchel.data.design.kernel import GramDesign, KernelDesign, gram_matrix
from fenchel.data.intake import as_blocks
from fenchel.solve.gram.ridge_proof import ridge_certificate
from fenchel.solve.gram.shifted_gram import ShiftedGram
from fenchel.solve.gram.tiled_cholesky import solve_factored, tiled_cholesky


def noisy(n=150, seed=0, d=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.sin(2.0 * X[:, 0]) + 0.1 * rng.standard_normal(n), rng.integers(0, 3, n) * 1.0


SETTINGS = [
    {},
    {"kernel": "rbf", "gamma": 0.3, "alpha": 0.01},
    {"kernel": "rbf", "alpha": 1e-8},
    {"kernel": "poly", "degree": 2, "coef0": 0.5},
    {"kernel": "laplacian", "gamma": 0.2},
    {"kernel": "cosine", "alpha": 0.1},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_answers_of_scikit_learn(settings, weighted):
    X, y, s = noisy()
    s = s if weighted else None
    Y = np.column_stack([y, y**2])
    for target in (y, Y):
        ours = KernelRidge(**settings).fit(X, target, s)
        theirs = Theirs(**settings).fit(X, target, s)
        size = np.abs(theirs.dual_coef_).max()
        assert np.allclose(ours.dual_coef_, theirs.dual_coef_, rtol=0, atol=1e-9 * size)
        assert np.allclose(ours.predict(X), theirs.predict(X), atol=1e-8)
        assert ours.converged_ and ours.certificate_.kind == "duality"
        again = certify(ours, X, target, s)
        assert again.value == pytest.approx(ours.certificate_.value, rel=1e-12)


@pytest.mark.parametrize("alpha", [1e-10, 1e-3, 1.0, 1e6])
def test_the_proof_holds_in_fractions(alpha):
    rng = np.random.default_rng(1)
    X = rng.integers(-3, 4, (9, 3)).astype(float)
    y, s = rng.standard_normal(9), rng.integers(1, 4, 9) * 0.5
    K = gram_matrix(kernels.Polynomial(2), X)  # whole numbers, exact in float64
    least, _ = ridge_optimum(K, y, s, alpha)
    design = GramDesign(K, y, s)
    c = ShiftedGram(design, np.sqrt(s), alpha).solve(y[:, None]).c
    for step in (0.0, 1e-12, 1e-8, 1e-3, 1.0):
        moved = c * (1.0 + step * rng.standard_normal(c.shape))
        proof = ridge_certificate(
            design.product(moved), design.diagonal(), y[:, None], s, np.array([alpha]), moved
        )
        value = ridge_value(K, y, s, alpha, moved[:, 0])
        assert Fraction(proof.bound) <= least <= value
        assert abs(Fraction(proof.value) - value) <= Fraction(proof.gap)


def test_each_target_may_have_its_own_penalty():
    X, y, _ = noisy()
    Y = np.column_stack([y, y, y])
    ours = KernelRidge([0.1, 5.0, 0.1], kernel="rbf").fit(X, Y)
    for k, alpha in enumerate([0.1, 5.0, 0.1]):
        alone = KernelRidge(alpha, kernel="rbf").fit(X, y)
        assert np.allclose(ours.dual_coef_[:, k], alone.dual_coef_, rtol=1e-10)
    with pytest.raises(ValueError, match="Number of targets and number of penalties"):
        KernelRidge([0.1, 1.0], kernel="rbf").fit(X, Y)


def test_whole_weights_are_repeated_rows():
    X, y, s = noisy()
    repeated = np.repeat(np.arange(len(y)), s.astype(int))
    once = KernelRidge(kernel="rbf").fit(X, y, s)
    many = KernelRidge(kernel="rbf").fit(X[repeated], y[repeated])
    assert np.allclose(once.predict(X), many.predict(X), atol=1e-11)
    assert once.certificate_.value == pytest.approx(many.certificate_.value, rel=1e-11)
    assert not once.dual_coef_[s == 0.0].any()


@pytest.mark.parametrize("exponent", [-150, -20, 20, 150])
def test_any_scale(exponent):
    X, y, _ = noisy()
    scale = 10.0**exponent
    plain = KernelRidge(0.1, kernel="rbf").fit(X, y).predict(X)
    large = KernelRidge(0.1, kernel="rbf").fit(X, y * scale)
    assert np.allclose(large.predict(X) / scale, plain, atol=1e-11) and large.converged_
    times = kernels.Gaussian(0.25) * scale  # the penalty along with the kernel: the same functions
    same = KernelRidge(0.1 * scale, kernel=times).fit(X, y)
    assert np.allclose(same.predict(X), plain, atol=1e-11) and same.converged_


def test_no_penalty_is_least_squares_on_the_columns_of_the_kernel_matrix():
    """K = XX' has the rank of X but for rounding, and in exact arithmetic its columns as floats may
    fit any target: what is solved is the problem of the directions that float64 tells apart, and
    the certificate says that it proves no more."""
    X, y, s = noisy(60)
    with pytest.warns(NotCertified, match="nothing proved"):
        model = KernelRidge(0.0).fit(X, y, s)
    w = np.linalg.lstsq(X * np.sqrt(s)[:, None], y * np.sqrt(s))[0]
    assert np.allclose(model.predict(X), X @ w, atol=1e-9) and not model.converged_
    assert certify(model, X, y, s).kind == "estimate"
    # A matrix of full rank fits every row that has a weight exactly, and is proved.
    full = KernelRidge(0.0, kernel="laplacian", gamma=5.0).fit(X, y, s)
    counts = s > 0.0
    assert np.allclose(full.predict(X[counts]), y[counts], atol=1e-9) and full.converged_


def test_precomputed_is_the_kernel():
    X, y, s = noisy()
    K = gram_matrix(kernels.Gaussian(0.25), X)
    plain = KernelRidge(kernel="rbf", gamma=0.25).fit(X, y, s)
    given = KernelRidge(kernel="precomputed").fit(K, y, s)
    assert np.allclose(given.dual_coef_, plain.dual_coef_, atol=1e-12)
    assert np.allclose(given.predict(K[:7]), plain.predict(X[:7]), atol=1e-12)
    by_rows = KernelRidge(kernel=lambda a, b: float(np.exp(-0.25 * ((a - b) ** 2).sum())))
    assert np.allclose(by_rows.fit(X, y, s).predict(X), plain.predict(X), atol=1e-10)


def test_bad_input():
    X, y, _ = noisy(20)
    K = gram_matrix(kernels.Gaussian(0.25), X)
    with pytest.raises(ValueError, match="square matrix"):
        KernelRidge(kernel="precomputed").fit(K[:, :9], y)
    with pytest.raises(ValueError, match=r"not symmetric: row 3, column 5 is .*pass \(K \+ K'\)"):
        wrong = K.copy()
        wrong[3, 5] += 1.0
        KernelRidge(kernel="precomputed").fit(wrong, y)
    for gamma in (0.0, -1.0, "wide"):
        with pytest.raises(ValueError, match="gamma"):
            KernelRidge(kernel="rbf", gamma=gamma).fit(X, y)
    with pytest.raises(ValueError, match="alpha"):
        KernelRidge(-1.0).fit(X, y)
    with pytest.raises(ValueError, match="string"):
        KernelRidge().fit(np.array([["a", "b"], ["c", "d"]]), [0.0, 1.0])
    with pytest.raises(ValueError, match="fitted on 20 rows and X has 19"):
        certify(KernelRidge().fit(X, y), X[:19], y[:19])


def test_a_kernel_that_is_not_semi_definite_is_fitted_without_a_bound():
    X, y, _ = noisy(40)
    with pytest.warns(UserWarning, match="not positive semi-definite"):
        ours = KernelRidge(kernel="sigmoid", coef0=0.2).fit(X, y)
    with pytest.warns(UserWarning, match="Singular"):  # its Cholesky factor, since K is indefinite
        theirs = Theirs(kernel="sigmoid", coef0=0.2).fit(X, y)
    assert np.allclose(ours.predict(X), theirs.predict(X), atol=1e-6)
    assert ours.certificate_.kind == "stationary" and ours.certificate_.bound == -np.inf


def test_rounding_beyond_the_penalty_is_said():
    X, y, _ = noisy(80)
    with pytest.warns(NotCertified, match="raise alpha"):
        model = KernelRidge(1e-300, kernel="rbf", gamma=1e-3).fit(X, y)
    assert not model.converged_ and np.isfinite(model.predict(X)).all()


def test_no_room_for_the_factor_names_the_gigabytes(monkeypatch):
    X, y, _ = noisy(300)
    monkeypatch.setattr("fenchel.solve.gram.shifted_gram.free_memory", lambda: 1e5)
    with pytest.raises(MemoryError, match=r"300 x 300 kernel matrix needs .* GiB .*landmarks"):
        KernelRidge(kernel="rbf").fit(X, y)


def test_by_tiles_as_in_memory():
    X, y, s = noisy(700)
    block = as_blocks(X, y, s + 1.0)
    kept = KernelDesign(kernels.Gaussian(0.3), block)
    tiled = KernelDesign(kernels.Gaussian(0.3), block, 0.0)
    assert kept.in_memory and not tiled.in_memory
    root = np.sqrt(s + 1.0)
    first, second = (ShiftedGram(d, root, 0.1).solve(y[:, None]).c for d in (kept, tiled))
    assert np.allclose(first, second, rtol=0, atol=1e-12 * np.abs(first).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_factor_has_the_same_bits_on_any_threads(dtype):
    rng = np.random.default_rng(0)
    B = rng.standard_normal((700, 700))
    A = (B @ B.T + 700 * np.eye(700)).astype(dtype)
    found = []
    for count in (1, 3):
        L = A.copy()
        with fenchel.threads(count):
            assert tiled_cholesky(L)
        found.append(np.tril(L))
    assert np.array_equal(*found)
    L = found[0]
    assert np.abs(L @ L.T - A).max() <= 700 * np.finfo(dtype).eps * A.max()
    b = rng.standard_normal((700, 2)).astype(dtype)
    assert np.abs(A @ solve_factored(L, b) - b).max() <= 1e4 * np.finfo(dtype).eps
    A[650, 650] = -1.0
    assert not tiled_cholesky(A)


@pytest.mark.torch
def test_homes(tmp_path):
    X, y, _ = noisy()
    names = list("abcd")
    pd.DataFrame(X, columns=names).assign(y=y).to_parquet(tmp_path / "t.parquet")
    plain = KernelRidge(0.1, kernel="rbf", gamma=0.3).fit(X, y)
    there = fenchel.scan(tmp_path / "t.parquet", target="y")
    da = pytest.importorskip("dask.array")
    torch = pytest.importorskip("torch")
    rows = [
        (csr_array(X), y),
        (pd.DataFrame(X, columns=names), y),
        (there, None),
        (da.from_array(X, chunks=(40, 4)), da.from_array(y, chunks=40)),
        (torch.from_numpy(X), torch.from_numpy(y)),
    ]
    for table, target in rows:
        model = KernelRidge(0.1, kernel="rbf", gamma=0.3).fit(table, target)
        assert np.allclose(model.dual_coef_, plain.dual_coef_, atol=1e-11)
        assert np.allclose(np.asarray(model.predict(table)), plain.predict(X), atol=1e-11)
        assert certify(model, table, target).closed(1e-6)


def test_float32_rows_give_float32_where_the_proof_allows():
    X, y, _ = noisy()
    X, y = X.astype(np.float32), y.astype(np.float32)
    model = KernelRidge(1.0, kernel="rbf").fit(X, y)
    assert model.dual_coef_.dtype == np.float32 and model.converged_
    assert model.predict(X).dtype == np.float32
    wide = Theirs(1.0, kernel="rbf").fit(X.astype(np.float64), y.astype(np.float64))
    assert np.allclose(model.predict(X), wide.predict(X.astype(np.float64)), atol=1e-5)
