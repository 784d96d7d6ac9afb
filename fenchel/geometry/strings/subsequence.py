"""The subsequence kernel: strings compared by subsequences, weighted by the text they span."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from fenchel.data.parallel import parallel_map
from fenchel.geometry.strings.code_points import CodePoints, Numbers
from fenchel.geometry.strings.string_kernel import FeatureKernel, Floats, Values, checked_integer

# Pairs and characters compared in one call: about a second of one core, so that Ctrl-C is heard.
PAIRS, CELLS = 8192, 4e9
HELD = 2**20  # pairs whose places are held at once
LARGEST = 1000.0  # log₂ of sums that are made in plain float64
SMALLEST = 1e-290  # of decay^2k, so that values keep all their digits


@final
@dataclass(frozen=True, slots=True)
class Subsequence(FeatureKernel):
    """k(s, t) = Σ_u φ_u(s) φ_u(t), φ_u(s) = Σ decay^l over all ways to read u in order in s.

    u runs over all strings of k characters, which need not stand side by side in s; l is the length
    of the text that they span there, with the first and the last of them. By dynamic programming,
    O(k |s| |t|) for a value, in vectors of pairs: 500,000 values of strings of 200 characters take
    some 10 s of one core for k = 4, and one of two strings of 100,000 takes a minute.

    normalised: divided by √(k(s, s) k(t, t)); decay^2k, which all terms have, is then left out, and
    sums too large for float64 are made with exponents of their own, so that values are finite for
    any strings. Without it values above 1.8e308 are an error. decay in (0, 1].

    Reference: Lodhi, Saunders, Shawe-Taylor, Cristianini and Watkins, Text classification using
    string kernels, J. Machine Learning Research 2 (2002); Shawe-Taylor and Cristianini, Kernel
    Methods for Pattern Analysis (2004), section 11.5.

    Examples
    --------
    "car" and "cat" have "ca" in common, which spans two characters in both.

    >>> from fenchel import kernels
    >>> kernels.Subsequence(2, decay=0.5, normalised=False).tile(["car"], ["cat"]).tolist()
    [[0.0625]]
    """

    k: int = 3
    decay: float = 0.5
    normalised: bool = True

    def __post_init__(self) -> None:
        checked_integer("k", self.k, 1)
        if not 0.0 < self.decay <= 1.0:
            raise ValueError(f"decay must lie in (0, 1], got {self.decay!r}")
        if not self.normalised and 2.0 * self.k * math.log(self.decay) < math.log(SMALLEST):
            raise ValueError(
                f"decay^2k = {self.decay}^{2 * self.k} is less than {SMALLEST:g}, so that values "
                "would vanish: take normalised=True, or a decay nearer to 1"
            )

    def rounding(self, columns: int) -> float:
        # A way to read u goes through as many factors as both strings have characters, and sums of
        # terms of one sign; that of a string with itself twice under the root.
        return 12.0 * columns + 6.0 * self.k + 8.0

    @property
    def tile_rows(self) -> int:
        return 16

    def inner_products(self, rows: CodePoints, points: CodePoints) -> Values:
        n, m = rows.shape[0], points.shape[0]
        x, e = np.empty((n, m)), np.zeros((n, m), np.int64)
        step = max(1, HELD // max(m, 1))
        for lo in range(0, n, step):
            some = rows[lo : lo + step]
            found = self._sums(some, points, np.arange(some.shape[0] * m), m)
            shape = some.shape[0], m
            x[lo : lo + step] = found.x.reshape(shape)
            e[lo : lo + step] = found.exponents.reshape(shape)
        return Values(x, e if e.any() else None)

    def squares(self, rows: CodePoints) -> Values:
        n = rows.shape[0]
        return self._sums(rows, rows, np.arange(n) * (n + 1), n)

    def plain(self, K: Values, rows: CodePoints, points: CodePoints) -> Floats:
        """Values with decay^2k; refuses those that are too large."""
        factor = float(self.decay) ** (2 * int(self.k))
        with np.errstate(over="ignore"):
            found = np.ldexp(factor * K.x, K.exponents.astype(np.int32))
        if not np.isfinite(found).all():
            at = np.argwhere(~np.isfinite(found))[0]
            n, m = rows.lengths[at[0]], points.lengths[at[-1]]
            raise ValueError(
                f"the kernel of a string of {n} characters and one of {m} exceeds the largest "
                "float64: take normalised=True, a smaller decay or a smaller k"
            )
        return np.asarray(found)

    def _sums(self, A: CodePoints, B: CodePoints, pairs: Numbers, m: int) -> Values:
        """Σ decay^gaps over the common subsequences of row p // m of A and row p % m of B."""
        left, right = np.divmod(pairs, max(m, 1))
        n_left, n_right = A.lengths[left], B.lengths[right]
        k, decay = int(self.k), float(self.decay)
        fits = np.ones(len(pairs), bool)
        if not _fits(np.array([A.longest]), np.array([B.longest]), k, decay).all():
            fits = _fits(n_left, n_right, k, decay)
        x = np.zeros(len(pairs))
        usual = np.flatnonzero(fits)
        # Pairs of like lengths go side by side: what a batch costs is told by its longest.
        shorter, longer = np.minimum(n_left, n_right), np.maximum(n_left, n_right)
        order = usual[np.lexsort((shorter[usual], longer[usual]))]
        cells = k * max(float(A.longest) * float(B.longest), 1.0)
        step = max(8, min(PAIRS, int(CELLS / cells)) // 8 * 8)

        def fill(lo: int) -> None:
            from fenchel.geometry.strings.compiled import gap_weighted

            some = order[lo : lo + step]
            out = np.empty(len(some))
            sides = *_sides(A), *_sides(B)
            gap_weighted(*sides, left[some], right[some], k, decay, out)
            x[some] = out

        parallel_map(fill, range(0, len(order), step))
        if fits.all():
            return Values(x)
        e = np.zeros(len(pairs), np.int64)

        def fill_wide(at: int) -> None:
            x[at], e[at] = _wide(_row(A, left[at]), _row(B, right[at]), k, decay)

        parallel_map(fill_wide, np.flatnonzero(~fits).tolist())
        return Values(x, e)


def _sides(rows: CodePoints) -> tuple[Any, Numbers, Numbers]:
    return rows.codes, rows.starts, rows.lengths


def _row(rows: CodePoints, i: int) -> Any:
    return rows.codes[rows.starts[i] : rows.starts[i] + rows.lengths[i]]


def _fits(n: Numbers, m: Numbers, k: int, decay: float) -> NDArray[np.bool_]:
    """Whether no sum of the table exceeds 2^LARGEST.

    There are C(n, k) C(m, k) pairs of subsequences, with weights of at most 1; and where decay < 1,
    the weights of those that end at two places sum to at most (1 - decay)^-2k.
    """

    def log_choices(n: Numbers) -> Floats:
        few = np.minimum(k, n // 2)
        return np.asarray(gammaln(n + 1.0) - gammaln(few + 1.0) - gammaln(n - few + 1.0))

    bound = (log_choices(n) + log_choices(m)) / math.log(2.0)
    if decay < 1.0:
        ends = np.log2(np.maximum(n, 1)) + np.log2(np.maximum(m, 1))
        bound = np.minimum(bound, ends - 2.0 * k * math.log2(1.0 - decay))
    return np.asarray(bound <= LARGEST)


def _wide(s: Any, t: Any, k: int, decay: float) -> tuple[float, int]:
    """The sum for one pair as x 2^e, where float64 may not hold it."""
    from fenchel.geometry.strings.compiled import gap_weighted_wide

    if len(s) > len(t):
        s, t = t, s
    levels, exponents = np.zeros((k, len(t) + 1)), np.zeros((k, len(t) + 1), np.int64)
    levels[0] = 1.0
    x, power = gap_weighted_wide(s, t, k, decay, levels, exponents)
    return x, 512 * power
