"""Count, mean and scatter: mergeable, and exact where naive sums lose every digit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from data.cases import HOMES, real
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from fenchel.data import Block, ClassMoments, Moments, as_blocks, threads
from fenchel.data.moments.class_moments import SharedMoments
from fenchel.testing import check_statistic


def naive(X, s):
    """By definition, in exact arithmetic."""
    rows = [[Fraction(float(v)) for v in row] for row in X]
    weights = [Fraction(float(w)) for w in s]
    d, total = X.shape[1], sum(weights)
    mean = [sum(w * r[j] for w, r in zip(weights, rows, strict=True)) / total for j in range(d)]
    scatter = [
        [
            float(
                sum(
                    w * (r[i] - mean[i]) * (r[j] - mean[j])
                    for w, r in zip(weights, rows, strict=True)
                )
            )
            for j in range(d)
        ]
        for i in range(d)
    ]
    return float(total), np.array([float(m) for m in mean]), np.array(scatter)


@pytest.mark.parametrize("home", HOMES, ids=lambda home: home.name)
def test_every_home(home, tmp_path):
    X = np.random.default_rng(0).standard_normal((300, 3)) + np.array([0.0, 100.0, -5.0])
    X[:, 2] *= X[:, 0] > -0.5
    s = np.random.default_rng(1).random(300)
    if not home.exact:
        X, s = X.astype(np.float32).astype(float), s.astype(np.float32).astype(float)
    blocks = home.build(X, X[:, 0], s, tmp_path)
    got, (total, mean, scatter) = blocks.reduce(Moments.of), naive(X, s)
    assert got.weight == pytest.approx(total, rel=1e-14)
    np.testing.assert_allclose(got.mean, mean, rtol=1e-13)
    np.testing.assert_allclose(got.scatter, scatter, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(got.covariance, scatter / total, rtol=1e-11, atol=1e-11)
    if home.name != "torch":
        np.testing.assert_array_equal(got.scatter, got.scatter.T)


@pytest.mark.parametrize("offset", [0.0, 1e8, -1e12])
def test_an_offset_costs_no_digits(offset):
    noise = np.random.default_rng(0).integers(-1000, 1000, (5000, 2)) / 1024.0
    X = noise + offset  # exact: the noise is a multiple of 2⁻¹⁰
    exact = noise - noise.mean(0)
    got = as_blocks(X).reduce(Moments.of)
    np.testing.assert_allclose(got.scatter, exact.T @ exact, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(got.mean - offset, noise.mean(0), atol=2e-16 * abs(offset) + 1e-15)


def test_an_outlier_without_weight_does_no_harm():
    X = np.random.default_rng(0).standard_normal((50, 2))
    dirty = np.vstack([[1e30, -1e30], X])
    s = np.r_[0.0, np.ones(50)]
    got = Moments.of(Block(0, dirty, weight=s))
    want = Moments.of(Block(0, X))
    np.testing.assert_allclose(got.mean, want.mean, rtol=1e-12)
    np.testing.assert_allclose(got.scatter, want.scatter, rtol=1e-12)


def test_large_scales_do_not_overflow_before_the_answer_does():
    X = np.array([[1e150], [3e150]])
    parts = [Moments.of(Block(0, X[:1])), Moments.of(Block(1, X[1:]))]
    assert (parts[0] + parts[1]).scatter[0, 0] == pytest.approx(2e300, rel=1e-14)
    empty = Moments.none(1)
    assert (empty + parts[0]) is parts[0] and (parts[0] + empty) is parts[0]
    assert (empty + empty).weight == 0.0


tables = hnp.arrays(
    np.float64, st.tuples(st.integers(2, 9), st.integers(1, 3)), elements=st.integers(-50, 50)
)


@given(tables, st.data())
def test_parts_merge_to_the_whole_in_any_grouping(X, data):
    s = data.draw(hnp.arrays(np.float64, len(X), elements=st.integers(0, 4)))
    cut = data.draw(st.integers(1, len(X) - 1))
    parts = [Moments.of_rows(X[:cut], s[:cut]), Moments.of_rows(X[cut:], s[cut:])]
    for whole in (parts[0] + parts[1], parts[1] + parts[0], Moments.of_rows(X, s)):
        assert whole.weight == s.sum()
        if whole.weight:
            _, mean, scatter = naive(X, s)
            np.testing.assert_allclose(whole.mean, mean, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(whole.scatter, scatter, rtol=1e-12, atol=1e-10)


@given(tables, st.data())
def test_a_whole_weight_is_a_repeated_row(X, data):
    s = data.draw(hnp.arrays(np.int64, len(X), elements=st.integers(0, 4)))
    if s.any():
        a, b = Moments.of_rows(X, s.astype(float)), Moments.of_rows(np.repeat(X, s, 0), None)
        np.testing.assert_allclose(a.mean, b.mean, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(a.scatter, b.scatter, rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_classes(make):
    X = real(900, 3)
    y = np.random.default_rng(1).integers(0, 3, 900)
    y[y == 1] = 4  # classes 1 and 3 have no rows
    s = np.random.default_rng(2).random(900)
    got = as_blocks(make(X), y, s).reduce(ClassMoments.of(5))
    assert [part.weight > 0 for part in got.parts] == [True, False, True, False, True]
    within = np.zeros((3, 3))
    for k, part in enumerate(got.parts):
        if part.weight:
            want = Moments.of_rows(X[y == k], s[y == k])
            np.testing.assert_allclose(part.mean, want.mean, rtol=1e-12)
            np.testing.assert_allclose(part.scatter, want.scatter, rtol=1e-12, atol=1e-9)
            within += want.scatter
    np.testing.assert_allclose(got.within, within, rtol=1e-12)
    whole = Moments.of_rows(X, s)
    np.testing.assert_allclose(got.pooled.scatter, whole.scatter, rtol=1e-12)
    with pytest.raises(ValueError, match="need a target"):
        as_blocks(X).reduce(ClassMoments.of(2))


LAYOUTS = ["C", "F", "C32", "F32", "strided", "csr", "csr32", "csr64"]


def laid(X, layout):
    """The rows as they lie in memory."""
    kind = np.float32 if "32" in layout else np.float64
    if layout.startswith("csr"):
        A = sparse.csr_array(X.astype(kind))
        if layout == "csr64":
            A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
        return A
    if layout == "strided":
        wide = np.zeros((len(X), 2 * X.shape[1] + 3))
        wide[:, 2 : 2 + X.shape[1]] = X
        return wide[:, 2 : 2 + X.shape[1]]
    return np.array(X, dtype=kind, order=layout[0])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("weighted", [False, True])
def test_compiled_moments_are_their_definition(layout, weighted):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((3000, 6)) * [1, 1, 1, 5, 5, 5] + [0, 3, 0, -50, 0, 0]
    if layout.startswith("csr"):  # one full column far from zero, the others mostly empty
        X[:, [0, 1, 2, 4, 5]] *= rng.random((3000, 5)) < 0.02
    y = rng.choice([0, 1, 3, 3, 3], 3000)  # class 2 has no rows
    s = rng.integers(0, 3, 3000) * rng.random(3000) if weighted else None
    block = Block(0, laid(X, layout), y, s)
    check_statistic(ClassMoments.of(5), block, tol=1e-13)
    check_statistic(SharedMoments.of(5), block, tol=1e-13)
    check_statistic(Moments.of, block, tol=1e-13)


@pytest.mark.parametrize("layout", ["C", "F", "csr"])
@pytest.mark.parametrize("offset", [1e8, -1e9])
def test_an_offset_costs_no_digits_in_a_compiled_pass(layout, offset):
    noise = np.random.default_rng(0).integers(-1000, 1000, (50_000, 16)) / 1024.0
    X = noise + offset * (np.arange(16) == 2)
    if layout == "csr":
        X[:, 3:] = 0.0
    exact = X - offset * (np.arange(16) == 2)
    exact -= exact.mean(0)
    y = np.zeros(50_000, np.int64)
    for stat in (Moments.of, SharedMoments.of(1)):
        got = as_blocks(laid(X, layout), y).reduce(stat)
        np.testing.assert_allclose(
            got.scatter, exact.T @ exact, rtol=1e-11, atol=2e-14 * abs(offset)
        )


def test_light_outliers_cost_no_digits_in_a_compiled_pass():
    rng = np.random.default_rng(0)
    X, s = rng.standard_normal((40_000, 4)), np.ones(40_000)
    X[:400] += 1e30
    s[:400] = 1e-90
    got, want = as_blocks(X, None, s).reduce(Moments.of), Moments.of_rows(X[400:], None)
    np.testing.assert_allclose(got.scatter, want.scatter, rtol=1e-10, atol=1e-8)


@pytest.mark.parametrize("layout", ["C", "csr"])
def test_compiled_moments_have_the_same_bits_for_any_threads(layout):
    X = np.random.default_rng(0).standard_normal((80_000, 10))
    if layout == "csr":
        X[:, 1:] *= np.random.default_rng(1).random((80_000, 9)) < 0.1
    y = np.arange(80_000) % 3
    found = []
    for count in (1, 2, 5, 16):
        with threads(count):
            blocks = as_blocks(laid(X, layout), y)
            found.append((blocks.reduce(ClassMoments.of(3)), blocks.reduce(SharedMoments.of(3))))
    for own, within in found[1:]:
        np.testing.assert_array_equal(own.within, found[0][0].within)
        np.testing.assert_array_equal(within.scatter, found[0][1].scatter)
        np.testing.assert_array_equal(within.mean, found[0][1].mean)
    own, within = found[0]
    np.testing.assert_allclose(own.within, within.scatter, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(own.pooled.scatter, within.pooled.scatter, rtol=1e-12, atol=1e-9)


@given(st.integers(0, 10**6), st.integers(1, 7), st.integers(1, 4), st.integers(0, 200))
def test_compiled_moments_of_any_shape(seed, d, K, n):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-9, 9, (n + 1, d)).astype(float), rng.integers(0, K, n + 1)
    block = Block(0, X, y, rng.integers(0, 3, n + 1).astype(float))
    check_statistic(ClassMoments.of(K), block, tol=1e-13)
    check_statistic(SharedMoments.of(K), block, tol=1e-13)


def test_shared_moments_merge_to_the_whole():
    X, y = real(600, 4), np.random.default_rng(1).integers(0, 3, 600)
    y[:200] = 1
    stat = SharedMoments.of(4)
    parts = [stat(Block(0, X[rows], y[rows])) for rows in (slice(0, 200), slice(200, None))]
    whole = stat(Block(0, X, y))
    for got in (parts[0] + parts[1], parts[1] + parts[0]):
        np.testing.assert_allclose(got.weight, whole.weight)
        np.testing.assert_allclose(got.mean, whole.mean, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(got.scatter, whole.scatter, rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(whole.pooled.mean, X.mean(0), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("d", [1, 7, 15, 16, 17, 33, 150])
def test_compiled_moments_of_any_width(d, order):
    rng = np.random.default_rng(d)
    X = np.array(rng.standard_normal((2**18 // d, d)) * rng.uniform(0.1, 9.0, d) + 5.0, order=order)
    s = rng.integers(0, 3, len(X)) * rng.random(len(X))
    for weight in (None, s):
        seen = []
        for count in (1, 3, 16):
            with threads(count):
                seen.append(as_blocks(X, None, weight).reduce(Moments.of))
        for got in seen[1:]:
            np.testing.assert_array_equal(got.scatter, seen[0].scatter)
            np.testing.assert_array_equal(got.mean, seen[0].mean)
        want = Moments.of_rows(X, weight)
        np.testing.assert_allclose(seen[0].weight, want.weight, rtol=1e-14)
        np.testing.assert_allclose(seen[0].mean, want.mean, rtol=1e-12)
        np.testing.assert_allclose(seen[0].scatter, want.scatter, rtol=1e-12, atol=1e-8)
        np.testing.assert_array_equal(seen[0].scatter, seen[0].scatter.T)


def test_a_part_whose_sample_is_far_from_its_mean_is_summed_again():
    # The rows at which a part is centred are every few: these lie 1e9 away from all others.
    rng = np.random.default_rng(0)
    noise = rng.integers(-1000, 1000, (2**18, 2)) / 1024.0
    X = noise.copy()
    seen = np.arange(len(X)) % 32 == 0
    X[seen] += 1e9
    s = np.where(seen, 1e-9, 1.0)
    got, want = as_blocks(X, None, s).reduce(Moments.of), Moments.of_rows(X, s)
    np.testing.assert_allclose(got.mean, want.mean, rtol=1e-12)
    np.testing.assert_allclose(got.scatter, want.scatter, rtol=1e-10)


def test_a_constant_column_has_no_scatter():
    X = np.random.default_rng(0).standard_normal((2**16, 4))
    X[:, 1], X[:, 3] = 0.1, 1e17 / 3.0
    got = as_blocks(X).reduce(Moments.of)
    assert not got.scatter[1].any() and not got.scatter[:, 3].any()
    assert got.mean[1] == 0.1 and got.mean[3] == 1e17 / 3.0


def test_rows_without_weight_may_hold_anything_in_a_compiled_pass():
    X = np.random.default_rng(0).standard_normal((2**16, 3))
    s = (np.arange(len(X)) % 5 > 0).astype(float)
    want = as_blocks(X[s > 0.0]).reduce(Moments.of)
    X[s == 0.0] = 1e300
    got = as_blocks(X, None, s).reduce(Moments.of)
    np.testing.assert_allclose(got.scatter, want.scatter, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(got.mean, want.mean, atol=1e-13)
