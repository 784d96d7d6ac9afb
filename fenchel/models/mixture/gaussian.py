"""Gaussian mixtures by expectation-maximisation."""

from __future__ import annotations

import math
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from fenchel.convex.certificate import Certificate, warn_outside
from fenchel.convex.convergence import NotCertified
from fenchel.data.blocks import Blocks
from fenchel.models.array_namespace import fit_method
from fenchel.models.certificates.certified import SelfCertified
from fenchel.models.estimator import Estimator
from fenchel.models.mixture.density import MixtureDensity, dense_rows
from fenchel.models.mixture.start import begun, checked_init, with_given
from fenchel.models.progress import watch
from fenchel.solve.minimise import Solution, minimise
from fenchel.solve.mixture.components import MixtureComponents, parameters
from fenchel.solve.mixture.em import ExpectationMaximisation, MixtureLikelihood, likelihood
from fenchel.solve.mixture.online import online_step
from fenchel.solve.mixture.starts import start_rows, unit_components
from fenchel.solve.mixture.whitening import ColumnExtent

Floats = NDArray[np.float64]


class GaussianMixture(MixtureDensity, SelfCertified, DensityMixin, Estimator):
    """A mixture of Gaussian laws by EM: max over π, μ, Σ of Σ sᵢ log Σₖ πₖ N(xᵢ; μₖ, Σₖ) / Σ sᵢ.

    Both steps of EM are one matrix product each, on the products of the columns, or sums of
    differences where those would lose digits. Rows are shifted and whitened inside, so that no
    offset and no scale of X changes the fit. The likelihood never falls from step to step.

    Parameters
    ----------
    n_components : int or "auto", default 1
        "auto": that of the least BIC among 1 … 10, by `choose_k`.
    covariance_type : "full", "tied", "diag" or "spherical"
    tol : float, default 1e-3
        Stop where the next step changes the law of component and row by a relative entropy of at
        most tol nats a row: the likelihood then gains about as little, as in scikit-learn.
    reg_covar : float, default 1e-6
        The least variance of a component in any direction, as a share of that of all rows. It is a
        floor and nothing below it counts: covariances above it are not changed. scikit-learn adds
        an absolute number to every variance.
    max_iter : int, default 100
    n_init : int, default 1
        Starts, of which the one with the largest likelihood is kept.
    init_params : "kmeans", "k-means++", "random" or "random_from_data"
        How to begin, by rows with standardised columns (for spherical covariances as they are). Of
        large tables 65,536 rows are looked at.
    weights_init, means_init, precisions_init : arrays, optional
        In place of what `init_params` finds.
    random_state : int, RandomState or None, default 0
        The same fit every time; scikit-learn's default is None.
    warm_start : bool
        Begin with the mixture of the last fit.
    verbose, verbose_interval : int
        verbose > 0 shows the steps.

    Attributes
    ----------
    weights_, means_, covariances_, precisions_, precisions_cholesky_ : arrays
        In the shapes of scikit-learn.
    converged_ : bool
    n_iter_ : int
    n_components_ : int
    lower_bound_ : float
        The mean log-likelihood of a row at the fitted mixture.
    lower_bounds_ : list of floats
        At every step of the best start; it never falls.
    certificate_ : Certificate
        Of kind "stationary": value -lower_bound_, and residual √(2 KL), KL the relative entropy by
        which one more step of EM would change the joint law of component and row. It says nothing
        of other starts. None after `partial_fit`.
    history_ : tuple of Certificate
    n_features_in_, feature_names_in_

    References
    ----------
    Dempster, Laird and Rubin, J. R. Stat. Soc. B 39 (1977). Cappé and Moulines, On-line
    expectation-maximization algorithm for latent data models, J. R. Stat. Soc. B 71 (2009).

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import GaussianMixture
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(-4, 1, (300, 2)), rng.normal(4, 2, (200, 2))])
    >>> model = GaussianMixture(2, random_state=0).fit(X)
    >>> np.sort(model.weights_).round(2).tolist(), model.converged_, model.certificate_.kind
    ([0.4, 0.6], True, 'stationary')
    """

    certificate_: Certificate | None
    history_: tuple[Certificate, ...]
    lower_bounds_: list[float]
    weight_seen_: float
    n_iter_: int

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "covariance_type": [StrOptions({"full", "tied", "diag", "spherical"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "reg_covar": [Interval(Real, 0, 1, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "init_params": [StrOptions({"kmeans", "k-means++", "random", "random_from_data"})],
        "weights_init": ["array-like", None],
        "means_init": ["array-like", None],
        "precisions_init": ["array-like", None],
        "random_state": ["random_state"],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
        "verbose_interval": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int | str = 1,
        *,
        covariance_type: str = "full",
        tol: float = 1e-3,
        reg_covar: float = 1e-6,
        max_iter: int = 100,
        n_init: int = 1,
        init_params: str = "kmeans",
        weights_init: Any = None,
        means_init: Any = None,
        precisions_init: Any = None,
        random_state: Any = 0,
        warm_start: bool = False,
        verbose: int = 0,
        verbose_interval: int = 10,
    ) -> None:
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.weights_init = weights_init
        self.means_init = means_init
        self.precisions_init = precisions_init
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> GaussianMixture:
        """Fit to rows X; y is ignored."""
        last = self._mixture() if self.warm_start and "means_" in self.__dict__ else None
        return self._fit(X, sample_weight, last)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[np.int64]:
        """Fit, and the most probable component of each row."""
        return self.fit(X, sample_weight=sample_weight).predict(X)

    @fit_method
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> GaussianMixture:
        """One step of online EM: the sums over these rows count for a share t^-0.6 at the t-th of
        equal batches. The first call fits these rows. Nothing is proved."""
        if "means_" not in self.__dict__:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NotCertified)
                self._fit(X, sample_weight, None)
        else:
            blocks = dense_rows(self, X, sample_weight)
            known = self._mixture()
            new, value, weight = online_step(blocks, known, self.weight_seen_, self.reg_covar)
            self.weight_seen_ += weight
            self.lower_bound_ = value
            self.n_iter_ += 1
            self._publish(new, np.asarray(self.means_).dtype)
        self.certificate_, self.converged_, self.history_ = None, False, ()
        self.lower_bounds_ = []
        return self

    def certify_on(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """What one more step of EM on these rows would change: kind "stationary"."""
        check_is_fitted(self)
        blocks = dense_rows(self, X, sample_weight)
        problem = likelihood(blocks, self._kind, float(self.reg_covar), quiet=True)
        return problem.certify(problem.whitening.inward(self._mixture()))

    def _fit(self, X: Any, sample_weight: Any, last: MixtureComponents | None) -> GaussianMixture:
        blocks = dense_rows(self, X, sample_weight, reset=True)
        extent = blocks.reduce(ColumnExtent.of)
        k, d = self._count(blocks, extent), blocks.n_cols
        if last is not None and last.means.shape != (k, d):
            last = None
        problem = likelihood(blocks, self._kind, float(self.reg_covar), extent)
        best: Solution[MixtureComponents] | None = None
        for start in self._starts(problem, k, last):
            with warnings.catch_warnings(), watch(self.verbose, self.tol) as show:
                warnings.simplefilter("ignore", NotCertified)
                found = minimise(
                    problem,
                    ExpectationMaximisation(),
                    tol=math.sqrt(2.0 * self.tol),
                    max_steps=int(self.max_iter),
                    start=start,
                    callback=show,
                )
            if best is None or found.certificate.value < best.certificate.value:
                best = found
        assert best is not None  # n_init is at least 1
        self._record(blocks, problem, best)
        return self

    def _record(
        self, blocks: Blocks, problem: MixtureLikelihood, best: Solution[MixtureComponents]
    ) -> None:
        proof, seen = best.certificate, best.state.seen
        self.converged_, self.n_iter_ = best.converged, best.steps
        self.lower_bound_ = -proof.value
        self.lower_bounds_ = [-one.value for one in best.history]
        self.certificate_ = proof
        self.history_ = tuple(best.history)
        self.weight_seen_ = float(problem.whitening.weight)
        self._publish(problem.whitening.outward(best.point), blocks.dtype)
        if seen.held.any() and not problem.whitening.deficient:  # that was said before
            which = np.flatnonzero(seen.held)
            names = "the covariance" if self._kind == "tied" else f"component {which[0]}"
            more = f" and {len(which) - 1} more" if len(which) > 1 else ""
            warn_outside(
                f"{names}{more} is held at the floor reg_covar={self.reg_covar:g} of the "
                "covariance of all rows, and lower_bound_ is that of the mixture with the floor: "
                "lower reg_covar if so narrow a component is real, else use fewer components or "
                "another start",
                UserWarning,
            )
        if not best.converged:
            warn_outside(
                f"{best.reason}: {proof.reached()} after {best.steps} steps, asked "
                f"{math.sqrt(2.0 * self.tol):.2g} (tol={self.tol:.2g}). Raise max_iter or tol"
            )

    def _count(self, blocks: Blocks, extent: ColumnExtent) -> int:
        """How many components, and whether there are rows enough for them."""
        n, d = extent.rows, blocks.n_cols
        if n < 2:
            raise ValueError(
                f"Found array with n_samples = {n}, and a mixture needs 2 rows of positive weight "
                "or more"
            )
        if self.n_components == "auto":
            from fenchel.models.mixture.choose_k import likely_components

            k = likely_components(self, blocks, n)
        else:
            k = int(self.n_components)
        if n < k:
            raise ValueError(
                f"Expected n_samples >= n_components but got n_components = {k}, n_samples = {n}: "
                "lower n_components"
            )
        free = parameters(self._kind, k, d)
        if n < free and k > 1:
            warn_outside(
                f"{n} rows for {free} parameters: the mixture is not determined by them. Use fewer "
                "components, or covariance_type='diag' or 'spherical'",
                UserWarning,
            )
        self.n_components_ = k
        return k

    def _starts(self, problem: MixtureLikelihood, k: int, last: MixtureComponents | None) -> Any:
        """One start for each of n_init, or the mixture of the last fit."""
        kind, d, floor = self._kind, problem.blocks.n_cols, problem.floor
        whitening = problem.whitening
        if last is not None:
            yield whitening.inward(last)
            return
        given = checked_init(kind, k, d, self.weights_init, self.means_init, self.precisions_init)
        if all(one is not None for one in given):
            start = unit_components(kind, np.zeros((k, d)))
            yield with_given(start, whitening, *given, floor)
            return
        rng = check_random_state(self.random_state)
        rows = start_rows(problem.blocks, whitening)
        for _ in range(1 if k == 1 else self.n_init):
            start = begun(self.init_params, rows, kind, k, floor, rng)
            yield with_given(start, whitening, *given, floor)

    def _publish(self, found: MixtureComponents, dtype: Any) -> None:
        kind = found.kind
        P = found.factors**2
        if kind in ("full", "tied"):
            P = found.factors @ np.swapaxes(found.factors, -1, -2)
        real = dtype if np.dtype(dtype).kind == "f" else np.float64
        with np.errstate(over="ignore", under="ignore"):
            self.weights_ = found.weights.astype(real)
            self.means_ = found.means.astype(real)
            self.covariances_ = found.covariances.astype(real)
            self.precisions_cholesky_ = found.factors.astype(real)
            self.precisions_ = P.astype(real)
