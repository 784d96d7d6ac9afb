"""Where k-means begins: k-means++, greedy or plain, k-means‖ over blocks, random rows.

k-means++ draws each centre from the rows with a probability in proportion to sᵢ Dᵢ, D the squared
distance to the nearest centre so far; in expectation the rows then cost at most 8 (2 + ln k) times
the optimum. The greedy form draws 2 + ⌊ln k⌋ at a time, and keeps the one that leaves least.

Draws are made along the rows in an order that their values alone decide, so that neither the order
of the table nor a row written several times in place of a weight changes what is drawn.

References: Arthur and Vassilvitskii, k-means++: the advantages of careful seeding, SODA (2007);
Bahmani and others, Scalable k-means++, PVLDB 5 (2012).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import is_sparse, to_float64, to_numpy
from fenchel.data.blocks import Block, Blocks, Totals
from fenchel.data.memory import free_memory
from fenchel.data.parallel import one_blas_thread, parallel_map
from fenchel.geometry.distance import squared_distances
from fenchel.geometry.lloyd.device_potential import DevicePotential
from fenchel.geometry.lloyd.potential import Potential, drawn_index
from fenchel.models.cluster.rows import nearest_centres, row_of
from fenchel.models.estimator import as_numpy
from fenchel.solve.online.compiled import reshuffle
from fenchel.solve.online.row_values import row_values

Floats = NDArray[np.float64]
ROUNDS, OVERSAMPLING = 5, 2.0  # of k-means‖, as its authors recommend
PART = 2**17  # values of rows whose distances are made at once, by one thread
# Differences from which the loops of `Potential` are worth compiling, 1 s: so many take the other
# route 0.5 s.
MANY = 2**28


def kmeans_plus_plus(
    X: Any,
    weight: Floats | None,
    k: int,
    rng: np.random.Generator,
    trials: int | None = None,
    *,
    ordered: bool = False,
) -> NDArray[Any]:
    """k rows of a table in memory, dense or CSR. trials: drawn for each; 1 for the plain form.
    ordered: the rows lie in an order that their values alone decide."""
    n = X.shape[0]
    s = np.ones(n) if weight is None else weight
    trials = 2 + int(np.log(k)) if trials is None else trials
    order = np.arange(n) if ordered else canonical_order(X, rng)
    if not is_sparse(X) and n * X.shape[1] * k * trials >= MANY:
        found = _by_tiles(X, weight, k, rng, trials, order)
        if found is not None:
            return found
    line = s if ordered else s[order]
    chosen = [_drawn(np.cumsum(line), rng.random(1), order)[0]]
    D = _distances(X, chosen)[0]
    for _ in range(1, k):
        total = np.cumsum(line * (D if ordered else D[order]))
        u = rng.random(trials)
        if not total[-1] > 0.0:  # every row is a centre already
            break
        rows = _drawn(total, u, order)
        new = np.minimum(_distances(X, rows), D)
        best = int((new @ s).argmin()) if trials > 1 else 0
        chosen.append(rows[best])
        D = new[best]
    return np.array([row_of(X, i) for i in chosen])


def _by_tiles(
    X: NDArray[Any],
    weight: Floats | None,
    k: int,
    rng: np.random.Generator,
    trials: int,
    order: NDArray[np.int64],
) -> NDArray[Any] | None:
    """The same in the precision of the table, by a copy of it; None where there is no room for
    that, or where every mass vanishes in that precision."""
    if X.nbytes > free_memory() / 2:
        return None
    state = rng.bit_generator.state
    mass = np.cumsum(np.ones(len(order)) if weight is None else weight[order])
    chosen = _chosen(Potential(X, order, weight), mass, k, rng, trials)
    if chosen is None:
        rng.bit_generator.state = state
        return None
    return X[order[chosen]]


def plus_plus_on_device(
    X: Any, weight: Any, k: int, rng: np.random.Generator, trials: int | None = None
) -> NDArray[Any] | None:
    """`kmeans_plus_plus` of a tensor where it lies; None where every mass vanishes before there are
    k rows."""
    potential = DevicePotential(X, weight, rng)
    trials = 2 + int(np.log(k)) if trials is None else trials
    chosen = _chosen(potential, potential.mass(), k, rng, trials)
    return None if chosen is None else np.asarray(to_numpy(potential.rows(chosen)))


def _chosen(
    potential: Potential | DevicePotential,
    mass: Floats,
    k: int,
    rng: np.random.Generator,
    trials: int,
) -> list[int] | None:
    """Places of k rows in the order in which they lie; mass: Σ s up to each."""
    chosen = [drawn_index(mass, float(rng.random(1)[0]) * mass[-1])]
    potential.add(chosen[0])
    for _ in range(1, k):
        u = rng.random(trials)
        if potential.vanished:
            return None
        drawn = potential.drawn(u)
        best = int(potential.gains(drawn).argmax()) if trials > 1 else 0
        chosen.append(int(drawn[best]))
        potential.add(chosen[-1])
    return chosen


def random_rows(X: Any, weight: Floats | None, k: int, rng: np.random.Generator) -> NDArray[Any]:
    """k different rows, each drawn in proportion to its weight among those left."""
    s = np.ones(X.shape[0]) if weight is None else weight
    keys = _keys(X, rng)
    order = np.argsort(keys, kind="stable")
    line, runs = s[order].astype(np.float64), keys[order]
    chosen = []
    for _ in range(k):
        total = np.cumsum(line)
        u = rng.random(1)
        if not total[-1] > 0.0:
            break
        place = drawn_index(total, u[0] * total[-1])
        chosen.append(order[place])
        line[runs == runs[place]] = 0.0  # rows of the same values
    return np.array([row_of(X, i) for i in chosen])


def kmeans_parallel(
    blocks: Blocks, k: int, rng: np.random.Generator, trials: int | None = None
) -> NDArray[Any]:
    """k-means‖: in each of a few passes about 2k rows are drawn, every row by itself; the rows that
    were drawn, each with the weight of those nearest to it, are then seeded by k-means++."""
    first = blocks.reduce(_Draw(None, 0.0, int(rng.integers(2**62)), 1.0))
    chosen = first.nearest[1][None, :]
    for _ in range(ROUNDS):
        cost = float(blocks.reduce(_Cost(chosen))[0])
        seed = int(rng.integers(2**62))
        if not cost > 0.0:
            break
        found = blocks.reduce(_Draw(chosen, cost, seed, OVERSAMPLING * k))
        if len(found.rows):
            chosen = np.concatenate([chosen, found.rows])

    def attract(block: Block) -> Totals:
        labels, _ = nearest_centres(block.X, chosen)
        s = None if block.weight is None else np.asarray(to_numpy(block.weight), np.float64)
        return Totals(np.bincount(labels, s, minlength=len(chosen)).astype(np.float64))

    mass = blocks.reduce(attract)[0]
    return kmeans_plus_plus(chosen[mass > 0.0], mass[mass > 0.0], k, rng, trials)


@dataclass(frozen=True)
class _Drawn:
    """Rows that were drawn, and the row whose own number lies lowest."""

    rows: NDArray[Any]
    nearest: tuple[float, NDArray[Any]]

    def __add__(self, other: _Drawn) -> _Drawn:
        rows = np.concatenate([self.rows, other.rows])
        return _Drawn(rows, min(self.nearest, other.nearest, key=lambda pair: pair[0]))


@dataclass(frozen=True)
class _Draw:
    """Each row by itself, with a probability of expected · sᵢDᵢ / cost: a number made of the row's
    own values decides, so that blocks do not. A statistic."""

    chosen: NDArray[Any] | None
    cost: float
    seed: int
    expected: float

    def __call__(self, block: Block) -> _Drawn:
        X = block.X if is_sparse(block.X) else as_numpy(block.X)
        # Equal rows are one row, of their weights together.
        keys, rows, which = np.unique(row_values(X), return_index=True, return_inverse=True)
        s = np.bincount(which, None if block.weight is None else to_numpy(block.weight))
        mixed = np.empty(len(keys), np.uint64)
        reshuffle(keys, np.uint64(self.seed), mixed)
        u = (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53
        if self.chosen is None:
            # An exponential clock a row: the first to ring is drawn in proportion to its weight.
            with np.errstate(divide="ignore"):
                clock = np.where(s > 0.0, -np.log1p(-u) / s, np.inf)
            i = int(clock.argmin())
            first = row_of(X, int(rows[i]))
            return _Drawn(np.empty((0, X.shape[1]), X.dtype), (float(clock[i]), first))
        D = nearest_centres(X[rows], self.chosen)[1]
        drawn = rows[u < self.expected * s * D / self.cost]
        found = np.array([row_of(X, int(i)) for i in drawn], X.dtype)
        return _Drawn(found.reshape(len(drawn), X.shape[1]), (np.inf, np.empty(0)))


@dataclass(frozen=True)
class _Cost:
    """Σ sᵢ Dᵢ at centres: a statistic."""

    C: NDArray[Any]

    def __call__(self, block: Block) -> Totals:
        D = nearest_centres(block.X, self.C)[1]
        return Totals(float(D.sum() if block.weight is None else D @ to_numpy(block.weight)))


def canonical_order(X: Any, rng: np.random.Generator) -> NDArray[np.int64]:
    """Rows in an order drawn from their own values: equal ones are neighbours."""
    return np.argsort(_keys(X, rng), kind="stable")


def _keys(X: Any, rng: np.random.Generator) -> NDArray[np.uint64]:
    keys = np.empty(X.shape[0], np.uint64)
    reshuffle(row_values(X), np.uint64(rng.integers(2**62)), keys)
    return keys


def _drawn(total: Floats, u: Floats, order: NDArray[np.int64]) -> list[int]:
    return [int(order[drawn_index(total, one)]) for one in u * total[-1]]


def _distances(X: Any, rows: list[int]) -> Floats:
    """(len(rows), n): squared distances of all rows to some of them."""
    n = X.shape[0]
    if is_sparse(X):
        wide = to_float64(X)
        some = wide[rows].toarray()
        own = np.asarray(wide.multiply(wide).sum(axis=1)).ravel()
        cross = wide @ some.T
        found = own[:, None] - 2.0 * cross + own[rows]
        found[found <= 1e-14 * (own[:, None] + own[rows])] = 0.0  # rounding alone
        return np.ascontiguousarray(np.maximum(found, 0.0).T)
    out = np.empty((len(rows), n))
    some = X[rows]
    step = max(PART // max(X.shape[1], len(rows)), 256)

    def part(lo: int) -> None:
        out[:, lo : lo + step] = squared_distances(X[lo : lo + step], some).T

    with one_blas_thread():
        parallel_map(part, range(0, n, step))
    return out
