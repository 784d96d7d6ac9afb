"""Principal component analysis."""

from __future__ import annotations

import math
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from fenchel.convex.certificate import Certificate
from fenchel.data.arrays import is_sparse, to_numpy
from fenchel.data.blocks import Block, Blocks
from fenchel.data.moments.class_moments import Moments
from fenchel.data.validation import check_finite
from fenchel.models.array_namespace import as_known, fit_method
from fenchel.models.certificates.certified import SelfCertified
from fenchel.models.estimator import Estimator, validated_blocks
from fenchel.models.spectral.gaussian_subspace import GaussianSubspace, likely_dimension
from fenchel.models.spectral.output_rows import rows_out, working_type
from fenchel.models.spectral.principal_axes import (
    PrincipalAxes,
    Route,
    of_scatter,
    principal_axes,
    route_of,
)
from fenchel.models.spectral.scatter import (
    Scatter,
    ScatterProducts,
    Weights,
    trace_of,
    weights_of,
)
from fenchel.solve.eigen.residual import EPS, lengths

Floats = NDArray[np.float64]
ROUTES: dict[str, Route] = {
    "full": "full",
    "covariance_eigh": "covariance",
    "arpack": "products",
    "randomized": "randomized",
}


class PCA(SelfCertified, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """Principal component analysis: the directions of largest variance.

    S = Σ sᵢ (xᵢ - m)(xᵢ - m)',   S v = λ v,   z = V'(x - m)

    Of all projections P of rank k, that onto the first k components leaves the least of the rows,
    Σ sᵢ |(I - P)(xᵢ - m)|² = λ_{k+1} + … + λ_d. One pass over the rows, wherever they lie, unless
    they are few, wide, or sparse with very many columns.

    Parameters
    ----------
    n_components : int, float, "mle" or None, default None
        None: min(n, d). A float between 0 and 1: as many as hold that share of the variance. "mle":
        the dimension that Minka's approximation of the evidence favours.
    copy : bool, default True
        For compatibility: rows are never changed.
    whiten : bool, default False
        Divide each coordinate by its standard deviation (sphered, or normalised, projections).
    svd_solver : {"auto", "full", "covariance_eigh", "arpack", "randomized"}, default "auto"
        "full": singular values of the rows, which keep the digits of the smallest. "covariance_
        eigh": eigenvectors of S, one pass. "arpack": block Krylov on products with S, to `tol`.
        "randomized": so many products, whose residual `certificate_` states. "auto": by shape: full
        for small tables, covariance for tall ones, X X' for wide ones, else products.
    tol : float, default 0.0
        Residual |Sv - λv| / |S| of "arpack"; 0: 1e-10.
    iterated_power : int or "auto", default "auto"
        Products of "randomized"; "auto": 7.
    n_oversamples : int, default 10
        Columns beyond n_components in "randomized".
    power_iteration_normalizer, random_state
        For compatibility: Krylov bases are always orthonormal, and start from a fixed block.

    Attributes
    ----------
    components_ : array of shape (n_components_, d)
        Orthonormal rows, the largest entry of each positive; rows of no variance complete them.
    explained_variance_ : array of shape (n_components_,)
        λ / (n - 1); weights that are whole numbers count rows, n = Σ s, others compare them.
    explained_variance_ratio_ : array of shape (n_components_,)
        λ / tr S; zero where all columns are constant.
    singular_values_ : array of shape (n_components_,)
        √λ.
    mean_, n_components_, n_samples_, noise_variance_, n_features_in_, feature_names_in_
        As in scikit-learn; noise_variance_ is the mean of the variances left out.
    variables_ : array of shape (d, n_components_)
        X'U = VS: the columns in the coordinates of the rows' unit vectors U. On standardised
        columns these are their correlations with the components, times √(n - 1).
    certificate_ : Certificate
        Of kind "eigen": what the projection leaves over (the squared Frobenius error of the rows of
        rank n_components_), the least possible, and the largest residual |Sv - λv| / |S|.
    converged_ : bool
        Whether that residual is at most 1e-6.

    Notes
    -----
    A lecture that writes the coordinates as x·v means (x - m)·v. Sums are made in float64.

    References
    ----------
    Eckart and Young, Psychometrika 1 (1936). Tipping and Bishop, Probabilistic principal component
    analysis, J. Royal Stat. Soc. B 61 (1999). Minka, Automatic choice of dimensionality for PCA,
    NIPS (2000).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fenchel import PCA
    >>> X = load_iris().data
    >>> model = PCA(n_components=2).fit(X)
    >>> model.explained_variance_ratio_.round(3).tolist()
    [0.925, 0.053]
    >>> model.transform(X[:1]).round(3).tolist(), model.certificate_.closed(1e-12)
    ([[-2.684, 0.319]], True)
    """

    _sums: tuple[float, Floats, Floats, int]  # of partial_fit: weight, mean, scatter, rows
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [
            Interval(Integral, 0, None, closed="left"),
            Interval(RealNotInt, 0, 1, closed="neither"),
            StrOptions({"mle"}),
            None,
        ],
        "copy": ["boolean"],
        "whiten": ["boolean"],
        "svd_solver": [StrOptions({"auto", *ROUTES})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "iterated_power": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")],
        "n_oversamples": [Interval(Integral, 1, None, closed="left")],
        "power_iteration_normalizer": [StrOptions({"auto", "QR", "LU", "none"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: Any = None,
        *,
        copy: bool = True,
        whiten: bool = False,
        svd_solver: str = "auto",
        tol: float = 0.0,
        iterated_power: int | str = "auto",
        n_oversamples: int = 10,
        power_iteration_normalizer: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.copy = copy
        self.whiten = whiten
        self.svd_solver = svd_solver
        self.tol = tol
        self.iterated_power = iterated_power
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer
        self.random_state = random_state

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> PCA:
        """Find the components of the rows X, which have weight sample_weight; y is ignored."""
        # A scatter of rows that all have weight tells of NaN and infinity itself.
        blocks = validated_blocks(self, X, None, sample_weight, finite=sample_weight is not None)
        weights = weights_of(blocks)
        most = self._most(weights, blocks.n_cols)
        few = isinstance(self.n_components, Integral)
        route = ROUTES.get(self.svd_solver) or route_of(
            blocks, few and 4 * int(self.n_components) < most
        )
        if route != "covariance":
            check_finite(blocks)
        k = int(self.n_components) if few else most
        steps = 7 if self.iterated_power == "auto" else int(self.iterated_power)
        axes = principal_axes(
            blocks, max(k, 1), route, tol=self.tol, steps=steps, guard=int(self.n_oversamples)
        )
        self.__dict__.pop("_sums", None)
        return self._record(axes, weights, k, working_type(blocks))

    @fit_method
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> PCA:
        """Add these rows to those of the calls before, and find the components of all of them.

        Weight, mean and scatter of the parts merge without loss; d² memory. y is ignored.
        """
        first = "_sums" not in self.__dict__
        blocks = validated_blocks(self, X, None, sample_weight, reset=first)
        with np.errstate(over="ignore", invalid="ignore"):
            new: Moments = blocks.reduce(Moments.of)
        seen, rows = weights_of(blocks), 0
        if not first:
            weight, mean, S, rows = self._sums
            new = Moments(weight, mean, S) + new
        if not np.isfinite(new.scatter).all():
            raise ValueError(
                "squares of these rows leave the range of floats, in which parts are added up: "
                "scale the columns, or fit all rows at once"
            )
        self._sums = (float(new.weight), new.mean, new.scatter, rows + seen.rows)
        weights = Weights(float(new.weight), rows + seen.rows)
        most = min(weights.rows, blocks.n_cols)
        few = isinstance(self.n_components, Integral)
        k = min(int(self.n_components), most) if few else most
        axes = of_scatter(Scatter(new.mean, new.scatter, 0), max(k, 1))
        return self._record(axes, weights, k, working_type(blocks))

    def _most(self, weights: Weights, d: int) -> int:
        """min(n, d), after the requests that it cannot grant are refused."""
        n, asked = weights.rows, self.n_components
        most = min(n, d)
        if n < 2:
            raise ValueError(f"PCA needs at least 2 rows with weight, got {n} sample: add rows")
        if isinstance(asked, Integral) and int(asked) > most:
            raise ValueError(
                f"n_components={asked} must be between 0 and min(n_samples, n_features)={most} "
                f"(n={n} rows, d={d} columns): lower n_components"
            )
        if asked == "mle" and n < d:
            raise ValueError(
                f"n_components='mle' needs at least as many rows as columns, got {n} and {d}: "
                "give a number or a share of the variance"
            )
        if self.svd_solver in ("arpack", "randomized") and isinstance(asked, str | float):
            raise ValueError(
                f"n_components={asked!r} needs all eigenvalues, which svd_solver="
                f"{self.svd_solver!r} does not find: take 'full' or 'covariance_eigh'"
            )
        return most

    def _record(self, axes: PrincipalAxes, weights: Weights, k: int, dtype: Any) -> PCA:
        values, asked = axes.values, self.n_components
        freedom = weights.freedom
        d = len(axes.mean)
        if asked == "mle":
            k = likely_dimension(values[: min(weights.rows, d)] / max(freedom, 1.0), weights.rows)
        elif asked is not None and not isinstance(asked, Integral):
            held = np.cumsum(values) / axes.total if axes.total > 0.0 else np.ones(len(values))
            k = min(int(np.searchsorted(held, float(asked), side="right")) + 1, k)
        axes = replace(axes, vectors=axes.vectors[:, :k], residuals=axes.residuals[:k])
        own = values[:k]
        unit = math.ldexp(1.0, max(min(2 * axes.exponent, 1020), -1070))
        self.components_ = axes.vectors.T.astype(dtype)
        with np.errstate(over="ignore", under="ignore"):
            variance = np.ldexp(own / freedom, 2 * axes.exponent) if freedom > 0.0 else 0.0 * own
            self.explained_variance_ = _narrowed(variance, dtype)
            self.singular_values_ = np.ldexp(np.sqrt(own), axes.exponent).astype(dtype)
            self.mean_ = axes.mean.astype(dtype)
        share = own / axes.total if axes.total > 0.0 else np.zeros(k)
        self.explained_variance_ratio_ = share.astype(dtype)
        rest = min(weights.rows, d) - k
        left = float(values[k:].sum()) if axes.complete else max(axes.total - own.sum(), 0.0)
        noise = left / rest / freedom * unit if rest > 0 and freedom > 0.0 else 0.0
        self.noise_variance_ = float(_narrowed(np.float64(noise), dtype))
        self.n_components_ = k
        self.n_samples_ = weights.rows
        self.certificate_ = axes.certificate
        self.converged_ = self.certificate_.closed(1e-6)
        return self

    @property
    def variables_(self) -> NDArray[Any]:
        """X'U = VS, (d, n_components_)."""
        check_is_fitted(self)
        return np.asarray(to_numpy(self.components_).T * to_numpy(self.singular_values_))

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def transform(self, X: Any) -> Any:
        """The coordinates V'(x - m) of each row, over their standard deviations with whiten."""
        check_is_fitted(self)
        blocks = validated_blocks(self, X, reset=False)
        dtype = working_type(blocks)
        W = to_numpy(as_known(self.components_)).T
        mean = to_numpy(as_known(self.mean_))
        if self.whiten:
            W = W * _inverse_roots(to_numpy(as_known(self.explained_variance_)))
        W, mean = np.asarray(W, dtype), np.asarray(mean, dtype)

        def project(block: Block) -> NDArray[Any]:
            X = block.X
            if is_sparse(X):
                return np.asarray(X @ W - mean @ W, dtype)
            rows = np.asarray(to_numpy(X), dtype)
            # Not XW - mW: of a large offset that would leave its rounding.
            return np.asarray((rows - mean) @ W)

        return rows_out(X, blocks, project)

    def inverse_transform(self, X: Any) -> Any:
        """The rows that have these coordinates: the nearest points of the affine space."""
        check_is_fitted(self)
        from fenchel.data.intake import as_blocks

        Z = as_blocks(as_known(X))
        k = self.n_components_
        if Z.n_cols != k:
            raise ValueError(f"X has {Z.n_cols} coordinates, and {k} components were fitted")
        W = to_numpy(as_known(self.components_))
        if self.whiten:
            W = W * np.sqrt(to_numpy(as_known(self.explained_variance_)))[:, None]
        mean = to_numpy(as_known(self.mean_))
        dtype = working_type(Z)

        def back(block: Block) -> NDArray[Any]:
            rows = block.X.toarray() if is_sparse(block.X) else to_numpy(block.X)
            return np.asarray(rows @ W + mean, dtype)

        return rows_out(X, Z, back)

    def _density(self) -> GaussianSubspace:
        check_is_fitted(self)
        return GaussianSubspace(
            to_numpy(as_known(self.components_)),
            np.asarray(to_numpy(as_known(self.explained_variance_)), np.float64),
            float(self.noise_variance_),
        )

    def get_covariance(self) -> Floats:
        """V(Λ - σ²)V' + σ²I, the covariance of probabilistic PCA."""
        return self._density().covariance()

    def get_precision(self) -> Floats:
        """The inverse of get_covariance(), by the inversion lemma."""
        return self._density().precision()

    def score_samples(self, X: Any) -> Any:
        """The log-density of each row under N(m, V(Λ - σ²)V' + σ²I)."""
        density = self._density()
        blocks = validated_blocks(self, X, reset=False)
        mean = to_numpy(as_known(self.mean_))

        def of_block(block: Block) -> NDArray[Any]:
            rows = block.X.toarray() if is_sparse(block.X) else to_numpy(block.X)
            return density.log_density(np.asarray(rows, np.float64) - mean)

        return rows_out(X, blocks, of_block)

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log-density of the rows; y is ignored."""
        return float(np.mean(to_numpy(self.score_samples(X))))

    def certify_on(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """What the fitted components leave over of these rows, the least that as many could, and
        how far they are from being eigenvectors of their scatter."""
        check_is_fitted(self)
        blocks = validated_blocks(self, X, None, sample_weight, reset=False)
        return _certified(blocks, to_numpy(as_known(self.components_)).T.astype(np.float64))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _certified(blocks: Blocks, V: Floats) -> Certificate:
    """The certificate of any orthonormal directions on any rows."""
    k = V.shape[1]
    few = 4 * k < min(blocks.n_rows, blocks.n_cols)
    route = route_of(blocks, few)
    best = principal_axes(blocks, max(k, 1), route)
    S = ScatterProducts(blocks, best.mean, best.exponent)
    V = np.linalg.qr(V)[0] if k else V
    image = S @ V if k else V
    held = np.einsum("ij,ij->j", V, image)
    total = trace_of(blocks, best.mean, best.exponent)
    T = V.T @ image
    size = float(best.values.max(initial=0.0))
    off = float(lengths(image - V @ T).max(initial=0.0)) / size if size > 0.0 else 0.0
    value = max(total - float(held.sum()), 0.0)
    proof = replace(best, total=total, vectors=best.vectors[:, :k]).certificate
    rounding = 2.0 * EPS * math.sqrt(max(blocks.n_rows, blocks.n_cols))
    return replace(
        proof,
        value=max(best.outside(value), proof.bound),
        residual=off + rounding,
    )


def _narrowed(values: Any, dtype: Any) -> NDArray[Any]:
    """In the precision of the rows, unless that has no room for their squares."""
    values = np.asarray(values)
    room = float(np.abs(values).max(initial=0.0)) <= float(np.finfo(dtype).max)
    return values.astype(dtype) if room else values


def _inverse_roots(variance: Floats) -> Floats:
    """1/√variance, and 0 along directions of none: rows have no coordinate there."""
    sizes = np.sqrt(np.asarray(variance, np.float64))
    return np.divide(1.0, sizes, out=np.zeros_like(sizes), where=sizes > 0.0)
