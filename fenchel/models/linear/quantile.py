"""Regression on the median and on other quantiles."""

from __future__ import annotations

from functools import reduce
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import d2_pinball_score
from sklearn.utils._param_validation import Interval, StrOptions

from fenchel.convex.certificate import Certificate, summed_history
from fenchel.convex.loss.distance import Absolute, Pinball
from fenchel.convex.penalty import L1, L2, Penalty
from fenchel.convex.problem import Problem
from fenchel.data.blocks import Blocks
from fenchel.data.design.matrix import MatrixDesign
from fenchel.models.array_namespace import fit_method
from fenchel.models.estimator import as_numpy
from fenchel.models.fitting import fit_regressor, solve
from fenchel.models.targets import SingleTarget, set_coefficients, single_rows
from fenchel.solve.quantile.noncrossing import noncrossing

Floats = NDArray[np.float64]


class LeastAbsoluteDeviations(SingleTarget):
    """Median regression: min over (w, b) of Σ sᵢ|yᵢ - xᵢ·w - b| / Σsᵢ + α|w|²/2.

    Parameters
    ----------
    alpha : float, default 0
        Strength of the penalty.
    fit_intercept : bool, default True
        The intercept is not penalised.
    tol : float, default 1e-6
        Relative duality gap to reach.
    max_iter : int, default 1000
    warm_start : bool
    verbose : int

    Attributes
    ----------
    coef_, intercept_, n_features_in_, feature_names_in_ : as in scikit-learn
    certificate_ : Certificate
        On the objective above.
    converged_ : bool
    history_ : tuple of Certificate
    n_iter_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fenchel import LeastAbsoluteDeviations
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LeastAbsoluteDeviations().fit(X, y)
    >>> model.converged_, round(model.certificate_.value, 2)
    (True, 43.04)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        alpha: float = 0.0,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = 1000,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.verbose = verbose

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LeastAbsoluteDeviations:
        """Fit to rows X and targets y; y may be None if X carries its target (`scan`, dask)."""
        blocks = single_rows(self, X, y, sample_weight)
        penalty = L2(float(self.alpha))
        problem = Problem(Absolute(), penalty, MatrixDesign(blocks), self.fit_intercept)
        fit_regressor(self, blocks, problem)
        return self


class QuantileRegressor(SingleTarget):
    """Quantile regression: min over (w, b) of Σ sᵢ ρ(yᵢ - xᵢ·w - b) / Σsᵢ + α|w|₁.

    ρ(r) = max(q r, (q - 1) r) for the quantile q. scikit-learn's parameters and objective; several
    quantiles may be fitted at once, and on request so that they do not cross.

    Parameters
    ----------
    quantile : float or list of floats, default 0.5
        Strictly between 0 and 1. A list gives one column of predictions for each.
    alpha : float, default 1
        Strength of the L1 penalty; 0 for none.
    fit_intercept : bool, default True
        The intercept is not penalised.
    solver, solver_options : accepted for scikit-learn's sake
    non_crossing : bool, default False
        Fit all quantiles in one problem whose planes keep their order at every x whose columns lie
        between the least and the largest value seen in training; rows in memory. One linear
        program: max_iter, warm_start and verbose do nothing there.
    tol : float, default 1e-6
        Relative duality gap to reach.
    max_iter : int, default 1000
    warm_start : bool
        For a single quantile.
    verbose : int

    Attributes
    ----------
    coef_, intercept_ : as in scikit-learn; (K, d) and (K,) for a list of K quantiles
    n_iter_ : int
    certificate_ : Certificate
        On the objective above, summed over the quantiles.
    converged_ : bool
    history_ : tuple of Certificate
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fenchel import QuantileRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = QuantileRegressor(quantile=[0.1, 0.5, 0.9], alpha=0, non_crossing=True).fit(X, y)
    >>> low, middle, high = model.predict(X).T
    >>> bool((low <= middle).all() and (middle <= high).all()), model.converged_
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "quantile": [Interval(Real, 0, 1, closed="neither"), "array-like"],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "solver": [
            StrOptions(
                {"highs-ds", "highs-ipm", "highs", "interior-point", "revised simplex", "auto"}
            )
        ],
        "solver_options": [dict, None],
        "non_crossing": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        quantile: Any = 0.5,
        alpha: float = 1.0,
        fit_intercept: bool = True,
        solver: str = "auto",
        solver_options: dict[str, Any] | None = None,
        non_crossing: bool = False,
        tol: float = 1e-6,
        max_iter: int = 1000,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.quantile = quantile
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.solver_options = solver_options
        self.non_crossing = non_crossing
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.verbose = verbose

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> QuantileRegressor:
        """Fit to rows X and targets y; y may be None if X carries its target (`scan`, dask)."""
        quantiles = self._quantiles()
        blocks = single_rows(self, X, y, sample_weight)
        if np.ndim(self.quantile) == 0:
            fit_regressor(self, blocks, self.problem_on(blocks, quantiles[0]))
        elif self.non_crossing:
            self._together(blocks, quantiles)
        else:
            self._apart(blocks, quantiles)
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² as in scikit-learn; of several quantiles, the mean of their D²: 1 - the pinball loss
        over that of the best constant."""
        if np.ndim(self.quantile) == 0:
            return float(super().score(X, y, sample_weight))
        z = as_numpy(self.predict(X)).T
        pairs = zip(z, self._quantiles(), strict=True)
        scores = [d2_pinball_score(y, p, sample_weight=sample_weight, alpha=q) for p, q in pairs]
        return float(np.mean(scores))

    def problem_on(self, blocks: Blocks, quantile: float) -> Problem:
        """What one quantile minimises on these rows."""
        penalty: Penalty = L1(float(self.alpha)) if self.alpha > 0 else L2(0.0)
        return Problem(Pinball(quantile), penalty, MatrixDesign(blocks), self.fit_intercept)

    def _quantiles(self) -> list[float]:
        try:
            given = np.asarray(self.quantile, dtype=np.float64)
        except (TypeError, ValueError):
            given = np.zeros(0)
        if given.ndim > 1 or given.size == 0:
            raise ValueError(
                f"quantile must be a number in (0, 1) or a list of such, got {self.quantile}"
            )
        wrong = given[~((given > 0.0) & (given < 1.0))]
        if wrong.size:
            raise ValueError(
                f"quantile must lie strictly between 0 and 1, in (0, 1), got {float(wrong[0])}"
            )
        if len(np.unique(given)) < given.size:
            raise ValueError(f"quantile names a value twice: {given.tolist()}")
        return [float(q) for q in given.ravel()]

    def _apart(self, blocks: Blocks, quantiles: list[float]) -> None:
        fits = [solve(self, self.problem_on(blocks, q), None, blocks.dtype) for q in quantiles]
        w = np.stack([fit.point[0] for fit in fits], axis=1)
        b = np.array([fit.point[1] for fit in fits])
        set_coefficients(self, w, b, False, blocks.dtype, ravel=False)
        self.certificate_ = reduce(Certificate.__add__, [fit.certificate for fit in fits])
        self.history_ = tuple(
            summed_history([(*fit.history[:-1], fit.certificate) for fit in fits])
        )
        self.converged_ = all(fit.converged for fit in fits)
        self.n_iter_ = max(fit.steps for fit in fits)

    def _together(self, blocks: Blocks, quantiles: list[float]) -> None:
        order = np.argsort(quantiles)
        back = np.argsort(order)
        levels = np.array(quantiles)[order]
        found = noncrossing(blocks, levels, float(self.alpha), self.fit_intercept, self.tol)
        set_coefficients(self, found.w[:, back], found.b[back], False, blocks.dtype, ravel=False)
        proof = found.certificate
        self.certificate_, self.history_ = proof, (proof,)
        self.converged_ = proof.closed(self.tol)
        self.n_iter_ = max(found.certificate.steps, 1)
