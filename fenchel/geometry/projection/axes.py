"""The k nearest points by projections: lower bounds of a few coordinates for most distances.

With orthonormal columns V and T x = (V'x, ‖x - V V'x‖), ‖T x - T c‖ ≤ ‖x - c‖: on p principal axes
of the points a product of p + 1 columns bounds distances of d, tightly where the rows vary little
beyond them. What it leaves open is bounded by the products of all d columns, and what those leave
open is decided by the distances, as without projections: the answer is the same.

**The bound.** x̂, ĉ, N, u, U as in `fenchel.geometry.distance`, which says what ‖x̂ - ĉ‖² is off by.
With η = ‖V'V - I‖, ‖T x̂ - T ĉ‖² ≤ (1 + 1.1 η) ‖x̂ - ĉ‖² and ‖x̂ - ĉ‖² ≤ 2N. T x̂ is made in
double precision: ‖V V'x̂‖ by squares, so that the root is off by ρ = √(3 √p d U) of ‖x̂‖ at most;
and it is stored, off by u. An error of ε (‖x̂‖ + ‖ĉ‖) of a difference changes its square by 4.1 ε N.
Together with the product of p + 1 columns, less than δN, with

    δ = 1.001 ((1.02 (p + 1) + 20) u + (4 d + 60) U + 4.2 (u + ρ) + 2.3 η).

Reference: Hwang, Han and Ahn, A fast nearest neighbor search algorithm by nonlinear embedding,
CVPR (2012), for the last coordinate.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenchel.data.parallel import one_blas_thread, parallel_map
from fenchel.geometry.distance import Bounds, bound_factor

Floats = NDArray[np.float64]
SAMPLE = 4096  # points that tell the axes
PART = 1024  # points that a thread projects at once
# Columns for each axis: 96 of 784 leave 340 of 60,000 images open, 64 leave 600, 128 leave 210.
COLUMNS = 8


class Projection(NamedTuple):
    """axes: V (d, p) in float64; doubled: -2 T of the scaled points (m, p + 1); norms: (1-δ)‖T ĉ‖²;
    slack: δ."""

    axes: Floats
    doubled: NDArray[Any]
    norms: NDArray[Any]
    slack: float


def projection_of(products: Bounds) -> Projection:
    """On the principal axes of points prepared for products in float32."""
    m, d = products.doubled.shape
    axes = _axes(products, max(1, d // COLUMNS))
    p = axes.shape[1]
    u, U = 2.0**-24, 2.0**-53
    eta = float(np.linalg.norm(axes.T @ axes - np.eye(p)))
    rho = math.sqrt(3.0 * math.sqrt(p) * d * U)
    slack = bound_factor(p + 1, np.float32) + 4.0 * d * U + 4.2 * (u + rho) + 2.3 * eta
    slack *= 1.001
    doubled, norms = np.empty((m, p + 1), np.float32), np.empty(m, np.float32)

    def project(lo: int) -> None:
        part = slice(lo, lo + PART)
        stored = projected(_stored(products, part), axes).astype(np.float32)
        norms[part] = np.einsum("ij,ij->i", stored, stored, dtype=np.float64) * (1.0 - slack)
        doubled[part] = stored * np.float32(-2.0)

    with one_blas_thread():
        parallel_map(project, range(0, m, PART))
    return Projection(np.ascontiguousarray(axes), doubled, norms, slack)


def projected(rows: Floats, axes: Floats) -> Floats:
    """T of some rows."""
    inside = rows @ axes
    left = np.einsum("ij,ij->i", rows, rows) - np.einsum("ij,ij->i", inside, inside)
    return np.column_stack([inside, np.sqrt(np.maximum(left, 0.0))])


def _stored(products: Bounds, part: slice) -> Floats:
    return products.doubled[part].astype(np.float64) * -0.5


def _axes(products: Bounds, p: int) -> Floats:
    """About the centre, which the scaled points lie around."""
    m, d = products.doubled.shape
    some = _stored(products, slice(0, None, max(1, m // SAMPLE)))
    return np.asarray(np.linalg.eigh(some.T @ some)[1][:, d - p :])
