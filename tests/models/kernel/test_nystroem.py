"""Nyström's features as a transformer: scikit-learn's numbers, the rank, every home of data."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.kernel_approximation import Nystroem as Theirs

import fenchel
from fenchel import Nystroem, kernels


def rows(n=300, d=4):
    return np.random.default_rng(0).standard_normal((n, d))


SETTINGS = [
    {},
    {"gamma": 0.3},
    {"kernel": "poly", "degree": 2, "coef0": 0.5},
    {"kernel": "poly"},
    {"kernel": "laplacian"},
    {"kernel": "cosine"},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_features_of_scikit_learn(settings):
    X = rows()
    m = 4 if settings.get("kernel") == "cosine" else 30
    if settings.get("degree") == 2:
        m = 15  # the rank of the polynomial kernel, beyond which theirs keeps what rounding made
    ours = Nystroem(n_components=m, random_state=3, **settings).fit(X)
    theirs = Theirs(n_components=m, random_state=3, **settings).fit(X)
    assert np.array_equal(ours.component_indices_, theirs.component_indices_)
    assert np.array_equal(ours.components_, theirs.components_)
    assert np.allclose(ours.normalization_, theirs.normalization_, atol=1e-7)
    assert np.allclose(ours.transform(X), theirs.transform(X), atol=1e-7)
    assert list(ours.get_feature_names_out()) == list(theirs.get_feature_names_out())
    assert ours.rank_ == m


def test_features_are_exact_at_landmarks_and_below_elsewhere():
    X, kernel = rows(), kernels.Gaussian(0.2) + 0.1 * kernels.Polynomial(2)
    model = Nystroem(kernel, n_components=40).fit(X)
    phi, K = model.transform(X), kernel.tile(X, X)
    some = model.component_indices_
    assert np.allclose((phi @ phi.T)[:, some], K[:, some], atol=1e-8)
    assert np.linalg.eigvalsh(K - phi @ phi.T)[0] > -1e-8


def test_the_rank_is_stated_and_copies_do_no_harm():
    X = rows()
    linear = Nystroem("linear", n_components=50).fit(X)
    phi = linear.transform(X)
    assert linear.rank_ == 4 and phi.shape == (300, 50)
    assert np.allclose(phi @ phi.T, X @ X.T, atol=1e-9)
    copied = np.repeat(X[:10], 3, axis=0)
    model = Nystroem(gamma=0.3, n_components=30).fit(copied)
    assert model.rank_ == 10
    phi = model.transform(copied)
    assert np.allclose(phi @ phi.T, kernels.Gaussian(0.3).tile(copied, copied), atol=1e-9)


def test_every_home_of_data_and_precision(tmp_path):
    X = rows()
    model = Nystroem(gamma=0.3, n_components=40, random_state=0).fit(X)
    phi = model.transform(X)
    few = X * (np.abs(X) > 0.3)
    dense = Nystroem(gamma=0.3, n_components=40, random_state=0).fit(few)
    sparse = Nystroem(gamma=0.3, n_components=40, random_state=0).fit(csr_array(few))
    assert np.allclose(sparse.transform(csr_array(few)), dense.transform(few), atol=1e-9)
    single = X.astype(np.float32)
    out = Nystroem(gamma=0.3, n_components=40, random_state=0).fit_transform(single)
    assert out.dtype == np.float32 and np.allclose(out, phi, atol=1e-5)
    np.save(tmp_path / "t.npy", X)
    table = fenchel.scan(tmp_path / "t.npy")
    scanned = Nystroem(gamma=0.3, n_components=40, random_state=0).fit(table)
    assert np.allclose(scanned.transform(table), phi, atol=1e-12)


@pytest.mark.torch
def test_tensors_and_dask():
    X = rows()
    phi = Nystroem(gamma=0.3, n_components=40, random_state=0).fit_transform(X)
    torch = pytest.importorskip("torch")
    tensor = torch.asarray(X)
    out = Nystroem(gamma=0.3, n_components=40, random_state=0).fit(tensor).transform(tensor)
    assert torch.is_tensor(out) and np.allclose(out.numpy(), phi, atol=1e-12)
    arrays = pytest.importorskip("dask.array")
    table = arrays.from_array(X, chunks=(80, 4))
    out = Nystroem(gamma=0.3, n_components=40, random_state=0).fit(table).transform(table)
    assert np.allclose(out, phi, atol=1e-12)


def test_matrices_strings_and_functions(tmp_path):
    X = rows(60)
    K = kernels.Gaussian(0.3).tile(X, X)
    plain = Nystroem(gamma=0.3, n_components=20, random_state=1).fit(X).transform(X)
    given = Nystroem("precomputed", n_components=20, random_state=1).fit(K)
    assert np.allclose(given.transform(K), plain, atol=1e-10)

    def value(a, b, width):
        return float(np.exp(-width * ((a - b) ** 2).sum()))

    by_rows = Nystroem(value, kernel_params={"width": 0.3}, n_components=20, random_state=1)
    assert np.allclose(by_rows.fit_transform(X), plain, atol=1e-10)
    words = ["".join(row) for row in np.random.default_rng(0).choice(list("ACG"), (60, 8))]
    spectrum = Nystroem(kernels.Spectrum(2), n_components=30).fit(words)
    assert spectrum.rank_ <= 9
    phi = spectrum.transform(words)
    column = np.array(words, object)[:, None]
    assert np.allclose(phi @ phi.T, kernels.Spectrum(2).tile(column, column), atol=1e-9)
    fenchel.save(spectrum, tmp_path / "map.fen")
    assert np.array_equal(fenchel.load(tmp_path / "map.fen").transform(words), phi)


def test_all_rows_are_landmarks_where_there_are_few():
    X = rows(20)
    phi = Nystroem(gamma=0.3).fit_transform(X)
    assert phi.shape == (20, 20)
    assert np.allclose(phi @ phi.T, kernels.Gaussian(0.3).tile(X, X), atol=1e-9)


def test_bad_input():
    X = rows(20)
    with pytest.raises(ValueError, match="not positive semi-definite"):
        Nystroem("sigmoid", n_components=5).fit(X)
    with pytest.raises(ValueError, match="must be a square matrix"):
        Nystroem("precomputed", n_components=5).fit(X)
    with pytest.raises(ValueError, match="gamma"):
        Nystroem(gamma=-1.0).fit(X)
