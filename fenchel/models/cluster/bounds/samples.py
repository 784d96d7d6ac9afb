"""k-means bounded by small random samples, with a stated confidence.

For m of n rows, drawn without replacement, every draw as likely as any other,

    E J(sample) / (m - 1)  ≤  J / (n - 1)                                                     (1)

Proof: the best clusters of all rows cost the sample no less than J(sample); with hₐ of its rows in
cluster a of nₐ rows, the cost about the sample's own means is in expectation, given hₐ,
(hₐ - 1)⁺ Jₐ / (nₐ - 1). And E (hₐ - 1)⁺ / (nₐ - 1) does not fall as nₐ grows up to n, where it is
(m - 1) / (n - 1): taking a random row out of a cluster of N rows of which h are drawn turns
(h - 1)⁺ / (N - 1) into a number whose mean is no larger, as multiplying out shows. Rows of weight s
are drawn with replacement in proportion to it; then E J(sample) ≤ (m - 1) J / Σ s likewise, since
E (h - 1)⁺ is convex in the share of a cluster and 0 at share 0.

The samples are not drawn evenly, but in proportion to what they cost at given centres c: one row in
proportion to sᵢ d²(xᵢ, c), and the others evenly. The ratio R = J(sample) / (its cost at c) lies in
[0, 1] then, without any cap, varies little, and has the mean E J(sample) / E cost(sample):

    J  ≥  m / (m - 1) · E R · J(c),    times (n - 1) / n without replacement

A lower confidence bound of E R, from independent samples and without assumptions, does the rest.
J(sample) is bounded by its semidefinite relaxation. The centres must not depend on the draws.

References: Mixon and Villar, Monte Carlo approximation certificates for k-means clustering,
arXiv:1710.00956 (2017); Clum, Mixon, Villar and Xie, Sketch-and-solve approaches to k-means
clustering by semidefinite programming, Inf. Inference 13 (2024); Midzuno, On the sampling system
with probability proportional to sum of sizes, Ann. Inst. Stat. Math. 3 (1952).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.partition.bounded_mean import mean_lower_bound
from fenchel.data.parallel import one_blas_thread, parallel_map
from fenchel.models.cluster.bounds.parts import LabelledRows, RelaxationEffort, relaxation_bound

Floats = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)
STREAM = 0x6B6D  # apart from the numbers by which centres were drawn


@dataclass(frozen=True, slots=True, eq=False)
class Costs:
    """d²(xᵢ, c) of every row at given centres, and its weight where there are weights."""

    squares: Floats
    weight: Floats | None

    @property
    def value(self) -> float:
        """J(c)."""
        s = self.squares if self.weight is None else self.squares * self.weight
        return float(s.sum())

    def draw(self, size: int, count: int, seed: int) -> NDArray[np.int64]:
        """(count, size) numbers of rows: independent samples, in proportion to what they cost."""
        rng = np.random.default_rng([seed, STREAM])
        n, s = len(self.squares), self.weight
        line = np.cumsum(self.squares if s is None else self.squares * s)
        first = _places(line, rng.random(count))
        found = np.empty((count, size), np.int64)
        found[:, 0] = first
        mass = None if s is None else np.cumsum(s)
        for row, one in zip(found, first, strict=True):
            if mass is not None:
                row[1:] = _places(mass, rng.random(size - 1))
                continue
            others = rng.choice(n - 1, size - 1, replace=False)
            row[1:] = others + (others >= one)  # every row but the first
        return found

    def factor(self, size: int) -> float:
        """What E R J(c) is multiplied by: (n - 1) m / (n (m - 1)) or m / (m - 1)."""
        n = float(len(self.squares))
        whole = 1.0 if self.weight is not None else (n - 1.0) / n
        return whole * size / (size - 1.0)


def _places(line: Floats, u: Floats) -> NDArray[np.int64]:
    """Places in a line of running sums, in proportion to its steps; never one of no length."""
    last = int(np.searchsorted(line, line[-1]))
    return np.minimum(np.searchsorted(line, u * line[-1], side="right"), last)


def samples_bound(
    rows: LabelledRows,
    squares: Floats,
    costs: Costs,
    k: int,
    size: int,
    confidence: float,
    effort: RelaxationEffort,
) -> float:
    """At most J of all rows, with that confidence.

    rows: those of the samples, one sample of `size` rows after the other, each row with weight 1;
    squares: what each costs at the centres.
    """
    count = len(rows) // size

    def ratio(i: int) -> Any:
        here = np.arange(i * size, (i + 1) * size)
        cost = float(squares[here].sum()) * (1.0 + (size + 4.0) * EPS)
        return relaxation_bound(rows.at(here), k, effort) / cost if cost > 0.0 else 0.0

    with one_blas_thread():
        ratios = np.array(parallel_map(ratio, range(count)))
    n = float(len(costs.squares))
    # Running sums of n terms: no row is drawn with a probability that is off by more than n EPS,
    # and by so much at most is the mean of a ratio, and J(c) in relation to itself.
    mean = mean_lower_bound(ratios, confidence) - 4.0 * n * EPS
    return max(mean, 0.0) * costs.factor(size) * costs.value * (1.0 - (4.0 * n + 16.0) * EPS)
