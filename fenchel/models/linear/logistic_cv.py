"""Logistic regression over a grid of penalties, chosen by cross-validation, one path a fold."""

from __future__ import annotations

import math
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metadata_routing import (
    UNUSED,
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)

from fenchel.convex.problem import Problem
from fenchel.data.arrays import to_numpy
from fenchel.data.blocks import Blocks
from fenchel.data.design.matrix import MatrixDesign, Point
from fenchel.data.passes.shared_pass import SharedPass
from fenchel.models.array_namespace import fit_method
from fenchel.models.cross_validation.fold_paths import FoldPaths, PathPoint, fit_path
from fenchel.models.cross_validation.folds import (
    TrainingFold,
    default_folds,
    memory_folds,
    stratified_folds,
    trained,
)
from fenchel.models.cross_validation.scoring import Scoring
from fenchel.models.labels import class_weighted, encode_labels
from fenchel.models.lasso.elastic_net_path import LOOSEST
from fenchel.models.linear.logistic import (
    PEERS,
    SOLVERS,
    LogisticClassifier,
    LogisticRegression,
    check_corners,
    level_point,
    log_problem,
    set_point,
)
from fenchel.models.progress import watch
from fenchel.models.rounding import round_point, round_solution
from fenchel.solve.minimise import minimise
from fenchel.solve.select import solver_named

Floats = NDArray[np.float64]


class LogisticRegressionCV(LogisticClassifier):
    """Logistic regression with C, and l1_ratio among several, chosen by cross-validation.

    Each fold walks the grid from the strongest penalty to the weakest; a fit starts where the
    last one ended, with its curvature. All folds walk side by side, and one pass over the rows
    serves them all. The chosen pair is refitted on all rows and certified.

    Parameters
    ----------
    Cs : int or list of floats, default 10
        A list, or how many values from 1e-4 to 1e4.
    l1_ratios : list of floats in [0, 1] or None
        0 for the L2 penalty, 1 for L1; None means (0,).
    fit_intercept : bool, default True
    cv : int, splitter or None
        None means 5 stratified folds, or as many as the largest class has rows if those are fewer.
        Tables from `scan` and dask take None or an int.
    scoring : str, callable or None
        How the folds, and `score`, are judged; None is accuracy. Rows count by their sample weight,
        not by that of their class.
    tol : float, default 1e-6
        Relative duality gap of the refit; the fits inside the folds are certified to 100 tol, at
        most 1e-4.
    max_iter, class_weight, verbose, solver : as in LogisticRegression
    refit : bool, default True
        Fit all rows with the pair whose mean score is best. False: the mean of each fold's
        coefficients at its own best pair; `C_` and `l1_ratio_` are the means of those.
    penalty : "l1" and "l2" stand for l1_ratios=(1,) and (0,); "elasticnet" asks for l1_ratios
    n_jobs : int or None
        Folds with an L1 part that are fitted at a time: None for every core.
    use_legacy_attributes : bool, default False
        True for the shapes of scikit-learn's attributes up to 1.9 (see there): `C_` and
        `l1_ratio_` arrays with one entry a class, `scores_` and `coefs_paths_` dicts by class,
        `n_iter_` (1, folds, values, ratios), without an axis of ratios where l1_ratios is None.
        scikit-learn 1.9 has that for its default, 1.10 has False.
    dual, intercept_scaling, random_state : accepted for scikit-learn's sake

    Attributes
    ----------
    C_, l1_ratio_ : float
        The chosen values. `Cs_` and `l1_ratios_` are the grids.
    scores_ : array (folds, ratios, values)
    coefs_paths_ : array (folds, ratios, values, 1 or K, d or d + 1)
    n_iter_ : array (folds, ratios, values)
        Steps of every fit in the folds; those of the refit are in `certificate_.steps`.
    gaps_ : array (folds, ratios, values)
        The proved relative gap of every fit.
    coef_, intercept_, classes_, certificate_, converged_ : of the refit
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
        l1_ratios: Any = None,
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

    __metadata_request__score: ClassVar[dict[str, Any]] = {"sample_weight": UNUSED}

    @fit_method
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any
    ) -> LogisticRegressionCV:
        """Choose C by cross-validation on rows X and labels y, then fit all rows with it.

        params go to the splitter and to the scorer where metadata routing is on.
        """
        _raise_for_params(params, self, "fit")
        self.Cs_, self.l1_ratios_ = self._grid(), self._ratios()
        self.classes_, judged = encode_labels(self, X, y, sample_weight, None)
        blocks = class_weighted(judged, self.classes_, self.class_weight)
        splitting, scoring = self._routed(judged, sample_weight, params)
        folds = self._folds(blocks, judged, splitting)
        paths = self._paths(blocks, folds, scoring)
        self.gaps_ = paths.gaps
        best = [paths.best()] * len(folds) if self.refit else paths.best_by_fold()
        chosen = [paths.coefs[fold, ratio, value] for fold, (value, ratio) in enumerate(best)]
        several = slice(0, 1 if self.refit else None)
        self.C_: Any = float(np.mean([self.Cs_[value] for value, _ in best[several]]))
        self.l1_ratio_: Any = float(np.mean([self.l1_ratios_[ratio] for _, ratio in best[several]]))
        self._finish(blocks, np.mean(chosen, axis=0), len(self.classes_))
        self._set_paths(paths)
        return self

    def _paths(
        self, blocks: Blocks, folds: list[TrainingFold], scoring: Scoring | None
    ) -> FoldPaths:
        order = np.argsort(self.Cs_, kind="stable")
        back = np.argsort(order, kind="stable")
        coefs, scores, gaps, steps = [], [], [], []
        for ratio in self.l1_ratios_.tolist():
            walks = self._walks(blocks, folds, self.Cs_[order], len(self.classes_), ratio)
            for fold, path in zip(folds, walks, strict=True):
                fits = [path[i] for i in back]
                coefs.append([self._row(fit.point) for fit in fits])
                scores.append(fold.scores([fit.point for fit in fits], scoring))
                gaps.append([fit.gap for fit in fits])
                steps.append([fit.steps for fit in fits])

        def by_fold(values: list[Any], dtype: Any = np.float64) -> NDArray[Any]:
            whole = np.array(values, dtype=dtype)
            return whole.reshape(len(self.l1_ratios_), len(folds), *whole.shape[1:]).swapaxes(0, 1)

        return FoldPaths(by_fold(coefs), by_fold(scores), by_fold(gaps), by_fold(steps, np.int32))

    def _set_paths(self, paths: FoldPaths) -> None:
        """What the fits in the folds gave, in the shapes that `use_legacy_attributes` asks for."""
        if not self.use_legacy_attributes:
            self.coefs_paths_: Any = paths.coefs
            self.scores_: Any = paths.scores
            self.n_iter_ = paths.steps
            return
        ratios = self.l1_ratios is not None
        named = self.classes_[-1:] if len(self.classes_) == 2 else self.classes_
        self.coefs_paths_, self.scores_, self.n_iter_ = paths.by_class(named, ratios=ratios)
        self.C_ = np.full(len(named), self.C_)
        self.l1_ratio_ = np.full(len(named), self.l1_ratio_)

    def _walks(
        self, blocks: Blocks, folds: list[TrainingFold], Cs: Floats, K: int, ratio: float
    ) -> list[list[PathPoint]]:
        tol = min(100.0 * self.tol, LOOSEST)

        def walk(rows: Blocks) -> list[PathPoint]:
            def build(design: MatrixDesign, C: float) -> Problem:
                return log_problem(design, K, C, self.fit_intercept, ratio)

            return fit_path(rows, Cs, build, self.solver, tol, self.max_iter)

        if ratio > 0.0:  # a solver that wants columns gains nothing from passes made together
            return trained(blocks, folds, walk, self.n_jobs)
        return SharedPass(blocks).run([walk] * len(folds), [fold.train for fold in folds])

    def _ratios(self) -> Floats:
        if self.penalty == "elasticnet" and self.l1_ratios is None:
            raise ValueError(
                "l1_ratios must hold numbers in [0, 1] for penalty='elasticnet', got None"
            )
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

    def _routed(
        self, judged: Blocks, sample_weight: Any, params: dict[str, Any]
    ) -> tuple[dict[str, Any], Scoring | None]:
        """What the splitter is given, and how the folds are judged."""
        splitting: dict[str, Any] = {}
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        if _routing_enabled():
            routed = process_routing(self, "fit", **given, **params)
            splitting, given = routed.splitter.split, dict(routed.scorer.score)
        if self.scoring is None:
            return splitting, None
        weighted = given.pop("sample_weight", None) is not None
        scorer, n = self._get_scorer(), judged.n_rows
        return splitting, Scoring(scorer, LogisticRegression, self.classes_, n, weighted, given)

    def _folds(
        self, blocks: Blocks, judged: Blocks, splitting: dict[str, Any]
    ) -> list[TrainingFold]:
        if not blocks.local:
            return stratified_folds(blocks, len(self.classes_), self.cv, judged)
        codes = to_numpy(judged.gather().y)
        codes = codes > 0 if len(self.classes_) == 2 else codes
        labels = self.classes_[codes.astype(np.int64)]
        splitter = check_cv(
            default_folds(codes) if self.cv is None else self.cv, labels, classifier=True
        )
        return [*memory_folds(blocks, splitter, labels, judged, **splitting)]

    def _get_scorer(self) -> Any:
        return get_scorer("accuracy" if self.scoring is None else self.scoring)

    def score(self, X: Any, y: Any, sample_weight: Any = None, **score_params: Any) -> float:
        """The judgement by `scoring` of rows X and labels y; score_params go to the scorer where
        metadata routing is on."""
        _raise_for_params(score_params, self, "score")
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        if _routing_enabled():
            given = process_routing(self, "score", **given, **score_params).scorer.score
        return float(self._get_scorer()(self, X, y, **given))

    def get_metadata_routing(self) -> MetadataRouter:
        """Which arguments of `fit` and `score` go to the splitter and to the scorer."""
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(
            splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split")
        )
        mapping = MethodMapping().add(caller="score", callee="score")
        return router.add(
            scorer=self._get_scorer(), method_mapping=mapping.add(caller="fit", callee="score")
        )

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
                    solver_named(self.solver, problem, self.tol),
                    tol=self.tol,
                    max_steps=self.max_iter,
                    start=point,
                    callback=show,
                )
            solution = replace(solution, point=level_point(solution.point))
            solution = round_solution(problem, solution, blocks.dtype, self.tol)
            point, proved = solution.point, solution.certificate
        else:
            proved, level = problem.certify(point), level_point(point)
            point, proved, _ = round_point(problem, level, proved, True, blocks.dtype, math.inf)
        set_point(self, point, blocks.dtype)
        self.loss_, self.loss_gap_ = problem.loss, proved.gap
        self.certificate_ = proved.scaled(factor)
        self.converged_ = proved.closed(self.tol)
