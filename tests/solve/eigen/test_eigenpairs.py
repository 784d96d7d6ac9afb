"""Eigenpairs by block Krylov: a dense decomposition agrees, clusters and ties too; the proof."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from fenchel import Logistic, NotCertified, minimise, threads
from fenchel.solve.eigen.block_krylov import BlockKrylov
from fenchel.solve.eigen.inverse import smallest_by_inverse
from fenchel.solve.eigen.leading import eigenpairs, projected_pairs, subspace_iterations
from fenchel.solve.eigen.products import DenseSymmetric
from fenchel.solve.eigen.residual import LeadingSubspace, signed

KRYLOV = BlockKrylov(dense=0)  # no decomposition of the whole matrix


def with_spectrum(values, seed=0):
    """A dense symmetric matrix of these eigenvalues."""
    n = len(values)
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((n, n)))[0]
    A = (Q * np.asarray(values, float)) @ Q.T
    return 0.5 * (A + A.T)


SPECTRA = {
    "spread": np.linspace(1.0, 0.0, 300) ** 3,
    "powers": 2.0 ** -np.arange(200.0),
    "cluster": np.r_[
        1.0 - 1e-9 * np.arange(5), 1.0 - 1e-3 * np.arange(5), np.linspace(0.9, 0, 150)
    ],
    "multiple": np.r_[np.full(6, 3.0), np.full(4, 2.0), np.linspace(1.0, -1.0, 200)],
    "one value": np.full(100, 2.5),
    "low rank": np.r_[5.0, 4.0, np.zeros(150)],
    "zero": np.zeros(80),
    "negative": -np.linspace(1.0, 10.0, 120),
    "both signs": np.r_[1.0, 0.9, 0.8, np.linspace(0.5, -100.0, 200)],
    "slow": np.linspace(1.0, 0.99, 400),
}


@pytest.mark.parametrize("smallest", [False, True], ids=["largest", "smallest"])
@pytest.mark.parametrize("name", SPECTRA)
def test_agrees_with_a_dense_decomposition(name, smallest) -> None:
    A = with_spectrum(SPECTRA[name])
    values = np.linalg.eigvalsh(A)
    values = values if smallest else values[::-1]
    found = eigenpairs(A, 5, tol=1e-10, smallest=smallest)
    assert found.converged and found.certificate.kind == "eigen"
    check_pairs(A, values[:5], found)


@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("name", SPECTRA)
def test_subspaces_agree_with_a_dense_decomposition(name, k) -> None:
    A = with_spectrum(SPECTRA[name])
    problem = LeadingSubspace(A, k)
    for solver in (KRYLOV, BlockKrylov(guard=4, largest=4, kept=2, dense=0)):
        solution = minimise(problem, solver, tol=1e-10, max_steps=300)
        assert solution.converged
        check_pairs(A, np.linalg.eigvalsh(A)[::-1][:k], solution.state.seen)
        assert solution.certificate.closed(1e-10)
        assert solution.steps == len(solution.history) - 1


def check_pairs(A, expected, found, most=2e-10):
    norm, V = np.linalg.norm(A, 2), found.vectors
    # Weyl: an eigenvalue lies within each residual, and here they are the leading ones.
    error = np.abs(found.values - expected)
    assert (error <= found.residuals + 1e-14 * norm).all()
    assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=1e-12)
    own = np.linalg.norm(A @ V - V * found.values, axis=0)
    assert (own <= found.residuals * (1.0 + 1e-6) + 1e-14 * norm).all()
    assert (found.residuals <= most * norm).all()


def test_every_k_of_a_small_matrix() -> None:
    for n in (1, 2, 3, 7, 20):
        A = with_spectrum(np.random.default_rng(n).standard_normal(n), n)
        expected = np.linalg.eigvalsh(A)[::-1]
        for k in range(1, n + 1):
            found = eigenpairs(A, k, tol=1e-13)
            assert_allclose(found.values, expected[:k], atol=1e-13)
            assert_allclose(A @ found.vectors, found.vectors * found.values, atol=1e-13)
    one = eigenpairs(np.array([[-3.0]]), 1)
    assert one.values == -3.0 and one.vectors == 1.0


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e150])
def test_any_scale(scale) -> None:
    A = with_spectrum(SPECTRA["spread"])
    for solver in (KRYLOV, BlockKrylov()):
        plain = minimise(LeadingSubspace(A, 3), solver, tol=1e-10)
        scaled = minimise(LeadingSubspace(scale * A, 3), solver, tol=1e-10)
        assert_allclose(scaled.state.seen.values / scale, plain.state.seen.values, rtol=1e-9)
        assert 0.0 < scaled.certificate.residual <= 1e-10


def test_kinds_of_operators_give_the_same_pairs() -> None:
    A = sparse.random(800, 800, 0.02, random_state=0)
    A = (A + A.T).tocsr()
    seen = []

    def product(V):
        seen.append(V.shape)
        return A @ V

    counted = LinearOperator(A.shape, matvec=product, matmat=product, dtype=float)
    first = eigenpairs(A, 4)
    for operator in (A.toarray(), aslinearoperator(A), counted):
        other = eigenpairs(operator, 4)
        assert_allclose(other.values, first.values, rtol=1e-12)
        assert_allclose(other.vectors, first.vectors, atol=1e-8)
    assert len(seen) <= 60  # products with a block
    again = eigenpairs(A, 4)
    assert_array_equal(again.vectors, first.vectors)


def test_signs_are_fixed() -> None:
    V = np.array([[0.6, -0.6, 0.0], [-0.8, 0.6000000001, -1.0]])
    assert_array_equal(signed(V), [[-0.6, 0.6, -0.0], [0.8, -0.6000000001, 1.0]])
    first, other = eigenpairs(with_spectrum([3.0, 2.0, 1.0]), 2), with_spectrum([3.0, 2.0, 1.0])
    assert_array_equal(first.vectors, eigenpairs(other, 2).vectors)


def test_a_start_saves_steps_and_is_made_orthonormal() -> None:
    A = with_spectrum(SPECTRA["slow"])
    problem = LeadingSubspace(A, 3)
    cold = minimise(problem, KRYLOV, tol=1e-9, max_steps=300)
    assert cold.certificate.value == pytest.approx(-float(cold.state.seen.values.sum()))
    skew = cold.point @ np.array([[1.0, 0.5, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]])
    warm = minimise(problem, KRYLOV, tol=1e-9, start=skew)
    assert warm.converged and warm.steps == 0 < cold.steps
    assert problem.certify(skew).residual <= 2e-9


def test_what_is_not_reached_is_said() -> None:
    A = with_spectrum(np.linspace(1.0, 0.99, 600))
    with pytest.warns(
        NotCertified, match=r"max_iter=2: eigen residual .* Raise max_iter or loosen"
    ):
        found = eigenpairs(A, 3, max_steps=2)
    assert not found.converged and found.certificate.residual > 1e-10
    # A residual is a proof all the same: an eigenvalue lies within each.
    values = np.linalg.eigvalsh(A)
    for value, radius in zip(found.values, found.residuals, strict=True):
        assert np.abs(values - value).min() <= radius


def test_a_perturbed_vector_does_not_pass() -> None:
    A = with_spectrum(SPECTRA["spread"])
    problem = LeadingSubspace(A, 2)
    V = eigenpairs(A, 2).vectors
    proof = problem.certify(V)
    assert proof.closed(1e-9) and "eigenpairs to within" in str(proof)
    for size in (1e-2, 1e-5):
        off = V + size * np.random.default_rng(0).standard_normal(V.shape)
        assert not problem.certify(off).closed(1e-3 * size)
    # Eigenvectors, but not the leading ones: stationary, and nothing is claimed beyond that.
    proof = problem.certify(np.linalg.eigh(A)[1][:, -4:-2])
    assert proof.closed(1e-9) and proof.bound == -np.inf and proof.value > -2.0


def test_faults_are_named() -> None:
    with pytest.raises(ValueError, match=r"k must lie between 1 and n=3, got 4"):
        eigenpairs(np.eye(3), 4)
    with pytest.raises(ValueError, match="square"):
        eigenpairs(np.ones((3, 2)), 1)
    bad = np.eye(5)
    bad[3, 3] = np.nan
    with pytest.raises(ValueError, match="not finite in row 3"):
        eigenpairs(bad, 1)
    with pytest.raises(ValueError, match="pass a solver made for it"):
        minimise(LeadingSubspace(np.eye(3), 1))
    assert "leading subspace" in str(BlockKrylov().refuses(Logistic()))


@pytest.mark.parametrize("smallest", [False, True])
@pytest.mark.parametrize("name", SPECTRA)
def test_methods_agree(name, smallest) -> None:
    A = with_spectrum(SPECTRA[name])
    values = np.linalg.eigvalsh(A)
    values = values if smallest else values[::-1]
    for method in ("dense", "auto"):
        found = eigenpairs(A, 4, smallest=smallest, method=method, solver=BlockKrylov(dense=20))
        assert found.certificate.kind == "eigen" and found.converged
        check_pairs(A, values[:4], found)


def test_multiplicities_are_reported() -> None:
    A = with_spectrum(SPECTRA["multiple"])
    assert eigenpairs(A, 6).multiplicities == (6,)
    assert eigenpairs(A, 8).multiplicities == (6, 2)
    assert eigenpairs(with_spectrum([3.0, 2.0, 1.0]), 3).multiplicities == (1, 1, 1)


def test_single_precision_start_leaves_double_precision_pairs() -> None:
    A = with_spectrum(np.r_[5.0, 4.0, 3.5, np.linspace(1.0, 0.0, 797)])
    rough = DenseSymmetric(A.astype(np.float32))
    found, plain = eigenpairs(A, 3, rough=rough), eigenpairs(A, 3)
    check_pairs(A, np.linalg.eigvalsh(A)[::-1][:3], found)
    assert_allclose(found.vectors, plain.vectors, atol=1e-9)
    assert found.certificate.steps < plain.certificate.steps


class Noisy:
    """Products whose rounding is coarse, and how many there were."""

    def __init__(self, A, noise) -> None:
        self.A, self.noise, self.seen = A, noise, 0
        self.rng = np.random.default_rng(0)

    shape = property(lambda self: self.A.shape)

    def __matmul__(self, V):
        self.seen += 1
        image = self.A @ V
        return image + self.noise * self.rng.standard_normal(image.shape)


@pytest.mark.parametrize("noise", [0.0, 1e-9, 1e-5, 1e-2])
def test_rough_steps_end_where_they_stall_and_one_product_states_the_pairs(noise) -> None:
    A = with_spectrum(np.r_[5.0, 4.0, 3.5, np.linspace(1.0, 0.0, 797)])
    exact, rough = Noisy(A, 0.0), Noisy(A, noise)
    found = eigenpairs(exact, 3, rough=rough, tol=1e-6)
    check_pairs(A, np.linalg.eigvalsh(A)[::-1][:3], found, 1e-6)
    assert found.certificate.closed(1e-6)
    assert rough.seen < 25 and (exact.seen == 1) == (noise < 1e-7)


def test_pairs_in_a_span_and_all_pairs_by_lapack() -> None:
    A = with_spectrum(np.linspace(1.0, -1.0, 40) ** 3)
    values, U = np.linalg.eigh(A)
    basis = np.linalg.qr(U[:, [3, 7, 30]] @ np.random.default_rng(0).normal(size=(3, 3)))[0]
    found = projected_pairs(A, basis)
    assert_allclose(found.values, values[[30, 7, 3]], atol=1e-12)
    assert (found.residuals < 1e-12).all() and found.certificate.closed(1e-12)
    off = projected_pairs(A, np.eye(40)[:, :2])
    assert (
        np.linalg.norm(A @ off.vectors - off.vectors * off.values, axis=0) <= off.residuals
    ).all()
    for smallest in (False, True):
        every = eigenpairs(A, 40, method="dense", smallest=smallest)
        assert_allclose(every.values, values if smallest else values[::-1], atol=1e-13)
        check_pairs(A, every.values, every)


def test_products_by_ranges_have_the_same_bits_for_any_number_of_threads() -> None:
    A = with_spectrum(np.linspace(1.0, 0.0, 1100) ** 2)
    V = np.random.default_rng(0).standard_normal((1100, 4))
    seen = []
    for n in (1, 2, 5):
        with threads(n):
            seen.append(DenseSymmetric(A) @ V)
    assert_array_equal(seen[0], seen[1])
    assert_array_equal(seen[0], seen[2])
    assert_allclose(seen[0], A @ V, atol=1e-12)


def test_smallest_pairs_by_inverse() -> None:
    n = 400
    L = sparse.diags_array(
        [-np.ones(n - 1), np.r_[1.0, np.full(n - 2, 2.0), 1.0], -np.ones(n - 1)], offsets=[-1, 0, 1]
    )
    found = smallest_by_inverse(L, 4, known=np.ones((n, 1)))
    expected = 2.0 - 2.0 * np.cos(np.pi * np.arange(1, 5) / n)
    assert_allclose(found.values, expected, rtol=1e-8)
    assert found.converged and found.certificate.kind == "eigen"
    assert np.abs(found.vectors.sum(axis=0)).max() < 1e-9
    with pytest.raises(ValueError, match="zero on its diagonal"):
        smallest_by_inverse(sparse.csr_array((5, 5)), 1)


def test_randomised_iterations_state_their_residual() -> None:
    A = with_spectrum(np.linspace(1.0, 0.0, 700) ** 3)
    found = subspace_iterations(A, 3, steps=2, guard=5)
    assert 1e-10 < found.certificate.residual < 0.2
    check = np.linalg.norm(A @ found.vectors - found.vectors * found.values, axis=0)
    assert (check <= found.residuals).all()
