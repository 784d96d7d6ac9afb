"""Principal axes: eigenvectors of the scatter of rows, by the route that suits the shape.

full        singular value decomposition of the centred rows, O(n d min(n, d)); keeps the digits of
            the smallest singular values, which S = X'X squares away
covariance  S in one pass, then its eigenvectors: O(n d²) and d² memory, rows anywhere
gram        X X' for rows that are fewer than columns, O(n² d)
products    block Krylov on S, one pass a product: neither d² nor n² memory; sparse stays sparse
randomized  so many products and no more, whatever residual they leave

Reference: Golub and Van Loan, Matrix Computations (2013), sections 8.6 and 10.4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from fenchel.convex.certificate import Certificate
from fenchel.data.arrays import is_sparse, to_numpy
from fenchel.data.blocks import Blocks
from fenchel.data.parallel import one_blas_thread
from fenchel.models.spectral.scatter import (
    Scatter,
    ScatterProducts,
    exponent_of,
    mean_of,
    scatter_of,
    trace_of,
    weights_of,
)
from fenchel.solve.eigen.leading import eigenpairs, subspace_iterations
from fenchel.solve.eigen.residual import EPS, lengths, signed

Floats = NDArray[np.float64]
Route = Literal["full", "covariance", "gram", "products", "randomized"]
SMALLEST, LARGEST = float(np.finfo(np.float64).tiny), float(np.finfo(np.float64).max)
# min(n, d) and values up to which a singular value decomposition takes under 0.2 s (500 x 8000).
FULL_SIDE, FULL_VALUES = 500, 2**22
# Columns from which the leading eigenvectors alone are made, and up to which LAPACK makes them: of
# 784 columns it took 0.058 s of one core for all and 0.034 s for 50; Krylov steps took 0.15 s.
FEW, WHOLE = 256, 1024
# Columns up to which S and its decomposition pay: 0.1 GiB, and O(d³) in under a minute.
COVARIANCE = 4096


@dataclass(frozen=True, slots=True, eq=False)
class PrincipalAxes:
    """Eigenpairs of the scatter, in units of 4^exponent but for the mean.

    values: eigenvalues from the largest down, at least those of the vectors; complete: all of them;
    vectors: (d, k), orthonormal; residuals: |Sv - λv| of each; total: tr S; floor: what rounding
    leaves uncertain of sums like it; leading: whether LAPACK counted the values, so that no larger
    one is missing (always where they are complete).
    """

    mean: Floats
    values: Floats
    vectors: Floats
    residuals: Floats
    total: float
    floor: float
    exponent: int
    complete: bool
    route: Route
    leading: bool = False

    def outside(self, value: float, power: int = 2) -> float:
        """A number of these units in those of the table; infinite where no float holds it."""
        try:
            return math.ldexp(value, power * self.exponent)
        except OverflowError:
            return math.inf

    @property
    def certificate(self) -> Certificate:
        """Σᵢ |(I - P)(xᵢ - m)|², P onto the vectors, the least for as many, and the residuals."""
        k = self.vectors.shape[1]
        own = self.values[:k]
        left = max(self.total - float(own.sum()), 0.0)
        if self.complete:
            left = max(float(self.values[k:].sum()), 0.0)
        counted = self.complete or self.leading
        bound = max(left - self.floor, 0.0) if counted else -math.inf
        bound = min(self.outside(bound), LARGEST) if bound > 0.0 else bound
        norm = max(float(own.max(initial=0.0)), float(self.residuals.max(initial=0.0)))
        residual = float(self.residuals.max(initial=0.0)) / norm if norm > 0.0 else 0.0
        floor = max(self.outside(self.floor), SMALLEST if self.total > 0.0 else 0.0)
        scale = self.outside(self.total)
        return Certificate(
            self.outside(left), bound, "eigen", floor=floor, residual=residual, scale=scale
        )


def route_of(blocks: Blocks, few: bool) -> Route:
    """full for small tables, covariance for tall ones, gram for wide ones, else products; few:
    whether the leading axes alone are asked for."""
    n, d = blocks.n_rows, blocks.n_cols
    small = min(n, d) <= FULL_SIDE and n * d <= FULL_VALUES
    if small and not blocks.sparse:
        return "full"
    if d <= COVARIANCE and (d <= n or blocks.sparse):
        return "covariance"
    if n <= COVARIANCE and not blocks.sparse:
        return "gram"
    return "products" if few else "full"


def principal_axes(
    blocks: Blocks, k: int, route: Route, *, tol: float = 0.0, steps: int = 7, guard: int = 10
) -> PrincipalAxes:
    """The first k axes; k = min(n, d) for all.

    tol: residual of products, over |S|; 0: 1e-10. steps, guard: of the randomised route.
    """
    if route == "full":
        return _by_rows(blocks, k)
    if route == "gram":
        return _by_gram(blocks, k)
    if route == "covariance":
        return of_scatter(scatter_of(blocks), k)
    return _by_products(blocks, k, route, tol or 1e-10, steps, guard)


# LAPACK's threads wait for each other longer than they work: on 16 of them 0.13 s in place of 0.05.
@one_blas_thread()
def of_scatter(scatter: Scatter, k: int) -> PrincipalAxes:
    """Of S itself: all eigenvalues where that costs no more than the leading ones."""
    S = scatter.S
    d = len(S)
    total = max(float(np.trace(S)), 0.0)
    complete = leading = 4 * k > d or d <= WHOLE
    if complete:
        complete = 4 * k > d or d <= FEW
        values, V = linalg.eigh(S, subset_by_index=None if complete else [d - k, d - 1])
        values, V = np.maximum(values[::-1], 0.0), V[:, ::-1][:, :k]
    else:
        found = eigenpairs(S, k, tol=1e-13 * math.sqrt(d))
        values, V = np.maximum(found.values, 0.0), found.vectors
    V = _with_null_space(values[:k], V, d * EPS)
    residuals = lengths(S @ V - V * values[:k]) + 2.0 * EPS * math.sqrt(d) * values.max(initial=0.0)
    floor = 8.0 * EPS * d * total
    return PrincipalAxes(
        scatter.mean,
        _cut(values, d * EPS),
        signed(V),
        residuals,
        total,
        floor,
        scatter.exponent,
        complete,
        "covariance",
        leading,
    )


def centred_rows(blocks: Blocks) -> tuple[Floats, Floats, int]:
    """√sᵢ (xᵢ - m) / 2ᵉ of the rows with weight, m, and e."""
    whole = blocks.gather()
    X = whole.X.toarray() if is_sparse(whole.X) else whole.X
    rows = np.array(to_numpy(X), dtype=np.float64)
    s = None if whole.weight is None else to_numpy(whole.weight)
    if s is not None:
        rows, s = rows[s > 0.0], s[s > 0.0]
    exponent = math.frexp(float(np.abs(rows).max(initial=0.0)))[1]
    exponent = exponent if not -400 < exponent < 400 else 0
    rows = np.ldexp(rows, -exponent)
    mean = np.average(rows, axis=0, weights=s)
    rows -= mean
    rest = np.average(rows, axis=0, weights=s)  # makes good the rounding of the first mean
    rows -= rest
    if s is not None:
        rows *= np.sqrt(s)[:, None]
    return rows, np.ldexp(mean + rest, exponent), exponent


def _by_rows(blocks: Blocks, k: int) -> PrincipalAxes:
    rows, mean, exponent = centred_rows(blocks)
    _, sizes, Vt = linalg.svd(rows, full_matrices=False)
    slack = max(rows.shape) * EPS
    values = _cut(sizes, slack) ** 2
    return _of_rows(rows, mean, exponent, values, Vt[:k].T, k, slack, "full")


def _by_gram(blocks: Blocks, k: int) -> PrincipalAxes:
    rows, mean, exponent = centred_rows(blocks)
    values, U = linalg.eigh(rows @ rows.T)
    values, U = np.maximum(values[::-1], 0.0), U[:, ::-1][:, :k]
    slack = max(rows.shape) * EPS
    # Orthonormal, and rotated to the axes by the rows themselves: G has squared their digits.
    V = np.linalg.qr(rows.T @ U)[0]
    _, sizes, R = linalg.svd(rows @ V, full_matrices=False)
    values[: len(sizes)] = sizes**2
    return _of_rows(
        rows, mean, exponent, _cut(np.sort(values)[::-1], slack), V @ R.T, k, slack, "gram"
    )


def _of_rows(
    rows: Floats,
    mean: Floats,
    exponent: int,
    values: Floats,
    V: Floats,
    k: int,
    slack: float,
    route: Route,
) -> PrincipalAxes:
    d = rows.shape[1]
    values = np.concatenate([values, np.zeros(max(k - len(values), 0))])
    V = _with_null_space(values[:k], V, slack)
    total = float(np.sum(rows * rows))
    residuals = lengths(rows.T @ (rows @ V) - V * values[:k])
    residuals += 2.0 * EPS * math.sqrt(max(rows.shape)) * values.max(initial=0.0)
    floor = 8.0 * EPS * max(rows.shape) * total
    return PrincipalAxes(
        mean, values[:max(k, min(len(rows), d))], signed(V), residuals, total, floor, exponent,
        True, route,
    )  # fmt: skip


def _by_products(
    blocks: Blocks, k: int, route: Route, tol: float, steps: int, guard: int
) -> PrincipalAxes:
    exponent = exponent_of(blocks)
    exponent = exponent if not -400 < exponent < 400 else 0
    weights = weights_of(blocks)
    mean = mean_of(blocks, weights.total, exponent)
    S = ScatterProducts(blocks, mean, exponent)
    if route == "randomized":
        found = subspace_iterations(S, k, steps, guard)
    else:
        found = eigenpairs(S, k, tol=tol)
    values = np.maximum(found.values, 0.0)
    slack = max(blocks.n_rows, blocks.n_cols) * EPS
    V = _with_null_space(values, found.vectors, slack)
    total = max(trace_of(blocks, mean, exponent), float(values.sum()))
    floor = 8.0 * slack * total
    return PrincipalAxes(
        mean, _cut(values, slack), signed(V), found.residuals, total, floor, exponent, False, route
    )


def _cut(values: Floats, slack: float) -> Floats:
    """Zero where rounding alone is left."""
    return np.where(values > slack * values.max(initial=0.0), values, 0.0)


def _with_null_space(values: Floats, V: Floats, slack: float) -> Floats:
    """Vectors of vanishing eigenvalues, which rounding chose, replaced by unit vectors made
    orthogonal to the others in turn: the coordinate that is least in their span comes first."""
    k = len(values)
    rank = int((values > slack * values.max(initial=0.0)).sum())
    if rank == k and V.shape[1] == k:
        return V
    d = len(V)
    full = np.zeros((d, k))
    full[:, :rank] = V[:, :rank]
    left = 1.0 - np.sum(full * full, axis=1)
    for j in range(rank, k):
        # Equal but for rounding: the first of them.
        at = int((left >= left.max() - 1e-6).argmax())
        new = np.zeros(d)
        new[at] = 1.0
        for _ in range(2):
            new -= full[:, :j] @ (full[:, :j].T @ new)
        new /= np.linalg.norm(new)
        full[:, j] = new
        left -= new * new
    return full
