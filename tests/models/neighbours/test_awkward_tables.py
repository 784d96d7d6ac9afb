"""Neighbours and local averages on awkward tables: ties by every route, metrics, few rows."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import fenchel
from fenchel import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    NadarayaWatson,
    NadarayaWatsonClassifier,
    NearestNeighbors,
)
from fenchel.data.blocks import Block
from fenchel.data.in_memory import ArrayBlocks
from fenchel.geometry.search.search import UndefinedDistance
from fenchel.score.validation.run import FoldFailed

VOTING = [KNeighborsClassifier, KNeighborsRegressor]
SMOOTH = [NadarayaWatson, NadarayaWatsonClassifier]


def squared(a, b):
    return float(((a - b) ** 2).sum())


def votes_by_definition(X, y, Q, k):
    """Equal distances go to the lower number, equal votes to the smallest class."""
    found = []
    for q in Q:
        order = np.argsort(((X - q) ** 2).sum(axis=1), kind="stable")[:k]
        labels, counts = np.unique(y[order], return_counts=True)
        found.append(labels[counts.argmax()])
    return np.array(found)


def routes(X, Q):
    """(estimator's parameters, its rows, the questions) that all have the same distances."""
    D = ((Q[:, None] - X) ** 2).sum(axis=2)
    own = ((X[:, None] - X) ** 2).sum(axis=2)
    for algorithm in ("auto", "brute", "kd_tree", "ball_tree"):
        yield {"algorithm": algorithm}, X, Q
    yield {}, np.asfortranarray(X), Q[::-1][::-1]
    yield {}, sparse.csr_array(X), sparse.csr_array(Q)
    yield {}, X, sparse.csr_array(Q)
    yield {}, X.astype(np.float32), Q.astype(np.float32)
    yield {"metric": "sqeuclidean"}, X, Q
    yield {"metric": squared}, X, Q
    yield {"metric": "precomputed"}, own, D
    yield {"kernel": "linear"}, X, Q
    # Columns that are zero make the dimension high: tiles of products in place of the tree.
    yield {}, np.pad(X, ((0, 0), (0, 40))), np.pad(Q, ((0, 0), (0, 40)))


@given(seed=st.integers(0, 10**6), k=st.integers(1, 12), d=st.integers(1, 3))
@settings(max_examples=25)
def test_ties_of_votes_go_to_the_smallest_class_by_every_route(seed, k, d):
    """Whole numbers: every distance is exact, and many are equal."""
    rng = np.random.default_rng(seed)
    X, Q = rng.integers(-2, 3, (40, d)).astype(float), rng.integers(-2, 3, (25, d)).astype(float)
    y = np.array(["d", "a", "c", "b"])[rng.integers(0, 4, 40)]
    wanted = votes_by_definition(X, y, Q, k)
    for parameters, rows, questions in routes(X, Q):
        model = KNeighborsClassifier(k, **parameters).fit(rows, y)
        np.testing.assert_array_equal(model.predict(questions), wanted)
        shares = model.predict_proba(questions)
        assert shares.dtype == (np.float32 if rows.dtype == np.float32 else np.float64)
        np.testing.assert_array_equal(model.classes_[shares.argmax(axis=1)], wanted)


def test_more_rows_at_one_distance_than_are_asked_for():
    """The first rows count, wherever the others stand, and each row's own is left out by number."""
    X, y = np.zeros((30, 2)), np.arange(30) % 3
    for metric in ("euclidean", "manhattan", squared):
        model = KNeighborsClassifier(4, metric=metric).fit(X, y)
        assert model.kneighbors([[0.0, 0.0]])[1].tolist() == [[0, 1, 2, 3]]
        assert model.predict([[0.0, 0.0]]).tolist() == [0]
        assert model.kneighbors(n_neighbors=3)[1][1].tolist() == [0, 2, 3]
        # Rows 0, 1 and 2 see 1, 2, 0, 1 and 0, 2, 0, 1 and 0, 1, 0, 1: the last is a tie.
        assert model.predict(None)[:3].tolist() == [1, 0, 0]


@pytest.mark.parametrize("kind", VOTING)
def test_as_many_neighbours_as_rows_and_more(kind):
    X, y = np.arange(6.0)[:, None], np.array([0, 0, 0, 1, 1, 2])
    for k in (6, 7):
        model = kind(k).fit(X, y)
        with pytest.raises(ValueError, match=rf"n_neighbors = {k}, n_samples_fit = "):
            model.predict(None)
        with pytest.raises(ValueError, match=r"leaving one out leaves 5 neighbours"):
            _ = model.certificate_
    with pytest.raises(ValueError, match="n_neighbors = 7, n_samples_fit = 6"):
        kind(7).fit(X, y).predict(X)
    assert kind(6).fit(X, y).predict(X[:2]).tolist() == pytest.approx(
        [0, 0] if kind is KNeighborsClassifier else [y.mean()] * 2
    )
    for wrong, message in ((0, "Got 0"), (-1, "Got -1"), (2.5, "integer")):
        with pytest.raises((TypeError, ValueError), match=message):
            kind(2).fit(X, y).leave_one_out(wrong)
    with pytest.raises(ValueError, match="leaving one out leaves 5"):
        kind(2).fit(X, y).leave_one_out(6)
    assert len(kind(2).fit(X, y).leave_one_out()) == 5


@pytest.mark.parametrize("kind", SMOOTH)
@pytest.mark.parametrize("bandwidth", [0.0, -1.0, np.nan, np.inf, "silverman", None])
def test_bandwidths_that_are_none(kind, bandwidth):
    X, y = np.arange(6.0)[:, None], np.arange(6) % 2
    with pytest.raises(ValueError, match="'bandwidth' parameter"):
        kind(bandwidth=bandwidth).fit(X, y)
    with pytest.raises(ValueError, match="bandwidths"):
        kind(bandwidths=[1.0, bandwidth if bandwidth not in ("silverman", None) else -2.0]).fit(
            X, y
        )


def spoiled(a, b):
    return np.nan if a[0] == 77.0 and b[0] == 3.0 else abs(a[0] - b[0])


def test_a_metric_that_is_nan_names_the_pair_of_rows():
    P, y = np.arange(8.0)[:, None], np.arange(8) % 2
    Q = np.zeros((50_000, 1))
    Q[43_210] = 77.0
    pair = "between row {} and point 3: take another metric"
    for kind in VOTING:
        model = kind(2, metric=spoiled).fit(P, y)
        with pytest.raises(
            UndefinedDistance, match=r"<function spoiled> is NaN " + pair.format(43210)
        ):
            model.predict(Q)
        # Rows without weight are no points: the others keep their numbers.
        part = kind(1, metric=spoiled).fit(P, y, [0, 0, 0, 1, 1, 1, 1, 1])
        with pytest.raises(UndefinedDistance, match=pair.format(0)):
            part.predict([[77.0]])
    own = P.copy()
    own[6] = 77.0
    for call in (
        lambda: KNeighborsClassifier("auto", metric=spoiled).fit(own, y),
        lambda: KNeighborsRegressor(2, metric=spoiled).fit(own, y).leave_one_out(3),
        lambda: KNeighborsRegressor(2, metric=spoiled).fit(own, y).predict(None),
        lambda: NearestNeighbors(n_neighbors=2, metric=spoiled).fit(own).kneighbors(),
        lambda: NearestNeighbors(radius=2.0, metric=spoiled).fit(own).radius_neighbors(),
        lambda: KNeighborsRegressor("auto", metric=spoiled).fit(own, y, [0, 1, 0, 1, 1, 0, 1, 1]),
    ):
        with pytest.raises(UndefinedDistance, match=pair.format(6)) as found:
            call()
    again = pickle.loads(pickle.dumps(found.value))
    assert (again.row, again.point, str(again)) == (6, 3, str(found.value))
    # Rows that come block by block are numbered through.
    blocks = ArrayBlocks(Block(0, Q))
    blocks.rows = 1000
    with pytest.raises(UndefinedDistance, match=pair.format(43210)):
        KNeighborsRegressor(2, metric=spoiled).fit(P, y).predict(blocks)


def test_metrics_that_are_no_numbers():
    X, y = np.arange(12.0).reshape(6, 2), np.arange(6)
    for value in ("far", None, [1.0, 2.0]):
        model = KNeighborsRegressor(2, metric=lambda a, b, value=value: value).fit(X, y)
        with pytest.raises(ValueError, match="for two rows: a distance must be one number"):
            model.predict(X)


def test_given_distances_are_dense_and_not_negative():
    D, y = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0))), np.arange(6) % 2
    model = KNeighborsClassifier(2, metric="precomputed").fit(D, y)
    with pytest.raises(ValueError, match=r"Negative values.*row 2 and point 4 is -2"):
        KNeighborsClassifier(2, metric="precomputed").fit(
            np.where(np.arange(36).reshape(6, 6) == 16, -D, D), y
        )
    with pytest.raises(ValueError, match=r"-1, which is negative, between row 0 and point 0"):
        model.predict(D - 1.0)
    for call in (
        lambda: model.predict(sparse.csr_array(D)),
        lambda: NearestNeighbors(metric="precomputed").fit(sparse.csr_array(D)),
        lambda: KNeighborsRegressor(metric="precomputed").fit(sparse.csr_array(D), y),
    ):
        with pytest.raises(ValueError, match="a sparse matrix leaves some out"):
            call()


@pytest.mark.parametrize("kind", [KNeighborsClassifier, NadarayaWatsonClassifier])
def test_a_class_of_one_row_and_a_class_missing_in_a_fold(kind):
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(40, 2)), [[9.0, 9.0]]]
    y = np.r_[np.repeat(["a", "b"], 20), ["rare"]]
    model = kind().fit(X, y)
    assert model.classes_.tolist() == ["a", "b", "rare"]
    assert kind(**({"n_neighbors": 1} if kind is KNeighborsClassifier else {})).fit(X, y).predict(
        [[9.0, 9.0]]
    ).tolist() == ["rare"]
    with pytest.raises(ValueError, match="has no row of class 'rare' to fit on"):
        fenchel.cross_validate(kind(), X, y, cv=[(np.arange(40), [40])], scoring="accuracy")
    with pytest.warns(FoldFailed):
        fenchel.cross_validate(
            kind(), X, y, cv=[(np.arange(40), [40]), (np.arange(41), np.arange(9))], error_score=0.0
        )


@pytest.mark.parametrize("kind", [*VOTING, *SMOOTH])
@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_scales_of_rows_and_targets(kind, scale):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 3, 60)
    auto = {"n_neighbors": "auto"} if kind in VOTING else {}
    model, far = kind(**auto).fit(X, y), kind(**auto).fit(X * scale, y)
    np.testing.assert_allclose(far.predict(X * scale), model.predict(X), rtol=1e-9)
    if kind in (KNeighborsRegressor, NadarayaWatson):
        for unit in (scale, scale**2 * (1e50 if scale < 1.0 else 1e-50)):
            tall = kind(**auto).fit(X, y * unit)
            np.testing.assert_allclose(tall.predict(X), model.predict(X) * unit, rtol=1e-9)


def test_errors_and_standard_errors_are_means_over_the_rows():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(50, 2)), rng.integers(0, 3, 50)
    for kind in VOTING:
        model = kind(3).fit(X, y)
        found, spread = model.leave_one_out(49, return_std=True)
        away = model.predict(None) - y
        each = 1.0 * (away != 0) if kind is KNeighborsClassifier else away.astype(float) ** 2
        assert found[2] == pytest.approx(each.mean())
        assert spread[2] == pytest.approx(each.std(ddof=1) / np.sqrt(50))
        np.testing.assert_array_equal(found, model.leave_one_out(49))
        # A weight of two is two rows.
        s = rng.integers(1, 3, 50)
        twice = kind(3).fit(np.repeat(X, s, axis=0), np.repeat(y, s))
        once = kind(3).fit(X, y, s)
        for a, b in zip(
            once.leave_one_out(9, return_std=True),
            twice.leave_one_out(9, return_std=True),
            strict=True,
        ):
            np.testing.assert_allclose(a, b, rtol=1e-9)
        auto = kind("auto").fit(X, y)
        np.testing.assert_array_equal(auto.loo_standard_errors_, spread[: len(auto.loo_errors_)])
    model = NadarayaWatson(bandwidth=0.7).fit(X, y)
    found, spread = model.leave_one_out([0.5, 0.7], return_std=True)
    left = [
        NadarayaWatson(bandwidth=0.7)
        .fit(np.delete(X, i, 0), np.delete(y, i))
        .predict(X[i : i + 1])[0]
        for i in range(50)
    ]
    each = (np.array(left) - y) ** 2
    assert (found[1], spread[1]) == (
        pytest.approx(each.mean()),
        pytest.approx(each.std(ddof=1) / np.sqrt(50)),
    )
