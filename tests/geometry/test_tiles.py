"""Pairs of rows and points: what is decided is what a float64 search over all pairs decides."""

from __future__ import annotations

import inspect

import numpy as np
import oracles.geometry as naive
import pytest
from geometry.cases import FOLDS
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from fenchel.data.blocks import threads
from fenchel.data.intake import as_blocks
from fenchel.geometry import tiles as module
from fenchel.geometry.distance import (
    LANES,
    Points,
    absolute_distances,
    bound_factor,
    squared_distances,
)
from fenchel.geometry.kernel.vector_kernels import Gaussian
from fenchel.geometry.tiles import (
    Count,
    LogSumExp,
    Nearest,
    PairFold,
    Tile,
    WeightedSum,
    fold_pairs,
)

SMALL = Tile(rows=16, points=33)


def clouds(rng, n, m, d, dtype, offset=0.0):
    """Rows and points with duplicates, exact ties and rows that are points."""
    X, P = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    X[: n // 2] = np.round(X[: n // 2] * 4.0) / 4.0
    P[: m // 2] = np.round(P[: m // 2] * 4.0) / 4.0
    P[m // 3] = P[1]
    P[m // 2] = P[0]
    X[0], X[1], X[-1] = P[0], P[m // 3], P[-1]
    return (X + offset).astype(dtype), (P + offset).astype(dtype)


def agrees(X, P, k, tile=None, dtype=np.float32):
    numbers, squares = fold_pairs(X, P, Nearest(k, dtype), tile=tile)
    expected = naive.nearest(X, P, k)
    np.testing.assert_array_equal(numbers, expected[0])
    np.testing.assert_array_equal(squares, expected[1])


def test_every_fold_is_a_case():
    found = {type(case) for case in FOLDS}
    defined = {
        value
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, module.TileFold)
    }
    assert found == {kind for kind in defined if not inspect.isabstract(kind)}


@pytest.mark.parametrize("d", [1, 2, 3, 7, 16, 17, 31, 32, 33, 64, 100, 200])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_nearest_is_the_naive_search(d, dtype, offset):
    rng = np.random.default_rng(d)
    X, P = clouds(rng, 70, 150, d, dtype, offset)
    for k in (1, 5, 150):
        agrees(X, P, k)
        agrees(X, P, k, SMALL)
        agrees(X, P, k, dtype=np.float64)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    d=st.integers(1, 40),
    m=st.integers(1, 90),
    n=st.integers(1, 40),
    grid=st.sampled_from([0.0, 0.5, 1e-7]),
    scale=st.sampled_from([1e-120, 1e-20, 1.0, 1e20, 1e120]),
    single=st.booleans(),
)
def test_ties_scales_and_near_ties(seed, d, m, n, grid, scale, single):
    """Points on a grid tie exactly; points 1e-7 apart are beyond float32."""
    rng = np.random.default_rng(seed)
    X, P = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    if grid == 1e-7:
        P = P[:1] + 1e-7 * P
    elif grid > 0.0:
        X, P = np.round(X / grid) * grid, np.round(P / grid) * grid
    X, P = X * scale, P * scale
    if single and 1e-21 < scale < 1e21:
        X, P = X.astype(np.float32), P.astype(np.float32)
    k = int(rng.integers(1, m + 1))
    agrees(X, P, k, Tile(rows=16, points=int(rng.integers(1, 64))))
    radius = float(np.sqrt(np.median(naive.squared_distances(X, P))))
    np.testing.assert_array_equal(fold_pairs(X, P, Count(radius)), naive.count(X, P, radius))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [5, 40])
def test_counts(d, dtype):
    rng = np.random.default_rng(5)
    X, P = clouds(rng, 90, 200, d, dtype)
    every = np.sqrt(np.unique(naive.squared_distances(X, P)))
    for radius in (0.0, *every[:: len(every) // 12], 100.0):
        for tile in (None, SMALL):
            found = fold_pairs(X, P, Count(float(radius)), tile=tile)
            np.testing.assert_array_equal(found, naive.count(X, P, float(radius)))


def test_counts_at_the_very_distance():
    """d² ≤ radius² where both are the same number."""
    P = np.zeros((1, 30))
    X = np.zeros((4, 30))
    X[:, 0] = [0.5, np.nextafter(0.5, 1.0), np.nextafter(0.5, 0.0), 2.0]
    np.testing.assert_array_equal(fold_pairs(X, P, Count(0.5)), [1, 0, 1, 0])
    P = np.concatenate([P, np.ones((1, 30))])
    np.testing.assert_array_equal(fold_pairs(X, P, Count(0.5)), [1, 0, 1, 0])


@pytest.mark.parametrize("d", [3, 50])
def test_layouts_and_containers_have_the_same_bits(d):
    rng = np.random.default_rng(6)
    X, P = clouds(rng, 300, 80, d, np.float32)
    X[np.abs(X) < 0.5], P[np.abs(P) < 0.5] = 0.0, 0.0
    expected = fold_pairs(X, P, Nearest(4))
    frozen = X.copy()
    frozen.flags.writeable = False
    whole = np.round(X * 4.0).astype(np.int64)
    variants = [
        (np.asfortranarray(X), np.asfortranarray(P)),
        (csr_array(X), csr_array(P)),
        (X.astype(np.float64), P),
        (np.repeat(X, 2, axis=0)[::2], P),
        (frozen, P),
    ]
    for rows, points in variants:
        found = fold_pairs(rows, points, Nearest(4))
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)
    assert X.flags.writeable and P.flags.writeable
    np.testing.assert_array_equal(fold_pairs(whole, P, Nearest())[0], naive.nearest(whole, P, 1)[0])


@pytest.mark.parametrize("fold", FOLDS, ids=lambda fold: repr(fold)[:40])
@pytest.mark.parametrize("d", [4, 40])
def test_the_same_bits_for_any_number_of_threads(fold, d):
    rng = np.random.default_rng(7)
    X, P = clouds(rng, 1100, 60, d, np.float64)
    answers = []
    for count in (1, 2, 3, 7):
        with threads(count):
            answers.append(fold_pairs(X, P, fold))
    for answer in answers[1:]:
        for a, b in zip(np.atleast_1d(answers[0]), np.atleast_1d(answer), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("d", [2, 33])
def test_sums(d):
    rng = np.random.default_rng(8)
    X, P = clouds(rng, 300, 700, d, np.float32)
    v, logits = rng.normal(size=(700, 2)), 5.0 * rng.normal(size=700)
    K = np.exp(-0.3 * naive.squared_distances(X, P))
    for weights in (v, v[:, 0]):
        found = fold_pairs(X, P, WeightedSum(Gaussian(0.3), weights))
        np.testing.assert_allclose(found, K @ weights, rtol=1e-11, atol=1e-11)
    sparse = fold_pairs(csr_array(X), csr_array(P), WeightedSum(Gaussian(0.3), v))
    np.testing.assert_allclose(sparse, K @ v, rtol=1e-11, atol=1e-11)
    for tile in (None, SMALL):
        found = fold_pairs(X, P, LogSumExp(2.0, logits), tile=tile)
        np.testing.assert_allclose(found, naive.log_sum_exp(X, P, 2.0, logits), rtol=1e-11)
    # Points of no weight, one after another, and rows so far away that every term underflows.
    logits[:600] = -np.inf
    found = fold_pairs(X + 1e3, P, LogSumExp(2.0, logits))
    np.testing.assert_allclose(
        found, naive.log_sum_exp(X + np.float32(1e3), P, 2.0, logits), rtol=1e-6
    )
    assert (fold_pairs(X, P, LogSumExp(1.0, np.full(700, -np.inf))) == -np.inf).all()


@pytest.mark.parametrize("d", [3, LANES, LANES + 1, 90])
def test_distances(d):
    rng = np.random.default_rng(9)
    X, P = clouds(rng, 40, 50, d, np.float64, 1e4)
    found = squared_distances(X, P)
    exact = naive.squared_distances(X, P)
    np.testing.assert_allclose(found, exact, rtol=64.0 * bound_factor(d, np.float64))
    assert (found[exact == 0.0] == 0.0).all() and (found >= 0.0).all()
    city = np.abs(X[:, None] - P[None]).sum(axis=2)
    np.testing.assert_allclose(absolute_distances(X, P), city, rtol=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [17, 60, 300])
def test_the_bound_is_below_every_distance(d, dtype):
    """The inequality of `distance`, checked in extended precision on clouds of all shapes."""
    rng = np.random.default_rng(10)
    shapes = (1.0, 10.0 ** rng.uniform(-6, 6, d), 10.0 ** rng.uniform(-4, 4, (50, 1)))
    for spread in shapes:
        P = spread * rng.normal(size=(50, d))
        X = np.concatenate([P + 1e-6 * np.abs(P) * rng.normal(size=P.shape), P[::-1]])
        ready = Points.of(P, dtype).products
        Z = ((X - ready.centre) * ready.scale).astype(ready.doubled.dtype)
        base = (Z.astype(np.float64) ** 2).sum(axis=1) * (1.0 - ready.slack)
        below = base[:, None] + (Z @ ready.doubled.T + ready.norms).astype(np.float64)
        wide = np.longdouble
        true = ((X.astype(wide)[:, None] - P.astype(wide)[None]) ** 2).sum(axis=2)
        true *= ready.scale**2
        tiny = float(np.finfo(ready.doubled.dtype).tiny) * (4 * d + 16)
        assert (below <= true * (1.0 - (d + 2) * 2.0**-53) + tiny).all()


def test_far_rows_and_equal_points():
    """Beyond the range of products, and where nothing tells points apart."""
    rng = np.random.default_rng(11)
    P = np.concatenate([np.ones((20, 30)), 1.0 + 1e-9 * rng.normal(size=(20, 30))])
    X = np.concatenate([P[:3], 1e30 * rng.normal(size=(3, 30)), 1e8 + P[:2]])
    agrees(X, P, 6)
    agrees(X, P[:20], 6)
    agrees(X, np.zeros((5, 30)), 2)
    outlier = np.concatenate([P, np.full((1, 30), 1e15)])
    agrees(X, outlier, 41)


@pytest.mark.parametrize("d", [2, 20])
@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
def test_bad_numbers_are_named(d, bad):
    X, P = np.ones((5, d)), np.ones((4, d))
    X[3, 1] = bad
    with pytest.raises(ValueError, match="row 3 holds NaN or values whose squares overflow"):
        fold_pairs(X, P, Nearest(2))
    if bad != 1e200:
        with pytest.raises(ValueError, match="row 3 holds NaN"):
            fold_pairs(X, P, Count(1.0))
    else:
        assert fold_pairs(X, P, Count(1.0)).tolist() == [4, 4, 4, 0, 4]
    P[0, 0] = bad
    with pytest.raises(ValueError, match="points hold NaN or values as large as"):
        fold_pairs(np.ones((5, d)), P, Nearest())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Nearest(0), "k must be at least 1"),
        (lambda: Count(-1.0), "radius must be nonnegative"),
        (lambda: LogSumExp(0.0, np.zeros(2)), "rate must be positive"),
        (lambda: fold_pairs(np.ones((3, 2)), np.ones((2, 2)), Nearest(3)), "k=3 neighbours asked"),
        (lambda: fold_pairs(np.ones((3, 2)), np.ones((2, 3)), Nearest()), "rows have 2 columns"),
        (lambda: fold_pairs(np.ones((3, 2)), np.ones((0, 2)), Nearest()), "at least one row"),
        (
            lambda: fold_pairs(np.ones((3, 2)), np.ones((2, 2)), LogSumExp(1.0, np.zeros(3))),
            "logits have 3 entries for 2 points",
        ),
        (
            lambda: fold_pairs(
                np.ones((3, 2)), np.ones((2, 2)), WeightedSum(Gaussian(), np.zeros(3))
            ),
            "v has 3 rows for 2 points",
        ),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_no_rows():
    numbers, squares = fold_pairs(np.ones((0, 3)), np.ones((2, 3)), Nearest())
    assert numbers.shape == squares.shape == (0, 1)


def test_points_prepared_once_serve_every_block():
    """As a statistic of blocks: the answer for the whole, and products in float64 where needed."""
    rng = np.random.default_rng(12)
    X, P = clouds(rng, 900, 80, 30, np.float64)
    P = P[:1] + 1e-6 * P  # beyond float32
    expected = naive.nearest(X, P, 3)
    compare = PairFold.of(P, Nearest(3), X.dtype, None)
    blocks = as_blocks(X)
    parts = blocks.reduce(lambda block: (compare(block.X),))
    for which in (0, 1):
        found = np.concatenate([part[which] for part in parts])
        np.testing.assert_array_equal(found, expected[which])
    single = PairFold.of(P.astype(np.float32), Nearest(), np.dtype(np.float32), None)
    assert single.dtype == np.float32 and compare.dtype == np.float64


def test_the_lowest_bounds_exclude_points_before_a_distance_is_made():
    """Of rows without structure little more than k distances a row are made, whatever the tiles."""
    rng = np.random.default_rng(0)
    X, P = (rng.standard_normal((n, 64)).astype(np.float32) for n in (60, 5000))
    fold = Nearest(10)
    ready = fold.prepare(P)
    for tile in (Tile(), Tile(7, 90)):
        slots = fold.empty(60, ready)
        assert fold.visit(X, ready, slots, tile) <= 60 * 12
        for a, b in zip((slots[1], slots[0]), naive.nearest(X, P, 10), strict=True):
            np.testing.assert_array_equal(a, b)
