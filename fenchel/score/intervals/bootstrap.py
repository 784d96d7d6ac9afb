"""Intervals by resampling: seeded, in blocks of bounded memory, all replicates at once.

A sample is given as counts: how often it holds each of m distinct rows (all ones where every row
differs). A statistic takes many samples at once and gives one value each; scores or weights of the
distinct rows are its own affair. Drawing n rows with replacement is one multinomial draw of the
counts, so the cost follows the number of distinct rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from fenchel.score.estimate import Estimate, check_share, is_integer

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], Any]

# Entries of one block of samples: 16 MiB of float64, whatever the number of rows and replicates.
BLOCK = 1 << 21
# Deleting groups of rows estimates the same acceleration, with an error near 0.65 / GROUPS.
GROUPS = 512


def bootstrap_interval(
    statistic: Statistic,
    counts: Any,
    *,
    level: float = 0.95,
    n_bootstrap: int = 2000,
    random_state: Any = 0,
) -> Estimate:
    """The statistic of a sample with its bias-corrected and accelerated bootstrap interval.

    θ̂ = statistic(counts); θ* the same of n rows drawn with replacement.
    Ends: quantiles of θ* at Φ(z₀ + (z₀ ± z)/(1 − a (z₀ ± z))), z = Φ⁻¹((1 + level)/2),
    z₀ = Φ⁻¹(share of θ* below θ̂, ties one half), a = Σ d³ / (6 (Σ d²)^{3/2}),
    d = the mean of the θ₍₋ᵢ₎ less θ₍₋ᵢ₎, where ₍₋ᵢ₎ leaves out row i, or one of 512 groups of rows.

    Second-order correct for smooth statistics, from some hundred rows on; too short where a few
    rows decide, as for rates near 0 or 1 (`accuracy` and its kin have better ones). Resamples in
    which the statistic is NaN are left out. The interval always holds θ̂.

    Parameters
    ----------
    statistic : callable
        Takes an array (r, m), r samples as counts of the m distinct rows, and gives r values.
    counts : array of shape (m,)
        How often the sample holds each distinct row: whole numbers.
    level : float, default 0.95
        Nominal coverage.
    n_bootstrap : int, default 2000
        Number of resamples.
    random_state : int or Generator, default 0
        Seed of the resampling; the same seed gives the same interval.

    Returns
    -------
    Estimate
        θ̂, its interval, and the standard deviation of θ* as standard error.

    References
    ----------
    Efron, Better bootstrap confidence intervals, JASA 82 (1987).

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import bootstrap_interval
    >>> delay, seen = np.array([0.0, 1.0, 2.0, 5.0, 9.0]), [40, 25, 20, 10, 5]
    >>> mean = bootstrap_interval(lambda counts: counts @ delay / counts.sum(axis=1), seen)
    >>> print(f"{mean:.2f} [{mean.low:.1f}, {mean.high:.1f}]")
    1.60 [1.2, 2.1]
    """
    level = _check(level, n_bootstrap)
    observed = _whole(counts)
    value = float(statistic(observed[None, :])[0])
    draws = _resampled(statistic, observed, n_bootstrap, random_state)
    draws = draws[~np.isnan(draws)]
    if np.isnan(value) or 2 * draws.size <= n_bootstrap:
        raise ValueError(
            "the statistic is NaN on the sample or on half of its resamples: it has no interval"
        )
    below = np.mean(draws < value) + 0.5 * np.mean(draws == value)
    # So many draws cannot tell a share of 0 from that of half a draw.
    bias = ndtri(np.clip(below, 0.5 / draws.size, 1.0 - 0.5 / draws.size))
    z = bias + ndtri(0.5 + 0.5 * level) * np.array([-1.0, 1.0])
    # Beyond 1/a the map turns over; its limit there is the last quantile.
    share = ndtr(bias + z / np.maximum(1.0 - _acceleration(statistic, observed) * z, 1e-3))
    low, high = np.quantile(draws, share)
    return Estimate(
        value,
        min(low, value),
        max(high, value),
        level=level,
        method=f"BCa bootstrap, {n_bootstrap} resamples",
        standard_error=draws.std(),
    )


def bayesian_bootstrap(
    statistic: Statistic,
    total: Floats,
    square: Floats,
    *,
    level: float,
    n_bootstrap: int,
    random_state: Any,
) -> tuple[float, float, float]:
    """(low, high, standard deviation) of a statistic of cells whose rows get random weights.

    Every row's weight wᵢ is multiplied by an exponential variable Eᵢ of mean 1. A cell of n equal
    rows then holds w Gamma(n), exactly; a cell of unequal ones is given the Gamma law with the same
    mean Σ w = total and variance Σ w² = square, Gamma(total²/square) square/total. Cost: one Gamma
    variable per cell and replicate, whatever the number of rows. The ends are plain quantiles.

    Reference: Rubin, The Bayesian bootstrap, Annals of Statistics 9 (1981).
    """
    level = _check(level, n_bootstrap)
    rng = np.random.default_rng(random_state)
    scale = np.divide(square, total, out=np.zeros_like(total), where=total > 0.0)
    shape = np.divide(total, scale, out=np.zeros_like(total), where=scale > 0.0)
    draws = np.empty(n_bootstrap)
    for part in _parts(n_bootstrap, total.size):
        size = (part.stop - part.start, *total.shape)
        draws[part] = statistic(scale * rng.standard_gamma(shape, size=size))
    low, high = np.quantile(draws, [0.5 - 0.5 * level, 0.5 + 0.5 * level])
    return float(low), float(high), float(draws.std())


def _resampled(statistic: Statistic, counts: Floats, n_bootstrap: int, random_state: Any) -> Floats:
    rng = np.random.default_rng(random_state)
    n, m = int(counts.sum()), counts.size
    # A multinomial draw costs a binomial per distinct row, which is worth some thirty indices.
    row = np.repeat(np.arange(m), counts.astype(np.int64)) if n < 32 * m else None
    draws = np.empty(n_bootstrap)
    for part in _parts(n_bootstrap, m if row is None else max(m, n)):
        r = part.stop - part.start
        if row is None:
            drawn = rng.multinomial(n, counts / n, size=r)
        else:
            cell = row[rng.integers(n, size=(r, n))] + m * np.arange(r)[:, None]
            drawn = np.bincount(cell.ravel(), minlength=r * m).reshape(r, m)
        draws[part] = statistic(drawn.astype(np.float64))
    return draws


def _acceleration(statistic: Statistic, counts: Floats) -> float:
    """Σ d³ / (6 (Σ d²)^{3/2}), d the effect of leaving out a row, or a group of them."""
    present = np.flatnonzero(counts)
    group = np.arange(present.size) % GROUPS
    single = present.size <= GROUPS
    gone = np.ones(present.size) if single else counts[present]
    effect = np.empty(min(present.size, GROUPS))
    for part in _parts(effect.size, counts.size):
        chosen = (group >= part.start) & (group < part.stop)
        left = np.repeat(counts[None, :], part.stop - part.start, axis=0)
        left[group[chosen] - part.start, present[chosen]] -= gone[chosen]
        effect[part] = statistic(left)
    times = counts[present] if single else np.ones(effect.size)
    fine = ~np.isnan(effect)
    if not fine.any():
        return 0.0
    times, effect = times[fine], effect[fine]
    effect = np.average(effect, weights=times) - effect
    spread = float(times @ effect**2)
    return float(times @ effect**3) / (6.0 * spread**1.5) if spread > 0.0 else 0.0


def _parts(count: int, width: int) -> Iterator[slice]:
    step = max(1, BLOCK // max(width, 1))
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))


def _whole(counts: Any) -> Floats:
    observed = np.asarray(counts, dtype=np.float64)
    if observed.ndim != 1:
        raise ValueError(f"counts must be one row of numbers, got shape {observed.shape}")
    whole = (observed >= 0.0) & (observed < 2.0**53) & (observed == np.floor(observed))
    if not whole.all() or observed.sum() < 2.0:
        raise ValueError("counts must be whole numbers, none negative, of at least two rows")
    return observed


def _check(level: float, n_bootstrap: int) -> float:
    level = check_share(level, "level")
    needed = int(np.ceil(2.0 / (1.0 - level)))
    if not is_integer(n_bootstrap) or n_bootstrap < needed:
        raise ValueError(
            f"n_bootstrap={n_bootstrap!r} is too few for level={level:g}: give at least {needed}"
        )
    return level
