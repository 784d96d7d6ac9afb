"""A density given as a function: adaptive quadrature over the triangles of cells.

Gauss's rule of 16 nodes in collapsed coordinates is exact to degree 7. On each triangle T the
values at its nodes xᵢ are fitted by a cubic p, which is compared with f there and beside the
corners zᵢ:

    e(T) = |T| √(Σ wᵢ (f - p)²(xᵢ) + ⅒ Σ (f - p)²(zᵢ))

The rule integrates p, and p times x and ‖x‖², exactly. For smooth densities e is far larger than
the true error, which is of degree 7; where f jumps it is about as large, and errors have either
sign. The error of a cell is taken for √(Σ e(T)²). Triangles with the largest errors are divided in
four until each cell is as exact as asked.

It is an estimate: no finite number of values bounds the integral of a function of which nothing
else is known, and what falls between all nodes is not seen.

Reference: Stroud, Approximate Calculation of Multiple Integrals (1971), conical product formulas.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenchel.geometry.voronoi.cells import Cells
from fenchel.geometry.voronoi.density import CellMoments, PlaneDensity
from fenchel.geometry.voronoi.domain import Domain

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Density = Callable[[Any, Any], Any]
ORDER, DEGREE = 4, 3  # nodes along each side, and of the polynomial that is fitted
# Barycentric coordinate of places beside the corners: never on the boundary, where a density may
# be infinite. A jump between a corner and the nodes next to it cuts off a tenth of the triangle.
BESIDE, CORNER = 1e-3, 0.1
VALUES = ORDER * ORDER + 3  # of a triangle
CHUNK = 2**11  # triangles whose values are held at once
MOST = 2**22  # values of one round of integrals, beyond those on the undivided triangles
ROUNDS = 40
ROUNDING = 64.0 * 2.0**-52  # of an integral, relative to it
LOOK = 2**11  # triangles of the domain that are looked at to draw from a density
CANDIDATES = 8


class QuadratureRule(NamedTuple):
    """Barycentric coordinates of nodes and then of places beside the corners (q + 3, 3); weights of
    the nodes, (q,); and the matrix (q + 3, q + 3) of values to their weighed distances from the
    polynomial that fits those at the nodes."""

    nodes: Floats
    weights: Floats
    misfit: Floats


@lru_cache(maxsize=1)
def rule() -> QuadratureRule:
    from scipy.special import roots_jacobi

    a, wa = roots_jacobi(ORDER, 1, 0)  # the weight 1 - a of the collapsed side
    b, wb = roots_jacobi(ORDER, 0, 0)
    x = np.repeat(0.5 * (1.0 + a), ORDER)
    y = (1.0 - x) * np.tile(0.5 * (1.0 + b), ORDER)
    weights = np.outer(wa, wb).ravel()
    weights /= weights.sum()
    nodes = np.vstack(
        [np.column_stack([1.0 - x - y, x, y]), BESIDE + (1.0 - 3.0 * BESIDE) * np.eye(3)]
    )
    powers = [(i, j) for i in range(DEGREE + 1) for j in range(DEGREE + 1 - i)]
    values = np.column_stack([nodes[:, 1] ** i * nodes[:, 2] ** j for i, j in powers])
    roots = np.sqrt(weights)
    fit = np.linalg.pinv(roots[:, None] * values[:-3]) * roots
    misfit = np.eye(len(nodes))
    misfit[:, :-3] -= values @ fit
    misfit *= np.concatenate([roots, np.full(3, math.sqrt(CORNER))])[:, None]
    return QuadratureRule(nodes, weights, misfit)


class _Parts(NamedTuple):
    """Integrals over triangles, and what the largest f w ‖x‖² of a node is and where.

    reach: of the farthest place of each.
    """

    mass: Floats
    first: Floats
    second: Floats
    error: Floats
    reach: Floats
    worst: Floats
    place: Floats


@dataclass(frozen=True, eq=False)
class FunctionDensity(PlaneDensity):
    """f(x, y) on a domain, over 2^exponent."""

    domain: Domain
    function: Density
    exponent: int

    @staticmethod
    def of(function: Density, domain: Any) -> FunctionDensity:
        if domain is None:
            raise ValueError(
                "a density that is a function needs a domain, such as (x0, x1, y0, y1)"
            )
        frame = Domain.of(domain)
        plain = FunctionDensity(frame, function, 0)
        most = float(plain.values(_places(_look(frame)).reshape(-1, 2)).max())
        if most == 0.0:
            raise ValueError(
                f"density is zero at all of {LOOK * VALUES:,} places spread over the domain: give "
                "the smaller domain where it is not"
            )
        return FunctionDensity(frame, function, math.frexp(most)[1])

    @property
    def mass_exponent(self) -> int:
        return self.exponent + 2 * self.domain.exponent

    def values(self, places: Floats) -> Floats:
        """f at places in units (n, 2), over 2^exponent."""
        x, y = self.domain.outward(places).T
        given = np.asarray(self.function(x.copy(), y.copy()), np.float64)
        if given.shape != x.shape and given.ndim:
            raise ValueError(
                f"density(x, y) must give one number for each of the {len(x)} places of the arrays "
                f"x and y, got an array of shape {given.shape}"
            )
        found = np.broadcast_to(given, x.shape)
        bad = np.flatnonzero(~((found >= 0.0) & np.isfinite(found)))
        if len(bad):
            i = int(bad[0])
            raise ValueError(
                f"density({x[i]:.6g}, {y[i]:.6g}) is {found[i]}: a density is finite and not "
                "negative"
            )
        return np.asarray(np.ldexp(found, -self.exponent))

    def moments(self, cells: Cells, accuracy: float) -> CellMoments:
        k = len(cells.centers)
        triangles, owners = cells.triangles()
        done = np.zeros((k, 7))
        worst, place = np.zeros(k), np.zeros((k, 2))
        spent = 0
        for level in range(ROUNDS):
            parts = self._integrals(triangles, cells.centers[owners])
            _keep_worst(parts, owners, worst, place)
            sums = done + _sums(parts, owners, k)
            spent += len(triangles) * VALUES if level else 0
            # A cell's share of what is allowed, Σ eⱼ² / mⱼ ≤ accuracy² J, eⱼ of ∫ f (x - cⱼ).
            allowed = accuracy * np.sqrt(sums[:, 0] * (sums[:, 3].sum() / k))
            waiting = np.sqrt(np.bincount(owners, minlength=k))
            split = (np.sqrt(sums[:, 5]) > allowed)[owners]
            split &= parts.error * parts.reach * waiting[owners] * 2.0 > allowed[owners]
            count = int(split.sum())
            if not count or spent + 4 * count * VALUES > MOST or level == ROUNDS - 1:
                break
            done += _sums(_Parts(*(part[~split] for part in parts)), owners[~split], k)
            triangles, owners = _divided(triangles[split]), np.tile(owners[split], 4)
        errors = np.sqrt(sums[:, 4:])
        errors[:, 0] += ROUNDING * sums[:, 0]
        errors[:, 1] += ROUNDING * np.sqrt(sums[:, 0] * sums[:, 3])
        errors[:, 2] += ROUNDING * sums[:, 3]
        return CellMoments(cells, sums[:, 0], sums[:, 1:3], sums[:, 3], errors, place)

    def _integrals(self, triangles: Floats, centres: Floats) -> _Parts:
        """Over triangles (t, 3, 2) that are written from centres (t, 2)."""
        size = range(0, len(triangles), CHUNK)
        found = [self._chunk(triangles[i : i + CHUNK], centres[i : i + CHUNK]) for i in size]
        return _Parts(*map(np.concatenate, zip(*found, strict=True))) if found else _NOTHING

    def _chunk(self, triangles: Floats, centres: Floats) -> _Parts:
        nodes, weights, misfit = rule()
        x, y = (nodes @ triangles[:, :, axis].T for axis in (0, 1))  # (q + 3, t)
        places = np.stack([x + centres[:, 0], y + centres[:, 1]], axis=-1)
        f = self.values(places.reshape(-1, 2)).reshape(x.shape)
        a, b = triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
        area = 0.5 * np.abs(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0])
        x, y, weighed = x[:-3], y[:-3], weights[:, None] * f[:-3]
        costs = weighed * (x * x + y * y)
        left = misfit @ f
        at = costs.argmax(axis=0), np.arange(len(area))
        return _Parts(
            area * weighed.sum(axis=0),
            area[:, None]
            * np.stack([(weighed * x).sum(axis=0), (weighed * y).sum(axis=0)], axis=1),
            area * costs.sum(axis=0),
            area * np.sqrt((left * left).sum(axis=0)),
            np.sqrt((triangles**2).sum(axis=2).max(axis=1)),
            area * costs[at],
            np.stack([x[at], y[at]], axis=1),
        )

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """A triangle by its mass, and of a few places in it one by the density there."""
        triangles = _look(self.domain)
        parts = self._integrals(triangles, np.zeros((len(triangles), 2)))
        sums = np.cumsum(parts.mass)
        chosen = np.searchsorted(sums, rng.random(count) * sums[-1], side="right")
        chosen = np.minimum(chosen, len(sums) - 1)
        u, v = rng.random((2, count, CANDIDATES))
        u, v = np.where(u + v > 1.0, 1.0 - u, u), np.where(u + v > 1.0, 1.0 - v, v)
        T = triangles[chosen]
        places = T[:, None, 0] + u[..., None] * (T[:, 1] - T[:, 0])[:, None, :]
        places += v[..., None] * (T[:, 2] - T[:, 0])[:, None, :]
        f = self.values(places.reshape(-1, 2)).reshape(count, CANDIDATES)
        whole = np.cumsum(f, axis=1)
        at = (whole < rng.random((count, 1)) * whole[:, -1:]).sum(axis=1)
        found = places[np.arange(count), np.minimum(at, CANDIDATES - 1)]
        none = whole[:, -1] == 0.0  # of a corner with little mass: its node
        found[none] = parts.place[chosen[none]]
        return np.asarray(found)


_NOTHING = _Parts(np.zeros(0), np.zeros((0, 2)), *(np.zeros(0),) * 4, np.zeros((0, 2)))


def _places(triangles: Floats) -> Floats:
    """The nodes of triangles, (q + 3, t, 2)."""
    return np.stack([rule().nodes @ triangles[:, :, axis].T for axis in (0, 1)], axis=-1)


def _divided(T: Floats) -> Floats:
    """Each triangle as four, at the middles of its sides."""
    a, b, c = T[:, 0], T[:, 1], T[:, 2]
    ab, bc, ca = 0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a)
    four = ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))
    return np.concatenate([np.stack(corners, axis=1) for corners in four])


def _look(domain: Domain) -> Floats:
    """Triangles of about one size that make up the domain."""
    P = domain.polygon
    fans = [np.stack([P[0], P[i], P[i + 1]]) for i in range(1, len(P) - 1)]
    found = np.array(fans)
    while len(found) < LOOK:
        found = _divided(found)
    return found


def _sums(parts: _Parts, owners: Integers, k: int) -> Floats:
    """Of the triangles of each cell: mass, both first moments, second moment; squares of their
    errors."""
    errors = [(parts.error * parts.reach**power) ** 2 for power in range(3)]
    columns = (parts.mass, *parts.first.T, parts.second, *errors)
    return np.column_stack([np.bincount(owners, column, k) for column in columns])


def _keep_worst(parts: _Parts, owners: Integers, worst: Floats, place: Floats) -> None:
    """The costliest node of each cell so far."""
    before = worst.copy()
    np.maximum.at(worst, owners, parts.worst)
    better = (parts.worst == worst[owners]) & (parts.worst > before[owners])
    place[owners[better]] = parts.place[better]
