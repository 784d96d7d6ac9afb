"""The nearest of many centres on a GPU: products of half-precision tables that are searched as they
are made, in one Triton kernel.

A program holds some rows, makes their products with a tile of centres after another, and keeps the
two largest of each row; n k products in single precision are neither written nor read.

Reference: Tillet, Kung and Cox, Triton: an intermediate language and compiler for tiled neural
network computations, MAPL (2019).
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl
from array_api_compat import array_namespace

Tensor = Any
ROWS, CENTRES, TERMS = 128, 128, 32  # of a tile


@triton.jit
def _two_largest(
    X, C, reach, blur, slack, labels, is_open, n, k, width, stride,
    ROWS: tl.constexpr, CENTRES: tl.constexpr, TERMS: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    here = rows < n
    column = tl.arange(0, CENTRES)
    terms = tl.arange(0, TERMS)
    lowest = -3.0e38
    best = tl.full((ROWS,), lowest, tl.float32)
    second = tl.full((ROWS,), lowest, tl.float32)
    where = tl.zeros((ROWS,), tl.int32)
    for first in range(0, k, CENTRES):
        centre = first + column
        products = tl.zeros((ROWS, CENTRES), tl.float32)
        for start in range(0, width, TERMS):
            at = start + terms
            inside = at < width
            x = tl.load(
                X + rows[:, None] * stride + at[None, :],
                mask=here[:, None] & inside[None, :], other=0.0,
            )  # fmt: skip
            c = tl.load(
                C + centre[None, :] * stride + at[:, None],
                mask=(centre < k)[None, :] & inside[:, None], other=0.0,
            )  # fmt: skip
            products = tl.dot(x, c, products)
        products = tl.where((centre < k)[None, :], products, lowest)
        top, place = tl.max(products, 1, return_indices=True)
        others = tl.where(column[None, :] == place[:, None], lowest, products)
        second = tl.maximum(second, tl.maximum(tl.max(others, 1), tl.minimum(best, top)))
        where = tl.where(top > best, first + place, where)
        best = tl.maximum(best, top)
    off = tl.load(reach + rows, mask=here, other=0.0) * tl.load(blur + where)
    low = best.to(tl.float64) - off - tl.load(slack + where)
    tl.store(labels + rows, where.to(tl.int64), mask=here)
    tl.store(is_open + rows, (low <= second.to(tl.float64)).to(tl.int8), mask=here)


def best_of_products(
    image: Tensor, table: Tensor, reach: Tensor, blur: Tensor, slack: Tensor
) -> tuple[Tensor, Tensor]:
    """The centre of the largest product of each row, and whether another may be larger: its lower
    bound, product - reach blur - slack, is no more than the second largest."""
    n, width = image.shape
    xp = array_namespace(image)
    labels = xp.empty(n, dtype=xp.int64, device=image.device)
    is_open = xp.empty(n, dtype=xp.int8, device=image.device)
    _two_largest[(triton.cdiv(n, ROWS),)](
        image, table, reach, blur, slack, labels, is_open, n, len(table), width, image.stride(0),
        ROWS=ROWS, CENTRES=CENTRES, TERMS=TERMS, num_warps=8, num_stages=3,
    )  # fmt: skip
    return labels, is_open > 0
