"""Huber's regression: robust against outliers, its scale found with the coefficients."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from fenchel.convex.certificate import Certificate, warn_outside
from fenchel.convex.concomitant_scale import ScalePoint
from fenchel.convex.convergence import NotCertified
from fenchel.data.arrays import to_float64, to_numpy
from fenchel.data.blocks import Block, Blocks
from fenchel.data.design.block_products import forward
from fenchel.models.array_namespace import fit_method
from fenchel.models.rank_deficiency import refit_scores, warn_dependent
from fenchel.models.rounding import warn_rounded
from fenchel.models.targets import SingleTarget, set_coefficients, single_rows
from fenchel.solve.robust.huber import DENSE, ScaleFit, huber


class VanishingScale(UserWarning):
    """Too many rows lie on one plane for a scale to exist; the message says what to do."""


class HuberRegressor(SingleTarget):
    """Robust regression: min over (w, b, σ > 0) of Σ sᵢ(σ + σH(rᵢ/σ)) + α|w|², r = y - x·w - b.

    H(t) = t² for |t| ≤ ε, 2ε|t| - ε² beyond

    scikit-learn's parameters and objective: the scale σ makes ε a number of standard deviations,
    whatever the units of y. Newton's method in all unknowns together; every fit carries
    `certificate_`. Where more than 1 - 1/ε² of the rows lie on one plane (45 in a hundred for the
    default ε; any exact fit) the objective only falls as σ goes to zero: `VanishingScale` says so,
    and the coefficients are those of that limit, 2ε Σ sᵢ|rᵢ| + α|w|².

    Parameters
    ----------
    epsilon : float, at least 1, default 1.35
        Residuals beyond ε σ count as outliers.
    max_iter : int, default 100
        Newton steps.
    alpha : float, default 0.0001
        Strength of the penalty; 0 for none.
    warm_start : bool
        Whether to begin at the last fit's answer.
    fit_intercept : bool, default True
    tol : float, default 1e-6
        Relative duality gap to reach.

    Attributes
    ----------
    coef_, intercept_, n_features_in_, feature_names_in_ : as in scikit-learn
    scale_ : float
        σ.
    outliers_ : array of n bool
        Whether |rᵢ| > ε σ.
    n_iter_ : int
    certificate_ : Certificate
        On the objective above.
    converged_ : bool
        Whether the certificate's relative gap is at most tol.
    history_ : tuple of Certificate
        One a step; those of kind "estimate" prove nothing.

    References
    ----------
    Huber, Robust Statistics (1981), section 7.8; Owen (2007).

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import HuberRegressor
    >>> X = np.arange(20.0)[:, None]
    >>> y = 3.0 * X[:, 0] + 1.0 + np.sin(np.arange(20))
    >>> y[3] = 1000.0
    >>> model = HuberRegressor().fit(X, y)
    >>> model.coef_.round(1), bool(model.outliers_[3]), model.converged_
    (array([3.]), True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "epsilon": [Interval(Real, 1.0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0.0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        epsilon: float = 1.35,
        max_iter: int = 100,
        alpha: float = 0.0001,
        warm_start: bool = False,
        fit_intercept: bool = True,
        tol: float = 1e-6,
    ) -> None:
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.alpha = alpha
        self.warm_start = warm_start
        self.fit_intercept = fit_intercept
        self.tol = tol

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> HuberRegressor:
        """Fit to rows X and targets y; y may be None if X carries its target (`scan`, dask)."""
        blocks = single_rows(self, X, y, sample_weight)
        found = huber(
            blocks,
            float(self.epsilon),
            float(self.alpha),
            self.fit_intercept,
            tol=self.tol,
            max_steps=self.max_iter,
            start=self._last(blocks) if self.warm_start else None,
        )
        at = found.at if self.alpha > 0.0 else _shortest(blocks, found.at, self.fit_intercept)
        set_coefficients(self, at.w[:, None], np.array([at.b]), True, blocks.dtype, ravel=True)
        self.scale_ = at.sigma
        self.n_iter_ = found.steps
        self.certificate_ = _as_returned(self, blocks, at, found)
        self.converged_ = found.converged and self.certificate_.closed(self.tol)
        self.history_ = (*found.history[:-1], self.certificate_)
        self.outliers_ = _outliers(blocks, at, float(self.epsilon))
        if found.vanished:
            share = 1.0 - self.epsilon**-2
            warn_outside(
                f"scale_={at.sigma:.2g} is zero but for rounding: {100.0 * share:.0f}% of the rows "
                "or more lie on one plane, so the residuals of the others have no scale. The fit "
                "is that of least absolute deviations; raise epsilon or alpha, or drop columns, "
                "for one with a scale",
                VanishingScale,
            )
        return self

    def _last(self, blocks: Blocks) -> ScalePoint | None:
        w = to_numpy(vars(self).get("coef_", np.zeros(0)))
        if w.shape != (blocks.n_cols,) or "scale_" not in vars(self):
            return None
        return ScalePoint(w, float(vars(self).get("intercept_", 0.0)), float(self.scale_))


def _shortest(blocks: Blocks, at: ScalePoint, intercept: bool) -> ScalePoint:
    """Among the coefficients with the same scores those of least norm, where columns depend on
    others."""
    if blocks.n_cols > DENSE:
        return at
    found = refit_scores(blocks, (at.w, at.b), intercept)
    if not found.dependent:
        return at
    warn_dependent(blocks, found)
    return ScalePoint(found.coef, float(np.ravel(found.intercept)[0]), at.sigma)


def _as_returned(
    model: HuberRegressor, blocks: Blocks, at: ScalePoint, found: ScaleFit
) -> Certificate:
    """The proof with the value at the coefficients as they are returned."""
    w, b = to_numpy(model.coef_).astype(np.float64), float(model.intercept_)
    if np.array_equal(w, found.at.w) and b == found.at.b:
        return found.certificate
    final = found.certified_at(ScalePoint(w, b, at.sigma))
    if found.certificate.closed(model.tol) and not final.closed(model.tol):
        warn_rounded(final, blocks.dtype, model.tol)
    return final


def certify_huber(model: Any, blocks: Blocks, w: NDArray[np.float64], b: float) -> Certificate:
    """The gap of a fitted model: its own value, and the bound of the problem solved anew."""
    eps, alpha = float(model.epsilon), float(model.alpha)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCertified)
        found = huber(blocks, eps, alpha, model.fit_intercept, tol=1e-9)
    return found.certified_at(ScalePoint(w, b, float(model.scale_)))


def _outliers(blocks: Blocks, at: ScalePoint, eps: float) -> NDArray[np.bool_]:
    def stat(block: Block) -> tuple[NDArray[np.bool_]]:
        X = to_float64(block.X)
        r = to_numpy(to_float64(block.y) - forward(X, at.w)) - at.b
        return (np.abs(r) > eps * at.sigma,)

    return np.concatenate(blocks.reduce(stat))
