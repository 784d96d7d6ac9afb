"""k nearest neighbours: votes, ties, weights, leave-one-out, homes; every route to one answer."""

from __future__ import annotations

import numpy as np
import oracles.geometry as naive
import oracles.neighbours as oracle
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn import neighbors as sk

import fenchel
from fenchel import (
    GaussianClasses,
    KNeighborsClassifier,
    KNeighborsRegressor,
    NearestNeighbors,
    certify,
    kneighbors_graph,
    radius_neighbors_graph,
)
from fenchel.data.blocks import threads
from fenchel.score.validation.run import certificate_of

WEIGHTS = ["uniform", "distance", lambda d: 1.0 / (1.0 + d)]


def integers(rng, n, d, K):
    """Rows with many equal distances, and labels."""
    return rng.integers(0, 4, size=(n, d)).astype(float), rng.integers(0, K, size=n)


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 9), which=st.integers(0, 2))
def test_votes_and_means_are_the_definition(seed, k, which):
    rng, weights = np.random.default_rng(seed), WEIGHTS[which]
    X, y = integers(rng, 40, 2, 3)
    y[:3] = [0, 1, 2]
    Q = integers(rng, 15, 2, 3)[0]
    D = np.sqrt(naive.squared_distances(Q, X))
    shares = np.array([oracle.vote(row, y, 3, k, weights) for row in D])
    model = KNeighborsClassifier(k, weights=weights).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(Q), shares, atol=1e-14)
    if weights == "uniform":  # equal votes are equal to the bit: the smallest class
        np.testing.assert_array_equal(model.predict(Q), shares.argmax(axis=1))
    z = rng.normal(size=(40, 2))
    means = np.array([oracle.mean(row, z, k, weights) for row in D])
    np.testing.assert_allclose(KNeighborsRegressor(k, weights=weights).fit(X, z).predict(Q), means)


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), which=st.integers(0, 2))
def test_leave_one_out_is_the_loop(seed, which):
    rng, weights = np.random.default_rng(seed), WEIGHTS[which]
    X, y = integers(rng, 25, 2, 3)
    y[:3] = [0, 1, 2]
    z = rng.normal(size=25)
    D = np.sqrt(naive.squared_distances(X, X))
    wrong = oracle.loo(
        D,
        lambda d, others, k: oracle.vote(d, y[others], 3, k, weights),
        lambda i, shares: 1.0 * (np.isclose(shares, shares.max()).argmax() != y[i]),
        12,
    )
    model = KNeighborsClassifier("auto", weights=weights, max_neighbors=12).fit(X, y)
    if weights == "uniform":
        np.testing.assert_allclose(model.loo_errors_, wrong, atol=1e-14)
        assert model.n_neighbors_ == 1 + int(np.argmin(wrong))
    else:  # votes that differ by rounding alone may fall either way
        assert np.abs(model.loo_errors_ - wrong).max() <= 3 / 25
    assert model.certificate_.value == model.loo_errors_.min()
    assert model.certificate_.value == pytest.approx(1.0 - model.score(None, y))
    squares = oracle.loo(
        D,
        lambda d, others, k: oracle.mean(d, z[others], k, weights),
        lambda i, found: (found - z[i]) ** 2,
        12,
    )
    plain = KNeighborsRegressor(4, weights=weights).fit(X, z)
    np.testing.assert_allclose(plain.leave_one_out(12), squares)
    np.testing.assert_allclose(np.mean((plain.predict(None) - z) ** 2), squares[3])
    assert plain.certificate_.value == pytest.approx(squares[3])


@settings(max_examples=20)
@given(
    seed=st.integers(0, 10**6),
    which=st.integers(0, 2),
    metric=st.sampled_from(["euclidean", "manhattan"]),
    low=st.integers(0, 1),
)
def test_a_weight_of_two_is_two_rows(seed, which, metric, low):
    rng, weights = np.random.default_rng(seed), WEIGHTS[which]
    X, y = rng.normal(size=(30, 2)), rng.integers(0, 3, size=30)
    s = rng.integers(low, 4, size=30)
    s[:3], y[:3] = 2, [0, 1, 2]
    copies = np.repeat(np.arange(30), s)
    Q = rng.normal(size=(12, 2))
    given_ = {"weights": weights, "metric": metric, "max_neighbors": 9}
    for cls, target in ((KNeighborsClassifier, y), (KNeighborsRegressor, rng.normal(size=30))):
        one = cls(5, **given_).fit(X, target, sample_weight=s)
        other = cls(5, **given_).fit(X[copies], target[copies])
        np.testing.assert_allclose(one.predict(Q), other.predict(Q))
        np.testing.assert_allclose(one.leave_one_out(), other.leave_one_out(), atol=1e-13)
        np.testing.assert_allclose(
            one.predict(None)[s > 0], other.predict(None)[np.unique(copies, return_index=True)[1]]
        )


def test_weights_that_are_fractions():
    """Of the last neighbour only what is missing to k counts."""
    X, y = np.array([[1.0], [2.0], [3.0]]), np.array([4.0, 0.0, 8.0])
    model = KNeighborsRegressor(1).fit(X, y, sample_weight=[0.5, 0.25, 2.0])
    assert model.predict([[0.0]]) == pytest.approx(0.5 * 4.0 + 0.25 * 8.0)
    tiny = KNeighborsRegressor(1).fit(X, y, sample_weight=[1e-3, 1e-3, 1.0])
    assert tiny.predict([[0.0]]) == pytest.approx(0.004 + 0.998 * 8.0)
    with pytest.raises(ValueError, match=r"n_neighbors = 3, n_samples_fit = 2\.75"):
        KNeighborsRegressor(3).fit(X, y, sample_weight=[0.5, 0.25, 2.0]).predict(X)


def test_vote_ties_go_to_the_smallest_class_and_equal_distances_to_the_first_row():
    X, y = np.array([[1.0], [-1.0], [1.0], [-1.0]]), np.array(["d", "c", "b", "a"])
    for metric in ("euclidean", "manhattan", "chebyshev", lambda a, b: np.abs(a - b).sum()):
        model = KNeighborsClassifier(2, metric=metric).fit(X, y)
        assert model.kneighbors([[0.0]])[1].tolist() == [[0, 1]]
        assert model.predict([[0.0]]).tolist() == ["c"]
    given_ = KNeighborsClassifier(2, metric="precomputed").fit(np.abs(X - X.T), y)
    assert given_.predict([[1.0, 1.0, 1.0, 1.0]]).tolist() == ["c"]
    assert KNeighborsClassifier(2, kernel="linear").fit(X, y).predict([[0.0]]).tolist() == ["c"]


@pytest.mark.parametrize("algorithm", ["auto", "ball_tree", "kd_tree", "brute"])
@pytest.mark.parametrize("d", [2, 30])
def test_scikit_learn_agrees_where_no_distances_are_equal(algorithm, d):
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(700, d)), rng.normal(size=(60, d))
    y, z = rng.integers(0, 3, size=700), rng.normal(size=(700, 2))
    for weights in ("uniform", "distance"):
        params = {"n_neighbors": 7, "weights": weights, "algorithm": algorithm}
        ours, theirs = KNeighborsClassifier(**params), sk.KNeighborsClassifier(**params)
        np.testing.assert_allclose(
            ours.fit(X, y).predict_proba(Q), theirs.fit(X, y).predict_proba(Q)
        )
        ours, theirs = KNeighborsRegressor(**params), sk.KNeighborsRegressor(**params)
        np.testing.assert_allclose(ours.fit(X, z).predict(Q), theirs.fit(X, z).predict(Q))
    ours, theirs = NearestNeighbors(radius=2.0).fit(X), sk.NearestNeighbors(radius=2.0).fit(X)
    for query in (Q, None):
        for a, b in zip(ours.kneighbors(query, 4), theirs.kneighbors(query, 4), strict=True):
            np.testing.assert_allclose(a, b)
        found = ours.radius_neighbors(query, sort_results=True)
        known = theirs.radius_neighbors(query, sort_results=True)
        for a, b in zip(found[1], known[1], strict=True):
            np.testing.assert_array_equal(a, b)
        for mode in ("connectivity", "distance"):
            for a, b in (
                (ours.kneighbors_graph(query, 4, mode), theirs.kneighbors_graph(query, 4, mode)),
                (
                    ours.radius_neighbors_graph(query, 1.5, mode),
                    theirs.radius_neighbors_graph(query, 1.5, mode),
                ),
            ):
                np.testing.assert_allclose(a.toarray(), b.toarray())


def test_graphs_as_functions():
    X = np.random.default_rng(0).normal(size=(50, 3))
    for include in (True, False, "auto"):
        for mode in ("connectivity", "distance"):
            a = kneighbors_graph(X, 4, mode=mode, include_self=include)
            b = sk.kneighbors_graph(X, 4, mode=mode, include_self=include)
            np.testing.assert_allclose(a.toarray(), b.toarray())
            c = radius_neighbors_graph(X, 1.0, mode=mode, include_self=include)
            e = sk.radius_neighbors_graph(X, 1.0, mode=mode, include_self=include)
            np.testing.assert_allclose(c.toarray(), e.toarray())
    fitted = NearestNeighbors().fit(X)
    np.testing.assert_array_equal(
        kneighbors_graph(fitted, 4).toarray(), kneighbors_graph(X, 4).toarray()
    )
    assert type(kneighbors_graph(X, 2)) is type(sk.kneighbors_graph(X, 2))


@pytest.mark.parametrize("d", [3, 20])
def test_threads_give_the_same_bits(d):
    rng = np.random.default_rng(d)
    X, y = np.round(rng.normal(size=(2500, d)), 1), rng.normal(size=2500)
    X[::5] = X[0]
    answers = []
    for count in (1, 2, 5, 16):
        with threads(count):
            model = KNeighborsRegressor("auto", weights="distance", max_neighbors=9).fit(X, y)
            answers.append((model.loo_errors_.tobytes(), model.predict(X[:700]).tobytes()))
    assert len(set(answers)) == 1


@pytest.mark.parametrize("home", ["fortran", "csr", "pandas", "parquet", "npy", "dask", "torch"])
@pytest.mark.parametrize("cls", [KNeighborsClassifier, KNeighborsRegressor])
def test_homes(home, cls, tmp_path):
    rng = np.random.default_rng(1)
    X = np.round(rng.normal(size=(4000, 3)), 1)
    y = rng.integers(0, 3, size=4000)
    reference = cls(5, weights="distance").fit(X, y)
    expected = reference.predict(X)
    there, beside = X, y
    match home:
        case "fortran":
            there = np.asfortranarray(X)
        case "csr":
            there = csr_array(X)
        case "pandas":
            there, beside = pd.DataFrame(X, columns=list("abc")), pd.Series(y)
        case "parquet":
            pd.DataFrame(X, columns=list("abc")).assign(y=y).to_parquet(tmp_path / "t.parquet")
            there, beside = fenchel.scan(tmp_path / "t.parquet", target="y"), None
        case "npy":
            np.save(tmp_path / "t.npy", np.column_stack([X, y]))
            there, beside = fenchel.scan(tmp_path / "t.npy", target=3), None
        case "dask":
            da = pytest.importorskip("dask.array")
            there, beside = da.from_array(X, chunks=(900, 3)), da.from_array(y, chunks=700)
        case "torch":
            torch = pytest.importorskip("torch")
            there, beside = torch.from_numpy(X), torch.from_numpy(y)
    model = cls(5, weights="distance").fit(there, beside)
    np.testing.assert_array_equal(np.asarray(model.predict(there)), expected)
    for a, b in zip(model.kneighbors(there), reference.kneighbors(X), strict=True):
        np.testing.assert_array_equal(a, b)
    risk = certify(reference, X, y).value
    assert certify(model, there, beside).value == pytest.approx(risk, rel=1e-12)


def test_labels_of_a_file(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.where(X[:, 0] > 0, "yes", "no")
    pd.DataFrame(X, columns=["a", "b"]).assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    with fenchel.scan(tmp_path / "t.csv", target="y") as table:
        model = KNeighborsClassifier(3).fit(table)
        X = pd.DataFrame(X, columns=["a", "b"])
        assert model.classes_.tolist() == ["no", "yes"] and set(model.predict(table)) <= set(y)
        risk = np.mean(model.predict(None) != y)
        assert certify(model, table).value == certify(model, X, y).value == pytest.approx(risk)
        risk = np.mean(model.predict(X[:40]) != y[:40])
        assert certify(model, X[:40], y[:40]).value == pytest.approx(risk)


@pytest.mark.parametrize("cls", [KNeighborsClassifier, KNeighborsRegressor])
def test_on_the_rows_of_the_fit_certify_leaves_each_out(cls):
    """As in the certificate; on any other rows, targets or weights it is the error there."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(80, 3)), rng.integers(0, 3, 80)
    s = rng.integers(0, 3, 80).astype(float)
    for weight in (None, s):
        for k in ("auto", 4):
            model = cls(k).fit(X, y, weight)
            proof = certify(model, X, y, weight)
            assert proof == model.certificate_ and proof.kind == "exact"
            assert proof.value == pytest.approx(model.leave_one_out()[model.n_neighbors_ - 1])
            used = np.ones(80, bool) if weight is None else s > 0.0
            part = None if weight is None else s[used]
            assert certify(model, X[used], y[used], part).value == proof.value
            w = np.ones(80) if weight is None else s
            away = model.predict(X) - y
            wrong = away != 0 if cls is KNeighborsClassifier else away**2
            other = certify(model, X[::-1], y[::-1], None if weight is None else s[::-1])
            assert other.value == pytest.approx(np.average(wrong, weights=w)) != proof.value
            moved = certify(model, X, np.roll(y, 1), weight).value
            assert moved != proof.value
    full = cls(80).fit(X, y)  # none can be left out
    assert certify(full, X, y).value == pytest.approx(certify(full, X[::-1], y[::-1]).value)


def test_a_certificate_is_computed_when_asked_for_alone():
    """Cross-validation of a given number of neighbours leaves no row out."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = (X[:, 0] > 0.0).astype(int)
    found = fenchel.cross_validate(KNeighborsClassifier(3), X, y, cv=3, return_estimator=True)
    assert all("certificate_" not in vars(model) for model in found.estimators)
    assert certificate_of(KNeighborsClassifier("auto").fit(X, y)) is not None
    assert fenchel.cross_validate(KNeighborsClassifier(40), X, y, cv=3).test["score"].shape == (3,)


def test_precision_of_the_rows_is_kept():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)).astype(np.float32), rng.normal(size=50)
    model = KNeighborsRegressor().fit(X, y)
    assert model.X_fit_.dtype == np.float32 and model.predict(X).dtype == np.float32
    assert KNeighborsRegressor().fit(X.astype(float), y).predict(X).dtype == np.float64


def test_kernels():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), rng.normal(size=80)
    far = fenchel.kernels.Gaussian(0.2)  # falls with the distance: the same order
    a = KNeighborsRegressor(kernel=far).fit(X, y)
    np.testing.assert_allclose(a.predict(X), KNeighborsRegressor().fit(X, y).predict(X))
    distances, numbers = a.kneighbors(X[:5])
    K = far.tile(X[:5], X)
    np.testing.assert_allclose(distances**2, 2.0 - 2.0 * K[np.arange(5)[:, None], numbers])
    for kernel in ("linear", "poly", "laplacian", "cosine", far + 0.1 * fenchel.kernels.Linear()):
        found = KNeighborsRegressor(1, kernel=kernel).fit(X, y)
        np.testing.assert_array_equal(found.predict(X), y)


@pytest.mark.parametrize("cls", [KNeighborsClassifier, KNeighborsRegressor])
def test_more_neighbours_than_rows(cls):
    X, y = np.arange(6.0)[:, None], np.arange(6) % 2
    model = cls(n_neighbors=7).fit(X, y)
    with pytest.raises(ValueError, match="n_neighbors = 7, n_samples_fit = 6, n_samples = 2"):
        model.predict([[0.0], [1.0]])
    with pytest.raises(ValueError, match="n_neighbors = 6, n_samples_fit = 6, n_samples = 6"):
        model.kneighbors(n_neighbors=6)
    with pytest.raises(ValueError, match="n_neighbors = 7, n_samples_fit = 6"):
        model.leave_one_out(7)
    assert cls(n_neighbors=6).fit(X, y).predict([[0.0]]).shape == (1,)
    assert len(cls("auto").fit(X, y).loo_errors_) == 5
    with pytest.raises(ValueError, match=r"n_samples = 1.*give n_neighbors"):
        cls("auto").fit(X[:1], y[:1])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"weights": lambda d: d * np.nan}, "the function weights gave nan for the distance"),
        ({"weights": lambda d: -d - 1.0}, "must be finite and not negative"),
        ({"weights": lambda d: d[0]}, "gave an array of shape"),
        ({"weights": lambda d: 0.0 * d}, "all neighbours of row 0 have weight zero"),
        ({"metric": lambda a, b: np.nan}, "is NaN between row 0 and point 0"),
    ],
)
def test_functions_that_are_wrong(params, message):
    X = np.arange(12.0).reshape(6, 2)
    with pytest.raises(ValueError, match=message):
        KNeighborsRegressor(2, **params).fit(X, X[:, 0]).predict(X)


def test_a_precomputed_matrix_must_be_square():
    with pytest.raises(ValueError, match=r"Precomputed matrix must be square\. Input is a 3x2"):
        NearestNeighbors(metric="precomputed").fit(np.ones((3, 2)))
    D = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))
    a = KNeighborsRegressor(2, metric="precomputed").fit(D, np.arange(5.0), [1, 0, 1, 1, 1])
    assert a.predict(D).tolist() == [1.0, 1.0, 2.5, 2.5, 3.5]


def test_one_class_is_an_answer():
    model = KNeighborsClassifier(1).fit([[0.0], [1.0]], ["a", "a"])
    assert model.predict([[3.0]]).tolist() == ["a"] and model.certificate_.value == 0.0


def test_a_refit_forgets_the_errors_of_the_last_one():
    X, y = np.arange(8.0)[:, None], np.arange(8) % 2
    model = KNeighborsClassifier("auto").fit(X, y)
    assert model.loo_errors_.shape == (7,)
    model.set_params(n_neighbors=1).fit(X, y)
    assert "loo_errors_" not in vars(model) and model.n_neighbors_ == 1


def test_the_nearest_neighbour_rule_stays_below_twice_the_bayes_risk():
    """Cover and Hart: R* ≤ R ≤ 2 R*(1 - R*) for one neighbour, in the limit; and the rule chosen by
    leave-one-out comes near R*."""
    law = GaussianClasses([[0.0, 0.0], [1.6, 0.0]])
    X, y = law.sample(6000, random_state=0)
    bayes = float(law.bayes_risk())
    one = KNeighborsClassifier(1).fit(X, y).certificate_.value
    noise = 3.0 * np.sqrt(one * (1.0 - one) / 6000)
    assert bayes - noise <= one <= 2.0 * bayes * (1.0 - bayes) + noise
    best = KNeighborsClassifier("auto").fit(X, y).certificate_.value
    assert best <= bayes + 3.0 * np.sqrt(bayes / 6000) and best < one
