"""Logistic regression over a grid of penalties, chosen by cross-validation, one path a fold."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import Interval, StrOptions

from fenchel.convex.certificate import Certificate
from fenchel.data.arrays import host
from fenchel.data.blocks import Blocks
from fenchel.data.convoy import Convoy
from fenchel.data.design import MatrixDesign, Point
from fenchel.models.classes import class_rows
from fenchel.models.folds import Fold, memory_folds, stratified_folds, trained
from fenchel.models.logistic import (
    PEERS,
    SOLVERS,
    LogisticClassifier,
    check_corners,
    log_problem,
    set_point,
)
from fenchel.models.precision import in_precision
from fenchel.models.progress import watch
from fenchel.solve.choose import by_name
from fenchel.solve.minimise import minimise
from fenchel.solve.solver import State

Floats = NDArray[np.float64]
Step = tuple[Point, Certificate]


class LogisticRegressionCV(LogisticClassifier):
    """Logistic regression with C, and l1_ratio among several, chosen by cross-validation.

    Each fold walks the grid from the strongest penalty to the weakest; a fit starts where the
    last one ended, with its curvature. All folds walk side by side, and one pass over the rows
    serves them all. The chosen pair is refitted on all rows and certified.

    Parameters
    ----------
    Cs : int or list of floats, default 10
        A list, or how many values from 1e-4 to 1e4.
    l1_ratios : list of floats in [0, 1], default (0,)
        0 for the L2 penalty, 1 for L1.
    fit_intercept : bool, default True
    cv : int, splitter or None
        None means 5 stratified folds. Tables from `scan` and dask take None or an int.
    scoring : str, callable or None
        None is accuracy.
    tol : float, default 1e-6
        Relative duality gap of the refit; the fits inside the folds are certified to 100 tol.
    max_iter, class_weight, verbose, refit, solver : as in LogisticRegression
    penalty : "l1" and "l2" stand for l1_ratios=(1,) and (0,)
    n_jobs : int or None
        Folds with an L1 part that are fitted at a time: None for every core.
    dual, intercept_scaling, random_state, use_legacy_attributes :
        accepted for scikit-learn's sake; attributes have the new, simple shapes.

    Attributes
    ----------
    C_, l1_ratio_ : float
        The chosen values. `Cs_` and `l1_ratios_` are the grids.
    scores_ : array (folds, ratios, values)
    coefs_paths_ : array (folds, ratios, values, 1 or K, d or d + 1)
    gaps_ : array (folds, ratios, values)
        The proved relative gap of every fit.
    coef_, intercept_, classes_, n_iter_, certificate_, converged_ : of the refit
    loss_, loss_gap_ : as in LogisticRegression

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fenchel import LogisticRegressionCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegressionCV(Cs=[0.1, 1.0, 10.0]).fit(X, y)
    >>> model.scores_.shape, model.converged_
    ((5, 1, 3), True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "Cs": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "l1_ratios": ["array-like", None],
        "fit_intercept": ["boolean"],
        "cv": ["cv_object"],
        "dual": ["boolean"],
        "penalty": [StrOptions({"l2", "l1", "elasticnet", "deprecated"})],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "solver": [StrOptions({*SOLVERS, *PEERS})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "n_jobs": [None, Integral],
        "verbose": ["verbose"],
        "refit": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
        "use_legacy_attributes": ["boolean"],
    }

    def __init__(
        self,
        *,
        Cs: Any = 10,
        l1_ratios: Any = (0.0,),
        fit_intercept: bool = True,
        cv: Any = None,
        dual: bool = False,
        penalty: str = "deprecated",
        scoring: Any = None,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 100,
        class_weight: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        refit: bool = True,
        intercept_scaling: float = 1.0,
        random_state: Any = None,
        use_legacy_attributes: bool = False,
    ) -> None:
        self.Cs = Cs
        self.l1_ratios = l1_ratios
        self.fit_intercept = fit_intercept
        self.cv = cv
        self.dual = dual
        self.penalty = penalty
        self.scoring = scoring
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.refit = refit
        self.intercept_scaling = intercept_scaling
        self.random_state = random_state
        self.use_legacy_attributes = use_legacy_attributes

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LogisticRegressionCV:
        """Choose C by cross-validation on rows X and labels y, then fit all rows with it."""
        self.Cs_, self.l1_ratios_ = self._grid(), self._ratios()
        self.classes_, blocks = class_rows(self, X, y, sample_weight, self.class_weight)
        K = len(self.classes_)
        order = np.argsort(self.Cs_, kind="stable")
        back = np.argsort(order, kind="stable")
        folds = self._folds(blocks)
        paths, scores, gaps = [], [], []
        for ratio in self.l1_ratios_.tolist():
            walks = self._walks(blocks, folds, self.Cs_[order], K, ratio)
            for fold, steps in zip(folds, walks, strict=True):
                points = [steps[i][0] for i in back]
                paths.append([self._row(point) for point in points])
                scores.append(fold.scores(self, points, _scorer(self.scoring)))
                gaps.append([steps[i][1].relative_gap for i in back])
        self.coefs_paths_ = self._by_fold(paths, folds)
        self.scores_ = self._by_fold(scores, folds)
        self.gaps_ = self._by_fold(gaps, folds)
        mean = self.scores_.mean(axis=0).T  # of two that are equal the smaller C, as scikit-learn
        best, which = np.unravel_index(int(np.argmax(mean)), mean.shape)
        self.C_, self.l1_ratio_ = float(self.Cs_[best]), float(self.l1_ratios_[which])
        self._finish(blocks, self.coefs_paths_[:, which, best].mean(axis=0), K)
        return self

    def _by_fold(self, values: list[Any], folds: list[Fold]) -> Floats:
        """(folds, ratios, ...) from a list that runs over the folds of each ratio in turn."""
        whole = np.array(values)
        return whole.reshape(len(self.l1_ratios_), len(folds), *whole.shape[1:]).swapaxes(0, 1)

    def _walks(
        self, blocks: Blocks, folds: list[Fold], Cs: Floats, K: int, ratio: float
    ) -> list[list[Step]]:
        def walk(rows: Blocks) -> list[Step]:
            return self._walk(rows, Cs, K, ratio)

        if ratio > 0.0:  # a solver that wants columns gains nothing from passes made together
            return trained(blocks, folds, walk, self.n_jobs)
        return Convoy(blocks).run([walk] * len(folds), [fold.train for fold in folds])

    def _ratios(self) -> Floats:
        named = {"l1": 1.0, "l2": 0.0}.get(self.penalty)
        given = named if named is not None else 0.0 if self.l1_ratios is None else self.l1_ratios
        try:
            ratios = np.atleast_1d(np.asarray(given, dtype=np.float64)).ravel()
        except (TypeError, ValueError):
            ratios = np.zeros(0)
        if not len(ratios) or not ((ratios >= 0.0) & (ratios <= 1.0)).all():
            raise ValueError(f"l1_ratios must hold numbers in [0, 1], got {self.l1_ratios}")
        check_corners(self.solver, float(ratios.max()))
        return ratios

    def _grid(self) -> Floats:
        if isinstance(self.Cs, Integral):
            return np.logspace(-4, 4, int(self.Cs))
        Cs = np.asarray(self.Cs, dtype=np.float64).ravel()
        if len(Cs) == 0 or not (Cs > 0).all():
            raise ValueError(f"Cs must hold positive numbers, got {self.Cs}")
        return Cs

    def _folds(self, blocks: Blocks) -> list[Fold]:
        if blocks.local:
            labels = blocks.gather().y
            splitter = check_cv(self.cv, host(labels), classifier=True)
            return [*memory_folds(blocks, splitter)]
        return stratified_folds(blocks, len(self.classes_), self.cv)

    def _walk(self, rows: Blocks, Cs: Floats, K: int, ratio: float) -> list[Step]:
        """One point for each C, ascending."""
        steps: list[Step] = []
        last: State | None = None
        design = MatrixDesign(rows)
        for C in Cs:
            problem = log_problem(design, K, C, self.fit_intercept, ratio)
            solver = by_name(self.solver, problem, 100 * self.tol)
            solution = minimise(
                problem, solver, tol=100 * self.tol, max_steps=self.max_iter, start=last
            )
            last = solution.state
            steps.append((solution.point, solution.certificate))
        return steps

    def _row(self, point: Point) -> Floats:
        """A point as scikit-learn stores it: (1 or K, d), with the intercept last, if any."""
        w, b = point
        coef = np.atleast_2d(w.T)
        return np.hstack([coef, np.reshape(b, (-1, 1))]) if self.fit_intercept else coef

    def _finish(self, blocks: Blocks, mean: Floats, K: int) -> None:
        design = MatrixDesign(blocks)
        problem = log_problem(design, K, self.C_, self.fit_intercept, self.l1_ratio_)
        w = (mean[:, :-1] if self.fit_intercept else mean).T
        b = mean[:, -1] if self.fit_intercept else np.zeros(len(mean))
        point: Point = (w, b) if K > 2 else (w.ravel(), float(b[0]))
        factor = problem.design.weight * (1.0 if math.isinf(self.C_) else self.C_)
        if self.refit:
            with watch(self.verbose, self.tol) as show:
                solution = minimise(
                    problem,
                    by_name(self.solver, problem, self.tol),
                    tol=self.tol,
                    max_steps=self.max_iter,
                    start=point,
                    callback=show,
                )
            solution = in_precision(problem, solution, blocks.dtype, self.tol)
            point, proved = solution.point, solution.certificate
            self.n_iter_ = np.array([solution.steps], dtype=np.int32)
        else:
            proved = problem.certify(point)
            self.n_iter_ = np.array([1], dtype=np.int32)
        set_point(self, point, K, blocks.dtype)
        self.loss_, self.loss_gap_ = problem.loss, proved.gap
        self.certificate_ = proved.scaled(factor)
        self.converged_ = proved.relative_gap <= self.tol


def _scorer(scoring: Any) -> Any:
    return get_scorer(scoring) if isinstance(scoring, str) else scoring
