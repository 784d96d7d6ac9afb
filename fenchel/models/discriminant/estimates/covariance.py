"""Covariances of Gaussian classes: factors with a stated rank, and shrinkage of singular ones.

S is shrunk to (1 - a) S + a (tr S / d) I. Ledoit-Wolf chooses a from fourth moments, a second pass;
oracle approximating shrinkage (OAS) from S and the number of rows n alone:

    a = min(1, ((1 - 2/d) tr S² + (tr S)²) / ((n + 1 - 2/d) (tr S² - (tr S)²/d)))

Reference: Ledoit, Wolf, 2004. Chen, Wiesel, Eldar, Hero, 2010.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dtrtri

from fenchel.data.arrays import is_sparse, like, to_float64, to_numpy
from fenchel.data.blocks import Block, Blocks

Floats = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True, eq=False)
class InverseRoot:
    """R (rank, d) with R'R = Σ⁺, the inverse or, below full rank, the pseudo-inverse in columns of
    unit variance; log |Σ| over the directions that have variance."""

    R: Floats
    log_det: float
    rank: int

    def log_units(self, exponent: NDArray[np.int64]) -> float:
        """Σ log 2^exponent over the columns that have variance."""
        return float(np.log(2.0) * exponent[self.R.any(axis=0)].sum())

    def rescaled(self, exponent: NDArray[np.int64]) -> InverseRoot:
        """For columns multiplied by 2^exponent."""
        if not exponent.any():
            return self
        log_det = self.log_det + 2.0 * self.log_units(exponent)
        return InverseRoot(np.ldexp(self.R, -exponent), log_det, self.rank)


def root_of(S: Floats, tol: float) -> InverseRoot:
    """Σ = D C D with C the correlations: C = VΛV', R = Λ^(-1/2) V' D⁻¹ over √λ > tol.

    What is rank is told of correlations, so that no scale of a column decides it.
    """
    d = len(S)
    D = np.sqrt(np.maximum(np.diagonal(S), 0.0))
    unit = np.where(D > 0.0, D, 1.0)
    C = S / unit / unit[:, None]
    inverse = _inverse_factor(C, max(tol**2, d * d * EPS))
    if inverse is not None:
        log_det = 2.0 * float(np.log(unit).sum() - np.log(np.diagonal(inverse)).sum())
        return InverseRoot(np.ascontiguousarray(inverse / unit), log_det, d)
    values, V = np.linalg.eigh((C + C.T) / 2.0)
    keep = values > max(tol**2, d * EPS * max(float(values[-1]), 0.0))
    R = (V[:, keep] / np.sqrt(values[keep])).T / unit
    # What rounding leaves of a column without variance would be large beside columns of large unit.
    R[:, D == 0.0] = 0.0
    log_det = float(np.log(values[keep]).sum() + 2.0 * np.log(unit[D > 0.0]).sum())
    return InverseRoot(np.ascontiguousarray(R), log_det, int(keep.sum()))


def _inverse_factor(C: Floats, least: float) -> Floats | None:
    """L⁻¹ of C = LL' where it proves that all eigenvalues are above `least`, from 1 / |L⁻¹|² ≤ λ:
    a fifteenth of the time of eigenvectors; None where it does not."""
    L, fault = dpotrf(C, lower=1, clean=1)
    if fault:
        return None
    inverse, fault = dtrtri(L, lower=1)
    return None if fault or not (inverse * inverse).sum() < 1.0 / least else np.asarray(inverse)


def shrunk(S: Floats, share: float) -> Floats:
    """(1 - a) S + a (tr S / d) I."""
    out = (1.0 - share) * S
    out[np.diag_indices(len(S))] += share * np.trace(S) / len(S)
    return out


def shrunk_in_units(S: Floats, share: float, unit: Floats) -> Floats:
    """The same for columns divided by their units."""
    if share == 0.0:  # of columns whose scales are far apart the units would lose one
        return S.copy()
    return shrunk(S / unit / unit[:, None], share) * unit * unit[:, None]


def oracle_share(S: Floats, n: float) -> float:
    """The a of oracle approximating shrinkage for n rows."""
    d = len(S)
    trace, square = float(np.trace(S)), float((S * S).sum())
    spread = (n + 1.0 - 2.0 / d) * (square - trace**2 / d)
    return 1.0 if spread <= 0.0 else min(1.0, ((1.0 - 2.0 / d) * square + trace**2) / spread)


def ledoit_wolf_shares(
    blocks: Blocks, weight: Floats, mean: Floats, scatter: Floats
) -> tuple[Floats, Floats]:
    """The a (K,) of Ledoit and Wolf for each class, in units (K, d) of its standard deviations.

    a = min(1, b / δ) with z the standardised rows of a class, S their covariance, m = tr S / d:
    δ = |S - mI|² / d and b = (Σ s |z|⁴ / W - |S|²) / (d W), from one more pass.
    """
    variance = np.diagonal(scatter, axis1=1, axis2=2) / weight[:, None]
    unit = np.where(variance > 0.0, np.sqrt(variance), 1.0)

    def fourth(block: Block) -> Floats:
        X = to_float64(block.X.toarray() if is_sparse(block.X) else block.X)
        codes = to_numpy(block.y).astype(np.int64)
        Z = (X - like(mean[codes], X)) / like(unit[codes], X)
        square = to_numpy((Z * Z).sum(1)) ** 2
        s = square if block.weight is None else square * to_numpy(block.weight)
        return np.bincount(codes, s, minlength=len(weight)).astype(np.float64)

    power = blocks.reduce(fourth)
    d, shares = mean.shape[1], np.zeros(len(weight))
    for k, W in enumerate(weight):
        S = scatter[k] / W / unit[k] / unit[k][:, None]
        square, trace = float((S * S).sum()), float(np.trace(S))
        spread = square - trace**2 / d
        noise = (power[k] / W - square) / W
        shares[k] = 0.0 if noise <= 0.0 else (1.0 if noise >= spread else noise / spread)
    return shares, unit
