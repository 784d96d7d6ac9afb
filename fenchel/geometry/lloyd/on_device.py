"""Lloyd's assignment on an accelerator: products in half precision, decided in double precision.

The nearest centre has the largest tᵢⱼ = xᵢ·cⱼ - ‖cⱼ‖²/2. With x = x̂ + dx and c = ĉ + dc, hats for
half precision, dx and dc measured, and g the any-order bound of a sum in single precision,

    |xᵢ·cⱼ - fl(x̂ᵢ·ĉⱼ)| ≤ ‖dxᵢ‖‖ĉⱼ‖ + ‖xᵢ‖‖dcⱼ‖ + g‖x̂ᵢ‖‖ĉⱼ‖.

The bound, as a product nᵢeⱼ, and -‖cⱼ‖²/2, in three parts, are further columns of the one product,
so that it holds upper bounds of all tᵢⱼ. Where the lower bound of the best is above all others it
is the nearest; the other rows, a few in a hundred, are decided by products in float64 and their
bound, and what those leave open by the distances themselves. Sums are in fixed point, so that no
order of addition changes a bit. O(nkd) products a step; n (d + 8) half-precision values are kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from fenchel.data.arrays import to_numpy
from fenchel.geometry.tiles import Nearest, PairFold

Floats = NDArray[np.float64]
Tensor = Any  # of torch
HalfProduct = Callable[[Tensor, Tensor], Tensor]
# Products that are held at once, a gibibyte in single precision: a step of 1,000,000 x 128 with
# 1024 centres took 7.5 ms in parts of 2²⁶, of which 5 ms were work and the rest launches.
PRODUCTS = 2**28
PART = 2**17  # rows whose coordinates are in float64 at once
# Norms of rows are brought to at most 2⁷, so that half their squares, at most 2¹³, are halves.
REACH = 7
# Centres further out than this many times the rows are compared in float64.
FAR = 2.0
# Of ‖dx‖ in ‖x‖: what half precision leaves on average is 2⁻¹²·⁵; n stays below 2¹⁶ where a row is
# much less exact than that.
LEAST_SHARE = 2.0**-13
EXTRA = 4  # columns beside the coordinates: three of ‖c‖²/2, one of the bound


class Sums(NamedTuple):
    """Σ sᵢ (xᵢ - middle), Σ sᵢ and the number of rows with sᵢ > 0, of each centre; whether any
    row has changed its centre."""

    sums: Floats
    mass: Floats
    counts: NDArray[np.int64]
    settled: bool


class DeviceRows:
    """Rows on a device, and the nearest of changing centres to each.

    labels: a tensor, after `assign`; total: Σ sᵢ ‖xᵢ - middle‖²; open: how many rows the last
    products in half precision left open.
    """

    def __init__(
        self, X: Tensor, weight: Tensor | None, product: HalfProduct | None = None
    ) -> None:
        """product: of half-precision tables, with sums in single precision; None where the device
        has none."""
        xp = array_namespace(X)
        self.X, self.xp = X, xp
        n = len(X)
        s = None if weight is None else weight.double()
        self.weight = s
        self.mass = float(n if s is None else xp.sum(s))
        self._parts = [slice(lo, min(lo + PART, n)) for lo in range(0, n, PART)]
        total = sum(xp.sum(self._weighed(X[part].double(), part), axis=0) for part in self._parts)
        # In the precision of the rows, as centres are.
        middle = (total / self.mass).to(X.dtype).double()
        self._middle, self.middle = middle, to_numpy(middle)
        squares = xp.concat([self._squares(part) for part in self._parts])
        self.total = float(xp.sum(squares if s is None else squares * s))
        top = math.sqrt(float(xp.max(squares)))
        self._scale = 2.0 ** (REACH - math.ceil(math.log2(top))) if 0.0 < top < math.inf else 1.0
        self._norm = xp.sqrt(squares) * self._scale
        self._image: Tensor | None = None
        if product is not None:
            self._product, self._image = product, self._in_halves()
        heaviest = 1.0 if s is None else float(xp.max(s))
        room = 62 - math.ceil(math.log2(max(n, 2)))
        self._point = room - REACH - _exponent(heaviest)
        self._mass_point = room - _exponent(heaviest)
        self.open = 0
        self.forget()

    def forget(self) -> None:
        """Begin anew: the next centres have nothing to do with the last."""
        self.labels: Tensor | None = None

    def assign(self, C: NDArray[Any]) -> Sums:
        """The nearest of the centres C (k, d) to each row, ties to the lower number."""
        before, k = self.labels, len(C)
        self.labels = labels = self._nearest(C)
        if before is None:
            self._clear(k)
            changed = len(labels)
            for part in self._parts:
                self._move(part, None, labels[part])
        else:
            rows = self.xp.nonzero(labels != before)[0]
            changed = len(rows)
            for lo in range(0, changed, PART):
                some = rows[lo : lo + PART]
                self._move(some, before[some], labels[some])
        sums = to_numpy(self._sums.double()) * (2.0**-self._point / self._scale)
        mass = to_numpy(self._mass.double()) * 2.0**-self._mass_point
        return Sums(sums, mass, np.asarray(to_numpy(self._counts), np.int64), changed == 0)

    def squares(self, C: NDArray[Any]) -> Tensor:
        """d² of each row and the centre of its label."""
        labels, centres = self.labels, self._on_device(C)
        assert labels is not None, "assign first"

        def part_of(part: slice) -> Tensor:
            left = self.X[part].double() - centres[labels[part]]
            return self.xp.sum(left * left, axis=1)

        return self.xp.concat([part_of(part) for part in self._parts])

    def _on_device(self, values: NDArray[Any]) -> Tensor:
        return self.xp.asarray(np.array(values, np.float64), device=self.X.device)

    def _weighed(self, values: Tensor, rows: Any) -> Tensor:
        if self.weight is None:
            return values
        s = self.weight[rows]
        return values * (s if values.ndim == 1 else s[:, None])

    def _centred(self, rows: Any) -> Tensor:
        return self.X[rows].double() - self._middle

    def _squares(self, rows: Any) -> Tensor:
        left = self._centred(rows)
        return self.xp.sum(left * left, axis=1)

    def _in_halves(self) -> Tensor:
        """Rows in half precision, and beside them ones and an upper bound of n: with `_share`,
        ‖dxᵢ‖ ≤ share nᵢ and ‖xᵢ‖ ≤ nᵢ."""
        xp, X = self.xp, self.X
        n, d = X.shape
        width = -(-(d + EXTRA) // 8) * 8  # tensor cores take multiples of eight
        image = xp.zeros((n, width), dtype=xp.float16, device=X.device)
        error = xp.zeros(n, dtype=xp.float64, device=X.device)
        for part in self._parts:
            rows = self._centred(part) * self._scale
            image[part, :d] = rows.half()
            left = rows - image[part, :d].double()
            error[part] = xp.sqrt(xp.sum(left * left, axis=1))
        norm = self._norm * (1.0 + 1e-9)
        error = (error + 2.0**-52 * norm) * (1.0 + 1e-9)
        # A row much less exact than others, such as one near the middle, has its n inflated.
        ratio = error / xp.where(norm > 0.0, norm, 1.0)
        self._share = max(1.02 * float(xp.mean(ratio)), LEAST_SHARE)
        reach = xp.where(norm > 0.0, xp.maximum(norm, error / self._share), 0.0)
        image[:, d : d + 3] = 1.0
        image[:, d + 3] = (reach * (1.0 + 2.0**-9) + 2.0**-14).half()  # rounded up
        self._reach = image[:, d + 3].double()
        return image

    def _nearest(self, C: NDArray[Any]) -> Tensor:
        centres = (self._on_device(C) - self._middle) * self._scale
        half_squares = 0.5 * self.xp.sum(centres * centres, axis=1)
        apart = (np.asarray(C, np.float64) - self.middle) * self._scale  # here: nothing is awaited
        near = float((apart * apart).sum(axis=1).max()) <= FAR**2 * 4.0**REACH
        n = len(self.X)
        if self._image is None or not near or len(C) == 1:
            labels = self.xp.zeros(n, dtype=self.xp.int64, device=self.X.device)
            rows: Any = self.xp.arange(n, device=self.X.device)
        else:
            labels, is_open = self._by_halves(self._image, centres, half_squares)
            rows = self.xp.nonzero(is_open)[0]
        self.open = len(rows)
        step = max(PRODUCTS // 4 // len(C), 1)
        left = []
        for lo in range(0, len(rows), step):
            some = rows[lo : lo + step]
            labels[some], undecided = self._by_doubles(some, centres, half_squares)
            left.append(some[undecided])
        last = self.xp.concat(left) if left else rows
        if len(last):
            found = _by_distances(self.X[last], C)
            labels[last] = self.xp.asarray(found, device=self.X.device)
        return labels

    def _by_halves(
        self, image: Tensor, centres: Tensor, half_squares: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The best of each row, and whether that is open."""
        xp = self.xp
        k, d = centres.shape
        g = (9.0 * image.shape[1] / 8.0 + 16.0) * 2.0**-23  # accumulators may truncate
        table = xp.zeros((k, image.shape[1]), dtype=xp.float16, device=image.device)
        table[:, :d] = centres.half()
        kept = table[:, :d].double()
        size = xp.sqrt(xp.sum(kept * kept, axis=1))
        off = xp.sqrt(xp.sum((centres - kept) ** 2, axis=1))
        error = ((self._share + g) * size + off) * 1.01
        error = (error * (1.0 + 2.0**-9) + 2.0**-14).half()  # rounded up
        # Three halves leave at most 2⁻²⁰ of 2¹⁵, and the sum of these columns is off by g of them.
        slack = 1.01 * (g + 2.0**-40) * half_squares + 2.0**-19
        rest = slack - half_squares
        for column in range(d, d + 3):
            table[:, column] = rest.half()
            rest = rest - table[:, column].double()
        table[:, d + 3] = error
        blur, slack = 2.02 * error.double(), 2.02 * slack
        labels, is_open = [], []
        step = max(PRODUCTS // k, 1)
        for lo in range(0, len(image), step):
            upper = self._product(image[lo : lo + step], table.T)
            best, where = upper.max(1)
            upper.scatter_(1, where[:, None], -math.inf)
            second = upper.amax(1).double()
            low = best.double() - self._reach[lo : lo + step] * blur[where] - slack[where]
            labels.append(where)
            is_open.append(~(low > second))
        return xp.concat(labels), xp.concat(is_open)

    def _by_doubles(
        self, rows: Tensor, centres: Tensor, half_squares: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The best of some rows by products in float64, and whether that is open."""
        xp = self.xp
        if len(centres) == 1:
            nothing = xp.zeros(len(rows), dtype=xp.int64, device=rows.device)
            return nothing, nothing > 0
        score = (self._centred(rows) * self._scale) @ centres.T - half_squares
        best, where = score.max(1)
        score.scatter_(1, where[:, None], -math.inf)
        far = xp.sqrt(2.0 * xp.max(half_squares))
        norm = self._norm[rows]
        # Any order of d + 3 terms; 2⁻¹⁰²² for what underflows.
        error = (centres.shape[1] + 16.0) * 2.0**-52 * (norm + far) * far + 1e-300
        return where, ~(best - 2.0 * error > score.amax(1))

    def _clear(self, k: int) -> None:
        xp, device = self.xp, self.X.device
        whole = {"dtype": xp.int64, "device": device}
        self._sums = xp.zeros((k, self.X.shape[1]), **whole)
        self._mass, self._counts = xp.zeros(k, **whole), xp.zeros(k, **whole)

    def _move(self, rows: Any, before: Tensor | None, labels: Tensor) -> None:
        """Take rows into the sums of their centres, and out of those before, in fixed point."""
        xp = self.xp
        values = self._weighed(self._centred(rows) * self._scale, rows)
        whole = xp.round(values * 2.0**self._point).to(xp.int64)
        ones = xp.ones(len(labels), dtype=xp.float64, device=labels.device)
        mass = self._weighed(ones, rows)
        shares = xp.round(mass * 2.0**self._mass_point).to(xp.int64)
        counts = (mass > 0.0).to(xp.int64)
        for total, part in ((self._sums, whole), (self._mass, shares), (self._counts, counts)):
            total.index_add_(0, labels, part)
            if before is not None:
                total.index_add_(0, before, part, alpha=-1)


def _by_distances(X: Tensor, C: NDArray[Any]) -> NDArray[np.int64]:
    """The nearest centre of a few rows by float64 distances, as on the host."""
    rows = X.cpu().numpy()
    numbers, _ = PairFold.of(C, Nearest(), rows.dtype, None)(rows)
    return np.asarray(numbers[:, 0], np.int64)


def half_product(X: Tensor) -> HalfProduct | None:
    """The device's product of half-precision tables, summed in single precision, if it has one."""
    xp = array_namespace(X)

    def product(A: Tensor, B: Tensor) -> Tensor:
        return xp.mm(A, B, out_dtype=xp.float32)

    if X.device.type != "cuda":
        return None
    some = xp.zeros((16, 16), dtype=xp.float16, device=X.device)
    try:
        product(some, some)
    except (TypeError, RuntimeError):  # before torch 2.8, or a device without tensor cores
        return None
    return product


def _exponent(size: float) -> int:
    return math.ceil(math.log2(size)) if size > 0.0 else 0
