"""Rows prepared for tiles of squared distances: in float64, less their mean, with their norms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import is_sparse
from fenchel.data.passes.loops import address
from fenchel.geometry.distance import LANES, SHARE, rows_in_order
from fenchel.geometry.kernel.kernel_function import PreparedRows, are_prepared, prepared_together

Floats = NDArray[np.float64]


def prepared_for_distances(tables: tuple[Any, ...]) -> tuple[Any, ...]:
    """Tables as `distance_tile` takes them; sparse ones, whose dense form may not fit, stay."""
    if are_prepared(tables) or any(is_sparse(table) for table in tables):
        return tables

    def parts(distinct: list[Any]) -> list[tuple[Any, ...]]:
        rows = [rows_in_order(table).astype(np.float64, copy=False) for table in distinct]
        widths = {each.shape[1] for each in rows}
        if len(widths) > 1:
            first, last = rows[0].shape[1], rows[-1].shape[1]
            raise ValueError(f"rows have {first} columns and points have {last}")
        if max(widths) <= LANES or not len(rows[-1]):
            return [(each, None, None) for each in rows]
        # Any middle will do: what it leaves of the digits is told pair by pair.
        middle = rows[-1].mean(axis=0)
        moved = [each - middle for each in rows]
        squares = [np.einsum("ij,ij->i", each, each) for each in moved]
        return list(zip(rows, moved, squares, strict=True))

    return prepared_together(tables, parts)


def distance_tile(A: Any, B: Any, gamma: float = 0.0) -> Floats:
    """The matrix of ‖aᵢ - bⱼ‖², or of exp(-γ‖aᵢ - bⱼ‖²) where γ > 0, of prepared rows: equal rows
    have distance 0, and no distance is off by more than `distance.squared_distances` says."""
    from fenchel.data.passes.native.compiled import matrix_product
    from fenchel.geometry.radial.compiled import squares_by_product, squares_directly

    (rows, a, row_squares), (points, b, point_squares) = A.parts, B.parts
    rows, points = (np.ascontiguousarray(part) for part in (rows, points))
    (h, d), m = rows.shape, len(points)
    out = np.empty((h, m))
    if a is None:
        squares_directly(address(rows), h, address(points), m, d, gamma, address(out))
        return out
    a, b = (np.ascontiguousarray(part) for part in (a, b))
    left, right = (np.ascontiguousarray(part) for part in (row_squares, point_squares))
    squares_by_product(
        matrix_product(), address(rows), address(a), address(left), h,
        address(points), address(b), address(right), m, d, SHARE, gamma, address(out),
    )  # fmt: skip
    return out


def is_prepared(table: Any) -> bool:
    """Whether a table is as `prepared_for_distances` makes it."""
    return isinstance(table, PreparedRows)
