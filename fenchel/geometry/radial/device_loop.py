"""Sums of powers of two of products of rows of halves, in one loop on a device.

    uᵢ = Σⱼ 2^(aᵢ·bⱼ) vⱼ

Each program takes some rows and a part of the points; the parts are added in double precision.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

Tensor = Any  # of torch
HEIGHT, WIDTH = 128, 64  # rows of a program, and points of a step
PROGRAMS = 2048  # of them at least: fifteen on each of 132 processors


@triton.jit
def _sums(  # type: ignore[no-untyped-def]
    a,
    b,
    v,
    out,
    n,
    m,
    per,
    FIRST: tl.constexpr,
    SECOND: tl.constexpr,
    ROWS: tl.constexpr,
    POINTS: tl.constexpr,
):
    size: tl.constexpr = FIRST + SECOND
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    part = tl.program_id(1)
    j = tl.arange(0, POINTS)
    p, q = tl.arange(0, FIRST), FIRST + tl.arange(0, SECOND)
    rows = a + i.to(tl.int64)[:, None] * size
    a1, a2 = tl.load(rows + p[None, :]), tl.load(rows + q[None, :])
    u = tl.zeros((ROWS,), tl.float32)
    low = part * per
    high = tl.minimum(low + per, m)
    for lo in tl.range(low, high, POINTS, num_stages=3):
        points = b + (lo + j).to(tl.int64)[None, :] * size
        found = tl.dot(a1, tl.load(points + p[:, None]))
        found = tl.dot(a2, tl.load(points + q[:, None]), found)
        u += tl.sum(tl.exp2(found) * tl.load(v + lo + j)[None, :], 1)
    tl.store(out + part.to(tl.int64) * n + i, u)


def exponential_sums(A: Tensor, B: Tensor, v: Tensor, first: int, second: int) -> Tensor:
    """u for the rows of A (n, first + second) and B (m, first + second), in float64; n and m are
    multiples of HEIGHT."""
    n, m = A.shape[0], B.shape[0]
    blocks = n // HEIGHT
    parts = max(1, min(-(-PROGRAMS // blocks), m // WIDTH))
    per = -(-m // (parts * WIDTH)) * WIDTH
    parts = -(-m // per)
    out = v.new_empty((parts, n))
    _sums[(blocks, parts)](A, B, v, out, n, m, per, first, second, HEIGHT, WIDTH, num_warps=4)
    return out.double().sum(0)
