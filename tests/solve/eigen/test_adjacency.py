"""Leading eigenpairs of graphs by every method, and upper bounds of sums of eigenvalues."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from fenchel import threads
from fenchel.solve.eigen import adjacency
from fenchel.solve.eigen.adjacency import is_narrow, leading_of_adjacency, level_width
from fenchel.solve.eigen.chebyshev import ChebyshevFilter, filtered_eigenpairs
from fenchel.solve.eigen.inertia import eigenvalues_above, largest_sum
from fenchel.solve.eigen.products import Deflated


def normalised(W):
    d = np.asarray(W.sum(axis=1)).ravel()
    root = 1.0 / np.sqrt(d)
    if sparse.issparse(W):
        A = sparse.diags_array(root) @ W @ sparse.diags_array(root)
        return sparse.csr_array(A), (np.sqrt(d) / np.linalg.norm(np.sqrt(d)))[:, None]
    return root[:, None] * W * root, (np.sqrt(d) / np.linalg.norm(np.sqrt(d)))[:, None]


def graph(n, width, seed=0):
    """A band around a ring, its edges of random weights."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(n), width)
    columns = (rows + np.tile(np.arange(1, width + 1), n)) % n
    W = sparse.csr_array((0.1 + rng.random(len(rows)), (rows, columns)), shape=(n, n))
    return W + W.T


def random_graph(n, degree, seed=0):
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(n), degree)
    columns = rng.integers(0, n, len(rows))
    kept = rows != columns
    W = sparse.csr_array((np.ones(kept.sum()), (rows[kept], columns[kept])), shape=(n, n))
    return (W + W.T).tocsr()


@pytest.mark.parametrize("n", [60, 900])
@pytest.mark.parametrize("kind", ["narrow", "wide", "dense"])
def test_every_method_finds_the_leading_pairs(n, kind, monkeypatch):
    W = graph(n, 4) if kind == "narrow" else random_graph(n, 6)
    A, known = normalised(W.toarray() if kind == "dense" else W)
    if kind == "wide":
        monkeypatch.setattr(adjacency, "NARROW", 0.0)
    full = A if kind == "dense" else A.toarray()
    want = np.linalg.eigvalsh(full)[::-1]
    found = leading_of_adjacency(A, known, 4)
    assert_allclose(found.values, want[1:5], atol=1e-10)
    assert_allclose(full @ found.vectors, found.vectors * found.values, atol=1e-9)
    assert_allclose(known.T @ found.vectors, 0.0, atol=1e-9)
    assert found.converged and (found.residuals < 1e-9).all() and found.certificate.closed(1e-9)
    assert_allclose(found.certificate.value, -found.values.sum())


@pytest.mark.parametrize("kind", ["narrow", "wide"])
def test_eigenvalues_of_several_components_are_known(kind, monkeypatch):
    if kind == "wide":
        monkeypatch.setattr(adjacency, "NARROW", 0.0)
    parts = [normalised(random_graph(n, 5, seed=n)) for n in (700, 400)]
    A = sparse.block_diag([part[0] for part in parts], format="csr")
    known = sparse.block_diag([part[1] for part in parts]).toarray()
    want = np.linalg.eigvalsh(A.toarray())[::-1]
    assert_allclose(want[:2], 1.0)
    assert_allclose(leading_of_adjacency(A, known, 3).values, want[2:5], atol=1e-10)


def test_a_filter_is_the_polynomial_and_keeps_the_order():
    values = np.linspace(-1.0, 1.0, 201)
    p = ChebyshevFilter(sparse.diags_array(values).tocsr(), 0.6, 9)
    seen = p @ np.ones((201, 1))
    T = np.polynomial.chebyshev.Chebyshev.basis(9)
    c, e = -0.2, 0.8
    assert_allclose(seen[:, 0], T((values - c) / e) / T((1.0 - c) / e), atol=1e-12)
    assert (np.diff(seen[values >= 0.6, 0]) > 0.0).all()
    assert np.abs(seen[values < 0.6]).max() <= 1.0 / T((1.0 - c) / e) + 1e-12


def test_filtered_pairs_are_the_same_for_any_number_of_threads():
    A, known = normalised(random_graph(3000, 5))
    one = filtered_eigenpairs(Deflated(A, known), 3)
    with threads(1):
        other = filtered_eigenpairs(Deflated(A, known), 3)
    assert_array_equal(one.vectors, other.vectors)
    assert one.converged


def test_width_tells_bands_from_random_graphs():
    assert level_width(graph(500, 1)) == 2 and level_width(graph(500, 5)) <= 10
    assert level_width(sparse.csr_array((1, 1))) == 1
    assert level_width(random_graph(5000, 8)) > 1000
    assert is_narrow(graph(5000, 5)) and not is_narrow(random_graph(9000, 9))


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_pivots_count_eigenvalues(form):
    for seed in range(5):
        A = normalised(random_graph(80, 3, seed) + graph(80, 1))[0]
        values = np.linalg.eigvalsh(A.toarray())
        for t in (-0.5, 0.01, 0.31, 0.9, 1.5):
            count, error = eigenvalues_above(A if form == "sparse" else A.toarray(), t)
            assert count == (values > t).sum() and error < 1e-4  # without pivoting entries grow


def test_a_pivot_of_zero_is_said():
    count, error = eigenvalues_above(sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]])), 0.0)
    assert count == 2 and error == np.inf
    assert eigenvalues_above(np.array([[0.0, 1.0], [1.0, 0.0]]), 0.0)[0] == 1


@settings(max_examples=60, deadline=None)
@given(
    st.integers(3, 40),
    st.integers(1, 6),
    st.integers(0, 10**6),
    st.sampled_from([0.0, 1e-9, 1e-4, 1.0]),
    st.booleans(),
)
def test_no_bound_is_below_the_sum(n, k, seed, between, factor):
    rng = np.random.default_rng(seed)
    k = min(k, n)
    side = rng.integers(0, 3, n)
    W = rng.random((n, n)) ** 4 * np.where(side[:, None] == side, 1.0, between)
    W = W + W.T + 1e-12
    np.fill_diagonal(W, 0.0)
    A, _ = normalised(W)
    values, U = np.linalg.eigh(A)
    want = values[::-1][:k].sum()
    exact = largest_sum(A, U[:, ::-1][:, :k], factor=factor)
    assert exact >= want - 1e-12 * n
    if factor:
        assert exact <= want + 1e-6 * k
        assert_allclose(largest_sum(sparse.csr_array(A), U[:, ::-1][:, :k]), exact, atol=1e-6 * k)
    # Vectors that are not the leading ones, nor eigenvectors at all.
    for V in (U[:, :k], np.linalg.qr(rng.normal(size=(n, k)))[0]):
        assert largest_sum(A, V, factor=factor) >= want - 1e-12 * n
    rough = np.linalg.qr(U[:, ::-1][:, :k] + 1e-6 * rng.normal(size=(n, k)))[0]
    assert largest_sum(A, rough, factor=factor) >= want - 1e-12 * n


def test_norms_bound_wide_kernels_of_many_rows():
    X = np.random.default_rng(0).normal(size=(900, 4))
    W = np.exp(-0.1 * np.square(X[:, None] - X).sum(axis=2))
    np.fill_diagonal(W, 0.0)
    A, _ = normalised(W)
    values, U = np.linalg.eigh(A)
    bound = largest_sum(A, U[:, ::-1][:, :4], factor=False)
    want = values[::-1][:4].sum()
    assert want <= bound <= want + 0.01
    # Without a gap nothing is lost but the step: four equal eigenvalues, of which two are asked.
    ring = normalised(sparse.block_diag([graph(300, 1, seed=1)] * 2, format="csr"))[0]
    values, U = np.linalg.eigh(ring.toarray())
    want = values[::-1][:3].sum()
    assert want - 1e-10 <= largest_sum(ring, U[:, ::-1][:, :3]) <= want + 1e-5
