"""Logistic regression, binary and multinomial, with a proof of its optimum."""

from __future__ import annotations

import math
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.callback import with_callbacks
from sklearn.utils._param_validation import Interval, StrOptions

from fenchel.convex.certificate import warn_outside
from fenchel.convex.loss.margin import Logistic
from fenchel.convex.loss.multiclass import Multinomial
from fenchel.convex.penalty import L2, elastic_net
from fenchel.convex.problem import Problem
from fenchel.data.arrays import is_sparse, to_numpy
from fenchel.data.design.matrix import MatrixDesign, Point
from fenchel.models.array_namespace import fit_method
from fenchel.models.labels import LinearClassifier, encode_labels
from fenchel.models.linear.odds import log_probabilities, probabilities
from fenchel.models.linear.separation import Separation, find_separation, warn_separated
from fenchel.models.progress import StepCallbacks, StepTasks, watch
from fenchel.models.rank_deficiency import dependence_named_later, is_solved, least_norm
from fenchel.models.rounding import round_solution
from fenchel.solve.minimise import Solution, minimise
from fenchel.solve.select import solver_named

SOLVERS = ("auto", "newton", "newton-cholesky", "newton-cg", "gradient-descent")
PEERS = ("lbfgs", "liblinear", "sag", "saga")  # scikit-learn's other names: the same as "auto"


class LogisticClassifier(LinearClassifier):
    """What a fitted linear log-odds model does: scores, probabilities, classes."""

    def predict_proba(self, X: Any) -> Any:
        """P(class | x) for each class, in the order of `classes_`."""
        return probabilities(self.decision_function(X))

    def predict_log_proba(self, X: Any) -> Any:
        """log P(class | x), from the scores: finite however certain the model is, and 0 where
        `predict_proba` rounds to 1."""
        return log_probabilities(self.decision_function(X))


class LogisticRegression(StepCallbacks, LogisticClassifier):
    """Logistic regression: min over (w, b) of C Σ sᵢ l(yᵢ, xᵢ·w + b) + ρ|w|₁ + (1 - ρ)|w|²/2.

    l(y, z) = log(1 + e^{-yz}) and ρ = l1_ratio. More than two classes share one multinomial loss.
    scikit-learn's parameters and objective; every fit carries `certificate_`, a proof of how far
    it is from the optimum. scikit-learn's callbacks (`set_callbacks`) follow the steps of every
    solver, and may stop it.

    Parameters
    ----------
    penalty : "l2", "l1", "elasticnet" or None
        None, or C=inf, for no penalty. Left alone, C and l1_ratio decide; "l1" and "l2" stand for
        l1_ratio=1 and 0, whatever l1_ratio is, with a warning where that says something else.
        scikit-learn removes this parameter in 1.10; here it stays.
    C : float, default 1
        Inverse strength of the penalty.
    l1_ratio : float in [0, 1], default 0
        0 for the L2 penalty, 1 for L1, which sets coefficients to 0.
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
        scikit-learn's other names are accepted and mean "auto", which alone takes an L1 part.
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
    loss_, loss_gap_ : Loss, float
        The loss that was minimised, and `certificate_.gap` on the scale of its mean.
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

    @fit_method
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LogisticRegression:
        """Fit to rows X and labels y; y may be None if X carries its target (`scan`, dask)."""
        C, ratio = strength(self)
        check_corners(self.solver, ratio)
        self.classes_, blocks = encode_labels(self, X, y, sample_weight, self.class_weight)
        K = len(self.classes_)
        problem = log_problem(MatrixDesign(blocks), K, C, self.fit_intercept, ratio)
        start = self._last(problem) if self.warm_start else None
        self.separation_: Separation | None = None
        data = {"X": X, "y": y}
        if sample_weight is not None:
            data["metadata"] = {"sample_weight": sample_weight}
        tasks = StepTasks(
            self, data, self.max_iter, lambda p: planes_of(level_point(p), blocks.dtype)
        )
        solution = self._solve(problem, start, tasks)
        solution = replace(solution, point=level_point(solution.point))
        solution = round_solution(problem, solution, blocks.dtype, self.tol)
        factor = problem.design.weight * (1.0 if math.isinf(C) else C)
        set_point(self, solution.point, blocks.dtype)
        self.loss_, self.loss_gap_ = problem.loss, solution.certificate.gap
        self.certificate_ = solution.certificate.scaled(factor)
        self.history_ = tuple(c.scaled(factor) for c in solution.history)
        self.converged_ = solution.converged
        self.n_iter_ = np.array([solution.steps], dtype=np.int32)
        tasks.close()
        return self

    def _solve(self, problem: Problem, start: Point | None, tasks: StepTasks) -> Solution[Point]:
        found: list[Separation] = []
        free = problem.penalty == L2(0.0)

        def callback(step: int, point: Point, certificate: Any) -> bool:
            show(step, point, certificate)
            stop = tasks.step(point)
            if free:
                found.extend(find_separation(problem, point, step))
            return stop or bool(found)

        with watch(self.verbose, self.tol) as show, dependence_named_later():
            solution = minimise(
                problem,
                solver_named(self.solver, problem, self.tol),
                tol=self.tol,
                max_steps=self.max_iter,
                start=start,
                callback=callback,
            )
        if found:
            self.separation_ = found[0]
            return warn_separated(self, problem, solution, found[0])
        if not (free and is_solved(solution)):
            return solution
        return least_norm(problem, solution, self.tol)

    def _last(self, problem: Problem) -> Point | None:
        """The previous fit as a starting point, where it has the shape of this problem."""
        if "coef_" not in self.__dict__:
            return None
        coef, (w0, b0) = self.coef_, problem.origin()
        w = to_numpy(coef.toarray() if is_sparse(coef) else coef).T
        # Coefficients set by hand may come without an intercept.
        b: Any = (
            np.ravel(to_numpy(self.intercept_)) if "intercept_" in vars(self) else np.atleast_1d(b0)
        )
        if problem.outputs is None:
            w, b = w.ravel(), float(b[0])
        return (w, b) if w.shape == w0.shape and np.shape(b) == np.shape(b0) else None


def strength(estimator: Any) -> tuple[float, float]:
    """C, inf for no penalty, and l1_ratio as the parameters give them: a named penalty decides,
    and a warning names what it leaves without effect."""
    penalty, ratio = estimator.penalty, estimator.l1_ratio
    if penalty is None and estimator.C != 1.0:
        warn_outside("Setting penalty=None will ignore the C and l1_ratio parameters", UserWarning)
    if penalty in ("l1", "l2", None) and ratio is not None and 0.0 < ratio < 1.0:
        warn_outside(
            "l1_ratio parameter is only used when penalty is 'elasticnet'. Got "
            f"(penalty={penalty}): leave penalty out",
            UserWarning,
        )
    if penalty == "l2" and ratio == 1.0:
        warn_outside(
            f"Inconsistent values: penalty={penalty} with l1_ratio={ratio}. The penalty decides: "
            "leave one of them out",
            UserWarning,
        )
    if penalty is None or math.isinf(estimator.C):
        return math.inf, 0.0
    if penalty == "elasticnet" and ratio is None:
        raise ValueError("l1_ratio must be a number in [0, 1] for penalty='elasticnet', got None")
    ratio = 0.0 if ratio is None else float(ratio)
    return float(estimator.C), {"l1": 1.0, "l2": 0.0}.get(penalty, ratio)


def check_corners(solver: str, ratio: float) -> None:
    """Refuses a solver for smooth penalties where the penalty has corners."""
    if ratio > 0.0 and solver in SOLVERS[1:]:
        raise ValueError(
            f"solver={solver!r} needs the L2 penalty or none, not l1_ratio={ratio}: use "
            "solver='auto'"
        )


def log_problem(
    design: MatrixDesign, n_classes: int, C: float, intercept: bool, ratio: float = 0.0
) -> Problem:
    """The objective over C Σs: weights that sum to one, λ = 1 / (C Σs)."""
    strength = C * design.weight
    if strength == 0.0:
        raise ValueError(
            f"C={C:.3g} times the sum of the weights, {design.weight:.3g}, is below the range of "
            "float64: raise C, or scale the weights"
        )
    lam = 1.0 / strength
    loss = Logistic() if n_classes == 2 else Multinomial(n_classes)
    return Problem(loss, elastic_net(lam, ratio), design, intercept)


def level_point(point: Point) -> Point:
    """The same probabilities: adding one number to all intercepts changes none."""
    w, b = point
    return (w, b - np.mean(b)) if np.ndim(b) else point


def planes_of(point: Point, dtype: np.dtype[Any]) -> dict[str, Any]:
    """coef_ (1 or K, d) and intercept_ (1 or K,)."""
    w, b = point
    with np.errstate(over="ignore", under="ignore"):
        if not (np.isfinite(w.astype(dtype)).all() and np.isfinite(np.asarray(b, dtype)).all()):
            dtype = np.dtype(np.float64)  # no infinity for want of range
        coef = np.ascontiguousarray(np.atleast_2d(w.T), dtype=dtype)
        return {"coef_": coef, "intercept_": np.array(np.atleast_1d(b), dtype=dtype)}


def set_point(estimator: Any, point: Point, dtype: np.dtype[Any]) -> None:
    """The attributes of a point."""
    vars(estimator).update(planes_of(point, dtype))
