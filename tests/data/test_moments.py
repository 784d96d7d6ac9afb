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

from fenchel.data import Block, ClassMoments, Moments, as_blocks


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
