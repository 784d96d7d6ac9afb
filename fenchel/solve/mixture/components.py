"""A Gaussian mixture as a value: Σₖ πₖ N(x; μₖ, Σₖ), by the Cholesky factors of its precisions.

log πₖ N(x; μₖ, Σₖ) = log πₖ - d/2 log 2π + log|Uₖ| - ½|Uₖ'(x - μₖ)|²,   Σₖ⁻¹ = UₖUₖ'

Covariances are full, tied (one for all), diagonal, or spherical (a multiple of the identity), and
held in the shapes of scikit-learn: (k, d, d), (d, d), (k, d), (k,).

Reference: McLachlan and Peel, Finite Mixture Models (2000), chapters 2 and 3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Kind = Literal["full", "tied", "diag", "spherical"]
KINDS: tuple[Kind, ...] = get_args(Kind)
# A component of less weight than this share has no moments of its own: it stays where it is.
LEAST_SHARE = 1e-290


@dataclass(frozen=True, slots=True, eq=False)
class MixtureComponents:
    """Weights (k,), means (k, d), covariances and the Cholesky factors U of their inverses."""

    kind: Kind
    weights: Floats
    means: Floats
    covariances: Floats
    factors: Floats

    @property
    def log_constants(self) -> Floats:
        """log πₖ - d/2 log 2π + log|Uₖ|."""
        d = self.means.shape[1]
        with np.errstate(divide="ignore"):  # a weight of zero: no row belongs to it
            logs = np.log(self.weights)
        return np.asarray(logs - 0.5 * d * math.log(2.0 * math.pi) + self.log_determinants)

    @property
    def log_determinants(self) -> Floats:
        """log|Uₖ|, half the logarithm of the precision's determinant."""
        if self.kind in ("full", "tied"):
            logs = np.log(np.diagonal(self.factors, axis1=-2, axis2=-1)).sum(axis=-1)
        elif self.kind == "diag":
            logs = np.log(self.factors).sum(axis=1)
        else:
            logs = self.means.shape[1] * np.log(self.factors)
        return np.asarray(np.broadcast_to(logs, self.weights.shape))

    @property
    def largest_precisions(self) -> Floats:
        """The largest eigenvalue of each precision, or a little more."""
        if self.kind in ("full", "tied"):  # the Frobenius norm: at most √d more
            found = (self.factors**2).sum(axis=(-2, -1))
        elif self.kind == "diag":
            found = (self.factors**2).max(axis=1)
        else:
            found = self.factors**2
        return np.asarray(np.broadcast_to(found, self.weights.shape))

    def joint_logs(self, X: Floats) -> Floats:
        """log πₖ N(xᵢ; μₖ, Σₖ), (n, k): every difference is taken before it is multiplied."""
        out = np.empty((len(X), len(self.weights)))
        for k, mean in enumerate(self.means):
            Y = X - mean
            if self.kind == "full":
                Y = Y @ self.factors[k]
            elif self.kind == "tied":
                Y = Y @ self.factors
            else:
                Y *= self.factors[k]
            out[:, k] = np.einsum("ij,ij->i", Y, Y)
        out *= -0.5
        out += self.log_constants
        return out


def assigned(logs: Floats) -> tuple[Floats, Floats]:
    """log Σₖ e^{logsₖ} of each row, and the responsibilities e^{logsₖ} / Σⱼ e^{logsⱼ}."""
    top = logs.max(axis=1)
    R = np.exp(logs - top[:, None])
    total = R.sum(axis=1)
    R /= total[:, None]
    return np.asarray(top + np.log(total)), R


def parameters(kind: Kind, k: int, d: int) -> int:
    """Free parameters: k - 1 weights, k means, and the covariances."""
    each = {"full": k * d * (d + 1) // 2, "tied": d * (d + 1) // 2, "diag": k * d, "spherical": k}
    return k - 1 + k * d + each[kind]


@dataclass(frozen=True, slots=True, eq=False)
class ComponentSums:
    """Weighted sums about the means of the current components: n, Σ r(x - μ), and the squares.

    second: Σ r(x - μ)(x - μ)' for each component, or of all together for tied ones, their diagonals
    for diagonal ones, their traces for spherical ones.
    """

    counts: Floats
    first: Floats
    second: Floats


def sums_about(kind: Kind, means: Floats, X: Floats, R: Floats) -> ComponentSums:
    """The sums of rows X (n, d) of responsibilities R (n, k), by their definition."""
    k, d = means.shape
    shape = {"full": (k, d, d), "tied": (d, d), "diag": (k, d), "spherical": (k,)}[kind]
    first, second = np.empty((k, d)), np.zeros(shape)
    for c in range(k):
        Y, r = X - means[c], R[:, c]
        weighted = r[:, None] * Y
        first[c] = weighted.sum(axis=0)
        if kind == "full":
            second[c] = weighted.T @ Y
        elif kind == "tied":
            second += weighted.T @ Y
        elif kind == "diag":
            second[c] = np.einsum("ij,ij->j", weighted, Y)
        else:
            second[c] = np.einsum("ij,ij->", weighted, Y)
    return ComponentSums(R.sum(axis=0), first, second)


def maximised(
    sums: ComponentSums, old: MixtureComponents, floor: float
) -> tuple[MixtureComponents, NDArray[np.bool_]]:
    """The M-step under Σₖ ⪰ floor·I, and which components the floor holds.

    πₖ = nₖ/n, μₖ += δₖ = Σ r(x - μₖ)/nₖ, Σₖ = Σ r(x - μₖ)(x - μₖ)'/nₖ - δₖδₖ', its eigenvalues
    below the floor raised to it: the constrained maximiser, so that the likelihood never falls.
    """
    counts = sums.counts
    total = float(counts.sum())
    alive = counts > LEAST_SHARE * total
    n = np.where(alive, counts, 1.0)
    delta = np.where(alive[:, None], sums.first / n[:, None], 0.0)
    d = delta.shape[1]
    kind, second = old.kind, sums.second
    if kind == "full":
        found = second / n[:, None, None] - delta[:, :, None] * delta[:, None, :]
        found = np.where(alive[:, None, None], found, old.covariances)
    elif kind == "tied":
        found = (second - (delta * counts[:, None]).T @ delta) / total
    elif kind == "diag":
        found = np.where(alive[:, None], second / n[:, None] - delta**2, old.covariances)
    else:
        found = (second / n - (delta**2).sum(axis=1)) / d
        found = np.where(alive, found, old.covariances)
    return made(kind, counts / total, old.means + delta, found, floor)


def made(
    kind: Kind, weights: Floats, means: Floats, covariances: Floats, floor: float
) -> tuple[MixtureComponents, NDArray[np.bool_]]:
    """Components of these covariances, eigenvalues below the floor raised to it, and which were."""
    if kind in ("full", "tied"):
        each = covariances if kind == "full" else covariances[None]
        fixed, factors, held = _factored(0.5 * (each + np.swapaxes(each, 1, 2)), floor)
        if kind == "tied":
            return MixtureComponents(kind, weights, means, fixed[0], factors[0]), held
        return MixtureComponents(kind, weights, means, fixed, factors), held
    low = covariances < floor
    fixed = np.maximum(covariances, floor)
    if not (fixed > 0.0).all():
        raise ValueError(collapsed(int(np.argwhere(~(fixed > 0.0))[0][0])))
    held = np.asarray(low.any(axis=1) if kind == "diag" else low)
    return MixtureComponents(kind, weights, means, fixed, 1.0 / np.sqrt(fixed)), held


def _factored(S: Floats, floor: float) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Matrices S (k, d, d) with eigenvalues of at least the floor, U with UU' = S⁻¹, and which of
    them were changed."""
    eye = np.eye(S.shape[1])
    held = np.zeros(len(S), bool)
    try:
        L = np.linalg.cholesky(S - floor * eye if floor > 0.0 else S)
    except np.linalg.LinAlgError:
        held = np.array([not _is_definite(one - floor * eye) for one in S])
        if not floor > 0.0:
            raise ValueError(collapsed(None)) from None
        S = S.copy()
        for c in np.flatnonzero(held):
            values, vectors = np.linalg.eigh(S[c])
            raised = (vectors * np.maximum(values, floor)) @ vectors.T
            S[c] = 0.5 * (raised + raised.T)
    if floor > 0.0:
        L = np.linalg.cholesky(S)
    return S, np.ascontiguousarray(np.swapaxes(_inverses(L), 1, 2)), held


def _is_definite(S: Floats) -> bool:
    try:
        np.linalg.cholesky(S)
    except np.linalg.LinAlgError:
        return False
    return True


def _inverses(L: NDArray[Any]) -> Floats:
    """Inverses of lower triangular matrices (k, d, d), by forward substitution in all at once."""
    d = L.shape[1]
    found = np.zeros_like(L)
    for i in range(d):
        row = -np.matmul(L[:, i : i + 1, :i], found[:, :i])[:, 0]
        row[:, i] += 1.0
        found[:, i] = row / L[:, i, i, None]
    return found


def collapsed(component: int | None) -> str:
    """The sentence for a covariance without an inverse where no floor was allowed."""
    which = "a component" if component is None else f"component {component}"
    return (
        f"the covariance of {which} has collapsed onto fewer dimensions than there are columns: "
        "set reg_covar above 0, use fewer components, or covariance_type='diag'"
    )


def relative_entropy(new: MixtureComponents, old: MixtureComponents) -> float:
    """KL(new ‖ old) of the joint laws of component and row, in nats: Σ π̂ₖ(log(π̂ₖ/πₖ) + KLₖ).

    KL of two Gaussian laws is ½(Σ(λ - 1 - log λ) + |U'(μ̂ - μ)|²), λ the eigenvalues of U'Σ̂U;
    written in λ - 1 near one, so that a small step keeps its digits. No affine map of the rows
    changes it.
    """
    share = new.weights
    present = share > 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(present, share / old.weights, 1.0)
        # Σ π̂ log(π̂/π) = Σ π̂ (log r - 1 + 1/r), since both weights sum to one.
        between = np.where(present, share * (np.log(ratio) - 1.0 + 1.0 / ratio), 0.0).sum()
        between += old.weights[~present].sum()
    moved = new.means - old.means
    d = moved.shape[1]
    if new.kind in ("full", "tied"):
        U = old.factors
        t = np.linalg.eigvalsh(np.swapaxes(U, -1, -2) @ new.covariances @ U) - 1.0
        shift = np.einsum("kj,...jl->kl" if U.ndim == 2 else "kj,kjl->kl", moved, U)
        spread = _bregman(t).sum(axis=-1)
    elif new.kind == "diag":
        shift = moved * old.factors
        spread = _bregman(new.covariances * old.factors**2 - 1.0).sum(axis=1)
    else:
        shift = moved * old.factors[:, None]
        spread = d * _bregman(new.covariances * old.factors**2 - 1.0)
    each = 0.5 * (spread + (shift**2).sum(axis=1))
    return max(float(between + (share * each).sum()), 0.0)


def _bregman(t: NDArray[Any]) -> Floats:
    """t - log(1 + t)."""
    return np.asarray(t - np.log1p(np.maximum(t, -1.0 + 1e-16)))
