"""The support of a distribution, by a support vector machine of one class."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from fenchel.convex.certificate import Certificate
from fenchel.convex.loss.one_class import OneClass
from fenchel.data.arrays import is_sparse, to_numpy
from fenchel.models.array_namespace import fit_method
from fenchel.models.certificates.certified import SelfCertified
from fenchel.models.certificates.inputs import fitted_rows
from fenchel.models.estimator import as_numpy, validated_blocks
from fenchel.models.kernel.gram_rows import gram_rows
from fenchel.models.kernel.landmark_rows import AT_FIT, LANDMARKS
from fenchel.models.kernel.svm.dual_fit import SHARED, fit_one_class
from fenchel.models.kernel.svm.one_class_landmarks import (
    one_class_among_all,
    one_class_on_features,
)
from fenchel.models.kernel.svm.support_expansion import SupportExpansion
from fenchel.models.targets import weight_of_rows

Floats = NDArray[np.float64]


class OneClassSVM(OutlierMixin, SupportExpansion, SelfCertified):
    """Novelty detection: min over f, ρ of ‖f‖²/2 + Σ sᵢ max(0, ρ - f(xᵢ)) - ν ρ Σ sᵢ.

    f lies in the kernel's space, f = Σ αᵢ k(xᵢ, ·) with 0 ≤ αᵢ ≤ sᵢ and Σ αᵢ = ν Σ sᵢ, which is
    scikit-learn's scaling. Rows with f(x) < ρ are outliers: their share is at most ν, and that of
    support vectors at least ν. The dual is solved by sequential minimal optimisation in blocks.

    Parameters
    ----------
    kernel : str, kernel or function, default "rbf"
        As in `SVC`.
    degree, gamma, coef0 :
        Of the kernels with these names; gamma "scale", "auto", "median" or a positive number.
    tol : float, default 1e-3
        By how much the conditions of optimality may be missed, in units of the score, as in
        scikit-learn; `certificate_.residual` is what was reached, `certificate_.relative_gap` what
        it proves. Tables up to some 250 rows are solved to rounding.
    nu : float, default 0.5
        In (0, 1].
    shrinking : bool
        Ignored: a working set of the worst rows is what shrinking is for.
    cache_size : float, default 200
        Megabytes for rows of the kernel matrix.
    verbose : int
        1 shows the gap while fitting.
    max_iter : int, default -1
        Steps of two coefficients at most; -1: no limit.
    landmarks, random_state :
        As in `SVC`; tol keeps its meaning.

    Attributes
    ----------
    offset_ : array (1,)
        ρ; `decision_function` is `score_samples` less this.
    support_, support_vectors_, n_support_, dual_coef_, intercept_ :
        as in scikit-learn, intercept_ = -ρ; of "precomputed", support_vectors_ is empty
    coef_ : array, of a linear kernel
    fit_status_, shape_fit_, n_iter_, n_features_in_, feature_names_in_ : as in scikit-learn
    certificate_ : Certificate
        On the objective above, whose optimum is -‖f‖²/2; with `landmarks` among functions of these.
    full_certificate_ : Certificate, with `landmarks`, as in `SVC`
    converged_ : bool
    history_ : tuple of Certificate

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import OneClassSVM
    >>> X = np.random.default_rng(0).standard_normal((200, 2))
    >>> model = OneClassSVM(nu=0.1).fit(X)
    >>> model.predict([[0.0, 0.0], [6.0, 6.0]]), bool((model.predict(X) < 0).mean() <= 0.1)
    (array([ 1, -1]), True)

    References
    ----------
    Schölkopf, Platt, Shawe-Taylor, Smola and Williamson, Estimating the support of a
    high-dimensional distribution, Neural Computation 13 (2001).
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SHARED,
        **LANDMARKS,
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
    }

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        nu: float = 0.5,
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
        self.nu = nu
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.landmarks = landmarks
        self.random_state = random_state

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> OneClassSVM:
        """Fit to rows X; y is ignored."""
        blocks = validated_blocks(self, X, None, weight_of_rows(X, sample_weight))
        whole = blocks.gather()
        s = None if whole.weight is None else to_numpy(whole.weight)
        self.__dict__.pop("full_certificate_", None)
        if self.landmarks is not None:
            s = np.ones(whole.n_rows) if s is None else s
            rows = self._landmark_rows(blocks, s)
            found, alpha = one_class_on_features(self, rows, s)
            self._record(rows.outside, blocks, found, found.beta)
            if whole.n_rows <= AT_FIT * rows.asked:
                self.full_certificate_ = one_class_among_all(
                    rows, s, float(self.nu), found.beta, found.b, alpha
                )
        else:
            gram = gram_rows(self, blocks)
            found = fit_one_class(self, gram, float(self.nu), s)
            self._record(gram.outside, blocks, found, found.beta)
        self.offset_ = -self.intercept_
        return self

    def score_samples(self, X: Any) -> Floats:
        """f(x): the larger, the more like the rows of the fit."""
        check_is_fitted(self)
        return self._scores(X, self.dual_coef_.T)[:, 0]

    def decision_function(self, X: Any) -> Floats:
        """f(x) - ρ: below zero for outliers."""
        return self.score_samples(X) + self.intercept_[0]

    def predict(self, X: Any) -> NDArray[np.int64]:
        """1 for rows like those of the fit, -1 for outliers."""
        return np.where(self.decision_function(X) > 0.0, 1, -1)

    @property
    def coef_(self) -> Any:
        """w, where the kernel is linear, shape (1, d)."""
        return self._plane(self.dual_coef_.T)

    def certify_on(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """The certificate of these coefficients on the rows of the fit; y is ignored."""
        blocks = fitted_rows(self, X, None, sample_weight)
        whole = blocks.gather()
        rows = whole.X if is_sparse(whole.X) else as_numpy(whole.X)
        self._check_fitted_rows(rows)
        s = None if whole.weight is None else to_numpy(whole.weight)
        alpha, b = np.zeros(whole.n_rows), float(self.intercept_[0])
        alpha[self.support_] = self.dual_coef_[0]
        if self.landmarks is not None:  # whose coefficients are no dual point: that is found anew
            s = np.ones(whole.n_rows) if s is None else s
            landmarks = self._landmark_rows(blocks, s)
            dual = one_class_on_features(self, landmarks, s)[1]
            return one_class_among_all(landmarks, s, float(self.nu), alpha, b, dual)
        gram = self._convex_rows(blocks)
        problem = OneClass(gram.design(np.zeros(gram.n), s), float(self.nu))
        return problem.certify((alpha, b))
