"""Quadratic discriminant analysis: Gaussian classes, each with a covariance of its own."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from fenchel.convex.certificate import Certificate
from fenchel.data.blocks import Blocks
from fenchel.models.array_namespace import fit_method
from fenchel.models.certificates.certified import SelfCertified
from fenchel.models.certificates.inputs import encoded_rows
from fenchel.models.discriminant.estimates.class_sums import (
    ClassSums,
    class_coded,
    class_sums,
    scaled,
)
from fenchel.models.discriminant.estimates.covariance import ledoit_wolf_shares, shrunk_in_units
from fenchel.models.discriminant.estimates.settings import (
    check_shrinkage,
    own_estimates,
    takes_parts,
)
from fenchel.models.discriminant.estimates.shared_covariance import unit_of_identity
from fenchel.models.discriminant.own_covariances import OwnCovariances, further_sums

Floats = NDArray[np.float64]


class QuadraticDiscriminantAnalysis(SelfCertified, OwnCovariances):
    """Quadratic discriminant analysis: argmax over k of log πₖ + log N(x; μₖ, Σₖ).

    Σₖ = Sₖ / Wₖ, the scatter of class k over its weight (maximum likelihood), from one pass over
    the rows in any home; (1 - r) Σₖ + r I with `reg_param` = r, (1 - a) Σₖ + a (tr Σₖ / d) I with
    `shrinkage` = a. A class whose covariance is singular is shrunk by the oracle approximating
    rule, in units of the deviations within classes, with a warning that names the class and its
    rank: scikit-learn refuses it. Cost: n d² / 2 for the pass, K d³ after it, K d² / 2 a row to
    predict.

    Parameters
    ----------
    solver : {"svd", "eigen"}, default "svd"
        scikit-learn's names; both give the same answer here, and both take every option.
    shrinkage : "auto", float in [0, 1] or None
        "auto": Ledoit and Wolf's choice for each class, in units of its own deviations.
    priors : array of shape (K,), optional
        By default the shares of the classes.
    reg_param : float in [0, 1], default 0
    store_covariance : bool, default False
    tol : float, default 1e-4
        The smallest standard deviation along an axis, relative to 1, that counts towards the rank
        of the class's correlations.
    covariance_estimator : estimator with `covariance_`, optional
        Fitted to the rows of each class, which are gathered in memory for it.

    Attributes
    ----------
    classes_, means_, priors_, n_features_in_, feature_names_in_ : as in scikit-learn
    covariance_ : list of K arrays (d, d), if store_covariance
    rotations_, scalings_ : lists of K arrays (d, d) and (d,)
        Axes of each class and the variances along them, the largest first.
    ranks_ : array of shape (K,)
        Of the covariances before any repair.
    repairs_ : array of shape (K,)
        The shrinkage that a singular covariance was given, 0 where there was none.
    certificate_ : Certificate
        Kind "exact": no other parameters have a smaller negative log-likelihood Σ sᵢ (-log π_y -
        log N(x; μ_y, Σ_y)). With shrinkage the covariance aimed at takes the place of Sₖ / Wₖ in
        it, which adds an inverse Wishart prior.

    Notes
    -----
    Covariances are factored in correlations of columns, so that no scale of a column decides what
    is singular: scikit-learn's `tol` is absolute. `partial_fit` adds rows to the moments of those
    before; parts in any order give the fit of all rows, to rounding.

    References
    ----------
    Hastie, Tibshirani, Friedman, The Elements of Statistical Learning, section 4.3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fenchel import QuadraticDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> model = QuadraticDiscriminantAnalysis().fit(X, y)
    >>> print(model.score(X, y), model.certificate_.kind)
    0.98 exact
    """

    objective = (
        "minus the log-likelihood of Gaussian classes, with regularised covariances in the place "
        "of those of the rows"
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "solver": [StrOptions({"svd", "eigen"})],
        "shrinkage": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both"), None],
        "priors": ["array-like", None],
        "reg_param": [Interval(Real, 0, 1, closed="both")],
        "store_covariance": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "covariance_estimator": [HasMethods("fit"), None],
    }

    def __init__(
        self,
        *,
        solver: str = "svd",
        shrinkage: Any = None,
        priors: Any = None,
        reg_param: float = 0.0,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: Any = None,
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.reg_param = reg_param
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator

    @fit_method
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> QuadraticDiscriminantAnalysis:
        """Fit to rows X and labels y; y may be None if X carries its target (`scan`, dask)."""
        check_shrinkage(self)
        self.classes_, blocks = class_coded(self, X, y, sample_weight)
        sums = class_sums(blocks, len(self.classes_), shared=False)
        self._solve(sums, blocks)
        return self

    @available_if(takes_parts)
    @fit_method
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> QuadraticDiscriminantAnalysis:
        """Add rows to those fitted so far; the first call names all classes."""
        check_shrinkage(self)
        sums, blocks = further_sums(self, X, y, classes, sample_weight, shared=False)
        self._solve(sums, blocks)
        return self

    def _targets(self, sums: ClassSums, blocks: Blocks) -> Sequence[Floats]:
        weight = np.where(sums.weight > 0.0, sums.weight, 1.0)
        S = sums.scatter / weight[:, None, None]
        if self.covariance_estimator is not None:
            S = own_estimates(self, sums, blocks)
        elif self.shrinkage == "auto":
            rows = scaled(blocks, sums.exponent)
            shares, unit = ledoit_wolf_shares(rows, weight, sums.mean, sums.scatter)
            S = np.array([shrunk_in_units(*each) for each in zip(S, shares, unit, strict=True)])
        elif self.shrinkage is not None:
            unit = unit_of_identity(sums)
            S = np.array([shrunk_in_units(one, self.shrinkage, unit) for one in S])
        if self.reg_param > 0.0:
            S = (1.0 - self.reg_param) * S
            S[:, range(S.shape[1]), range(S.shape[1])] += self.reg_param * np.ldexp(
                1.0, -2 * sums.exponent
            )
        return list(S)

    def certify_on(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """The negative log-likelihood of the fitted parameters on these rows, and the least that
        any have; with shrinkage, that of the covariances aimed at."""
        check_is_fitted(self)
        blocks = encoded_rows(self, X, y, sample_weight)
        return self._certificate(class_sums(blocks, len(self.classes_), shared=False), blocks)
