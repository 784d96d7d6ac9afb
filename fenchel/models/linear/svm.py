"""Linear support vector machines, for classes and for numbers."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from fenchel.convex.loss.base import Loss
from fenchel.convex.loss.distance import EpsilonInsensitive, SquaredEpsilonInsensitive
from fenchel.convex.loss.hinge import Hinge, SquaredHinge
from fenchel.convex.loss.multiclass import MulticlassHinge
from fenchel.convex.penalty import L1, L2, Penalty
from fenchel.convex.problem import Problem
from fenchel.data.blocks import Blocks
from fenchel.data.design.matrix import MatrixDesign
from fenchel.data.intake import total_weight
from fenchel.models.array_namespace import fit_method
from fenchel.models.certificates.inputs import with_constant_column
from fenchel.models.fitting import fit_classifier, fit_regressor
from fenchel.models.labels import LinearClassifier, encode_labels
from fenchel.models.targets import SingleTarget, single_rows

_shared: dict[str, list[Any]] = {
    "dual": ["boolean", StrOptions({"auto"})],
    "tol": [Interval(Real, 0, None, closed="left")],
    "C": [Interval(Real, 0, None, closed="neither")],
    "fit_intercept": ["boolean"],
    "intercept_scaling": [Interval(Real, 0, None, closed="neither"), None],
    "verbose": ["verbose"],
    "random_state": ["random_state"],
    "max_iter": [Interval(Integral, 0, None, closed="left")],
    "warm_start": ["boolean"],
}


def penalises_intercept(estimator: Any) -> bool:
    """Whether the intercept is one more coefficient, penalised like the others."""
    return bool(estimator.fit_intercept) and estimator.intercept_scaling is not None


def with_intercept_column(estimator: Any, blocks: Blocks) -> Blocks:
    """The rows, with a constant column where that stands for the intercept."""
    return (
        with_constant_column(blocks, estimator.intercept_scaling)
        if penalises_intercept(estimator)
        else blocks
    )


def problem_on(estimator: Any, rows: Blocks, loss: Loss, penalty: str, factor: float) -> Problem:
    """The estimator's objective over `factor`: a mean loss and a penalty."""
    lam = 1.0 / factor
    omega: Penalty = L1(lam) if penalty == "l1" else L2(lam)
    free = estimator.fit_intercept and not penalises_intercept(estimator)
    return Problem(loss, omega, MatrixDesign(rows), bool(free))


class LinearSVC(LinearClassifier):
    """Linear support vector machine: min over (w, b) of C Σ sᵢ max(0, 1 - yᵢ(xᵢ·w + b))ᵖ + |w|²/2.

    p = 1 for the hinge, 2 for the squared hinge. The intercept is *not* penalised: scikit-learn's
    LinearSVC adds b²/(2 intercept_scaling²) to the objective, which ties the answer to where the
    columns have their zero; give `intercept_scaling` a number to get exactly that. Of more than two
    classes each is set against the rest, or all are fitted in one loss, Crammer and Singer's

    C Σ sᵢ maxₖ (1[k ≠ yᵢ] + xᵢ·wₖ + bₖ) - (xᵢ·w_y + b_y) + Σₖ|wₖ|²/2

    Every fit carries `certificate_`.

    Parameters
    ----------
    penalty : "l2" or "l1"
        |w|²/2 or |w|₁.
    loss : "squared_hinge" or "hinge"
        Both without effect for multi_class="crammer_singer", as in scikit-learn.
    dual : ignored, the fit is proved with both
    tol : float, default 1e-6
        Relative duality gap to reach.
    C : float, default 1
        Inverse strength of the penalty, positive.
    multi_class : "ovr" or "crammer_singer"
        Each class against the rest, or the one loss above, by an augmented Lagrangian with
        semismooth Newton steps: 0.5 s to a proved 1e-6 for 20,000 x 50 rows of 5 classes, where
        liblinear takes 36 s. Of two classes it is the hinge with half the penalty, |w|²/4, for
        w = w₁ - w₀; coef_ has the one plane w.
    fit_intercept : bool, default True
    intercept_scaling : float or None, default None
        None leaves the intercept free; a number gives scikit-learn's penalised one.
    class_weight : dict, "balanced" or None
        A row's weight is that of its own class in every one-against-rest problem.
    verbose : int
        1 shows the gap while fitting.
    random_state : ignored, nothing is random
    max_iter : int, default 1000
    warm_start : bool
        Start from the last fit's coefficients.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, n_features_in_, feature_names_in_ : as in scikit-learn
    certificate_ : Certificate
        On the objective above, summed over the classes; `certificates_` has one a class.
    loss_, loss_gap_ : Loss, float
        The loss that was minimised, and `certificate_.gap` on the scale of its mean.
    converged_ : bool
    history_ : tuple of Certificate

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from fenchel import LinearSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearSVC(loss="hinge", C=0.1).fit(StandardScaler().fit_transform(X), y)
    >>> model.converged_, model.certificate_.relative_gap <= 1e-6
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "penalty": [StrOptions({"l1", "l2"})],
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        **_shared,
        "multi_class": [StrOptions({"ovr", "crammer_singer"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        penalty: str = "l2",
        loss: str = "squared_hinge",
        *,
        dual: bool | str = "auto",
        tol: float = 1e-6,
        C: float = 1.0,
        multi_class: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float | None = None,
        class_weight: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int = 1000,
        warm_start: bool = False,
    ) -> None:
        self.penalty = penalty
        self.loss = loss
        self.dual = dual
        self.tol = tol
        self.C = C
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.warm_start = warm_start

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LinearSVC:
        """Fit to rows X and labels y; y may be None if X (scan, dask) carries its target."""
        self.classes_, blocks = encode_labels(self, X, y, sample_weight, self.class_weight)
        rows = with_intercept_column(self, blocks)
        factor = float(self.C) * total_weight(blocks)
        loss, penalty, share = svc_terms(self)
        fit_classifier(
            self,
            rows,
            lambda b: problem_on(self, b, loss, penalty, factor / share),
            factor,
            self.intercept_scaling if penalises_intercept(self) else None,
            blocks.dtype,
        )
        if isinstance(loss, MulticlassHinge) and not penalises_intercept(self):
            self.intercept_ -= self.intercept_.mean()  # one number added to all changes nothing
        return self


def svc_terms(estimator: Any) -> tuple[Loss, str, float]:
    """The loss of a LinearSVC of these classes, its penalty, and how much of the penalty counts."""
    K = len(estimator.classes_)
    if estimator.multi_class == "crammer_singer":
        return (MulticlassHinge(K), "l2", 1.0) if K > 2 else (Hinge(), "l2", 0.5)
    loss = Hinge() if estimator.loss == "hinge" else SquaredHinge()
    return loss, estimator.penalty, 1.0


class LinearSVR(SingleTarget):
    """Linear support vector regression: min over (w, b) of C Σ sᵢ l(yᵢ - xᵢ·w - b) + |w|²/2.

    l(r) = max(0, |r| - ε), or its square. The intercept is not penalised, unlike scikit-learn's:
    see `LinearSVC`.

    Parameters
    ----------
    epsilon : float, default 0
        Half-width ε of the zone without loss, in units of y.
    tol : float, default 1e-6
        Relative duality gap to reach.
    C : float, default 1
        Inverse strength of the penalty, positive.
    loss : "epsilon_insensitive" or "squared_epsilon_insensitive"
    fit_intercept, intercept_scaling, dual, verbose, random_state, max_iter, warm_start :
        as in LinearSVC

    Attributes
    ----------
    coef_, n_iter_, n_features_in_, feature_names_in_ : as in scikit-learn
    intercept_ : array of one number, or 0.0 without an intercept
    certificate_, converged_, history_ : as in LinearSVC

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fenchel import LinearSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearSVR(epsilon=10.0, C=10.0).fit(X, y)
    >>> model.converged_, model.certificate_.relative_gap <= 1e-6
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "loss": [StrOptions({"epsilon_insensitive", "squared_epsilon_insensitive"})],
        **_shared,
    }

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        tol: float = 1e-6,
        C: float = 1.0,
        loss: str = "epsilon_insensitive",
        fit_intercept: bool = True,
        intercept_scaling: float | None = None,
        dual: bool | str = "auto",
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int = 1000,
        warm_start: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.warm_start = warm_start

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LinearSVR:
        """Fit to rows X and targets y; y may be None if X carries its target (`scan`, dask)."""
        blocks = single_rows(self, X, y, sample_weight)
        loss, times = svr_loss(self)
        factor = times * float(self.C) * total_weight(blocks)
        problem = problem_on(self, with_intercept_column(self, blocks), loss, "l2", factor)
        fit_regressor(
            self,
            blocks,
            problem,
            factor,
            self.intercept_scaling if penalises_intercept(self) else None,
        )
        if self.fit_intercept:
            self.intercept_ = np.atleast_1d(self.intercept_)
        return self


def svr_loss(estimator: Any) -> tuple[Loss, float]:
    """Our loss, and the factor between it and scikit-learn's: ours is half the square."""
    if estimator.loss == "epsilon_insensitive":
        return EpsilonInsensitive(estimator.epsilon), 1.0
    return SquaredEpsilonInsensitive(estimator.epsilon), 2.0
