"""Wald intervals of the coefficients of an unpenalised linear or logistic regression.

With X̃ = [1 X] (n, d+1) and residuals r = y - p,

    logistic:  Cov = (X̃'SWX̃)⁻¹,  W = diag p(1 - p):  w ± z √Cov,  odds ratio exp(w)
    linear:    Cov = (X̃'SX̃)⁻¹ X̃'diag(sᵢrᵢ/(1 - hᵢ))² X̃ (X̃'SX̃)⁻¹  (HC3: rows may differ in spread),
               w ± t √Cov with n - d - 1 degrees of freedom

A penalty pulls coefficients towards zero by an amount that depends on the truth: no interval around
such a coefficient has a known coverage, and none is given. Cost O(nd²).

Reference: Hosmer, Lemeshow, Sturdivant, Applied logistic regression (2013), chapter 2; MacKinnon,
White, Some heteroskedasticity-consistent covariance matrix estimators, 1985.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.special import expit, ndtr, ndtri, stdtr, stdtrit

from fenchel.score.estimate import Estimate, check_share

Floats = NDArray[np.float64]
_LARGEST = 1e12  # condition of the information matrix, scaled to unit diagonal


@dataclass(frozen=True, eq=False)
class CoefficientTable:
    """Coefficients with their intervals.

    Attributes
    ----------
    coefficient, low, high, standard_error : array of shape (d,)
    p_value : array of shape (d,)
        Two-sided, of the hypothesis that the coefficient is 0.
    intercept : Estimate
    level : float
    method : str
    is_logistic : bool
        Whether exp(coefficient) is an odds ratio.
    """

    coefficient: Floats
    low: Floats
    high: Floats
    standard_error: Floats
    p_value: Floats
    intercept: Estimate
    level: float
    method: str
    is_logistic: bool

    def odds_ratio(self, j: int, unit: float = 1.0) -> Estimate:
        """Odds ratio of a change of column j by `unit`, with its interval."""
        if not self.is_logistic:
            raise ValueError("odds ratios are those of a logistic regression")
        ends = (float(end[j]) * unit for end in (self.coefficient, self.low, self.high))
        value, low, high = (math.exp(min(end, 700.0)) for end in ends)
        if unit < 0.0:
            low, high = high, low
        return Estimate(value, low, high, level=self.level, method=self.method)


def coefficient_intervals(
    model: Any, X: Any, y: Any, *, sample_weight: Any = None, level: float = 0.95
) -> CoefficientTable:
    """Coefficients of a fitted unpenalised model with Wald intervals, on the rows of its fit.

    Parameters
    ----------
    model : fitted LogisticRegression with C=inf (two classes), or LinearRegression
        Of this library or of scikit-learn.
    X, y, sample_weight
        The rows that it was fitted to.
    level : float
        Coverage of each interval by itself.

    Raises
    ------
    ValueError
        For a penalised model, more than two classes, classes that a plane separates, or columns
        that depend on each other: there is no interval then, and the message says why.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import LogisticRegression, coefficient_intervals
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2))
    >>> y = rng.random(400) < 1.0 / (1.0 + np.exp(-X[:, 0]))
    >>> found = coefficient_intervals(LogisticRegression(C=np.inf).fit(X, y), X, y)
    >>> print(found.odds_ratio(0))
    2.527 [1.968, 3.245] (95 %, Wald)
    """
    level = check_share(level, "level")
    is_logistic = _is_logistic(model)
    w = np.ravel(np.asarray(model.coef_, np.float64))
    b = float(np.ravel(np.asarray(model.intercept_, np.float64))[0])
    rows = np.asarray(X.todense() if sparse.issparse(X) else X, np.float64)
    s = np.ones(len(rows)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    A = np.column_stack([np.ones(len(rows)), rows])
    if not model.get_params().get("fit_intercept", True):
        A[:, 0] = 0.0
    z = rows @ w + b
    if is_logistic:
        target = np.asarray(np.asarray(y) == model.classes_[-1], np.float64)
        p = expit(z)
        if ((z > 0.0) == (target > 0.5))[s > 0.0].all():
            raise ValueError(
                "a plane separates the classes: without a penalty there are no finite coefficients"
            )
        error = np.sqrt(np.diagonal(_inverse(A, s * p * (1.0 - p))))
        reach, method, free = float(ndtri(0.5 + 0.5 * level)), "Wald", math.inf
    else:
        n = int((s > 0.0).sum())
        free = n - A.shape[1]
        if free < 1:
            raise ValueError(f"{n} rows for {A.shape[1]} coefficients: there is no interval")
        inverse = _inverse(A, s)
        r = np.asarray(y, np.float64) - z
        leverage = s * np.einsum("ij,jk,ik->i", A, inverse, A)
        scores = A * (s * r / np.maximum(1.0 - leverage, 1e-12))[:, None]
        error = np.sqrt(np.diagonal(inverse @ (scores.T @ scores) @ inverse))
        reach, method = float(stdtrit(free, 0.5 + 0.5 * level)), "Wald, HC3"
    every = np.concatenate([[b], w])
    low, high = every - reach * error, every + reach * error
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(every / error)
    tails = 2.0 * (ndtr(-t) if math.isinf(free) else stdtr(free, -t))
    intercept = Estimate(b, low[0], high[0], level=level, method=method, standard_error=error[0])
    return CoefficientTable(
        w, low[1:], high[1:], error[1:], tails[1:], intercept, level, method, is_logistic
    )


def _is_logistic(model: Any) -> bool:
    """Whether it is an unpenalised logistic regression of two classes; ValueError for others."""
    name, known = type(model).__name__, model.get_params(deep=False)
    if name == "LinearRegression" and np.ndim(model.coef_) == 1 and not known.get("positive"):
        return False
    if name not in ("LogisticRegression", "LogisticRegressionCV"):
        raise ValueError(
            f"{name} has no interval of known coverage: it is no unpenalised linear or logistic "
            "regression of one target"
        )
    if len(model.classes_) != 2:
        raise ValueError("intervals are given for two classes, not for several")
    if known.get("penalty") is not None and not math.isinf(float(known.get("C", 1.0))):
        raise ValueError(
            "the model is penalised: its coefficients are drawn towards zero, and no interval "
            "around them has a known coverage; fit it with C=inf"
        )
    return True


def _inverse(A: Floats, s: Floats) -> Floats:
    """(A'SA)⁻¹, a column of zeros left out."""
    H = (A * s[:, None]).T @ A
    used = np.diagonal(H) > 0.0
    unit = np.where(used, np.sqrt(np.diagonal(H)), 1.0)
    scaled = H / unit / unit[:, None]
    scaled[~used, ~used] = 1.0
    values, vectors = linalg.eigh(scaled)
    if not values[0] * _LARGEST > values[-1]:
        raise ValueError("columns depend on each other: single coefficients are not determined")
    inverse = (vectors / values) @ vectors.T / unit / unit[:, None]
    inverse[~used] = inverse[:, ~used] = 0.0
    return np.asarray(inverse)
