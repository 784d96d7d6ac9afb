"""Block Krylov subspaces with Rayleigh-Ritz and thick restarts (block Lanczos, Davidson's form).

Q ← [Q, orth((I - QQ')R)],  R = AV - VΛ the residuals of the wanted Ritz pairs of Q'AQ

Without restarts Q spans the Krylov space of the first block, in whose polynomials the error falls
as Chebyshev's do, where subspace iteration has powers alone. A block of k and more columns finds
eigenvalues of any multiplicity up to its width. At a restart Q is replaced by its best Ritz
vectors. Q is orthogonalised twice against itself, so that no spurious copies arise. A step costs
one product with the block and O(nm²) for m columns of Q.

Reference: Saad, Numerical Methods for Large Eigenvalue Problems (2011), sections 6.4 and 8.3; Wu
and Simon, Thick-restart Lanczos method, SIAM J. Matrix Anal. Appl. 22 (2000); Musco and Musco,
Randomized block Krylov methods, NIPS (2015).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fenchel.solve.eigen.residual import (
    EPS,
    LeadingSubspace,
    RitzPairs,
    orthonormal,
    ritz_pairs,
)
from fenchel.solve.needs import ObjectiveNeed
from fenchel.solve.solver import Solver, State

Floats = NDArray[np.float64]


class SymmetricProducts(ObjectiveNeed):
    """A leading subspace of an operator that is known by its products."""

    words = "the leading subspace of a symmetric operator"

    @classmethod
    def met(cls, objective: Any) -> bool:
        return isinstance(objective, LeadingSubspace)


@dataclass(frozen=True, slots=True, eq=False)
class Subspace:
    """Q, AQ, Q'AQ, and the Ritz pairs of the block, the wanted ones first."""

    basis: Floats
    images: Floats
    T: Floats
    block: RitzPairs


@dataclass(frozen=True, slots=True)
class BlockKrylov(Solver):
    """One product of the operator with a block a step.

    guard: columns of the block beyond the k wanted ones: the pairs just below converge last, and
    need not. largest, kept: columns of Q before a restart and after it, in blocks; Q and AQ are
    all that is held. dense: rows up to which A itself is made and decomposed.
    """

    # Measured on ten spectra: of 6, 10, 12 and 16 blocks the larger took 33, 29, 24 and 21 steps,
    # and half of them kept took fewer steps than a fifth.
    guard: int = 5
    largest: int = 12
    kept: int = 6
    dense: int = 500  # rows; decomposed in 0.05 s, and at any end of any spectrum
    needs: ClassVar = (SymmetricProducts,)

    def init(self, problem: LeadingSubspace, start: Floats | State | None) -> State:
        n, width = problem.n, self._width(problem)
        if n <= max(self.dense, 2 * width):
            A = problem.product(np.eye(n))
            return self._at(problem, np.eye(n), A, A, 0.0)
        V = np.random.RandomState(0).standard_normal((n, width))
        known = start.point if isinstance(start, State) else start
        if known is not None:
            V[:, : known.shape[1]] = known
        V = orthonormal(V)
        images = problem.product(V)
        return self._at(problem, V, images, V.T @ images, 0.0)

    def step(self, problem: LeadingSubspace, state: State) -> State:
        memory: Subspace = state.memory
        seen: RitzPairs = state.seen
        block, width = memory.block, self._width(problem)
        Q, AQ, T = memory.basis, memory.images, memory.T
        if Q.shape[1] + width > self.largest * width:
            keep = ritz_pairs(Q, AQ, self.kept * width, T=T)
            Q, AQ, T = keep.vectors, keep.images, np.diag(keep.values)
        # Those below rounding are noise: they would bring in a direction without meaning.
        open_pairs = block.residuals > EPS * seen.norm
        R = block.images[:, open_pairs] - block.vectors[:, open_pairs] * block.values[open_pairs]
        new = _new_directions(Q, R / block.residuals[open_pairs])
        if not new.shape[1]:
            return State(state.point, seen, state.decrement, True, memory)
        image = problem.product(new)
        cross = Q.T @ image
        T = np.block([[T, cross], [cross.T, new.T @ image]])
        return self._at(problem, np.hstack([Q, new]), np.hstack([AQ, image]), T, seen.norm)

    def _width(self, problem: LeadingSubspace) -> int:
        return min(problem.k + self.guard, problem.n)

    def _at(self, problem: LeadingSubspace, Q: Floats, AQ: Floats, T: Floats, norm: float) -> State:
        k = problem.k
        block = ritz_pairs(Q, AQ, self._width(problem), norm, T)
        seen = RitzPairs(
            -float(block.values[:k].sum()),
            block.values[:k],
            block.vectors[:, :k],
            block.images[:, :k],
            block.residuals[:k],
            block.norm,
        )
        # Σ r²/|A|: of the order of what is left of the trace, by Kato and Temple's bound.
        size = max(block.norm, 1e-300)
        decrement = float(np.square(seen.residuals / size).sum()) * size
        done = Q.shape[1] == problem.n
        return State(seen.vectors, seen, decrement, done, Subspace(Q, AQ, T, block))


def _new_directions(Q: Floats, R: Floats) -> Floats:
    """An orthonormal basis of what the columns of R have outside Q.

    Twice is enough (Kahan and Parlett); a column that loses all but half of its digits is dropped.
    """
    R = R - Q @ (Q.T @ R)
    U, size, _ = np.linalg.svd(R, full_matrices=False)
    U = U[:, size > EPS**0.5]
    U = U - Q @ (Q.T @ U)
    return orthonormal(U) if U.shape[1] else U
