"""Newton's method for pairwise ranking: the Hessian from a sample of the active pairs, the gradient
from all."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.convex.ranking.objective import Ranking, RankingEvaluation
from fenchel.convex.ranking.pair_sums import PairMeans
from fenchel.data.design.matrix import Point
from fenchel.solve.needs import PositiveL2, RankedPairs
from fenchel.solve.ranking.hessian import Hessian, active_pairs, hessian_of
from fenchel.solve.solver import Solver, State

Floats = NDArray[np.float64]
WIDEST, NARROWEST = 1.0, 1e-13  # width of the hinge's envelope at the start, and at the end


@dataclass(frozen=True, slots=True)
class RankingMemory:
    """The Hessian, whether it is that of this very point, recent pairs of steps and slopes, and the
    next direction."""

    hessian: Hessian
    fresh: bool
    pairs: tuple[tuple[Floats, Floats], ...]
    direction: Floats
    best: float = math.inf  # the least gap at this width
    least: float = math.inf  # and objective
    idle: int = 0  # steps since either fell
    top: State | None = None  # the state with the least gap of all


@dataclass(frozen=True, slots=True)
class RankingNewton(Solver):
    """Quasi-Newton steps on all pairs, the Hessian made from some of those that bend.

    A step along p takes two passes over the rows, Φp and Φ*f, however often the line is searched.
    A hinge is replaced by its Moreau envelope, whose width shrinks until it costs no more than a
    part of `goal`, the relative gap to reach.

    Reference: Byrd, Chin, Neveitt, Nocedal, 2011 (sampled Hessians); Chapelle and Keerthi, 2010
    (Newton for pairs); Beck and Teboulle, 2012 (smoothing).
    """

    goal: float = 1e-6
    kept: int = 10
    needs: ClassVar = (RankedPairs, PositiveL2)

    def init(self, problem: Ranking, start: Point | State | None) -> State:
        if start is not None:
            w = np.asarray((start.point if isinstance(start, State) else start)[0])
            return self._renewed(problem, w, problem.best(w))
        w, width = problem.origin()[0], WIDEST
        n, d = problem.design.n_rows, problem.design.dimension
        rows = max(n // 8, 8 * (d + 1), 2048)
        small = problem.sampled(rows) if 3 * rows <= n else None
        if small is not None:
            found = self._solve_small(small)
            w, width = found.point[0], self._begin(problem, found.seen)
        z = problem.scores(w)
        seen = problem.seen(w, z, problem.sums(z, width), width)
        return self._renewed(problem, w, seen)

    def _begin(self, problem: Ranking, small: Any) -> float:
        """The width to begin with: the last one, where a sample shows that the pairs inside it are
        many enough for the envelope's cost to fall with its square."""
        width, short = small.width, small.sums.short
        if not self._wide(problem, small):
            return float(width)
        factor = math.sqrt(0.3 * self.goal * abs(small.value) / short)
        # Spread evenly, pairs inside the width lack a sixth of it on average.
        inside = 6.0 * short / width * factor * problem.pairs.mass
        return float(width * factor) if inside > 100.0 * problem.design.dimension else float(width)

    def _solve_small(self, small: Ranking) -> State:
        # Beyond d/n the sample's optimum says nothing about that of all rows.
        tol = 0.02 * min(1.0, (small.design.dimension + 1) / small.design.n_rows)
        rough = replace(self, goal=tol)
        state = rough.init(small, None)
        for _ in range(50):
            seen: Any = state.seen
            done = state.decrement + seen.sums.short <= tol * abs(seen.value)
            if state.stalled or done:
                break
            state = rough.step(small, state)
        return state

    def step(self, problem: Ranking, state: State) -> State:
        top: State = state.memory.top or replace(state, memory=None)
        new = self._step(problem, state)
        seen: Any = new.seen
        best: Any = top.seen
        if problem.gap_estimate(new.point, seen) <= problem.gap_estimate(top.point, best):
            top = replace(new, memory=None)
        if not new.stalled:
            return replace(new, memory=replace(new.memory, top=top))
        # Rounding may have made the last steps worse, or only their plain certificate.
        if self._gap(problem, top) < self._gap(problem, new):
            return replace(top, stalled=True, memory=new.memory)
        return new

    def _gap(self, problem: Ranking, state: State) -> float:
        seen: Any = state.seen
        own = self.prove(problem, state)
        plain = problem.certify(state.point, seen).relative_gap
        return plain if own is None else min(plain, own.relative_gap)

    def _step(self, problem: Ranking, state: State) -> State:
        state = self._narrowed(problem, state)
        if state.stalled:
            return state
        if state.memory.idle > 5:
            return self._narrower(problem, state) or replace(state, stalled=True)
        seen: Any = state.seen
        memory: RankingMemory = state.memory
        w, p = state.point[0], memory.direction
        moved = _search(problem, w, seen, p)
        if moved is None:
            if memory.fresh:
                return self._narrower(problem, state) or replace(state, stalled=True)
            return self._renewed(problem, w, seen, memory)
        there, found = moved
        s = there - w
        y = problem.gradient(there, found) - problem.gradient(w, seen)
        pairs = memory.pairs
        if float(s @ y) > 1e-12 * float(np.linalg.norm(s) * np.linalg.norm(y)):
            pairs = (*pairs, (s, y))[-self.kept :]
        new = self._at(problem, there, found, replace(memory, pairs=pairs, fresh=False))
        # A Hessian costs about what a step does.
        if new.decrement > 0.1 * state.decrement:
            return self._renewed(problem, there, found, new.memory)
        return new

    def prove(self, problem: Ranking, state: State) -> Certificate | None:
        """The certificate of the pairs at a kink, where rounding spoils (1 - t)/width."""
        seen: Any = state.seen
        return problem.polished(state.point[0], seen.width) if problem.kinked else None

    def _narrowed(self, problem: Ranking, state: State) -> State:
        """The state at a smaller width, where the width and not the step limits the gap."""
        seen: Any = state.seen
        if state.decrement > 0.2 * seen.sums.short or not self._wide(problem, seen):
            return state
        return self._narrower(problem, state) or replace(state, stalled=True)

    def _narrower(self, problem: Ranking, state: State) -> State | None:
        """The state at a smaller width; None where there is no need, or rounding allows none."""
        seen: Any = state.seen
        if not self._wide(problem, seen):
            return None
        aim = 0.3 * self.goal * abs(seen.value) / seen.sums.short
        width = seen.width * min(max(math.sqrt(aim), 0.2), 0.5)
        w, new = _predictor(problem, state.point[0], seen, width)
        if width < 1e-6 and new.sums.short > 0.9 * seen.sums.short:
            return None  # all of it is rounding
        return self._renewed(problem, w, new)

    def _wide(self, problem: Ranking, seen: RankingEvaluation) -> bool:
        if not problem.kinked or seen.width < NARROWEST:
            return False
        return seen.sums.short > 0.3 * self.goal * abs(seen.value)

    def _renewed(
        self,
        problem: Ranking,
        w: Floats,
        seen: RankingEvaluation,
        memory: RankingMemory | None = None,
    ) -> State:
        """The state with a new Hessian at this point."""
        hessian = hessian_of(problem, active_pairs(problem, seen))
        new = RankingMemory(hessian, True, (), np.zeros_like(w))
        if memory is not None:
            new = replace(new, best=memory.best, least=memory.least, idle=memory.idle)
        return self._at(problem, w, seen, new)

    def _at(
        self, problem: Ranking, w: Floats, seen: RankingEvaluation, memory: RankingMemory
    ) -> State:
        g = problem.gradient(w, seen)
        p = _apply(memory, g)
        slope = float(g @ p)
        if not slope > 0.0 and memory.pairs:  # rounding has spoiled the pairs
            memory = replace(memory, pairs=())
            p = _apply(memory, g)
            slope = float(g @ p)
        gap = problem.gap_estimate((w, 0.0), seen)
        better = gap < 0.5 * memory.best or seen.smooth < memory.least * (1.0 - 1e-12)
        memory = replace(
            memory,
            direction=p,
            best=min(gap, memory.best),
            least=min(seen.smooth, memory.least),
            idle=0 if better else memory.idle + 1,
        )
        still = not slope > 1e-29 * abs(seen.value) and not self._wide(problem, seen)
        return State((w, 0.0), seen, 0.5 * max(slope, 0.0), still, memory)


def _predictor(
    problem: Ranking, w: Floats, seen: RankingEvaluation, width: float
) -> tuple[Floats, RankingEvaluation]:
    """The point from which to go on at a smaller width, and what is seen there.

    Where few pairs are curved they sit at a kink, and e/width is their multiplier, which the width
    hardly changes: Newton's step of the smaller width for these very pairs keeps them inside it,
    where otherwise all would fall out.
    """
    stay = problem.sums(seen.z, width)
    edges = active_pairs(problem, seen)
    if edges.whole and len(edges.h):
        i, j, grow = edges.i, edges.j, seen.width / width
        e = 1.0 - (seen.z[i] - seen.z[j])
        more = edges.h * e * (grow - 1.0)
        force = np.zeros(len(seen.z))
        np.add.at(force, i, more)
        np.subtract.at(force, j, more)
        g = problem.gradient(w, seen) - problem.adjoint(force)
        p = hessian_of(problem, replace(edges, h=grow * edges.h)).solve(g)
        z, there = seen.z - problem.scores(p), w - p
        sums = problem.sums(z, width)
        if sums.smooth + problem.ridge(there) < stay.smooth + problem.ridge(w):
            drift = seen.drift + float(np.linalg.norm(p))
            return there, problem.seen(there, z, sums, width, drift)
    return w, problem.seen(w, seen.z, stay, width, seen.drift)


def _search(
    problem: Ranking, w: Floats, seen: RankingEvaluation, p: Floats
) -> tuple[Floats, RankingEvaluation] | None:
    """A step t along -p that lowers the envelope's objective enough, 1 at first; None if none.

    Along the line scores are z - tΦp: trials cost no pass over the rows.
    """
    q = problem.scores(p)
    lam = problem.penalty.lam

    def look(t: float) -> tuple[PairMeans, float, float]:
        sums = problem.sums(seen.z - t * q, seen.width)
        there = w - t * p
        slope = -float(sums.force @ q) - lam * float(there @ p)
        return sums, sums.smooth + problem.ridge(there), slope

    def reached(t: float, sums: PairMeans) -> tuple[Floats, RankingEvaluation]:
        there = w - t * p
        drift = seen.drift + t * float(np.linalg.norm(p))
        return there, problem.seen(there, seen.z - t * q, sums, seen.width, drift)

    slope = -float(problem.gradient(w, seen) @ p)
    noise = 1e-14 * abs(seen.smooth)
    low, high, t = 0.0, math.inf, 1.0
    low_slope, high_slope = slope, math.inf
    for trial in range(100):
        sums, value, here = look(t)
        enough = value <= seen.smooth + 1e-4 * t * slope + noise
        # The slope of a convex function rises along the line and crosses zero at the best step.
        if enough and (abs(here) <= 0.5 * abs(slope) or t >= 8.0):
            return reached(t, sums)
        before = high - low
        if here < 0.0:
            low, low_slope = t, here
        else:
            high, high_slope = t, here
        if math.isinf(high):
            t *= 2.0
            continue
        if high - low <= 1e-13 * high:
            return None
        t = low + (high - low) * low_slope / (low_slope - high_slope)
        if not low < t < high or (trial % 2 and high - low > 0.5 * before):
            far = high > 4.0 * low  # the ends differ in size: halve the number of digits
            t = math.sqrt(max(low, 1e-4 * high) * high) if far else 0.5 * (low + high)
    return None


def _apply(memory: RankingMemory, g: Floats) -> Floats:
    """The inverse Hessian's best guess times g: the factor, corrected by the recent pairs.

    Reference: Nocedal, 1980.
    """
    r, kept = g.copy(), []
    for s, y in reversed(memory.pairs):
        rho = 1.0 / float(s @ y)
        alpha = rho * float(s @ r)
        r -= alpha * y
        kept.append((s, y, rho, alpha))
    r = memory.hessian.solve(r)
    for s, y, rho, alpha in reversed(kept):
        r = r + s * (alpha - rho * float(y @ r))
    return r
