"""Tables for the least squares tests, the textbook solution, and the call under test."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from fenchel.data.blocks import Block, Blocks, tree_sum
from fenchel.data.intake import as_blocks
from fenchel.solve.least_squares.solve import LeastSquaresLimits, least_squares


class Pieces(Blocks):
    """A table cut into a given number of blocks, some of them of one row, not held in memory."""

    def __init__(self, X, y, weight=None, pieces=1):
        self.n_rows, self.n_cols = X.shape
        self.dtype, self.names = np.dtype(np.float64), None
        cuts = np.linspace(0, len(y), min(pieces, len(y)) + 1).astype(int)
        self.blocks = [
            Block(int(i), X[i:j], y[i:j], None if weight is None else weight[i:j])
            for i, j in pairwise(cuts)
        ]

    def __iter__(self) -> Iterator[Block]:
        return iter(self.blocks)

    def reduce(self, stat):
        return tree_sum(map(stat, self.blocks))

    @property
    def local(self) -> bool:
        return False

    @property
    def sparse(self) -> bool:
        return sp.issparse(self.blocks[0].X)


def fit(X, y, weight=None, intercept=True, **limits):
    limits = LeastSquaresLimits(**limits)
    return least_squares(as_blocks(X, y, weight), intercept, limits)


def shortest(X, y, weight=None, intercept=True):
    """The solution of least norm by a singular value decomposition."""
    s = np.ones(len(X)) if weight is None else weight
    m, t = (s @ X / s.sum(), s @ y / s.sum()) if intercept else (0.0, 0.0)
    root = np.sqrt(s)
    A = X - m
    if intercept:
        A = A - s @ A / s.sum()  # what rounding left of the mean
    w = np.linalg.pinv(root[:, None] * A, rcond=1e-12) @ (root * (y - t))
    return w, t - m @ w if intercept else 0.0


def draw(n=60, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + rng.normal(size=d)
    return X, X @ rng.normal(size=d) + 1.0 + rng.normal(size=n), rng


def one_hot(rng, n, k):
    return np.eye(k)[rng.permutation(np.arange(n) % k)]
