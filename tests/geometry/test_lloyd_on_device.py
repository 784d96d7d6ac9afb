"""Lloyd's assignment in half precision with a float64 decision, run here by torch on the host."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from fenchel import KMeans  # noqa: E402
from fenchel.data.blocks import Block  # noqa: E402
from fenchel.data.in_memory import ArrayBlocks  # noqa: E402
from fenchel.geometry.lloyd.on_device import DeviceRows, half_product  # noqa: E402
from fenchel.geometry.tiles import Nearest, PairFold  # noqa: E402
from fenchel.models.cluster.lloyd import Lloyd, best_run  # noqa: E402
from fenchel.models.cluster.rows import RowsInMemory, RowsOnDevice  # noqa: E402
from fenchel.models.cluster.seeding import (  # noqa: E402
    kmeans_plus_plus,
    plus_plus_on_device,
)

pytestmark = pytest.mark.torch
N, D, K = 1500, 12, 20


def product(A, B):
    """What tensor cores do: halves in, single precision out."""
    assert A.dtype == B.dtype == torch.float16
    return A.float() @ B.float()


def rows_of(name):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((N, D))
    return {
        "normal": X,
        "near each other, far from zero": 5.0 + 1e-3 * X,
        "groups": 100.0 * X[rng.integers(30, size=N)] + rng.standard_normal((N, D)),
        "lattice": np.round(X),
        "columns of many sizes": X * np.logspace(-6, 4, D),
        "heavy tails": rng.standard_cauchy((N, D)),
        "one column": X[:, :1],
        "tiny": 1e-30 * X,
        "huge": 1e15 * X,
        "constant": np.ones((N, D)),
    }[name]


NAMES = ["normal", "near each other, far from zero", "groups", "lattice", "columns of many sizes"]
NAMES += ["heavy tails", "one column", "tiny", "huge", "constant"]


@pytest.mark.parametrize("half", [product, None], ids=["halves", "doubles"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_labels_are_those_of_float64_distances(name, dtype, half):
    X = np.ascontiguousarray(rows_of(name).astype(dtype))
    rng = np.random.default_rng(4)
    C = X[rng.choice(N, K, replace=False)].copy()
    C[5] = C[7]  # ties go to the lower number
    C[3] = C[2] * dtype(1.0 + 1e-6)
    rows = DeviceRows(torch.from_numpy(X), None, half)
    for centres in (C, (C * dtype(1.001)).astype(dtype)):
        found = rows.assign(centres)
        labels = PairFold.of(centres, Nearest(), X.dtype, None)(X)[0][:, 0]
        assert np.array_equal(rows.labels.numpy(), labels)
        sums = np.zeros((K, X.shape[1]))
        np.add.at(sums, labels, X.astype(np.float64) - rows.middle)
        size = np.abs(X - rows.middle).max()
        assert np.allclose(found.sums, sums, rtol=0.0, atol=1e-9 * size + 1e-300)
        assert np.array_equal(found.counts, np.bincount(labels, minlength=K))
        assert np.array_equal(found.mass, found.counts)
    again = DeviceRows(torch.from_numpy(X), None, half).assign(centres)
    assert np.array_equal(again.sums, found.sums)  # the bits do not depend on the way here


def test_most_rows_are_decided_in_half_precision():
    X = np.random.default_rng(0).standard_normal((4000, 16)).astype(np.float32)
    rows = DeviceRows(torch.from_numpy(X), None, product)
    rows.assign(X[:30])
    assert 0 < rows.open < 400


def test_centres_far_from_the_rows_are_right_too():
    X = np.random.default_rng(0).standard_normal((300, 5)).astype(np.float32)
    C = np.concatenate([X[:3], 1e6 * X[:3]]).astype(np.float32)
    rows = DeviceRows(torch.from_numpy(X), None, product)
    rows.assign(C)
    labels = PairFold.of(C, Nearest(), X.dtype, None)(X)[0][:, 0]
    assert np.array_equal(rows.labels.numpy(), labels)


@pytest.mark.parametrize("weighted", [False, True])
def test_lloyd_ends_where_it_ends_on_the_host(weighted):
    X = rows_of("groups").astype(np.float32)
    s = np.random.default_rng(5).integers(0, 4, N).astype(np.float64) if weighted else None
    held = ArrayBlocks(Block(0, X, None, s), None)
    tensors = Block(0, torch.from_numpy(X), None, None if s is None else torch.from_numpy(s))
    on_device = RowsOnDevice(ArrayBlocks(tensors, None))
    walks = [
        best_run(rows, [X[:K].copy()], Lloyd(), 50) for rows in (RowsInMemory(held), on_device)
    ]
    assert np.array_equal(walks[0].labels, walks[1].labels)
    assert np.allclose(walks[0].solution.point, walks[1].solution.point, rtol=1e-6)
    assert walks[1].value == pytest.approx(walks[0].value, rel=1e-9)


def test_torch_on_the_host_has_no_half_products():
    assert half_product(torch.zeros((2, 2))) is None


def seeds(X, weight, k, seed, trials=None):
    s = None if weight is None else torch.from_numpy(weight.astype(float))
    rng = np.random.default_rng(seed)
    return plus_plus_on_device(torch.from_numpy(X), s, k, rng, trials)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("trials", [None, 1])
def test_seeds_on_a_device_cost_what_those_of_the_host_do(trials, dtype):
    rng = np.random.default_rng(0)
    groups = 10.0 * rng.standard_normal((25, 6))
    X = (1e3 + groups[rng.integers(25, size=2000)] + rng.standard_normal((2000, 6))).astype(dtype)

    def cost(C):
        return ((X[:, None].astype(float) - C[None]) ** 2).sum(axis=-1).min(axis=1).sum()

    def host(seed):
        return kmeans_plus_plus(X, None, 25, np.random.default_rng(seed), trials)

    here = np.mean([cost(seeds(X, None, 25, seed, trials)) for seed in range(12)])
    there = np.mean([cost(host(seed)) for seed in range(12)])
    assert 0.6 < here / there < 1.6


def test_seeds_on_a_device_depend_on_neither_order_nor_repetition():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((900, 4)).astype(np.float32)
    X[5], X[6] = 0.0, -0.0
    found = seeds(X, None, 20, 7)
    assert np.array_equal(found, seeds(X[rng.permutation(900)], None, 20, 7))
    times = rng.integers(0, 4, 900)
    assert np.array_equal(seeds(X, times, 20, 7), seeds(np.repeat(X, times, axis=0), None, 20, 7))


def test_seeds_on_a_device_are_different_rows_or_none():
    X = np.repeat(np.arange(6.0)[:, None] ** 2, 40, axis=0).astype(np.float32)
    assert len(np.unique(seeds(X, None, 6, 0))) == 6
    assert seeds(X, None, 7, 0) is None


def test_a_fit_begins_where_the_rows_lie(monkeypatch):
    from fenchel.models.cluster import kmeans, rows

    X = np.random.default_rng(2).standard_normal((600, 5)).astype(np.float32)
    asked = []

    def remembered(*args):
        asked.append(args[2])
        return plus_plus_on_device(*args)

    for module in (kmeans, rows):
        monkeypatch.setattr(module, "is_on_device", lambda blocks: blocks.on_device)
    monkeypatch.setattr(kmeans, "plus_plus_on_device", remembered)
    model = KMeans(7, prove=False).fit(torch.from_numpy(X))
    assert asked == [7] and len(model.cluster_centers_) == 7
    first = seeds(X, None, 7, 0)
    assert model.inertia_ <= ((X[:, None] - first[None]) ** 2).sum(-1).min(1).sum() * 1.5
