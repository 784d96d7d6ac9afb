"""Sums and matrix products in twice the working precision, on any array library with `@`.

Products need no fused multiply-add and no extended type: a matrix is cut into slices of so few
bits that BLAS multiplies them without a rounding error, and only the few partial products are
added in unevaluated pairs. The same lines serve numpy, CSR and torch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace
from scipy.sparse import csr_array

from fenchel.data.arrays import Array, is_sparse, like, to_numpy

_SLICES = 6  # 6 slices of 17 bits or more reach below 2⁻¹⁰⁰ of the largest entry


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """s + e = a + b exactly, s = fl(a + b).

    Reference: Knuth, The Art of Computer Programming 2, section 4.2.2.
    """
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def fast_two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """s + e = a + b exactly where |a| ≥ |b|."""
    s = a + b
    return s, b - (s - a)


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """p + e = a b exactly, p = fl(a b), for |a|, |b| < 2⁹⁹⁵ and |a b| > 2⁻⁹⁶⁹.

    Reference: Dekker, 1971 (Veltkamp's splitting).
    """
    p = a * b
    a1, a2 = _halves(a)
    b1, b2 = _halves(b)
    return p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2


def _halves(a: Array) -> tuple[Array, Array]:
    c = 134217729.0 * a  # 2²⁷ + 1
    high = c - (c - a)
    return high, a - high


@dataclass(frozen=True, slots=True)
class DoubleDouble:
    """The unevaluated sum hi + lo with |lo| ≤ ulp(hi)/2: 106 bits.

    Reference: Joldes, Muller, Popescu, Tight and rigorous error bounds for basic building blocks
    of double-word arithmetic, 2017.
    """

    hi: Array
    lo: Array

    @classmethod
    def of(cls, x: Array) -> DoubleDouble:
        return cls(x, x * 0.0)

    def __add__(self, other: DoubleDouble) -> DoubleDouble:
        s, e = two_sum(self.hi, other.hi)
        t, f = two_sum(self.lo, other.lo)
        s, e = fast_two_sum(s, e + t)
        return DoubleDouble(*fast_two_sum(s, e + f))

    def __neg__(self) -> DoubleDouble:
        return DoubleDouble(-self.hi, -self.lo)

    def plus(self, x: Array) -> DoubleDouble:
        """hi + lo + x for x of the working precision."""
        s, e = two_sum(self.hi, x)
        return DoubleDouble(*fast_two_sum(s, e + self.lo))

    def times(self, x: Array) -> DoubleDouble:
        """(hi + lo) x for x of the working precision."""
        p, e = two_product(self.hi, x)
        return DoubleDouble(*fast_two_sum(p, e + self.lo * x))


def power_above(x: Array) -> Array:
    """The least powers of two above |x|, 1 where x = 0, as a numpy array."""
    return np.ldexp(1.0, np.frexp(to_numpy(x))[1])


def slices(X: Array, bits: int) -> Iterator[Array]:
    """X = X₁ + X₂ + … exactly, for |X| ≤ 1: X_p is a multiple of 2^(-p·bits) below 2^(-(p-1)·bits).

    Adding and taking away 3·2^(51 - p·bits) rounds to that multiple. It ends when nothing is
    left, so a table of small integers is one slice.
    """
    xp = array_namespace(X)
    rest = X + 0.0
    for p in range(1, _SLICES + 1):
        if not bool(xp.any(rest)):
            return
        anchor = 3.0 * 2.0 ** (51 - p * bits)
        part = rest + anchor
        part -= anchor
        rest -= part
        yield part


@dataclass(frozen=True, slots=True)
class OzakiMatrix:
    """A matrix X (m, d) cut so that its products with vectors come out in twice the precision.

    X diag(1/scale) = X₁ + X₂ + …, slices of b bits with 2b + log₂ max(m, d) ≤ 53: every sum of
    products of two slices fits 53 bits, whatever the order in which BLAS adds.

    Reference: Ozaki, Ogita, Oishi, Rump, Error-free transformations of matrix multiplication by
    using fast routines of matrix multiplication, 2012.
    """

    parts: tuple[Array, ...]
    scale: Array
    bits: int
    shape: tuple[int, int]

    @classmethod
    def of(cls, X: Array) -> OzakiMatrix:
        """The slices of a float64 matrix: dense, CSR or torch."""
        m, d = (int(k) for k in X.shape)
        bits = (53 - max(m, d, 2).bit_length()) // 2
        if m == 0:
            one = np.ones(d) if is_sparse(X) else like(np.ones(d), X)
            return cls((), one, bits, (m, d))
        if is_sparse(X):
            scale = power_above(abs(X).max(axis=0).toarray().ravel())
            cut = slices(X.data / scale[X.indices], bits)
            parts = tuple(csr_array((part, X.indices, X.indptr), shape=X.shape) for part in cut)
            return cls(parts, scale, bits, (m, d))
        xp = array_namespace(X)
        scale = like(power_above(xp.max(xp.abs(X), axis=0)), X)
        return cls(tuple(slices(X / scale, bits)), scale, bits, (m, d))

    def forward(self, w: DoubleDouble) -> DoubleDouble:
        """X w for w (d, K)."""
        scale = self.scale[:, None]
        return self._sum(self.parts, DoubleDouble(w.hi * scale, w.lo * scale), self.shape[0])

    def adjoint(self, r: DoubleDouble) -> DoubleDouble:
        """X' r for r (m, K)."""
        scale = self.scale[:, None]
        out = self._sum(tuple(part.T for part in self.parts), r, self.shape[1])
        return DoubleDouble(out.hi * scale, out.lo * scale)

    def _sum(self, parts: tuple[Array, ...], right: DoubleDouble, rows: int) -> DoubleDouble:
        xp = array_namespace(right.hi)
        K = right.hi.shape[1]
        total = DoubleDouble.of(xp.zeros((rows, K), dtype=right.hi.dtype, device=right.hi.device))
        if not parts:
            return total
        top = like(power_above(xp.max(xp.abs(right.hi), axis=0)), right.hi)
        # The low half is not cut: its rounding errors are 2⁻¹⁰⁶ of the whole.
        cut = [*slices(right.hi / top, self.bits), right.lo / top]
        stack = xp.concat(cut, axis=1)
        for part in parts:
            out = part @ stack
            for q in range(len(cut)):
                total = total.plus(out[:, q * K : (q + 1) * K])
        return DoubleDouble(total.hi * top, total.lo * top)
