"""Products with the Gaussian kernel of rows and points on a device: Kv, K'u and K'(Kv).

With a = √(2γ log₂e) (x - μ) the logarithm of k to base 2 is a·b - ‖a‖²/2 - ‖b‖²/2. Each a is a sum
of two numbers of half precision, a = h + l but for 2⁻²² of itself, and ‖a‖²/2 of three, so that one
product of rows with 3d + 6 columns

    [h, h, l, 1, 1, 1, -n₁, -n₂, -n₃] · [h, l, h, -n₁, -n₂, -n₃, 1, 1, 1]

is that logarithm, up to l·l, added in single precision; it is raised and summed where it was made
(`fused`), so that K is never written. Where there is no such loop, and in double precision, tiles
of K are made by array operations.

Cost: n m (3d + 6) products and n m exponentials for each of the two products.

Reference: Charlier, Feydy, Glaunès, Collin and Durif, Kernel operations on the GPU, with autodiff,
without memory overflows, JMLR 22 (2021).
"""

from __future__ import annotations

import importlib.util
import math
from dataclasses import dataclass, field
from typing import Any, Self, final

from array_api_compat import array_namespace

Tensor = Any  # of torch
# Values of K that are held at once where tiles are made by array operations: 256 MiB.
VALUES = 2**26
ROWS = 128  # rows are filled up with zeros to a multiple of this


@final
@dataclass(frozen=True, eq=False)
class DeviceGaussian:
    """K = exp(-γ‖xᵢ - zⱼ‖²), n x m, on the device of its rows.

    rows, points: as they came; halves: both as rows of halves, where they are multiplied so. In
    single precision a product is right to about 1e-6 of its largest entry.

    Examples
    --------
    >>> import numpy as np
    >>> X, Z = np.array([[0.0], [1.0]]), np.array([[0.0], [2.0], [1.0]])  # or tensors of a device
    >>> K = DeviceGaussian.of(X, Z, gamma=1.0)
    >>> K.product(np.ones(3)).round(4).tolist()
    [1.3862, 1.7358]
    """

    gamma: float
    rows: Tensor = field(repr=False)
    points: Tensor = field(repr=False)
    halves: tuple[Tensor, Tensor, Tensor, Tensor] | None = field(repr=False)

    @classmethod
    def of(cls, X: Tensor, Z: Tensor, gamma: float) -> Self:
        """X (n, d) and Z (m, d), tensors of one device and type."""
        xp = array_namespace(X, Z)
        fused = str(X.device).startswith("cuda") and X.dtype == xp.float32
        usable = fused and widths(X.shape[1]) is not None and has_fused_loop()
        if not usable:
            return cls(gamma, X, Z, None)
        factor = math.sqrt(2.0 * gamma * math.log2(math.e))
        middle = xp.mean(xp.astype(Z, xp.float64), axis=0)
        sides = [augmented(side, middle, factor) for side in (X, Z)]
        if not all(bool(xp.all(xp.isfinite(left))) for left, _ in sides):
            return cls(gamma, X, Z, None)
        return cls(gamma, X, Z, (*sides[0], *sides[1]))

    def product(self, v: Tensor) -> Tensor:
        """Kv of a vector v."""
        if self.halves is None:
            return _by_tiles(self.rows, self.points, self.gamma, v)
        left, _, _, right = self.halves
        return _fused(left, right, v, self.rows.shape[0], self.rows.shape[1])

    def adjoint(self, u: Tensor) -> Tensor:
        """K'u of a vector u."""
        if self.halves is None:
            return _by_tiles(self.points, self.rows, self.gamma, u)
        _, right, left, _ = self.halves
        return _fused(left, right, u, self.points.shape[0], self.rows.shape[1])

    def normal(self, v: Tensor) -> Tensor:
        """K'(Kv)."""
        return self.adjoint(self.product(v))


def has_fused_loop() -> bool:
    """Whether the compiler of the loop is there."""
    return importlib.util.find_spec("triton") is not None


def widths(d: int) -> tuple[int, int] | None:
    """The columns of the two products that make one of 3d + 6, powers of two; None where there are
    too many for the registers."""
    need = 3 * d + 6
    first = 2 ** min(need.bit_length() - 1, 7)
    if first < 16:
        return 16, 16
    second = max(16, 2 ** math.ceil(math.log2(max(need - first, 1))))
    return (first, second) if second <= 128 else None


def augmented(X: Tensor, middle: Tensor, factor: float) -> tuple[Tensor, Tensor]:
    """The rows of halves as the left side of a product and as the right."""
    xp = array_namespace(X)
    n, d = X.shape
    a = (xp.astype(X, xp.float64) - middle) * factor
    high = xp.astype(a, xp.float16)
    low = xp.astype(a - xp.astype(high, xp.float64), xp.float16)
    exact = xp.astype(high, xp.float64) + xp.astype(low, xp.float64)
    norms = _three(-0.5 * xp.sum(exact * exact, axis=1))
    ones = xp.ones_like(norms)
    size = sum(widths(d) or (0, 0))
    height = -(-n // ROWS) * ROWS
    out = []
    for columns in ([high, high, low, ones, norms], [high, low, high, norms, ones]):
        table = xp.zeros((height, size), dtype=xp.float16, device=X.device)
        table[:n, : 3 * d + 6] = xp.concat(columns, axis=1)
        out.append(table)
    return out[0], out[1]


def _three(values: Tensor) -> Tensor:
    """Values as sums of three halves, in columns."""
    xp, parts, left = array_namespace(values), [], values
    for _ in range(3):
        parts.append(xp.astype(left, xp.float16))
        left = left - xp.astype(parts[-1], xp.float64)
    return xp.stack(parts, axis=1)


def _fused(left: Tensor, right: Tensor, v: Tensor, n: int, d: int) -> Tensor:
    from fenchel.geometry.radial.device_loop import exponential_sums

    xp = array_namespace(v)
    padded = xp.zeros(right.shape[0], dtype=xp.float32, device=v.device)
    padded[: v.shape[0]] = xp.astype(v, xp.float32)
    sizes = widths(d)
    return xp.astype(exponential_sums(left, right, padded, *(sizes or (16, 16)))[:n], v.dtype)


def _by_tiles(A: Tensor, B: Tensor, gamma: float, v: Tensor) -> Tensor:
    xp = array_namespace(A, B, v)
    middle = xp.mean(B, axis=0)
    b = B - middle
    norms = xp.sum(b * b, axis=1)
    step, parts = max(1, VALUES // max(int(B.shape[0]), 1)), []
    for lo in range(0, A.shape[0], step):
        a = A[lo : lo + step, :] - middle
        squares = xp.sum(a * a, axis=1)[:, None] + norms[None, :] - 2.0 * (a @ b.T)
        parts.append(xp.exp(-gamma * xp.clip(squares, 0.0, None)) @ v)
    return xp.concat(parts, axis=0)
