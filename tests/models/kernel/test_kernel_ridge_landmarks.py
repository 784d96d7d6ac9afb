"""Kernel ridge regression on landmarks: the naive equations, every home of data, and two proofs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from oracles.kernel import ridge_on_landmarks, ridge_optimum
from scipy.sparse import csr_array

import fenchel
from fenchel import KernelRidge, KernelRidgeCV, NotCertified, certify, kernels
from fenchel.data.design.kernel import gram_matrix


def noisy(n=600, seed=0, d=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.sin(2.0 * X[:, 0]) + 0.1 * rng.standard_normal(n), rng.integers(0, 3, n) * 1.0


SETTINGS = [
    {"kernel": "rbf", "gamma": 0.3},
    {"kernel": "rbf", "gamma": 0.3, "alpha": 1e-3},
    {"kernel": "laplacian", "gamma": 0.2, "alpha": 0.1},
    {"kernel": kernels.Gaussian(0.2) + 0.5 * kernels.Matern(1.5)},
    {"kernel": "linear"},
    {"kernel": "poly", "degree": 2, "alpha": 10.0},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_answers_of_the_naive_equations(settings, weighted):
    X, y, s = noisy()
    Y = np.column_stack([y, y**2])
    s = s if weighted else None
    model = KernelRidge(landmarks=60, tol=1e-9, **settings).fit(X, Y, s)
    kernel, Z = model.kernel_, X[model.landmarks_]
    assert np.array_equal(model.X_fit_, Z)
    assert s is None or (s[model.landmarks_] > 0.0).all()
    weights = np.ones(len(y)) if s is None else s
    alpha = settings.get("alpha", 1.0)
    values = 0.0
    for k in range(2):
        f, value = ridge_on_landmarks(kernel.tile(X, Z), kernel.tile(Z, Z), Y[:, k], weights, alpha)
        assert np.allclose(model.predict(X)[:, k], f, atol=2e-5 * np.abs(Y).max())
        values += value
    proof = model.certificate_
    assert proof.kind == "duality" and proof.closed(1e-6)
    assert proof.bound <= values * (1.0 + 1e-12) and proof.value == pytest.approx(values, rel=1e-9)


def test_a_landmark_for_each_row_is_the_whole_problem():
    X, y, s = noisy(150)
    whole = KernelRidge(kernel="rbf", alpha=0.1).fit(X, y, s)
    usable = np.flatnonzero(s)
    same = KernelRidge(kernel="rbf", alpha=0.1, landmarks=usable).fit(X, y, s)
    assert np.array_equal(same.landmarks_, usable)
    assert np.allclose(same.predict(X), whole.predict(X), atol=1e-6)
    assert same.full_certificate_.relative_gap < 1e-6
    assert same.full_certificate_.value == pytest.approx(whole.certificate_.value, rel=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_errors_of_rows_that_are_left_out(weighted):
    """Those of the naive equations without the row; the landmarks stay."""
    X, y, s = noisy(40)
    Y, alphas = np.column_stack([y, y**2]), [1e-2, 1.0, 30.0]
    s = s if weighted else np.ones(40)
    own = {"kernel": "rbf", "gamma": 0.3, "landmarks": 9}
    model = KernelRidgeCV(alphas, store_cv_results=True, **own).fit(X, Y, s)
    kernel, Z = model.kernel_, X[model.landmarks_]
    Kxz, Kzz = kernel.tile(X, Z), kernel.tile(Z, Z)
    for k in range(2):
        for a, alpha in enumerate(alphas):
            left = np.empty(40)
            for i in range(40):
                without = np.where(np.arange(40) == i, 0.0, s)
                left[i] = Y[i, k] - ridge_on_landmarks(Kxz, Kzz, Y[:, k], without, alpha)[0][i]
            np.testing.assert_allclose(
                model.cv_results_[:, k, a], s * left**2, rtol=1e-6, atol=1e-9
            )
    means = model.cv_results_.mean(axis=(0, 1))
    assert model.alpha_ == alphas[means.argmin()]
    assert model.best_score_ == pytest.approx(-means.min())
    quick = KernelRidgeCV(alphas, **own).fit(X, Y, s)
    assert quick.best_score_ == pytest.approx(model.best_score_, rel=1e-9)
    alone = KernelRidge(model.alpha_, **own).fit(X, Y, s)
    np.testing.assert_array_equal(model.dual_coef_, alone.dual_coef_)
    np.testing.assert_array_equal(model.landmarks_, alone.landmarks_)
    assert certify(model, X, Y, s) == certify(alone, X, Y, s)
    predicted = KernelRidgeCV(alphas, scoring="r2", store_cv_results=True, **own).fit(X, y, s)
    gone = s == 0.0
    for a, alpha in enumerate(alphas):
        whole = KernelRidge(alpha, **own).fit(X, y, s).predict(X)
        np.testing.assert_allclose(predicted.cv_results_[gone, a], whole[gone], atol=1e-6)


def test_a_penalty_chosen_in_every_home(tmp_path):
    X, y, s = noisy(3000)
    own = {"kernel": "rbf", "gamma": 0.3, "landmarks": 30, "random_state": 3}
    model = KernelRidgeCV([1e-3, 1e-1, 10.0], **own).fit(X, y, s)
    for count in (1, 3):
        with fenchel.threads(count):
            again = KernelRidgeCV([1e-3, 1e-1, 10.0], **own).fit(X, y, s)
        assert again.best_score_ == model.best_score_
        np.testing.assert_array_equal(again.dual_coef_, model.dual_coef_)
    np.save(tmp_path / "rows.npy", X)
    with fenchel.scan(tmp_path / "rows.npy") as table:
        filed = KernelRidgeCV([1e-3, 1e-1, 10.0], **own).fit(table, y)
    plain = KernelRidgeCV([1e-3, 1e-1, 10.0], **own).fit(X, y)
    assert filed.alpha_ == plain.alpha_
    assert filed.best_score_ == pytest.approx(plain.best_score_, rel=1e-9)
    fenchel.save(model, tmp_path / "m.fen")
    loaded = fenchel.load(tmp_path / "m.fen")
    assert np.array_equal(loaded.predict(X), model.predict(X))
    folds = KernelRidgeCV([1e-3, 1e-1], cv=3, **own).fit(X, y)
    assert len(folds.landmarks_) == 30 and folds.converged_
    with pytest.raises(ValueError, match="alphas == 0"):
        KernelRidgeCV([0.0], **own).fit(X, y)


def test_both_proofs_hold_in_fractions():
    rng = np.random.default_rng(1)
    X = rng.integers(-3, 4, (9, 3)).astype(float)
    y, s = rng.standard_normal(9), rng.integers(1, 4, 9) * 0.5
    kernel = kernels.Polynomial(2)  # whole numbers, exact in float64
    K = gram_matrix(kernel, X)
    for alpha in (1e-3, 1.0, 1e3):
        model = KernelRidge(alpha, kernel=kernel, landmarks=[0, 4, 7], tol=1e-3).fit(X, y, s)
        some = model.landmarks_
        # Over the landmarks: (K_ms K_sm + αK_mm)c = K_ms y in fractions, by its own optimum.
        A = [[Fraction(float(v)) for v in row] for row in K[:, some]]
        c = [Fraction(float(v)) for v in model.dual_coef_]
        scores = [sum(a * b for a, b in zip(row, c, strict=True)) for row in A]
        loss = sum(
            Fraction(float(w)) * (Fraction(float(t)) - z) ** 2
            for w, t, z in zip(s, y, scores, strict=True)
        )
        norm = sum(c[i] * scores[some[i]] for i in range(len(c)))
        value = loss + Fraction(alpha) * norm
        least, _ = ridge_optimum(K, y, s, alpha)
        full = model.full_certificate_
        assert Fraction(full.bound) <= least <= value
        assert abs(Fraction(full.value) - value) <= Fraction(1e-12) * value
        own = model.certificate_
        assert least <= Fraction(own.bound) * (1 + Fraction(1e-9)) + Fraction(1e-12)
        assert own.relative_gap < 1e-9


@pytest.mark.parametrize("alpha", [1e-2, 1.0])
def test_the_cost_of_landmarks_is_bounded(alpha):
    """The bound of the whole problem is below its optimum, and nears it as landmarks are added."""
    X, y, s = noisy(400)
    best = KernelRidge(alpha, kernel="rbf", gamma=0.3).fit(X, y, s).certificate_
    gaps = []
    for m in (10, 60, 250):
        model = KernelRidge(alpha, kernel="rbf", gamma=0.3, landmarks=m)
        if m < 60:
            model.fit(X, y, s)
            assert "full_certificate_" not in vars(model)
        else:
            model.fit(X, y, s)
            assert "among all functions of the kernel" in model.storage_
        full = certify(model, X, y, s)
        assert full.bound <= best.value and full.value >= best.bound
        gaps.append(full.relative_gap)
    assert gaps[2] < gaps[1] <= gaps[0] and gaps[2] < 0.2


def test_every_home_of_data_and_precision(tmp_path):
    X, y, s = noisy()
    numbers = np.arange(0, 600, 12)
    plain = KernelRidge(kernel="rbf", gamma=0.3, landmarks=numbers).fit(X, y, s)
    at = plain.predict(X)
    few = X * (np.abs(X) > 0.3)
    dense = KernelRidge(kernel="rbf", gamma=0.3, landmarks=numbers).fit(few, y, s)
    sparse = KernelRidge(kernel="rbf", gamma=0.3, landmarks=numbers).fit(csr_array(few), y, s)
    assert np.allclose(sparse.predict(csr_array(few)), dense.predict(few), atol=1e-8)
    single = KernelRidge(kernel="rbf", gamma=0.3, landmarks=numbers)
    single.fit(X.astype(np.float32), y, s)
    assert single.converged_ and single.predict(X.astype(np.float32)).dtype == np.float32
    assert np.allclose(single.predict(X.astype(np.float32)), at, atol=1e-5)
    table = np.column_stack([X, y])
    np.savetxt(tmp_path / "t.csv", table, delimiter=",", header="a,b,c,d,y", comments="")
    rows = fenchel.scan(tmp_path / "t.csv", target="y")
    model = KernelRidge(kernel="rbf", gamma=0.3, landmarks=numbers).fit(rows, sample_weight=s)
    assert np.allclose(model.predict(rows), at, atol=1e-8)
    assert certify(model, rows, sample_weight=s).value == pytest.approx(
        certify(plain, X, y, s).value, rel=1e-9
    )


@pytest.mark.torch
def test_tensors_and_dask():
    X, y, s = noisy()
    numbers = np.arange(0, 600, 12)
    at = KernelRidge(kernel="rbf", gamma=0.3, landmarks=numbers).fit(X, y, s).predict(X)
    torch = pytest.importorskip("torch")
    tensors = KernelRidge(kernel="rbf", gamma=0.3, landmarks=numbers)
    tensors.fit(torch.asarray(X), torch.asarray(y), torch.asarray(s))
    assert np.allclose(tensors.predict(X), at, atol=1e-8)
    arrays = pytest.importorskip("dask.array")
    parts = arrays.from_array(X, chunks=(150, 4)), arrays.from_array(y, chunks=150)
    model = KernelRidge(kernel="rbf", gamma=0.3, landmarks=numbers).fit(*parts)
    same = KernelRidge(kernel="rbf", gamma=0.3, landmarks=numbers).fit(X, y)
    assert np.allclose(model.predict(X), same.predict(X), atol=1e-8)


def test_strings_functions_and_matrices():
    X, y, _ = noisy(90)
    K = gram_matrix(kernels.Gaussian(0.3), X)
    some = np.arange(0, 90, 6)
    plain = KernelRidge(kernel="rbf", gamma=0.3, landmarks=some).fit(X, y)
    given = KernelRidge(kernel="precomputed", landmarks=some).fit(K, y)
    assert np.allclose(given.predict(K[:7]), plain.predict(X[:7]), atol=1e-8)
    assert certify(given, K, y).value == pytest.approx(certify(plain, X, y).value, rel=1e-9)
    by_rows = KernelRidge(kernel=lambda a, b: float(np.exp(-0.3 * ((a - b) ** 2).sum())))
    by_rows.set_params(landmarks=some)
    assert np.allclose(by_rows.fit(X, y).predict(X[:7]), plain.predict(X[:7]), atol=1e-8)
    words = ["".join(row) for row in np.random.default_rng(0).choice(list("ACG"), (60, 8))]
    spectrum = kernels.Spectrum(2)
    whole = KernelRidge(kernel=spectrum).fit(words, y[:60])
    every = KernelRidge(kernel=spectrum, landmarks=60).fit(words, y[:60])
    assert len(every.landmarks_) <= 9  # nine words of two letters
    assert np.allclose(every.predict(words), whole.predict(words), atol=1e-5)


def test_model_files(tmp_path):
    X, y, _ = noisy()
    for given in (KernelRidge(kernel="rbf", landmarks=100), KernelRidge(landmarks=[3, 5, 9])):
        model = given.fit(X, y)
        fenchel.save(model, tmp_path / "model.fen")
        again = fenchel.load(tmp_path / "model.fen")
        assert np.array_equal(again.predict(X), model.predict(X))
        assert again.certificate_ == model.certificate_
        assert np.array_equal(again.landmarks_, model.landmarks_)
        assert certify(again, X, y) == certify(model, X, y)


def test_the_same_bits_for_any_threads_and_landmarks_by_seed():
    X, y, s = noisy(3000)
    fits = []
    for count in (1, 3):
        with fenchel.threads(count):
            fits.append(KernelRidge(kernel="rbf", landmarks=30).fit(X, y, s).dual_coef_)
    assert np.array_equal(*fits)
    a, b = (KernelRidge(kernel="rbf", landmarks=30, random_state=seed).fit(X, y) for seed in (1, 2))
    assert not np.array_equal(a.landmarks_, b.landmarks_)


def test_any_scale():
    X, y, s = noisy()
    plain = KernelRidge(0.1, kernel="rbf", landmarks=40).fit(X, y, s).predict(X)
    for exponent in (-150, -20, 20, 150):
        scale = 10.0**exponent
        large = KernelRidge(0.1, kernel="rbf", landmarks=40).fit(X, y * scale, s)
        assert np.allclose(large.predict(X) / scale, plain, atol=1e-7) and large.converged_
        times = kernels.Gaussian(0.25) * scale  # the penalty along with the kernel
        same = KernelRidge(0.1 * scale, kernel=times, landmarks=40).fit(X, y, s)
        assert np.allclose(same.predict(X), plain, atol=1e-6) and same.converged_


def test_bad_input():
    X, y, _ = noisy(40)
    fit = KernelRidge(kernel="rbf").set_params
    with pytest.raises(ValueError, match="landmarks=41 must lie between 1 and"):
        fit(landmarks=41).fit(X, y)
    with pytest.raises(ValueError, match="names row 40 of a table with 40 rows"):
        fit(landmarks=[0, 40]).fit(X, y)
    with pytest.raises(ValueError, match="names row 3 twice"):
        fit(landmarks=[3, 1, 3]).fit(X, y)
    with pytest.raises(ValueError, match="a vector of row numbers"):
        fit(landmarks=[0.5]).fit(X, y)
    with pytest.raises(ValueError, match="give alpha > 0"):
        fit(landmarks=5, alpha=0.0).fit(X, y)
    with pytest.raises(ValueError, match="not positive semi-definite"):
        KernelRidge(kernel="sigmoid", landmarks=5).fit(X, y)
    with pytest.raises(ValueError, match="is 0 at every landmark"):
        KernelRidge(landmarks=5).fit(0.0 * X, y)
    with pytest.raises(ValueError, match="matrix of these is not"):
        KernelRidge(kernel=lambda a, b: -float(a @ b), landmarks=5).fit(X, y)


def test_memory_that_is_not_there(monkeypatch):
    X, y, _ = noisy(100)
    monkeypatch.setattr("fenchel.models.kernel.landmark_rows.free_memory", lambda: 1e4)
    with pytest.raises(MemoryError, match=r"50 landmarks need .* GiB .* give fewer landmarks"):
        KernelRidge(kernel="rbf", landmarks=50).fit(X, y)


def test_more_rows_than_the_whole_proof_takes(monkeypatch):
    X, y, _ = noisy(100)
    model = KernelRidge(kernel="rbf", landmarks=10).fit(X, y)
    monkeypatch.setattr("fenchel.models.kernel.ridge_landmarks.MOST_ROWS", 99)
    with pytest.raises(ValueError, match="takes 100 x 100 kernel values"):
        certify(model, X, y)


def test_a_penalty_that_rounding_outweighs_is_said():
    X, y, _ = noisy(300, d=1)
    with pytest.warns(NotCertified, match="raise alpha"):
        model = KernelRidge(1e-13, kernel="rbf", gamma=0.2, landmarks=100).fit(X, y)
    assert not model.converged_
