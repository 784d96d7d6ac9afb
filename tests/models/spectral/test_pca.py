"""PCA: against the definition and scikit-learn, at any scale, shape and weight of the rows."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.decomposition
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles.spectral import same_span, scatter
from scipy.sparse import csr_array
from sklearn.datasets import load_iris

import fenchel
from fenchel import PCA, threads
from fenchel.models.spectral.principal_axes import principal_axes
from fenchel.models.spectral.scatter import in_units

SOLVERS = ["full", "covariance_eigh", "arpack", "randomized"]


def rows(n=60, d=5, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, d)) * np.linspace(3.0, 1.0, d) + 2.0).astype(dtype)


@settings(max_examples=25)
@given(
    n=st.integers(2, 30),
    d=st.integers(1, 12),
    scale=st.sampled_from([1.0, 1e-150, 1e150, 1e-300, 1e-6]),
    offset=st.sampled_from([0.0, 1.0, 1e6]),
    weighted=st.booleans(),
    seed=st.integers(0, 99),
)
def test_is_the_eigen_decomposition_of_the_scatter(n, d, scale, offset, weighted, seed) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + offset
    s = rng.integers(0, 4, n).astype(float) if weighted else None
    if weighted:
        s[:2] = 1.0
    mean, S = scatter(X, s)
    model = PCA().fit(X * scale, sample_weight=s)
    k = model.n_components_
    count = n if s is None else int(s.sum())
    assert k == min(count, d)
    V = model.components_.T
    assert_allclose(V.T @ V, np.eye(k), atol=1e-12)
    values = np.linalg.eigvalsh(S)[::-1][:k]
    assert_allclose((model.singular_values_ / scale) ** 2, values, atol=1e-9 * max(values[0], 1.0))
    assert_allclose(model.mean_ / scale, mean, rtol=1e-12, atol=1e-12)
    assert_allclose(model.explained_variance_ratio_.sum(), 1.0, atol=1e-9)
    assert model.certificate_.closed(1e-9) and model.certificate_.gap >= 0.0
    assert model.converged_


@pytest.mark.parametrize("shape", [(60, 5), (5, 60), (300, 40), (40, 300)])
@pytest.mark.parametrize("n_components", [None, 3, 0.8, "mle"])
def test_agrees_with_scikit_learn(shape, n_components) -> None:
    X = rows(*shape)
    if n_components == "mle" and shape[0] < shape[1]:
        with pytest.raises(ValueError, match="at least as many rows as columns"):
            PCA("mle").fit(X)
        return
    ours, theirs = PCA(n_components).fit(X), sklearn.decomposition.PCA(n_components).fit(X)
    assert ours.n_components_ == theirs.n_components_
    for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_", "mean_"):
        assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9, atol=1e-10)
    assert_allclose(ours.noise_variance_, theirs.noise_variance_, rtol=1e-8, atol=1e-12)
    m = min(ours.n_components_, min(shape) - 1)  # the last one of wide rows has no variance
    assert_allclose(ours.components_[:m], theirs.components_[:m], atol=1e-8)
    assert_allclose(ours.transform(X)[:, :m], theirs.transform(X)[:, :m], atol=1e-8)
    if ours.noise_variance_ > 1e-9:
        assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-7)
        assert_allclose(ours.get_covariance(), theirs.get_covariance(), atol=1e-8)
    if shape[0] > shape[1] or ours.noise_variance_ > 1e-9:
        assert_allclose(ours.get_precision(), theirs.get_precision(), atol=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_finds_the_same_axes(solver) -> None:
    sparse = np.maximum(rows(150, 40) - 3.0, 0.0)
    for dense in (rows(200, 30), rows(30, 200), sparse):
        X = csr_array(dense) if dense is sparse else dense
        first = PCA(3, svd_solver="full").fit(dense)
        other = PCA(3, svd_solver=solver).fit(X)
        assert_allclose(other.explained_variance_, first.explained_variance_, rtol=1e-8)
        assert same_span(other.components_.T, first.components_.T) < 1e-6
        assert_allclose(other.noise_variance_, first.noise_variance_, rtol=1e-7)
        assert_allclose(other.transform(X), first.transform(dense), atol=1e-5)


@pytest.mark.parametrize("route", ["full", "covariance", "gram", "products"])
def test_routes_agree_on_weighted_rows(route) -> None:
    X, s = rows(40, 12), np.random.default_rng(1).random(40)
    blocks = fenchel.as_blocks(X, None, s)
    found = principal_axes(blocks, 4, route)
    mean, S = scatter(X, s)
    values, V = np.linalg.eigh(S)
    assert_allclose(found.values[:4], values[::-1][:4], rtol=1e-9)
    assert same_span(found.vectors, V[:, ::-1][:, :4]) < 1e-7
    assert_allclose(found.mean, mean, rtol=1e-12)
    assert_allclose(found.total, np.trace(S), rtol=1e-12)


@pytest.mark.parametrize("solver", ["auto", "covariance_eigh"])
def test_offset_of_a_hundred_million_keeps_the_digits_there_are(solver) -> None:
    X = np.random.default_rng(0).normal(size=(500, 4)) * [4.0, 2.0, 1.0, 0.5]
    plain, moved = PCA(svd_solver=solver).fit(X), PCA(svd_solver=solver).fit(X + 1e8)
    assert_allclose(moved.explained_variance_, plain.explained_variance_, rtol=1e-6)
    assert_allclose(moved.transform(X + 1e8), plain.transform(X), atol=1e-5)


def test_denormals_constants_and_duplicates() -> None:
    X = rows(30, 3)
    tiny = PCA(2).fit(X * 1e-310)
    assert_allclose(tiny.components_, PCA(2).fit(X).components_, atol=1e-9)
    assert_allclose(tiny.explained_variance_ratio_, PCA(2).fit(X).explained_variance_ratio_)
    flat = PCA().fit(np.full((10, 3), 7.0))
    assert_array_equal(flat.explained_variance_ratio_, np.zeros(3))
    assert_array_equal(flat.components_, np.eye(3))
    assert np.isfinite(flat.transform(np.full((2, 3), 7.0))).all()
    assert_array_equal(PCA(whiten=True).fit(np.full((10, 3), 7.0)).transform(np.eye(3)), 0.0)
    doubled = PCA(2).fit(np.column_stack([X[:, 0], X[:, 0]]))
    assert doubled.explained_variance_[1] == 0.0
    assert_allclose(np.abs(doubled.components_), np.sqrt(0.5))


def test_signs_and_null_space_do_not_depend_on_the_route_or_the_order_of_rows() -> None:
    X = rows(12, 20)
    first, other = PCA().fit(X), PCA(svd_solver="covariance_eigh").fit(X[::-1])
    assert first.components_.shape == (12, 20)
    assert_allclose(first.components_, other.components_, atol=1e-7)
    top = np.abs(first.components_).argmax(axis=1)
    assert (first.components_[np.arange(12), top] > 0.0).all()


def test_whole_weights_are_repetitions_and_others_compare() -> None:
    X, s = rows(20, 4), np.random.default_rng(0).integers(0, 4, 20)
    one, other = PCA(3).fit(X, sample_weight=s), PCA(3).fit(X.repeat(s, axis=0))
    for name in ("components_", "explained_variance_", "mean_", "noise_variance_", "n_samples_"):
        assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-10, atol=1e-12)
    half, third = (PCA(3).fit(X, sample_weight=np.full(20, w)) for w in (0.5, 1.0 / 3.0))
    assert_allclose(half.explained_variance_, PCA(3).fit(X).explained_variance_)
    assert_allclose(third.explained_variance_, half.explained_variance_)


# Rows in single precision are summed in double, few columns and many.
SHAPES = [(45_000, 100), (9_000, 512)]


@pytest.mark.parametrize("shape", SHAPES)
def test_single_precision_is_summed_in_double(shape) -> None:
    rng = np.random.default_rng(0)
    X = (rng.normal(size=shape) * 1.5 ** -np.arange(1.0 * shape[1]) + 3.0).astype(np.float32)
    model, exact = PCA(5).fit(X), PCA(5, svd_solver="covariance_eigh").fit(X.astype(np.float64))
    assert model.components_.dtype == np.float32 and model.mean_.dtype == np.float32
    assert same_span(model.components_.T.astype(float), exact.components_.T) < 1e-6
    assert_allclose(model.explained_variance_, exact.explained_variance_, rtol=2e-7)
    assert model.certificate_.residual < 1e-12
    assert model.certificate_.bound > 0.0
    seen = []
    for n in (1, 2, 3):
        with threads(n):
            seen.append(PCA(5).fit(X).components_)
    assert_array_equal(seen[0], seen[1])
    assert_array_equal(seen[0], seen[2])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scale", [1e-30, 1e25])
def test_single_precision_of_any_scale(scale, shape) -> None:
    X = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    X[:, 0] *= 3.0
    one, other = PCA(1).fit(X), PCA(1).fit(X * np.float32(scale))
    assert_allclose(np.abs(one.components_), np.abs(other.components_), atol=1e-5)
    assert other.certificate_.closed(1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_no_number_is_named(value, dtype) -> None:
    """Tall tables are not looked at in advance: the scatter tells."""
    X = np.random.default_rng(0).normal(size=(45_000, 100)).astype(dtype)
    X[31_007, 42] = value
    with pytest.raises(ValueError, match="at row 31007, column 42"):
        PCA(3).fit(X)
    s = np.ones(len(X))
    s[31_007] = 0.0
    with pytest.raises(ValueError, match="at row 31007, column 42"):
        PCA(3).fit(X, sample_weight=s)
    with pytest.raises(ValueError, match="at row 7, column 2"):
        PCA(3, svd_solver="covariance_eigh").fit(X[31_000:31_020, 40:50])


def test_leading_axes_are_those_of_all() -> None:
    """Of many columns the leading eigenvectors alone are made, and bound what is left as all do."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 300)) * np.geomspace(5.0, 0.1, 300)
    few, all_of_them = PCA(10).fit(X), PCA().fit(X)
    assert_allclose(few.components_, all_of_them.components_[:10], atol=1e-9)
    assert_allclose(few.noise_variance_, all_of_them.explained_variance_[10:].mean())
    left = all_of_them.explained_variance_[10:].sum() * (len(X) - 1)
    assert few.certificate_.bound <= left <= few.certificate_.value * (1.0 + 1e-12)
    assert few.certificate_.value - few.certificate_.bound < 1e-9 * left


def test_partial_fits_merge_without_loss() -> None:
    X, s = rows(90, 4) + 1e6, np.random.default_rng(0).integers(1, 4, 90).astype(float)
    model = PCA(2)
    for part in np.array_split(np.arange(90), 7):
        model.partial_fit(X[part], sample_weight=s[part])
    whole = PCA(2, svd_solver="covariance_eigh").fit(X, sample_weight=s)
    for name in ("components_", "explained_variance_", "mean_", "noise_variance_", "n_samples_"):
        assert_allclose(getattr(model, name), getattr(whole, name), rtol=1e-8, atol=1e-12)
    assert "_sums" not in vars(model.fit(X))


def test_inverse_and_whitening() -> None:
    X = rows(50, 5)
    for whiten in (False, True):
        model = PCA(whiten=whiten).fit(X)
        Z = model.transform(X)
        assert_allclose(model.inverse_transform(Z), X, atol=1e-10)
        if whiten:
            assert_allclose(Z.std(axis=0, ddof=1), 1.0)
    assert_allclose(PCA(2).fit_transform(X), PCA(2).fit(X).transform(X))
    with pytest.raises(ValueError, match="3 coordinates, and 5 components"):
        PCA().fit(X).inverse_transform(np.ones((2, 3)))


def test_variables_are_the_columns_in_the_unit_coordinates_of_the_rows() -> None:
    X = load_iris().data
    model = PCA(3).fit(X)
    U = model.transform(X) / model.singular_values_
    assert_allclose(model.variables_, (X - X.mean(axis=0)).T @ U, atol=1e-9)
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    standard = PCA(2).fit(Z)
    scores = standard.transform(Z)
    seen = [[np.corrcoef(Z[:, j], scores[:, c])[0, 1] for c in range(2)] for j in range(4)]
    assert_allclose(standard.variables_ / np.sqrt(149.0), seen, atol=1e-9)


def test_certificate_is_the_error_of_the_rank_k_approximation_and_judges_others() -> None:
    X = rows(80, 6)
    model = PCA(2).fit(X)
    left = X - model.inverse_transform(model.transform(X))
    proof = model.certificate_
    assert_allclose(proof.value, np.sum(left * left), rtol=1e-10)
    assert 0.0 <= proof.gap <= 1e-9 * proof.value and proof.kind == "eigen"
    assert fenchel.certify(model, X).closed(1e-10)
    turned = PCA(2).fit(X)
    R = np.array([[np.cos(0.3), np.sin(0.3)], [-np.sin(0.3), np.cos(0.3)]])
    turned.components_ = R @ turned.components_  # the same plane is as good
    assert fenchel.certify(turned, X).closed(1e-10)
    turned.components_ = np.eye(6)[4:]
    worse = fenchel.certify(turned, X)
    assert not worse.closed(1e-3) and worse.gap > 0.1 * worse.value
    new = rows(80, 6, seed=5)
    assert fenchel.certify(model, new).value > 0.0


def test_randomised_states_its_residual() -> None:
    X = np.random.default_rng(0).normal(size=(900, 600))
    rough = PCA(3, svd_solver="randomized", iterated_power=1).fit(X)
    fine = PCA(3, svd_solver="arpack").fit(X)
    assert rough.certificate_.residual > 1e-3 and not rough.converged_
    assert fine.certificate_.residual < 1e-9 and fine.converged_
    V = rough.components_.T
    S = scatter(X)[1]
    own = np.linalg.norm(S @ V - V * rough.singular_values_**2, axis=0).max()
    assert own <= rough.certificate_.residual * rough.singular_values_[0] ** 2 * (1.0 + 1e-6)


def test_faults_are_named() -> None:
    X = rows(10, 4)
    with pytest.raises(ValueError, match=r"n_components=5 must be between 0 and .*=4 \(n=10 rows"):
        PCA(5).fit(X)
    with pytest.raises(ValueError, match="needs all eigenvalues"):
        PCA(0.5, svd_solver="arpack").fit(X)
    with pytest.raises(ValueError, match="1 sample"):
        PCA().fit(X[:1])
    with pytest.raises(ValueError, match="leave the range of floats"):
        PCA().partial_fit(X * 1e200)
    assert PCA(0).fit(X).transform(X).shape == (10, 0)


def test_units_are_exact() -> None:
    X = rows(5, 2)
    assert_array_equal(in_units(fenchel.as_blocks(X), 3).gather().X, X / 8.0)


def test_names_and_types() -> None:
    model = PCA(2).set_output(transform="pandas").fit(load_iris(as_frame=True).data)
    out = model.transform(load_iris(as_frame=True).data)
    assert list(out.columns) == ["pca0", "pca1"]
    X = rows(20, 3, dtype=np.float32)
    assert PCA(2).fit(X).transform(X).dtype == np.float32
