"""Population stability index: how far the distribution of a column has moved from a reference.

    PSI = Σ over the bins  (aₖ - eₖ) ln(aₖ/eₖ),   e, a: shares of the reference and of the new rows

with half a row added to every bin, so that an empty one is finite. It is the symmetric
Kullback-Leibler divergence. By custom below 0.1 is called stable and above 0.25 shifted; but two
samples of one law have PSI about (1/n + 1/m) χ² with (bins - 1) degrees of freedom, so that small
samples pass 0.1 by chance. `p_value` is the probability of that.

Reference: Kullback, Leibler, On information and sufficiency, 1951; Yurdakul, Naranjo, Statistical
properties of the population stability index, Journal of Risk Model Validation 14 (2020).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtrc

MODERATE, LARGE = 0.1, 0.25  # the limits by custom


@dataclass(frozen=True)
class Stability:
    """The population stability index of one column.

    Attributes
    ----------
    value : float
        PSI, 0 for equal shares.
    p_value : float
        Probability of a value at least as large, if both are samples of one law.
    expected, actual : int
        Rows of the reference and of the new sample.
    """

    value: float
    p_value: float
    expected: int
    actual: int

    def grade(self, chance: float = 0.01) -> str:
        """stable, moderate or large: by the customary limits, beyond what chance explains."""
        if self.p_value > chance or self.value < MODERATE:
            return "stable"
        return "large" if self.value >= LARGE else "moderate"


def population_stability(expected: Any, actual: Any) -> Stability:
    """Population stability index of two histograms over the same bins.

    Parameters
    ----------
    expected, actual : array of shape (bins,)
        Rows of the reference and of the new sample in each bin.

    Examples
    --------
    >>> from fenchel import population_stability
    >>> found = population_stability([50, 30, 20], [20, 30, 50])
    >>> round(found.value, 3), found.grade()
    (0.533, 'large')
    """
    e, a = (np.asarray(counts, np.float64) for counts in (expected, actual))
    if e.ndim != 1 or e.shape != a.shape:
        raise ValueError(
            f"expected and actual are histograms over the same bins, got shapes {e.shape} and "
            f"{a.shape}"
        )
    for name, counts in (("expected", e), ("actual", a)):
        if not (np.isfinite(counts).all() and (counts >= 0.0).all()):
            raise ValueError(f"{name} must hold counts, finite and not negative")
        if not counts.sum() > 0.0:
            raise ValueError(f"{name} has no row: there is nothing to compare")
        if counts.sum() <= 1.0 + 1e-9 and (counts != np.round(counts)).any():
            raise ValueError(
                f"{name} holds shares: give counts of rows, by which chance is told from drift"
            )
    used = (e > 0.0) | (a > 0.0)
    e, a = e[used], a[used]
    n, m, bins = float(e.sum()), float(a.sum()), len(e)
    shares_e = (e + 0.5) / (n + 0.5 * bins)
    shares_a = (a + 0.5) / (m + 0.5 * bins)
    value = float(np.sum((shares_a - shares_e) * np.log(shares_a / shares_e)))
    p_value = 1.0 if bins < 2 else float(chdtrc(bins - 1, value / (1.0 / n + 1.0 / m)))
    return Stability(value, p_value, round(n), round(m))
