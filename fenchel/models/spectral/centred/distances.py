"""Classical scaling: the operator of squared distances, and what continues it.

    B = -D²/2,   A = √S J B J' √S,   J = I - 1p',  p = s / Σ s
    P(x, xⱼ) = -(d²(x, xⱼ) - Σᵢ pᵢ d²(x, xᵢ) - Σᵢ pᵢ d²(xᵢ, xⱼ) + Σᵢₗ pᵢpₗ d²(xᵢ, xₗ))/2 · sⱼ

Of Euclidean distances A is the matrix of inner products of the rows minus their mean, so that no
distance has to be made: P(x, ·) = (x - m)R', R the rows minus m.

Reference: Torgerson, Multidimensional scaling I, Psychometrika 17 (1952); Gower, Adding a point to
vector diagrams in multivariate analysis, Biometrika 55 (1968).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import is_sparse
from fenchel.data.blocks import Block
from fenchel.data.in_memory import ArrayBlocks
from fenchel.data.parallel import map_ordered, one_blas_thread, parallel_map, thread_count
from fenchel.geometry.search.metric import RowMetric
from fenchel.models.spectral.centred.operators import (
    CentredSymmetric,
    Centring,
    FactorProducts,
    centred_against,
    refuse_memory,
    rounding_error,
)
from fenchel.models.spectral.eigenfunctions import DataOperator
from fenchel.models.spectral.principal_axes import centred_rows
from fenchel.solve.eigen.products import DenseSymmetric

Floats = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)
RANGE = 256  # rows of distances that are made at once on a thread


@final
@dataclass(frozen=True, slots=True, eq=False)
class ShiftedRows:
    """r(x) = (x - m) / 2ᵉ, whose inner products are P; coefficients are those of columns."""

    mean: Floats = field(repr=False)
    exponent: int = 0

    def extend(self, X: Any) -> Floats:
        rows = X.toarray() if is_sparse(X) else X
        rows = np.ldexp(np.asarray(rows, np.float64), -self.exponent)
        return np.asarray(rows - np.ldexp(self.mean, -self.exponent))


@final
@dataclass(frozen=True, slots=True, eq=False)
class CentredDistances:
    """P of distances to the points, over 4ᵉ.

    share: p; means: Σᵢ pᵢ d²(xᵢ, xⱼ) over 4ᵉ; grand: their mean; weight: s, None for 1; squared:
    whether the rows of a question hold squared distances.
    """

    metric: RowMetric
    points: Any = field(repr=False)
    share: Floats = field(repr=False)
    means: Floats = field(repr=False)
    grand: float
    weight: Floats | None = field(default=None, repr=False)
    exponent: int = 0
    squared: bool = False

    def extend(self, X: Any) -> Floats:
        return self.centred(self.metric.tile(X, self.points))

    def centred(self, D: Floats) -> Floats:
        """P of rows by their distances to the points."""
        if (D < 0.0).any():
            i, j = (int(at[0]) for at in np.nonzero(D < 0.0))
            raise ValueError(f"row {i} has the negative distance {D[i, j]:.6g} to point {j}")
        B = squares(D, self.exponent, self.squared)
        P = centred_against(B, self.share, self.means, self.grand, self.weight)
        P *= -0.5
        return P


def factored_rows(block: Block, members: NDArray[np.int64] | None = None) -> DataOperator:
    """Inner products of rows minus their mean, by these rows themselves."""
    R, mean, exponent = centred_rows(ArrayBlocks(block))
    s = None if block.weight is None else np.asarray(block.weight, np.float64)
    factor = R if s is None else R * np.sqrt(s)[:, None]
    memory = ShiftedRows(mean, exponent)
    A = FactorProducts(R)
    return DataOperator(A, memory, s, members, factor, exponent, A.rounding)


def squares(D: Floats, exponent: int, squared: bool) -> Floats:
    """d² / 4ᵉ, as a copy."""
    if squared:
        return _over(D, 2 * exponent)
    D = _over(D, exponent)
    return np.square(D, out=D)


def _over(D: Floats, exponent: int) -> Floats:
    """D / 2ᵉ: a product where the power is a float, which takes a tenth of the time of ldexp."""
    if abs(exponent) > 1000:
        return np.ldexp(D, -exponent)
    return D * math.ldexp(1.0, -exponent)


def scaled_operator(
    D: Floats,
    metric: RowMetric,
    points: Any,
    s: Floats | None,
    *,
    squared: bool = False,
    members: NDArray[np.int64] | None = None,
    entries: float = 4.0,
) -> DataOperator:
    """A of a matrix of distances, and its continuation by distances to the points.

    entries: by how many roundings the squares may be off.
    """
    top = float(D.max(initial=0.0))
    size = math.frexp(top)[1]
    exponent = -(-size // 2) if squared else size
    n = len(D)
    centring = Centring.of(n, s)
    B, means = np.empty((n, n)), np.empty(n)

    def fill(lo: int) -> float:
        with one_blas_thread():
            part = squares(D[lo : lo + RANGE], exponent, squared)
            means[lo : lo + RANGE] = part @ centring.share
            np.multiply(part, -0.5, out=B[lo : lo + RANGE])
            return float(part.max(initial=0.0))

    with one_blas_thread():
        largest = max(map_ordered(fill, range(0, n, RANGE), thread_count()), default=0.0)
    grand = float(centring.share @ means)
    memory = CentredDistances(metric, points, centring.share, means, grand, s, exponent, squared)
    error = rounding_error(0.5 * largest, n, s, entries)
    A = CentredSymmetric(DenseSymmetric(B), centring)
    return DataOperator(A, memory, s, members, exponent=exponent, error=error)


def distance_matrix(metric: RowMetric, rows: Any, points: Any) -> Floats:
    """d(xᵢ, xⱼ) by ranges of rows on every thread."""
    n, m = int(rows.shape[0]), int(points.shape[0])
    refuse_memory(
        16.0 * n * m,
        f"the {n} x {m} distances, with their squares,",
        "set n_landmarks, or take metric='euclidean'",
    )
    D = np.empty((n, m))

    def fill(lo: int) -> None:
        with one_blas_thread():
            D[lo : lo + RANGE] = metric.tile(rows[lo : lo + RANGE], points)

    with one_blas_thread():
        parallel_map(fill, range(0, n, RANGE))
    return D


def checked_distances(D: Floats, what: str, dtype: Any = np.float64) -> Floats:
    """The symmetric part of a matrix of distances, or an error that names the entry which is
    none. Distances that are square roots of differences are off by √ε of the largest."""
    top = float(np.abs(D).max(initial=0.0))
    slack = 4.0 * math.sqrt(float(np.finfo(dtype).eps)) * top
    _refuse(D, what, np.where(np.isnan(D), 1.0, 0.0), "is NaN: give a distance for each pair")
    _refuse(D, what, -D, "is negative, which no distance is")
    D = symmetric_part(D, what, slack)
    own = np.abs(np.diag(np.diagonal(D))) - slack
    _refuse(D, what, own, "is not zero, and is a row's own distance")
    return D


def symmetric_part(A: Floats, what: str, slack: float) -> Floats:
    """(A + A') / 2, or an error that names the entries which differ by more."""
    both = "is not that of column and row exchanged: pass (M + M') / 2 of the matrix M"
    _refuse(A, what, np.abs(A - A.T) - slack, both)
    return 0.5 * (A + A.T)


def _refuse(A: Floats, what: str, wrong: Floats, words: str) -> None:
    """An error that names the worst entry which is wrong, where `wrong` is above zero."""
    if len(A) and wrong.max() > 0.0:
        i, j = divmod(int(wrong.argmax()), len(A))
        other = f" (row {j}, column {i}: {A[j, i]:.6g})" if "exchanged" in words else ""
        ahead = "Negative values in data: " if "negative" in words else ""  # scikit-learn's words
        raise ValueError(f"{ahead}{what} in row {i}, column {j}, {A[i, j]:.6g}, {words}{other}")


def square_input(A: Any) -> Floats:
    """A matrix that is given for all pairs of rows, dense, in float64."""
    A = A.toarray() if is_sparse(A) else A
    if A.shape[0] != A.shape[1]:
        raise ValueError(
            f"Precomputed matrix must be square. Input is a {A.shape[0]}x{A.shape[1]} matrix."
        )
    return np.asarray(A, np.float64)
