"""Regularised discriminant analysis: covariances between pooled and own, towards the identity."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from fenchel.convex.certificate import Certificate
from fenchel.data.blocks import Blocks
from fenchel.models.array_namespace import fit_method
from fenchel.models.certificates.certified import SelfCertified
from fenchel.models.certificates.inputs import encoded_rows
from fenchel.models.discriminant.estimates.class_sums import ClassSums, class_coded, class_sums
from fenchel.models.discriminant.estimates.covariance import shrunk_in_units
from fenchel.models.discriminant.estimates.settings import priors_of
from fenchel.models.discriminant.estimates.shared_covariance import unit_of_identity
from fenchel.models.discriminant.leave_one_out import DiscriminantsLeftOut, left_out
from fenchel.models.discriminant.own_covariances import OwnCovariances, further_sums

Floats = NDArray[np.float64]


def friedman_targets(sums: ClassSums, lam: float, gamma: float) -> list[Floats]:
    """Σₖ(λ, γ) of each class, in the units of the sums."""
    own = (1.0 - lam) * sums.scatter + lam * sums.within
    weight = (1.0 - lam) * sums.weight + lam * sums.weight.sum()
    unit = unit_of_identity(sums)
    return [
        shrunk_in_units(S / (w if w > 0.0 else 1.0), gamma, unit)
        for S, w in zip(own, weight, strict=True)
    ]


class RegularizedDiscriminantAnalysis(SelfCertified, OwnCovariances):
    """Friedman's regularised discriminant analysis: Gaussian classes with covariances Σₖ(λ, γ).

    Σₖ(λ) = ((1 - λ) Sₖ + λ Σⱼ Sⱼ) / ((1 - λ) Wₖ + λ W),
    Σₖ(λ, γ) = (1 - γ) Σₖ(λ) + γ (tr Σₖ(λ) / d) I,

    with the scatters Sₖ and weights Wₖ of the classes, from one pass over the rows in any home.
    λ = 0, γ = 0 is quadratic, λ = 1, γ = 0 linear discriminant analysis, γ = 1 a rule by distances
    to the means. A covariance that is singular all the same is shrunk with a warning, as by
    `QuadraticDiscriminantAnalysis`.

    Parameters
    ----------
    lam : float in [0, 1], default 0.5
        From each class's own covariance to the pooled one.
    gamma : float in [0, 1], default 0
        Towards a multiple of the identity.
    priors : array of shape (K,), optional
        By default the shares of the classes.
    store_covariance : bool, default False
    tol : float, default 1e-4
        The smallest standard deviation along an axis, relative to 1, that counts towards the rank
        of the class's correlations.

    Attributes
    ----------
    classes_, means_, priors_, covariance_, rotations_, scalings_, ranks_, repairs_,
    n_features_in_, feature_names_in_ : as of `QuadraticDiscriminantAnalysis`
    certificate_ : Certificate
        Kind "exact": Σₖ Wₖ (-log πₖ + (log |Σₖ| + tr Σₖ⁻¹Tₖ + (mₖ - μₖ)'Σₖ⁻¹(mₖ - μₖ)
        + d log 2π) / 2) with Tₖ = Σₖ(λ, γ) of the data is least at the fitted parameters; at
        λ = γ = 0 it is the negative log-likelihood.

    References
    ----------
    Friedman, Regularized Discriminant Analysis, Journal of the American Statistical Association,
    1989.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from fenchel import RegularizedDiscriminantAnalysis
    >>> X, y = load_wine(return_X_y=True)
    >>> model = RegularizedDiscriminantAnalysis(lam=0.25).fit(X, y)
    >>> print(f"{model.score(X, y):.3f} {model.certificate_.kind}")
    1.000 exact
    """

    objective = (
        "minus the log-likelihood of Gaussian classes, with regularised covariances in the place "
        "of those of the rows"
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "lam": [Interval(Real, 0, 1, closed="both")],
        "gamma": [Interval(Real, 0, 1, closed="both")],
        "priors": ["array-like", None],
        "store_covariance": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        lam: float = 0.5,
        gamma: float = 0.0,
        *,
        priors: Any = None,
        store_covariance: bool = False,
        tol: float = 1e-4,
    ) -> None:
        self.lam = lam
        self.gamma = gamma
        self.priors = priors
        self.store_covariance = store_covariance
        self.tol = tol

    @fit_method
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> RegularizedDiscriminantAnalysis:
        """Fit to rows X and labels y; y may be None if X carries its target (`scan`, dask)."""
        self.classes_, blocks = class_coded(self, X, y, sample_weight)
        self._solve(class_sums(blocks, len(self.classes_), shared=False), blocks)
        return self

    @fit_method
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> RegularizedDiscriminantAnalysis:
        """Add rows to those fitted so far; the first call names all classes."""
        self._solve(*further_sums(self, X, y, classes, sample_weight, shared=False))
        return self

    def _targets(self, sums: ClassSums, blocks: Blocks) -> Sequence[Floats]:
        return friedman_targets(sums, float(self.lam), float(self.gamma))

    def certify_on(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """The objective of `certificate_` on these rows, at the fitted parameters and at its
        least."""
        check_is_fitted(self)
        blocks = encoded_rows(self, X, y, sample_weight)
        return self._certificate(class_sums(blocks, len(self.classes_), shared=False), blocks)


class RegularizedDiscriminantAnalysisCV(SelfCertified, OwnCovariances):
    """Regularised discriminant analysis with λ and γ chosen by leaving each row out in turn.

    For every pair of the grid the error is that of n fits to n - 1 rows, exactly: leaving a row out
    changes each scatter by a rank-one term, and in the eigenvectors of (1 - λ) Sⱼ + λ Σ S each
    left-out covariance is a diagonal less a rank-one matrix. Cost: two passes, and for each λ and
    class a product n d², for each γ besides n d. Least error is best; of ties the least loss -log
    P(y | x), then the strongest regularisation. Pairs for which a covariance is singular once a row
    is left out are not admitted.

    Parameters
    ----------
    lams, gammas : sequences of floats in [0, 1]
        The grid; by default Friedman's.
    priors, store_covariance, tol : as of `RegularizedDiscriminantAnalysis`

    Attributes
    ----------
    lam_, gamma_ : float
        The pair chosen.
    errors_, losses_ : arrays of shape (λ, γ)
        Leave-one-out error and mean of -log P(y | x); infinite where a pair is not admitted.
    classes_, means_, priors_, covariance_, rotations_, scalings_, ranks_, repairs_, certificate_,
    n_features_in_, feature_names_in_ : as of `RegularizedDiscriminantAnalysis`

    Notes
    -----
    A row of weight s stands for s rows, of which one is left out; all of it where s < 1.

    References
    ----------
    Friedman, Regularized Discriminant Analysis, Journal of the American Statistical Association,
    1989.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fenchel import RegularizedDiscriminantAnalysisCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RegularizedDiscriminantAnalysisCV().fit(X, y)
    >>> print(model.lam_, model.gamma_, f"{model.errors_.min():.3f}")
    0.354 0.0 0.020
    """

    objective = (
        "minus the log-likelihood of Gaussian classes, with regularised covariances in the place "
        "of those of the rows"
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "lams": ["array-like"],
        "gammas": ["array-like"],
        "priors": ["array-like", None],
        "store_covariance": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        lams: Any = (0.0, 0.125, 0.354, 0.65, 1.0),
        gammas: Any = (0.0, 0.25, 0.5, 0.75, 1.0),
        *,
        priors: Any = None,
        store_covariance: bool = False,
        tol: float = 1e-4,
    ) -> None:
        self.lams = lams
        self.gammas = gammas
        self.priors = priors
        self.store_covariance = store_covariance
        self.tol = tol

    @fit_method
    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> RegularizedDiscriminantAnalysisCV:
        """Fit to rows X and labels y; y may be None if X carries its target (`scan`, dask)."""
        lams, gammas = _grid("lams", self.lams), _grid("gammas", self.gammas)
        self.classes_, blocks = class_coded(self, X, y, sample_weight)
        sums = class_sums(blocks, len(self.classes_), shared=False)
        given = None if self.priors is None else priors_of(self, sums.weight, warn=False)
        found = left_out(blocks, sums, lams, gammas, given)
        i, j = _best(found, lams, gammas)
        self.lam_, self.gamma_ = float(lams[i]), float(gammas[j])
        self.errors_, self.losses_ = found.errors, found.losses
        self._solve(sums, blocks)
        return self

    def _targets(self, sums: ClassSums, blocks: Blocks) -> Sequence[Floats]:
        return friedman_targets(sums, self.lam_, self.gamma_)

    def certify_on(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """As of `RegularizedDiscriminantAnalysis`, for the λ and γ chosen."""
        check_is_fitted(self)
        blocks = encoded_rows(self, X, y, sample_weight)
        return self._certificate(class_sums(blocks, len(self.classes_), shared=False), blocks)


def _grid(name: str, values: Any) -> Floats:
    grid = np.asarray(values, dtype=np.float64)
    if grid.ndim != 1 or not len(grid):
        raise ValueError(f"{name} must be a list of numbers, got shape {grid.shape}")
    bad = grid[~((grid >= 0.0) & (grid <= 1.0))]
    if len(bad):
        raise ValueError(f"{name} must lie in [0, 1], got {bad[0]}")
    return grid


def _best(found: DiscriminantsLeftOut, lams: Floats, gammas: Floats) -> tuple[int, int]:
    """The pair of least error; of ties that of least loss, then of the largest λ and γ."""
    least = found.errors.min()
    if not np.isfinite(least):
        raise ValueError(
            "with every lam and gamma of the grid some covariance is singular once a row is left "
            "out: add a gamma above 0"
        )
    near = found.errors <= least + 1e-12  # shares of the weight, equal but for rounding
    loss = np.where(near, found.losses, np.inf)
    if np.isfinite(loss.min()):
        near &= loss <= loss.min() * (1.0 + 1e-12)
    pairs = [(float(lams[i]), float(gammas[j]), i, j) for i, j in np.argwhere(near).tolist()]
    return max(pairs)[2:]
