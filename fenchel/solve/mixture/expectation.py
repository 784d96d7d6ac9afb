"""The E-step and the sums of the M-step, as one statistic of the rows.

The definition takes every difference x - μₖ before it is multiplied. The compiled loop makes both
steps by products on quadratic features (`compiled`), which is several times as fast and loses the
digits of ‖Σₖ⁻¹‖ (|z| + |μₖ|)² against 1: it is used while that is small enough.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import to_numpy
from fenchel.data.blocks import Block
from fenchel.data.passes.loops import address
from fenchel.data.reduction import Totals
from fenchel.data.statistic import CompiledLoop, RowLayout, Slots, Statistic
from fenchel.solve.mixture.components import ComponentSums, MixtureComponents, assigned, sums_about
from fenchel.solve.mixture.whitening import Whitening

Floats = NDArray[np.float64]
# A product of D features rounds by less than about 4 U κ, κ = max ‖Σₖ⁻¹‖ (|z| + |μₖ|)²: 1e-9 nats
# of a row's log-density, and as much of a variance relative to itself.
LARGEST_LOSS = 1e-9 / (4.0 * 2.0**-53)
# Features up to which a tile of them and of the sums stay in the second cache (d = 62 for full).
MOST_FEATURES = 2048
SLOT_BYTES = 2**26  # of all partial sums together


def quadratic_loss(components: MixtureComponents, radius: float) -> float:
    """κ: what the quadratic features are larger than what they make."""
    sizes = radius + np.sqrt((components.means**2).sum(axis=1))
    return float((components.largest_precisions * sizes**2).max())


def n_features(components: MixtureComponents) -> int:
    d = components.means.shape[1]
    return {"full": d * (d + 1) // 2 + d + 1, "diag": 2 * d + 1}.get(components.kind, d + 2)


@dataclass(frozen=True, slots=True, eq=False)
class EMSums(Statistic[Totals]):
    """(Σ s log p(z), n, Σ r(z - μ), second sums) at some components; r is weighted by s.

    quadratic: whether the compiled loop on quadratic features keeps enough digits. Tied components
    then leave Σ s zz' of the second sum out: it is the same at every step.
    """

    components: MixtureComponents
    whitening: Whitening
    quadratic: bool

    def __call__(self, block: Block) -> Totals:
        Z = self.whitening.rows(block.X)
        logs, R = assigned(self.components.joint_logs(Z))
        if block.weight is None:
            value = float(logs.sum())
        else:
            s = np.asarray(to_numpy(block.weight), np.float64)
            value = float(s @ logs)
            R *= s[:, None]
        kind, means = self.components.kind, self.components.means
        if kind == "tied" and self.quadratic:
            counts = R.sum(axis=0)
            first = R.T @ Z - counts[:, None] * means
            return Totals(value, counts, first, _between(means, counts, first))
        sums = sums_about(kind, means, Z, R)
        return Totals(value, sums.counts, sums.first, sums.second)

    def compiled(self, block: Block, layout: RowLayout) -> CompiledLoop[Totals] | None:
        if not self.quadratic or layout.order == "csr":
            return None
        if n_features(self.components) > MOST_FEATURES:
            return None
        return QuadraticKernel(self, block, layout)


class QuadraticKernel(CompiledLoop[Totals]):
    """`compiled.expectation` for one block."""

    least_parts = 1  # a row costs thousands of operations

    def __init__(self, stat: EMSums, block: Block, layout: RowLayout) -> None:
        from fenchel.solve.mixture.compiled import DIAGONAL, FULL, SPHERICAL

        self.held = block.X
        n = block.n_rows
        item = block.X.itemsize
        steps = [step // item for step in block.X.strides]
        self.components, whitening = stat.components, stat.whitening
        kind = self.components.kind
        self.mode = {"full": FULL, "diag": DIAGONAL}.get(kind, SPHERICAL)
        # Tied components are spherical ones after their common factor.
        W = whitening.W @ self.components.factors if kind == "tied" else whitening.W
        self.Q = _coefficients(self.components)
        k, D = self.Q.shape
        s = np.zeros(0) if block.weight is None else np.asarray(block.weight, np.float64)
        # Exponents up to 1023 alone are numbers: the rest goes into W.
        near = np.clip(whitening.exponents, -1000, 1000)
        W = np.ldexp(W, (near - whitening.exponents)[:, None])
        self.given = (
            address(block.X),
            np.zeros(1, layout.dtype),
            *steps,
            n,
            np.ascontiguousarray(s),
            whitening.centre,
            np.ldexp(1.0, -near),
            np.ascontiguousarray(W.T),
            self.Q,
            self.mode,
        )
        # Features of a tile fill a quarter of a megabyte (d = 16, k = 20: 0.26 MB of them).
        self.tile = int(np.clip(2 ** round(np.log2(2**15 / D)), 64, 512))
        # 256 parts keep 16 threads busy to the end; each has its own sums.
        most = max(16, min(256, SLOT_BYTES // (8 * k * D)))
        self.part = self.tile * max(1, 1 << max(0, int(np.ceil(np.log2(n / most / self.tile)))))

    def slots(self, parts: int) -> Slots:
        return np.zeros((parts, *self.Q.shape)), np.zeros(parts)

    def run(self, first: int, last: int, slots: Slots) -> None:
        from fenchel.solve.mixture.compiled import expectation

        expectation(*self.given, self.part, self.tile, first, last, *slots)

    def result(self, sums: Slots) -> Totals:
        A, value = sums
        found = _about_means(self.components, A)
        return Totals(float(value), found.counts, found.first, found.second)


def _coefficients(components: MixtureComponents) -> Floats:
    """Q (k, D): the logarithm of component k is the inner product of its row and the features."""
    kind, means = components.kind, components.means
    k, d = means.shape
    if kind == "full":
        P = components.factors @ np.swapaxes(components.factors, 1, 2)
        a, b = np.triu_indices(d)
        squares = -0.5 * P[:, a, b] * np.where(a == b, 1.0, 2.0)
        linear = np.einsum("kij,kj->ki", P, means)
        own = np.einsum("kj,kjl->kl", means, components.factors)
    elif kind == "diag":
        squares = -0.5 * components.factors**2
        linear = components.factors**2 * means
        own = components.factors * means
    elif kind == "tied":
        linear = own = means @ components.factors
        squares = np.full((k, 1), -0.5)
    else:
        squares = -0.5 * components.factors[:, None] ** 2
        linear = components.factors[:, None] ** 2 * means
        own = components.factors[:, None] * means
    constant = components.log_constants - 0.5 * (own**2).sum(axis=1)
    # A weight of zero: exp of the least exponent is 0 as well, and 0 times -inf is NaN.
    constant = np.maximum(constant, -1e300)
    return np.ascontiguousarray(np.concatenate([squares, linear, constant[:, None]], axis=1))


def _about_means(components: MixtureComponents, A: Floats) -> ComponentSums:
    """The sums of features as sums about the means."""
    kind, means = components.kind, components.means
    d = means.shape[1]
    counts, S = A[:, -1].copy(), A[:, -1 - d : -1]
    if kind == "tied":  # the features are those of z U
        inner = means @ components.factors
        first = (S - counts[:, None] * inner) @ np.linalg.inv(components.factors)
        return ComponentSums(counts, first, _between(means, counts, first))
    first = S - counts[:, None] * means
    if kind == "full":
        a, b = np.triu_indices(d)
        second = np.empty((len(A), d, d))
        second[:, a, b] = A[:, : len(a)]
        second[:, b, a] = A[:, : len(a)]
        cross = means[:, :, None] * S[:, None, :]
        second -= cross + np.swapaxes(cross, 1, 2)
        second += counts[:, None, None] * means[:, :, None] * means[:, None, :]
    elif kind == "diag":
        second = A[:, :d] - 2.0 * means * S + counts[:, None] * means**2
    else:
        second = A[:, 0] - 2.0 * (means * S).sum(axis=1) + counts * (means**2).sum(axis=1)
    return ComponentSums(counts, first, second)


def _between(means: Floats, counts: Floats, first: Floats) -> Floats:
    """Σ r(z - μ)(z - μ)' less Σ s zz': -Σₖ (nₖ μₖμₖ' + fₖμₖ' + μₖfₖ'), f sums about the means."""
    cross = first.T @ means
    return -((means * counts[:, None]).T @ means + cross + cross.T)
