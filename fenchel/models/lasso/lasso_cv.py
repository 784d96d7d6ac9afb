"""The lasso and the elastic net with their penalty chosen by cross-validation, one path a fold."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.validation import column_or_1d

from fenchel.data.blocks import Blocks
from fenchel.data.design.matrix import MatrixDesign
from fenchel.models.array_namespace import fit_method
from fenchel.models.cross_validation.folds import (
    TrainingFold,
    contiguous_folds,
    memory_folds,
    squared_errors,
    trained,
)
from fenchel.models.estimator import as_numpy, is_remote
from fenchel.models.lasso.elastic_net_path import (
    LOOSEST,
    ElasticNetPath,
    Fit,
    TargetExtent,
    target_rows_of,
)
from fenchel.models.lasso.lasso import fit_each
from fenchel.models.lasso.lasso_path import PathResult, alphas_of, enet_path, lasso_path
from fenchel.models.targets import LinearRegressor, target_rows

Floats = NDArray[np.float64]


class ElasticNetCV(LinearRegressor):
    """The elastic net with α, and l1_ratio among several, chosen by cross-validation.

    Each fold walks down its α's, every fit begun where the last one ended and certified; the
    chosen pair is refitted on all rows and certified as by `ElasticNet`. Of tables from `scan` and
    dask only the columns at work are ever held.

    Parameters
    ----------
    l1_ratio : float or list of floats in [0, 1], default 0.5
    eps : float
        The smallest α over the largest, where alphas is a number of them.
    alphas : int or list of floats, default 100
        How many for each l1_ratio, or which.
    fit_intercept : bool, default True
    max_iter : int, default 1000
        Steps of the solver in each fit.
    tol : float, default 1e-6
        Relative duality gap of the refit; the fits inside the folds are certified to 100 tol, at
        most 1e-4.
    cv : int, splitter, iterable or None
        None means 5 folds. Tables from `scan` and dask take None or an int.
    verbose : int
        1 shows the gap of the refit.
    n_jobs : int or None
        Folds fitted at a time, in threads: None for every core. The answer is the same for all.
    positive : bool
        Whether no coefficient may be negative.
    precompute, copy_X, random_state, selection : ignored, as in `ElasticNet`

    Attributes
    ----------
    alpha_, l1_ratio_, alphas_, mse_path_ : as in scikit-learn
        The mean over the folds of each fold's weighted mean squared error decides.
    gaps_ : array, shaped as mse_path_
        The proved relative gap of every fit inside the folds.
    coef_, intercept_, n_iter_, dual_gap_, certificate_, converged_, history_ : of the refit, as
        in `ElasticNet`
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fenchel import ElasticNetCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ElasticNetCV(l1_ratio=[0.5, 1.0], alphas=20).fit(X, y)
    >>> model.mse_path_.shape, model.l1_ratio_, model.converged_
    ((2, 20, 5), 1.0, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "l1_ratio": [Interval(Real, 0, 1, closed="both"), "array-like"],
        "eps": [Interval(Real, 0, None, closed="neither")],
        "alphas": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "fit_intercept": ["boolean"],
        "precompute": [StrOptions({"auto"}), "array-like", "boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "copy_X": ["boolean"],
        "cv": ["cv_object"],
        "verbose": ["verbose"],
        "n_jobs": [Integral, None],
        "positive": ["boolean"],
        "random_state": ["random_state"],
        "selection": [StrOptions({"cyclic", "random"})],
    }

    def __init__(
        self,
        *,
        l1_ratio: Any = 0.5,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        precompute: Any = "auto",
        max_iter: int = 1000,
        tol: float = 1e-6,
        cv: Any = None,
        copy_X: bool = True,
        verbose: Any = 0,
        n_jobs: int | None = None,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
    ) -> None:
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.copy_X = copy_X
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection

    @staticmethod
    def path(X: Any, y: Any, **params: Any) -> PathResult:
        """`enet_path`, which scikit-learn keeps here too."""
        return enet_path(X, y, **params)

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> ElasticNetCV:
        """Choose on rows X and target y, then fit all rows; params go to the splitter where
        metadata routing is on."""
        _raise_for_params(params, self, "fit")
        ratios = self._ratios()
        blocks = self._rows(X, y, sample_weight)
        extent: TargetExtent = blocks.reduce(TargetExtent.of)
        if extent.targets > 1:
            raise ValueError(f"y has {extent.targets} targets: fit a model for each column")
        rows = target_rows_of(blocks, 0 if extent.columns else None, extent.exponent)
        walks = [self._walk(ratio, extent.exponent) for ratio in ratios]
        whole = MatrixDesign(rows)
        alphas = [alphas_of(self.alphas, walk, whole, self.eps) for walk in walks]
        folds = self._folds(rows, params)

        def job(part: Blocks) -> list[list[Fit]]:
            design = MatrixDesign(part)
            return [walk.fits(design, a) for walk, a in zip(walks, alphas, strict=True)]

        errors, gaps = [], []
        for fold, paths in zip(folds, trained(rows, folds, job, self.n_jobs), strict=True):
            points = [walks[0].backwards((fit.w, fit.b)) for path in paths for fit in path]
            errors.append(np.reshape(squared_errors(fold.test, points), (len(ratios), -1)))
            gaps.append([[fit.certificate.relative_gap for fit in path] for path in paths])
        mean = np.mean(errors, axis=0)  # (ratios, alphas)
        which, best = np.unravel_index(int(np.argmin(mean)), mean.shape)
        with np.errstate(over="ignore", under="ignore"):
            self.mse_path_ = np.squeeze(np.ldexp(np.stack(errors, axis=2), 2 * extent.exponent))
        self.gaps_ = np.squeeze(np.moveaxis(np.array(gaps), 0, 2))
        shared = len(ratios) == 1 or not isinstance(self.alphas, Integral)
        self.alphas_ = alphas[0] if shared else np.array(alphas)
        self.alpha_ = float(alphas[which][best])
        self._set_ratio(ratios[which])
        fit_each(self, blocks, self.alpha_, ratios[which], verbose=self.verbose)
        return self

    def _ratios(self) -> list[float]:
        try:
            ratios = np.atleast_1d(np.asarray(self.l1_ratio, np.float64)).ravel()
        except (TypeError, ValueError):
            ratios = np.zeros(0)
        if not len(ratios) or not ((ratios >= 0.0) & (ratios <= 1.0)).all():
            raise ValueError(f"l1_ratio must hold numbers in [0, 1], got {self.l1_ratio}")
        return [float(ratio) for ratio in ratios]

    def _set_ratio(self, ratio: float) -> None:
        self.l1_ratio_ = ratio

    def _rows(self, X: Any, y: Any, sample_weight: Any) -> Blocks:
        if y is not None and not is_remote(X) and np.ndim(as_numpy(y)) == 2:
            flat = as_numpy(y)
            y = column_or_1d(flat, warn=True) if flat.shape[1] == 1 else flat
        return target_rows(self, X, y, sample_weight)

    def _walk(self, ratio: float, exponent: int) -> ElasticNetPath:
        tol = min(100.0 * self.tol, LOOSEST)
        polish = 0  # what is kept of a fold is a mean over its rows
        return ElasticNetPath(
            ratio, self.fit_intercept, self.positive, tol, self.max_iter, exponent, polish
        )

    def _folds(self, rows: Blocks, params: dict[str, Any]) -> list[TrainingFold]:
        if not rows.local:
            return contiguous_folds(rows, self.cv)
        routed: dict[str, Any] = {}
        if _routing_enabled():
            routed = process_routing(self, "fit", **params).splitter.split
        return [*memory_folds(rows, check_cv(self.cv), **routed)]

    def get_metadata_routing(self) -> MetadataRouter:
        """Which arguments of `fit` go to the splitter."""
        mapping = MethodMapping().add(caller="fit", callee="split")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(splitter=check_cv(self.cv), method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = True
        tags.target_tags.multi_output = False
        return tags


class LassoCV(ElasticNetCV):
    """The lasso with α chosen by cross-validation.

    Each fold walks down its α's, every fit begun where the last one ended and certified; the
    chosen α is refitted on all rows and certified as by `Lasso`. Of tables from `scan` and dask
    only the columns at work are ever held.

    Parameters
    ----------
    eps, alphas, fit_intercept, max_iter, tol, cv, verbose, n_jobs, positive : as in `ElasticNetCV`
    precompute, copy_X, random_state, selection : ignored, as in `ElasticNet`

    Attributes
    ----------
    alpha_, alphas_, mse_path_ : as in scikit-learn
    gaps_ : array, shaped as mse_path_
        The proved relative gap of every fit inside the folds.
    coef_, intercept_, n_iter_, dual_gap_, certificate_, converged_, history_ : of the refit, as
        in `Lasso`
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fenchel import LassoCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LassoCV(alphas=20).fit(X, y)
    >>> model.mse_path_.shape, bool(model.gaps_.max() <= 1e-4), model.converged_
    ((20, 5), True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        name: allowed
        for name, allowed in ElasticNetCV._parameter_constraints.items()
        if name != "l1_ratio"
    }

    def __init__(
        self,
        *,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        precompute: Any = "auto",
        max_iter: int = 1000,
        tol: float = 1e-6,
        copy_X: bool = True,
        cv: Any = None,
        verbose: Any = False,
        n_jobs: int | None = None,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
    ) -> None:
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.copy_X = copy_X
        self.cv = cv
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection

    @staticmethod
    def path(X: Any, y: Any, **params: Any) -> PathResult:
        """`lasso_path`, which scikit-learn keeps here too."""
        return lasso_path(X, y, **params)

    def _ratios(self) -> list[float]:
        return [1.0]

    def _set_ratio(self, ratio: float) -> None:
        """There is none to choose."""
