"""Linear discriminant analysis: Gaussian classes with one covariance."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from fenchel.convex.certificate import Certificate, warn_outside
from fenchel.data.blocks import Blocks
from fenchel.geometry.mahalanobis.scores import QuadraticScores
from fenchel.models.array_namespace import fit_method
from fenchel.models.certificates.certified import SelfCertified
from fenchel.models.certificates.inputs import encoded_rows
from fenchel.models.discriminant.bayes_error import BayesError, of_two_planes
from fenchel.models.discriminant.classifier import GaussianClassifier
from fenchel.models.discriminant.estimates.class_sums import ClassSums, class_coded, class_sums
from fenchel.models.discriminant.estimates.covariance import InverseRoot, root_of
from fenchel.models.discriminant.estimates.settings import check_shrinkage, priors_of, takes_parts
from fenchel.models.discriminant.estimates.shared_covariance import shared_target
from fenchel.models.discriminant.few_rows import RowSpace, row_space
from fenchel.models.discriminant.fisher.projection import projected, upright
from fenchel.models.discriminant.own_covariances import (
    as_dtype,
    forget,
    further_sums,
    in_units,
    squared_units,
)
from fenchel.models.discriminant.proof import GaussianClassesFit, generative_certificate
from fenchel.models.estimator import as_numpy
from fenchel.models.labels import LinearClassifier
from fenchel.models.rank_deficiency import RankDeficient

Floats = NDArray[np.float64]
# Columns from which eigenvectors of a covariance of rank n < d, 10 d³, take longer than all else.
WIDE = 200


class LinearDiscriminantAnalysis(
    SelfCertified,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    LinearClassifier,
    GaussianClassifier,
):
    """Linear discriminant analysis: argmax over k of log πₖ + log N(x; μₖ, Σ), which is linear.

    Between classes k and j the odds are log πₖ/πⱼ - (μₖ + μⱼ)'Σ⁻¹(μₖ - μⱼ) / 2 + x'Σ⁻¹(μₖ - μⱼ).
    Σ = Σₖ Sₖ / W, the scatter within classes over the weight (maximum likelihood), from one pass
    over the rows in any home. Cost: n d² / 2 for the pass and d³ / 2 after it; n² d in the space of
    the rows where they are fewer than the columns and nothing is shrunk.

    Parameters
    ----------
    solver : {"svd", "lsqr", "eigen"}, default "svd"
        scikit-learn's names; all give the same answer here, and all take every option.
    shrinkage : "auto", float in [0, 1] or None
        (1 - a) Σ + a (tr Σ / d) I; "auto": each class is shrunk in units of its own deviations by
        Ledoit and Wolf's choice, then they are averaged.
    priors : array of shape (K,), optional
        By default the shares of the classes.
    n_components : int, optional
        Axes that `transform` gives; by default min(K - 1, d).
    store_covariance : bool, default False
    tol : float, default 1e-4
        The smallest standard deviation along an axis, relative to 1, that counts towards the rank
        of the correlations within classes. Below full rank Σ⁻¹ is a pseudo-inverse, with a warning.
    covariance_estimator : estimator with `covariance_`, optional
        Fitted to the rows of each class, which are gathered in memory for it.

    Attributes
    ----------
    coef_, intercept_, means_, priors_, classes_, n_features_in_, feature_names_in_,
    explained_variance_ratio_ : as in scikit-learn
    covariance_ : array (d, d), if store_covariance
    scalings_, xbar_ : arrays (d, r) and (d,)
        `transform` gives (x - xbar_) @ scalings_, where the covariance within classes is I.
    rank_ : int
        Of the correlations within classes.
    certificate_ : Certificate
        Kind "exact": no other parameters have a smaller negative log-likelihood Σ sᵢ (-log π_y -
        log N(x; μ_y, Σ)). With shrinkage the covariance aimed at takes the place of Σₖ Sₖ / W in
        it, which adds an inverse Wishart prior.

    Notes
    -----
    Lecture notes sometimes write the constant of the odds as (μₖ + μⱼ)'Σ⁻¹(μₖ + μⱼ) / 2, or without
    the logarithm of πₖ/πⱼ; the formula above is right.

    scikit-learn's solvers "lsqr" and "eigen" weight the classes' covariances by `priors`, "svd" by
    their shares; here they are weighted by their shares. `partial_fit` adds rows to the moments of
    those before; parts in any order give the fit of all rows, to rounding.

    References
    ----------
    Hastie, Tibshirani, Friedman, The Elements of Statistical Learning, section 4.3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fenchel import LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearDiscriminantAnalysis().fit(X, y)
    >>> print(model.score(X, y), model.certificate_.kind, model.transform(X).shape)
    0.98 exact (150, 2)
    """

    objective = "minus the log-likelihood of Gaussian classes with one covariance"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "solver": [StrOptions({"svd", "lsqr", "eigen"})],
        "shrinkage": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both"), None],
        "priors": ["array-like", None],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "store_covariance": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "covariance_estimator": [HasMethods("fit"), None],
    }

    def __init__(
        self,
        solver: str = "svd",
        shrinkage: Any = None,
        priors: Any = None,
        n_components: int | None = None,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: Any = None,
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.n_components = n_components
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LinearDiscriminantAnalysis:
        """Fit to rows X and labels y; y may be None if X carries its target (`scan`, dask)."""
        check_shrinkage(self)
        self.classes_, blocks = class_coded(self, X, y, sample_weight)
        self._check_components()
        if self._is_wide(blocks):
            self._solve_in_rows(row_space(blocks, len(self.classes_), 0.0, self.tol), blocks)
        else:
            self._solve(class_sums(blocks, len(self.classes_), shared=takes_parts(self)), blocks)
        return self

    @available_if(takes_parts)
    @fit_method
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> LinearDiscriminantAnalysis:
        """Add rows to those fitted so far; the first call names all classes."""
        sums, blocks = further_sums(self, X, y, classes, sample_weight, shared=True)
        self._check_components()
        self._solve(sums, blocks)
        return self

    def _is_wide(self, blocks: Blocks) -> bool:
        """Whether the covariance is factored in the space of the rows, at n² d in place of d³."""
        plain = self.shrinkage is None and self.covariance_estimator is None
        return plain and blocks.n_cols >= WIDE and blocks.n_rows < blocks.n_cols

    def _check_components(self) -> None:
        most = min(len(self.classes_) - 1, self.n_features_in_)
        if self.n_components is not None and self.n_components > most:
            raise ValueError(
                f"n_components cannot be larger than min(n_features, n_classes - 1) = {most}, got "
                f"{self.n_components}"
            )

    def _solve(self, sums: ClassSums, blocks: Blocks) -> None:
        """Every fitted attribute, from the moments."""
        self.priors_ = priors_of(self, sums.weight)
        T = shared_target(self, sums, blocks)
        root = root_of(T, self.tol)
        self._check_rank(root.rank)
        e = sums.exponent
        seen = sums.weight > 0.0  # not a class named to partial_fit of which no row was seen
        middle = self.priors_ @ sums.mean
        means = np.where(seen[:, None], sums.mean, middle)
        xbar, outer = np.ldexp(middle, e), root.rescaled(e)
        self._set(sums.weight, means, root, outer, xbar, blocks.dtype)
        self.means_ = as_dtype(np.ldexp(means, e), blocks.dtype)
        if self.store_covariance:
            self.covariance_ = as_dtype(squared_units(T, sums), blocks.dtype)
        if len(sums.scatter) == 1:
            self.moments_ = (sums.weight, sums.mean, sums.scatter, e)
        self.certificate_ = self._proof(sums, T, root)

    def _solve_in_rows(self, space: RowSpace, blocks: Blocks) -> None:
        """The same, from moments in the space of the rows."""
        own, root = space.scatters, space.scatters.root
        self.priors_ = priors_of(self, own.weight)
        self._check_rank(root.rank)
        xbar, log_det = (
            space.xbar + self.priors_ @ space.apart,
            root.log_det + 2.0 * space.log_units,
        )
        outer = InverseRoot(np.ascontiguousarray(space.outward(root.R.T).T), log_det, root.rank)
        self._set(own.weight, own.mean, root, outer, xbar, blocks.dtype)
        self.means_ = as_dtype(space.means, blocks.dtype)
        if self.store_covariance:
            self.covariance_ = as_dtype(space.covariance(own.T), blocks.dtype)
        self.certificate_ = self._proof_in_rows(space)

    def _check_rank(self, rank: int) -> None:
        if rank == 0:
            raise ValueError(
                "The number of samples must be more than the number of classes: within the "
                "classes all rows are the same, and their covariance is zero"
            )
        if rank < self.n_features_in_:
            warn_outside(
                f"the covariance within classes has rank {rank} in {self.n_features_in_} columns: "
                "its pseudo-inverse is taken; choose a shrinkage, or drop columns that depend on "
                "others or do not vary within classes",
                RankDeficient,
            )

    def _set(
        self,
        weight: Floats,
        means: Floats,
        root: InverseRoot,
        outer: InverseRoot,
        xbar: Floats,
        dtype: np.dtype[Any],
    ) -> None:
        """Coefficients and axes, from weights and means of the classes and the root of Σ⁻¹ in some
        coordinates; outer: that root in the columns, xbar: the mean of the means there."""
        K = len(self.classes_)
        middle = self.priors_ @ means
        Y = (means - middle) @ root.R.T
        spread = np.sqrt(weight.sum() * self.priors_ / max(K - 1, 1))
        _, size, V = np.linalg.svd(spread[:, None] * Y, full_matrices=False)
        most = min(K - 1, self.n_features_in_)
        axes = V[size > self.tol * size[0]] if size[0] > 0.0 else V[:0]
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = size**2 / (size @ size)
            log_prior = np.log(self.priors_)
        self.explained_variance_ratio_ = as_dtype(np.nan_to_num(shares[: self._most(most)]), dtype)
        self.scalings_ = as_dtype(upright(outer.R.T @ axes.T), dtype)
        coef, level = Y @ outer.R, log_prior - 0.5 * (Y * Y).sum(axis=1)
        if K == 2:
            coef = coef[1:] - coef[:1]
            # About the middle of the two means, where equal classes tie.
            half = (means[0] - middle) + (means[1] - middle)
            level = log_prior[1:] - log_prior[:1] - 0.5 * (root.R @ half) @ (Y[1:] - Y[:1]).T
        self.coef_ = as_dtype(coef, dtype)
        self.intercept_ = as_dtype(level - coef @ xbar, dtype)
        self.xbar_ = as_dtype(xbar, dtype)
        self.rank_, self._root, self._log_det = root.rank, outer.R, outer.log_det
        forget(self, "covariance_", "moments_")

    def _most(self, most: int) -> int:
        return most if self.n_components is None else self.n_components

    @property
    def _n_features_out(self) -> int:
        most = min(len(self.classes_) - 1, self.n_features_in_)
        return min(self._most(most), self.scalings_.shape[1])

    def transform(self, X: Any) -> Any:
        """(x - xbar_) @ scalings_: rows on the axes that separate the classes best."""
        check_is_fitted(self)
        axes = self.scalings_[:, : self._n_features_out]
        return projected(self, X, self.xbar_, axes)

    def _odds(self, X: Any) -> Any:
        return self.decision_function(X)

    def _densities(self) -> QuadraticScores:
        means = np.asarray(as_numpy(self.means_), np.float64)
        with np.errstate(divide="ignore"):
            offset = np.log(np.asarray(as_numpy(self.priors_), np.float64))
        offset = offset - 0.5 * (self._log_det + self.rank_ * np.log(2.0 * np.pi))
        return QuadraticScores.of(means, np.repeat(self._root[None], len(means), axis=0), offset)

    def bayes_error(
        self, n_draws: int = 100_000, *, level: float = 0.95, random_state: Any = 0
    ) -> BayesError:
        """The error of the best rule if the fitted classes were the truth: in closed form for two
        classes, R* = π₀ Φ(t/Δ - Δ/2) + π₁ Φ(-t/Δ - Δ/2) with Δ² = (μ₁ - μ₀)'Σ⁻¹(μ₁ - μ₀) and
        t = log(π₁ / π₀), else by draws, with an interval (see `BayesError`)."""
        check_is_fitted(self)
        if len(self.classes_) > 2:
            return super().bayes_error(n_draws, level=level, random_state=random_state)
        means, priors = np.asarray(as_numpy(self.means_), np.float64), as_numpy(self.priors_)
        distance = float(np.linalg.norm(self._root @ (means[1] - means[0])))
        with np.errstate(divide="ignore"):
            odds = float(np.log(priors[1]) - np.log(priors[0]))
        return of_two_planes(distance, odds, level)

    def certify_on(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """The negative log-likelihood of the fitted parameters on these rows, and the least that
        any have; with shrinkage, that of the covariance aimed at."""
        check_is_fitted(self)
        blocks = encoded_rows(self, X, y, sample_weight)
        if self._is_wide(blocks):
            return self._proof_in_rows(row_space(blocks, len(self.classes_), 0.0, self.tol))
        sums = class_sums(blocks, len(self.classes_), shared=takes_parts(self))
        T = shared_target(self, sums, blocks)
        return self._proof(sums, T, root_of(T, self.tol))

    def _proof(self, sums: ClassSums, T: Floats, best: InverseRoot) -> Certificate:
        down = -sums.exponent
        root = InverseRoot(self._root, self._log_det, self.rank_).rescaled(down)
        means = np.ldexp(np.asarray(as_numpy(self.means_), np.float64), down)
        priors = np.asarray(as_numpy(self.priors_), np.float64)
        fitted = GaussianClassesFit.of(priors, means, [root], sums.mean)
        free = self.priors is None
        found = generative_certificate(sums.weight, [T], [best], fitted, free)
        return in_units(found, sums, best)

    def _proof_in_rows(self, space: RowSpace) -> Certificate:
        """The same in the coordinates of the rows, where densities are Π units as large."""
        own = space.scatters
        inner = self._root * space.unit @ space.V
        root = InverseRoot(inner, self._log_det - 2.0 * space.log_units, self.rank_)
        away = (space.means - np.asarray(as_numpy(self.means_), np.float64)) @ self._root.T
        priors = np.asarray(as_numpy(self.priors_), np.float64)
        fitted = GaussianClassesFit(priors, (away * away).sum(axis=1), [root])
        free = self.priors is None
        found = generative_certificate(own.weight, [own.T], [own.root], fitted, free)
        shift = float(own.weight.sum() * space.log_units)
        return replace(found, value=found.value + shift, bound=found.bound + shift)
