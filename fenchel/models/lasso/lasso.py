"""The lasso and the elastic net."""

from __future__ import annotations

from functools import reduce
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from fenchel.convex.certificate import Certificate, summed_history
from fenchel.data.arrays import to_numpy
from fenchel.data.blocks import Blocks
from fenchel.data.design.matrix import MatrixDesign, Point
from fenchel.models.array_namespace import fit_method
from fenchel.models.estimator import sparse_rows
from fenchel.models.lasso.elastic_net_path import ElasticNetPath, Fit, TargetExtent, target_rows_of
from fenchel.models.lasso.lasso_path import MOST, PathResult, enet_path
from fenchel.models.progress import watch
from fenchel.models.targets import LinearRegressor, set_coefficients, target_rows

Floats = NDArray[np.float64]


class ElasticNet(LinearRegressor):
    """The elastic net: min over (w, b) of Σ sᵢ(yᵢ - xᵢ·w - b)²/(2Σs) + αρ|w|₁ + α(1 - ρ)|w|²/2.

    ρ = l1_ratio. scikit-learn's parameters and objective; every fit carries `certificate_`, a
    proof of how far it is from the optimum. Several targets are fitted one by one.

    Parameters
    ----------
    alpha : float, default 1
        Strength of the penalty; 0 for least squares.
    l1_ratio : float in [0, 1], default 0.5
        1 for the lasso, 0 for ridge regression.
    fit_intercept : bool, default True
        The intercept is not penalised.
    max_iter : int or None, default 1000
        Steps of the solver.
    tol : float, default 1e-6
        Relative duality gap to reach.
    warm_start : bool
        Start from the last fit's coefficients.
    positive : bool
        Whether no coefficient may be negative.
    precompute, copy_X, random_state, selection : ignored
        X is never changed, nothing is random, and the solver knows when a Gram matrix pays.

    Attributes
    ----------
    coef_, intercept_, sparse_coef_, n_features_in_, feature_names_in_ : as in scikit-learn
    n_iter_ : int, or list of one for each target
        Steps of the solver, at least one.
    dual_gap_ : float, or array of one for each target
        value - bound of the objective above: what an optimum could still gain.
    certificate_ : Certificate
        On the objective above, summed over the targets.
    converged_ : bool
        Whether every target's relative gap is at most tol.
    history_ : tuple of Certificate
        One a step.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fenchel import ElasticNet
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ElasticNet(alpha=0.01, l1_ratio=0.7).fit(X, y)
    >>> model.converged_, model.certificate_.relative_gap <= 1e-6
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "fit_intercept": ["boolean"],
        "precompute": ["boolean", "array-like"],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "copy_X": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "positive": ["boolean"],
        "random_state": ["random_state"],
        "selection": [StrOptions({"cyclic", "random"})],
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        precompute: Any = False,
        max_iter: int | None = 1000,
        copy_X: bool = True,
        tol: float = 1e-6,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.copy_X = copy_X
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection

    @staticmethod
    def path(X: Any, y: Any, **params: Any) -> PathResult:
        """`enet_path`, which scikit-learn keeps here too."""
        return enet_path(X, y, **params)

    @fit_method
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, check_input: bool = True
    ) -> ElasticNet:
        """Fit to rows X and targets y; y may be None if X (scan, dask) carries its target.

        check_input is there for scikit-learn's sake: the rows are checked in any case.
        """
        blocks = target_rows(self, X, y, sample_weight)
        fit_each(self, blocks, float(self.alpha), float(self.l1_ratio), self._last(blocks))
        return self

    def _last(self, blocks: Blocks) -> list[Point] | None:
        """The previous fit as a start for each target, where it has the table's columns."""
        if not self.warm_start or "coef_" not in self.__dict__:
            return None
        W = np.atleast_2d(to_numpy(self.coef_))
        # Coefficients set by hand may come without an intercept.
        b = np.broadcast_to(to_numpy(vars(self).get("intercept_", 0.0)), len(W)).astype(np.float64)
        return list(zip(W, b.tolist(), strict=True)) if W.shape[1] == blocks.n_cols else None

    @property
    def sparse_coef_(self) -> Any:
        """coef_ as a sparse matrix of one row for each target, of the type that scikit-learn's
        configuration asks for (`sparse_interface`)."""
        return sparse_rows(self.coef_)


class Lasso(ElasticNet):
    """The lasso: min over (w, b) of Σ sᵢ(yᵢ - xᵢ·w - b)²/(2Σs) + α|w|₁.

    scikit-learn's parameters and objective; every fit carries `certificate_`, a proof of how far
    it is from the optimum. Several targets are fitted one by one.

    Parameters
    ----------
    alpha : float, default 1
        Strength of the penalty; 0 for least squares.
    fit_intercept, max_iter, tol, warm_start, positive : as in `ElasticNet`
    precompute, copy_X, random_state, selection : ignored, as in `ElasticNet`

    Attributes
    ----------
    coef_, intercept_, sparse_coef_, n_iter_, dual_gap_, certificate_, converged_, history_ :
        as in `ElasticNet`
    n_features_in_, feature_names_in_ : as in scikit-learn

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fenchel import Lasso
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = Lasso(alpha=1.0).fit(X, y)
    >>> model.converged_, int((model.coef_ != 0.0).sum())
    (True, 3)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        name: allowed
        for name, allowed in ElasticNet._parameter_constraints.items()
        if name != "l1_ratio"
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        precompute: Any = False,
        copy_X: bool = True,
        max_iter: int | None = 1000,
        tol: float = 1e-6,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
    ) -> None:
        super().__init__(
            alpha,
            l1_ratio=1.0,
            fit_intercept=fit_intercept,
            precompute=precompute,
            copy_X=copy_X,
            max_iter=max_iter,
            tol=tol,
            warm_start=warm_start,
            positive=positive,
            random_state=random_state,
            selection=selection,
        )


def fit_each(
    estimator: Any,
    blocks: Blocks,
    alpha: float,
    ratio: float,
    starts: list[Point] | None = None,
    verbose: Any = False,
) -> None:
    """One fit for each target, and the attributes that tell of them."""
    extent: TargetExtent = blocks.reduce(TargetExtent.of)
    walk = ElasticNetPath(
        ratio,
        estimator.fit_intercept,
        estimator.positive,
        estimator.tol,
        MOST if estimator.max_iter is None else estimator.max_iter,
        extent.exponent,
    )
    fits: list[Fit] = []
    with watch(verbose, walk.tol) as show:
        for k in range(extent.targets):
            rows = target_rows_of(blocks, k if extent.columns else None, walk.exponent)
            start = walk.backwards(starts[k]) if starts and len(starts) == extent.targets else None
            fits += walk.fits(MatrixDesign(rows), [alpha], start, blocks.dtype, show)
    W, b = np.stack([fit.w for fit in fits], axis=1), np.array([fit.b for fit in fits])
    set_coefficients(estimator, W, b, not extent.columns, blocks.dtype, ravel=True)
    estimator.certificate_ = reduce(Certificate.__add__, (fit.certificate for fit in fits))
    estimator.history_ = tuple(summed_history([fit.history for fit in fits]))
    estimator.converged_ = all(fit.converged for fit in fits)
    gaps, steps = [fit.certificate.gap for fit in fits], [max(1, fit.steps) for fit in fits]
    estimator.dual_gap_ = gaps[0] if len(fits) == 1 else np.array(gaps)
    estimator.n_iter_ = steps[0] if len(fits) == 1 else steps
