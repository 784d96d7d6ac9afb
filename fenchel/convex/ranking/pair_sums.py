"""The loss of all pairs of scores, and its slope at each of them, in O(n log n).

Their errors are those of sums of terms of one sign, γ(6n) of themselves, whatever the tree; of what
leaves a running sum, which is counted as it goes; and of the panels' polynomials:

a function bounded by M on the ellipse about [-1, 1] whose axes sum to ρ is missed by the polynomial
of degree 15 through Chebyshev's points by 4Mρ⁻¹⁵/(ρ - 1) at most. At ρ = 8.2 a panel keeps |Im t|
below 3.03 < π, and M is at most 96 times the least value on the panel, for σ(-t) and for
log(1 + e⁻ᵗ): 1.1e-12 for one of two scores. The other one's polynomial magnifies that by its
Lebesgue constant, 2.8, on panels where values are up to e^1.5 times as large: 1.4e-11 in all.
What lies beyond the reach of the panels, e⁻⁴⁰ of a pair, is left out of them and counted.

A pair's own difference t is rounded, as if scores were off by a unit of their range.

Reference: Trefethen, Approximation Theory and Approximation Practice (2013), theorem 8.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certification.rounding import U, gamma
from fenchel.convex.certification.rounding import up as upward
from fenchel.convex.loss.hinge import Hinge, SquaredHinge
from fenchel.convex.loss.margin import Logistic, Margin
from fenchel.data.arrays import sigmoid, softplus
from fenchel.data.blocks import map_ordered, thread_count
from fenchel.data.pairs.target_tree import TargetPairs

Floats = NDArray[np.float64]
PANEL, REACH = 1.5, 27  # of Chebyshev sums: 27 panels away σ is 1 or 0, since e⁻³⁹ < 2⁻⁵⁶
BEYOND = 2.0**-56
EPS = float(np.finfo(np.float64).eps)
CLOSE = 1e-13  # what the polynomials of a panel miss, relative; measured 4e-14 at most
PROVED = 1.4e-11  # what they miss by the analysis above


@dataclass(frozen=True, slots=True)
class PairMeans:
    """Means over the pairs, weighted by sᵢsⱼ, at scores z.

    value: of φ(zᵢ - zⱼ). smooth: of its Moreau envelope, where φ has a kink; else the same.
    short: of φ + φ*(θ) - θt at the envelope's slope θ, t = zᵢ - zⱼ; 0 where φ is smooth.
    force: the derivative of `smooth` in each score, Σ of θ over the pairs of a row.
    steep: of |θ|.
    error: how far value may be from what it stands for; stray: the same of force, in the 1-norm;
    lack: of short.
    """

    value: float
    smooth: float
    short: float
    force: Floats
    steep: float
    error: float
    stray: float
    lack: float


def pair_sums(
    loss: Margin, pairs: TargetPairs, z: Floats, width: float, margin: float = 1.0
) -> PairMeans:
    """The sums of hinge (its envelope: θ = -clip((1 - t)/width, 0, 1)), squared hinge, logistic;
    with another margin in place of the hinges' 1.

    Reference: Joachims, 2006 (sorting for pairs); Airola, Pahikkala, Salakoski, 2011 (trees).
    """
    if not isinstance(loss, Hinge | SquaredHinge | Logistic):
        raise ValueError(f"pairs need the hinge, squared hinge or logistic loss, not {loss}")
    here = z[pairs.order]
    up, down = np.zeros(len(here)), np.zeros(len(here))
    share, far = gamma(6.0 * len(here) + 64.0), 0.0
    if isinstance(loss, Logistic):
        value = smooth = _logistic(pairs, here, up, down)
        short = inside = stray = lack = 0.0
        if len(pairs.spans[1]):
            share, far = share + PROVED, BEYOND
    else:
        kinked = isinstance(loss, Hinge)
        found = _hinges(kinked, pairs, here, width, margin, up, down)
        value, smooth, short, inside, stray, lack = found
    s, mass = pairs.weight, pairs.mass
    up *= s
    down *= s
    total = float(up.sum())
    # Both are Σ sᵢsⱼ|θ|, each made in its own order.
    apart = abs(total - float(down.sum()))
    force = np.zeros(pairs.n_rows)
    force[pairs.order] = (down - up) / mass
    # Inside the width rounding of the scores is magnified.
    blur = 0.0
    if inside > 0.0:
        blur = 8.0 * EPS * (1.0 + float(np.ptp(here))) * inside
    return PairMeans(
        float(value / mass),
        float(smooth / mass),
        float(max(short, 0.0) / mass),
        force,
        total / mass,
        upward(share * value / mass + far, 4),
        upward(float(apart + 2.0 * share * total + blur / width + U * stray) / mass + 2.0 * far, 4),
        upward(float(share * abs(short) + blur + U * lack) / mass, 4),
    )


def _hinges(
    kinked: bool,
    pairs: TargetPairs,
    z: Floats,
    width: float,
    margin: float,
    up: Floats,
    down: Floats,
) -> Floats:
    from fenchel.convex.ranking.hinge.compiled import hinge, squared_hinge

    kernel = hinge if kinked else squared_hinge
    space = pairs.workspace()

    def walk(nodes: Any) -> Floats:
        sums = np.zeros(6)
        kernel(nodes, pairs.first, z, pairs.weight, *space, width, margin, up, down, sums)
        return sums

    parts = [part for wave in pairs.waves for part in map_ordered(walk, wave, thread_count())]
    sums = sum(parts, np.zeros(6))
    return sums if kinked else np.array([sums[0], sums[0], 0.0, 0.0, 0.0, 0.0])


@lru_cache(maxsize=1)
def _panels() -> tuple[Floats, Floats]:
    """Coefficients C[k + REACH, l, o] with K(z - z′) = Σ C Tₒ(x)Tₗ(x′) for z, z′ in panels k
    apart, x and x′ their places in them: σ(-t) and log(1 + e^{-t})."""
    from fenchel.convex.ranking.logistic.compiled import ORDER

    angle = np.pi * (np.arange(ORDER) + 0.5) / ORDER
    x = np.cos(angle)
    toward = 2.0 / ORDER * np.cos(np.arange(ORDER)[:, None] * angle)
    toward[0] *= 0.5
    k = np.arange(-REACH, REACH + 1)[:, None, None]
    t = PANEL * (k + 0.5 * (x[:, None] - x))
    both = (sigmoid(-t), softplus(-t))
    first, second = (np.einsum("oa,kab,lb->klo", toward, f, toward) for f in both)
    return np.ascontiguousarray(first), np.ascontiguousarray(second)


def _placed(z: Floats) -> tuple[Floats, Floats, Any, Any]:
    """Scores above the least, their place in [-1, 1] on a panel, its slot, and the slots' names."""
    lift = z - z.min()
    x = lift / PANEL
    ids = x.astype(np.int64)
    x -= ids
    x *= 2.0
    x -= 1.0
    count = int(ids.max()) + 1
    if count <= 8 * len(z) + 64:
        return lift, x, ids, np.arange(count)
    names, slot = np.unique(ids, return_inverse=True)  # few of very many panels hold a score
    return lift, x, slot, names


def _logistic(pairs: TargetPairs, z: Floats, up: Floats, down: Floats) -> float:
    from fenchel.convex.ranking.logistic.compiled import one_by_one, panel_sums

    slopes, values = _panels()
    spans, several = pairs.spans
    s, m = pairs.weight, len(z)

    def inside(part: slice) -> float:
        return one_by_one(spans[part], pairs.first, z, s, pairs.even, up, down)

    def rising(part: slice) -> float:
        mine = spans[part]
        rows = slice(mine[0, 0], mine[-1, 1])
        return panel_sums(mine, *_placed(z[rows]), s[rows], slopes, values, True, above[rows])

    def falling(part: slice) -> float:
        # The same with targets and scores turned round.
        mine = spans[part]
        a, b = mine[0, 0], mine[-1, 1]
        back, out = a + b - np.ascontiguousarray(mine[::-1, ::-1]), np.zeros(b - a)
        weight = s[a:b][::-1].copy()
        panel_sums(back, *_placed(-z[a:b][::-1]), weight, slopes, values, False, out)
        below[a:b] = out[::-1]
        return 0.0

    above, below = np.zeros(m), np.zeros(m)
    work: list[Callable[[], float]] = []
    for part in several:
        work += [partial(rising, part), partial(falling, part)]
    step = -(-len(spans) // 8)
    work += [partial(inside, slice(k, k + step)) for k in range(0, len(spans), step)]
    total = sum(_done(work))
    up += above
    down += below
    return float(total)


def _done(work: list[Callable[[], float]]) -> Iterable[float]:
    return map_ordered(lambda task: task(), work, thread_count())
