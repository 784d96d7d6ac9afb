"""Linear least squares to full accuracy, with what inference needs."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.utils._param_validation import Interval

from fenchel.data.arrays import is_sparse, to_float64, to_numpy
from fenchel.data.blocks import Blocks
from fenchel.models.array_namespace import fit_method
from fenchel.models.rank_deficiency import dependence_named_later, refit_scores, warn_dependent
from fenchel.models.rounding import squares_in_precision
from fenchel.models.targets import LinearRegressor, set_coefficients, target_rows
from fenchel.solve.least_squares.nnls import nonnegative
from fenchel.solve.least_squares.ridge import squares_certificate, warn_not_certified
from fenchel.solve.least_squares.solve import LeastSquares, check_representable, least_squares

Floats = NDArray[np.float64]
_SINGULAR = 1000  # the largest min(n, d) whose singular values are worth their time


class LinearRegression(LinearRegressor):
    """Least squares: min over (w, b) of Σ sᵢ (yᵢ - xᵢ·w - b)².

    scikit-learn's parameters and objective, to the accuracy of the data: ill-conditioned columns
    are orthogonalised and the answer is refined in twice the working precision. No column is
    dropped in silence: where some depend on others the coefficients are those of least norm, and
    `RankDeficient` names the columns.

    Parameters
    ----------
    fit_intercept : bool, default True
    copy_X : ignored, X is never changed
    tol : float, default 1e-6
        Relative gap up to which `converged_` is true; the solver always goes as far as it can.
    n_jobs : ignored
        Passes over the data use every core: see `fenchel.data.threads`.
    positive : bool
        Whether no coefficient may be negative.

    Attributes
    ----------
    coef_, intercept_, n_features_in_, feature_names_in_ : as in scikit-learn
    rank_ : int
        Of the columns, centred if there is an intercept; not set where conjugate gradients were
        used (sparse tables of thousands of columns) or with positive=True.
    singular_ : array of min(n, d)
        Singular values of the same columns times √sᵢ, largest first; not set for more than 1000.
    coef_std_, intercept_std_, residual_std_ : arrays or floats, None where undefined
        Standard errors and the residual standard deviation √(rss / degrees of freedom), weights
        taken as inverse variances.
    r2_ : float or array, None with positive=True
        1 - rss/tss, about the mean if there is an intercept or columns that span one.
    certificate_ : Certificate
        On the objective above, summed over the targets.
    converged_ : bool
        Whether the certificate's relative gap is at most tol.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import LinearRegression
    >>> X = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> model = LinearRegression().fit(X, [2.1, 3.9, 6.1, 7.9])
    >>> model.coef_.round(3), model.coef_std_.round(3)
    (array([1.96]), array([0.057]))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "fit_intercept": ["boolean"],
        "copy_X": ["boolean"],
        "n_jobs": [None, Integral],
        "positive": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        tol: float = 1e-6,
        n_jobs: int | None = None,
        positive: bool = False,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.tol = tol
        self.n_jobs = n_jobs
        self.positive = positive

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LinearRegression:
        """Fit to rows X and targets y; y may be None if X carries its target (`scan`, dask)."""
        blocks = target_rows(self, X, y, sample_weight)
        for name in ("rank_", "singular_"):
            self.__dict__.pop(name, None)
        if self.positive:
            self._fit_positive(blocks)
        else:
            self._fit_free(blocks)
        self.converged_ = self.certificate_.closed(self.tol)
        return self

    def _fit_free(self, blocks: Blocks) -> None:
        found = least_squares(blocks, self.fit_intercept)
        check_representable(blocks, found.coef)
        flat = found.coef.ndim == 1
        w, b = found.coef.reshape(blocks.n_cols, -1), np.atleast_1d(found.intercept)
        set_coefficients(self, w, b, flat, blocks.dtype, ravel=False)
        self.certificate_ = squares_in_precision(
            blocks, w, b, 0.0, squares_certificate(blocks, found, self.fit_intercept)
        )
        known = found.dof > 0 and found.method in ("gram", "orthogonal")
        self.coef_std_ = found.bse.T if known else None
        self.intercept_std_ = _number(found.intercept_bse) if known and self.fit_intercept else None
        self.residual_std_ = _number(found.scale) if found.dof > 0 else None
        # Nothing to explain and nothing left of it.
        self.r2_ = _number(np.where(np.isfinite(found.r2), found.r2, 1.0))
        if found.rank is not None:
            self.rank_ = found.rank
        singular = _singular(blocks, found, self.fit_intercept)
        if singular is not None:
            self.singular_ = singular
        dependent = found.dependent and self.certificate_.kind == "estimate"
        if not self.certificate_.closed(self.tol) and not dependent:
            warn_not_certified(self.certificate_, self.tol)
        if found.dependent:
            warn_dependent(blocks, found)

    def _fit_positive(self, blocks: Blocks) -> None:
        with dependence_named_later():
            found = nonnegative(blocks, 0.0, self.fit_intercept, self.tol)
        if found.certificate.kind == "estimate":
            point = (found.w, found.b) if found.w.shape[1] > 1 else (found.w[:, 0], found.b[0])
            warn_dependent(blocks, refit_scores(blocks, point, self.fit_intercept))
        set_coefficients(self, found.w, found.b, found.flat, blocks.dtype, ravel=False)
        self.certificate_ = squares_in_precision(blocks, found.w, found.b, 0.0, found.certificate)
        self.coef_std_ = self.intercept_std_ = self.residual_std_ = self.r2_ = None


def _number(x: Any) -> Any:
    """A float for a single target, an array for several."""
    return float(x) if np.ndim(x) == 0 else np.asarray(x)


def _singular(blocks: Blocks, found: LeastSquares, intercept: bool) -> Floats | None:
    """The singular values of √s (x - m), or None where they would cost more than the fit."""
    size = min(blocks.n_rows, blocks.n_cols)
    if size > _SINGULAR:
        return None
    if found.method in ("gram", "orthogonal"):
        values = _reciprocals(found.root) if found.rank else np.zeros(0)
    elif found.method == "dual":
        held = blocks.gather()
        X = to_float64(held.X)
        X = to_numpy(X.toarray() if is_sparse(X) else X)
        s = np.ones(len(X)) if held.weight is None else to_numpy(held.weight)
        if intercept:
            X = X - s @ X / s.sum()
        with np.errstate(over="ignore", under="ignore"):
            values = linalg.svdvals(np.sqrt(s)[:, None] * X)
    else:
        return None
    if not np.isfinite(values).all():  # columns more unlike than float64 can hold
        return None
    return np.append(values, np.zeros(max(0, size - len(values))))[:size]


def _reciprocals(F: Floats) -> Floats:
    """1/σ for the singular values of F, each right to its own digits."""
    values, _, _, work, _, _ = linalg.lapack.dgejsv(F, joba=0, jobu=3, jobv=3)
    with np.errstate(divide="ignore"):
        return np.asarray(work[1] / work[0] / values)[::-1]
