"""What no rule can beat, from the values of a known η(x) = P(Y = 1 | x) on a sample of x.

R*   = E min(η, 1 − η)          the least 0-1 risk
R_φ* = E H(η) = φ(0) − E ψ(2η − 1)   the least φ-risk of a calibrated margin loss
AUC* = ½ + E|η − η′| / (4p(1 − p))   the largest area under a ROC curve, p = E η, η′ a copy of η
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, stdtrit

from fenchel.convex.loss.margin import Margin
from fenchel.score.estimate import Estimate, check_share
from fenchel.score.intervals.skewness_corrected_mean import mean_estimate
from fenchel.score.labels import column

Floats = NDArray[np.float64]


def bayes_risk(eta_values: Any, *, loss: Margin | None = None, level: float | None = None) -> float:
    """The least risk of any rule: the mean of min(η, 1 − η), or of φ(0) − ψ(2η − 1).

    Parameters
    ----------
    eta_values : array of n numbers in [0, 1]
        η at n independent draws of x.
    loss : Margin, optional
        A calibrated margin loss φ: then the least φ-risk instead of the least error.
    level : float, optional
        With 0.95 the answer carries a 95 % interval, a t interval corrected for skewness.

    Returns
    -------
    float
        An `Estimate` where `level` is given.

    Examples
    --------
    >>> from fenchel import GaussianClasses, Logistic, bayes_risk
    >>> classes = GaussianClasses([0.0, 2.0])
    >>> X, _ = classes.sample(10_000, random_state=0)
    >>> print(bayes_risk(classes.eta(X), level=0.95))
    0.1606 [0.1577, 0.1635] (95 %, t corrected for skewness)
    >>> round(bayes_risk(classes.eta(X), loss=Logistic()), 4)
    0.3578
    """
    eta = _checked(eta_values)
    least, most = 0.0, 0.5
    if loss is None:
        values = np.minimum(eta, 1.0 - eta)
    elif loss.is_calibrated():
        most = float(loss.phi(np.zeros(1))[0])
        least = most - float(loss.psi(1.0))
        values = most - loss.psi(2.0 * eta - 1.0)
    else:
        raise ValueError(f"{loss} is not calibrated: its least risk is not φ(0) − E ψ(2η − 1)")
    if level is None:
        return float(values.mean())
    return mean_estimate(values, level, within=(least, most))


def auc_star(eta_values: Any, *, level: float | None = None) -> float:
    """The area under the ROC curve of η, which no score can exceed.

    AUC* = ½ + Σᵢⱼ |ηᵢ − ηⱼ| / (4n² p(1 − p)),  p = Σᵢ ηᵢ / n

    The sum over all pairs comes out of the sorted values: O(n log n).

    Parameters
    ----------
    eta_values : array of n numbers in [0, 1]
        η at n independent draws of x.
    level : float, optional
        With 0.95 the answer carries a 95 % interval: jackknife, on the logit scale, around the
        value less its bias, and at least ½. It needs some ten expected rows of either class.

    Returns
    -------
    float
        An `Estimate` where `level` is given.

    References
    ----------
    Clémençon, Lugosi and Vayatis, Ranking and empirical minimization of U-statistics, Ann. Statist.
    36 (2008). Efron, The jackknife, the bootstrap and other resampling plans, SIAM (1982).

    Examples
    --------
    >>> from fenchel import GaussianClasses, auc_star
    >>> classes = GaussianClasses([0.0, 2.0])
    >>> X, _ = classes.sample(10_000, random_state=0)
    >>> print(auc_star(classes.eta(X), level=0.95))
    0.9206 [0.9184, 0.9228] (95 %, jackknife on the logit scale)
    >>> print(f"{classes.auc_star():.4f}")
    0.9214
    """
    eta = np.sort(_checked(eta_values))
    n = eta.size
    total = float(eta.sum())
    p = total / n
    if not 0.0 < p < 1.0:
        raise ValueError(f"eta_values are all {p:g}: with one class there is nothing to rank")
    i = np.arange(1, n + 1)
    pairs = 2.0 * float(((2 * i - n - 1) * eta).sum())
    area = min(0.5 + pairs / (4.0 * total * (n - total)), 1.0)
    if level is None:
        return area
    return _jackknifed(eta, total, pairs, area, level)


def _jackknifed(eta: Floats, total: float, pairs: float, area: float, level: float) -> Estimate:
    n = eta.size
    if n < 3:
        raise ValueError(f"an interval of AUC* needs at least three values, got {n}")
    i = np.arange(1, n + 1)
    own = (2 * i - n) * eta + total - 2.0 * np.cumsum(eta)  # Σⱼ |ηᵢ − ηⱼ|
    rest = total - eta
    other = n - 1 - rest
    if (rest <= 0.0).any() or (other <= 0.0).any():
        raise ValueError("all but one of eta_values are the same class: no interval of AUC*")
    without = 0.5 + (pairs - 2.0 * own) / (4.0 * rest * other)
    pseudo = n * area - (n - 1) * without
    centre = float(pseudo.mean())
    error = float(pseudo.std(ddof=1)) / math.sqrt(n)
    centre = centre if centre < 1.0 else area
    quantile = float(stdtrit(n - 1, 0.5 + 0.5 * check_share(level, "level")))
    if error <= 1e-12 or centre == 1.0:
        low, high, method = 0.5, 1.0, "no spread: nothing is excluded"
    else:
        reach = quantile * error / (centre * (1.0 - centre))
        low, high = (float(expit(logit(centre) + side * reach)) for side in (-1.0, 1.0))
        low, high = max(low, 0.5), max(high, 0.5)  # η ranks no worse than chance
        method = "jackknife on the logit scale"
    return Estimate(area, low, high, level=level, method=method, standard_error=error)


def _checked(eta_values: Any) -> Floats:
    eta = column(eta_values, "eta_values")
    if not eta.size:
        raise ValueError("eta_values is empty: there is no probability to average")
    if eta.dtype.kind not in "biuf":
        raise ValueError(f"eta_values must be numbers, got an array of {eta.dtype}")
    eta = eta.astype(np.float64, copy=False)
    bad = ~((eta >= 0.0) & (eta <= 1.0))
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(f"eta_values must lie in [0, 1], got {eta[row]} in row {row}")
    return eta
