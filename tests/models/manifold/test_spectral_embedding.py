"""Laplacian eigenmaps: the definition, scikit-learn, new points, weights, components, extremes."""

from __future__ import annotations

import numpy as np
import oracles.manifold as naive
import pytest
import sklearn.manifold
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array, csr_matrix
from scipy.spatial.distance import cdist
from sklearn.neighbors import kneighbors_graph

import fenchel
from fenchel import SpectralEmbedding, kernels, threads


def cloud(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[n // 2 :] += 2.0
    return X


def roll(n=200, seed=0):
    rng = np.random.default_rng(seed)
    t = 1.5 * np.pi * (1.0 + 2.0 * rng.random(n))
    return np.stack([t * np.cos(t), 10.0 * rng.random(n), t * np.sin(t)], axis=1)


def rbf(X, Z, gamma=0.5):
    return np.exp(-gamma * cdist(X, Z, "sqeuclidean"))


def relative(A, B):
    return naive.up_to_signs(A, B) / np.abs(B).max()


@pytest.mark.parametrize("n", [80, 550])
@pytest.mark.parametrize(
    "settings", [{"affinity": "rbf", "gamma": 0.5}, {"n_neighbors": 12}, {}], ids=str
)
def test_is_the_definition_and_scikit_learn(settings, n):
    X = cloud(n)
    model = SpectralEmbedding(3, **settings).fit(X)
    k = settings.get("n_neighbors", n // 10) - 1
    W = rbf(X, X) if settings.get("affinity") else naive.neighbour_affinity(X, k)
    values, Y = naive.eigenmaps(W, 3)
    assert_allclose(model.eigenvalues_, values[1:4], atol=1e-9)
    assert relative(model.embedding_, Y) < 1e-7
    other = sklearn.manifold.SpectralEmbedding(3, random_state=0, **settings).fit(X)
    assert relative(model.embedding_, other.embedding_) < 1e-7
    affinities = model.affinity_matrix_
    affinities = affinities if isinstance(affinities, np.ndarray) else affinities.toarray()
    theirs = other.affinity_matrix_
    theirs = theirs if isinstance(theirs, np.ndarray) else theirs.toarray()
    assert_allclose(affinities, theirs, atol=1e-12)
    assert model.certificate_.kind == "eigen" and model.certificate_.closed(1e-9)
    assert model.converged_ and fenchel.certify(model, X).closed(1e-9)
    assert_array_equal(model.component_sizes_, [n])
    if "n_neighbors_" in vars(other):
        assert model.n_neighbors_ == other.n_neighbors_


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "settings",
    [
        {"affinity": "rbf"},
        {"n_neighbors": 9},
        {"affinity": kernels.Laplacian(0.7)},
        {"affinity": lambda A: rbf(A, A)},
        {"affinity": rbf},
    ],
    ids=["rbf", "neighbours", "kernel", "one table", "two tables"],
)
def test_rows_of_the_fit_keep_their_places(settings, dtype, weighted):
    X = roll(130).astype(dtype) / 5
    X[50:60] = X[40:50]  # equal rows
    s = np.arange(130) % 3 if weighted else None
    model = SpectralEmbedding(2, **settings).fit(X, sample_weight=s)
    assert model.embedding_.dtype == dtype
    scale = np.abs(model.embedding_).max()
    tight = 1e-6 if dtype == np.float32 else 1e-9
    assert_allclose(model.transform(X), model.embedding_, atol=tight * scale)
    equal = slice(50, 60), slice(40, 50)
    assert_array_equal(model.embedding_[equal[0]], model.embedding_[equal[1]])
    assert_allclose(model.transform(X)[equal[0]], model.transform(X)[equal[1]], atol=1e-12 * scale)


def test_new_rows_are_placed_by_the_formula():
    X, new = cloud(90), cloud(20, seed=1)
    model = SpectralEmbedding(2, affinity="rbf", gamma=0.5).fit(X)
    W = rbf(new, X)
    want = (W / W.sum(axis=1, keepdims=True)) @ model.embedding_ / model.eigenvalues_
    assert_allclose(model.transform(new), want, atol=1e-13)
    # Neighbours: each direction by its own rule.
    k = 7
    model = SpectralEmbedding(2, n_neighbors=k + 1).fit(X)
    own = np.sort(cdist(X, X), axis=1)[:, k]
    D = cdist(new, X)
    forth = np.argsort(np.argsort(D, axis=1), axis=1) < k
    W = 0.5 * forth + 0.5 * (own > D)
    want = (W / W.sum(axis=1, keepdims=True)) @ model.embedding_ / model.eigenvalues_
    assert_allclose(model.transform(new), want, atol=1e-13)


def test_a_row_is_a_new_one_however_near_and_however_far():
    X = cloud(60)
    model = SpectralEmbedding(1, affinity="rbf", gamma=0.5).fit(X)
    W = rbf(X[:1] + 1e-7, X)
    want = W @ model.embedding_ / W.sum() / model.eigenvalues_
    assert_allclose(model.transform(X[:1] + 1e-7), want, rtol=1e-9)
    far = np.array([[1e5, 0.0, 0.0]])  # its affinities vanish, and their ratios do not
    nearest = np.linalg.norm(X - far, axis=1).argmin()
    assert_allclose(model.transform(far), model.embedding_[[nearest]] / model.eigenvalues_)


@pytest.mark.parametrize("form", [np.asarray, csr_array, csr_matrix])
def test_given_affinities(form):
    X, new = cloud(), cloud(12, seed=3)
    W, Q = rbf(X, X), rbf(new, X)
    plain = SpectralEmbedding(2, affinity="rbf", gamma=0.5).fit(X)
    model = SpectralEmbedding(2, affinity="precomputed").fit(form(W))
    assert relative(model.embedding_, plain.embedding_) < 1e-9
    assert_allclose(model.transform(form(W)), model.embedding_, atol=1e-12)
    assert_allclose(model.transform(form(Q)), plain.transform(new), atol=1e-12)
    assert_allclose(model.transform(csr_array(W[:5])), model.transform(W[:5]), atol=1e-15)
    assert abs(model.affinity_matrix_ - form(W)).max() == 0.0
    assert fenchel.certify(model, form(W)).closed(1e-9)


def test_given_distances_are_those_of_the_rows():
    X, new = roll(150), roll(20, seed=5)
    D = cdist(X, X)
    plain = SpectralEmbedding(2, n_neighbors=8).fit(X)
    settings = {"affinity": "precomputed_nearest_neighbors", "n_neighbors": 8}
    dense = SpectralEmbedding(2, **settings).fit(D)
    stored = kneighbors_graph(X, 15, mode="distance", include_self=True)
    sparse = SpectralEmbedding(2, **settings).fit(stored)
    theirs = sklearn.manifold.SpectralEmbedding(2, random_state=0, **settings).fit(stored)
    for model in (dense, sparse, theirs):
        assert relative(model.embedding_, plain.embedding_) < 1e-7
    assert_allclose(dense.transform(D), dense.embedding_, atol=1e-12)
    assert_allclose(sparse.transform(stored), sparse.embedding_, atol=1e-12)
    assert_allclose(dense.transform(cdist(new, X)), plain.transform(new), atol=1e-9)
    assert abs(dense.affinity_matrix_ - plain.affinity_matrix_).max() == 0.0
    assert dense.n_neighbors_ == 8


@pytest.mark.parametrize("settings", [{"affinity": "rbf"}, {"n_neighbors": 10}], ids=str)
def test_whole_weights_are_equal_rows(settings):
    X, s = cloud(), np.arange(150) % 4
    weighted = SpectralEmbedding(2, **settings).fit(X, sample_weight=s)
    repeated = SpectralEmbedding(2, **settings).fit(np.repeat(X, s, axis=0))
    assert_allclose(repeated.embedding_, np.repeat(weighted.embedding_, s, axis=0), atol=1e-12)
    if "affinity" in settings:  # to which copies are rows like others
        Y = naive.eigenmaps(rbf(np.repeat(X, s, axis=0), np.repeat(X, s, axis=0), 1 / 3), 2)[1]
        assert relative(repeated.embedding_, Y) < 1e-9
    assert fenchel.certify(weighted, X, sample_weight=s).closed(1e-9)
    for factor in (1e-200, 1e200):
        rows = 1.0 + np.arange(150) % 4
        model = SpectralEmbedding(2, **settings).fit(X, sample_weight=factor * rows)
        scale = np.abs(model.embedding_).max()
        assert_allclose(model.transform(X), model.embedding_, atol=1e-9 * scale)
        assert 1e-3 < scale * factor < 1e3


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e300])
def test_any_scale(scale):
    X, W = roll(100), rbf(cloud(100), cloud(100))
    one, other = (SpectralEmbedding(2, n_neighbors=8).fit(rows) for rows in (X, X * scale))
    assert_allclose(other.embedding_, one.embedding_, atol=1e-9)
    one, other = (SpectralEmbedding(2, affinity="precomputed").fit(A) for A in (W, W * scale))
    assert_allclose(other.embedding_ * np.sqrt(scale), one.embedding_, atol=1e-12)
    assert_allclose(other.transform(W * scale), other.embedding_, rtol=1e-6)
    if 1e-200 < scale < 1e200:
        rows = cloud(100)
        kinds = {"affinity": "rbf", "gamma": "scale"}
        one, other = (SpectralEmbedding(2, **kinds).fit(A) for A in (rows, rows * scale))
        assert_allclose(other.embedding_, one.embedding_, atol=1e-12)


def test_given_rows_of_any_weight_and_scale():
    X, s = cloud(60), 1.0 + np.arange(60) % 3
    W, D = rbf(X, X), cdist(X, X)
    plain = SpectralEmbedding(2, affinity="precomputed").fit(W, sample_weight=s)
    for factor, scale in ((1e100, 1e200), (1e-100, 1e-200), (1e60, 1e250)):
        model = SpectralEmbedding(2, affinity="precomputed")
        model.fit(W * scale, sample_weight=s * factor)
        size = np.abs(model.embedding_).max()
        assert_allclose(model.transform(W * scale), model.embedding_, atol=1e-9 * size)
        assert_allclose(model.transform(csr_array(W * scale)), model.embedding_, atol=1e-9 * size)
        assert_allclose(model.eigenvalues_, plain.eigenvalues_, atol=0.05)  # copies count else
        assert size > 0.0
    for factor, scale in ((1e200, 1e300), (1e-200, 1e-300)):
        with pytest.raises(ValueError, match="divide affinities or weights by a constant"):
            model.fit(W * scale, sample_weight=s * factor)
    many = np.repeat(np.repeat(D, 2, axis=0), 2, axis=1)
    settings = {"affinity": "precomputed_nearest_neighbors", "n_neighbors": 8}
    twice = SpectralEmbedding(2, **settings).fit(many)
    weighted = SpectralEmbedding(2, **settings).fit(D, sample_weight=np.full(60, 2.0))
    assert_allclose(twice.embedding_, np.repeat(weighted.embedding_, 2, axis=0), atol=1e-12)
    assert_allclose(twice.transform(many), twice.embedding_, atol=1e-12)


def test_far_from_the_origin():
    X = np.round(cloud(90), 2)
    one, other = (
        SpectralEmbedding(2, affinity="rbf", gamma=0.5).fit(rows) for rows in (X, X + 2.0**27)
    )
    assert_allclose(other.embedding_, one.embedding_, atol=1e-6)


@pytest.mark.parametrize("settings", [{"affinity": "rbf"}, {"n_neighbors": 9}], ids=str)
def test_homes_and_threads(settings):
    X = np.round(roll(620) / 4, 2)
    X[::7] *= X[::7] > 0.5  # some zeros
    model = SpectralEmbedding(2, **settings).fit(X)
    with threads(1):
        again = SpectralEmbedding(2, **settings).fit(X)
    assert_array_equal(again.embedding_, model.embedding_)
    sparse = SpectralEmbedding(2, **settings).fit(csr_array(X))
    assert_array_equal(sparse.embedding_, model.embedding_)
    assert_allclose(sparse.transform(csr_array(X)), model.embedding_, atol=1e-9)
    blocks = SpectralEmbedding(2, **settings).fit(fenchel.as_blocks(np.asfortranarray(X)))
    assert_array_equal(blocks.embedding_, model.embedding_)


def test_components_that_do_not_hang_together():
    X = np.concatenate([roll(120), roll(40, seed=1) + 500.0])
    with pytest.warns(UserWarning, match="graph of neighbours is not connected: 2 components of"):
        model = SpectralEmbedding(2, n_neighbors=10).fit(X)
    alone = SpectralEmbedding(2, n_neighbors=10).fit(X[:120])
    assert_array_equal(model.embedding_[:120], alone.embedding_)
    assert_array_equal(model.component_sizes_, [120, 40])
    assert_allclose(model.transform(X), model.embedding_, atol=1e-12)
    assert_allclose(model.transform(X[120:]), alone.transform(X[120:]), atol=1e-14)


def test_components_are_joined_on_request():
    X = np.concatenate([roll(80), roll(40, seed=1) + 50.0, roll(30, seed=2) - 60.0])
    model = SpectralEmbedding(3, n_neighbors=10, disconnected="join").fit(X)
    W = model.affinity_matrix_.toarray() - naive.neighbour_affinity(X, 9) - np.eye(150)
    low, high = np.nonzero(np.triu(W))
    assert len(low) == 2 and (W[low, high] == 1.0).all()
    part = np.repeat([0, 1, 2], [80, 40, 30])
    for i, j in zip(low, high, strict=True):  # the shortest of its pair of components
        D = cdist(X[part == part[i]], X[part == part[j]])
        assert np.linalg.norm(X[i] - X[j]) == pytest.approx(D.min())
    assert_allclose(model.transform(X), model.embedding_, atol=1e-9)
    with pytest.raises(ValueError, match="takes affinity='nearest_neighbors', got affinity='rbf'"):
        SpectralEmbedding(affinity="rbf", disconnected="join").fit(X)


def test_rows_without_affinities():
    W = rbf(cloud(40), cloud(40))
    W[7], W[:, 7] = 0.0, 0.0
    with pytest.warns(UserWarning, match="graph of affinities is not connected: 2 components"):
        model = SpectralEmbedding(2, affinity="precomputed").fit(W)
    assert_array_equal(model.embedding_[7], 0.0)
    assert_allclose(model.transform(W), model.embedding_, atol=1e-14)
    others = np.delete(np.arange(40), 7)
    alone = SpectralEmbedding(2, affinity="precomputed").fit(W[np.ix_(others, others)])
    assert_allclose(model.embedding_[others], alone.embedding_, atol=1e-14)


def test_parts_that_hardly_hang_together_are_told():
    W = np.kron(np.eye(2), np.ones((20, 20))) + 1e-14
    with pytest.warns(UserWarning, match="1 further eigenvalues are 1 to rounding"):
        SpectralEmbedding(2, affinity="precomputed").fit(W)


def test_bandwidths_that_tell_nothing():
    X = cloud(60)
    with (
        pytest.warns(UserWarning, match="too narrow for these rows"),
        pytest.warns(UserWarning, match="60 components of 1, 1, 1"),
        pytest.raises(ValueError, match=r"n_components=2 must be below .* n=1"),
    ):
        SpectralEmbedding(affinity="rbf", gamma=1e6).fit(X)
    with pytest.warns(UserWarning, match="too wide for these rows"):
        model = SpectralEmbedding(affinity="rbf", gamma=1e-12).fit(X)
    assert_allclose(model.eigenvalues_, -1.0 / 59.0)  # a complete graph of equal edges
    assert model.multiplicities_ == (2,)
    assert_allclose(model.transform(X), model.embedding_, atol=1e-10)


def test_bad_input_is_named():
    X, W = cloud(20), rbf(cloud(20), cloud(20))
    given = SpectralEmbedding(affinity="precomputed")
    for form in (np.asarray, csr_array):
        wrong = W.copy()
        wrong[3, 5] = wrong[5, 3] = -1.0
        with pytest.raises(ValueError, match="affinity in row 3, column 5 is -1, and the weight"):
            given.fit(form(wrong))
        wrong[3, 5] = wrong[5, 3] = 0.9
        wrong[3, 5] = 0.1
        with pytest.raises(ValueError, match=r"row 3, column 5, 0.1, is not that .*, 0.9: pass"):
            given.fit(form(wrong))
        with pytest.raises(ValueError, match="Input is a 20x7 matrix of affin"):
            given.fit(form(W[:, :7]))
        with pytest.raises(ValueError, match="row 1 has the affinity -2 with row 4 of the fit"):
            new = W[:3].copy()
            new[1, 4] = -2.0
            SpectralEmbedding(affinity="precomputed").fit(form(W)).transform(form(new))
    with pytest.raises(ValueError, match="distance in row 2, column 1 is -3"):
        D = cdist(X, X)
        D[2, 1] = -3.0
        SpectralEmbedding(affinity="precomputed_nearest_neighbors").fit(D)
    with pytest.raises(ValueError, match="n_neighbors=1 counts the row itself"):
        SpectralEmbedding(n_neighbors=1).fit(X)
    with pytest.raises(ValueError, match="n_neighbors = 21, n_samples_fit = 20"):
        SpectralEmbedding(n_neighbors=21).fit(X)
    with pytest.raises(ValueError, match="n_components=20 must be below"):
        SpectralEmbedding(20, affinity="rbf").fit(X)
    with pytest.raises(ValueError, match="n_samples=9 rows are 1 different ones"):
        SpectralEmbedding(affinity="rbf").fit(np.ones((9, 2)))
    with pytest.raises(ValueError, match=r"gave an array of shape \(20,\) for 20 rows"):
        SpectralEmbedding(affinity=lambda A: A[:, 0]).fit(X)
    with pytest.raises(ValueError, match="row 9, column 14 is -0"):
        SpectralEmbedding(affinity="cosine").fit(X - X.mean(axis=0))


def test_as_many_columns_as_there_are():
    X = cloud(30)
    model = SpectralEmbedding(29, affinity="rbf", gamma=0.5).fit(X)
    values, Y = naive.eigenmaps(rbf(X, X), 29)
    assert_allclose(model.eigenvalues_, values[1:], atol=1e-12)
    assert relative(model.embedding_[:, :9], Y[:, :9]) < 1e-6
    assert_allclose(model.transform(X), model.embedding_, atol=1e-9)


def test_a_table_has_no_fewer_neighbours_than_five():
    X = cloud(20)
    assert SpectralEmbedding(1).fit(X).n_neighbors_ == 5
    assert SpectralEmbedding(1).fit(cloud(90)).n_neighbors_ == 9


@pytest.mark.filterwarnings("ignore:left out of")  # the affinities that were given
@pytest.mark.parametrize("kind", ["rbf", "sparse", "neighbours", "affinities", "distances"])
def test_model_files_place_new_rows_as_before(kind, tmp_path):
    X, new = np.maximum(cloud(60), 0.0), np.maximum(cloud(9, seed=1), 0.0)
    D, Q = cdist(X, X), cdist(new, X)
    settings, rows, asked = {
        "rbf": ({"affinity": "rbf"}, X, new),
        "sparse": ({"affinity": "rbf"}, csr_array(X), csr_array(new)),
        "neighbours": ({"n_neighbors": 8}, X, new),
        "affinities": ({"affinity": "precomputed"}, np.exp(-D), np.exp(-Q)),
        "distances": ({"affinity": "precomputed_nearest_neighbors", "n_neighbors": 8}, D, Q),
    }[kind]
    model = SpectralEmbedding(2, **settings).fit(rows)
    fenchel.save(model, tmp_path / "map.fen")
    loaded = fenchel.load(tmp_path / "map.fen")
    assert_array_equal(loaded.transform(asked), model.transform(asked))
    assert_array_equal(loaded.transform(rows), model.transform(rows))
    assert fenchel.certify(loaded, rows).closed(1e-9)
    if kind == "affinities":
        with pytest.raises(AttributeError, match="affinities that were given are not kept"):
            _ = loaded.affinity_matrix_
    else:
        assert abs(loaded.affinity_matrix_ - model.affinity_matrix_).max() == 0.0
