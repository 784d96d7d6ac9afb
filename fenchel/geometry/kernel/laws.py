"""The laws of a kernel; `fenchel.testing.check_kernel` is the public door."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.design.kernel import PairKernel, gram_matrix, kernel_product
from fenchel.data.strings import string_column

EPS = float(np.finfo(np.float64).eps)


def sample_rows(rng: np.random.Generator) -> list[NDArray[Any]]:
    """Few and many coordinates, both types, with equal rows, a zero row, and rows far apart."""
    found = []
    for d, dtype in ((1, np.float64), (3, np.float32), (30, np.float64), (40, np.float32)):
        X = rng.standard_normal((24, d)) / d**0.5
        X[5], X[6], X[7] = X[4], 0.0, 3.0 * X[3]
        found.append(X.astype(dtype))
    return found


def sample_strings(rng: np.random.Generator) -> list[NDArray[Any]]:
    """Of two, four and many characters, bytes too, with equal rows, an empty one, one character."""
    found = []
    for characters, longest in (("ab", 6), ("ACGT", 40), ("aé∂\U0001f600 x", 12)):
        texts = [
            "".join(rng.choice(list(characters), rng.integers(1, longest + 1))) for _ in range(24)
        ]
        texts[5], texts[6], texts[7] = texts[4], "", characters[0] * longest
        found.append(string_column(texts))
        found.append(string_column([text.encode() for text in texts]))
    return found


def check(kernel: PairKernel, rows: Any, rng: np.random.Generator) -> None:
    n = rows.shape[0]
    K = kernel.tile(rows, rows)
    _require(kernel, "values are finite float64", K.dtype == np.float64 and np.isfinite(K).all())
    _require(kernel, "a tile has a value for each pair", K.shape == (n, n))
    size = float(np.abs(K).max(initial=0.0))
    # Rounding of a sum over the columns, through a power or an exponential.
    slack = 1e-12 * size
    _require(kernel, "symmetry", (np.abs(K - K.T) <= slack).all())
    diagonal = kernel.diagonal(rows)
    _require(kernel, "diagonal", (np.abs(diagonal - np.diagonal(K)) <= slack).all())
    order = rng.permutation(n)
    for some in (order[:1], order[: n // 2], order):
        tile = kernel.tile(rows[some], rows)
        _require(kernel, "tiles equal the whole", (np.abs(tile - K[some]) <= slack).all())
        again = kernel.tile(rows[some], rows)
        _require(kernel, "the same tile has the same bits", np.array_equal(tile, again))
    (prepared,) = kernel.prepared(rows)
    tile = kernel.tile(prepared[order], prepared)
    _require(kernel, "prepared rows", (np.abs(tile - K[order]) <= slack).all())
    diagonal = kernel.diagonal(prepared)
    _require(kernel, "prepared diagonal", (np.abs(diagonal - np.diagonal(K)) <= slack).all())
    whole = gram_matrix(kernel, rows)
    _require(kernel, "the Gram matrix", (np.abs(whole - K) <= slack).all())
    v = rng.standard_normal((n, 2))
    close = np.abs(kernel_product(kernel, rows, rows, v) - K @ v) <= n * slack * 4.0
    _require(kernel, "products by tiles", close.all())
    if kernel.is_psd:
        lowest = float(np.linalg.eigvalsh(0.5 * (K + K.T))[0])
        least = -16.0 * n * EPS * float(np.trace(K))
        _require(kernel, f"no eigenvalue below {least:.2g}, got {lowest:.2g}", lowest >= least)


def _require(kernel: PairKernel, law: str, holds: Any) -> None:
    if not holds:
        raise AssertionError(f"{kernel!r} breaks the law '{law}'")
