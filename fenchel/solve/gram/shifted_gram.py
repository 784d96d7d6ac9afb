"""Kernel ridge equations (K + αS⁻¹)c = y: Cholesky in float32, conjugate gradients in float64.

With D = S^½ and c = Du they are (DKD + αI)u = Dy. A factor in float32 takes half the time of one in
float64 and misses u by some κ 2⁻²⁴; as a preconditioner it lets conjugate gradients, whose products
are made in float64, reach the accuracy of float64 in a few steps. Where α is too small for float32,
or the steps do not converge, the factor is made in float64.

Cost: n³/3 for a factor, n² for a step; 4 n² bytes beside what the design keeps, or 8 n².

Reference: Carson and Higham, Accelerating the solution of linear systems by iterative refinement in
three precisions, SIAM J. Sci. Comput. 40 (2018).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.blocks import free_memory
from fenchel.data.design.kernel import KernelExpansion
from fenchel.data.parallel import one_blas_thread, parallel_map
from fenchel.solve.gram.tiled_cholesky import solve_factored, tiled_cholesky

Floats = NDArray[np.float64]
Inverse = Callable[[Floats], Floats]  # of the columns of a matrix
U = 2.0**-53
STRIP = 256  # rows of the matrix that are made at once
# Rounding n² entries to 24 bits moves eigenvalues by some √n 2⁻²⁴ of the largest entry; a shift
# below twice that leaves a factor that is mostly rounding.
SINGLE_NOISE = 2.0 * 2.0**-24
SINGLE_STEPS, DOUBLE_STEPS = 40, 12


@dataclass(frozen=True, slots=True)
class ShiftedSolution:
    """c (n, T), the type of the factor, and how many steps followed it."""

    c: Floats
    precision: str
    steps: int


@dataclass(frozen=True)
class ShiftedGram:
    """(K + αS⁻¹) over the rows of a design whose weights are all positive.

    root: S^½, scaled like y by its caller; alpha > 0.
    """

    design: KernelExpansion
    root: Floats
    alpha: float

    def product(self, U_: Floats) -> Floats:
        """(DKD + αI)u for the columns of a matrix."""
        root = self.root[:, None]
        return np.asarray(root * self.design.product(root * U_) + self.alpha * U_)

    def solve(self, y: Floats) -> ShiftedSolution:
        """c for the columns of y."""
        b = self.root[:, None] * y
        diagonal = self.design.diagonal() * self.root**2
        if not float(diagonal.max(initial=0.0)) > 0.0:
            return ShiftedSolution(self.root[:, None] * b / self.alpha, "exact", 0)
        trace = float(diagonal.sum())
        taken, ahead = 0, self.inverse_in_single()
        if ahead is not None:
            u, taken, reached = conjugate_steps(self.product, ahead, b, trace, SINGLE_STEPS)
            if reached:
                return ShiftedSolution(self.root[:, None] * u, "float32", taken)
            del ahead
        u, more, _ = conjugate_steps(self.product, self.inverse(), b, trace, DOUBLE_STEPS)
        return ShiftedSolution(self.root[:, None] * u, "float64", taken + more)

    def inverse_in_single(self) -> Inverse | None:
        """(DKD + αI)⁻¹ by a factor in float32; None where α is too small for that."""
        exponent, shift = self._scale()
        if not shift >= SINGLE_NOISE * math.sqrt(len(self.root)):
            return None
        factor = self._factor(np.dtype(np.float32), exponent, shift)
        return None if factor is None else _inverse(factor, exponent)

    def inverse(self) -> Inverse:
        """(DKD + αI)⁻¹ by a factor in float64, of an α lifted to where there is one."""
        exponent, shift = self._scale()
        factor = self._factor(np.dtype(np.float64), exponent, shift)
        if factor is None:  # α is below rounding: what is solved for is what the steps reach
            lifted = shift + 16.0 * len(self.root) * U
            factor = self._factor(np.dtype(np.float64), exponent, lifted)
        if factor is None:
            raise ValueError(
                "the kernel is not positive semi-definite on these rows (or not symmetric), so "
                "the problem is not convex: choose a kernel that is, or raise alpha"
            )
        return _inverse(factor, exponent)

    def _scale(self) -> tuple[int, float]:
        """e and α/2^e, 2^e above the diagonal and α."""
        top = float((self.design.diagonal() * self.root**2).max(initial=0.0))
        exponent = math.frexp(max(top, self.alpha))[1]
        return exponent, math.ldexp(self.alpha, -exponent)

    def _factor(self, dtype: np.dtype[Any], exponent: int, shift: float) -> NDArray[Any] | None:
        """The factor of (DKD)/2^e + shift I in its lower triangle; None where there is none."""
        n = len(self.root)
        _check_room(n, dtype)
        A = np.empty((n, n), dtype)
        held, root = self.design.matrix_in_memory(), self.root
        unit = math.ldexp(1.0, -exponent)

        def fill(row: int) -> None:
            rows = slice(row, min(row + STRIP, n))
            width = slice(0, rows.stop)
            with one_blas_thread():
                if held is None:
                    strip = np.empty((rows.stop - row, rows.stop))
                    maker = self.design.row_maker(np.arange(row, rows.stop), False)
                    maker(width, strip, np.arange(len(strip)))
                else:
                    strip = held[rows, width]
                A[rows, width] = strip * (root[rows, None] * unit) * root[width]

        with one_blas_thread():
            parallel_map(fill, range(0, n, STRIP))
        A.reshape(-1)[:: n + 1] += dtype.type(shift)
        return A if tiled_cholesky(A) else None


def factor_fits(n: int) -> bool:
    """Whether there is room for a factor in float32 of n rows."""
    return 4.0 * n * n <= 0.9 * free_memory()


def _check_room(n: int, dtype: np.dtype[Any]) -> None:
    need, have = float(dtype.itemsize) * n * n, free_memory()
    if need > 0.9 * have:
        raise MemoryError(
            f"the factor of the {n} x {n} kernel matrix needs {need / 2**30:.1f} GiB and "
            f"{have / 2**30:.1f} GiB are free: give landmarks, for example landmarks=2000, or fit "
            "fewer rows"
        )


def _inverse(factor: NDArray[Any], exponent: int) -> Inverse:
    kind = factor.dtype

    def apply(r: Floats) -> Floats:
        # Residuals shrink below the range of float32: each is brought to one first.
        size = np.abs(r).max(axis=0)
        powers = np.where(size > 0.0, np.frexp(size)[1], 0)
        found = solve_factored(factor, np.ldexp(r, -powers).astype(kind))
        return np.ldexp(found.astype(np.float64), powers - exponent)

    return apply


def conjugate_steps(
    product: Callable[[Floats], Floats],
    precondition: Callable[[Floats], Floats],
    b: Floats,
    trace: float,
    most: int,
) -> tuple[Floats, int, bool]:
    """Mu = b for each column by preconditioned conjugate gradients: u, steps, and whether every
    residual came down to what rounding in the products leaves of it.

    trace: of M, which bounds its norm. The recurrence's residual drifts from the true one, which is
    made anew when the recurrence says that it is done; only that one decides.
    """
    u, steps = np.zeros_like(b), 0
    r = b.copy()
    size = np.linalg.norm(b, axis=0)
    while True:
        before = np.linalg.norm(r, axis=0)
        so_far = u

        def goal(move: Floats, so_far: Floats = so_far) -> Floats:
            return _goal(size, so_far + move, trace)

        move, taken = conjugate_run(product, precondition, r, most - steps, goal)
        u, steps = u + move, steps + taken
        r = b - product(u)
        norm = np.linalg.norm(r, axis=0)
        if (norm <= 4.0 * _goal(size, u, trace)).all():
            return u, steps, True
        if steps >= most or not (norm <= 0.5 * before).any():
            return u, steps, False


def conjugate_run(
    product: Callable[[Floats], Floats],
    precondition: Callable[[Floats], Floats],
    b: Floats,
    most: int,
    goal: Callable[[Floats], Floats],
) -> tuple[Floats, int]:
    """Mu = b for each column until the recurrence's residuals are at most goal(u): u and steps.

    It ends too where a residual has grown tenfold, as it does where M is not definite.
    """
    u, steps, r = np.zeros_like(b), 0, b.copy()
    first = np.linalg.norm(r, axis=0)
    z = precondition(r)
    p, rz = z, np.einsum("ij,ij->j", r, z)
    while steps < most:
        q = product(p)
        pq = np.einsum("ij,ij->j", p, q)
        move = np.divide(rz, pq, out=np.zeros_like(rz), where=pq > 0.0)
        u += move * p
        r -= move * q
        steps += 1
        norm = np.linalg.norm(r, axis=0)
        if (norm <= goal(u)).all() or (norm > 10.0 * first).any():
            break
        z = precondition(r)
        rz, old = np.einsum("ij,ij->j", r, z), rz
        turn = np.divide(rz, old, out=np.zeros_like(rz), where=old > 0.0)
        p = z + turn * p
    return u, steps


def _goal(size: Floats, u: Floats, trace: float) -> Floats:
    # The products' errors are some U ‖M‖‖u‖, where ‖M‖ is a fraction of the trace.
    return np.asarray(U * (size + 0.0625 * trace * np.linalg.norm(u, axis=0)))
