"""The laws of a penalty: what makes a value, a conjugate and a prox belong together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fenchel.convex.laws.run import require
from fenchel.convex.penalty import Penalty
from fenchel.data.arrays import to_numpy

Random = np.random.Generator


def euclid(u: Any, v: Any) -> float:
    return float((to_numpy(u) * to_numpy(v)).sum())


def _points(rng: Random) -> Iterator[Any]:
    """Vectors and matrices of several scales, some entries 0."""
    for shape in ((1,), (7,), (5, 3)):
        for scale in (1e-3, 1.0, 30.0):
            yield scale * rng.standard_normal(shape) * (rng.random(shape) < 0.8)


def convex(penalty: Penalty, rng: Random) -> None:
    for w in _points(rng):
        for a, b in ((w, 4.0 * rng.permutation(w)), (abs(w), 0.0 * w)):
            chord = 0.3 * penalty.value(a, euclid) + 0.7 * penalty.value(b, euclid)
            middle = penalty.value(0.3 * a + 0.7 * b, euclid)
            require(penalty, "convexity", middle <= chord * (1.0 + 1e-12), w=a, other=b)


def shrink(penalty: Penalty, rng: Random) -> None:
    for v in _points(rng):
        for dtype in (np.float64, np.float32):
            at = v.astype(dtype)
            c = penalty.dual_scale(at)
            require(penalty, "shrink is between 0 and 1", 0.0 <= c <= 1.0, v=at, shrink=c)
            for inside in (c * at, c * at.astype(np.float64)):
                finite = penalty.conjugate(inside, euclid) < math.inf
                require(penalty, "shrink reaches the domain", finite, v=at, shrink=c)
            if c < 1.0:
                further = (c * (1.0 + 1e-5) + 1e-9) * at
                outside = penalty.conjugate(further, euclid) == math.inf
                require(penalty, "shrink is the largest factor", outside, v=at, shrink=c)


def fenchel_young(penalty: Penalty, rng: Random) -> None:
    for w in _points(rng):
        for at in (w, abs(w)):
            v = rng.standard_normal(w.shape) * abs(w).max()
            v *= penalty.dual_scale(v)
            value, conjugate = penalty.value(at, euclid), penalty.conjugate(v, euclid)
            slack = 1e-12 * (1.0 + abs(at * v).sum())
            holds = value + conjugate >= euclid(at, v) - slack
            require(penalty, "Fenchel-Young inequality", holds, w=at, v=v)
        for step in (0.1, 1.0, 10.0):
            u = penalty.prox(w, step)
            v = (w - u) / step
            c = penalty.dual_scale(v)
            # (w − u)/step is a subgradient at u: of the domain, but for its rounding.
            require(penalty, "the residual of the prox lies in the domain", c > 1.0 - 1e-9, w=w)
            value, conjugate = penalty.value(u, euclid), penalty.conjugate(c * v, euclid)
            holds = abs(value + conjugate - euclid(u, v)) <= 1e-9 * (1.0 + abs(w * v).sum())
            require(penalty, "Fenchel-Young equality at the prox", holds, w=w, step=step, prox=u)


def prox(penalty: Penalty, rng: Random) -> None:
    for w in _points(rng):
        for step in (0.1, 1.0, 10.0):

            def cost(u: Any, w: Any = w, step: float = step) -> float:
                return step * penalty.value(u, euclid) + 0.5 * float(((u - w) ** 2).sum())

            u = penalty.prox(w, step)
            best = cost(u) * (1.0 + 1e-12) + 1e-300
            require(penalty, "the prox has a finite value", best < math.inf, w=w, step=step)
            others = [u + size * rng.standard_normal(u.shape) for size in (1e-3, 0.1, 1.0, 10.0)]
            others += [abs(other) for other in others] + [0.0 * u, w]
            if w.size == 1:
                others += list(np.linspace(-1.5, 1.5, 301)[:, None] * abs(w))
            for other in others:
                holds = best >= 0.0 and cost(u) <= cost(other) + 1e-12 * (1.0 + cost(other))
                require(penalty, "the prox minimises", holds, w=w, step=step, prox=u, other=other)


def supremum(penalty: Penalty, rng: Random) -> None:
    """In one dimension, at subgradients whose supremum lies on a grid around the prox."""
    for size in (-3.0, -0.4, 0.0, 0.2, 1.0, 5.0):
        w = np.array([size])
        u = penalty.prox(w, 1.0)
        v = w - u
        v *= penalty.dual_scale(v)
        grid = u + np.linspace(-2.0, 2.0, 2001)[:, None]
        found = max(euclid(v, at) - penalty.value(at, euclid) for at in [*grid, 0.0 * u])
        conjugate = penalty.conjugate(v, euclid)
        holds = abs(conjugate - found) <= 1e-4 * (1.0 + abs(found))
        require(penalty, "conjugate is the supremum", holds, v=v, brute_force=found)
        far = np.array([2.0 * math.copysign(1.0 + 30.0 * abs(size), size)])
        if penalty.conjugate(far, euclid) == math.inf:
            rays = [sign * 10.0**k for sign in (-1.0, 1.0) for k in (3, 6)]
            reached = [euclid(far, r) - penalty.value(np.array([r]), euclid) for r in rays]
            unbounded = max(reached[1], reached[3]) > 100.0 * max(reached[0], reached[2], 0.01)
            require(penalty, "an infinite conjugate is an unbounded supremum", unbounded, v=far)


def kin(
    penalty: Penalty,
    library: str,
    make: Callable[[Any], Any],
    dtype: type[np.floating[Any]],
    rng: Random,
) -> None:
    """A library and a floating type give the float64 answer of numpy, the prox in its own type."""
    law = f"{library} {np.dtype(dtype).name} agrees with numpy float64"
    slack = 1e-12 if dtype is np.float64 else 1e-5
    for w in _points(rng):
        at = make(w.astype(dtype))
        exact = to_numpy(at)
        moved = penalty.prox(at, 0.7)
        kept = type(moved) is type(at) and moved.dtype == at.dtype
        require(penalty, f"{law}: prox keeps the type", kept, kind=f"{type(moved)} {moved.dtype}")
        numbers = (
            ("value", penalty.value(at, euclid), penalty.value(exact, euclid)),
            ("conjugate", penalty.conjugate(at, euclid), penalty.conjugate(exact, euclid)),
            ("shrink", penalty.dual_scale(at), penalty.dual_scale(exact)),
        )
        for name, given, wanted in numbers:
            require(penalty, f"{law}: {name} is a float", type(given) is float, given=given)
            holds = given == wanted or abs(given - wanted) <= slack * (1.0 + abs(wanted))
            require(penalty, f"{law}: {name}", holds, w=exact, given=given, wanted=wanted)
        wanted = penalty.prox(exact, 0.7)
        holds = (abs(to_numpy(moved) - wanted) <= slack * (1.0 + abs(wanted))).all()
        require(penalty, f"{law}: prox", holds, w=exact)


LAWS = (convex, shrink, fenchel_young, prox, supremum)
