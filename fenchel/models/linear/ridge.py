"""Ridge regression, and the same with its penalty chosen by leaving one row out at a time."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import get_scorer_names
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metadata_routing import (
    _raise_for_params,
)

from fenchel.data.arrays import to_numpy
from fenchel.data.blocks import Blocks
from fenchel.models.array_namespace import fit_method
from fenchel.models.cross_validation.leave_one_out_choice import LeaveOneOutChoice, penalty_grid
from fenchel.models.rounding import squares_in_precision
from fenchel.models.targets import LinearRegressor, set_coefficients, target_rows
from fenchel.solve.least_squares.leave_one_out import is_wide, left_out
from fenchel.solve.least_squares.moments import regression_moments
from fenchel.solve.least_squares.nnls import nonnegative
from fenchel.solve.least_squares.result import unscale
from fenchel.solve.least_squares.ridge import RidgeFit, form_for, ridge, warn_not_certified

Floats = NDArray[np.float64]

SOLVERS = {"auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"}


class Ridge(LinearRegressor):
    """Ridge regression: min over (w, b) of Σ sᵢ (yᵢ - xᵢ·w - b)² + α|w|².

    scikit-learn's parameters and objective; every fit carries `certificate_`, a proof of how far
    it is from the optimum. One pass makes the equations, d x d or n x n by the shape of the
    table, two more refine and prove the answer.

    Parameters
    ----------
    alpha : float or array of one for each target, default 1
        Strength of the penalty; 0 for least squares.
    fit_intercept : bool, default True
        The intercept is not penalised.
    copy_X : ignored, X is never changed
    max_iter : int or None
        Corrections after the first solve; None for 100.
    tol : float, default 1e-6
        Relative duality gap to reach.
    solver : scikit-learn's names are accepted and all mean "auto"
    positive : bool
        Whether no coefficient may be negative.
    random_state : ignored, nothing is random

    Attributes
    ----------
    coef_, intercept_, n_features_in_, feature_names_in_ : as in scikit-learn
    n_iter_ : array of one int for each target
        Solves: one, and one more for every correction.
    form_ : "primal", "dual", "newton-cg" or "least squares"
        The form that was used, whatever the solver.
    solver_ : str
        The solver as it was asked for; for "auto", form_.
    certificate_ : Certificate
        On the objective above, summed over the targets.
    converged_ : bool
        Whether the certificate's relative gap is at most tol.
    history_ : tuple of Certificate
        One a step.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fenchel import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = Ridge(alpha=0.1).fit(X, y)
    >>> model.converged_, model.certificate_.relative_gap <= 1e-6
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        "fit_intercept": ["boolean"],
        "copy_X": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "solver": [StrOptions(SOLVERS)],
        "positive": ["boolean"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-6,
        solver: str = "auto",
        positive: bool = False,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.positive = positive
        self.random_state = random_state

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Ridge:
        """Fit to rows X and targets y; y may be None if X carries its target (`scan`, dask)."""
        blocks = target_rows(self, X, y, sample_weight)
        alpha = to_numpy(self.alpha)
        if self.positive:
            found = nonnegative(blocks, alpha, self.fit_intercept, self.tol)
        else:
            steps = 100 if self.max_iter is None else self.max_iter
            found = ridge(blocks, alpha, self.fit_intercept, tol=self.tol, max_steps=steps)
        _set(self, found, blocks, alpha)
        self.n_iter_ = found.steps
        self.form_ = found.form
        self.solver_ = found.form if self.solver == "auto" else self.solver
        return self


def _set(estimator: Any, found: RidgeFit, blocks: Blocks, alpha: Any) -> None:
    set_coefficients(estimator, found.w, found.b, found.flat, blocks.dtype, ravel=True)
    proof = squares_in_precision(blocks, found.w, found.b, alpha, found.certificate)
    estimator.certificate_ = proof
    estimator.history_ = (*found.history[:-1], proof)
    tol = float(vars(estimator).get("tol", 1e-6))
    estimator.converged_ = found.converged and proof.closed(tol)
    if found.converged and not estimator.converged_:
        warn_not_certified(proof, tol)


class RidgeCV(LeaveOneOutChoice, LinearRegressor):
    """Ridge regression with its penalty chosen among `alphas` by leaving each row out in turn.

    The errors are exact, for the whole grid, from one decomposition and one pass over the rows;
    the chosen model is then fitted and proved as by `Ridge`. Tables from `scan` and dask are
    never gathered.

    Parameters
    ----------
    alphas : array, default (0.1, 1, 10)
        Penalties to try.
    fit_intercept : bool, default True
    scoring : str, callable or None
        None: the mean squared error, of residuals times √sᵢ where there are weights; with `cv`,
        R². Anything else needs rows in memory.
    cv : int, splitter, iterable or None
        None to leave one row out; else a grid search over `Ridge`, rows in memory.
    gcv_mode : "auto", "eigen", "svd" or None
        "svd" takes singular values of the rows, which a tiny penalty needs; "eigen" never does;
        None and "auto" decide by the spectrum.
    store_cv_results : bool
        Keep every row's error for every penalty in `cv_results_`; rows in memory.
    alpha_per_target : bool
        Choose for each target on its own.

    Attributes
    ----------
    alpha_, best_score_, coef_, intercept_, cv_results_ : as in scikit-learn
    n_features_in_, feature_names_in_ : as in scikit-learn
    certificate_, history_, converged_ : of the fit with the chosen penalty, as in `Ridge`

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fenchel import RidgeCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RidgeCV(alphas=[1e-3, 1e-2, 1e-1, 1]).fit(X, y)
    >>> model.alpha_, round(-model.best_score_)
    (0.01, 3000)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alphas": ["array-like", Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "cv": ["cv_object"],
        "gcv_mode": [StrOptions({"auto", "svd", "eigen"}), None],
        "store_cv_results": ["boolean"],
        "alpha_per_target": ["boolean"],
    }

    def __init__(
        self,
        alphas: Any = (0.1, 1.0, 10.0),
        *,
        fit_intercept: bool = True,
        scoring: Any = None,
        cv: Any = None,
        gcv_mode: str | None = None,
        store_cv_results: bool = False,
        alpha_per_target: bool = False,
    ) -> None:
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.scoring = scoring
        self.cv = cv
        self.gcv_mode = gcv_mode
        self.store_cv_results = store_cv_results
        self.alpha_per_target = alpha_per_target

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> RidgeCV:
        """Fit to rows X and targets y; params go to the scorer where metadata routing is on."""
        _raise_for_params(params, self, "fit")
        alphas = penalty_grid(self.alphas, "neither" if self.cv is None else "left")
        if self.cv is None:
            return self._leave_one_out(X, y, sample_weight, alphas, params)
        self._search(Ridge(fit_intercept=self.fit_intercept), X, y, sample_weight, alphas, params)
        return self

    def _leave_one_out(
        self, X: Any, y: Any, sample_weight: Any, alphas: Floats, params: dict[str, Any]
    ) -> RidgeCV:
        blocks = target_rows(self, X, y, sample_weight)
        if blocks.n_rows < 2:
            raise ValueError("to leave one row out takes at least two, got n_samples=1")
        whole = self.scoring is not None or self.store_cv_results
        if whole and not blocks.local:
            what = "scoring" if self.scoring is not None else "store_cv_results"
            raise ValueError(
                f"{what} needs the leave-one-out error of every row in memory, and these rows are "
                f"not: leave {what} out"
            )
        form, wide = form_for(blocks), is_wide(blocks)
        rows, found = regression_moments(blocks, form == "primal" or not wide, self.fit_intercept)
        left = left_out(rows, found, alphas, self.fit_intercept, self.gcv_mode)  # type: ignore[arg-type]
        if not whole:
            scores, power = -left.squares(rows) / blocks.n_rows, 2 * found.exponent
        else:
            errors = unscale(left.errors(rows), found.exponent)
            scores, power = self._scored(blocks, errors, sample_weight, params), 0
        self._choose(scores, alphas, power, found.flat)
        refit = ridge(blocks, self.alpha_, self.fit_intercept, form=form, known=(rows, found))
        _set(self, refit, blocks, self.alpha_)
        return self
