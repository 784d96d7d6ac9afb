"""Logistic regression over the functions of a kernel's space."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from fenchel.convex.certificate import Certificate
from fenchel.convex.loss.base import Loss
from fenchel.convex.loss.margin import Logistic
from fenchel.convex.loss.multiclass import Multinomial
from fenchel.models.array_namespace import fit_method
from fenchel.models.certificates.certified import SelfCertified
from fenchel.models.estimator import Estimator
from fenchel.models.kernel.expansion_fit import (
    Expansions,
    classifier_expansions,
    level_scores,
)
from fenchel.models.kernel.expansion_landmarks import certify_expansions, fit_expansions
from fenchel.models.kernel.kernel_rows import KERNEL, kernel_tags
from fenchel.models.kernel.landmark_rows import LANDMARKS
from fenchel.models.labels import ScoreClassifier, encode_labels
from fenchel.models.linear.odds import log_probabilities, probabilities


class KernelLogisticRegression(ScoreClassifier, Estimator, SelfCertified):
    """Kernel logistic regression: min over f, b of C Σ sᵢ l(yᵢ, f(xᵢ) + b) + ‖f‖²/2.

    f = Σ αⱼ k(xⱼ, ·) lies in the kernel's space, and l(y, z) = log(1 + e^{-yz}), y = ±1. K > 2
    classes have a function each and share the multinomial loss log Σₖ e^{zₖ} - z_y; their penalty
    is Σₖ ‖fₖ‖²/2. The parameters and objective are those of `LogisticRegression`, with a kernel.
    Newton's method by conjugate gradients, preconditioned by a Cholesky factor in float32.

    Parameters
    ----------
    C : float, default 1
        Inverse strength of the penalty, positive and finite.
    kernel : str, kernel or function, default "rbf"
        "linear", "poly", "rbf", "laplacian", "cosine", "precomputed", a kernel such as
        ``fenchel.kernels.Gaussian(0.5)``, or a function of two rows; one that is not positive
        semi-definite is refused. With a kernel of strings, such as ``fenchel.kernels.Spectrum(3)``,
        each row of X is a string.
    gamma : float, "scale", "auto", "median" or None
        Of the kernels by name; None and "auto": 1 / n_features.
    degree, coef0 : of the kernels with these names
    kernel_params : dict or None
        Keywords of a function.
    fit_intercept : bool, default True
        The intercept is not penalised.
    class_weight : dict, "balanced" or None
    tol : float, default 1e-6
        Relative duality gap to reach.
    max_iter : int, default 100
        Newton steps.
    warm_start : bool
        Start from the last fit's coefficients, on the same rows.
    verbose : int
        1 shows the gap while fitting.
    landmarks : int, array of row numbers or None
        Fit f = Σ αⱼ k(zⱼ, ·) over so many rows z, drawn evenly, or over those given, to all rows
        (Nyström's features): O(n) a landmark where K takes n².
    random_state : int or RandomState
        Of the landmarks; None: the same ones at every fit.

    Attributes
    ----------
    dual_coef_ : array of shape (n,), or (n, K) for K > 2 classes
        α, zero for rows without weight; of landmarks, one for each of X_fit_.
    intercept_ : array of shape (1,) or (K,)
    X_fit_ : the rows of the fit, or the landmarks; of "precomputed", the matrix K, or their rows
    landmarks_ : array of int, with `landmarks`
        Their numbers, without those that are combinations of the others but for rounding.
    kernel_ : the kernel with its parameters
    storage_ : str
        Whether the kernel matrix was kept in memory.
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    n_iter_ : int
    certificate_ : Certificate
        On the objective above, rounding in the kernel's values included; with `landmarks` among
        functions of these, whose features are taken as computed.
    full_certificate_ : Certificate, with `landmarks`, of at most 8 rows for each
        The same among all functions of the kernel: what the landmarks cost. Of more rows
        ``fenchel.certify(model, X, y)`` gives it.
    certificates_ : tuple of it
    loss_, loss_gap_ : Loss, float
        The loss that was minimised, and `certificate_.gap` on the scale of its mean.
    converged_ : bool
    history_ : tuple of Certificate
        One a step.

    Notes
    -----
    Of n rows a fit takes one or two factors of n³/3 products, 8 n² bytes for the kernel matrix and
    4 n² for a factor.

    Reference: Zhu and Hastie, Kernel logistic regression and the import vector machine, JCGS 14
    (2005).

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import KernelLogisticRegression
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> y = np.hypot(X[:, 0], X[:, 1]) < 1.0
    >>> model = KernelLogisticRegression(C=100.0).fit(X, y)
    >>> model.score(X, y) > 0.95, model.certificate_.relative_gap <= 1e-6
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [Interval(Real, 0, None, closed="right")],
        **KERNEL,
        "fit_intercept": ["boolean"],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
        **LANDMARKS,
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        gamma: float | str | None = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        fit_intercept: bool = True,
        class_weight: Any = None,
        tol: float = 1e-6,
        max_iter: int = 100,
        warm_start: bool = False,
        verbose: int = 0,
        landmarks: Any = None,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.verbose = verbose
        self.landmarks = landmarks
        self.random_state = random_state

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelLogisticRegression:
        """Fit to rows X and labels y; y may be None if X carries its target (`scan`, dask)."""
        self._check_strength()
        self.classes_, blocks = encode_labels(self, X, y, sample_weight, self.class_weight)
        K = len(self.classes_)
        problems = Expansions.of(self, blocks, self._loss(), self._lam, self._factor, K)
        fit_expansions(self, blocks, problems)
        return self

    def decision_function(self, X: Any) -> Any:
        """f(x) + b: shape (n,) for two classes, (n, K) for more, in the precision of X."""
        return level_scores(self, X)

    def predict_proba(self, X: Any) -> Any:
        """P(class | x) for each class, in the order of `classes_`."""
        return probabilities(self.decision_function(X))

    def predict_log_proba(self, X: Any) -> Any:
        """log P(class | x), finite however certain the model is."""
        return log_probabilities(self.decision_function(X))

    def certify_on(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """The certificate of these coefficients as functions on the rows of the fit."""
        self._check_strength()
        loss, lam, factor = self._loss(), self._lam, self._factor
        problems = classifier_expansions(self, X, y, sample_weight, loss, lam, factor)
        return certify_expansions(self, problems)

    def _check_strength(self) -> None:
        if math.isinf(self.C):
            raise ValueError(
                "C=inf leaves no penalty, without which a kernel's functions fit the classes ever "
                "better and there is no best one: give a finite C"
            )

    def _loss(self) -> Loss:
        K = len(self.classes_)
        return Logistic() if K == 2 else Multinomial(K)

    def _factor(self, weight: float) -> float:
        """C Σs: this objective over the mean's."""
        return float(self.C) * weight

    def _lam(self, weight: float) -> float:
        factor = self._factor(weight)
        return 1.0 / factor if factor > 0.0 else math.inf

    def __sklearn_tags__(self) -> Any:
        return kernel_tags(self, super().__sklearn_tags__())
