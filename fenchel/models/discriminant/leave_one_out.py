"""Exact leave-one-out errors of Friedman's discriminants over a grid, by rank-one updates.

Leaving weight a of row x of class k out, with u = x - mₖ and c = a Wₖ / (Wₖ - a), gives
Sₖ - c uu' and mₖ - a u / (Wₖ - a). With A = (1 - λ) Sⱼ + λ Σ S = VΛV', b = c for j = k and λc
otherwise, t = (tr A - b|u|²) / d and w the weight that is left,

    w Σⱼ(λ, γ) = V (E - (1 - γ) b ũũ') V',    E = (1 - γ) Λ + γ t I,    ũ = V'u,

whose inverse and determinant are those of a diagonal less a rank-one matrix (Sherman-Morrison).

Reference: Friedman, 1989, section 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import is_sparse, logsumexp, to_float64, to_numpy
from fenchel.data.blocks import Block, Blocks, Totals
from fenchel.models.discriminant.estimates.class_sums import ClassSums, scaled
from fenchel.models.discriminant.estimates.shared_covariance import unit_of_identity

Floats = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)
CHUNK = 2**18  # numbers of each temporary array
# Deviations of columns this far apart: their variances, 1e6, cost an eigenvalue six digits of 16.
UNEVEN = 1e3
# 1 - (1 - γ) b ũ'E⁻¹ũ below it: the row carried a direction of the covariance alone.
ALONE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class DiscriminantsLeftOut:
    """Share of rows misclassified and mean of -log P(y | x), each (λ, γ), by the other rows."""

    errors: Floats
    losses: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _Basis:
    """For one λ the classes' A = VΛV', in columns divided by the units of the identity."""

    lam: float
    values: Floats  # (K, d)
    vectors: Floats  # (K, d, d)
    trace: Floats  # (K,)


def left_out(
    blocks: Blocks, sums: ClassSums, lams: Floats, gammas: Floats, priors: Floats | None
) -> DiscriminantsLeftOut:
    """Errors and losses of the grid; infinite where a left-out covariance is singular.

    Without an identity (γ = 0) no answer depends on the units of the columns, which then are their
    deviations within classes where those are far apart.
    """
    unit = unit_of_identity(sums)
    spread = np.sqrt(np.diagonal(sums.within) / sums.weight.sum())
    own = np.where(spread > 0.0, spread, unit)
    parts = [_Part.of(sums, unit, lams, np.arange(len(gammas)))]
    with np.errstate(over="ignore"):
        apart = own / unit
    if (gammas == 0.0).any() and apart.max() > UNEVEN * apart.min():
        parts = [
            _Part.of(sums, own, lams, np.flatnonzero(gammas == 0.0)),
            _Part.of(sums, unit, lams, np.flatnonzero(gammas > 0.0)),
        ]

    def stat(block: Block) -> Totals:
        X = to_float64(block.X.toarray() if is_sparse(block.X) else block.X)
        X, codes = to_numpy(X), to_numpy(block.y).astype(np.int64)
        s = np.ones(len(codes)) if block.weight is None else to_numpy(block.weight)
        keep = s > 0.0
        X, codes, s = X[keep], codes[keep], s[keep]
        wrong, loss = np.zeros((2, len(lams), len(gammas)))
        step = max(CHUNK // max(X.shape[1], 1), 1)
        for first, part in product(range(0, len(X), step), parts):
            some = slice(first, first + step)
            rows = _Rows.of(
                X[some] / part.unit, codes[some], s[some], sums.weight, part.mean, priors
            )
            for i, basis in enumerate(part.bases):
                found = zip(
                    part.places.tolist(), rows.scores(basis, gammas[part.places]), strict=True
                )
                for j, scores in found:
                    own = scores[np.arange(len(rows.codes)), rows.codes]
                    missed = np.where(np.isnan(own), np.inf, scores.argmax(axis=1) != rows.codes)
                    wrong[i, j] += float((rows.s * missed).sum())
                    with np.errstate(invalid="ignore"):
                        each = np.where(own == -np.inf, np.inf, logsumexp(scores) - own)
                    loss[i, j] += float((rows.s * np.where(np.isnan(own), np.inf, each)).sum())
        return Totals(wrong, loss)

    wrong, loss = scaled(blocks, sums.exponent).reduce(stat)
    return DiscriminantsLeftOut(wrong / sums.weight.sum(), loss / sums.weight.sum())


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Some places of the grid of γ, and the classes in columns divided by units."""

    unit: Floats
    mean: Floats
    bases: list[_Basis]
    places: NDArray[np.int64]

    @classmethod
    def of(cls, sums: ClassSums, unit: Floats, lams: Floats, places: NDArray[np.int64]) -> _Part:
        mean, scatter = sums.mean / unit, sums.scatter / unit / unit[:, None]
        return cls(unit, mean, [_basis(scatter, float(lam)) for lam in lams], places)


def _basis(scatter: Floats, lam: float) -> _Basis:
    A = (1.0 - lam) * scatter + lam * scatter.sum(axis=0)
    values, vectors = np.linalg.eigh(A)
    return _Basis(lam, np.maximum(values, 0.0), vectors, values.sum(axis=1))


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Some rows, and what leaving each of them out does to weights and priors."""

    X: Floats
    codes: NDArray[np.int64]
    s: Floats
    gone: Floats  # a
    weight: Floats  # (K,) of the classes, with the row
    mean: Floats
    log_priors: Floats  # (m, K), without the row

    @classmethod
    def of(
        cls,
        X: Floats,
        codes: NDArray[np.int64],
        s: Floats,
        weight: Floats,
        mean: Floats,
        priors: Floats | None,
    ) -> _Rows:
        gone = np.minimum(s, 1.0)
        left = np.repeat(weight[None], len(X), axis=0)
        here = np.arange(len(X)), codes
        left[here] = np.maximum(left[here] - gone, 0.0)
        shares = left / left.sum(axis=1, keepdims=True) if priors is None else priors * (left > 0)
        with np.errstate(divide="ignore"):
            return cls(X, codes, s, gone, weight, mean, np.log(shares))

    def scores(self, basis: _Basis, gammas: Floats) -> list[Floats]:
        """log πⱼ + log N(x; mⱼ, Σⱼ) without the row, up to a constant: (m, K) for each γ; NaN
        where a covariance is singular."""
        K, total = len(self.weight), float(self.weight.sum())
        out = [self.log_priors.copy() for _ in gammas]
        W, a = self.weight[self.codes], self.gone
        rest = W - a
        # A class of one row: its scatter is zero, and stays so without the row.
        alone = rest <= 1e-12 * W
        c = np.where(alone, 0.0, a * W / np.where(alone, 1.0, rest))
        grown = np.where(alone, 0.0, W / np.where(alone, 1.0, rest))
        lam = basis.lam
        for j in range(K):
            if self.weight[j] == 0.0:
                continue
            V, own = basis.vectors[j], self.codes == j
            P = (self.X - self.mean[j]) @ V
            U = P + ((self.mean[j] - self.mean) @ V)[self.codes]
            b = np.where(own, c, lam * c)
            Z = np.where(own[:, None], grown[:, None] * U, P)
            left = self.weight[j] - np.where(own, a, 0.0)
            w = (1.0 - lam) * left + lam * (total - a)
            t = (basis.trace[j] - b * (U * U).sum(axis=1)) / V.shape[0]
            for g, gamma in enumerate(gammas.tolist()):
                out[g][:, j] += _log_density(Z, U, b * (1.0 - gamma), w, t, basis.values[j], gamma)
        for scores in out:
            lost = np.isnan(scores).any(axis=1)
            scores[lost] = np.nan
        return out


def _log_density(
    Z: Floats, U: Floats, b: Floats, w: Floats, t: Floats, values: Floats, gamma: float
) -> Floats:
    """-(z'Σ⁻¹z + log |Σ|) / 2 for wΣ = E - b uu', E = (1 - γ) Λ + γ t; NaN where it is singular."""
    d = len(values)
    E = (1.0 - gamma) * values + gamma * np.maximum(t, 0.0)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        low = E.min(axis=1) <= d * EPS * E.max(axis=1)
        inverse = 1.0 / E
        within = 1.0 - b * (U * U * inverse).sum(axis=1)
        cross = (Z * U * inverse).sum(axis=1)
        square = w * ((Z * Z * inverse).sum(axis=1) + b * cross**2 / within)
        log_det = np.log(E).sum(axis=1) + np.log(np.maximum(within, 0.0)) - d * np.log(w)
        return np.where(low | (within <= ALONE) | (w <= 0.0), np.nan, -0.5 * (square + log_det))
