"""Exact neighbours on an accelerator: products in half precision, decided in double precision.

The nearest points have the largest tⱼ = q·xⱼ - ‖xⱼ‖²/2. With q = q̂ + dq and x = x̂ + dx, hats for
half precision, g the any-order bound of a sum in single precision, A, D and H the largest ‖x̂‖,
‖dx‖ and ‖x‖²/2 of all points,

    |tⱼ - fl(q̂·x̂ⱼ - ‖xⱼ‖²/2)| ≤ E = ‖dq‖(A + D) + ‖q̂‖(D + g A) + (g + 2⁻³⁰) H,

‖x‖²/2 being three further columns of the one product. Of each group of points only the largest
score is kept. The k-th largest of these, τ, is reached by k points, so that each of the k nearest
has a score of at least τ - 2E, and so has its group: those groups are scored again, and points that
reach τ - 2E are compared by the distance of `fenchel.geometry.distance`, made of the same float64
operations as on the host. Rows with many such points are scored in float64 first. O(nmd) products;
nm / GROUP scores are kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_torch_array
from numpy.typing import NDArray

from fenchel.geometry.distance import LANES
from fenchel.geometry.lloyd.on_device import half_product
from fenchel.geometry.tiles import Nearest, PairFold

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Tensor = Any  # of torch
GROUP = 64  # points whose largest score is kept
# Scores in half precision that are held at once, a gibibyte: 10,000 rows and 1,000,000 x 128 points
# took 24, 26, 29, 34 ms for 2²⁹, 2²⁷, 2²⁵, 2²⁴ on an H200, of which the products are 7.9 and the
# largest of each group 8.4.
SCORES = 2**29
# Rows that are answered at once: their groups' scores fill 2 GB for a million points.
ROWS = 2**14
# Rows and groups of which torch names those that pass a threshold at once: below 2³¹.
PAIRS = 2**30
# Values that are gathered at once to score points again: half a gibibyte.
GATHERED = 2**28
REACH = 7  # norms of points are brought to at most 2⁷, half their squares to 2¹³
FAR = 2.0  # rows further out than this many times the points are scored in float64
CROWDED = 32  # times k: a row with more groups to score again is scored in float64


class DevicePoints:
    """Points on a device, and the k nearest of them to rows on it.

    half: whether to score in half precision; by default where the device has such products, whose
    sums are in single precision.
    """

    def __init__(self, X: Tensor, half: bool | None = None) -> None:
        xp = array_namespace(X)
        self.xp, self.X = xp, X
        self.half = half_product(X) is not None if half is None else half
        m, step = len(X), 2**17
        self._parts = [slice(lo, min(lo + step, m)) for lo in range(0, m, step)]
        middle = xp.mean(X[:: max(1, m // 4096)].double(), axis=0).to(X.dtype)
        self._middle = middle.double()
        norms = [xp.max(xp.linalg.vector_norm(X[part] - middle, axis=1)) for part in self._parts]
        top = float(max(norms)) * 1.001
        if not top < math.inf:  # squares leave the range of single precision
            top = math.sqrt(X.shape[1]) * float(xp.max(xp.abs(X.double() - self._middle)))
        self._scale = 2.0 ** (REACH - math.ceil(math.log2(top))) if 0.0 < top < math.inf else 1.0
        self._prepare()

    def _prepare(self) -> None:
        """‖x‖²/2 of the scaled points; these in half precision, and beside them -‖x‖²/2 in three
        parts. Points that fill up the last group have a score of -∞."""
        xp, X = self.xp, self.X
        m, d = X.shape
        self._half_squares = xp.empty(m, dtype=xp.float64, device=X.device)
        if self.half:
            self._width = -(-(d + 3) // 8) * 8  # tensor cores take multiples of eight
            filled = -(-m // (8 * GROUP)) * 8 * GROUP
            image = xp.zeros((filled, self._width), dtype=xp.float16, device=X.device)
            image[m:, d] = -math.inf
            self._points = image
        for part in self._parts:
            scaled = self._scaled(X[part])
            if self.half:
                image[part, :d] = scaled.half()
            rest = self._half_squares[part]
            rest[:] = 0.5 * self._squares(scaled)
            for column in range(d, d + 3 * self.half):
                image[part, column] = -rest.half()
                rest = rest + image[part, column].double()
        self._largest = float(xp.max(self._half_squares))
        self._far = math.sqrt(2.0 * self._largest) * (1.0 + 1e-9)

    def _scaled(self, rows: Tensor) -> Tensor:
        return (rows.double() - self._middle) * self._scale

    def _squares(self, rows: Tensor) -> Tensor:
        return self.xp.sum(rows * rows, axis=1)

    def nearest(self, Q: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """Numbers (n, k) and squared distances (n, k), nearest first, ties to the lower number."""
        xp, n = self.xp, len(Q)
        step = max(8, min(ROWS, PAIRS * GROUP // len(self.X)))
        parts = [self._nearest(Q[lo : lo + step], k) for lo in range(0, n, step)]
        numbers, squares = (xp.concat(side) for side in zip(*parts, strict=True))
        return numbers, squares

    def _nearest(self, Q: Tensor, k: int) -> tuple[Tensor, Tensor]:
        xp = self.xp
        n, m = len(Q), len(self.X)
        numbers = xp.zeros((n, k), dtype=xp.int64, device=Q.device)
        squares = xp.zeros((n, k), dtype=xp.float64, device=Q.device)
        if self.half and m >= GROUP * max(4 * k, 64):
            rows, points, crowded = self._by_halves(Q, k)
        else:
            rows = points = xp.zeros(0, dtype=xp.int64, device=Q.device)
            crowded = xp.arange(n, device=Q.device)
        answered = xp.ones(n, dtype=xp.bool, device=Q.device)
        answered[crowded] = False
        chosen = xp.nonzero(answered)[0]
        if len(chosen):
            numbers[chosen], squares[chosen] = self._ranked(Q, rows, points, chosen, k)
        step = max(1, SCORES // 4 // m)
        for lo in range(0, len(crowded), step):
            some = crowded[lo : lo + step]
            numbers[some], squares[some] = self._by_doubles(Q[some], k)
        return numbers, squares

    def _by_halves(self, Q: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor]:
        """Pairs (row, point) that hold the k nearest, and the rows with too many of them."""
        xp = self.xp
        n, d = Q.shape
        image = xp.zeros((-(-n // 8) * 8, self._width), dtype=xp.float16, device=Q.device)
        scaled = self._scaled(Q)
        image[:n, :d] = scaled.half()
        image[:n, d : d + 3] = 1.0
        kept = image[:n, :d].double()
        norm = xp.sqrt(self._squares(kept)) * (1.0 + 1e-9)
        error = xp.sqrt(self._squares(scaled - kept)) * (1.0 + 1e-9) + 2.0**-51 * norm
        far = ~(norm <= FAR * 2.0**REACH)
        g = (9.0 * self._width / 8.0 + 16.0) * 2.0**-23  # accumulators may truncate
        # A half is off by 2⁻¹¹ of itself, or by 2⁻²⁵ where it is below the normal ones.
        off = 2.0**-11 * self._far + math.sqrt(d) * 2.0**-25
        size = self._far + off
        blur = error * (size + off) + norm * (off + g * size) + (g + 2.0**-30) * self._largest
        blur = 1.01 * blur + 2.0**-14
        best = self._group_scores(image)[:, :n]
        tau = self._kth(best, k).double()
        # Scores of groups are rounded to halves, which is monotone.
        low = tau - 2.0**-10 * xp.abs(tau) - 2.0 * blur
        rounded = (low - 2.0**-10 * xp.abs(low) - 2.0**-14).half()
        groups, rows = xp.nonzero(best >= rounded)
        crowded = far | (rows.bincount(minlength=n) > CROWDED * k)
        if bool(xp.any(crowded)):
            kept = ~crowded[rows]
            groups, rows = groups[kept], rows[kept]
        tiles = self._points.view(-1, GROUP, self._width)
        found_rows, found_points = [rows[:0]], [rows[:0]]
        step = max(1, GATHERED // (GROUP * self._width))
        for lo in range(0, len(rows), step):
            row, group = rows[lo : lo + step], groups[lo : lo + step]
            scores = _batch_product(tiles[group], image[row][:, :, None])[:, :, 0]
            pair, place = xp.nonzero(scores.double() >= low[row][:, None])
            found_rows.append(row[pair])
            found_points.append(group[pair] * GROUP + place)
        return xp.concat(found_rows), xp.concat(found_points), xp.nonzero(crowded)[0]

    def _group_scores(self, image: Tensor) -> Tensor:
        """The largest score of each group, (groups, n)."""
        xp, n, filled = self.xp, len(image), len(self._points)
        best = xp.empty((filled // GROUP, n), dtype=xp.float16, device=image.device)
        step = min(filled, max(1, SCORES // n // (8 * GROUP)) * 8 * GROUP)
        scores, transposed = xp.empty((step, n), dtype=xp.float16, device=image.device), image.T
        with _single_precision_sums(image):
            for lo in range(0, filled, step):
                part = self._points[lo : lo + step]
                out = scores[: len(part)]
                _half_product(part, transposed, out)
                here = best[lo // GROUP : (lo + len(part)) // GROUP]
                xp.amax(out.view(-1, GROUP, n), 1, out=here)
        return best

    def _kth(self, best: Tensor, k: int) -> Tensor:
        """The k-th largest score of disjoint sets of groups: so many points have at least it."""
        sets = max(512, 8 * k)
        each = len(best) // sets
        if each > 1:
            best = best[: each * sets].unflatten(0, (each, sets)).amax(0)
        return best.T.contiguous().topk(k, 1).values[:, -1]

    def _by_doubles(self, Q: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """The k nearest to some rows by products in float64."""
        xp = self.xp
        rows = self._scaled(Q)
        norm = xp.sqrt(self._squares(rows))
        scores = xp.concat([rows @ self._scaled(self.X[part]).T for part in self._parts], axis=1)
        scores -= self._half_squares
        tau = scores.topk(k, 1).values[:, -1]
        # Any order of d + 3 terms; 2⁻¹⁰²² for what underflows.
        # The distances that decide are rounded too, by at most (d / 8 + 36) U of themselves.
        d, reach = Q.shape[1], norm + self._far
        blur = 2.0**-52 * reach * ((d + 16.0) * self._far + (d / 16.0 + 18.0) * reach) + 1e-300
        mask = scores >= (tau - 2.0 * blur)[:, None]
        count = xp.sum(mask, axis=1)
        open_rows = ~(count <= 64 * k + 1024)
        mask[open_rows] = False
        row, point = xp.nonzero(mask)
        numbers = xp.zeros((len(Q), k), dtype=xp.int64, device=Q.device)
        squares = xp.zeros((len(Q), k), dtype=xp.float64, device=Q.device)
        chosen = xp.nonzero(~open_rows)[0]
        if len(chosen):
            numbers[chosen], squares[chosen] = self._ranked(Q, row, point, chosen, k)
        last = xp.nonzero(open_rows)[0]
        if len(last):
            found = _on_host(self.X, Q[last], k)
            numbers[last], squares[last] = (xp.asarray(v, device=Q.device) for v in found)
        return numbers, squares

    def _ranked(
        self, Q: Tensor, rows: Tensor, points: Tensor, chosen: Tensor, k: int
    ) -> tuple[Tensor, Tensor]:
        """The k nearest of the candidates of each chosen row, by distances."""
        xp = self.xp
        step = max(1, GATHERED // 4 // max(self.X.shape[1], 1))
        squares = xp.concat(
            [
                self._distances(Q[rows[lo : lo + step]], self.X[points[lo : lo + step]])
                for lo in range(0, len(rows), step)
            ]
        )
        order = points.sort(stable=True).indices
        order = order[squares[order].sort(stable=True).indices]
        order = order[rows[order].sort(stable=True).indices]
        count = rows.bincount(minlength=len(Q))
        first = count.cumsum(0) - count
        places = first[chosen][:, None] + xp.arange(k, device=Q.device)
        return points[order[places]], squares[order[places]]

    def _distances(self, A: Tensor, B: Tensor) -> Tensor:
        """d² of pairs of rows, by the lanes of `fenchel.geometry.distance`."""
        e = A.double() - B.double()
        e = e * e
        n, d = e.shape
        lanes = self.xp.zeros((n, LANES), dtype=e.dtype, device=e.device)
        for lo in range(0, d, LANES):
            width = min(LANES, d - lo)
            lanes[:, :width] += e[:, lo : lo + width]
        total = self.xp.zeros(n, dtype=e.dtype, device=e.device)
        for r in range(min(LANES, d)):
            total = total + lanes[:, r]
        return total


def _half_product(A: Tensor, B: Tensor, out: Tensor) -> None:
    """A B in half precision, summed in single precision."""
    if A.device.type == "cpu":
        out[:] = (A.float() @ B.float()).half()
    else:
        array_namespace(A).matmul(A, B, out=out)


def _batch_product(A: Tensor, B: Tensor) -> Tensor:
    """A B of many tables of halves each, in single precision."""
    if A.device.type == "cpu":
        return A.float() @ B.float()
    xp = array_namespace(A)
    return xp.bmm(A, B, out_dtype=xp.float32)


@contextmanager
def _single_precision_sums(A: Tensor) -> Iterator[None]:
    """Products of halves add up in single precision throughout, which the bound asks for."""
    matmul = array_namespace(A).backends.cuda.matmul
    before = matmul.allow_fp16_reduced_precision_reduction
    matmul.allow_fp16_reduced_precision_reduction = False
    try:
        yield
    finally:
        matmul.allow_fp16_reduced_precision_reduction = before


def on_accelerator(x: Any) -> bool:
    """Whether x is a tensor of a device on which these searches run."""
    return is_torch_array(x) and x.device.type == "cuda"


def _on_host(X: Tensor, Q: Tensor, k: int) -> tuple[Integers, Floats]:
    rows = Q.cpu().numpy()
    return PairFold.of(X.cpu().numpy(), Nearest(k), rows.dtype, None)(rows)
