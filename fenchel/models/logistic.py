"""Logistic regression, binary and multinomial, with a proof of its optimum."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from fenchel.convex.certificate import NotCertified
from fenchel.convex.margin import Logistic
from fenchel.convex.multiclass import Multinomial
from fenchel.convex.penalty import L2
from fenchel.convex.problem import Problem
from fenchel.data.arrays import host, logsumexp, sigmoid, softmax, softplus
from fenchel.data.design import MatrixDesign, Point
from fenchel.models.base import scores_out
from fenchel.models.classes import class_rows
from fenchel.models.progress import watch
from fenchel.models.rank import least_norm
from fenchel.models.separation import Separation, seek, warn_separated
from fenchel.solve.choose import by_name
from fenchel.solve.minimise import Solution, minimise

SOLVERS = ("auto", "newton", "newton-cholesky", "newton-cg", "gradient-descent")
PEERS = ("lbfgs", "liblinear", "sag", "saga")  # scikit-learn's other names: the same as "auto"


class LogisticClassifier(ClassifierMixin, BaseEstimator):
    """What a fitted linear log-odds model does: scores, probabilities, classes."""

    def decision_function(self, X: Any) -> Any:
        """x·w + b: shape (n,) for two classes, (n, K) for more."""
        return scores_out(self, X)

    def predict_proba(self, X: Any) -> Any:
        """P(class | x) for each class, in the order of `classes_`."""
        z = self.decision_function(X)
        return softmax(z) if z.ndim == 2 else _beside(sigmoid(-z), sigmoid(z))

    def predict_log_proba(self, X: Any) -> Any:
        """log P(class | x), from the scores: finite however certain the model is."""
        z = self.decision_function(X)
        return z - logsumexp(z)[:, None] if z.ndim == 2 else _beside(-softplus(z), -softplus(-z))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest score; of two, the second where the score is above zero."""
        z = host(self.decision_function(X))
        return self.classes_[(z > 0).astype(int) if z.ndim == 1 else z.argmax(axis=1)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _beside(first: Any, second: Any) -> Any:
    return array_namespace(first).stack([first, second], axis=1)


class LogisticRegression(LogisticClassifier):
    """Logistic regression: min over (w, b) of C Σ sᵢ log(1 + e^{-yᵢ(xᵢ·w + b)}) + |w|²/2.

    More than two classes share one multinomial loss. scikit-learn's parameters and objective;
    every fit carries `certificate_`, a proof of how far it is from the optimum.

    Parameters
    ----------
    penalty : "l2" or None
        None, or C=inf, for no penalty. Left alone, C decides.
    C : float, default 1
        Inverse strength of the penalty.
    l1_ratio : float, default 0
        Only 0 (the L2 penalty) is supported.
    dual : bool
        Ignored: the solver proves its answer with both.
    tol : float, default 1e-6
        Relative duality gap to reach.
    fit_intercept : bool, default True
        The intercept is not penalised, whatever the solver.
    intercept_scaling : float
        Ignored, since no intercept is penalised here.
    class_weight : dict, "balanced" or None
    random_state : ignored, nothing is random
    solver : "auto", "newton" (or "newton-cholesky"), "newton-cg", "gradient-descent"
        scikit-learn's other names are accepted and mean "auto".
    max_iter : int, default 100
    verbose : int
        1 shows the gap while fitting.
    warm_start : bool
        Start from the last fit's coefficients.
    n_jobs : ignored
        Passes over the data use every core: see `fenchel.data.threads`.

    Attributes
    ----------
    coef_, intercept_, classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    n_iter_ : array of one int
    certificate_ : Certificate
        On the objective above.
    converged_ : bool
        Whether the certificate's relative gap is at most tol.
    history_ : tuple of Certificate
        One a step.
    separation_ : Separation or None
        Without a penalty, the proof that no finite optimum exists: a direction that separates.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fenchel import LogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegression().fit(X, y)
    >>> model.converged_, model.certificate_.relative_gap <= 1e-6
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "penalty": [StrOptions({"l2", "l1", "elasticnet", "deprecated"}), None],
        "C": [Interval(Real, 0, None, closed="right")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both"), None],
        "dual": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "random_state": ["random_state"],
        "solver": [StrOptions({*SOLVERS, *PEERS})],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        penalty: str | None = "deprecated",
        *,
        C: float = 1.0,
        l1_ratio: float | None = 0.0,
        dual: bool = False,
        tol: float = 1e-6,
        fit_intercept: bool = True,
        intercept_scaling: float = 1,
        class_weight: Any = None,
        random_state: Any = None,
        solver: str = "auto",
        max_iter: int = 100,
        verbose: int = 0,
        warm_start: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.penalty = penalty
        self.C = C
        self.l1_ratio = l1_ratio
        self.dual = dual
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.random_state = random_state
        self.solver = solver
        self.max_iter = max_iter
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LogisticRegression:
        """Fit to rows X and labels y; for `scan` and dask tables y may lie beside the rows."""
        C = strength(self)
        self.classes_, blocks = class_rows(self, X, y, sample_weight, self.class_weight)
        problem = log_problem(MatrixDesign(blocks), len(self.classes_), C, self.fit_intercept)
        start = self._last(problem) if self.warm_start else None
        self.separation_: Separation | None = None
        solution = self._solve(problem, start)
        solution = in_precision(problem, solution, blocks.dtype, self.tol)
        factor = problem.design.weight * (1.0 if math.isinf(C) else C)
        set_point(self, solution.point, len(self.classes_), blocks.dtype)
        self.certificate_ = solution.certificate.scaled(factor)
        self.history_ = tuple(c.scaled(factor) for c in solution.history)
        self.converged_ = solution.converged
        self.n_iter_ = np.array([solution.steps], dtype=np.int32)
        return self

    def _solve(self, problem: Problem, start: Point | None) -> Solution:
        found: list[Separation] = []
        free = problem.penalty == L2(0.0)

        def callback(step: int, point: Point, certificate: Any) -> bool:
            show(step, point, certificate)
            if free:
                found.extend(seek(problem, point, step))
            return bool(found)

        with watch(self.verbose, self.tol) as show:
            solution = minimise(
                problem,
                by_name(self.solver, problem, self.tol),
                tol=self.tol,
                max_steps=self.max_iter,
                start=start,
                callback=callback,
            )
        if found:
            self.separation_ = found[0]
            return warn_separated(self, problem, solution, found[0])
        return least_norm(problem, solution) if free and solution.converged else solution

    def _last(self, problem: Problem) -> Point | None:
        """The previous fit as a starting point, where it has the shape of this problem."""
        if "coef_" not in self.__dict__:
            return None
        w = np.asarray(self.coef_, dtype=np.float64).T
        b: Any = np.asarray(self.intercept_, dtype=np.float64)
        if problem.outputs is None:
            w, b = w.ravel(), float(b[0])
        return (w, b) if w.shape == problem.origin()[0].shape else None


def strength(estimator: Any) -> float:
    """C as the parameters give it, inf for no penalty; refuses what is not L2."""
    if estimator.penalty in ("l1", "elasticnet") or estimator.l1_ratio not in (0, None):
        raise ValueError(
            "the l1 part of the penalty is not supported: set l1_ratio=0 (L2) or C=inf (none)"
        )
    return math.inf if estimator.penalty is None else float(estimator.C)


def log_problem(design: MatrixDesign, n_classes: int, C: float, intercept: bool) -> Problem:
    """The house's problem: weights summing to one, λ = 1 / (C Σs)."""
    lam = 0.0 if math.isinf(C) else 1.0 / (C * design.weight)
    loss = Logistic() if n_classes == 2 else Multinomial(n_classes)
    return Problem(loss, L2(lam), design, intercept)


def in_precision(problem: Problem, solution: Solution, dtype: Any, tol: float) -> Solution:
    """The solution rounded to the precision of the input, and the certificate of what is left."""
    if dtype == np.float64 or not solution.converged:
        return solution
    w, b = (np.asarray(part, dtype=dtype).astype(np.float64) for part in solution.point)
    point = (w, b if b.ndim else float(b))
    proved = problem.certify(point)
    done = solution.certificate
    final = replace(proved, steps=done.steps, seconds=done.seconds)
    closed = final.relative_gap <= tol
    if not closed:
        warnings.warn(
            f"coefficients in {np.dtype(dtype).name} leave a relative duality gap of "
            f"{final.relative_gap:.2g}, asked tol={tol:.2g}. Pass float64 rows or loosen tol.",
            NotCertified,
            stacklevel=4,
        )
    return replace(solution, point=point, certificate=final, converged=closed)


def set_point(estimator: Any, point: Point, n_classes: int, dtype: np.dtype[Any]) -> None:
    """coef_ (1 or K, d) and intercept_ (1 or K,)."""
    w, b = point
    if n_classes > 2 and np.ndim(b):
        b = b - np.mean(b)  # adding one number to all changes no probability
    estimator.coef_ = np.ascontiguousarray(np.atleast_2d(w.T), dtype=dtype)
    estimator.intercept_ = np.array(np.atleast_1d(b), dtype=dtype)
