"""The formula as an estimator: any loss, any penalty, one proof."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Self

from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if

from fenchel.convex.catalogue import by_spelled_name
from fenchel.convex.certificate import Certificate
from fenchel.convex.loss.base import Loss
from fenchel.convex.loss.distance import Distance
from fenchel.convex.loss.margin import Logistic, Margin
from fenchel.convex.loss.multiclass import Joint, Multinomial
from fenchel.convex.penalty import Penalty
from fenchel.convex.problem import Problem
from fenchel.data.blocks import Blocks
from fenchel.data.design.matrix import MatrixDesign
from fenchel.models.array_namespace import fit_method
from fenchel.models.fitting import fit_classifier, fit_regressor
from fenchel.models.kernel.expansion_fit import (
    Expansions,
    classifier_expansions,
    level_scores,
    regressor_expansions,
    unit,
)
from fenchel.models.kernel.expansion_landmarks import certify_expansions, fit_expansions
from fenchel.models.kernel.kernel_rows import KERNEL, kernel_tags
from fenchel.models.kernel.landmark_rows import LANDMARKS
from fenchel.models.labels import LinearClassifier, encode_labels
from fenchel.models.linear.erm_penalty import PENALTIES, kernel_strength, penalty_of
from fenchel.models.linear.odds import log_probabilities, probabilities
from fenchel.models.targets import SingleTarget, single_rows

# The losses by the names that `loss` takes.
MARGINS: dict[str, Callable[[], Loss]] = by_spelled_name(Margin)
JOINT: dict[str, Any] = by_spelled_name(Joint)
DISTANCES: dict[str, Callable[[], Loss]] = by_spelled_name(Distance)
EXPANSION = ("dual_coef_", "X_fit_", "kernel_", "storage_", "landmarks_", "full_certificate_")
_kernel = {**KERNEL, "kernel": [*KERNEL["kernel"], None]}
_shared: dict[str, list[Any]] = {
    **_kernel,
    **LANDMARKS,
    "penalty": [StrOptions(set(PENALTIES)), Penalty, None],
    "lam": [Interval(Real, 0, None, closed="left")],
    "fit_intercept": ["boolean"],
    "tol": [Interval(Real, 0, None, closed="left")],
    "max_iter": [Interval(Integral, 0, None, closed="left")],
    "warm_start": ["boolean"],
    "verbose": ["verbose"],
}


def _forget(estimator: Any, *names: str) -> None:
    """Removes what an earlier fit, with a kernel or without, has left."""
    for name in names:
        vars(estimator).pop(name, None)


def _linear(estimator: Any) -> None:
    """Without a kernel: what it alone has goes, and landmarks have no meaning."""
    if estimator.landmarks is not None:
        raise ValueError("landmarks are rows whose kernel values are taken: give kernel=... too")
    _forget(estimator, *EXPANSION)


def _is_log(estimator: Any) -> bool:
    return estimator.loss in ("logistic", "multinomial") or isinstance(
        estimator.loss, Logistic | Multinomial
    )


def _has_planes(estimator: Any) -> bool:
    return estimator.kernel is None


class ERMClassifier(LinearClassifier):
    """Regularised risk: min over (w, b) of Σ sᵢ l(yᵢ, xᵢ·w + b) / Σsᵢ + Ω(w), yᵢ = ±1.

    Any margin loss with any penalty, and a certificate with every fit. Of more than two classes
    each is set against the rest, and the largest score wins; the multinomial loss is joint. With a
    kernel f(xᵢ), f = Σ αⱼ k(xⱼ, ·), takes the place of xᵢ·w, and λ‖f‖²/2 that of Ω.

    Parameters
    ----------
    loss : str or Loss, default "logistic"
        "logistic", "hinge", "squared_hinge", "square", "exponential", "modified_huber", a margin
        loss such as Hinge(), or for a joint fit "multinomial" (of two classes, logistic) or
        "multiclass_hinge" (of two, hinge of z₁ - z₀; L2 penalty alone).
    penalty : str, Penalty or None, default "l2"
        "l2", "l1", "elasticnet" (half of each) with strength `lam`, a penalty such as L1(0.1) that
        brings its own, or None. Other mixtures: ElasticNet(lam, l1_ratio) of
        fenchel.convex.penalty, where fenchel.ElasticNet is the estimator.
    lam : float, default 0.001
        Strength of a penalty given by name.
    kernel : str, kernel, function or None, default None
        None for the linear model; else as in `KernelLogisticRegression`, with the L2 penalty.
    gamma, degree, coef0, kernel_params, landmarks, random_state :
        Of the kernel, as in `KernelLogisticRegression`.
    fit_intercept : bool, default True
        The intercept is not penalised.
    tol : float, default 1e-6
        Relative duality gap to reach.
    max_iter : int, default 1000
    class_weight : dict, "balanced" or None
    warm_start : bool
    verbose : int

    Attributes
    ----------
    coef_, intercept_, classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    dual_coef_, X_fit_, kernel_, storage_, landmarks_, full_certificate_ : with a kernel, in the
        place of coef_
        As in `KernelLogisticRegression`; dual_coef_ has a column a class where there are more than
        two.
    certificate_ : Certificate
        On the objective above, summed over the classes; `certificates_` has one a fit.
    loss_, loss_gap_ : Loss, float
        The loss that was minimised, and `certificate_.gap` on the scale of its mean.
    converged_ : bool
    history_ : tuple of Certificate
    n_iter_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fenchel import ERMClassifier, L1, SquaredHinge
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ERMClassifier(loss=SquaredHinge(), penalty=L1(0.01)).fit(X, y)
    >>> model.converged_, model.coef_.shape
    (True, (3, 4))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions({*MARGINS, *JOINT}), Loss],
        **_shared,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        loss: Any = "logistic",
        penalty: Any = "l2",
        *,
        lam: float = 1e-3,
        kernel: Any = None,
        gamma: float | str | None = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        landmarks: Any = None,
        random_state: Any = None,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = 1000,
        class_weight: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.lam = lam
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.landmarks = landmarks
        self.random_state = random_state
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.verbose = verbose

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ERMClassifier:
        """Fit to rows X and labels y; y may be None if X carries its target (`scan`, dask)."""
        penalty = penalty_of(self)
        if self.kernel is not None:
            kernel_strength(self)
        if isinstance(self.loss, Distance):
            raise ValueError(
                f"ERMClassifier needs a margin loss, not {self.loss}: take ERMRegressor for it, or "
                "SquareMargin() for least squares on classes"
            )
        self.classes_, blocks = encode_labels(self, X, y, sample_weight, self.class_weight)
        loss = self.loss_for(len(self.classes_))
        if self.kernel is not None:
            lam, K = kernel_strength(self), len(self.classes_)
            problems = Expansions.of(self, blocks, loss, lambda weight: lam, unit, K)
            fit_expansions(self, blocks, problems)
            _forget(self, "coef_")
            return self
        _linear(self)
        fit_classifier(
            self,
            blocks,
            lambda rows: Problem(loss, penalty, MatrixDesign(rows), self.fit_intercept),
        )
        return self

    def decision_function(self, X: Any) -> Any:
        """x·w + b, or f(x) + b: shape (n,) for two classes, (n, K) for more."""
        if self.kernel is not None:
            return level_scores(self, X)
        return super().decision_function(X)

    @available_if(_has_planes)
    def sparsify(self) -> Self:
        """coef_ as a sparse matrix of rows."""
        return super().sparsify()

    @available_if(_has_planes)
    def densify(self) -> Self:
        """coef_ as an array again."""
        return super().densify()

    def certify_expansion(self, X: Any, y: Any, sample_weight: Any) -> Certificate:
        """The certificate of a fit with a kernel on its rows."""
        lam, loss = kernel_strength(self), self.loss_for(len(self.classes_))
        problems = classifier_expansions(self, X, y, sample_weight, loss, lambda weight: lam, unit)
        return certify_expansions(self, problems)

    def __sklearn_tags__(self) -> Any:
        return kernel_tags(self, super().__sklearn_tags__())

    def loss_for(self, K: int) -> Loss:
        """The loss of K classes."""
        if isinstance(self.loss, Joint) and self.loss.n_classes != K:
            raise ValueError(f"loss={self.loss} does not fit y, which has {K} classes")
        kind = JOINT.get(self.loss) if isinstance(self.loss, str) else type(self.loss)
        if kind is not None and issubclass(kind, Joint):
            return kind(K) if K > 2 else kind.of_two_classes()
        return MARGINS[self.loss]() if isinstance(self.loss, str) else self.loss

    @available_if(_is_log)
    def predict_proba(self, X: Any) -> Any:
        """P(class | x); of several logistic planes, each class's own odds made to sum to one."""
        return probabilities(self.decision_function(X), self._joint())

    @available_if(_is_log)
    def predict_log_proba(self, X: Any) -> Any:
        """log P(class | x)."""
        return log_probabilities(self.decision_function(X), self._joint())

    def _joint(self) -> bool:
        return isinstance(self.loss_for(len(self.classes_)), Multinomial)


class ERMRegressor(SingleTarget):
    """Regularised risk: min over (w, b) of Σ sᵢ l(yᵢ, xᵢ·w + b) / Σsᵢ + Ω(w).

    Any regression loss with any penalty, and a certificate with every fit. With a kernel f(xᵢ),
    f = Σ αⱼ k(xⱼ, ·), takes the place of xᵢ·w, and λ‖f‖²/2 that of Ω.

    Parameters
    ----------
    loss : str or Loss, default "square"
        "square", "absolute", "huber", "pinball", "epsilon_insensitive",
        "squared_epsilon_insensitive", or a loss such as Huber(1.5), Pinball(0.9).
    penalty, lam, fit_intercept, tol, max_iter, warm_start, verbose : as in ERMClassifier
    kernel, gamma, degree, coef0, kernel_params, landmarks, random_state : as in ERMClassifier

    Attributes
    ----------
    coef_, intercept_, n_features_in_, feature_names_in_ : as in scikit-learn
    dual_coef_, X_fit_, kernel_, storage_, landmarks_, full_certificate_ : with a kernel, in the
        place of coef_
    certificate_, converged_, history_, n_iter_ : as in ERMClassifier

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fenchel import ERMRegressor, Huber
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ERMRegressor(loss=Huber(20.0), lam=1e-4).fit(X, y)
    >>> model.converged_, model.certificate_.relative_gap <= 1e-6
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "loss": [StrOptions(set(DISTANCES)), Loss],
        **_shared,
    }

    def __init__(
        self,
        loss: Any = "square",
        penalty: Any = "l2",
        *,
        lam: float = 1e-3,
        kernel: Any = None,
        gamma: float | str | None = None,
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: dict[str, Any] | None = None,
        landmarks: Any = None,
        random_state: Any = None,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = 1000,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.lam = lam
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.landmarks = landmarks
        self.random_state = random_state
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.verbose = verbose

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ERMRegressor:
        """Fit to rows X and targets y; y may be None if X carries its target (`scan`, dask)."""
        if isinstance(self.loss, Margin | Joint):
            raise ValueError(
                f"ERMRegressor needs a loss of the residual, not {self.loss}: take ERMClassifier "
                "for it, or Square(), Huber(), Absolute() here"
            )
        lam = None if self.kernel is None else kernel_strength(self)
        blocks = single_rows(self, X, y, sample_weight)
        if lam is not None:
            problems = Expansions.of(self, blocks, self._loss(), lambda weight: lam, unit)
            fit_expansions(self, blocks, problems)
            self.intercept_ = self.intercept_[0]
            _forget(self, "coef_")
            return self
        _linear(self)
        fit_regressor(self, blocks, self.problem_on(blocks))
        return self

    def predict(self, X: Any) -> Any:
        """x·w + b, or f(x) + b, for each row: a tensor for a tensor."""
        if self.kernel is not None:
            return level_scores(self, X)
        return super().predict(X)

    def problem_on(self, blocks: Blocks) -> Problem:
        """What is minimised on these rows, without a kernel."""
        return Problem(self._loss(), penalty_of(self), MatrixDesign(blocks), self.fit_intercept)

    def certify_expansion(self, X: Any, y: Any, sample_weight: Any) -> Certificate:
        """The certificate of a fit with a kernel on its rows."""
        lam = kernel_strength(self)
        problems = regressor_expansions(self, X, y, sample_weight, self._loss(), lambda weight: lam)
        return certify_expansions(self, problems)

    def _loss(self) -> Loss:
        return DISTANCES[self.loss]() if isinstance(self.loss, str) else self.loss

    def __sklearn_tags__(self) -> Any:
        return kernel_tags(self, super().__sklearn_tags__())
