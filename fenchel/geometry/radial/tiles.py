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
# Rows whose mean is taken for the middle of a table; of a sparse one they are made dense.
MIDDLE_ROWS = 256


def prepared_for_distances(tables: tuple[Any, ...]) -> tuple[Any, ...]:
    """Tables as `distance_tile` takes them. Sparse ones stay sparse, and parts of them are made
    dense tile by tile; their distances have the bits of the same rows dense."""
    if are_prepared(tables):
        return tables

    def parts(distinct: list[Any]) -> list[tuple[Any, ...]]:
        first, last = distinct[0].shape[1], distinct[-1].shape[1]
        if first != last:
            raise ValueError(f"rows have {first} columns and points have {last}")
        if last <= LANES or not distinct[-1].shape[0]:
            return [(_sliceable(table), None, None) for table in distinct]
        # Any middle will do, since what it leaves of the digits is told pair by pair: that of rows
        # evenly spaced, which is the same for sparse rows.
        step = max(1, distinct[-1].shape[0] // MIDDLE_ROWS)
        middle = _dense(distinct[-1][::step]).mean(axis=0)
        return [_moved(_sliceable(table), middle) for table in distinct]

    return prepared_together(tables, parts)


class LaterMoved:
    """The middle of sparse rows, which are moved when a tile makes them dense."""

    def __init__(self, middle: Floats) -> None:
        self.middle = middle

    def __getitem__(self, pick: Any) -> LaterMoved:
        return self


def _sliceable(table: Any) -> Any:
    return table.tocsr() if is_sparse(table) else _dense(table)


def _dense(rows: Any) -> Floats:
    return np.ascontiguousarray(rows_in_order(rows), dtype=np.float64)


def _moved(rows: Any, middle: Floats) -> tuple[Any, ...]:
    if is_sparse(rows):
        return rows, LaterMoved(middle), None
    moved = rows - middle
    return rows, moved, np.einsum("ij,ij->i", moved, moved)


def _of_tile(table: PreparedRows) -> tuple[Any, ...]:
    """The rows of a tile as contiguous float64 arrays."""
    rows, moved, squares = table.parts
    rows = _dense(rows)
    if isinstance(moved, LaterMoved):
        return _moved(rows, moved.middle)
    if moved is None:
        return rows, None, None
    return rows, np.ascontiguousarray(moved), np.ascontiguousarray(squares)


def distance_tile(A: Any, B: Any, gamma: float = 0.0) -> Floats:
    """The matrix of ‖aᵢ - bⱼ‖², or of exp(-γ‖aᵢ - bⱼ‖²) where γ > 0, of prepared rows: equal rows
    have distance 0, and no distance is off by more than `distance.squared_distances` says."""
    from fenchel.geometry.radial.compiled import squares_by_product, squares_directly

    (rows, a, left), (points, b, right) = _of_tile(A), _of_tile(B)
    (h, d), m = rows.shape, len(points)
    out = np.empty((h, m))
    if a is None:
        squares_directly(address(rows), h, address(points), m, d, gamma, address(out))
        return out
    squares_by_product(
        address(rows), address(a), address(left), h,
        address(points), address(b), address(right), m, d, SHARE, gamma, address(out),
    )  # fmt: skip
    return out
