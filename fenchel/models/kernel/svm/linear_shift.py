"""A linear kernel on rows far from zero beside a free intercept: the same machine on rows x - c.

With Σβ = 0 the scores Σ βᵢ xᵢ·x + b are w·(x - c) + b', w = Σ βᵢ (xᵢ - c), b' = b + c·w, and the
least objective is the same. Entries of size |c| cost the kernel's values |c|² units of
rounding, which the rows x - c, exact where they are far (`solve.centring`), do not have. What
rounding leaves of σ = Σβ and of b moves a score by at most

    Δ = |σ| |c| max|x - c| + |b - (b' - c·w - σ|c|²)|,

a loss of slope at most 1 by no more, and |w|²/2 by |σ||c||w| + σ²|c|²/2, which the value pays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.convex.certification.rounding import U, gamma
from fenchel.convex.loss.base import PiecewiseLinear
from fenchel.data.arrays import is_sparse
from fenchel.data.blocks import Block
from fenchel.data.in_memory import ArrayBlocks
from fenchel.data.linear_algebra.double_double import two_product
from fenchel.geometry.kernel.vector_kernels import Linear
from fenchel.models.certificates.kernel_svm import certify_machine
from fenchel.models.kernel.gram_rows import GramRows
from fenchel.solve.centring import centred

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LinearShift:
    """gram: the kernel on the rows x - c."""

    gram: GramRows
    centre: Floats = field(repr=False)

    @classmethod
    def of(cls, gram: GramRows) -> LinearShift | None:
        """None for other kernels, and for rows that are near zero."""
        if not isinstance(gram.kernel, Linear):
            return None
        X = gram.rows
        found = centred(ArrayBlocks(Block(0, X, np.zeros(gram.n), None), None))
        if found is None:
            return None
        return cls(replace(gram, rows=found.rows.gather().X), found.centre)

    def _crossing(self, beta: Floats) -> tuple[float, float]:
        """c·w + σ|c|², and at most by how much it is off: columns of w by exact sums."""
        X, far = self.gram.rows, np.flatnonzero(self.centre)
        terms: list[float] = []
        error = 0.0
        for q in far.tolist():
            column = X[:, [q]].toarray()[:, 0] if is_sparse(X) else X[:, q]
            w = math.fsum(np.concatenate(two_product(beta, column.astype(np.float64))))
            c = float(self.centre[q])
            terms += np.concatenate(two_product(np.array([c]), np.array([w]))).tolist()
            error += U * abs(c * w)
        square = math.fsum(self.centre**2)
        sigma = math.fsum(beta)
        return math.fsum([*terms, sigma * square]), error + 8.0 * U * abs(sigma) * square

    def outward(self, beta: Floats, b: float) -> float:
        """b beside the rows as they came."""
        return b - self._crossing(beta)[0]

    def inward(self, beta: Floats, b: float) -> float:
        """b' beside the rows x - c."""
        return b + self._crossing(beta)[0]

    def paid(
        self, proof: Certificate, beta: Floats, b: float, inside: float, weight: float
    ) -> Certificate:
        """A certificate of (β, b') on the rows x - c as one of (β, b) on the rows; weight: C Σs."""
        X, (crossing, error) = self.gram.rows, self._crossing(beta)
        sizes = np.sqrt(self.gram.kernel.diagonal(X)) * (1.0 + 1e-6)
        stretch = abs(math.fsum(beta)) * float(np.linalg.norm(self.centre))
        missed = error + 4.0 * U * (abs(inside) + abs(crossing) + abs(b))
        missed += abs(math.fsum([inside, -crossing, -b]))
        delta = stretch * float(sizes.max(initial=0.0)) + missed
        w = float(np.linalg.norm(X.T @ beta))
        w += gamma(len(beta) + 8) * float(np.abs(beta) @ sizes)
        more = weight * delta + stretch * (w + 0.5 * stretch)
        residual = None if proof.residual is None else proof.residual + 2.0 * delta
        return replace(proof, value=proof.value + 1.0001 * more, residual=residual)


def certify_shifted(
    C: float,
    gram: GramRows,
    members: NDArray[np.int64],
    coef: Floats,
    b: float,
    y: Floats,
    s: Floats,
    loss: PiecewiseLinear | None = None,
) -> Certificate:
    """`certify_machine` of these members, on rows near zero where that is the same problem."""
    shift = LinearShift.of(gram.among_members(members))
    if shift is None:
        return certify_machine(C, gram.kernel, gram.rows, members, coef, b, y, s, loss)
    rows, beta = np.arange(len(members)), coef[members]
    inside, known = shift.inward(beta, b), (y[members], s[members])
    proof = certify_machine(C, shift.gram.kernel, shift.gram.rows, rows, beta, inside, *known, loss)
    return shift.paid(proof, beta, b, inside, C * float(s[members].sum()))
