"""The number of clusters: five criteria by their definitions, at any scale, on every home."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from oracles.mixture import held_out_means
from scipy import sparse
from sklearn.mixture import GaussianMixture as Peer

import fenchel
from fenchel import GaussianMixture, KMeans, choose_k, gap_statistic, silhouette
from fenchel.app import choose_k as module
from fenchel.models.mixture.choose_k import (
    fold_codes,
    least_within_error,
    likely_clusters,
    means_and_errors,
)

CORNERS = 6.0 * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
ALL = ("likelihood", "bic", "penalty", "silhouette", "gap")


def blobs(count: int, seed: int = 0, each: int = 50) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(c, 0.7, (each, 2)) for c in CORNERS[:count]])


def test_the_example_is_true():
    doctest.testmod(module, raise_on_error=True)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("method", ["likelihood", "bic", "penalty"])
def test_as_many_as_there_are(method, count):
    for seed in range(3):
        found = choose_k(blobs(count, seed), range(1, 7), method, improve=method == "bic")
        assert (found.k, found.is_clear) == (count, True), seed
    assert found.columns()["k"].tolist() == [1, 2, 3, 4, 5, 6]
    assert found.columns()["chosen"].sum() == 1


@pytest.mark.parametrize("method", ["silhouette", "gap"])
def test_so_say_the_criteria_of_distances(method):
    found = choose_k(blobs(3), range(1, 6), method)
    assert found.k == 3 and found.is_clear


@pytest.mark.parametrize("improve", [False, True])
def test_the_likelihood_is_that_of_the_definition(improve):
    X = blobs(3, each=30)
    found = choose_k(X, (1, 2, 3), improve=improve, folds=4)
    codes = fold_codes(len(X), 4, 0)

    def labels(rows, k):
        return KMeans(k, n_init=4).fit(rows).labels_

    steps = 200 if improve else 0
    expected = [held_out_means(X, codes, labels, k, steps) for k in (1, 2, 3)]
    # The floor of covariances, and where EM stops.
    assert found.values["likelihood"] == pytest.approx(expected, abs=2e-3 if improve else 1e-5)


def test_the_others_are_those_of_the_house():
    X = blobs(3)
    found = choose_k(X, (1, 2, 3, 4), also=ALL)
    columns = found.columns()
    fits = [KMeans(k, n_init=4).fit(X) for k in (1, 2, 3, 4)]
    assert columns["scatter"] == pytest.approx([fit.inertia_ for fit in fits])
    assert np.isnan(columns["silhouette"][0])
    assert columns["silhouette"][2] == pytest.approx(silhouette(X, fits[2].labels_))
    gap = gap_statistic(KMeans(n_init=4), X, (1, 2, 3, 4))
    assert columns["gap_statistic"] == pytest.approx(gap.gap)
    peer = Peer(3, n_init=5, random_state=0).fit(X)
    assert columns["bic"][2] == pytest.approx(peer.bic(X), abs=0.5)
    n = len(X)
    length = n * np.log(fits[0].inertia_ / (2 * n)) + 1.5 * np.log(n)
    assert columns["penalised"][0] == pytest.approx(length)
    tied = choose_k(X, (1, 2, 3, 4), "penalty", penalty=200.0).columns()["penalised"]
    assert tied == pytest.approx([fit.inertia_ + 200.0 * k for k, fit in enumerate(fits, 1)])
    assert found.k == 3 and "held-out" in found.caption()


def test_components_of_a_mixture():
    X = blobs(3)
    model = GaussianMixture(covariance_type="spherical")
    found = choose_k(X, (1, 2, 3, 4), "bic", also=("likelihood", "silhouette"), estimator=model)
    expected = [model.set_params(n_components=k).fit(X).bic(X) for k in (1, 2, 3, 4)]
    assert found.values["bic"] == pytest.approx(expected) and found.k == 3
    assert GaussianMixture("auto", covariance_type="spherical").fit(X).n_components_ == 3


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_no_scale_changes_the_choice(scale):
    X = blobs(3)
    first, found = (choose_k(s * X, (2, 3, 4), also=ALL) for s in (1.0, scale))
    n, moved = len(X), 2.0 * np.log(scale)
    assert found.k == first.k == 3
    # Starts are drawn by the bits of the rows: partitions into a wrong number may differ a little.
    near = {"rel": 1e-3, "abs": 1e-2}
    for name, change in (("likelihood", -moved), ("bic", 2 * n * moved), ("penalty", n * moved)):
        assert found.values[name] == pytest.approx(first.values[name] + change, **near)
        assert found.values[name][1] == pytest.approx(first.values[name][1] + change, rel=1e-5)
    for name in ("silhouette", "gap"):
        assert found.values[name] == pytest.approx(first.values[name], abs=0.05)


def test_weights_and_homes(tmp_path):
    X = blobs(3)
    first = choose_k(X, (1, 2, 3, 4), also=("bic", "penalty"))
    doubled = choose_k(X, (1, 2, 3, 4), "bic", sample_weight=np.full(len(X), 2.0))
    again = choose_k(np.repeat(X, 2, axis=0), (1, 2, 3, 4), "bic")
    assert doubled.values["bic"] == pytest.approx(again.values["bic"], rel=1e-4)
    more = np.concatenate([X, 100.0 + X])
    s = np.repeat([1.0, 0.0], len(X))
    none = choose_k(more, (1, 2, 3, 4), also=("bic", "penalty"), sample_weight=s)
    assert none.values["likelihood"] == pytest.approx(first.values["likelihood"])
    np.save(tmp_path / "rows.npy", X)
    for rows in (X.tolist(), np.asfortranarray(X), fenchel.scan(tmp_path / "rows.npy")):
        found = choose_k(rows, (1, 2, 3, 4), also=("bic", "penalty"))
        assert all(np.array_equal(found.values[m], first.values[m]) for m in found.values)
    thin = choose_k(sparse.csr_array(X), (1, 2, 3, 4), also=("penalty",))
    assert thin.values["penalty"] == pytest.approx(first.values["penalty"])
    assert thin.values["likelihood"] == pytest.approx(first.values["likelihood"])
    with fenchel.threads(1):
        alone = choose_k(X, (1, 2, 3, 4), also=("bic", "penalty"))
    assert all(np.array_equal(alone.values[m], first.values[m]) for m in alone.values)
    assert choose_k(X.astype(np.float32), (1, 2, 3, 4)).k == 3
    some = choose_k(blobs(3, each=400), (2, 3, 4), "silhouette", max_rows=200)
    assert some.k == 3 and 150 < some.rows < 400


def test_tables_with_little_in_them():
    two = np.repeat([[0.0], [1.0]], 20, axis=0)
    found = choose_k(two, (1, 2, 3), "penalty", also=("bic", "likelihood", "silhouette", "gap"))
    assert found.k == 2 and np.isfinite(found.values["bic"]).all()
    assert found.values["silhouette"][1] == 1.0
    assert choose_k(np.ones((20, 2)), (1, 2), also=("bic", "penalty")).k == 1
    last = choose_k(blobs(4), (1, 2), "silhouette")
    assert not last.is_clear and "more may be better" in last.caption()
    few = choose_k(blobs(1, each=6), (1, 2, 6))
    assert few.values["likelihood"][2] == -np.inf and few.k == 1


def test_of_equal_numbers_the_least():
    logs = np.random.default_rng(0).normal(size=(500, 1)) + np.array([0.0, 1e-3, 1.0, 1.001])
    logs[:, 3] += 0.05 * np.random.default_rng(1).normal(size=500)
    means, errors = means_and_errors(logs, np.ones(500))
    assert least_within_error(means, errors) == 2
    twice, same = means_and_errors(np.repeat(logs, 2, axis=0), np.ones(1000))
    weighed = means_and_errors(logs, np.full(500, 2.0))
    assert weighed[0] == pytest.approx(twice) and weighed[1] == pytest.approx(same)


def test_clusters_for_auto():
    from fenchel.data.intake import as_blocks

    assert [likely_clusters(KMeans(n_init=4), as_blocks(blobs(c))) for c in (1, 2, 3)] == [1, 2, 3]
    assert likely_clusters(KMeans(), as_blocks(blobs(1)[:3])) == 1


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: choose_k(np.eye(3), (2, 1)), "counts must be whole numbers"),
        (lambda: choose_k(np.eye(3), (0, 1)), "counts must be whole numbers"),
        (lambda: choose_k(np.eye(3), (1, 4), "bic"), "4 clusters need as many rows of weight"),
        (lambda: choose_k(np.eye(3), (1, 2), "elbow"), "method must be one of likelihood, bic"),
        (lambda: choose_k(np.eye(3), (1,), "silhouette"), "a number of 2 or more"),
        (lambda: choose_k(np.eye(3), (1, 2)), "4 rows or more"),
        (lambda: choose_k(np.eye(3), (1, 2), penalty=-1.0), "penalty must not be negative"),
        (lambda: choose_k(np.eye(9), (1, 2), folds=1), "folds must be"),
        (lambda: choose_k(np.eye(9), (1, 2), max_rows=1.5), "max_rows must be"),
        (lambda: choose_k([[np.nan], [1.0]], (1,)), "NaN"),
        (
            lambda: choose_k(np.eye(3), (1, 2), "gap", sample_weight=[1.0, 2.0, 3.0]),
            "takes no weights",
        ),
    ],
)
def test_faults_are_named(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_other_estimators_are_refused():
    from sklearn.cluster import KMeans as Other

    with pytest.raises(TypeError, match="must be a KMeans or a GaussianMixture"):
        choose_k(np.eye(3), (1, 2), estimator=Other())
    with pytest.raises(TypeError, match="needs dense rows"):
        choose_k(sparse.eye_array(9, format="csr"), (1, 2), "bic", estimator=GaussianMixture())
