"""Squared Euclidean distances in float64, and bounds of them by matrix products.

The distance of this library is one fixed sequence of float64 operations, whatever computes it:

    d²(x, c) = Σᵣ Σ_{l ≡ r mod 16} (xₗ - cₗ)²,   r = 0 … 15,   both sums from left to right,

which for at most sixteen coordinates is the plain sum. Nearest points, ties and counts are decided
by it alone, so that they do not depend on tiles, threads, layout or the order of the points.

**The bound.** With x̂, ĉ the rows minus a centre μ, times a power of two, stored in a type of unit
roundoff u (2⁻²⁴ or 2⁻⁵³; U = 2⁻⁵³), and N = ‖x̂‖² + ‖ĉ‖² ≥ (‖x̂‖ + ‖ĉ‖)²/2, the errors of
‖x̂‖² - 2 x̂·ĉ + ‖ĉ‖² against the scaled d² are at most

    9 u N                  the shift and the storage: entries of x̂ and ĉ are off by 2.1 u
    1.01 d u N             the product, in any order of summation, for d u ≤ 0.01
    3.1 u N                ‖ĉ‖² stored, one addition
    d U N                  the norms, summed in float64
    2 (d/16 + 18) U N      what d² itself is off by, N being at least half of it
    4 U N                  the threshold it is compared with

together less than δN with δ = (1.02 d + 20) u + (2 d + 60) U, but for underflow, which `compiled`
adds. So (1-δ)‖x̂‖² - 2 x̂·ĉ + (1-δ)‖ĉ‖² is below the scaled d²: a point for which it exceeds the
smallest distance known so far is further away, and every other is decided by d² itself.

Reference: Higham, Accuracy and Stability of Numerical Algorithms (2002), section 3.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import Array, is_sparse
from fenchel.data.parallel import parallel_map

Floats = NDArray[np.float64]
LANES = 16
# ‖x‖² - 2 x·c + ‖c‖² loses the digits of log₂ 1/SHARE bits; below that share of ‖x‖² + ‖c‖² a
# distance is made directly. Of clouds without structure no pair is as near as that.
SHARE = 1.0 / 64.0
# Squares of differences must neither overflow nor lose digits to underflow.
LARGEST, SMALLEST = 1e140, 1e-140
PART = 1024  # rows that a thread converts at once


def rows_in_order(X: Array) -> NDArray[Any]:
    """The rows as a C-ordered array of float32 or float64, dense; no copy where they are that."""
    if is_sparse(X):
        X = X.toarray()
    X = np.asarray(X)
    kept = X.dtype if X.dtype in (np.float32, np.float64) else np.float64
    return np.ascontiguousarray(X, dtype=kept)


def unit_roundoff(dtype: Any) -> float:
    """Half the distance from 1 to the next number."""
    return 0.5 * float(np.finfo(dtype).eps)


def bound_factor(d: int, dtype: Any) -> float:
    """δ of the module's bound."""
    return (1.02 * d + 20.0) * unit_roundoff(dtype) + (2.0 * d + 60.0) * 2.0**-53


def largest_entry(rows: NDArray[Any]) -> float:
    """max |x|, or NaN if there is one; no copy is made."""
    n = len(rows)
    step = max(1, min(n, 2**18 // max(1, rows[:1].size)))

    def largest(lo: int) -> Any:
        part = rows[lo : lo + step]
        return np.maximum(part.max(initial=0.0), -part.min(initial=0.0))

    return float(np.max(parallel_map(largest, range(0, n, step)), initial=0.0))


class Bounds(NamedTuple):
    """What compiled loops need to bound distances by products.

    doubled: -2 scale (p - centre) in the type of the products; norms: (1-δ)‖scale (p - centre)‖²;
    slack: δ; limit: the squared norm of a scaled row beyond which products may overflow; eps, tiny:
    of that type; tiny times the number of terms that may underflow.
    """

    rows: NDArray[Any]
    centre: Floats
    scale: float
    doubled: NDArray[Any]
    norms: NDArray[Any]
    slack: float
    limit: float
    eps: float
    tiny: float


@dataclass(frozen=True, slots=True)
class Points:
    """Points prepared for many rows.

    columns: transposed in float64, where there are at most LANES coordinates; products: where there
    are more.
    """

    rows: NDArray[Any]
    columns: Floats | None = field(repr=False)
    products: Bounds | None = field(repr=False)

    @classmethod
    def of(cls, points: Array, dtype: Any = np.float32) -> Points:
        """dtype: of the products; float32 is twice as fast, and float64 decides more by itself."""
        rows = rows_in_order(points).view()
        rows.flags.writeable = False  # one type for the compiled loops, whatever was given
        if rows.ndim != 2 or not len(rows):
            raise ValueError(f"points must be a table with at least one row, got {rows.shape}")
        size = largest_entry(rows)
        if not size <= 1e150:
            raise ValueError(
                f"points hold NaN or values as large as {size:.2g}, whose squares overflow: "
                "rescale the columns"
            )
        if rows.shape[1] <= LANES:
            return cls(rows, np.ascontiguousarray(rows.T, dtype=np.float64), None)
        return cls(rows, None, _products(rows, np.dtype(dtype)))


def _products(rows: NDArray[Any], dtype: np.dtype[Any]) -> Bounds:
    d = rows.shape[1]
    if d * unit_roundoff(dtype) > 0.01:  # the bound asks for it
        dtype = np.dtype(np.float64)
    from fenchel.geometry.compiled import doubled_rows, largest_square

    # Any centre will do, and one near the points does best.
    centre = rows[:: -(-len(rows) // PART)].mean(axis=0, dtype=np.float64)
    parts = [(lo, min(lo + PART, len(rows))) for lo in range(0, len(rows), PART)]
    squares = parallel_map(lambda part: largest_square(rows, *part, centre), parts)
    largest = math.sqrt(max(squares))
    usable = SMALLEST < largest < LARGEST
    scale = 2.0 ** -math.ceil(math.log2(largest)) if usable else 1.0
    slack = bound_factor(d, dtype)
    doubled, norms = np.empty(rows.shape, dtype), np.empty(len(rows), dtype)
    rest = centre, scale, slack, doubled, norms
    parallel_map(lambda part: doubled_rows(rows, *part, *rest), parts)
    # Points without extent: every row is compared directly, as is one that is this far from them.
    limit = -1.0 if not usable else 1e30 if dtype == np.float32 else 1e200
    kind = np.finfo(dtype)
    small = float(kind.eps), float(kind.tiny) * (4 * d + 16)
    return Bounds(rows, centre, scale, doubled, norms, slack, limit, *small)


def _squares(rows: Floats) -> Floats:
    """‖xᵢ‖²."""
    return np.asarray(np.einsum("ij,ij->i", rows, rows))


def squared_distances(A: Array, B: Array) -> Floats:
    """The matrix of d²(aᵢ, bⱼ): directly for at most sixteen coordinates, else by a product after
    shifting both to the mean of B, and directly where that would lose digits: equal rows have
    distance 0, and no distance is off by more than δN with N ≤ 64 d².
    """
    from fenchel.geometry.compiled import fill_directly, refine

    A, B = rows_in_order(A), rows_in_order(B)
    if A.shape[1] != B.shape[1]:
        raise ValueError(f"rows have {A.shape[1]} columns and points have {B.shape[1]}")
    if A.shape[1] <= LANES:
        out = np.empty((len(A), len(B)))
        fill_directly(A, np.ascontiguousarray(B.T, dtype=np.float64), out)
        return out
    centre = B.mean(axis=0, dtype=np.float64)
    a, b = A - centre, B - centre
    out = a @ (-2.0 * b).T
    squares = _squares(a), _squares(b)
    wide = A.astype(np.float64, copy=False), B.astype(np.float64, copy=False)
    refine(*wide, *squares, SHARE, out)
    return out


def absolute_distances(A: Array, B: Array) -> Floats:
    """The matrix of ‖aᵢ - bⱼ‖₁."""
    from scipy.spatial.distance import cdist

    A, B = (rows_in_order(rows).astype(np.float64, copy=False) for rows in (A, B))
    if A.shape[1] != B.shape[1]:
        raise ValueError(f"rows have {A.shape[1]} columns and points have {B.shape[1]}")
    return np.asarray(cdist(A, B, "cityblock"))
