"""Fisher's linear discriminant: the axes that set class means apart, relative to the classes."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from fenchel.convex.certificate import Certificate, warn_outside
from fenchel.data.blocks import Blocks
from fenchel.models.array_namespace import fit_method
from fenchel.models.certificates.certified import SelfCertified
from fenchel.models.certificates.inputs import encoded_rows
from fenchel.models.discriminant.estimates.class_sums import ClassSums, class_coded, class_sums
from fenchel.models.discriminant.estimates.covariance import root_of
from fenchel.models.discriminant.estimates.shared_covariance import unit_of_identity
from fenchel.models.discriminant.few_rows import RowSpace, row_space
from fenchel.models.discriminant.fisher.axes import Scatters, fisher_axes, fisher_certificate
from fenchel.models.discriminant.fisher.projection import projected, upright
from fenchel.models.discriminant.own_covariances import as_dtype, forget, further_sums
from fenchel.models.estimator import as_numpy
from fenchel.models.labels import LinearClassifier
from fenchel.models.rank_deficiency import RankDeficient

Floats = NDArray[np.float64]


class FisherDiscriminant(
    SelfCertified, ClassNamePrefixFeaturesOutMixin, TransformerMixin, LinearClassifier
):
    """Fisher's discriminant: axes u of S_B u = λ (S_W + ρI) u with the largest λ.

    S_W = Σₖ Σᵢ sᵢ (xᵢ - mₖ)(xᵢ - mₖ)' / W, i in class k, W = Σ sᵢ,
    S_B = Σₖ (wₖ / W) (mₖ - m)(mₖ - m)', ρ = ridge · tr S_W / d.

    A row is given the class whose mean is nearest on the axes, the first of those that tie; no
    distribution is assumed. Of two classes there is one axis, of direction (S_W + ρI)⁻¹(m₂ - m₁),
    and the threshold lies half-way between the means. Cost: one pass of n d² / 2 over the rows in
    any home and d³; n² d in the space of the rows where they are fewer than the columns.

    Parameters
    ----------
    n_components : int, optional
        Axes; by default all, min(K - 1, d) unless means coincide.
    ridge : float, default 0
        ρ relative to the mean variance within classes. Where it is 0 and S_W singular, S_W⁻¹ is a
        pseudo-inverse in columns of unit variance, with a warning.
    tol : float, default 1e-4
        Without a ridge: the smallest standard deviation along an axis, relative to 1, that counts
        towards the rank of the correlations within classes.

    Attributes
    ----------
    scalings_, xbar_ : arrays (d, axes) and (d,)
        `transform` gives (x - xbar_) @ scalings_, where S_W + ρI is I.
    eigenvalues_ : array of shape (axes,)
        λ: the variance between the classes on each axis over that within.
    explained_variance_ratio_ : array of shape (axes,)
        λ over the sum of all.
    coef_, intercept_ : arrays (1 or K, d) and (1 or K,)
        Of two classes coef_ is the direction above.
    means_, classes_, rank_, n_features_in_, feature_names_in_ :
        rank_ is that of S_W + ρI, among the directions in which the rows vary.
    certificate_ : Certificate
        Kind "eigen": value -J(U), J(U) = tr((U'TU)⁻¹U'S_B U) with T = S_W + ρI; bound: no axes of
        this number have a smaller one (none is stated where T is singular); residual
        |S_B u - λTu| / λ₁ in the norm of T⁻¹.

    Notes
    -----
    With ridge=0 the axes are those of `LinearDiscriminantAnalysis`, and the rule is its own for
    equal priors. `partial_fit` adds rows to the moments of those before.

    References
    ----------
    Fisher, The use of multiple measurements in taxonomic problems, Annals of Eugenics, 1936.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fenchel import FisherDiscriminant
    >>> X, y = load_iris(return_X_y=True)
    >>> model = FisherDiscriminant().fit(X, y)
    >>> model.eigenvalues_.round(3).tolist(), model.transform(X).shape
    ([32.192, 0.285], (150, 2))
    >>> print(model.score(X, y), model.certificate_.closed(1e-9))
    0.98 True
    """

    objective = "minus the ratio of the variances between and within the classes, summed over axes"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "ridge": [Interval(Real, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self, n_components: int | None = None, *, ridge: float = 0.0, tol: float = 1e-4
    ) -> None:
        self.n_components = n_components
        self.ridge = ridge
        self.tol = tol

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> FisherDiscriminant:
        """Fit to rows X and labels y; y may be None if X carries its target (`scan`, dask)."""
        self.classes_, blocks = class_coded(self, X, y, sample_weight)
        check_components(self, self.n_features_in_)
        forget(self, "moments_")
        if blocks.n_rows < blocks.n_cols:
            space = row_space(blocks, len(self.classes_), float(self.ridge), self.tol)
            self._set_in_rows(space, blocks.dtype)
        else:
            self._solve(class_sums(blocks, len(self.classes_), shared=True), blocks)
        return self

    @fit_method
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> FisherDiscriminant:
        """Add rows to those fitted so far; the first call names all classes."""
        sums, blocks = further_sums(self, X, y, classes, sample_weight, shared=True)
        check_components(self, self.n_features_in_)
        self._solve(sums, blocks)
        return self

    def _scatters(self, sums: ClassSums) -> Scatters:
        T = sums.within / sums.weight.sum()
        if self.ridge > 0.0:
            unit = unit_of_identity(sums)
            own = np.diagonal(T) / unit / unit
            T = T + np.diag(float(self.ridge) * own.mean() * unit * unit)
        seen = sums.weight > 0.0  # not a class named to partial_fit of which no row was seen
        middle = (sums.weight / sums.weight.sum()) @ sums.mean
        mean = np.where(seen[:, None], sums.mean, middle)
        return Scatters(sums.weight, mean, T, root_of(T, 0.0 if self.ridge > 0.0 else self.tol))

    def _solve(self, sums: ClassSums, blocks: Blocks) -> None:
        scatters = self._scatters(sums)
        self._check_rank(scatters.root.rank, sums.mean.shape[1])
        values, axes = fisher_axes(scatters, len(sums.weight) - 1)
        apart = scatters.mean - scatters.middle
        self._set(
            values,
            upright(np.ldexp(axes, -sums.exponent[:, None])),
            np.ldexp(scatters.middle, sums.exponent),
            np.ldexp(apart, sums.exponent),
            blocks.dtype,
        )
        self.rank_ = scatters.root.rank
        self.moments_ = (sums.weight, sums.mean, sums.scatter, sums.exponent)
        self.certificate_ = self._proof(sums, scatters)

    def _set_in_rows(self, space: RowSpace, dtype: np.dtype[Any]) -> None:
        rank = space.scatters.root.rank
        self._check_rank(rank, rank if self.ridge > 0.0 else len(space.xbar))
        values, axes = fisher_axes(space.scatters, len(self.classes_) - 1)
        self._set(values, upright(space.outward(axes)), space.xbar, space.apart, dtype)
        self.rank_ = rank
        self.certificate_ = self._proof_in_rows(space)

    def _check_rank(self, rank: int, d: int) -> None:
        if rank == 0:
            raise ValueError(
                "The number of samples must be more than the number of classes: within the "
                "classes all rows are the same, and their covariance is zero"
            )
        if rank < d:
            warn_outside(
                f"the covariance within classes has rank {rank} in {d} columns: its "
                "pseudo-inverse is taken; choose a ridge, or drop columns that depend on others "
                "or do not vary within classes",
                RankDeficient,
            )

    def _set(
        self, values: Floats, axes: Floats, xbar: Floats, apart: Floats, dtype: np.dtype[Any]
    ) -> None:
        """Fitted attributes, from all axes (d, ·) and the class means less xbar (K, d)."""
        count = axes.shape[1] if self.n_components is None else int(self.n_components)
        total = values.sum()
        shares = values / total if total > 0.0 else values
        self.eigenvalues_ = as_dtype(values[:count], dtype)
        self.explained_variance_ratio_ = as_dtype(shares[:count], dtype)
        U = axes[:, :count]
        Z = apart @ U
        if len(Z) == 2:
            coef = (Z[1:] - Z[:1]) @ U.T
            level = -0.5 * (Z[1:] - Z[:1]) @ (Z[0] + Z[1])
        else:
            coef, level = Z @ U.T, -0.5 * (Z * Z).sum(axis=1)
        self.scalings_ = as_dtype(U, dtype)
        self.coef_ = as_dtype(coef, dtype)
        self.intercept_ = as_dtype(level - coef @ xbar, dtype)
        self.xbar_ = as_dtype(xbar, dtype)
        self.means_ = as_dtype(xbar + apart, dtype)

    @property
    def _n_features_out(self) -> int:
        return int(self.scalings_.shape[1])

    def transform(self, X: Any) -> Any:
        """(x - xbar_) @ scalings_: rows on the axes that separate the classes best."""
        check_is_fitted(self)
        return projected(self, X, self.xbar_, self.scalings_)

    def certify_on(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """Fisher's criterion of the fitted axes on these rows, and the best that any have."""
        check_is_fitted(self)
        blocks, K = encoded_rows(self, X, y, sample_weight), len(self.classes_)
        if blocks.n_rows < blocks.n_cols:
            return self._proof_in_rows(row_space(blocks, K, float(self.ridge), self.tol))
        sums = class_sums(blocks, K, shared=True)
        return self._proof(sums, self._scatters(sums))

    def _axes(self) -> Floats:
        return np.asarray(as_numpy(self.scalings_), np.float64)

    def _proof(self, sums: ClassSums, scatters: Scatters) -> Certificate:
        axes = np.ldexp(self._axes(), sums.exponent[:, None])
        return fisher_certificate(scatters, axes, None)

    def _proof_in_rows(self, space: RowSpace) -> Certificate:
        return fisher_certificate(space.scatters, *space.inward(self._axes()))


def check_components(estimator: Any, d: int) -> None:
    """Refuses more axes than class means can span."""
    most = min(len(estimator.classes_) - 1, d)
    if estimator.n_components is not None and estimator.n_components > most:
        raise ValueError(
            f"n_components cannot be larger than min(n_features, n_classes - 1) = {most}, got "
            f"{estimator.n_components}"
        )
