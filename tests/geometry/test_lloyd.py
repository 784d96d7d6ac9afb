"""Bounds never change a label: nearest centres from step to step, against all distances."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles.geometry import nearest

from fenchel import threads
from fenchel.geometry.lloyd.hamerly import BoundedRows


def table(n, d, dtype, offset, scale, ties, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    if ties:
        X = np.round(2.0 * X) / 2.0
    return ((X + offset) * scale).astype(dtype)


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(2, 400),
    d=st.integers(1, 40),
    k=st.integers(1, 12),
    dtype=st.sampled_from([np.float32, np.float64]),
    offset=st.sampled_from([0.0, 1.0, 1e3, 1e8]),
    exponent=st.sampled_from([0, -60, 60]),
    ties=st.booleans(),
    weighted=st.booleans(),
    each=st.booleans(),
    seed=st.integers(0, 2**20),
)
def test_labels_and_sums_are_those_of_all_distances(
    n, d, k, dtype, offset, exponent, ties, weighted, each, seed
):
    # Tables of few columns too are searched by a bound for each centre, as wide ones are.
    limits = {"WIDE": 1, "LARGE": 1} if each else {"WIDE": 64}
    with patch.multiple("fenchel.geometry.lloyd.elkan.bounds", **limits):
        check_labels_and_sums(n, d, k, dtype, offset, exponent, ties, weighted, seed)


def check_labels_and_sums(n, d, k, dtype, offset, exponent, ties, weighted, seed):
    X = table(n, d, dtype, offset, 2.0**exponent, ties, seed)
    rng = np.random.default_rng(seed)
    weight = rng.integers(0, 4, n).astype(float) + np.eye(1, n)[0] if weighted else None
    s = np.ones(n) if weight is None else weight
    rows = BoundedRows(X, weight, np.average(X, axis=0, weights=s))
    C = X[rng.integers(0, n, k)].copy()
    size = float(np.abs(X.astype(np.float64) - rows.middle).max()) + 1e-300
    for _ in range(6):
        rows.assign(C)
        assert_array_equal(rows.labels, nearest(X, C, 1)[0][:, 0])
        sums = rows.sums()
        wide = X.astype(np.float64) - rows.middle.astype(np.float64)
        for j in range(k):
            mine = rows.labels == j
            assert sums.counts[j] == (mine & (s > 0)).sum()
            assert_allclose(sums.mass[j], s[mine].sum(), rtol=1e-13)
            assert_allclose(sums.sums[j], s[mine] @ wide[mine], atol=1e-11 * n * size)
        some = sums.mass > 0
        C = C.copy()
        C[some] = rows.middle + sums.sums[some] / sums.mass[some, None]
        if rng.random() < 0.2:  # centres may jump
            C[rng.integers(k)] = X[rng.integers(n)]


@pytest.mark.parametrize("k", [1, 2, 25])
@pytest.mark.parametrize("d", [20, 80])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@patch("fenchel.geometry.lloyd.elkan.bounds.LARGE", 1)
def test_the_same_bits_for_any_number_of_threads(dtype, d, k):
    X = table(6000, d, dtype, 0.0, 1.0, False, 0)
    seen = []
    for count in (1, 2, 3, 16):
        with threads(count):
            rows = BoundedRows(X, None, X.mean(axis=0))
            C = X[:k].copy()
            for _ in range(8):
                rows.assign(C)
                sums = rows.sums()
                C = (rows.middle + sums.sums / sums.mass[:, None]).astype(dtype)
            seen.append((rows.labels.copy(), C, rows.total()))
    for labels, C, total in seen[1:]:
        assert_array_equal(labels, seen[0][0])
        assert C.tobytes() == seen[0][1].tobytes() and total == seen[0][2]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["normal", "lattice", "far from zero", "groups"])
@patch("fenchel.geometry.lloyd.elkan.bounds.LARGE", 1)
def test_bounds_of_each_centre_leave_the_labels_of_all_distances(kind, dtype):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((700, 96))
    if kind == "lattice":  # many distances are equal
        X = np.sign(X[:, :8]).repeat(12, axis=1)
    elif kind == "far from zero":
        X = 1e3 + 1e-3 * X
    elif kind == "groups":
        X = 50.0 * X[rng.integers(12, size=700)] + X
    X = X.astype(dtype)
    rows = BoundedRows(X, None, X.mean(axis=0))
    C = X[:9].copy()
    C[4] = C[2]
    searched = []
    for step in range(12):
        searched.append(rows.assign(C).searched)
        assert_array_equal(rows.labels, nearest(X, C, 1)[0][:, 0])
        sums = rows.sums()
        some = sums.mass > 0
        C = C.copy()
        C[some] = rows.middle + sums.sums[some] / sums.mass[some, None]
        if step == 5:
            C[1] = X[17]  # a centre that jumps
        if step == 8:
            C[3] *= 1e7  # beyond what the rows' type can square
    assert min(searched[1:5]) < len(X)


def test_the_side_of_a_plane_is_looked_up_for_few_rows_near_the_end():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 6)) + np.where(rng.random((4000, 1)) < 0.4, 4.0, 0.0)
    rows = BoundedRows(X, None, X.mean(axis=0))
    C, searched = X[:2].copy(), []
    for _ in range(12):
        searched.append(rows.assign(C).searched)
        assert_array_equal(rows.labels, nearest(X, C, 1)[0][:, 0])
        sums = rows.sums()
        C = rows.middle + sums.sums / sums.mass[:, None]
    assert searched[0] == 4000 and searched[-1] < 400


def test_bounds_save_most_searches_near_the_end():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.standard_normal((500, 8)) + 20.0 * j for j in range(6)])
    rows = BoundedRows(X, None, X.mean(axis=0))
    C = X[::500].copy()
    searched = []
    for _ in range(4):
        searched.append(rows.assign(C).searched)
        sums = rows.sums()
        C = rows.middle + sums.sums / sums.mass[:, None]
    assert searched[0] == 3000 and searched[-1] == 0
