"""Certificates of fitted regressions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.convex.loss.distance import Absolute, Pinball, Square
from fenchel.convex.penalty import L2, elastic_net
from fenchel.convex.problem import Problem
from fenchel.data.arrays import to_numpy
from fenchel.data.blocks import Block, Blocks
from fenchel.data.design.matrix import MatrixDesign
from fenchel.data.intake import is_dask, total_weight
from fenchel.models.certificates.inputs import coefficients, fitted_rows, with_constant_column
from fenchel.models.certificates.sharpen import prove, total
from fenchel.models.estimator import as_numpy
from fenchel.models.linear.huber import certify_huber
from fenchel.models.linear.svm import svr_loss
from fenchel.solve.quantile.noncrossing import noncrossing

Floats = NDArray[np.float64]


def targets_of(model: Any, name: str, X: Any, y: Any, weight: Any) -> tuple[Blocks, Floats, Floats]:
    """The rows, and the coefficients of each of their targets."""
    if weight is not None and np.ndim(weight) == 0:  # one number for all rows
        weight = np.full(len(as_numpy(y)), float(weight))
    blocks = fitted_rows(model, X, y, weight)
    W, b = coefficients(model, blocks.n_cols)
    columns = 1 if np.ndim(y) < 2 else np.shape(y)[1]
    if y is not None and not is_dask(y) and columns != len(W):
        raise ValueError(
            f"y has {columns} targets, but this {name} was fitted on {len(W)}: pass the y it was "
            "fitted on"
        )
    return blocks, W, b


def target_of(blocks: Blocks, k: int) -> Blocks:
    def pick(block: Block) -> Block:
        y = block.y if block.y is None or block.y.ndim == 1 else block.y[:, k]
        return Block(block.start, block.X, y, block.weight)

    return blocks.map_targets(pick)


def certify_squares(model: Any, name: str, X: Any, y: Any, weight: Any) -> Certificate:
    positive = model.get_params().get("positive", False)
    blocks, W, b = targets_of(model, name, X, y, weight)
    alpha: Any = 0.0
    if name != "LinearRegression":
        alpha = to_numpy(model.alpha_ if name == "RidgeCV" else model.alpha).astype(np.float64)
    alphas = np.broadcast_to(np.ravel(alpha), len(W))
    parts = []
    for k in range(len(W)):
        design = MatrixDesign(target_of(blocks, k))
        penalty = elastic_net(float(alphas[k]) / design.weight, 0.0, positive)
        problem = Problem(Square(), penalty, design, model.fit_intercept)
        parts.append(prove(problem, (W[k], float(b[k]))).scaled(2.0 * design.weight))
    return total(parts)


def certify_elastic(model: Any, name: str, X: Any, y: Any, weight: Any) -> Certificate:
    blocks, W, b = targets_of(model, name, X, y, weight)
    alpha = float(model.alpha_ if name.endswith("CV") else model.alpha)
    ratio = 1.0 if name.startswith("Lasso") else None
    if ratio is None:
        ratio = float(model.l1_ratio_ if name.endswith("CV") else model.l1_ratio)
    parts = []
    for k in range(len(W)):
        design = MatrixDesign(target_of(blocks, k))
        penalty = elastic_net(alpha, ratio, model.positive)
        problem = Problem(Square(), penalty, design, model.fit_intercept)
        parts.append(prove(problem, (W[k], float(b[k]))))
    return total(parts)


def certify_robust(model: Any, name: str, home: str, X: Any, y: Any, weight: Any) -> Certificate:
    """Of a regression whose loss grows like the residual, not like its square."""
    if name == "QuantileRegressor":
        blocks = fitted_rows(model, X, y, weight)
        return _quantiles(model, blocks, *coefficients(model, blocks.n_cols))
    blocks, W, b = targets_of(model, name, X, y, weight)
    rows, w, level = target_of(blocks, 0), W[0], float(b[0])
    if name == "HuberRegressor":
        return certify_huber(model, rows, w, level)
    if name == "ERMRegressor":
        return prove(model.problem_on(rows), (w, level))
    if name == "LeastAbsoluteDeviations":
        penalty = L2(float(model.alpha))
        problem = Problem(Absolute(), penalty, MatrixDesign(rows), model.fit_intercept)
        return prove(problem, (w, level))
    loss, times = svr_loss(model)
    factor = times * float(model.C) * total_weight(rows)
    intercept = bool(model.fit_intercept)
    if intercept and (home == "sklearn" or model.intercept_scaling is not None):
        scaling = float(model.intercept_scaling)
        rows, w = with_constant_column(rows, scaling), np.append(w, level / scaling)
        intercept, level = False, 0.0
    problem = Problem(loss, L2(1.0 / factor), MatrixDesign(rows), intercept)
    return prove(problem, (w, level)).scaled(factor)


def _quantiles(model: Any, blocks: Blocks, W: Floats, b: Floats) -> Certificate:
    quantiles = np.ravel(model.quantile).astype(np.float64)
    parts = []
    for k, q in enumerate(quantiles):
        penalty = elastic_net(float(model.alpha), 1.0)
        design = MatrixDesign(target_of(blocks, 0))
        problem = Problem(Pinball(float(q)), penalty, design, model.fit_intercept)
        parts.append(prove(problem, (W[k], float(b[k]))))
    proof = total(parts)
    if not model.get_params().get("non_crossing", False) or len(quantiles) == 1:
        return proof
    # Planes that may not cross have a larger optimum than planes that may.
    levels = np.sort(quantiles)
    found = noncrossing(blocks, levels, float(model.alpha), model.fit_intercept, 1e-8)
    order = np.argsort(quantiles)
    own = found.certified_at(W[order].T, b[order])
    return own if own.kind == "duality" and own.bound > proof.bound else proof
