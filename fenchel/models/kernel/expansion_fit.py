"""Σ s l(y, f(x) + b)/Σs + λ‖f‖²/2 over the functions of a kernel: fits, scores and proofs.

One problem for one score or for all classes together; else one for each class against the rest, on
the same kernel matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from fenchel.convex.certificate import Certificate, summed_history
from fenchel.convex.loss.base import Loss
from fenchel.convex.loss.multiclass import Joint
from fenchel.convex.penalty import L2
from fenchel.convex.problem import Problem
from fenchel.data.arrays import like, to_float64, to_numpy
from fenchel.data.blocks import Blocks
from fenchel.data.design.kernel import KernelDesign, KernelExpansion
from fenchel.data.design.matrix import Point
from fenchel.models.certificates.inputs import (
    class_weights,
    encoded_rows,
    fitted_rows,
    weighted_rows,
)
from fenchel.models.certificates.sharpen import prove, total
from fenchel.models.kernel.kernel_rows import RowsWithKernel, expansion_scores, kernel_rows
from fenchel.models.neighbours.scoring_rows import values_out
from fenchel.models.progress import watch
from fenchel.solve.minimise import Solution, minimise

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
Strength = Callable[[float], float]  # λ, given Σs


@dataclass(frozen=True, slots=True, eq=False)
class Expansions:
    """The problems of a fit, on the rows that have weight.

    members: their numbers, None for all; factor: the estimator's objective over ours.
    """

    rows: RowsWithKernel
    members: Numbers | None
    problems: tuple[Problem, ...]
    factor: float

    @classmethod
    def of(
        cls,
        estimator: Any,
        blocks: Blocks,
        loss: Loss,
        lam: Strength,
        factor: Strength,
        classes: int = 0,
    ) -> Expansions:
        """classes: how many, with their codes (±1 of two) for targets; 0: targets are numbers."""
        rows = kernel_rows(estimator, blocks)
        if not rows.convex:
            raise ValueError(
                f"kernel={estimator.kernel!r} is not positive semi-definite on these rows, so the "
                "problem is not convex: choose a kernel that is"
            )
        whole = blocks.gather()
        y: Any = (
            to_numpy(to_float64(whole.y)) if classes <= 2 else to_numpy(whole.y).astype(np.int64)
        )
        s = None if whole.weight is None else to_numpy(to_float64(whole.weight))
        members = None
        if s is not None and not (s > 0.0).all():
            members = np.flatnonzero(s > 0.0)
            y, s = y[members], s[members]
        if s is not None and not np.isfinite(s.sum()):
            raise ValueError("the sum of the weights is beyond float64: divide them by their mean")
        design = rows.design(y, s, members)
        strength = lam(design.weight)
        if not 0.0 < strength < np.inf:
            raise ValueError(
                f"a kernel's functions need a penalty, and its strength over the sum of the "
                f"weights, {strength:g}, is none in float64: give another"
            )
        one = Problem(loss, L2(strength), design, bool(estimator.fit_intercept))
        problems = [one]
        if classes > 2 and not isinstance(loss, Joint):
            problems = [replace(one, design=_against(design, y, k)) for k in range(classes)]
        return cls(rows, members, tuple(problems), factor(design.weight))

    def fit(self, estimator: Any, blocks: Blocks) -> None:
        """Solves the problems and writes down what an estimator promises of them."""
        starts = self._starts(estimator)
        found = [self.solved(estimator, p, b) for p, b in zip(self.problems, starts, strict=True)]
        tol, dtype = float(estimator.tol), blocks.dtype
        proofs, closed = [one.certificate for one in found], [one.converged for one in found]
        points = [one.point for one in found]
        if dtype != np.float64:
            small = [_in_single(point) for point in points]
            again = [p.certify(at) for p, at in zip(self.problems, small, strict=True)]
            if all(closed) and all(proof.closed(tol) for proof in again):
                points, proofs = (
                    small,
                    [
                        replace(new, steps=old.steps, seconds=old.seconds)
                        for new, old in zip(again, proofs, strict=True)
                    ],
                )
            else:
                dtype = np.dtype(np.float64)
        coef, levels = point_columns(points)
        spread = np.zeros((self.rows.n, coef.shape[1]))
        spread[slice(None) if self.members is None else self.members] = coef
        single = len(points) == 1 and points[0][0].ndim == 1
        estimator.dual_coef_ = (spread[:, 0] if single else spread).astype(dtype)
        estimator.intercept_ = levels.astype(dtype)
        estimator.kernel_, estimator.X_fit_ = self.rows.outside, self.rows.X
        design = self.problems[0].design
        kept = "the kernel matrix is kept"
        estimator.storage_ = design.storage if isinstance(design, KernelDesign) else kept
        self.record(estimator, found, proofs)

    def record(
        self, estimator: Any, found: list[Solution[Point]], proofs: list[Certificate]
    ) -> None:
        """What an estimator says of the solutions, and of their proofs."""
        estimator.loss_ = self.problems[0].loss
        estimator.loss_gap_ = float(sum(proof.gap for proof in proofs))
        estimator.certificates_ = tuple(proof.scaled(self.factor) for proof in proofs)
        estimator.certificate_ = reduce(Certificate.__add__, estimator.certificates_)
        histories = [(*one.history[:-1], p) for one, p in zip(found, proofs, strict=True)]
        estimator.history_ = tuple(one.scaled(self.factor) for one in summed_history(histories))
        estimator.converged_ = all(one.converged for one in found)
        estimator.n_iter_ = max(1, *(one.steps for one in found))

    def certify(self, estimator: Any) -> Certificate:
        """The certificate of the estimator's coefficients as functions on these rows."""
        return self.certify_at(
            estimator,
            np.asarray(to_numpy(estimator.dual_coef_), np.float64).reshape(self._shape(estimator)),
        )

    def certify_at(self, estimator: Any, coef: Floats) -> Certificate:
        """The certificate of coefficients of all rows, and of the estimator's intercepts."""
        kept = coef if self.members is None else coef[self.members]
        if np.count_nonzero(kept) != np.count_nonzero(coef):
            raise ValueError("rows without weight have coefficients: pass the weights of the fit")
        levels = np.ravel(np.asarray(to_numpy(estimator.intercept_), np.float64))
        points = self.points(kept, levels)
        parts = [prove(p, at) for p, at in zip(self.problems, points, strict=True)]
        return total(parts).scaled(self.factor)

    def _shape(self, estimator: Any) -> tuple[int, int]:
        n = len(estimator.dual_coef_)
        if n != self.rows.n:
            raise ValueError(
                f"this {type(estimator).__name__} was fitted on {n} rows and X has {self.rows.n}: "
                "pass the rows it was fitted on, in their order"
            )
        return n, -1

    def points(self, coef: Floats, levels: Floats) -> list[Point]:
        if self.problems[0].outputs is not None:
            return [(coef, levels)]
        return [(np.array(coef[:, k]), float(levels[k])) for k in range(coef.shape[1])]

    def _starts(self, estimator: Any) -> list[Point | None]:
        """The last fit's coefficients, where they are wanted and are of such rows."""
        nothing: list[Point | None] = [None] * len(self.problems)
        known = vars(estimator)
        if not estimator.warm_start or "dual_coef_" not in known:
            return nothing
        coef = np.asarray(to_numpy(known["dual_coef_"]), np.float64)
        coef = coef.reshape(len(coef), -1)
        columns = self.problems[0].outputs or len(self.problems)
        if coef.shape != (self.rows.n, columns):
            return nothing
        kept = coef if self.members is None else coef[self.members]
        return [*self.points(kept, np.ravel(to_numpy(known["intercept_"])).astype(np.float64))]

    def solved(self, estimator: Any, problem: Problem, start: Point | None) -> Solution[Point]:
        with watch(estimator.verbose, estimator.tol) as show:
            found = minimise(
                problem,
                tol=float(estimator.tol),
                max_steps=estimator.max_iter,
                start=start,
                callback=lambda step, point, proof: bool(show(step, point, proof)),
            )
        w, b = found.point
        # Adding one number to all intercepts of a joint fit changes no loss.
        return replace(found, point=(w, b - np.mean(b))) if np.ndim(b) else found


def classifier_expansions(
    estimator: Any, X: Any, y: Any, sample_weight: Any, loss: Loss, lam: Strength, factor: Strength
) -> Expansions:
    """The problems of a fitted classifier on the rows of its fit."""
    blocks = encoded_rows(estimator, X, y, sample_weight)
    each = class_weights(estimator, blocks, weighted=True)
    K = len(estimator.classes_)
    rows = weighted_rows(blocks, each, 1 if K == 2 else None)
    return Expansions.of(estimator, rows, loss, lam, factor, K)


def regressor_expansions(
    estimator: Any, X: Any, y: Any, sample_weight: Any, loss: Loss, lam: Strength
) -> Expansions:
    """The problem of a fitted regressor on the rows of its fit."""
    blocks = fitted_rows(estimator, X, y, sample_weight)
    return Expansions.of(estimator, blocks, loss, lam, unit)


def unit(weight: float) -> float:
    """The factor of an objective that is the mean loss plus the penalty, as ours is."""
    return 1.0


def level_scores(estimator: Any, X: Any) -> Any:
    """f(x) + b of new rows: shape (n,), or (n, K); where X lies, in its precision."""
    check_is_fitted(estimator)
    f = values_out(expansion_scores(estimator, X, estimator.dual_coef_), X)
    b = np.ravel(to_numpy(estimator.intercept_))
    return f + (float(b[0]) if f.ndim == 1 else like(b, f))


def _against(design: KernelExpansion, y: Numbers, k: int) -> KernelExpansion:
    return design.with_target(np.where(y == k, 1.0, -1.0))


def point_columns(points: list[Point]) -> tuple[Floats, Floats]:
    """Coefficients (n, columns) and intercepts of one joint point or of several."""
    coef = np.concatenate([a.reshape(len(a), -1) for a, _ in points], axis=1)
    return coef, np.concatenate([np.atleast_1d(np.asarray(b, np.float64)) for _, b in points])


def _in_single(point: Point) -> Point:
    a, b = (np.asarray(part, np.float32).astype(np.float64) for part in point)
    return a, (b if b.ndim else float(b))
