"""Probabilities from scores: logistic curves of scores of rows that were left out.

    P(y = 1 | z) = 1 / (1 + exp(A z + B)),   A, B: least Σ s of -t log P - (1 - t) log(1 - P)

over scores z of five machines, each fitted on the other four fifths of both classes, with targets t
= (N₊ + 1)/(N₊ + 2) and 1/(N₋ + 2). Pairs of classes are coupled by the p ≥ 0, Σp = 1 of least Σᵢ
Σⱼ≠ᵢ (rⱼᵢpᵢ - rᵢⱼpⱼ)², where rᵢⱼ is what the machine of i and j says of i.

Reference: Platt, Probabilistic outputs for support vector machines (1999); Wu, Lin and Weng,
Probability estimates for multi-class classification by pairwise coupling, JMLR 5 (2004).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from fenchel.convex.certificate import warn_outside
from fenchel.convex.loss.hinge import Hinge
from fenchel.convex.loss.margin import Logistic
from fenchel.convex.penalty import L2
from fenchel.convex.problem import Problem
from fenchel.data.arrays import is_sparse, is_strings
from fenchel.data.blocks import Block
from fenchel.data.design.kernel import kernel_product
from fenchel.data.design.matrix import MatrixDesign
from fenchel.data.in_memory import ArrayBlocks
from fenchel.models.kernel.gram_rows import GramRows
from fenchel.models.kernel.svm.dual_fit import fit_dual
from fenchel.models.kernel.svm.machines import Machine
from fenchel.solve.minimise import minimise

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
FOLDS = 5


def folds_of(rows: Any, y: Floats, s: Floats) -> Numbers:
    """The fold of each row: the distinct ones of a class in turn, sorted, so that nothing is drawn,
    equal rows are left out together, and the order of the table does not matter. -1 for those that
    are never left out."""
    fold = np.zeros(len(y), np.int64)
    for side in (-1.0, 1.0):
        members = np.flatnonzero((y == side) & (s > 0.0))
        place = _places(rows[members])
        if place.max() == 0:
            warn_outside(
                "probability=True leaves rows of each class out and fits on the others, and one "
                "class has a single distinct row: its score is that of the fit on all",
                UserWarning,
            )
            fold[members] = -1
            continue
        fold[members] = place % FOLDS
    return fold


def _places(rows: Any) -> Numbers:
    """The number of each row among the distinct ones, sorted."""
    if is_sparse(rows):
        ends = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        keys = [rows.indices[a:b].astype(np.int64).tobytes() + rows.data[a:b].tobytes()
                for a, b in ends]  # fmt: skip
        order = {key: place for place, key in enumerate(sorted(set(keys)))}
        return np.array([order[key] for key in keys], np.int64)
    axis = None if is_strings(rows) else 0  # objects have no rows that numpy sorts
    return np.unique(rows, axis=axis, return_inverse=True)[1].reshape(-1)


def left_out_scores(
    estimator: Any,
    gram: GramRows,
    C: float,
    y: Floats,
    s: Floats,
    members: Numbers,
    beta: Floats,
    b: float,
) -> Floats:
    """The score of each member by the machine of the other folds; beta, b: of the fit on all,
    where each of these begins. y, s and beta belong to the members."""
    fold, scores = folds_of(gram.rows[members], y, s), np.zeros(len(y))
    known = np.flatnonzero(beta)
    alone = np.flatnonzero(fold < 0)
    scores[alone] = _scores(gram, members[alone], members[known], beta[known], b)
    for k in range(int(fold.max()) + 1):
        inside, outside = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        found = fit_dual(
            estimator, gram, Hinge(), C, y[inside], s[inside], members[inside], beta[inside]
        )
        used = np.flatnonzero(found.beta)
        points = members[inside][used]
        scores[outside] = _scores(gram, members[outside], points, found.beta[used], found.b)
    return scores


def _scores(gram: GramRows, rows: Numbers, points: Numbers, coef: Floats, b: float) -> Floats:
    return kernel_product(gram.kernel, gram.rows[rows], gram.rows[points], coef) + b


def fit_curve(scores: Floats, y: Floats, s: Floats) -> tuple[float, float]:
    """A and B."""
    ups, downs = float(s[y > 0.0].sum()), float(s[y < 0.0].sum())
    t = np.where(y > 0.0, (ups + 1.0) / (ups + 2.0), 1.0 / (downs + 2.0))
    # Scores in units of their own size: the curve is the same, and Newton's step well scaled.
    unit = float(np.abs(scores[s > 0.0]).max())
    unit = unit if unit > 0.0 else 1.0
    rows = np.concatenate([scores, scores])[:, None] / unit
    sides = np.repeat([1.0, -1.0], len(scores))
    weight = np.concatenate([s * t, s * (1.0 - t)])
    design = MatrixDesign(ArrayBlocks(Block(0, rows, sides, weight), None))
    w, b = minimise(Problem(Logistic(), L2(0.0), design, True), tol=1e-9).point
    return -float(w[0]) / unit, -float(b)


def pair_probabilities(scores: Floats, A: Floats, B: Floats) -> Floats:
    """P of the positive class of each machine, (n, machines)."""
    return np.asarray(expit(-(scores * A + B)))


def class_probabilities(machines: list[Machine], pairs: Floats, K: int) -> Floats:
    """P of each class, (n, K)."""
    if len(machines) == 1:
        return np.column_stack([1.0 - pairs[:, 0], pairs[:, 0]])
    if machines[0].rest is None:
        total = pairs.sum(axis=1, keepdims=True)
        return np.where(total > 0.0, pairs / np.where(total > 0.0, total, 1.0), 1.0 / K)
    return coupled(machines, pairs, K)


def coupled(machines: list[Machine], pairs: Floats, K: int) -> Floats:
    """The coupling of all pairs: [Q 1; 1' 0] [p; b] = [0; 1], a system for each row."""
    r = np.zeros((len(pairs), K, K))
    tiny = 1e-7  # keeps Q regular where pairs are certain, as libsvm does
    for number, machine in enumerate(machines):
        i, j = machine.positive, machine.rest
        assert j is not None
        r[:, i, j] = pairs[:, number].clip(tiny, 1.0 - tiny)
        r[:, j, i] = 1.0 - r[:, i, j]
    system = np.zeros((len(pairs), K + 1, K + 1))
    system[:, :K, :K] = -np.swapaxes(r, 1, 2) * r
    each = np.arange(K)
    system[:, each, each] = (np.swapaxes(r, 1, 2) ** 2).sum(axis=2)
    system[:, :K, K] = 1.0
    system[:, K, :K] = 1.0
    right = np.zeros((len(pairs), K + 1, 1))
    right[:, K] = 1.0
    p = np.linalg.solve(system, right)[:, :K, 0].clip(0.0)
    return np.asarray(p / p.sum(axis=1, keepdims=True))
