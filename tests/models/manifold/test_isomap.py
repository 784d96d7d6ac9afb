"""Isomap: the definition, scikit-learn, new rows, landmarks, components, given distances."""

from __future__ import annotations

import numpy as np
import oracles.graph as oracles_graph
import oracles.spectral as oracles_spectral
import pandas as pd
import pytest
import sklearn.manifold
from numpy.testing import assert_allclose, assert_array_equal
from oracles.manifold import up_to_signs
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsTransformer, kneighbors_graph
from sklearn.utils.estimator_checks import check_estimator

import fenchel
from fenchel import Isomap, threads


def roll(n=200, seed=0):
    rng = np.random.default_rng(seed)
    t = 1.5 * np.pi * (1.0 + 2.0 * rng.random(n))
    return np.stack([t * np.cos(t), 10.0 * rng.random(n), t * np.sin(t)], axis=1)


def graph_of(D, k=None, radius=None):
    """Lengths of the edges, row by row: inf where there is none."""
    W = np.full(D.shape, np.inf)
    for i, row in enumerate(D):
        others = [j for j in np.argsort(row, kind="stable") if j != i]
        near = others[:k] if k is not None else [j for j in others if row[j] <= radius]
        W[i, near] = row[near]
    return np.minimum(W, W.T)


def naive_isomap(D, k=None, radius=None, s=None):
    """Eigenvalues, the largest first, coordinates for all, and lengths of paths."""
    paths = oracles_graph.shortest_paths(graph_of(D, k, radius))
    values, U = oracles_spectral.kernel_components(-0.5 * paths**2, s)
    root = 1.0 if s is None else np.sqrt(s)[:, None]
    return values, U * np.sqrt(np.maximum(values, 0.0)) / root, paths


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("k", "radius"), [(7, None), (None, 12.0)])
def test_is_the_definition(k, radius, weighted):
    X = roll(80)
    s = 1.0 + np.arange(80) % 3 if weighted else None
    model = Isomap(n_neighbors=k, radius=radius, n_components=3).fit(X, sample_weight=s)
    values, Z, paths = naive_isomap(cdist(X, X), k, radius, s)
    assert_allclose(model.dist_matrix_, paths, rtol=1e-12)
    assert_allclose(model.eigenvalues_, values[:3], rtol=1e-9)
    assert up_to_signs(model.embedding_, Z[:, :3]) < 1e-6
    weight = 80.0 if s is None else s.sum()
    error = np.sqrt(np.sum(values**2) - np.sum(values[:3] ** 2)) / weight
    assert_allclose(model.reconstruction_error(), error, rtol=1e-9)
    assert_allclose(model.transform(X), model.embedding_, atol=1e-9)
    assert model.certificate_.closed(1e-9) and model.certificate_.kind == "eigen"
    assert fenchel.certify(model, X, sample_weight=s).closed(1e-9) and model.converged_


CASES = [(k, name) for k in (8, None) for name in ("minkowski", "manhattan", "precomputed")]


# scikit-learn has no radius of sparse distances.
@pytest.mark.parametrize(("k", "metric"), [*CASES, (8, "sparse")])
def test_agrees_with_scikit_learn(k, metric):
    X, new = roll(), roll(20, seed=1)
    asked = {"n_neighbors": k, "radius": None if k else 6.0, "n_components": 2}
    seen, ask = X, new
    if metric in ("precomputed", "sparse"):
        seen, ask = cdist(X, X), cdist(new, X)
    if metric == "sparse":
        seen = KNeighborsTransformer(n_neighbors=12).fit_transform(X)
    asked["metric"] = "precomputed" if metric == "sparse" else metric
    ours, theirs = Isomap(**asked).fit(seen), sklearn.manifold.Isomap(**asked).fit(seen)
    if metric != "sparse":
        assert_allclose(ours.dist_matrix_, theirs.dist_matrix_, rtol=1e-12)
    assert up_to_signs(ours.embedding_, theirs.embedding_) < 1e-6
    assert_allclose(ours.reconstruction_error(), theirs.reconstruction_error(), rtol=1e-6)
    signs = np.sign((ours.embedding_ * theirs.embedding_).sum(axis=0))
    assert_allclose(ours.transform(ask), theirs.transform(ask) * signs, atol=1e-6)
    if metric in ("minkowski", "manhattan"):
        assert ours.nbrs_.n_neighbors == (k or 5) and ours.nbrs_.n_samples_fit_ == 200
    else:
        with pytest.raises(AttributeError, match="has no nbrs_"):
            _ = ours.nbrs_
    assert ours.get_feature_names_out().tolist() == ["isomap0", "isomap1"]


@pytest.mark.parametrize("landmarks", [None, 30])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_of_the_fit_keep_their_places(weighted, dtype, landmarks):
    X = roll().astype(dtype)
    X[50:60] = X[40:50]  # equal rows
    s = np.arange(200) % 3 if weighted else None
    model = Isomap(n_neighbors=9, n_landmarks=landmarks).fit(X, sample_weight=s)
    assert model.embedding_.dtype == model.transform(X).dtype == dtype
    tolerance = 1e-9 if dtype == np.float64 else 1e-5
    assert_allclose(model.transform(X), model.embedding_, atol=10.0 * tolerance)
    assert_allclose(model.embedding_[50:60], model.embedding_[40:50], atol=10.0 * tolerance)
    assert fenchel.certify(model, X, sample_weight=s).closed(100.0 * tolerance)
    single = Isomap(n_neighbors=9, n_landmarks=landmarks).fit(X.astype(np.float64), sample_weight=s)
    assert_allclose(model.embedding_, single.embedding_, atol=1e-4)


@pytest.mark.parametrize("given", [False, True])
def test_whole_weights_are_equal_rows(given):
    X, s = roll(), 1 + np.arange(200) % 3
    weighted = Isomap(n_neighbors=8).fit(X, sample_weight=s)
    repeated = Isomap(n_neighbors=8).fit(np.repeat(X, s, axis=0))
    assert_allclose(repeated.embedding_, np.repeat(weighted.embedding_, s, axis=0), atol=1e-8)
    assert_allclose(s @ weighted.embedding_, 0.0, atol=1e-8)
    assert_allclose(s @ weighted.embedding_**2, weighted.eigenvalues_, rtol=1e-9)
    if given:
        D = cdist(X, X)
        model = Isomap(n_neighbors=8, metric="precomputed").fit(D, sample_weight=s)
        assert_allclose(model.embedding_, weighted.embedding_, atol=1e-8)
        some = np.arange(200) % 4 > 0
        left = Isomap(n_neighbors=8, metric="precomputed").fit(D, sample_weight=s * some)
        among = Isomap(n_neighbors=8, metric="precomputed").fit(
            D[np.ix_(some, some)], sample_weight=s[some]
        )
        assert_allclose(left.embedding_[some], among.embedding_, atol=1e-8)
        assert_allclose(left.transform(D), left.embedding_, atol=1e-8)


@pytest.mark.parametrize("scale", [1e-150, 1e150, 1e-300])
def test_any_scale_and_far_away(scale):
    X, new = roll(80), roll(9, seed=2)
    one = Isomap(n_neighbors=7).fit(X)
    other = Isomap(n_neighbors=7).fit(X * scale)
    assert_allclose(other.embedding_ / scale, one.embedding_, atol=1e-8)
    assert_allclose(other.transform(new * scale) / scale, one.transform(new), atol=1e-8)
    if scale > 1e-200:  # else its square is no float
        assert_allclose(other.reconstruction_error() / scale / scale, one.reconstruction_error())
    far = Isomap(n_neighbors=7).fit(np.round(X, 6) + 1e8)
    assert_allclose(far.embedding_, one.embedding_, atol=1e-3)


def test_residuals_bound_those_of_exact_paths():
    long = np.longdouble
    X = np.round(roll(150), 3)
    s = 10.0 ** (np.arange(150) % 7 - 3.0)
    for weight in (None, s):
        model = Isomap(n_neighbors=6, n_components=4).fit(X, sample_weight=weight)
        edges = np.isfinite(graph_of(cdist(X, X), 6))
        exact = X.astype(long)
        D = np.sqrt(sum((exact[:, [j]] - exact[:, j]) ** 2 for j in range(3)))
        paths = oracles_graph.shortest_paths(np.where(edges, D, long(np.inf)))
        mass = np.ones(150, long) if weight is None else weight.astype(long)
        J = np.eye(150, dtype=long) - np.outer(np.ones(150), mass / mass.sum())
        A = np.sqrt(np.outer(mass, mass)) * (J @ (-0.5 * paths**2) @ J.T)
        V = model.embedding_.astype(long) * np.sqrt(mass)[:, None]
        V = V / np.sqrt((V * V).sum(axis=0))
        off = A @ V - V * model.eigenvalues_.astype(long)
        assert (np.sqrt((off * off).sum(axis=0)) <= model.residuals_).all()


def apart():
    """Two of them, and six rows elsewhere."""
    return np.concatenate(
        [
            roll(120),
            roll(40, seed=1) + 500.0,
            9e3 + roll(6, seed=2),
        ]
    )


def test_the_largest_component_is_embedded_and_said():
    X = apart()
    with pytest.warns(UserWarning, match="3 components of 120, 40 and 6 rows") as told:
        model = Isomap(n_neighbors=5).fit(X)
    assert "set disconnected='join'" in str(told[0].message)
    assert_allclose(model.embedding_[:120], Isomap(n_neighbors=5).fit(X[:120]).embedding_)
    assert_allclose(model.transform(X), model.embedding_, atol=1e-8)
    assert np.isfinite(model.embedding_).all() and model.dist_matrix_.shape == (120, 120)
    with pytest.warns(UserWarning, match=r"components of .* Raise radius=8\.0"):
        alone = Isomap(n_neighbors=None, radius=8.0).fit(np.vstack([X, [[-9e3, 0.0, 0.0]]]))
    assert np.isfinite(alone.embedding_).all()


@pytest.mark.parametrize("metric", ["minkowski", "manhattan", "precomputed"])
def test_components_are_joined_by_their_shortest_edges(metric):
    X = apart()
    D = cdist(X, X, "cityblock" if metric == "manhattan" else "euclidean")
    seen = D if metric == "precomputed" else X
    with pytest.warns(UserWarning, match="They are joined by the 2 shortest edges between them"):
        model = Isomap(n_neighbors=5, metric=metric, disconnected="join").fit(seen)
    W = graph_of(D, 5)
    labels = oracles_graph.components(W)
    assert model.dist_matrix_.shape == (166, 166) and np.isfinite(model.dist_matrix_).all()
    first, second = labels == labels[0], labels == labels[120]
    between = model.dist_matrix_[np.ix_(first, second)].min()
    assert_allclose(between, D[np.ix_(first, second)].min())
    for label in range(labels.max() + 1):
        own = labels == label
        inside = oracles_graph.shortest_paths(W[np.ix_(own, own)])
        assert_allclose(model.dist_matrix_[np.ix_(own, own)], inside, rtol=1e-12)
    assert_allclose(model.transform(seen), model.embedding_, atol=1e-6)


@pytest.mark.parametrize("metric", ["minkowski", "chebyshev", "precomputed"])
def test_landmarks_place_all_rows(metric):
    X = roll(400)
    D = cdist(X, X, "chebyshev" if metric == "chebyshev" else "euclidean")
    seen = D if metric == "precomputed" else X
    plain = Isomap(n_neighbors=10, metric=metric).fit(seen)
    model = Isomap(n_neighbors=10, metric=metric, n_landmarks=60).fit(seen)
    assert len(model.landmarks_) == 60 and model.dist_matrix_.shape == (60, 400)
    assert_allclose(model.dist_matrix_, plain.dist_matrix_[model.landmarks_], rtol=1e-12)
    assert_allclose(model.transform(seen), model.embedding_, atol=1e-8)
    for j in range(2):
        together = np.corrcoef(model.embedding_[:, j], plain.embedding_[:, j])[0, 1]
        assert abs(together) > 0.85
    assert fenchel.certify(model, seen).closed(1e-9)
    # Its own distances among landmarks: classical scaling of those.
    mds = fenchel.ClassicalMDS(metric="precomputed")
    with pytest.warns(UserWarning, match="not Euclidean"):
        mds.fit(plain.dist_matrix_[np.ix_(model.landmarks_, model.landmarks_)])
    assert up_to_signs(model.embedding_[model.landmarks_], mds.embedding_) < 1e-7
    assert 0.0 < model.reconstruction_error() < 10.0
    every = Isomap(n_neighbors=10, metric=metric, n_landmarks=400).fit(seen)
    assert_allclose(np.abs(every.embedding_), np.abs(plain.embedding_), atol=1e-7)
    assert_allclose(every.reconstruction_error(), plain.reconstruction_error(), rtol=1e-9)


def test_faults_are_named():
    X = roll(12)
    D = cdist(X, X)
    with pytest.raises(ValueError, match="Both n_neighbors and radius are provided"):
        Isomap(radius=1.0).fit(X)
    with pytest.raises(ValueError, match="Neither is: give n_neighbors, or radius"):
        Isomap(n_neighbors=None).fit(X)
    with pytest.raises(ValueError, match="n_neighbors = 12, n_samples_fit = 12"):
        Isomap(n_neighbors=12).fit(X)
    with pytest.raises(ValueError, match="n_components=13 columns"):
        Isomap(n_neighbors=11, n_components=13).fit(X)
    with pytest.raises(ValueError, match=r"20 rows, of which 1 are different"):
        Isomap().fit(np.ones((20, 2)))
    with pytest.warns(UserWarning, match="Lower n_neighbors to at most 11"):
        Isomap(n_neighbors=12).fit(np.repeat(X, 2, axis=0))
    with pytest.raises(ValueError, match="n_landmarks=13 is more than the 12 rows"):
        Isomap(n_landmarks=13).fit(X)
    given = Isomap(metric="precomputed")
    wrong = D.copy()
    wrong[2, 4] = wrong[4, 2] = -1.0
    with pytest.raises(ValueError, match="the distance in row 2, column 4, -1, is negative"):
        given.fit(wrong)
    with pytest.raises(ValueError, match="the distance in row 2, column 4, -1, is negative"):
        given.fit(csr_array(wrong))
    wrong[4, 2] = 9.0
    wrong[2, 4] = 1.0
    with pytest.raises(ValueError, match=r"row 2, column 4, 1, .* \(row 4, column 2: 9\)"):
        given.fit(wrong)
    with pytest.raises(ValueError, match="must be square"):
        given.fit(D[:5])
    few = kneighbors_graph(X, 3, mode="distance")
    with pytest.raises(ValueError, match=r"known distances to \d rows, and n_neighbors=5"):
        given.fit(few)
    halves = csr_array(np.kron(np.eye(2), cdist(roll(20), roll(20))))
    with pytest.raises(ValueError, match="2 components of 20 and 20 rows, and distances"):
        Isomap(metric="precomputed", disconnected="join").fit(halves)


def test_memory_that_is_not_there(monkeypatch):
    from fenchel.models.spectral.centred import operators

    monkeypatch.setattr(operators, "free_memory", lambda: 1e5)
    with pytest.raises(MemoryError, match=r"200 x 200 matrix of lengths .* set n_landmarks"):
        Isomap().fit(roll())


@pytest.mark.torch
def test_homes_threads_and_model_files(tmp_path):
    X, new = np.round(roll(150), 2), roll(9, seed=1)
    kept = X.copy()
    model = Isomap(n_neighbors=7).fit(X)
    with threads(1):
        assert_array_equal(Isomap(n_neighbors=7).fit(X).embedding_, model.embedding_)
        assert_array_equal(model.transform(new), Isomap(n_neighbors=7).fit(X).transform(new))
    np.save(tmp_path / "t.npy", X)
    torch = pytest.importorskip("torch")
    da = pytest.importorskip("dask.array")
    frame = pd.DataFrame(X, columns=list("abc"))
    homes = [csr_array(X), frame, fenchel.scan(tmp_path / "t.npy"), torch.from_numpy(X)]
    for home in [*homes, da.from_array(X, chunks=(50, 3)), np.asfortranarray(X)]:
        other = Isomap(n_neighbors=7).fit(home)
        assert_array_equal(np.asarray(other.embedding_), model.embedding_)
        assert_allclose(np.asarray(other.transform(home)), model.transform(X), atol=1e-12)
    assert_array_equal(X, kept)
    for asked in ({}, {"metric": "chebyshev"}, {"n_landmarks": 20, "p": 1.5}, {"radius": 9.0}):
        k = None if "radius" in asked else 7
        model = Isomap(n_neighbors=k, **asked).fit(X)
        fenchel.save(model, tmp_path / "m.fen")
        loaded = fenchel.load(tmp_path / "m.fen")
        assert_array_equal(loaded.transform(new), model.transform(new))
        assert loaded.reconstruction_error() == model.reconstruction_error()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:Isomap. the graph of neighbours is not connected")
@pytest.mark.filterwarnings("ignore:Isomap. n_neighbors=")
def test_common_checks_of_given_distances():
    check_estimator(Isomap(n_neighbors=3, metric="precomputed"))
