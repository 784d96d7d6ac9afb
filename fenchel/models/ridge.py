"""Ridge regression, and the same with its penalty chosen by leaving one row out at a time."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import check_scoring, get_scorer, get_scorer_names
from sklearn.model_selection import GridSearchCV
from sklearn.utils import check_scalar
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)

from fenchel.data.arrays import double, host
from fenchel.data.blocks import Blocks
from fenchel.models.base import is_remote
from fenchel.models.namespace import fit_method
from fenchel.models.precision import squares_in_precision
from fenchel.models.targets import LinearRegressor, set_coefficients, target_rows
from fenchel.solve.leave_one_out import is_wide, left_out
from fenchel.solve.nonnegative import nonnegative
from fenchel.solve.ridge import Ridges, form_for, ridge, warn_open
from fenchel.solve.squares import unscale
from fenchel.solve.survey import survey

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
        """Fit to rows X and targets y; for `scan` and dask tables y may lie beside the rows."""
        blocks = target_rows(self, X, y, sample_weight)
        alpha = host(self.alpha)
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


def _set(estimator: Any, found: Ridges, blocks: Blocks, alpha: Any) -> None:
    set_coefficients(estimator, found.w, found.b, found.flat, blocks.dtype, ravel=True)
    proof = squares_in_precision(blocks, found.w, found.b, alpha, found.certificate)
    estimator.certificate_ = proof
    estimator.history_ = (*found.history[:-1], proof)
    tol = float(vars(estimator).get("tol", 1e-6))
    estimator.converged_ = found.converged and proof.closed(tol)
    if found.converged and not estimator.converged_:
        warn_open(proof, tol)


class RidgeCV(LinearRegressor):
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
        alphas = self._grid()
        if self.cv is None:
            return self._leave_one_out(X, y, sample_weight, alphas, params)
        return self._search(X, y, sample_weight, alphas, params)

    def _grid(self) -> Floats:
        ends = "neither" if self.cv is None else "left"
        plain = isinstance(self.alphas, list | tuple)  # as an array one text makes texts of all
        alphas = list(self.alphas) if plain else np.ravel(host(self.alphas)).tolist()
        for i, alpha in enumerate(alphas):
            name = f"alphas[{i}]" if len(alphas) > 1 else "alphas"
            check_scalar(alpha, name, Real, min_val=0.0, include_boundaries=ends)
        if not len(alphas):
            raise ValueError("alphas is empty: give at least one penalty")
        return np.array(alphas, dtype=np.float64)

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
        rows, found = survey(blocks, form == "primal" or not wide, self.fit_intercept)
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

    def _scored(
        self, blocks: Blocks, errors: Floats, sample_weight: Any, params: dict[str, Any]
    ) -> Floats:
        """Scores (K, A), or (1, A) for one score of all targets, from errors (n, K, A)."""
        held = blocks.gather()
        y = host(double(held.y))
        shape = (*y.shape, errors.shape[-1])
        if self.scoring is None:
            errors **= 2
            if held.weight is not None:
                errors *= host(held.weight)[:, None, None]
            scores = -errors.mean(axis=0)
        else:
            errors *= -1.0
            errors += y.reshape(len(y), -1, 1)
            scores = self._judged(y, errors.reshape(shape), sample_weight, params)
        if self.store_cv_results:
            self.cv_results_ = errors.reshape(shape).astype(blocks.dtype, copy=False)
        return scores

    def _judged(
        self, y: Floats, predicted: Floats, sample_weight: Any, params: dict[str, Any]
    ) -> Floats:
        scorer, judged = self._scorer(), Predicted()
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        if _routing_enabled():
            given = process_routing(self, "fit", **given, **params).scorer.score
        if self.alpha_per_target and y.ndim == 2:
            pairs = [(predicted[:, k], y[:, k]) for k in range(y.shape[1])]
        else:
            pairs = [(predicted, y)]
        return np.array(
            [[scorer(judged, p[..., a], t, **given) for a in range(p.shape[-1])] for p, t in pairs]
        )

    def _choose(self, scores: Floats, alphas: Floats, power: int, flat: bool) -> None:
        """The first penalty with the highest score, for all targets or for each; 2^power is the
        unit of the scores."""
        if not self.alpha_per_target or len(scores) == 1:
            mean = scores.mean(axis=0)
            best = int(mean.argmax())
            self.alpha_: Any = float(alphas[best])
            score = unscale(mean[best], power)
            self.best_score_: Any = score[None] if self.alpha_per_target and not flat else score
            return
        chosen = scores.argmax(axis=1)
        self.alpha_ = alphas[chosen]
        self.best_score_ = unscale(scores[np.arange(len(scores)), chosen], power)

    def _search(
        self, X: Any, y: Any, sample_weight: Any, alphas: Floats, params: dict[str, Any]
    ) -> RidgeCV:
        if is_remote(X):
            raise ValueError("cv splits rows by number and needs them in memory: leave cv out")
        for name in ("store_cv_results", "alpha_per_target"):
            if getattr(self, name):
                raise ValueError(f"cv!=None and {name}=True are incompatible: leave cv out")
        target_rows(self, X, y, sample_weight)  # the search would drop folds that it finds faulty
        if sample_weight is not None:
            params = {**params, "sample_weight": sample_weight}
        model = Ridge(fit_intercept=self.fit_intercept)
        if _routing_enabled():
            model.set_fit_request(sample_weight=True)
        grid = {"alpha": alphas.tolist()}
        search = GridSearchCV(model, grid, cv=self.cv, scoring=self._scorer()).fit(X, y, **params)
        chosen = search.best_estimator_
        self.alpha_, self.best_score_ = chosen.alpha, search.best_score_
        for name, value in vars(chosen).items():
            if name.endswith("_") and name not in ("n_iter_", "solver_", "form_"):
                setattr(self, name, value)
        return self

    def _scorer(self) -> Any:
        if _routing_enabled() and self.scoring is None:
            return get_scorer("r2").set_score_request(sample_weight=True)
        return check_scoring(self, scoring=self.scoring, allow_none=True)

    def get_metadata_routing(self) -> MetadataRouter:
        """Which arguments of `fit` go to the scorer and to the splitter."""
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(
            scorer=self._scorer(), method_mapping=MethodMapping().add(caller="fit", callee="score")
        )
        return router.add(
            splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split")
        )


class Predicted(RegressorMixin, BaseEstimator):
    """Stands for a model whose predictions are already known: scorers ask an estimator."""

    def predict(self, X: Floats) -> Floats:
        return X
