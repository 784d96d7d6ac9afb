"""Kernel Fisher discriminant: Fisher's axes among the functions of a kernel's space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from fenchel.convex.certificate import Certificate
from fenchel.data.arrays import is_sparse, to_numpy
from fenchel.data.blocks import Block, free_memory
from fenchel.data.design.kernel import kernel_product
from fenchel.data.in_memory import ArrayBlocks
from fenchel.geometry.kernel.centring import centred_gram
from fenchel.geometry.kernel.named_kernel import GAMMAS, NAMES, GivenColumns
from fenchel.geometry.kernel.vector_kernels import KernelFunction
from fenchel.models.array_namespace import fit_method
from fenchel.models.certificates.certified import SelfCertified
from fenchel.models.certificates.inputs import encoded_rows
from fenchel.models.discriminant.estimates.class_sums import class_coded, class_sums
from fenchel.models.discriminant.estimates.covariance import EPS
from fenchel.models.discriminant.few_rows import plain_root
from fenchel.models.discriminant.fisher.axes import Scatters, fisher_axes, fisher_certificate
from fenchel.models.discriminant.fisher.fisher import check_components
from fenchel.models.discriminant.fisher.projection import towards_last
from fenchel.models.estimator import as_numpy, validated_blocks
from fenchel.models.kernel.gram_rows import gram_rows
from fenchel.models.kernel.svm.support_expansion import SupportExpansion
from fenchel.models.spectral.output_rows import rows_out, working_type

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class KernelSpace:
    """Scatters of rows in the coordinates Z = PΛ^{1/2} of their features, PΛP' the centred K."""

    scatters: Scatters
    P: Floats
    root: Floats

    @property
    def dual(self) -> Floats:
        """PΛ^{-1/2}: coordinates of a feature are inner products with these combinations."""
        return np.asarray(self.P / self.root)


def kernel_space(
    K: Floats, codes: NDArray[np.int64], s: Floats, n: int, ridge: float
) -> KernelSpace:
    """Of a Gram matrix of rows with class codes 0 … n-1 and weights above 0."""
    centred = centred_gram(K, s)
    values, P = np.linalg.eigh(centred)
    keep = values > len(K) * EPS * max(float(values[-1]), 0.0)
    root, P = np.sqrt(values[keep]), P[:, keep]
    sums = class_sums(ArrayBlocks(Block(0, P * root, codes, s)), n, shared=True)
    T = np.ldexp(sums.within / s.sum(), sums.exponent + sums.exponent[:, None])
    rest = ridge * float(np.trace(T))
    T = T + rest * np.eye(len(T))
    mean = np.ldexp(sums.mean, sums.exponent)
    return KernelSpace(Scatters(sums.weight, mean, T, plain_root(T, 0.0), rest), P, root)


class KernelFisherDiscriminant(
    SelfCertified,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClassifierMixin,
    SupportExpansion,
):
    """Kernel Fisher discriminant: functions f of S_B f = λ (S_W + ρI) f with the largest λ.

    S_W and S_B are the scatters of `FisherDiscriminant` of the kernel's features, and ρ is ridge
    times tr S_W. f is a combination of k(xᵢ, ·) less its mean over the rows. A row is given the
    class whose mean is nearest on the axes. Cost: n³ for the eigenvectors of K, n² numbers of
    memory.

    Parameters
    ----------
    n_components : int, optional
        Axes; by default all, K - 1 unless means coincide.
    kernel : str, kernel or function, default "rbf"
        As of `SVC`: "linear", "poly", "rbf", "laplacian", "cosine", "precomputed", a kernel such as
        ``fenchel.kernels.Gaussian(0.5)``, or a function of two tables.
    gamma, degree, coef0 :
        Of the kernels with these names; gamma "scale", "auto", "median" or a positive number.
    ridge : float, default 1e-3
        ρ relative to the variance within classes, summed over all directions. Positive: the
        scatter within classes of n rows is singular in a space of n dimensions.

    Attributes
    ----------
    eigenvalues_, explained_variance_ratio_ : arrays of shape (axes,)
        As of `FisherDiscriminant`.
    dual_coef_, intercept_ : arrays (n, axes) and (axes,)
        `transform` gives Σᵢ dual_coef_ᵢ k(x, xᵢ) + intercept_.
    centres_ : array of shape (K, axes)
        The class means on the axes.
    support_, support_vectors_, classes_, n_features_in_, feature_names_in_ :
        The rows with weight; of "precomputed" only their numbers.
    certificate_ : Certificate
        As of `FisherDiscriminant`: no functions of the kernel's space have a larger criterion than
        -bound.

    References
    ----------
    Mika, Rätsch, Weston, Schölkopf, Müller, Fisher discriminant analysis with kernels, 1999.
    Baudat, Anouar, Generalized discriminant analysis using a kernel approach, 2000.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from fenchel import KernelFisherDiscriminant
    >>> X, y = make_circles(200, noise=0.1, factor=0.3, random_state=0)
    >>> model = KernelFisherDiscriminant().fit(X, y)
    >>> print(model.score(X, y), model.certificate_.closed(1e-9))
    1.0 True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "kernel": [StrOptions(set(NAMES)), KernelFunction, callable],
        "gamma": [StrOptions(set(GAMMAS)), Interval(Real, 0, None, closed="neither")],
        "degree": [Interval(Integral, 1, None, closed="left")],
        "coef0": [Real],
        "ridge": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        kernel: Any = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        ridge: float = 1e-3,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.ridge = ridge

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelFisherDiscriminant:
        """Fit to rows X and labels y; y may be None if X carries its target (`scan`, dask)."""
        self.classes_, blocks = class_coded(self, X, y, sample_weight)
        check_components(self, blocks.n_rows)
        _refuse_large(blocks.n_rows)
        whole = blocks.gather()
        codes = np.asarray(to_numpy(whole.y), np.int64)
        s = np.ones(len(codes)) if whole.weight is None else np.asarray(to_numpy(whole.weight))
        used = np.flatnonzero(s > 0.0)
        gram = gram_rows(self, blocks)
        s, n = s[used].astype(np.float64), len(self.classes_)
        K = gram.among(used, used)
        space = kernel_space(K, codes[used], s, n, float(self.ridge))
        # Of equal features the scatter within classes is what rounding leaves of K; where all rows
        # have the same, so is the whole of the centred K.
        within = float(np.trace(space.scatters.T))
        alike = float(np.ptp(K)) <= 4.0 * EPS * float(np.abs(K).max())
        if alike or within <= 2.0 * len(K) * EPS * float(space.root @ space.root) / s.sum():
            raise ValueError(
                "The number of samples must be more than the number of classes: within the "
                "classes all rows have the same features"
            )
        values, axes = fisher_axes(space.scatters, n - 1)
        count = axes.shape[1] if self.n_components is None else int(self.n_components)
        total = values.sum()
        axes = axes[:, :count]
        centres = (space.scatters.mean - space.scatters.middle) @ axes
        alpha = towards_last(space.dual @ axes, centres)
        axes = space.root[:, None] * (space.P.T @ alpha)  # with the signs that these have
        share = s / s.sum()
        means = K @ share
        self._keep(gram.outside, whole.X, used)
        dtype = working_type(blocks)
        self.eigenvalues_ = values[:count].astype(dtype)
        shares = values / total if total > 0.0 else values
        self.explained_variance_ratio_ = shares[:count].astype(dtype)
        self.dual_coef_ = alpha - share[:, None] * alpha.sum(axis=0)
        apart = space.scatters.mean - space.scatters.middle
        self.intercept_ = -((means - share @ means) @ alpha) - space.scatters.middle @ axes
        self.centres_ = apart @ axes
        self.certificate_ = fisher_certificate(space.scatters, axes, None)
        return self

    @property
    def _n_features_out(self) -> int:
        return int(self.dual_coef_.shape[1])

    def transform(self, X: Any) -> Any:
        """The axes' functions at each row."""
        check_is_fitted(self)
        return self._out(X, lambda Z: Z)

    def decision_function(self, X: Any) -> Any:
        """Of two classes how much nearer the second mean is, (|z - c₁|² - |z - c₂|²) / 2, shape
        (n,); of more c·z - |c|² / 2 for each, shape (n, K)."""
        check_is_fitted(self)
        C = np.asarray(as_numpy(self.centres_), np.float64)

        def score(Z: Floats) -> Floats:
            scores = Z @ C.T - 0.5 * (C * C).sum(axis=1)
            return scores[:, 1] - scores[:, 0] if len(C) == 2 else scores

        return self._out(X, score)

    def predict(self, X: Any) -> Any:
        """The class whose mean is nearest on the axes."""
        z = to_numpy(self.decision_function(X))
        return self.classes_[(z > 0.0).astype(int) if z.ndim == 1 else z.argmax(axis=1)]

    def _out(self, X: Any, of: Callable[[Floats], Floats]) -> Any:
        """A function of the values on the axes, block by block."""
        blocks = validated_blocks(self, X, reset=False)
        points, dtype = self._points(), working_type(blocks)
        coef = np.asarray(as_numpy(self.dual_coef_), np.float64)
        level = np.asarray(as_numpy(self.intercept_), np.float64)

        def project(block: Block) -> NDArray[Any]:
            rows = block.X if is_sparse(block.X) else as_numpy(block.X)
            return np.asarray(of(kernel_product(self.kernel_, rows, points, coef) + level), dtype)

        return rows_out(X, blocks, project)

    def _points(self) -> Any:
        if isinstance(self.kernel_, GivenColumns):
            return np.asarray(self.support_, np.int64)[:, None]
        return self.support_vectors_

    def certify_on(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """Fisher's criterion of the fitted functions on these rows, and the best that any have; of
        "precomputed", X is the matrix of the fit."""
        check_is_fitted(self)
        whole = encoded_rows(self, X, y, sample_weight).gather()
        _refuse_large(whole.n_rows)
        rows = whole.X if is_sparse(whole.X) else as_numpy(whole.X)
        s = np.ones(whole.n_rows) if whole.weight is None else np.asarray(to_numpy(whole.weight))
        used = np.flatnonzero(s > 0.0)
        given = isinstance(self.kernel_, GivenColumns)
        here = rows[used]
        K = self.kernel_.tile(here, used[:, None] if given else here)
        codes = np.asarray(to_numpy(whole.y), np.int64)[used]
        s, n = s[used].astype(np.float64), len(self.classes_)
        space = kernel_space(K, codes, s, n, float(self.ridge))
        points = self._points()
        coef = np.asarray(as_numpy(self.dual_coef_), np.float64)
        F = kernel_product(self.kernel_, here, points, coef)
        axes = space.dual.T @ (F - (s / s.sum()) @ F)
        own = rows[np.asarray(self.support_, np.int64)] if given else points
        length = coef.T @ kernel_product(self.kernel_, own, points, coef)
        left = length - axes.T @ axes
        # Of the fit's own rows nothing is left out; what remains of the difference is rounding.
        scale = np.abs(np.diagonal(length)).max(initial=0.0)
        rounding = len(K) * EPS * scale * max(1.0, float(space.root[-1:].sum() / space.root.min()))
        outside = left if np.abs(left).max(initial=0.0) > rounding else None
        return fisher_certificate(space.scatters, axes, outside)


def _refuse_large(n: int) -> None:
    need, have = 3.0 * 8.0 * n * n, free_memory()
    if need > 0.9 * have:
        raise MemoryError(
            f"the eigenvectors of a {n} x {n} kernel matrix need {need / 2**30:.1f} GiB and "
            f"{have / 2**30:.1f} GiB are free: fit fewer rows, or FisherDiscriminant"
        )
