"""Objectives in exact arithmetic, written down again without the library: fractions, and decimals
of 60 digits for logarithms. Every float64 number is a fraction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np

DIGITS = 60
Row = list[Fraction]


def exact(values: Any) -> list[Fraction]:
    return [Fraction(float(v)) for v in np.ravel(values)]


def decimal(v: Fraction) -> Decimal:
    return Decimal(v.numerator) / Decimal(v.denominator)


def log_loss(y: Fraction, z: Fraction) -> Fraction:
    """log(1 + e^{-yz}) to some 60 digits; called with that precision set."""
    t = decimal(-y * z)
    small = (1 + (-abs(t)).exp()).ln() if abs(t) < 300 else (-abs(t)).exp()
    return Fraction(max(t, Decimal(0)) + small)


def hinge(y: Fraction, z: Fraction) -> Fraction:
    return max(Fraction(0), 1 - y * z)


def squared_hinge(y: Fraction, z: Fraction) -> Fraction:
    return hinge(y, z) ** 2


def square(y: Fraction, z: Fraction) -> Fraction:
    return (y - z) ** 2


def pinball(q: float) -> Callable[[Fraction, Fraction], Fraction]:
    share = Fraction(q)

    def of(y: Fraction, z: Fraction) -> Fraction:
        return max(share * (y - z), (share - 1) * (y - z))

    return of


def huber(eps: float, sigma: float) -> Callable[[Fraction, Fraction], Fraction]:
    """σ + σH(r/σ); its limit where σ = 0."""
    e, s = Fraction(eps), Fraction(sigma)

    def of(y: Fraction, z: Fraction) -> Fraction:
        r = abs(y - z)
        return s + (r * r / s if s and r <= e * s else 2 * e * r - e * e * s)

    return of


@dataclass
class Exact:
    """P(w, b) = factor Σ sᵢ l(yᵢ, xᵢ·w + b) + l1 |w|₁ + l2 |w|²/2."""

    X: list[Row]
    y: Row
    s: Row
    loss: Callable[[Fraction, Fraction], Fraction]
    factor: Fraction
    l1: Fraction
    l2: Fraction
    intercept: bool
    kind: str = field(default="")

    @classmethod
    def of(cls, X: Any, y: Any, s: Any, loss: Any, factor: Any = 1, l1: float = 0.0,
           l2: float = 0.0, intercept: bool = True, kind: str = "") -> Exact:  # fmt: skip
        X = np.asarray(X.toarray() if hasattr(X, "toarray") else X)
        s = np.ones(len(X)) if s is None else s
        rows = [exact(row) for row in X]
        return cls(rows, exact(y), exact(s), loss, Fraction(factor), Fraction(l1), Fraction(l2),
                   intercept, kind)  # fmt: skip

    def scores(self, w: Row, b: Fraction) -> Row:
        return [sum((x * v for x, v in zip(row, w, strict=True)), b) for row in self.X]

    def value(self, w: Row, b: Fraction) -> Fraction:
        with localcontext() as context:
            context.prec = DIGITS
            terms = zip(self.s, self.y, self.scores(w, b), strict=True)
            total = self.factor * sum((s * self.loss(y, z) for s, y, z in terms if s), Fraction(0))
        total += self.l1 * sum((abs(v) for v in w), Fraction(0))
        return total + self.l2 * sum((v * v for v in w), Fraction(0)) / 2

    def better(self, w: Row, b: Fraction) -> tuple[Row, Fraction] | None:
        """A point near the optimum to many digits, from one that is near it to some: none is
        promised to be better, and any proves a bound wrong that lies above its value."""
        found = {
            "square": self._least,
            "lasso": self._least,
            "hinge": self._hinge,
            "pinball": self._vertex,
            "logistic": self._newton,
            "squared_hinge": self._newton,
            "huber": self._huber,
        }[self.kind](w, b)
        return None if found is None else (found[: len(w)], found[len(w)])

    def _rows(self) -> list[Row]:
        """Rows with a one behind for the intercept."""
        return [[*row, Fraction(int(self.intercept))] for row in self.X]

    def _quadratic(
        self, w: Row, b: Fraction, curvature: Row, slope: Row, free: list[int], held: list[Row]
    ) -> Row | None:
        """The point after a Newton step in the free unknowns, which stays on rows · u = const."""
        rows, d = self._rows(), len(w)
        point = [*w, b]
        count = len(free)
        H = [[Fraction(0)] * count for _ in range(count)]
        g = [Fraction(0)] * count
        for row, h, t in zip(rows, curvature, slope, strict=True):
            if not h and not t:
                continue
            part = [row[j] for j in free]
            for i in range(count):
                g[i] += t * part[i]
                if h:
                    for k in range(count):
                        H[i][k] += h * part[i] * part[k]
        for i, j in enumerate(free):
            if j < d:
                g[i] += self.l2 * point[j]
                g[i] += self.l1 * (1 if point[j] > 0 else -1) if self.l1 else 0
                H[i][i] += self.l2
        # Rows that are held: multipliers beside the unknowns.
        size = count + len(held)
        A = [[*H[i], *(row[free[i]] for row in held)] for i in range(count)]
        A += [[*(row[j] for j in free), *[Fraction(0)] * len(held)] for row in held]
        step = solve(A, [-v for v in g] + [Fraction(0)] * len(held))
        if step is None or len(step) != size:
            return None
        for i, j in enumerate(free):
            point[j] += step[i]
        return point

    def _free(self, w: Row) -> list[int]:
        some = [j for j, v in enumerate(w) if v or not self.l1]
        return [*some, len(w)] if self.intercept else some

    def _least(self, w: Row, b: Fraction) -> Row | None:
        curvature = [2 * self.factor * s for s in self.s]
        slope = [h * (z - y) for h, z, y in zip(curvature, self.scores(w, b), self.y, strict=True)]
        return self._quadratic(w, b, curvature, slope, self._free(w), [])

    def _hinge(self, w: Row, b: Fraction) -> Row | None:
        margins = [y * z for y, z in zip(self.y, self.scores(w, b), strict=True)]
        near = Fraction(1, 10**6)
        point, on = [*w, b], [i for i, m in enumerate(margins) if abs(m - 1) < near]
        # To the corner first: margins of one, by the shortest way.
        point = self._to_rows(point, on, [self.y[i] for i in on])
        if point is None:
            return None
        slope = [
            -self.factor * s * y if m < 1 - near else Fraction(0)
            for s, y, m in zip(self.s, self.y, margins, strict=True)
        ]
        rows, none = self._rows(), [Fraction(0)] * len(self.y)
        held = independent([rows[i] for i in on])
        return self._quadratic(point[:-1], point[-1], none, slope, self._free(w), held)

    def _vertex(self, w: Row, b: Fraction) -> Row | None:
        r = [abs(y - z) for y, z in zip(self.y, self.scores(w, b), strict=True)]
        order = sorted(range(len(r)), key=lambda i: r[i])
        rows, free = self._rows(), self._free(w)
        chosen: list[int] = []
        for i in order:
            if len(independent([[rows[k][j] for j in free] for k in [*chosen, i]])) > len(chosen):
                chosen.append(i)
            if len(chosen) == len(free) - bool(self.l1) * 0:
                break
        on = [i for i in chosen if r[i] <= Fraction(1, 10**4) * (1 + max(map(abs, self.y)))]
        return self._to_rows([*w, b], on, [self.y[i] for i in on])

    def _to_rows(self, point: Row, on: list[int], wanted: Row) -> Row | None:
        """The nearest point with those scores."""
        if not on:
            return point
        rows, free = self._rows(), self._free(point[:-1])
        some = [[rows[i][j] for j in free] for i in on]
        kept = independent(some, numbers=True)
        some = [some[k] for k in kept]
        z = self.scores(point[:-1], point[-1])
        gap = [wanted[k] - z[on[k]] for k in kept]
        A = [[sum(a * c for a, c in zip(p, q, strict=True)) for q in some] for p in some]
        m = solve(A, gap)
        if m is None:
            return None
        point = list(point)
        for i, j in enumerate(free):
            point[j] += sum((v * row[i] for v, row in zip(m, some, strict=True)), Fraction(0))
        return point

    def _newton(self, w: Row, b: Fraction) -> Row | None:
        point: Row = [*w, b]
        for _ in range(4):
            z = self.scores(point[:-1], point[-1])
            curvature, slope = [], []
            for s, y, v in zip(self.s, self.y, z, strict=True):
                if self.kind == "squared_hinge":
                    short = max(Fraction(0), 1 - y * v)
                    slope.append(-2 * self.factor * s * y * short)
                    curvature.append(2 * self.factor * s if short else Fraction(0))
                    continue
                with localcontext() as context:
                    context.prec = DIGITS
                    e = (-decimal(y * v)).exp()
                    p = Fraction(e / (1 + e))
                slope.append(-self.factor * s * y * p)
                curvature.append(self.factor * s * p * (1 - p))
            found = self._quadratic(point[:-1], point[-1], curvature, slope, self._free(w), [])
            if found is None or self.value(found[:-1], found[-1]) > self.value(
                point[:-1], point[-1]
            ):
                break
            point = [v.limit_denominator(10**60) for v in found]
        return point

    def _huber(self, w: Row, b: Fraction) -> Row | None:
        return [*w, b]


def solve(A: list[Row], g: Row) -> Row | None:
    """Au = g by Gauss and Jordan; None where A is singular."""
    n = len(g)
    M = [[*row, v] for row, v in zip(A, g, strict=True)]
    for j in range(n):
        pivot = next((i for i in range(j, n) if M[i][j]), None)
        if pivot is None:
            return None
        M[j], M[pivot] = M[pivot], M[j]
        top = M[j][j]
        M[j] = [v / top for v in M[j]]
        for i in range(n):
            if i != j and M[i][j]:
                c = M[i][j]
                M[i] = [a - c * v for a, v in zip(M[i], M[j], strict=True)]
    return [row[n] for row in M]


def independent(rows: list[Row], numbers: bool = False) -> Any:
    """Rows, or their numbers, of which none is a combination of those before."""
    kept: list[int] = []
    reduced: list[tuple[int, Row]] = []
    for k, row in enumerate(rows):
        rest = list(row)
        for j, other in reduced:
            if rest[j]:
                c = rest[j]
                rest = [a - c * v for a, v in zip(rest, other, strict=True)]
        at = next((j for j, v in enumerate(rest) if v), None)
        if at is None:
            continue
        top = rest[at]
        reduced.append((at, [v / top for v in rest]))
        kept.append(k)
    return kept if numbers else [rows[k] for k in kept]
