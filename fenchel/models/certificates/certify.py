"""The duality gap of a fitted model: ours or scikit-learn's, each on its own objective."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fenchel.convex.certificate import Certificate
from fenchel.models.certificates.certified import SelfCertified
from fenchel.models.certificates.classifiers import (
    certify_logistic,
    certify_online,
    certify_planes,
    certify_ridge_classifier,
)
from fenchel.models.certificates.inputs import encoded_rows
from fenchel.models.certificates.kernel_svm import certify_kernel
from fenchel.models.certificates.regressors import certify_elastic, certify_robust, certify_squares
from fenchel.models.estimator import is_remote
from fenchel.models.linear.erm import ERMClassifier, ERMRegressor
from fenchel.models.linear.ranking import certify_ranking

SQUARES = ("LinearRegression", "Ridge", "RidgeCV")
SPARSE = ("Lasso", "LassoCV", "ElasticNet", "ElasticNetCV")
ROBUST = (
    "HuberRegressor",
    "LinearSVR",
    "LeastAbsoluteDeviations",
    "QuantileRegressor",
    "ERMRegressor",
)
LOGISTIC = ("LogisticRegression", "LogisticRegressionCV")
PLANES = ("LinearSVC", "ERMClassifier")
ONLINE = ("Perceptron", "Adaline")
KNOWN = (
    *(*SQUARES, *SPARSE, *ROBUST, "RidgeClassifier", *LOGISTIC),
    *(*PLANES, *ONLINE, "PairwiseRanker", "SVC", "Pipeline"),
)


# A number beyond float64 makes a value or a bound that says so.
@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def certify(
    model: Any, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None
) -> Certificate:
    """How far a fitted model is from the optimum of its own objective, proved.

    The value is the objective at the fitted coefficients, the bound that of a feasible dual point,
    both in scikit-learn's scaling:

    - LinearRegression: Σ sᵢ(yᵢ - xᵢ·w - b)², with positive=True under w ≥ 0
    - Ridge, RidgeCV, RidgeClassifier: Σ sᵢ(yᵢ - xᵢ·w - b)² + α|w|², summed over the targets
    - Lasso, ElasticNet and their CV: Σ sᵢ(yᵢ - xᵢ·w - b)² / (2Σsᵢ) + αρ|w|₁ + α(1 - ρ)|w|²/2,
      ρ = l1_ratio, with positive=True under w ≥ 0 as those above
    - HuberRegressor: Σ sᵢ(σ + σH(rᵢ/σ)) + α|w|², r = y - x·w - b, H(t) = t² for |t| ≤ ε, else
      2ε|t| - ε²
    - LinearSVR: C Σ sᵢ max(0, |rᵢ| - ε)ᵖ + |w|²/2, p = 1 or 2; LeastAbsoluteDeviations:
      Σ sᵢ|rᵢ| / Σsᵢ + α|w|²/2; QuantileRegressor: Σ sᵢ max(q rᵢ, (q - 1) rᵢ) / Σsᵢ + α|w|₁, summed
      over the quantiles; ERMRegressor, ERMClassifier: Σ sᵢ l(yᵢ, zᵢ) / Σsᵢ + Ω(w),
      with a kernel z = f(x) + b and λ‖f‖²/2 for Ω
    - LogisticRegression(CV): C Σ sᵢ l(yᵢ, zᵢ) + ρ|w|₁ + (1 - ρ)|w|²/2, with l the logistic loss
      log(1 + e^{-yz}) of z = x·w + b or, for more classes, the multinomial log Σₖ e^{zₖ} - z_y;
      for C = inf, Σ sᵢ l(yᵢ, zᵢ)
    - LinearSVC: C Σ sᵢ max(0, 1 - yᵢzᵢ)ᵖ + |w|²/2 or |w|₁, p = 1 (hinge) or 2, one class against
      the rest, summed over the classes; for multi_class="crammer_singer" C Σ sᵢ maxₖ (1[k ≠ yᵢ] +
      zᵢₖ) - zᵢy + Σₖ|wₖ|²/2, of two classes C Σ sᵢ max(0, 1 - yᵢzᵢ) + |w|²/4
    - Perceptron: Σ sᵢ max(0, -yᵢzᵢ) / Σsᵢ, whose optimum is 0, at w = 0 if nowhere else; Adaline:
      Σ sᵢ(yᵢ - zᵢ)² / (2Σsᵢ); both with y = ±1, one class against the rest, summed over the classes
    - PairwiseRanker: Σ sᵢsⱼ φ(zᵢ - zⱼ) / Σ sᵢsⱼ + α|w|²/2 over pairs with yᵢ > yⱼ in one group
    - estimators of clusters, mixtures, discriminants, neighbours, spectra and kernels state their
      objective, and what is proved of it, in their own docstrings
    - SVC: C Σ sᵢ max(0, 1 - yᵢ(f(xᵢ) + b)) + ‖f‖²/2 in the kernel's space, summed over the pairs
      of classes

    sᵢ is the sample weight times the class weight. scikit-learn's LinearSVC and LinearSVR, and its
    logistic regression by solver="liblinear", penalise their intercept, as ours do where
    intercept_scaling is a number: there w has one more entry, b / intercept_scaling.

    Parameters
    ----------
    model : fitted estimator
        Of this library or of scikit-learn.
    X, y, sample_weight, groups : what it was fitted on
        X in any container that `as_blocks` takes; y may be None if X carries its target.

    Returns
    -------
    Certificate

    Raises
    ------
    TypeError, ValueError
        With the reason, for models whose objective is not convex, not known here, or not that of
        the arguments.

    Notes
    -----
    The dual point is the loss's gradient at the model's own scores, or SVC's own dual
    coefficients. Where that leaves more than 1e-8 the problem is solved from there on, so that the
    gap is that of the model and not of its dual point. On other rows than those of the fit the
    answer is a true statement about these coefficients on those rows.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Lasso
    >>> from fenchel import certify
    >>> X, y = load_diabetes(return_X_y=True)
    >>> certify(Lasso(alpha=0.1).fit(X, y), X, y).relative_gap < 1e-3
    True
    """
    if isinstance(model, SelfCertified):
        check_is_fitted(model)
        if groups is not None:
            raise ValueError(f"a {type(model).__name__} has no groups: leave them out")
        return model.certify_on(X, y, sample_weight)
    name, home = _family(model)
    if name == "Pipeline":
        ahead = model[:-1].transform(X) if len(model.steps) > 1 else X
        return certify(model[-1], ahead, y, sample_weight, groups=groups)
    check_is_fitted(model)
    if y is None and not is_remote(X):
        raise ValueError(f"certifying a {name} needs the target y it was fitted on")
    if groups is not None and name != "PairwiseRanker":
        raise ValueError(f"a {name} has no groups: leave them out")
    if isinstance(model, ERMClassifier | ERMRegressor) and model.kernel is not None:
        return model.certify_expansion(X, y, sample_weight)
    if name in SQUARES:
        return certify_squares(model, name, X, y, sample_weight)
    if name in SPARSE:
        return certify_elastic(model, name, X, y, sample_weight)
    if name in ROBUST:
        return certify_robust(model, name, home, X, y, sample_weight)
    if name == "RidgeClassifier":
        return certify_ridge_classifier(model, X, y, sample_weight)
    if name in LOGISTIC:
        return certify_logistic(model, name, home, X, y, sample_weight)
    if name in PLANES:
        return certify_planes(model, name, home, X, y, sample_weight)
    if name in ONLINE:
        return certify_online(model, name, home, X, y, sample_weight)
    if name == "PairwiseRanker":
        return certify_ranking(model, X, y, groups, sample_weight)
    return certify_kernel(model, encoded_rows(model, X, y, sample_weight).gather())


def _family(model: Any) -> tuple[str, str]:
    """The class that decides: the model's own, or the nearest that it inherits from this library
    or scikit-learn, and which of the two."""
    if isinstance(model, type):
        raise TypeError(f"certify takes a fitted model, not the class {model.__name__}: fit it")
    for kind in type(model).__mro__:
        home = kind.__module__.partition(".")[0]
        if home in ("fenchel", "sklearn"):
            if kind.__name__ in KNOWN:
                return kind.__name__, home
            break
    hint = ": certify its best_estimator_" if "SearchCV" in type(model).__name__ else ""
    raise TypeError(
        f"{type(model).__name__} minimises no convex objective that is known here{hint}; "
        f"certificates exist for {', '.join(KNOWN)}"
    )
