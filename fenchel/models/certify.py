"""The duality gap of a fitted model: ours or scikit-learn's, each on its own objective."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from fenchel.convex.certificate import Certificate, NotCertified
from fenchel.convex.distance import Square
from fenchel.convex.loss import Loss
from fenchel.convex.margin import Hinge, Logistic, SquaredHinge
from fenchel.convex.multiclass import Multinomial
from fenchel.convex.penalty import L1, L2, ElasticNet, NonNegative, Penalty
from fenchel.convex.problem import Problem
from fenchel.data.arrays import host
from fenchel.data.blocks import Block, Blocks
from fenchel.data.design import MatrixDesign, Point
from fenchel.data.table import is_dask
from fenchel.models.base import host_keep, is_remote
from fenchel.models.fitted import (
    augmented,
    class_weights,
    coded_rows,
    coefficients,
    fitted_rows,
    weighed,
)
from fenchel.models.support import certify_kernel, hinge_dual
from fenchel.solve.minimise import minimise

Floats = NDArray[np.float64]
SHARP = 1e-8  # the relative gap beyond which a better dual point is looked for
SQUARES = ("LinearRegression", "Ridge", "RidgeCV")
SPARSE = ("Lasso", "LassoCV", "ElasticNet", "ElasticNetCV")
LOGISTIC = ("LogisticRegression", "LogisticRegressionCV")
KNOWN = (*SQUARES, *SPARSE, "RidgeClassifier", *LOGISTIC, "LinearSVC", "SVC", "Pipeline")


def certify(model: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
    """How far a fitted model is from the optimum of its own objective, proved.

    The value is the objective at the fitted coefficients, the bound that of a feasible dual point,
    both in scikit-learn's scaling:

    - LinearRegression: Σ sᵢ(yᵢ - xᵢ·w - b)², with positive=True under w ≥ 0
    - Ridge, RidgeCV, RidgeClassifier: Σ sᵢ(yᵢ - xᵢ·w - b)² + α|w|², summed over the targets
    - Lasso, ElasticNet and their CV: Σ sᵢ(yᵢ - xᵢ·w - b)² / (2Σsᵢ) + αρ|w|₁ + α(1 - ρ)|w|²/2,
      ρ = l1_ratio
    - LogisticRegression(CV): C Σ sᵢ l(yᵢ, zᵢ) + ρ|w|₁ + (1 - ρ)|w|²/2, with l the logistic loss
      log(1 + e^{-yz}) of z = x·w + b or, for more classes, the multinomial log Σₖ e^{zₖ} - z_y;
      for C = inf, Σ sᵢ l(yᵢ, zᵢ)
    - LinearSVC: C Σ sᵢ max(0, 1 - yᵢzᵢ)ᵖ + |w|²/2 or |w|₁, p = 1 (hinge) or 2, one class against
      the rest, summed over the classes
    - SVC: C Σ sᵢ max(0, 1 - yᵢ(f(xᵢ) + b)) + ‖f‖²/2 in the kernel's space, summed over the pairs
      of classes

    sᵢ is the sample weight times the class weight. scikit-learn's LinearSVC, and its logistic
    regression by solver="liblinear", penalise their intercept: there w has one more entry,
    b / intercept_scaling, and so does |w|.

    Parameters
    ----------
    model : fitted estimator
        Of this library or of scikit-learn.
    X, y, sample_weight : what it was fitted on
        X in any container that `as_blocks` takes; y may lie beside the rows of `scan` and dask.

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
    coefficients. Where that leaves more than 1e-8 and the loss is smooth with an L2 penalty or
    none, and for LinearSVC's hinge, the dual problem is solved, so that the gap is that of the
    model and not of its dual point. On other rows than those of the fit the answer is a true
    statement about these coefficients on those rows.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Lasso
    >>> from fenchel import certify
    >>> X, y = load_diabetes(return_X_y=True)
    >>> certify(Lasso(alpha=0.1).fit(X, y), X, y).relative_gap < 1e-3
    True
    """
    name, home = _family(model)
    if name == "Pipeline":
        ahead = model[:-1].transform(X) if len(model.steps) > 1 else X
        return certify(model[-1], ahead, y, sample_weight)
    check_is_fitted(model)
    if y is None and not is_remote(X):
        raise ValueError(f"certifying a {name} needs the target y it was fitted on")
    if name in SQUARES:
        return _squares(model, name, X, y, sample_weight)
    if name in SPARSE:
        return _elastic(model, name, X, y, sample_weight)
    if name == "RidgeClassifier":
        return _ridge_classifier(model, X, y, sample_weight)
    if name in LOGISTIC:
        return _logistic(model, name, home, X, y, sample_weight)
    if name == "LinearSVC":
        return _linear_svc(model, X, y, sample_weight)
    return certify_kernel(model, coded_rows(model, X, y, sample_weight).gather())


def _family(model: Any) -> tuple[str, str]:
    """The class that decides: the model's own, or the nearest that it inherits from this library
    or scikit-learn, and which of the two."""
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


def _sum(parts: list[Certificate]) -> Certificate:
    return reduce(Certificate.__add__, parts)


def _prove(problem: Problem, point: Point) -> Certificate:
    """The gap at the point's own dual point, sharpened by a better one where that is loose.

    A gradient that is small but not zero says little of the distance to an optimum that hardly
    any penalty holds. Newton's method goes on from the point to find out.
    """
    proof = problem.certify(point)
    smooth = isinstance(problem.penalty, L2) and math.isfinite(problem.loss.smoothness)
    if proof.relative_gap <= SHARP or not smooth or not math.isfinite(proof.value):
        return proof
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCertified)
        tol = max(0.1 * SHARP, 0.01 * min(proof.relative_gap, 1.0))
        best = minimise(problem, tol=tol, start=point).certificate
    if best.kind == "estimate":
        return proof
    return replace(proof, bound=max(proof.bound, best.bound))


# -------------------------------------------------------------------------------------- regression


def _targets(model: Any, name: str, X: Any, y: Any, weight: Any) -> tuple[Blocks, Floats, Floats]:
    """The rows, and the coefficients of each of their targets."""
    if weight is not None and np.ndim(weight) == 0:  # one number for all rows
        weight = np.full(len(host_keep(y)), float(weight))
    blocks = fitted_rows(model, X, y, weight)
    W, b = coefficients(model, blocks.n_cols)
    columns = 1 if np.ndim(y) < 2 else np.shape(y)[1]
    if y is not None and not is_dask(y) and columns != len(W):
        raise ValueError(
            f"y has {columns} targets, but this {name} was fitted on {len(W)}: pass the y it was "
            "fitted on"
        )
    return blocks, W, b


def _target(blocks: Blocks, k: int) -> Blocks:
    def pick(block: Block) -> Block:
        y = block.y if block.y is None or block.y.ndim == 1 else block.y[:, k]
        return Block(block.start, block.X, y, block.weight)

    return blocks.map(pick)


def _squares(model: Any, name: str, X: Any, y: Any, weight: Any) -> Certificate:
    positive = model.get_params().get("positive", False)
    if positive and name != "LinearRegression":
        raise ValueError(f"a {name} with positive=True has no certificate here: only w of any sign")
    blocks, W, b = _targets(model, name, X, y, weight)
    alpha: Any = 0.0
    if name != "LinearRegression":
        alpha = host(np.asarray(model.alpha_ if name == "RidgeCV" else model.alpha, np.float64))
    alphas = np.broadcast_to(np.ravel(alpha), len(W))
    parts = []
    for k in range(len(W)):
        design = MatrixDesign(_target(blocks, k))
        penalty = NonNegative() if positive else L2(float(alphas[k]) / design.weight)
        problem = Problem(Square(), penalty, design, model.fit_intercept)
        parts.append(_prove(problem, (W[k], float(b[k]))).scaled(2.0 * design.weight))
    return _sum(parts)


def _elastic(model: Any, name: str, X: Any, y: Any, weight: Any) -> Certificate:
    if model.positive:
        raise ValueError(f"a {name} with positive=True has no certificate here: only w of any sign")
    blocks, W, b = _targets(model, name, X, y, weight)
    alpha = float(model.alpha_ if name.endswith("CV") else model.alpha)
    ratio = 1.0 if name.startswith("Lasso") else None
    if ratio is None:
        ratio = float(model.l1_ratio_ if name.endswith("CV") else model.l1_ratio)
    parts = []
    for k in range(len(W)):
        design = MatrixDesign(_target(blocks, k))
        problem = Problem(Square(), _penalty(alpha, ratio), design, model.fit_intercept)
        parts.append(_prove(problem, (W[k], float(b[k]))))
    return _sum(parts)


def _penalty(lam: float, ratio: float) -> Penalty:
    if ratio == 0.0:
        return L2(lam)
    return L1(lam) if ratio == 1.0 else ElasticNet(lam, ratio)


# ---------------------------------------------------------------------------------- classification


def _ridge_classifier(model: Any, X: Any, y: Any, weight: Any) -> Certificate:
    if model.positive:
        raise ValueError("a RidgeClassifier with positive=True has no certificate here")
    blocks = coded_rows(model, X, y, weight)
    each = class_weights(model, blocks, weighted=False)
    W, b = coefficients(model, blocks.n_cols)
    parts = []
    for k in range(len(W)):
        design = MatrixDesign(weighed(blocks, each, k if len(W) > 1 else 1))
        problem = Problem(Square(), L2(model.alpha / design.weight), design, model.fit_intercept)
        parts.append(_prove(problem, (W[k], float(b[k]))).scaled(2.0 * design.weight))
    return _sum(parts)


def _strength(model: Any, name: str) -> tuple[float, float]:
    """C and l1_ratio as the fit used them."""
    if name == "LogisticRegression":
        C, ratio = model.C, model.l1_ratio
    elif not model.refit:
        raise ValueError(
            "LogisticRegressionCV with refit=False averages the coefficients of its folds, which "
            "minimises no objective: fit it with refit=True"
        )
    else:
        C, ratio = np.ravel(model.C_)[0], np.ravel(model.l1_ratio_)[0]
    if model.penalty is None:
        return math.inf, 0.0
    ratio = {"l1": 1.0, "l2": 0.0}.get(model.penalty, 0.0 if ratio is None else float(ratio))
    return float(C), ratio


def _logistic(model: Any, name: str, home: str, X: Any, y: Any, weight: Any) -> Certificate:
    C, ratio = _strength(model, name)
    blocks = coded_rows(model, X, y, weight)
    each = class_weights(model, blocks, weighted=True)
    W, b = coefficients(model, blocks.n_cols)
    binary = len(model.classes_) == 2
    rows = weighed(blocks, each, 1 if binary else None)
    loss: Loss = Logistic() if binary else Multinomial(len(model.classes_))
    point = (W[0], float(b[0])) if binary else (W.T, b)
    intercept = model.fit_intercept
    if intercept and home == "sklearn" and model.solver == "liblinear":
        # The refit of LogisticRegressionCV leaves intercept_scaling at 1, whatever was asked.
        scaling = model.intercept_scaling if name == "LogisticRegression" else 1.0
        rows, intercept = augmented(rows, scaling), False
        point = (np.append(W[0], b[0] / scaling), 0.0)
    design = MatrixDesign(rows)
    total = design.weight
    penalty = L2(0.0) if math.isinf(C) else _penalty(1.0 / (C * total), ratio)
    problem = Problem(loss, penalty, design, intercept)
    return _prove(problem, point).scaled(total if math.isinf(C) else C * total)


def _linear_svc(model: Any, X: Any, y: Any, weight: Any) -> Certificate:
    if model.multi_class != "ovr":
        raise ValueError(
            f"LinearSVC with multi_class={model.multi_class!r} has no certificate here: only 'ovr'"
        )
    blocks = coded_rows(model, X, y, weight)
    each = class_weights(model, blocks, weighted=True)
    W, b = coefficients(model, blocks.n_cols)
    parts = []
    for k in range(len(W)):
        positive = k if len(W) > 1 else 1
        # Of several classes liblinear weighs the one that it sets against the rest, and no other.
        shares = np.where(np.arange(len(each)) == k, each, 1.0) if len(W) > 1 else each
        rows, w = weighed(blocks, shares, positive), W[k]
        if model.fit_intercept:
            rows = augmented(rows, model.intercept_scaling)
            w = np.append(w, b[k] / model.intercept_scaling)
        design = MatrixDesign(rows)
        factor = model.C * design.weight
        penalty = _penalty(1.0 / factor, 1.0 if model.penalty == "l1" else 0.0)
        loss = Hinge() if model.loss == "hinge" else SquaredHinge()
        problem = Problem(loss, penalty, design, False)
        if isinstance(loss, Hinge):
            proof = problem.certify((w, 0.0), theta=hinge_dual(problem))
        else:
            proof = _prove(problem, (w, 0.0))
        parts.append(proof.scaled(factor))
    return _sum(parts)
