"""Support vector regression with kernels."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from fenchel.convex.certificate import Certificate
from fenchel.convex.loss.distance import EpsilonInsensitive
from fenchel.data.arrays import is_sparse, to_numpy
from fenchel.models.array_namespace import fit_method
from fenchel.models.certificates.certified import SelfCertified
from fenchel.models.certificates.inputs import fitted_rows
from fenchel.models.estimator import as_numpy, is_remote
from fenchel.models.kernel.gram_rows import gram_rows
from fenchel.models.kernel.landmark_rows import LANDMARKS
from fenchel.models.kernel.svm.dual_fit import SHARED, fit_dual
from fenchel.models.kernel.svm.landmark_fit import fit_on_features
from fenchel.models.kernel.svm.linear_shift import certify_shifted
from fenchel.models.kernel.svm.support_expansion import SupportExpansion
from fenchel.models.targets import single_rows

Floats = NDArray[np.float64]


class SVR(RegressorMixin, SupportExpansion, SelfCertified):
    """Support vector regression: min over f, b of C Σ sᵢ max(0, |yᵢ - f(xᵢ) - b| - ε) + ‖f‖²/2.

    f lies in the kernel's space, so f = Σ βᵢ k(xᵢ, ·) with |βᵢ| ≤ C sᵢ, and βᵢ = 0 for rows inside
    the tube of width ε; Σ βᵢ = 0, as b is free. The dual is solved by sequential minimal
    optimisation in blocks, in the 2n coefficients' difference: one variable a row.

    Parameters
    ----------
    kernel : str, kernel or function, default "rbf"
        As in `SVC`.
    degree, gamma, coef0 :
        Of the kernels with these names; gamma "scale", "auto", "median" or a positive number.
    tol : float, default 1e-3
        By how much the conditions of optimality may be missed, in units of the target, as in
        scikit-learn; `certificate_.residual` is what was reached, `certificate_.relative_gap` what
        it proves. Tables up to some 250 rows are solved to rounding.
    C : float, default 1
        Weight of the losses, positive.
    epsilon : float, default 0.1
        Half the width of the tube in which a residual costs nothing.
    shrinking : bool
        Ignored: a working set of the worst rows is what shrinking is for.
    cache_size : float, default 200
        Megabytes for rows of the kernel matrix.
    verbose : int
        1 shows the gap while fitting.
    max_iter : int, default -1
        Steps of two coefficients at most; -1: no limit.
    landmarks, random_state :
        As in `SVC`.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_ :
        as in scikit-learn; of "precomputed", support_vectors_ is empty
    coef_ : array, of a linear kernel
    fit_status_, shape_fit_, n_iter_, n_features_in_, feature_names_in_ : as in scikit-learn
    certificate_ : Certificate
        On the objective above; with `landmarks` among functions of these.
    full_certificate_ : Certificate, with `landmarks`, as in `SVC`
    converged_ : bool
    history_ : tuple of Certificate

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import SVR
    >>> X = np.linspace(0.0, 6.0, 200)[:, None]
    >>> model = SVR(C=10.0, gamma=1.0).fit(X, np.sin(X[:, 0]))
    >>> bool(np.abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.11), len(model.support_) < 20
    (True, True)

    References
    ----------
    Schölkopf and Smola, Learning with Kernels (2002), chapter 9.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SHARED,
        **LANDMARKS,
        "C": [Interval(Real, 0, None, closed="neither")],
        "epsilon": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: int | bool = False,
        max_iter: int = -1,
        landmarks: Any = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.landmarks = landmarks
        self.random_state = random_state

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SVR:
        """Fit to rows X and targets y; y may be None if X carries its target (`scan`, dask)."""
        blocks = single_rows(self, X, y, sample_weight)
        whole = blocks.gather()
        s = None if whole.weight is None else to_numpy(whole.weight)
        self.__dict__.pop("full_certificate_", None)
        y, C = to_numpy(whole.y), float(self.C)
        if self.landmarks is not None:
            s = np.ones(len(y)) if s is None else s
            rows = self._landmark_rows(blocks, s)
            found, among = fit_on_features(self, rows, self._loss(), C, y, s)
            self._record(rows.outside, blocks, found, found.beta)
            if among is not None:
                self.full_certificate_ = among
            return self
        gram = gram_rows(self, blocks)
        found = fit_dual(self, gram, self._loss(), C, y, s)
        self._record(gram.outside, blocks, found, found.beta)
        return self

    def predict(self, X: Any) -> Floats:
        """f(x) + b."""
        check_is_fitted(self)
        return self._scores(X, self.dual_coef_.T)[:, 0] + self.intercept_[0]

    @property
    def coef_(self) -> Any:
        """w, where the kernel is linear, shape (1, d)."""
        return self._plane(self.dual_coef_.T)

    def certify_on(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """The certificate of these coefficients on the rows of the fit."""
        if y is None and not is_remote(X):
            raise ValueError("certifying a SVR needs the target y it was fitted on")
        blocks = fitted_rows(self, X, y, sample_weight)
        whole = blocks.gather()
        rows = whole.X if is_sparse(whole.X) else as_numpy(whole.X)
        self._check_fitted_rows(rows)
        n = whole.n_rows
        s = np.ones(n) if whole.weight is None else to_numpy(whole.weight)
        coef = np.zeros(n)
        coef[self.support_] = self.dual_coef_[0]
        b, members, y = float(self.intercept_[0]), np.flatnonzero(s > 0.0), to_numpy(whole.y)
        if self.landmarks is not None:
            machine = members, y[members], s[members], coef, b
            return self._among_all(blocks, self._loss(), float(self.C), [machine])
        gram = self._convex_rows(blocks)
        return certify_shifted(float(self.C), gram, members, coef, b, y, s, self._loss())

    def _loss(self) -> EpsilonInsensitive:
        return EpsilonInsensitive(float(self.epsilon))
