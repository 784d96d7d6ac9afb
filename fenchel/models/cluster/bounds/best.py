"""The best lower bound of k-means that a given effort finds, for a clustering that is known.

spectral: the scatter outside the first k - 1 principal components, one pass;
closed form: the dual point of the Peng-Wei relaxation that belongs to the clustering, in a few
passes, whatever the number of rows; where clusters lie far apart it proves them optimal;
parts: the relaxations of disjoint parts of the rows, which add up;
samples: those of random samples, with a confidence, where the parts would be too many.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from fenchel.convex.certificate import Certificate, Kind
from fenchel.convex.partition.closed_form import is_optimal
from fenchel.convex.partition.spectral_bounds import (
    lower_bound_in_units,
    scatter_bound,
    square_in_units,
)
from fenchel.data.arrays import to_numpy
from fenchel.data.blocks import Block, Blocks, Totals, one_blas_thread
from fenchel.models.cluster.bounds.clustering import MeasuredClustering, weight_exponent
from fenchel.models.cluster.bounds.parts import LabelledRows, RelaxationEffort, parts_bound
from fenchel.models.cluster.bounds.samples import Costs, samples_bound
from fenchel.models.cluster.rows import nearest_centres
from fenchel.models.estimator import as_numpy

Floats = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)
# A clustering that is proved to be the best may have centres that are off their means by this
# share of J, from a tolerance or from float32, and is called exact.
NEAR = 1e-9
SIZE = 200  # rows of a part: of 100 the bound is 2 to 4 % lower, of 400 the time is twice as long
EFFORT = RelaxationEffort()
LARGEST = 600  # rows; a step of the relaxation takes 30 ms, and with their cube more
CELLS = 2**27  # entries in float64 that are brought into memory for parts and samples


@dataclass(frozen=True, slots=True)
class BoundEffort:
    """How much effort a bound is worth.

    size: rows of a part; None: 200, or ten times k up to 600, or all of at most `together`.
    parts: the most of them. samples: random samples where more parts would be needed; 0: none.
    sampled: rows of a sample, as many as of a part unless given. entries, columns: the most of the
    rows times the square of the columns that are factored for the closed form, and of the latter.
    """

    confidence: float = 0.99
    seed: int = 0
    size: int | None = None
    together: int = 500
    parts: int = 100
    samples: int = 100
    sampled: int | None = None
    entries: float = 2e10
    columns: int = 1500
    effort: RelaxationEffort = EFFORT

    def part(self, k: int, rows: int) -> int:
        """Rows of a part."""
        size = min(max(SIZE, 10 * k), LARGEST) if self.size is None else self.size
        return rows if self.size is None and rows <= max(self.together, size) else size

    def sample(self, k: int) -> int:
        """Rows of a sample."""
        return self.part(k, self.together + 1) if self.sampled is None else self.sampled


# Half a second on one core, measured: 2000 rows in ten parts, or 300 as one.
QUICK = BoundEffort(
    together=300, parts=10, samples=0, entries=5e9, columns=300, effort=RelaxationEffort(steps=20)
)


@dataclass(frozen=True, slots=True)
class FoundBound:
    """In units of 4^exponent: of a kind, with a confidence, made of so many parts or samples."""

    bound: float
    kind: Kind
    confidence: float = 1.0
    words: str = "scatter outside the leading principal components"
    pieces: int = 0
    size: int = 0

    def certificate(self, J: float, exponent: int) -> Certificate:
        """Beside the value of the clustering."""
        low = lower_bound_in_units(min(self.bound, J), exponent)
        value = square_in_units(J, exponent)
        return Certificate(value, low, self.kind, confidence=self.confidence)


def proved_clustering(
    blocks: Blocks, C: NDArray[Any], J: float, exponent: int, search: BoundEffort | None
) -> Certificate:
    """Of k centres and what the rows cost there, J, in units of 4^exponent as those of the blocks'
    squares."""
    if J == 0.0:
        return Certificate(0.0, 0.0, "exact")
    return best_bound(blocks, C, J, search).certificate(J, exponent)


def search_of(method: str | bool) -> BoundEffort | None:
    """The effort of a method's name; None: the spectral bound alone."""
    return {"auto": QUICK, "sdp": BoundEffort()}.get(str(method))


@one_blas_thread()
def best_bound(blocks: Blocks, C: NDArray[Any], J: float, search: BoundEffort | None) -> FoundBound:
    """The best of the bounds of k clusters that the search allows.

    blocks: in units in which squares are safe; C: k centres in their precision; J: what the rows
    cost there, more than 0.
    """
    k = len(C)
    found = FoundBound(scatter_bound(blocks, k - 1), "spectral")
    if search is None or k < 2 or not np.isfinite(J):
        return found
    bounds = [found]
    n, d = blocks.n_rows, blocks.n_cols
    if float(n) * (d * d + k * d) <= search.entries and d <= search.columns:
        measured = MeasuredClustering.of(blocks, C)
        proof = _optimal(blocks, measured, C, J)
        if proof is not None:
            return proof
        width = float(1 + d + measured.k * (measured.k - 1))
        if n * width * width <= search.entries and width <= search.columns:
            value = measured.dual_bound(blocks, k)
            value = in_weights(value, measured.rows.exponent)
            words = "dual point that belongs to the clustering"
            bounds.append(FoundBound(value, "sdp", words=words))
    bounds.append(_pieces(blocks, C, k, search))
    return max(bounds, key=lambda one: (one.bound, one.confidence))


def in_weights(value: float, exponent: int) -> float:
    """2^exponent times a value in units of the weights."""
    return float(np.ldexp(value, exponent))


def _optimal(
    blocks: Blocks, measured: MeasuredClustering, C: NDArray[Any], J: float
) -> FoundBound | None:
    """The value of the partition itself, where no other can be better."""
    if measured.k < len(C):
        return None
    geometry = measured.geometry(blocks)
    if geometry is None or not is_optimal(geometry):
        return None
    # What the rows cost at the centres, less what the centres are off the means.
    path = np.linalg.norm(C - measured.rows.middle - measured.means, axis=1) + geometry.error
    off = float(measured.mass @ (path * path)) * (1.0 + 1e-6)
    n, d = blocks.n_rows, blocks.n_cols
    least = (measured.cost - off) * (1.0 - (n + d + 32.0) * EPS)
    least = in_weights(least, measured.rows.exponent)
    words = "dual point that belongs to the clustering, and meets its value"
    kind: Kind = "exact" if J - least <= NEAR * J else "sdp"
    return FoundBound(max(least, 0.0), kind, words=words)


def _pieces(blocks: Blocks, C: NDArray[Any], k: int, search: BoundEffort) -> FoundBound:
    """Parts of all rows, or random samples of them."""
    size, n, d = search.part(k, blocks.n_rows), blocks.n_rows, blocks.n_cols
    nothing = FoundBound(0.0, "spectral")
    if k < size <= LARGEST and n <= size * search.parts and n * d <= CELLS:
        exponent = weight_exponent(blocks)
        rows = _held(blocks.gather(), C, exponent)
        value, count = parts_bound(rows, k, size, search.effort)
        words = f"semidefinite relaxations of {count} disjoint parts of the rows"
        if count == 1:
            words = "semidefinite relaxation of all rows"
        value = in_weights(value, exponent)
        return FoundBound(value, "sdp", words=words, pieces=count, size=size)
    size = search.sample(k)
    if not (k < size <= min(LARGEST, n) and search.samples and size * search.samples * d <= CELLS):
        return nothing
    squares, weight = blocks.reduce(_RowCosts(C))
    s = None if weight[0] is None else np.concatenate(weight)
    costs = Costs(np.concatenate(squares), s)
    if not costs.value > 0.0:
        return nothing
    numbers = costs.draw(size, search.samples, search.seed).ravel()
    drawn = blocks.take(numbers)
    rows = _held(Block(0, drawn.X), C, 0)
    value = samples_bound(
        rows, costs.squares[numbers], costs, k, size, search.confidence, search.effort
    )
    words = f"semidefinite relaxations of {search.samples} random samples of {size} rows"
    return FoundBound(value, "sdp", search.confidence, words, search.samples, size)


def _held(block: Block, C: NDArray[Any], exponent: int) -> LabelledRows:
    """Rows of positive weight with the clusters of the nearest centres."""
    X: Any = block.X
    X = X if issparse(X) else as_numpy(X)
    s = None
    if block.weight is not None:
        s = np.asarray(to_numpy(block.weight), np.float64)
        some = np.flatnonzero(s > 0.0)
        X, s = X[some], np.ldexp(s[some], -exponent)
    labels = nearest_centres(X, C)[0]
    return LabelledRows(np.asarray(X.toarray() if issparse(X) else X, np.float64), s, labels)


@dataclass(frozen=True, slots=True)
class _RowCosts:
    """d² of every row to its nearest centre, and the weights: a statistic."""

    C: NDArray[Any]

    def __call__(self, block: Block) -> Totals:
        squares = nearest_centres(block.X, self.C)[1]
        s = None if block.weight is None else np.asarray(to_numpy(block.weight), np.float64)
        return Totals((squares,), (s,))
