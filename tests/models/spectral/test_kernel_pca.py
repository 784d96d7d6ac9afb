"""KernelPCA: the definition, the erratum, scikit-learn, weights, given kernels, pre-images."""

from __future__ import annotations

import numpy as np
import oracles.spectral as naive
import pandas as pd
import pytest
import sklearn.decomposition
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles.manifold import up_to_signs
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator

import fenchel
from fenchel import KernelPCA, kernels, threads

KERNELS = {
    "linear": kernels.Linear(),
    "poly": kernels.Polynomial(2, 0.5, 1.0),
    "rbf": kernels.Gaussian(0.3),
    "laplacian": kernels.Laplacian(0.2),
    "cosine": kernels.Cosine(),
    "sum": kernels.Gaussian(0.5) + 0.1 * kernels.Polynomial(3),
}


def rows(n=60, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * np.linspace(1.5, 0.8, d) + 0.5


def half_exponential(a, b, rate):
    return float(np.exp(-rate * np.abs(a - b).sum()))


@pytest.mark.parametrize("scaling", ["projection", "sphered"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", KERNELS)
def test_is_the_definition(name, weighted, scaling):
    X, new, kernel = rows(), rows(9, seed=1), KERNELS[name]
    s = 1.0 + np.arange(60) % 3 if weighted else None
    K, K_new = kernel.tile(X, X), kernel.tile(new, X)
    sphered = scaling == "sphered"
    model = KernelPCA(3, kernel=kernel, scaling=scaling).fit(X, sample_weight=s)
    values, U = naive.kernel_components(K, s)
    assert_allclose(model.eigenvalues_, values[:3], rtol=1e-9)
    assert up_to_signs(model.eigenvectors_, U[:, :3]) < 1e-7
    assert up_to_signs(model.embedding_, naive.kernel_coordinates(K, K, 3, s, sphered)) < 1e-7
    assert_allclose(model.transform(X), model.embedding_, atol=1e-10)
    expected = naive.kernel_coordinates(K, K_new, 3, s, sphered)
    assert up_to_signs(model.transform(new), expected) < 1e-7
    weight = np.ones(60) if s is None else s
    lengths = weight @ model.embedding_**2
    assert_allclose(lengths, np.ones(3) if sphered else values[:3], rtol=1e-8)
    assert model.certificate_.kind == "eigen" and model.certificate_.closed(1e-9)
    assert fenchel.certify(model, X, sample_weight=s).closed(1e-9) and model.converged_
    assert_allclose(model.certificate_.value, -values[:3].sum())


def test_unit_directions_have_the_factor_of_the_projection():
    """With explicit features the projection on v = Σ uᵢ x̃ᵢ / √λ, |v| = 1, is what comes out."""
    X = rows()
    centred = X - X.mean(axis=0)
    model = KernelPCA(2).fit(X)
    u, value = model.eigenvectors_[:, 0], model.eigenvalues_[0]
    v = centred.T @ u / np.sqrt(value)
    assert_allclose(np.linalg.norm(v), 1.0)
    assert_allclose(model.embedding_[:, 0], centred @ v, atol=1e-12)
    longer = centred.T @ u / value  # the factor 1/λ: the sphered coordinate
    sphered = KernelPCA(2, scaling="sphered").fit(X)
    assert_allclose(sphered.embedding_[:, 0], centred @ longer, atol=1e-12)
    whitened = fenchel.PCA(2, whiten=True).fit_transform(X)
    assert up_to_signs(sphered.embedding_ * np.sqrt(59.0), whitened) < 1e-10


@pytest.mark.parametrize("k", [None, 4])
@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "cosine", "function", "precomputed"])
def test_agrees_with_scikit_learn(name, k):
    X, new = rows(), rows(9, seed=1)
    more = {"kernel": name, "gamma": None if name == "linear" else 0.3}
    if name == "function":
        more = {"kernel": half_exponential, "kernel_params": {"rate": 0.3}}
    if name == "precomputed":
        X, new, more = X @ X.T, new @ X.T, {"kernel": name}
    learn = name != "precomputed"
    ours = KernelPCA(k, fit_inverse_transform=learn, alpha=0.1, **more)
    theirs = sklearn.decomposition.KernelPCA(k, fit_inverse_transform=learn, alpha=0.1, **more)
    if name in ("linear", "cosine", "precomputed") and k == 4:
        ours.set_params(remove_zero_eig=True)
        theirs.set_params(remove_zero_eig=True)
    Z, expected = ours.fit_transform(X), theirs.fit_transform(X)
    assert ours.eigenvalues_.shape == theirs.eigenvalues_.shape
    assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-9, atol=1e-9)
    assert ours.gamma_ == theirs.gamma_
    assert up_to_signs(Z, expected) < 1e-6
    assert up_to_signs(ours.transform(new), theirs.transform(new)) < 1e-6
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    if learn:
        back = ours.inverse_transform(ours.transform(new))
        assert_allclose(back, theirs.inverse_transform(theirs.transform(new)), atol=1e-7)
        assert ours.dual_coef_.shape == theirs.dual_coef_.shape
        assert ours.X_transformed_fit_.shape == theirs.X_transformed_fit_.shape
        assert_array_equal(ours.X_fit_, X)


@settings(max_examples=20)
@given(
    n=st.integers(5, 30),
    scale=st.sampled_from([1.0, 1e-100, 1e100, 1e8]),
    name=st.sampled_from(["linear", "rbf", "precomputed"]),
    sphered=st.booleans(),
    seed=st.integers(0, 99),
)
def test_whole_weights_are_repeated_rows_at_any_scale(n, scale, name, sphered, seed):
    rng = np.random.default_rng(seed)
    X, s = rng.normal(size=(n, 4)), rng.integers(0, 4, n)
    s[:3] = 1
    gamma = 0.3 / scale / scale if name == "rbf" else None
    scaling = "sphered" if sphered else "projection"
    seen, again = X * scale, np.repeat(X, s, axis=0) * scale
    if name == "precomputed":
        seen, again = seen @ seen.T, again @ again.T
    model = KernelPCA(2, kernel=name, gamma=gamma, scaling=scaling)
    Z = model.fit(seen, sample_weight=s).embedding_
    repeated = KernelPCA(2, kernel=name, gamma=gamma, scaling=scaling).fit(again)
    assert_allclose(model.eigenvalues_, repeated.eigenvalues_, rtol=1e-8)
    unit = 1.0 if sphered or name == "rbf" else scale
    assert up_to_signs(np.repeat(Z, s, axis=0) / unit, repeated.embedding_ / unit) < 1e-5
    assert_allclose(model.transform(seen) / unit, Z / unit, atol=1e-9)
    assert model.certificate_.closed(1e-9)
    assert fenchel.certify(model, seen, sample_weight=s).closed(1e-9)
    assert model.eigenvectors_.shape == (n, 2) and not model.eigenvectors_[s == 0].any()


def test_columns_beyond_the_rank_are_zero_and_said():
    X = rows()
    with pytest.warns(UserWarning, match="n_components=5 columns .* has rank 3: the others are"):
        model = KernelPCA(5).fit(X)
    assert_array_equal(model.embedding_[:, 3:], 0.0)
    assert_array_equal(model.transform(X)[:, 3:], 0.0)
    assert_array_equal(model.eigenvalues_[3:], 0.0)
    assert model.eigenvectors_.shape == (60, 5)
    assert KernelPCA(5, remove_zero_eig=True).fit(X).embedding_.shape == (60, 3)
    assert KernelPCA().fit(X).transform(X[:2]).shape == (2, 3)
    assert KernelPCA().fit(np.ones((6, 2))).embedding_.shape == (6, 0)
    with pytest.warns(UserWarning, match="n_components=9 columns"):
        assert KernelPCA(9, kernel="rbf").fit(X[:6]).embedding_.shape == (6, 6)
    with pytest.raises(ValueError, match="at least 2 rows with weight, got n_samples=1"):
        KernelPCA().fit(X[:1])


@pytest.mark.parametrize("kernel", ["sigmoid", "precomputed", "function"])
def test_negative_directions_are_left_out_and_said(kernel):
    X = rows()
    K = np.tanh(0.3 * X @ X.T + 1.0)
    values, _ = naive.kernel_components(K)
    assert values[-1] < -0.1
    seen = K if kernel == "precomputed" else X
    with pytest.warns(UserWarning, match=f"smallest eigenvalue of its centred .* {values[-1]:.3g}"):
        of = (lambda a, b: np.tanh(0.3 * a @ b + 1.0)) if kernel == "function" else kernel
        model = KernelPCA(kernel=of, gamma=0.3).fit(seen)
    assert_allclose(model.smallest_eigenvalue_, values[-1], rtol=1e-6)
    assert (model.eigenvalues_ > 0.0).all() and len(model.eigenvalues_) == (values > 1e-9).sum()
    assert_allclose(model.transform(seen), model.embedding_, atol=1e-6)


def test_a_kernel_that_is_semi_definite_once_centred_needs_no_warning():
    X = rows()
    squares = ((X[:, None] - X) ** 2).sum(axis=-1)
    model = KernelPCA(2, kernel="precomputed").fit(-0.5 * squares)
    assert up_to_signs(model.embedding_, fenchel.ClassicalMDS(2).fit(X).embedding_) < 1e-10
    assert model.smallest_eigenvalue_ > -1e-9


def test_faults_of_given_kernels_are_named():
    K = rows() @ rows().T
    wrong = K.copy()
    wrong[4, 7] += 1.0
    with pytest.raises(ValueError, match=r"row 4, column 7, .* is not that of column and row ex"):
        KernelPCA(kernel="precomputed").fit(wrong)
    with pytest.raises(ValueError, match=r"must be square\. Input is a 5x60"):
        KernelPCA(kernel="precomputed").fit(K[:5])
    with pytest.raises(ValueError, match="X has 59 features, but KernelPCA is expecting 60"):
        KernelPCA(2, kernel="precomputed").fit(K).transform(K[:, :59])
    with pytest.raises(ValueError, match="Cannot fit_inverse_transform"):
        KernelPCA(kernel="precomputed", fit_inverse_transform=True).fit(K)
    with pytest.warns(UserWarning, match="too narrow for these rows"):
        KernelPCA(2, kernel="rbf", gamma=1e6).fit(rows())


def circle(n=200, noise=0.02, seed=0):
    rng = np.random.default_rng(seed)
    t = rng.uniform(0.0, 2.0 * np.pi, n)
    return np.c_[np.cos(t), np.sin(t)] + noise * rng.normal(size=(n, 2))


@pytest.mark.parametrize("landmarks", [None, 40])
@pytest.mark.parametrize("scaling", ["projection", "sphered"])
def test_fixed_points_are_nearer_to_what_is_asked_than_the_ridge(scaling, landmarks):
    X, noisy = circle(), circle(50, 0.3, seed=1)
    asked = {"kernel": "rbf", "gamma": 1.0, "fit_inverse_transform": True, "alpha": 0.1}
    asked |= {"scaling": scaling, "landmarks": landmarks}
    ridge = KernelPCA(6, **asked).fit(X)
    fixed = KernelPCA(6, pre_image="fixed_point", **asked).fit(X)
    Z = fixed.transform(noisy)
    found = [model.inverse_transform(Z) for model in (ridge, fixed)]
    # g(z) = ⟨κ(z), Ψ⟩ by the coordinates of z: Ψ = mean + Σ zⱼvⱼ.
    unit = np.sqrt(fixed.eigenvalues_) if scaling == "sphered" else 1.0
    K = kernels.Gaussian(1.0).tile
    centre = K(X, X).mean(axis=0)
    if landmarks is None:

        def g(points):
            own = (fixed.transform(points) * unit * Z * unit).sum(axis=1)
            # ⟨κ(z), mean⟩ + Σ zⱼ (⟨κ̃(z), vⱼ⟩ + ⟨mean, vⱼ⟩)
            V = fixed.eigenvectors_ / np.sqrt(fixed.eigenvalues_)
            along = (centre - centre.mean()) @ V
            return K(points, X).mean(axis=1) + own + (Z * unit) @ along

        assert (g(found[1]) >= g(found[0]) - 1e-12).all()
    radius = [np.abs(np.linalg.norm(points, axis=1) - 1.0) for points in found]
    assert radius[1].mean() < 0.05 < np.abs(np.linalg.norm(noisy, axis=1) - 1.0).mean()
    assert radius[1].mean() < radius[0].mean()


def test_pre_images_of_the_linear_kernel_are_the_rows():
    X = rows() + 7.0
    s = np.arange(60) % 3
    for scaling in ("projection", "sphered"):
        model = KernelPCA(fit_inverse_transform=True, pre_image="fixed_point", scaling=scaling).fit(
            X, sample_weight=s
        )
        assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-10)
    two = KernelPCA(2, fit_inverse_transform=True, pre_image="fixed_point").fit(X)
    plain = fenchel.PCA(2).fit(X)
    expected = plain.inverse_transform(plain.transform(X))
    assert_allclose(two.inverse_transform(two.transform(X)), expected, atol=1e-10)


def test_pre_images_that_cannot_be_given():
    X = rows()
    with pytest.raises(NotFittedError, match="fit_inverse_transform parameter was not"):
        KernelPCA(2).fit(X).inverse_transform(X)
    with pytest.raises(ValueError, match="is for Gaussian and linear kernels"):
        KernelPCA(2, kernel="poly", fit_inverse_transform=True, pre_image="fixed_point").fit(X)
    with pytest.raises(ValueError, match="X has 3 columns, and the map has 2"):
        KernelPCA(2, fit_inverse_transform=True).fit(X).inverse_transform(X)


@pytest.mark.torch
def test_same_map_in_every_home(tmp_path):
    X = np.round(rows(), 3)
    asked = {"kernel": "rbf", "gamma": 0.3, "fit_inverse_transform": True}
    plain = KernelPCA(2, **asked).fit(X)
    np.save(tmp_path / "t.npy", X)
    torch = pytest.importorskip("torch")
    da = pytest.importorskip("dask.array")
    frame = pd.DataFrame(X, columns=list("abc"))
    homes = [csr_array(X), frame, fenchel.scan(tmp_path / "t.npy"), torch.from_numpy(X)]
    for home in [*homes, da.from_array(X, chunks=(20, 3))]:
        for landmarks in (None, 20):
            model = KernelPCA(2, landmarks=landmarks, **asked).fit(home)
            other = plain if landmarks is None else KernelPCA(2, landmarks=20, **asked).fit(X)
            assert_allclose(np.asarray(model.embedding_), other.embedding_, atol=1e-9)
            assert_allclose(np.asarray(model.transform(home)), other.embedding_, atol=1e-9)
            back = model.inverse_transform(np.asarray(model.embedding_))
            assert_allclose(back, other.inverse_transform(other.embedding_), atol=1e-8)
    single = KernelPCA(2, **asked).fit(X.astype(np.float32))
    assert single.embedding_.dtype == single.transform(X.astype(np.float32)).dtype == np.float32
    assert single.inverse_transform(single.embedding_).dtype == np.float32
    assert_allclose(single.embedding_, plain.embedding_, atol=1e-5)
    frame = plain.set_output(transform="pandas").transform(X)
    assert frame.columns.tolist() == ["kernelpca0", "kernelpca1"]


def test_a_model_file_keeps_kernels(tmp_path):
    X, new = rows(), rows(9, seed=1)
    settings_of = [
        {"kernel": KERNELS["sum"], "fit_inverse_transform": True},
        {"kernel": "laplacian", "landmarks": 20, "scaling": "sphered"},
        {"kernel": "rbf"},
    ]
    for asked in settings_of:
        for seen in (X, csr_array(X)):
            model = KernelPCA(2, **asked).fit(seen, sample_weight=np.arange(60) % 3)
            fenchel.save(model, tmp_path / "m.fen")
            loaded = fenchel.load(tmp_path / "m.fen")
            assert_allclose(loaded.transform(new), model.transform(new), atol=1e-12)
            if "fit_inverse_transform" in asked:
                Z = model.embedding_[:5]
                assert_allclose(loaded.inverse_transform(Z), model.inverse_transform(Z))
    given_kernel = KernelPCA(2, kernel="precomputed").fit(X @ X.T)
    fenchel.save(given_kernel, tmp_path / "m.fen")
    loaded = fenchel.load(tmp_path / "m.fen")
    assert_array_equal(loaded.transform(new @ X.T), given_kernel.transform(new @ X.T))


def test_same_bits_for_any_number_of_threads_and_inputs_unchanged():
    X = rows(700)
    kept = X.copy()
    found = []
    for count in (1, 2):
        with threads(count):
            model = KernelPCA(2, kernel="rbf", landmarks=30).fit(X)
            found.append((model.embedding_, model.transform(X)))
    assert_array_equal(found[0][0], found[1][0])
    assert_array_equal(found[0][1], found[1][1])
    assert_array_equal(X, kept)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:kernel='precomputed' is not positive semi-definite")
@pytest.mark.filterwarnings("ignore:n_components=")
def test_common_checks_of_given_kernels():
    check_estimator(KernelPCA(kernel="precomputed"))
    check_estimator(KernelPCA(2, kernel="precomputed", scaling="sphered"))
