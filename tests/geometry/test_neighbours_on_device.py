"""Neighbours by half precision with a float64 decision, run here by torch on the host: the answer
of the host to the bit."""

from __future__ import annotations

import numpy as np
import oracles.geometry as naive
import pytest
from sklearn import config_context

from fenchel import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors
from fenchel.geometry.search import euclidean, on_device
from fenchel.geometry.search.on_device import DevicePoints
from fenchel.models.neighbours import neighbourhood, training_rows

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def tables(m, n, d, seed):
    rng = np.random.default_rng(seed)
    X, Q = rng.standard_normal((m, d)), rng.standard_normal((n, d))
    middles = rng.standard_normal((5, d)) * 3.0
    near = 1.0 + 2.0**-20 * rng.integers(0, 5, (m, d))
    far = Q.copy()
    far[:3] *= 1e6
    scales = 10.0 ** np.linspace(-6, 4, d)
    return {
        "normal": (X, Q),
        "on a grid": (np.round(X), np.round(Q)),
        "copies": (X[rng.integers(0, 4, m)], X[:n]),
        "equal": (np.ones((m, d)), Q),
        "tight clusters": (middles[rng.integers(0, 5, m)] + 1e-4 * X, middles[:1] + 1e-4 * Q),
        "neighbouring numbers": (near, near[:n]),
        "far from zero": (X + 1e5, Q + 1e5),
        "rows far out": (X, far),
        "columns of all scales": (X * scales, Q * scales),
        "heavy tails": (rng.standard_cauchy((m, d)), rng.standard_cauchy((n, d))),
    }


@pytest.mark.parametrize("kind", list(tables(9, 3, 2, 0)))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_naive_search(kind, dtype, global_random_seed, monkeypatch):
    monkeypatch.setattr(on_device, "ROWS", 37)
    for d, k in ((1, 2), (5, 3), (16, 1), (37, 9)):
        X, Q = (v.astype(dtype) for v in tables(4500, 50, d, global_random_seed)[kind])
        expected = naive.nearest(Q, X, k)
        for half in (True, False):
            made = DevicePoints(torch.from_numpy(X), half)
            for a, b in zip(made.nearest(torch.from_numpy(Q), k), expected, strict=True):
                np.testing.assert_array_equal(a.numpy(), b)


def test_few_points_are_scored_again():
    """Of rows without structure products in half precision leave open little more than k points."""
    rng = np.random.default_rng(0)
    X, Q = rng.standard_normal((30_000, 64)), rng.standard_normal((200, 64))
    made = DevicePoints(torch.from_numpy(X), True)
    rows, points, crowded = made._by_halves(torch.from_numpy(Q), 10)
    assert len(rows) == len(points) < 200 * 14 and not len(crowded)


def test_every_near_point_is_scored_again(global_random_seed):
    """Points whose spread is small beside their size: halves tell few of them apart."""
    rng = np.random.default_rng(global_random_seed)
    X = 1.0 + 0.02 * rng.standard_normal((9000, 24))
    X[0] = -60.0
    Q = X[1:60] + 0.001 * rng.standard_normal((59, 24))
    made = DevicePoints(torch.from_numpy(X), True)
    numbers, _ = naive.nearest(Q, X, 5)
    rows, points, crowded = made._by_halves(torch.from_numpy(Q), 5)
    found = set(zip(rows.tolist(), points.tolist(), strict=True))
    for i in set(range(59)) - set(crowded.tolist()):
        assert {(i, j) for j in numbers[i].tolist()} <= found


@pytest.fixture
def accelerator(monkeypatch):
    """Tensors of the host as if they were on an accelerator; how many searches ran there."""
    for module in (euclidean, neighbourhood, training_rows):
        monkeypatch.setattr(module, "on_accelerator", torch.is_tensor)
    seen = []
    nearest = DevicePoints.nearest

    def noted(self, Q, k):
        seen.append(len(Q))
        return nearest(self, Q, k)

    monkeypatch.setattr(DevicePoints, "nearest", noted)
    return seen


def test_estimators(accelerator):
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((900, 4)).astype(np.float32), rng.integers(0, 3, 900)
    Q = rng.standard_normal((70, 4)).astype(np.float32)
    there, asked, labels = torch.from_numpy(X.copy()), torch.from_numpy(Q), torch.from_numpy(y)
    model, reference = (NearestNeighbors(n_neighbors=4).fit(rows) for rows in (there, X))
    distances, numbers = model.kneighbors(asked)
    assert torch.is_tensor(distances) and torch.is_tensor(numbers) and accelerator == [70]
    for a, b in zip((distances, numbers), reference.kneighbors(Q), strict=True):
        np.testing.assert_array_equal(a.numpy(), b)
    for a, b in zip(model.kneighbors(), reference.kneighbors(), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(
        model.kneighbors_graph(asked).toarray(), reference.kneighbors_graph(Q).toarray()
    )
    np.testing.assert_array_equal(reference.kneighbors(asked)[1].numpy(), numbers.numpy())
    found, expected = (m.radius_neighbors(q, 0.7) for m, q in ((model, asked), (reference, Q)))
    for a, b in zip(found[1], expected[1], strict=True):
        np.testing.assert_array_equal(a, b)
    there[:] = 0.0  # what is on the device is the fit's own
    np.testing.assert_array_equal(model.kneighbors(asked)[1].numpy(), numbers.numpy())
    model.fit(Q)  # rows of the host from now on
    np.testing.assert_array_equal(
        model.kneighbors(asked)[1].numpy(), NearestNeighbors(n_neighbors=4).fit(Q).kneighbors(Q)[1]
    )
    there = torch.from_numpy(X)
    for cls in (KNeighborsClassifier, KNeighborsRegressor):
        weight = rng.integers(0, 3, 900).astype(float)
        for s in (None, weight):
            fitted = cls(5, weights="distance").fit(there, labels, s)
            expected = cls(5, weights="distance").fit(X, y, s)
            np.testing.assert_array_equal(
                np.asarray(fitted.predict(asked)), np.asarray(expected.predict(Q))
            )
    chebyshev = NearestNeighbors(n_neighbors=4, metric="chebyshev")
    np.testing.assert_array_equal(
        chebyshev.fit(there).kneighbors(asked)[1].numpy(), chebyshev.fit(X).kneighbors(Q)[1]
    )


@pytest.mark.parametrize("cls", [NearestNeighbors, KNeighborsClassifier, KNeighborsRegressor])
def test_answers_in_the_library_of_the_rows(cls):
    """With scikit-learn's dispatch answers are tensors; the rows that a search reads are not."""
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((200, 3)), rng.integers(0, 2, 200)
    there, labels = torch.from_numpy(X), torch.from_numpy(y)
    expected = cls(n_neighbors=3).fit(X, y)
    with config_context(array_api_dispatch=True):
        model = cls(n_neighbors=3).fit(there, labels)
        assert isinstance(model.X_fit_, np.ndarray)
        distances, numbers = model.kneighbors(there)
        assert torch.is_tensor(distances) and torch.is_tensor(numbers)
        np.testing.assert_array_equal(numbers.numpy(), expected.kneighbors(X)[1])
        np.testing.assert_array_equal(model.kneighbors()[1], expected.kneighbors()[1])
        if cls is not NearestNeighbors:
            predicted = model.predict(there)
            assert torch.is_tensor(predicted)
            np.testing.assert_array_equal(predicted.numpy(), expected.predict(X))
