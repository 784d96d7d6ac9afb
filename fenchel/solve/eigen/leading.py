"""Leading eigenpairs of a symmetric operator, by the method that suits its size.

dense: LAPACK's tridiagonal reduction, O(n³), for small n and for many pairs;
krylov: block Krylov subspaces, a few products with the operator;
rough: the same operator in single precision finds the subspace at half the traffic of memory, and
Krylov steps and a Rayleigh-Ritz projection in double precision finish it.

Whatever the method, the residuals are those of products made at the end in float64.

Reference: Parlett, The Symmetric Eigenvalue Problem (1998), chapters 11 and 13.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from fenchel.convex.certificate import Certificate
from fenchel.convex.convergence import NotCertified
from fenchel.data.parallel import one_blas_thread
from fenchel.solve.eigen.block_krylov import BlockKrylov
from fenchel.solve.eigen.products import DenseSymmetric, Negative
from fenchel.solve.eigen.residual import (
    LeadingSubspace,
    RitzPairs,
    SymmetricOperator,
    rayleigh_quotients,
    ritz_pairs,
    signed,
)
from fenchel.solve.minimise import minimise

Floats = NDArray[np.float64]
# Steps in float32 end where two of them have not halved a residual below this, or eight one above
# it: it stalls at about 1e-8 |K|/|A|, measured with kernel matrices K of 8000 rows, A the centred
# one, and float64 goes on from there.
ROUGH = 1e-5
ROUGH_STEPS = 60
# Of the residual asked for; the rest is for what the entries of the matrix in float32 are off by,
# which steps in float32 do not see: some 1e-7 of |A| for kernels of 8000 rows with 20 columns.
SEARCHED = 0.3
# Rows of a dense matrix that LAPACK decomposes where Krylov steps did not reach tol.
LARGEST_DENSE = 4000
STEPS = 300


@dataclass(frozen=True, slots=True, eq=False)
class Eigenpairs:
    """Eigenvalues, the largest first (the smallest first where those were asked), and unit
    eigenvectors as columns.

    residuals: |Avⱼ - λⱼvⱼ| of products made at the end, and their rounding: within so much of each
    λⱼ lies an eigenvalue of A (Weyl); certificate: of kind "eigen", its residual the largest of
    them over |A|.
    """

    values: Floats
    vectors: Floats
    residuals: Floats
    certificate: Certificate
    converged: bool

    @property
    def multiplicities(self) -> tuple[int, ...]:
        """The sizes of groups of eigenvalues that the residuals do not tell apart, in order.

        Inside a group any rotation of the vectors is as good; of the last one more may follow.
        """
        norm = (self.certificate.scale or 0.0) / max(len(self.values), 1)
        apart = np.abs(np.diff(self.values)) > (
            self.residuals[1:] + self.residuals[:-1] + 1e-10 * norm
        )
        ends = np.flatnonzero(np.append(apart, True)) + 1
        return tuple(int(size) for size in np.diff(ends, prepend=0))


def eigenpairs(
    operator: SymmetricOperator | Any,
    k: int,
    *,
    method: Literal["auto", "dense", "krylov"] = "auto",
    tol: float = 1e-10,
    max_steps: int | None = None,
    smallest: bool = False,
    start: Floats | None = None,
    rough: SymmetricOperator | Any = None,
    solver: BlockKrylov | None = None,
) -> Eigenpairs:
    """The k largest (or smallest) eigenvalues of a symmetric operator with their eigenvectors.

    Parameters
    ----------
    operator : array, sparse matrix, LinearOperator, or anything with `shape` and `@`
        Symmetric (n, n); its products with (n, m) arrays are all that is asked of it.
    k : int
        From 1 to n.
    method : {"auto", "dense", "krylov"}
    tol : float
        Residual to reach, relative to |A|.
    max_steps : int, optional
        Products with a block; None: 300, and what they leave open of a small matrix LAPACK finds.
    smallest : bool
        The other end of the spectrum.
    start : array of shape (n, m), m ≤ k + 5, optional
        Vectors near those sought.
    rough : operator, optional
        The same operator in single precision, for the start.
    solver : BlockKrylov, optional

    Returns
    -------
    Eigenpairs
        The same bits for the same operator: the start is fixed, and so are the signs, the first
        of each vector's largest entries being positive.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.solve.eigen.leading import eigenpairs
    >>> found = eigenpairs(np.diag([1.0, 3.0, 3.0, 2.0]), 3)
    >>> found.values.tolist(), found.multiplicities
    ([3.0, 3.0, 2.0], (2, 1))
    """
    shape = tuple(operator.shape)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"the operator must be square, got shape {shape}")
    n = int(shape[0])
    if not 1 <= k <= n:
        raise ValueError(f"k must lie between 1 and n={n}, got {k}")
    solver = BlockKrylov() if solver is None else solver
    large = n > solver.dense and isinstance(operator, np.ndarray)
    seen = DenseSymmetric(np.asarray(operator)) if large else operator
    problem = LeadingSubspace(Negative(seen) if smallest else seen, k)
    # Restarts are at `largest` blocks: with fewer rows the basis would be the whole space.
    crowded = solver.largest * (k + solver.guard) > n
    if method == "dense" or (method == "auto" and n > solver.dense and crowded):
        return _dense(problem, smallest)
    if rough is not None and n > solver.dense:
        single = LeadingSubspace(Negative(rough) if smallest else rough, k)
        start = _subspace(single, solver, start, SEARCHED * tol)
        with one_blas_thread():
            pairs = ritz_pairs(start, problem.product(start), k)
        if pairs.residual + problem.rounding <= tol:
            return _stated(problem, pairs, True, smallest)
    rescue = method == "auto" and max_steps is None and n <= LARGEST_DENSE
    with warnings.catch_warnings():
        if rescue:
            warnings.simplefilter("ignore", NotCertified)
        found = minimise(problem, solver, tol=tol, max_steps=max_steps or STEPS, start=start)
    if rescue and not found.converged:
        return _dense(problem, smallest)
    return _of(problem, found.point, found.certificate, found.converged, smallest)


@one_blas_thread()
def projected_pairs(operator: SymmetricOperator | Any, basis: Floats) -> Eigenpairs:
    """Rayleigh and Ritz: the eigenpairs of an operator in the span of an orthonormal basis, with
    the residuals that one product tells."""
    problem = LeadingSubspace(operator, basis.shape[1])
    return _stated(problem, problem.evaluate(basis), True, False)


def subspace_iterations(
    operator: SymmetricOperator | Any, k: int, steps: int, guard: int
) -> Eigenpairs:
    """Randomised block Krylov: so many products with a block of k + guard columns, and whatever
    residual they leave."""
    problem = LeadingSubspace(operator, k)
    solver = BlockKrylov(guard=guard)
    state = solver.init(problem, None)
    for _ in range(steps):
        if state.stalled:
            break
        state = solver.step(problem, state)
    proof = problem.certify(state.point, state.seen)
    return _of(problem, state.point, proof, True, False)


@one_blas_thread()
def _subspace(
    problem: LeadingSubspace, solver: BlockKrylov, start: Floats | None, tol: float
) -> Floats:
    """The leading subspace with its guard columns, as far as single precision carries it."""
    state = solver.init(problem, start)
    seen = [state.seen.residual]
    while seen[-1] > tol and len(seen) <= ROUGH_STEPS and not state.stalled:
        back = 3 if seen[-1] < ROUGH else 9
        if len(seen) >= back and seen[-1] > 0.5 * seen[-back]:
            break
        state = solver.step(problem, state)
        seen.append(state.seen.residual)
    return np.asarray(state.memory.block.vectors)


def _dense(problem: LeadingSubspace, smallest: bool) -> Eigenpairs:
    """LAPACK on the whole matrix, which is made where it is not one."""
    operator, n, k = problem.operator, problem.n, problem.k
    inner = operator.operator if isinstance(operator, Negative) else operator
    sign = -1.0 if isinstance(operator, Negative) else 1.0
    if isinstance(inner, DenseSymmetric):
        inner = inner.A
    A = inner if isinstance(inner, np.ndarray) else LeadingSubspace(inner, k).product(np.eye(n))
    if not np.isfinite(A).all():
        problem.product(np.eye(n))  # which names the row
    A = np.asarray(A, dtype=np.float64)
    low = 0 if sign < 0.0 else n - k
    V = linalg.eigh(0.5 * A + 0.5 * A.T, subset_by_index=[low, low + k - 1], check_finite=False)[1]
    V = np.ascontiguousarray(V if sign < 0.0 else V[:, ::-1])
    return _stated(problem, rayleigh_quotients(V, problem.product(V)), True, smallest)


def _of(
    problem: LeadingSubspace, V: Floats, proof: Certificate, converged: bool, smallest: bool
) -> Eigenpairs:
    # Rayleigh and Ritz in float64, on products made anew.
    return _stated(problem, problem.evaluate(V), converged, smallest, proof)


def _stated(
    problem: LeadingSubspace,
    pairs: RitzPairs,
    converged: bool,
    smallest: bool,
    proof: Certificate | None = None,
) -> Eigenpairs:
    """Pairs of products in float64, with what they prove unless that is known."""
    sign = -1.0 if smallest else 1.0
    return Eigenpairs(
        sign * pairs.values,
        signed(pairs.vectors),
        pairs.residuals + problem.rounding * pairs.norm,
        problem.stated(pairs) if proof is None else proof,
        converged,
    )
