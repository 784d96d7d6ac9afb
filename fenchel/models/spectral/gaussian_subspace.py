"""Probabilistic principal components: a Gaussian with one variance outside a subspace.

C = V'(Λ - σ²I)V + σ²I,   V (k, d) with orthonormal rows

and Minka's approximation of the evidence for the dimension k.

Reference: Tipping and Bishop, Probabilistic principal component analysis, J. Royal Stat. Soc. B 61
(1999); Minka, Automatic choice of dimensionality for PCA, NIPS (2000).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Floats = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True, eq=False)
class GaussianSubspace:
    """components: V; variances: Λ, no smaller than noise, σ²."""

    components: Floats
    variances: Floats
    noise: float

    def covariance(self) -> Floats:
        V, d = self.components, self.components.shape[1]
        above = np.maximum(self.variances - self.noise, 0.0)
        return np.asarray((V.T * above) @ V + self.noise * np.eye(d))

    def precision(self) -> Floats:
        V, d = self.components, self.components.shape[1]
        inside, outside = self._inverses()
        return np.asarray((V.T * (inside - outside)) @ V + outside * np.eye(d))

    def log_density(self, rows: Floats) -> Floats:
        """Of centred rows: O(n d k), without the d x d matrix."""
        V, d = self.components, self.components.shape[1]
        k = len(V)
        inside, outside = self._inverses()
        Z = rows @ V.T
        # What lies outside is measured itself: a difference of squares would lose its digits.
        rest = rows - Z @ V if k < d else np.zeros((len(rows), 1))
        squares = (Z * Z) @ inside + outside * np.einsum("ij,ij->i", rest, rest)
        logs = -np.log(inside).sum() + ((k - d) * math.log(outside) if k < d else 0.0)
        return np.asarray(-0.5 * (d * math.log(2.0 * math.pi) + logs + squares))

    def _inverses(self) -> tuple[Floats, float]:
        """1/max(λ, σ²) and 1/σ², where a variance that rounding cannot tell from none counts as
        d ε times the largest: a singular covariance has no density."""
        k, d = self.components.shape
        top = max(float(self.variances.max(initial=0.0)), self.noise)
        least = d * EPS * top if top > 0.0 else 1.0
        size = np.maximum(np.maximum(self.variances, self.noise), least)
        return 1.0 / size, (1.0 / max(self.noise, least) if k < d else 0.0)


def likely_dimension(spectrum: Floats, n: int) -> int:
    """The k = 1 … d - 1 of the largest evidence for n rows with these variances, in O(d³)."""
    d = len(spectrum)
    if d < 2 or not spectrum[0] > 0.0:
        return min(d, 1)
    rank = int((spectrum > 0.0).sum())
    known = spectrum / spectrum[0]
    evidence = np.full(d, -math.inf)
    for k in range(1, min(d, rank + 1)):
        evidence[k] = _evidence(known, k, n)
    return int(evidence.argmax())


def _evidence(values: Floats, k: int, n: int) -> float:
    """log p(X | k), up to a constant, for values from the largest down, the k-th above zero."""
    d = len(values)
    noise = float(values[k:].sum()) / (d - k)
    if not noise > 0.0:  # nothing is left over: no noise to tell a dimension by
        return -math.inf
    i = np.arange(1, k + 1)
    log_volume = -k * math.log(2.0) + float(
        np.sum(gammaln((d - i + 1) / 2.0) - 0.5 * (d - i + 1) * math.log(math.pi))
    )
    free = d * k - k * (k + 1) / 2.0
    fit = -0.5 * n * (float(np.log(values[:k]).sum()) + (d - k) * math.log(noise))
    smoothed = np.concatenate([values[:k], np.full(d - k, noise)])
    log_hessian = 0.0
    for a in range(k):
        below = slice(a + 1, d)
        gaps = (values[a] - values[below]) * (1.0 / smoothed[below] - 1.0 / smoothed[a])
        with np.errstate(divide="ignore"):
            log_hessian += float(np.log(np.maximum(gaps, 0.0)).sum()) + math.log(n) * (d - a - 1)
    if not math.isfinite(log_hessian):  # equal values: no direction is told from the next
        return -math.inf
    occam = 0.5 * (free + k) * math.log(2.0 * math.pi) - 0.5 * log_hessian
    return log_volume + fit + occam - 0.5 * k * math.log(n)
