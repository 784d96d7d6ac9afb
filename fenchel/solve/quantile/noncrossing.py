"""Several quantiles at once that do not cross: a linear program, and a proof of its optimum.

Q(w, b) = Σₖ [Σᵢ sᵢ ρₖ(yᵢ - xᵢ·wₖ - bₖ) + α|wₖ|₁],  ρₖ(r) = max(qₖr, (qₖ - 1)r),  Σ s = 1
subject to x·(wₖ₊₁ - wₖ) + bₖ₊₁ - bₖ ≥ 0 for every x of the box [l, h] of the rows

The least of that over the box is bₖ₊₁ - bₖ + Σⱼ min(lⱼDⱼ, hⱼDⱼ), D = wₖ₊₁ - wₖ: one constraint for
each neighbouring pair. A multiplier λₖ ≥ 0 of it comes with the corner where it binds: νₖⱼ in
[0, λₖ], μₖⱼ = λₖlⱼ + νₖⱼ(hⱼ - lⱼ). With θₖ in [qₖ - 1, qₖ] and |η| ≤ α, every feasible (w, b) has

Q(w, b) ≥ Σₖ Σᵢ sᵢθₖᵢyᵢ - Σₖ [⟨pₖ, wₖ⟩ + eₖbₖ]
pₖ = Σᵢ sᵢθₖᵢxᵢ - ηₖ - μₖ + μₖ₋₁,  eₖ = Σᵢ sᵢθₖᵢ - λₖ + λₖ₋₁,  λ₀ = λ_K = μ₀ = μ_K = 0

since ρₖ(r) ≥ θr, α|w|₁ ≥ ηw, and λₖ times the constraint's left side at a point of the box is not
negative. The program seeks p = e = 0; what rounding leaves is charged (`solve.crossing_proof`).

Reference: Bondell, Reich, Wang, Noncrossing quantile regression curve estimation, Biometrika 97
(2010).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from fenchel.convex.certificate import Certificate, warn_outside
from fenchel.convex.certification.float_sums import certified
from fenchel.convex.hessian.dense import PSDFactor
from fenchel.data.arrays import is_sparse
from fenchel.data.blocks import Blocks, one_blas_thread
from fenchel.solve.least_squares.solve import check_representable
from fenchel.solve.quantile.crossing_proof import LARGEST, CrossingProof, Dual, Found
from fenchel.solve.quantile.interior_point import BlockLP
from fenchel.solve.quantile.quantile_rows import QuantileTable, apart_at_the_rows

Floats = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True, eq=False)
class NonCrossingFit:
    """w (d, K), b (K,) and what proves them: bound, of Q in the units of the proof."""

    w: Floats
    b: Floats
    proof: CrossingProof
    bound: Found
    floor: float

    @property
    def certificate(self) -> Certificate:
        return self.certified_at(self.w, self.b)

    def certified_at(self, w: Floats, b: Floats) -> Certificate:
        """The certificate of a point, its constraints left aside."""
        value, unit = self.proof.value(*self.proof.inward(w, b)), self.proof.unit
        found = certified(value, self.bound.bound, self.floor / unit).scaled(unit)
        return found if self.bound.whole else replace(found, kind="estimate")


# Worker threads of BLAS go on spinning after a product, in the way of the small ones between.
@one_blas_thread()
def noncrossing(
    blocks: Blocks,
    quantiles: Floats,
    alpha: float,
    intercept: bool,
    tol: float,
    *,
    simplex_entries: int = 20_000,
) -> NonCrossingFit:
    """The quantiles q₁ < … < q_K fitted together so that none crosses another inside the box of the
    rows. All rows are gathered in memory.

    Without an intercept all lines meet at x = 0: where the box holds it, the quantiles can differ
    in no column whose values lie on both sides of zero.

    simplex_entries: n K (d + 1) up to which the simplex method is as fast as the interior point.
    """
    q = np.asarray(quantiles, np.float64)
    if q.ndim != 1 or len(q) == 0 or not ((q > 0.0) & (q < 1.0)).all():
        raise ValueError(f"quantiles must lie strictly between 0 and 1, got {q.tolist()}")
    if not (np.diff(q) > 0.0).all():
        raise ValueError(f"quantiles must increase strictly, got {q.tolist()}")
    table = QuantileTable.of(blocks, intercept)
    program, exact = Program(table, q, float(alpha)), CrossingProof.of(blocks, q, alpha, intercept)
    size = len(table.y) * len(q) * (blocks.n_cols + 1)
    methods = ["simplex"] if size <= simplex_entries else ["barrier", "simplex"]
    best: NonCrossingFit | None = None
    for method in methods:
        # A vertex meets rows exactly, where a barrier stays a little off an exact fit.
        if best is not None and (best.certificate.closed(tol) or size > 100 * simplex_entries):
            break
        w, b, dual = program.solve(method, tol)
        w, b = table.units(*table.parted(w, b))
        check_representable(blocks, w)
        w, b = apart_at_the_rows(blocks, w, b, intercept)
        w, b = exact.lifted(w, b, blocks.dtype)
        found = NonCrossingFit(w, b, exact, program.prove(exact, w, b, dual), program.floor)
        if best is None or _rank(found.certificate) < _rank(best.certificate):
            best = found
    assert best is not None
    certificate = best.certificate
    if not certificate.closed(tol):
        warn_outside(
            f"relative duality gap {certificate.relative_gap:.2g}, asked tol={tol:.2g}: loosen "
            "tol, or scale the columns",
        )
    return best


def _rank(certificate: Certificate) -> tuple[bool, float]:
    """Proved before estimated, then by the gap."""
    return certificate.kind == "estimate", certificate.relative_gap


@dataclass(frozen=True, eq=False)
class Program:
    """Q in the units of a table."""

    table: QuantileTable
    q: Floats
    alpha: float

    @property
    def price(self) -> Floats:
        """α|w|₁ in the table's columns: aⱼ|wⱼ|, over the unit of y."""
        with np.errstate(over="ignore"):
            return np.minimum(self.alpha / self.table.scale, LARGEST)

    def solve(self, method: str, tol: float) -> tuple[Floats, Floats, Dual]:
        """w, b and their multipliers.

        The dual is the program solved: it has K(d + 1) + (K - 1)d equations, whatever n. Its
        unknowns are θ and beside it nη, nλ, nν and n(λ - ν).
        """
        t, q = self.table, self.q
        (n, d), K = t.X.shape, len(q)
        m, pairs = n * t.s, K - 1  # entries near one, whatever n
        side, low, high = self._side(n)
        start = np.where(np.isinf(high), 0.1 * n, 0.0)
        start[low >= 0.0] = 0.05 * n
        start[len(low) - pairs * (1 + 2 * d) : len(low) - pairs * 2 * d] = 0.1 * n
        cost, ends = -np.outer(m * t.y, np.ones(K)), (q - 1.0, q)
        program = BlockLP(t, m, cost, ends, side.toarray(), low, high)
        if method == "barrier":
            theta, u, pi = program.solve(start, min(max(1e-3 * tol, 1e-11), 1e-8))
        else:
            theta, u, pi = self._simplex(m, side, low, high)
        beta = -pi[: K * (d + t.intercept)].reshape(K, -1).T
        b = beta[d] if t.intercept else np.zeros(K)
        lam, nu = np.zeros(pairs), np.zeros((d, pairs))
        if pairs:
            lam = u[-pairs * (1 + 2 * d) : -pairs * 2 * d] / n
            nu = u[-pairs * 2 * d : -pairs * d].reshape(pairs, d).T / n
        return beta[:d], b, Dual(theta, lam, nu)

    def _side(self, n: int) -> tuple[sparse.csr_array, Floats, Floats]:
        """The columns of η, λ, ν and λ - ν, and their bounds; the last (K - 1)d rows say that ν and
        λ - ν add up to λ."""
        t, K = self.table, len(self.q)
        d = len(t.low)
        extra, pairs = int(t.intercept), K - 1
        # λ and ν enter the equations of the k-th quantile with -1 and those of the next with +1.
        step = sparse.diags_array(
            [-np.ones(pairs), np.ones(pairs)], offsets=[0, -1], shape=(K, pairs)
        )
        corner = np.append(t.low, np.ones(extra))[:, None]
        turn = np.append(np.diag(t.high - t.low), np.zeros((extra, d)), axis=0)
        slope = -np.append(np.eye(d), np.zeros((extra, d)), axis=0)
        each = sparse.eye_array(pairs * d)
        shared = -sparse.kron(sparse.eye_array(pairs), np.ones((d, 1)))
        columns = [[sparse.kron(step, corner), shared], [sparse.kron(step, turn), each]]
        columns.append([sparse.csr_array((K * (d + extra), pairs * d)), each])
        count = pairs * (1 + 2 * d)
        low, high = np.zeros(count), np.full(count, np.inf)
        if self.alpha > 0.0:
            none = sparse.csr_array((pairs * d, K * d))
            columns.insert(0, [sparse.kron(sparse.eye_array(K), slope), none])
            price = n * np.tile(self.price, K)
            low, high = np.append(-price, low), np.append(price, high)
        stacked = [sparse.vstack(column, format="csr") for column in columns]
        return sparse.csr_array(sparse.hstack(stacked)), low, high

    def _simplex(
        self, m: Floats, side: sparse.csr_array, low: Floats, high: Floats
    ) -> tuple[Floats, Floats, Floats]:
        t, q, K = self.table, self.q, len(self.q)
        n = len(m)
        fit = sparse.csr_array(t.X.multiply(m[:, None]) if is_sparse(t.X) else t.X * m[:, None]).T
        if t.intercept:
            fit = sparse.vstack([fit, m[None, :]])
        copies = sparse.kron(sparse.eye_array(K), fit)
        below = sparse.csr_array((side.shape[0] - copies.shape[0], n * K))
        found = linprog(
            np.append(-np.tile(m * t.y, K), np.zeros(side.shape[1])),
            A_eq=sparse.hstack([sparse.vstack([copies, below]), side], format="csc"),
            b_eq=np.zeros(side.shape[0]),
            bounds=np.stack(
                [np.append(np.repeat(q - 1.0, n), low), np.append(np.repeat(q, n), high)], axis=1
            ),
            method="highs-ds",
            options={"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9},
        )
        if found.x is None:
            raise RuntimeError(f"the program of the quantiles was not solved: {found.message}")
        x = found.x
        return x[: n * K].reshape(K, n).T, x[n * K :], np.asarray(found.eqlin.marginals)

    def prove(self, proof: CrossingProof, w: Floats, b: Floats, dual: Dual) -> Found:
        """The bound by multipliers made feasible, then corrected towards p = 0, from a point in the
        units of the rows as they came."""
        inside, dual = proof.inward(w, b), proof.feasible(dual)
        value = proof.value(*inside)
        best = proof.found(*inside, dual)
        for _ in range(5):
            if value.top - best.bound <= 1e-12 * value.value:
                break
            better = replace(dual, theta=self._corrected(dual.theta, self._left(dual)))
            dual = proof.feasible(better)
            found = proof.found(*inside, dual)
            if not (found.whole, found.bound) > (best.whole, best.bound):
                break
            best = found
        return best

    @property
    def floor(self) -> float:
        """The smallest Q that tells a fit from an exact one."""
        t = self.table
        size = EPS**0.5 * len(self.q) * float(t.s @ np.abs(t.y))
        return size * t.unit + EPS * abs(t.middle)

    def _mu(self, dual: Dual) -> Floats:
        t = self.table
        return np.asarray(dual.lam * t.low[:, None] + dual.nu * (t.high - t.low)[:, None])

    def _pull(self, dual: Dual) -> tuple[Floats, Floats]:
        """Σ sθx - μₖ + μₖ₋₁ and e."""
        t, K = self.table, len(self.q)
        st, mu = dual.theta * t.s[:, None], self._mu(dual)
        pull, e = np.asarray(t.X.T @ st), st.sum(axis=0)
        pull[:, : K - 1] -= mu
        pull[:, 1:] += mu
        e[: K - 1] -= dual.lam
        e[1:] += dual.lam
        return pull, e

    def _left(self, dual: Dual) -> Floats:
        """(p, e), one column a quantile; p alone without an intercept. η takes what it can."""
        pull, e = self._pull(dual)
        price = self.price[:, None]
        p = pull - np.clip(pull, -price, price)
        return np.concatenate([p, e[None, :]]) if self.table.intercept else p

    def _corrected(self, theta: Floats, left: Floats) -> Floats:
        """θ - m x̃·v with Σ s m x̃x̃' v = (p, e), m large for a θ far from the ends of its range."""
        t, out = self.table, theta.copy()
        for k, q in enumerate(self.q):
            m = np.maximum((theta[:, k] - (q - 1.0)) * (q - theta[:, k]), 0.0)
            v = PSDFactor.of(t.matrix(t.s * m)).solve(left[:, k])
            out[:, k] = np.clip(theta[:, k] - m * t.scores(v[:, None])[:, 0], q - 1.0, q)
        return out
