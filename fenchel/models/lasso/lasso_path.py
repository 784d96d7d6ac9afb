"""The lasso and the elastic net along a path of penalties."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_scalar
from sklearn.utils._param_validation import Interval, StrOptions, validate_params

from fenchel.convex.certificate import Certificate, warn_outside
from fenchel.data.design.matrix import MatrixDesign
from fenchel.models.lasso.elastic_net_path import ElasticNetPath, TargetExtent, target_rows_of
from fenchel.models.progress import watch
from fenchel.models.targets import LinearRegressor, target_rows

Floats = NDArray[np.float64]
MOST = 1000  # steps where max_iter is None
PATH = {
    "eps": [Interval(Real, 0, None, closed="neither")],
    "n_alphas": [Interval(Integral, 1, None, closed="left"), StrOptions({"deprecated"})],
    "alphas": [Interval(Integral, 1, None, closed="left"), "array-like", None],
    "precompute": [StrOptions({"auto"}), "boolean", "array-like"],
    "Xy": ["array-like", None],
    "copy_X": ["boolean"],
    "coef_init": ["array-like", None],
    "verbose": ["verbose"],
    "return_n_iter": ["boolean"],
    "positive": ["boolean"],
    "fit_intercept": ["boolean"],
    "tol": [Interval(Real, 0, None, closed="left")],
    "max_iter": [Interval(Integral, 1, None, closed="left"), None],
}
IGNORED = {"random_state", "selection", "do_screening", "check_input", "X_offset", "X_scale"}


class PathResult(tuple[Any, ...]):
    """(alphas, coefs, dual_gaps) or (alphas, coefs, dual_gaps, n_iters), as scikit-learn's.

    certificates, one for each α, and intercepts come with it.
    """

    certificates: tuple[Certificate, ...]
    intercepts: Floats


def _given(alphas: Any, n_alphas: Any) -> Any:
    """How many α, or which, with scikit-learn's warning for its old ways to say so."""
    if not isinstance(n_alphas, str):
        warn_outside(
            "'n_alphas' was deprecated in 1.9 and will be removed in 1.11 of scikit-learn: give "
            "the number as alphas",
            FutureWarning,
        )
        return n_alphas
    if alphas is None:
        warn_outside(
            "'alphas=None' is deprecated and will be removed in 1.11 of scikit-learn: leave alphas "
            "out, or give a number or values",
            FutureWarning,
        )
        return 100
    return alphas


def alphas_of(given: Any, walk: ElasticNetPath, design: MatrixDesign, eps: float) -> Floats:
    """The values of α, largest first: as given, or as many as given evenly below the largest."""
    if isinstance(given, Integral):
        return walk.grid(design, eps, int(given))
    for i, alpha in enumerate(given):
        check_scalar(alpha, f"alphas[{i}]", Real, min_val=0.0, include_boundaries="left")
    alphas = np.sort(np.asarray(given, np.float64).ravel())[::-1]
    if not len(alphas) or not np.isfinite(alphas).all():
        raise ValueError(f"alphas must hold at least one number, all of them finite, got {given}")
    return alphas


def lasso_path(
    X: Any,
    y: Any,
    *,
    eps: float = 1e-3,
    n_alphas: Any = "deprecated",
    alphas: Any = 100,
    precompute: Any = "auto",
    Xy: Any = None,
    copy_X: bool = True,
    coef_init: Any = None,
    verbose: Any = False,
    return_n_iter: bool = False,
    positive: bool = False,
    **params: Any,
) -> PathResult:
    """The lasso along decreasing penalties: `enet_path` with l1_ratio = 1.

    Parameters
    ----------
    X, y : the rows and one target
    eps, alphas, coef_init, return_n_iter, positive, verbose : as in `enet_path`
    **params : fit_intercept, sample_weight, tol and max_iter, as in `enet_path`
    n_alphas, precompute, Xy, copy_X : as in `enet_path`

    Returns
    -------
    Path : as `enet_path`

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fenchel import lasso_path
    >>> X, y = load_diabetes(return_X_y=True)
    >>> path = lasso_path(X, y - y.mean(), alphas=20)
    >>> alphas, coefs, gaps = path
    >>> coefs.shape, max(c.relative_gap for c in path.certificates) <= 1e-6
    ((10, 20), True)
    """
    if "l1_ratio" in params:
        raise ValueError("lasso_path has no l1_ratio: use enet_path")
    return enet_path(
        X,
        y,
        l1_ratio=1.0,
        eps=eps,
        n_alphas=n_alphas,
        alphas=alphas,
        precompute=precompute,
        Xy=Xy,
        copy_X=copy_X,
        coef_init=coef_init,
        verbose=verbose,
        return_n_iter=return_n_iter,
        positive=positive,
        **params,
    )


@validate_params(
    {**PATH, "l1_ratio": [Interval(Real, 0, 1, closed="both")]}, prefer_skip_nested_validation=True
)
def enet_path(
    X: Any,
    y: Any,
    *,
    l1_ratio: float = 0.5,
    eps: float = 1e-3,
    n_alphas: Any = "deprecated",
    alphas: Any = 100,
    precompute: Any = "auto",
    Xy: Any = None,
    copy_X: bool = True,
    coef_init: Any = None,
    verbose: Any = False,
    return_n_iter: bool = False,
    positive: bool = False,
    fit_intercept: bool = False,
    sample_weight: Any = None,
    tol: float = 1e-6,
    max_iter: int | None = 1000,
    **params: Any,
) -> PathResult:
    """The elastic net along decreasing penalties, every point of the path with its certificate.

    min over w of Σ sᵢ(yᵢ - xᵢ·w)²/(2Σs) + αρ|w|₁ + α(1 - ρ)|w|²/2 for each α, ρ = l1_ratio

    Each fit begins where the last one ended.

    Parameters
    ----------
    X, y : the rows and one target
    l1_ratio : float in [0, 1]
    eps : float
        The smallest α over the largest, where alphas is a number of them.
    alphas : int or array
        How many, or which. n_alphas is its old name, as in scikit-learn on its way out.
    coef_init : array, where the first fit begins
    return_n_iter : whether the steps of each fit come fourth
    positive : whether no coefficient may be negative
    fit_intercept : bool, default False
        As in scikit-learn there is no intercept here; True for one that is not penalised.
    sample_weight : array, optional
    tol : float
        Relative duality gap of every point.
    max_iter : int
    verbose : 1 shows the gap while fitting
    precompute, Xy, copy_X, check_input, random_state, selection : ignored, as in `ElasticNet`

    Returns
    -------
    Path : tuple (alphas, coefs, dual_gaps[, n_iters])
        coefs has shape (d, number of alphas). Its `certificates` are one for each α, in the
        objective above, and its `intercepts` too.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fenchel import enet_path
    >>> X, y = load_diabetes(return_X_y=True)
    >>> path = enet_path(X, y, l1_ratio=0.8, alphas=[0.1, 1.0], fit_intercept=True)
    >>> path[0], path.intercepts.round(1), path.certificates[1].relative_gap <= 1e-6
    (array([1. , 0.1]), array([152.1, 152.1]), True)
    """
    unknown = sorted(set(params) - IGNORED)
    if unknown:
        raise ValueError(f"Unexpected parameters in params: {', '.join(unknown)}")
    blocks = target_rows(LinearRegressor(), X, y, sample_weight)
    extent: TargetExtent = blocks.reduce(TargetExtent.of)
    if extent.targets > 1:
        raise ValueError(
            f"y has {extent.targets} targets and a path is that of one: call it for each column"
        )
    steps = MOST if max_iter is None else max_iter
    walk = ElasticNetPath(l1_ratio, fit_intercept, positive, tol, steps, extent.exponent)
    column = 0 if extent.columns else None
    design = MatrixDesign(target_rows_of(blocks, column, walk.exponent))
    values = alphas_of(_given(alphas, n_alphas), walk, design, eps)
    start = None
    if coef_init is not None:
        start = walk.backwards((np.asarray(coef_init, np.float64).ravel(), 0.0))
        if len(start[0]) != blocks.n_cols:
            raise ValueError(f"coef_init has {len(start[0])} entries, X has {blocks.n_cols}")
    with watch(verbose, tol) as show:
        fits = walk.fits(design, values, start, blocks.dtype, show)
    coefs = np.stack([fit.w for fit in fits], axis=-1).astype(blocks.dtype)
    gaps = np.array([fit.certificate.gap for fit in fits])
    parts = (values, coefs[None] if extent.columns else coefs, gaps)
    path = PathResult((*parts, [max(1, fit.steps) for fit in fits]) if return_n_iter else parts)
    path.certificates = tuple(fit.certificate for fit in fits)
    path.intercepts = np.array([fit.b for fit in fits])
    return path
