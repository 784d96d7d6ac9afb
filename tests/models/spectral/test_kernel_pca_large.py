"""KernelPCA of many rows: single precision that searches, landmarks, and bounds that hold."""

from __future__ import annotations

import numpy as np
import oracles.spectral as naive
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles.manifold import up_to_signs
from scipy.sparse import csr_array

import fenchel
from fenchel import KernelPCA, kernels, threads
from fenchel.models.spectral.centred import gram as mixed
from fenchel.models.spectral.centred.strips import SymmetricStrips

LONG = np.longdouble


def blobs(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 2.0 * rng.normal(size=(6, d))[rng.integers(0, 6, n)]


@pytest.fixture
def small_is_large(monkeypatch):
    """The route of many rows from 200 on."""
    monkeypatch.setattr(mixed, "HELD", 199)
    monkeypatch.setattr(mixed, "SAMPLE", 60)


def true_residuals(X, gamma, s, values, U):
    """|Au - λu| for the Gaussian kernel of the rows as they are, in extended precision."""
    X = X.astype(LONG)
    squares = sum((X[:, [j]] - X[:, j]) ** 2 for j in range(X.shape[1]))
    s = np.ones(len(X), LONG) if s is None else s.astype(LONG)
    J = np.eye(len(X), dtype=LONG) - np.outer(np.ones(len(X)), s / s.sum())
    A = np.sqrt(np.outer(s, s)) * (J @ np.exp(-LONG(gamma) * squares) @ J.T)
    R = A @ U.astype(LONG) - U.astype(LONG) * values.astype(LONG)
    return np.sqrt((R * R).sum(axis=0))


CLOUDS = {
    "plain": (lambda X: X, 0.05),
    "far": (lambda X: X + 1e8, 0.05),
    "small": (lambda X: X * 1e-120, 0.05e240),
    "large": (lambda X: X * 1e120, 0.05e-240),
    "single": (lambda X: X.astype(np.float32), 0.05),
    "wide": (lambda X: X, 1e-9),
    "very wide": (lambda X: X, 1e-14),
    "narrow": (lambda X: X, 5.0),
    "copies": (lambda X: np.repeat(X[:35], 6, axis=0), 0.05),
    "one far row": (lambda X: np.vstack([X[:-1], 1e6 * np.ones(X.shape[1])]), 0.05),
}


@pytest.mark.filterwarnings("ignore:Gaussian")
@pytest.mark.filterwarnings("ignore:n_components")
@pytest.mark.filterwarnings("ignore::fenchel.NotCertified")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("d", [3, 20])
@pytest.mark.parametrize("cloud", CLOUDS)
def test_residuals_bound_those_of_the_kernel_itself(cloud, d, weighted, small_is_large):
    make, gamma = CLOUDS[cloud]
    X = make(blobs(210, d))
    s = 10.0 ** (np.arange(210) % 13 - 6.0) if weighted else None
    model = KernelPCA(4, kernel=kernels.Gaussian(gamma), max_iter=20).fit(X, sample_weight=s)
    off = true_residuals(X, gamma, s, model.eigenvalues_, model.eigenvectors_)
    known = model.eigenvalues_ > 0.0
    assert (off[known] <= model.residuals_[known]).all()
    largest = float(model.eigenvalues_[0])
    if model.converged_ and largest > 0.0:
        assert off[known].max(initial=0.0) <= 1e-6 * 1.001 * largest


@pytest.mark.parametrize("shape", [(300, 5), (30, 90), (700, 300)])
@pytest.mark.parametrize("shift", [0.0, 1e8])
def test_the_linear_kernel_keeps_its_digits_far_away(shape, shift):
    X = np.round(blobs(*shape), 4) + shift
    s = 1.0 + np.arange(shape[0]) % 3
    model = KernelPCA(4).fit(X, sample_weight=s)
    exact = (X - LONG(shift)).astype(LONG)
    p = s.astype(LONG) / s.sum()
    R = np.sqrt(s.astype(LONG))[:, None] * (exact - p @ exact)
    U = model.eigenvectors_.astype(LONG)
    off = R @ (R.T @ U) - U * model.eigenvalues_.astype(LONG)
    assert (np.sqrt((off * off).sum(axis=0)) <= model.residuals_).all()
    assert model.certificate_.closed(1e-9)
    plain = fenchel.PCA(4).fit(X, sample_weight=s)
    assert up_to_signs(model.embedding_, plain.transform(X)) < 1e-6
    assert_allclose(model.transform(X), model.embedding_, atol=1e-8)
    every = KernelPCA().fit(X, sample_weight=s)
    assert every.embedding_.shape[1] == min(shape[0] - 1, shape[1])
    assert fenchel.certify(model, X, sample_weight=s).closed(1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear", "laplacian", "cosine"])
def test_many_rows_are_the_definition(kernel, small_is_large):
    X = blobs(260, 5)
    s = 1.0 + np.arange(260) % 2
    with_gamma = kernel in ("rbf", "poly", "laplacian")
    model = KernelPCA(3, kernel=kernel, gamma=0.05 if with_gamma else None).fit(X, sample_weight=s)
    K = model.memory_.kernel.tile(X, X)
    values, U = naive.kernel_components(K, s)
    assert_allclose(model.eigenvalues_, values[:3], rtol=1e-9)
    assert up_to_signs(model.eigenvectors_, U[:, :3]) < 1e-5
    assert_allclose(model.transform(X), model.embedding_, atol=1e-5)
    assert fenchel.certify(model, X, sample_weight=s).closed(1e-6)
    sharp = KernelPCA(3, kernel=kernel, gamma=0.05 if with_gamma else None, tol=1e-11)
    sharp.fit(csr_array(X), sample_weight=s)
    assert sharp.certificate_.closed(1e-10)
    assert up_to_signs(sharp.eigenvectors_, U[:, :3]) < 1e-8


def test_the_start_and_the_bits_of_many_rows():
    """More rows than are held in float64, with Nyström's start."""
    X = blobs(4300, 4)
    found = []
    for count in (1, 2):
        with threads(count):
            found.append(KernelPCA(3, kernel="rbf", gamma=0.05).fit(X).embedding_)
    assert_array_equal(found[0], found[1])
    model = KernelPCA(3, kernel="rbf", gamma=0.05).fit(X)
    assert_allclose(model.transform(X[:50]), model.embedding_[:50], atol=1e-5)
    float_64 = KernelPCA(3, kernel="rbf", gamma=0.05, eigen_solver="randomized").fit(X)
    assert_allclose(model.eigenvalues_, float_64.eigenvalues_, rtol=1e-9)


def test_values_that_single_precision_does_not_hold(small_is_large):
    X = blobs(300, 3) * 1e4
    model = KernelPCA(2, kernel="poly", degree=9, gamma=1.0, tol=1e-9).fit(X)
    K = kernels.Polynomial(9, 1.0, 1.0).tile(X, X)
    values, _ = naive.kernel_components(K / K.max())
    assert_allclose(model.eigenvalues_ / K.max(), values[:2], rtol=1e-9)


def test_memory_that_is_not_there(monkeypatch):
    from fenchel.models.spectral.centred import operators

    X = blobs(300, 3)
    for module in (operators, mixed):
        monkeypatch.setattr(module, "free_memory", lambda: 1e5)
    with pytest.raises(MemoryError, match=r"300 x 300 kernel matrix needs 0\.0 GiB .* landmarks"):
        KernelPCA(2, kernel="rbf").fit(X)
    with pytest.raises(MemoryError, match="lower landmarks"):
        KernelPCA(2, kernel="rbf", landmarks=200).fit(X)
    monkeypatch.setattr(mixed, "HELD", 199)
    by_tiles = KernelPCA(2, kernel="laplacian", tol=1e-9).fit(X)
    values, _ = naive.kernel_components(kernels.Laplacian(1.0 / 3.0).tile(X, X))
    assert_allclose(by_tiles.eigenvalues_, values[:2], rtol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("m", [10, 40, 150])
def test_landmarks_leave_no_more_than_they_say(m, weighted):
    X = blobs(300, 4)
    s = (np.arange(300) % 4).astype(float) if weighted else None
    asked = {"kernel": "rbf", "gamma": 0.05}
    model = KernelPCA(4, landmarks=m, **asked).fit(X, sample_weight=s)
    K = kernels.Gaussian(0.05).tile(X, X)
    values, _ = naive.kernel_components(K, s)
    left = values[:4] - model.eigenvalues_
    assert (left >= -1e-9).all() and (left <= model.nystroem_error_).all()
    weight = np.ones(300) if s is None else s
    Z = X[model.landmarks_]
    approximated = K[:, model.landmarks_] @ np.linalg.solve(
        kernels.Gaussian(0.05).tile(Z, Z) + 1e-12 * np.eye(len(Z)), K[model.landmarks_]
    )
    trace = weight @ (1.0 - np.diagonal(approximated))
    assert_allclose(model.nystroem_error_, trace, rtol=1e-3, atol=1e-5)
    own, U = naive.kernel_components(approximated, s)
    assert_allclose(model.eigenvalues_, own[:4], rtol=1e-6)
    assert up_to_signs(model.eigenvectors_, U[:, :4]) < 1e-4
    assert_allclose(model.transform(X), model.embedding_, atol=1e-10)
    assert model.X_fit_.shape == (m, 4) and model.converged_
    charged = model.certificate_.residual
    assert charged >= model.nystroem_error_ / values[0]
    proved = fenchel.certify(model, X, sample_weight=s)
    assert proved.residual <= charged and proved.kind == "eigen"
    if s is not None:
        assert (s[model.landmarks_] > 0.0).all()


def test_landmarks_that_span_all_rows_leave_nothing():
    X = blobs(40, 3)
    plain = KernelPCA(4, kernel="rbf", gamma=0.2).fit(X)
    model = KernelPCA(4, kernel="rbf", gamma=0.2, landmarks=40).fit(np.repeat(X, 2, axis=0))
    assert_allclose(model.eigenvalues_, 2.0 * plain.eigenvalues_, rtol=1e-9)
    assert model.nystroem_error_ < 1e-4
    line = KernelPCA(kernel="linear", landmarks=20).fit(X)  # three rows explain all
    assert len(line.landmarks_) == 3 and line.embedding_.shape == (40, 3)
    assert up_to_signs(line.embedding_, KernelPCA(3).fit(X).embedding_) < 1e-9


@pytest.mark.filterwarnings("ignore:n_components=2 columns are asked")
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_landmarks_of_rows_without_extent(kernel):
    for X in (np.zeros((9, 2)), np.ones((9, 2))):
        model = KernelPCA(kernel=kernel, landmarks=4).fit(X)
        assert model.embedding_.shape == (9, 0) and model.transform(X).shape == (9, 0)
        two = KernelPCA(2, kernel=kernel, landmarks=4).fit(X)
        assert_array_equal(two.embedding_, np.zeros((9, 2)))
        assert_array_equal(two.transform(X + 1.0), np.zeros((9, 2)))
    line = np.outer(np.arange(9.0), [1.0, 2.0])
    two = KernelPCA(2, landmarks=4).fit(line)
    assert_array_equal(two.embedding_[:, 1], 0.0)
    assert_allclose(two.transform(line), two.embedding_, atol=1e-12)


def test_landmarks_by_seed_and_of_given_kernels():
    X = blobs(300, 4)
    asked = {"kernel": "rbf", "gamma": 0.05, "landmarks": 20}
    one, other = KernelPCA(2, **asked).fit(X), KernelPCA(2, random_state=3, **asked).fit(X)
    assert_array_equal(one.landmarks_, KernelPCA(2, **asked).fit(X).landmarks_)
    assert not np.array_equal(one.landmarks_, other.landmarks_)
    order = np.random.default_rng(0).permutation(300)
    moved = KernelPCA(2, **asked).fit(X[order])
    assert_array_equal(np.sort(order[moved.landmarks_]), one.landmarks_)
    K = kernels.Gaussian(0.05).tile(X, X)
    by_values = KernelPCA(2, kernel="precomputed", landmarks=20).fit(K)
    assert_allclose(by_values.transform(K), by_values.embedding_, atol=1e-10)
    assert by_values.nystroem_error_ < 0.3 * 300
    many = KernelPCA(2, **asked).fit(blobs(1000, 4))  # drawn among some of the rows
    assert len(many.landmarks_) == 20 and many.embedding_.shape == (1000, 2)


def test_landmarks_that_cannot_be_had():
    X = blobs(50, 3)
    with pytest.raises(ValueError, match="landmarks=60 must lie between n_components=2 and the"):
        KernelPCA(2, landmarks=60).fit(X)
    with pytest.raises(ValueError, match="landmarks=2 must lie between n_components=3"):
        KernelPCA(3, landmarks=2).fit(X)
    with pytest.raises(ValueError, match="semi-definite, by its formula, and landmarks"):
        KernelPCA(2, kernel="sigmoid", landmarks=10).fit(X)
    squares = ((X[:, None] - X) ** 2).sum(axis=-1)
    with pytest.raises(ValueError, match="semi-definite, for it has the eigenvalue -"):
        KernelPCA(2, kernel="precomputed", landmarks=10).fit(squares)
    with pytest.raises(ValueError, match=r"explain more than k\(x, x\) of a row"):
        KernelPCA(2, kernel=minus_distance, landmarks=10).fit(X)


def minus_distance(a, b):
    return 4.0 - float(np.square(a - b).sum())


@pytest.mark.parametrize("n", [5, 256, 515, 1203])
@pytest.mark.parametrize("width", [1, 15, 16, 33])
def test_strips_are_the_matrix(n, width):
    """Products with half of a symmetric matrix, the same bits for any number of threads."""
    rng = np.random.default_rng(n)
    A = rng.standard_normal((n, n)).astype(np.float32)
    A += A.T
    V = rng.standard_normal((n, width))

    def rows(lo, hi, out):
        out[: hi - lo, :hi] = A[lo:hi, :hi]

    found = []
    for count in (1, 4):
        with threads(count):
            half = SymmetricStrips.filled(n, rows)
            found.append(half @ V)
    assert half.shape == (n, n) and half.largest == np.diagonal(A).max()
    assert sum(strip.size for strip in half.strips) < n * n / 2 + 140 * n + 64
    assert_allclose(found[0], A.astype(float) @ V, atol=2e-5 * np.sqrt(n))
    assert_array_equal(found[0], found[1])


@pytest.mark.parametrize("gamma", [0.005, 0.02])
def test_one_product_in_double_states_the_pairs(gamma, monkeypatch):
    """What single precision cannot know of K is left to the tolerance: no step in double is due."""
    made = []
    own = mixed.symmetric_product

    def counted(*args):
        made.append(args)
        return own(*args)

    monkeypatch.setattr(mixed, "symmetric_product", counted)
    model = KernelPCA(10, kernel="rbf", gamma=gamma).fit(blobs(4100, 20))
    assert len(made) == 1 and model.converged_
    assert model.certificate_.closed(3e-7)
