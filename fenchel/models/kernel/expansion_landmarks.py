"""Σ s l(y, f(x) + b)/Σs + λ‖f‖²/2 over landmarks: Nyström's features as the rows of a linear model.

The solution is also a point of the problem over all functions of the kernel, and its dual variables
are a dual point there.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.data.arrays import is_sparse, to_numpy
from fenchel.data.blocks import Block, Blocks
from fenchel.data.design.kernel import KernelExpansion
from fenchel.data.design.matrix import MatrixDesign
from fenchel.data.in_memory import ArrayBlocks
from fenchel.models.array_namespace import as_known
from fenchel.models.estimator import as_numpy
from fenchel.models.kernel.expansion_fit import Expansions, point_columns
from fenchel.models.kernel.landmark_rows import AT_FIT, GAP, landmark_random, landmark_rows

Floats = NDArray[np.float64]


def fit_expansions(estimator: Any, blocks: Blocks, problems: Expansions) -> None:
    """The fitted attributes of an estimator of these problems, over its landmarks if it has any."""
    for name in ("landmarks_", "full_certificate_"):
        vars(estimator).pop(name, None)
    if estimator.landmarks is None:
        problems.fit(estimator, blocks)
    else:
        _fit_on_landmarks(estimator, blocks, problems)


def certify_expansions(estimator: Any, problems: Expansions) -> Certificate:
    """The certificate of a fitted estimator's coefficients among all functions of the kernel."""
    if estimator.landmarks is None:
        return problems.certify(estimator)
    coef = np.asarray(to_numpy(as_known(estimator.dual_coef_)), np.float64)
    coef = coef.reshape(len(coef), -1)
    spread = np.zeros((problems.rows.n, coef.shape[1]))
    spread[np.asarray(as_numpy(as_known(estimator.landmarks_)))] = coef
    return problems.certify_at(estimator, spread)


def _fit_on_landmarks(estimator: Any, blocks: Blocks, problems: Expansions) -> None:
    random = landmark_random(estimator)
    rows = landmark_rows(
        estimator, blocks, problems.members, random, parameters=estimator.kernel_params
    )
    X = rows.blocks.gather().X
    X = X if is_sparse(X) else as_numpy(X)
    members = np.arange(len(X)) if problems.members is None else problems.members
    X = X if problems.members is None else X[members]
    table = rows.features.table(ArrayBlocks(Block(0, X)))
    places = np.searchsorted(members, rows.numbers)
    found, points, among = [], [], []
    for problem in problems.problems:
        y, s = cast(KernelExpansion, problem.design).sides
        if isinstance(table, ArrayBlocks):  # made once for all classes
            seen: Blocks = ArrayBlocks(replace(table.whole, y=y, weight=s))
        else:
            seen = rows.features.table(ArrayBlocks(Block(0, X, y, s)), 0.0)
        design = MatrixDesign(seen)
        one = problems.solved(estimator, replace(problem, design=design), None)
        w, b = one.point
        points.append((rows.features.basis @ w, b))
        found.append(one)
        if len(members) <= AT_FIT * rows.asked:
            coef = np.zeros((len(members), *w.shape[1:]))
            coef[places] = points[-1][0]
            among.append(problem.certify((coef, b), None, one.state.dual, GAP))
    coef, levels = point_columns(points)
    single = len(points) == 1 and points[0][0].ndim == 1
    # In float64 for rows of any type: to prove that rounding does no harm takes K.
    estimator.dual_coef_ = coef[:, 0] if single else coef
    estimator.intercept_ = levels
    estimator.kernel_, estimator.X_fit_ = rows.outside, rows.points
    estimator.landmarks_ = rows.numbers
    estimator.storage_ = f"the features of {rows.asked} landmarks of rank {len(rows.numbers)} " + (
        "are kept in memory" if isinstance(table, ArrayBlocks) else "are made anew in each pass"
    )
    problems.record(estimator, found, [one.certificate for one in found])
    if among:
        whole = reduce(Certificate.__add__, among).scaled(problems.factor)
        estimator.full_certificate_ = whole
        estimator.storage_ += f"; among all functions of the kernel {whole}"
