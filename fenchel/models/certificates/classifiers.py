"""Certificates of fitted classifiers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.convex.loss.base import Loss
from fenchel.convex.loss.distance import Square
from fenchel.convex.loss.margin import Logistic
from fenchel.convex.loss.multiclass import Joint, Multinomial
from fenchel.convex.penalty import L2, elastic_net
from fenchel.convex.problem import Problem
from fenchel.data.blocks import Blocks
from fenchel.data.design.matrix import MatrixDesign, Point
from fenchel.models.certificates.inputs import (
    class_weights,
    coefficients,
    encoded_rows,
    weighted_rows,
    with_constant_column,
)
from fenchel.models.certificates.sharpen import prove, total
from fenchel.models.linear.erm_penalty import penalty_of
from fenchel.models.linear.svm import svc_terms
from fenchel.models.online.perceptron_proof import criterion

Floats = NDArray[np.float64]


def certify_ridge_classifier(model: Any, X: Any, y: Any, weight: Any) -> Certificate:
    blocks = encoded_rows(model, X, y, weight)
    each = class_weights(model, blocks, weighted=False)
    W, b = coefficients(model, blocks.n_cols)
    parts = []
    for k in range(len(W)):
        design = MatrixDesign(weighted_rows(blocks, each, k if len(W) > 1 else 1))
        penalty = elastic_net(model.alpha / design.weight, 0.0, model.positive)
        problem = Problem(Square(), penalty, design, model.fit_intercept)
        parts.append(prove(problem, (W[k], float(b[k]))).scaled(2.0 * design.weight))
    return total(parts)


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


def certify_logistic(model: Any, name: str, home: str, X: Any, y: Any, weight: Any) -> Certificate:
    C, ratio = _strength(model, name)
    blocks = encoded_rows(model, X, y, weight)
    each = class_weights(model, blocks, weighted=True)
    W, b = coefficients(model, blocks.n_cols)
    binary = len(model.classes_) == 2
    rows = weighted_rows(blocks, each, 1 if binary else None)
    loss: Loss = Logistic() if binary else Multinomial(len(model.classes_))
    point = (W[0], float(b[0])) if binary else (W.T, b)
    intercept = model.fit_intercept
    if intercept and home == "sklearn" and model.solver == "liblinear":
        # The refit of LogisticRegressionCV leaves intercept_scaling at 1, whatever was asked.
        scaling = model.intercept_scaling if name == "LogisticRegression" else 1.0
        rows, intercept = with_constant_column(rows, scaling), False
        point = (np.append(W[0], b[0] / scaling), 0.0)
    design = MatrixDesign(rows)
    total = design.weight
    penalty = L2(0.0) if math.isinf(C) else elastic_net(1.0 / (C * total), ratio)
    problem = Problem(loss, penalty, design, intercept)
    return prove(problem, point).scaled(total if math.isinf(C) else C * total)


def certify_planes(model: Any, name: str, home: str, X: Any, y: Any, weight: Any) -> Certificate:
    """Of LinearSVC and ERMClassifier: each class against the rest, or all in one loss."""
    blocks = encoded_rows(model, X, y, weight)
    each = class_weights(model, blocks, weighted=True)
    W, b = coefficients(model, blocks.n_cols)
    K = len(model.classes_)
    if name == "ERMClassifier":
        loss, penalty = model.loss_for(K), penalty_of(model)
        if isinstance(loss, Joint):
            design = MatrixDesign(weighted_rows(blocks, each, None))
            return prove(Problem(loss, penalty, design, model.fit_intercept), (W.T, b))
        parts = []
        for k in range(len(W)):
            design = MatrixDesign(weighted_rows(blocks, each, k if len(W) > 1 else 1))
            problem = Problem(loss, penalty, design, model.fit_intercept)
            parts.append(prove(problem, (W[k], float(b[k]))))
        return total(parts)
    planes = 1 if K <= 2 else K
    if len(W) != planes:  # liblinear counts classes by the rows that have weight
        raise ValueError(
            f"coef_ has {len(W)} rows for {K} classes, not {planes}: a class whose rows "
            "all have weight 0 is left out of the fit and yet named by predict. Fit without these "
            "rows"
        )
    if len(W) > 1 and model.multi_class == "crammer_singer":
        rows, W, b, intercept = _with_intercept(model, weighted_rows(blocks, each, None), W, b)
        return _svc_proof(model, rows, (W.T, b), intercept)
    return total([_linear_svc(model, home, blocks, each, W, b, k) for k in range(len(W))])


def _linear_svc(
    model: Any, home: str, blocks: Blocks, each: Floats, W: Floats, b: Floats, k: int
) -> Certificate:
    shares = each
    if home == "sklearn" and len(W) > 1:
        # Of several classes liblinear weighs the one that it sets against the rest, and no other.
        shares = np.where(np.arange(len(each)) == k, each, 1.0)
    rows = weighted_rows(blocks, shares, k if len(W) > 1 else 1)
    rows, W, b, intercept = _with_intercept(model, rows, W[k : k + 1], b[k : k + 1])
    return _svc_proof(model, rows, (W[0], float(b[0])), intercept)


def _with_intercept(
    model: Any, rows: Blocks, W: Floats, b: Floats
) -> tuple[Blocks, Floats, Floats, bool]:
    """Rows and planes, the intercept as one more coefficient where it is penalised like one; and
    whether it is free."""
    if not model.fit_intercept or model.intercept_scaling is None:
        return rows, W, b, bool(model.fit_intercept)
    scaling = float(model.intercept_scaling)
    return with_constant_column(rows, scaling), np.hstack([W, b[:, None] / scaling]), 0.0 * b, False


def _svc_proof(model: Any, rows: Blocks, point: Point, intercept: bool) -> Certificate:
    loss, penalty, share = svc_terms(model)
    design = MatrixDesign(rows)
    factor = float(model.C) * design.weight
    omega = elastic_net(share / factor, 1.0 if penalty == "l1" else 0.0)
    return prove(Problem(loss, omega, design, intercept), point).scaled(factor)


def certify_online(model: Any, name: str, home: str, X: Any, y: Any, weight: Any) -> Certificate:
    if name == "Perceptron" and model.penalty is not None:
        raise ValueError(f"a Perceptron with penalty={model.penalty!r} has no certificate here")
    blocks = encoded_rows(model, X, y, weight)
    each = class_weights(model, blocks, weighted=True)
    W, b = coefficients(model, blocks.n_cols)
    rows = [weighted_rows(blocks, each, k if len(W) > 1 else 1) for k in range(len(W))]
    if name == "Perceptron":
        return criterion(rows, W, b)
    free = [Problem(Square(), L2(0.0), MatrixDesign(part), model.fit_intercept) for part in rows]
    return total([prove(problem, (W[k], float(b[k]))) for k, problem in enumerate(free)])
