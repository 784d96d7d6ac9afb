"""Scores of a fitted expansion: Σⱼ cⱼ k(x, xⱼ) + b for new rows, by tiles."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from fenchel.convex.certificate import Certificate
from fenchel.convex.loss.base import Loss
from fenchel.data.arrays import is_sparse
from fenchel.data.blocks import Block, Blocks
from fenchel.data.design.kernel import kernel_product
from fenchel.geometry.kernel.named_kernel import GivenColumns
from fenchel.geometry.kernel.single_rows import rough_sums
from fenchel.geometry.kernel.vector_kernels import KernelFunction
from fenchel.models.estimator import Estimator, as_numpy, validated_blocks
from fenchel.models.kernel.gram_rows import GramRows, gram_rows
from fenchel.models.kernel.kernel_rows import kernel_tags
from fenchel.models.kernel.landmark_rows import LandmarkRows, landmark_random, landmark_rows
from fenchel.models.kernel.svm.dual_fit import DualFit
from fenchel.models.kernel.svm.landmark_fit import among_all

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
FEW = 64  # support vectors below which sums in float64 take no longer than the bound
# Members of a machine, their targets and weights, coefficients of all rows, and b.
Placed = tuple[Numbers, Floats, Floats, Floats, float]


def equal_rows(rows: Any, held: Any) -> bool:
    """Whether two tables are the same, entry by entry."""
    return bool(abs(rows - held).max() == 0.0 if is_sparse(rows) else np.array_equal(rows, held))


class SupportExpansion(Estimator):
    """An estimator whose scores are sums over support vectors."""

    kernel: Any
    kernel_: KernelFunction
    support_: NDArray[np.int32]
    support_vectors_: Any
    dual_coef_: Floats
    intercept_: Floats
    shape_fit_: tuple[int, int]
    n_iter_: Any

    def _keep(self, outside: KernelFunction, X: Any, support: Numbers) -> None:
        """What scores need; of a Gram matrix the numbers of its columns."""
        self.kernel_ = outside
        self.support_ = support.astype(np.int32)
        given = isinstance(outside, GivenColumns)
        rows = X if is_sparse(X) else as_numpy(X)
        self.support_vectors_ = rows[:0] if given else rows[support]

    def _scores(self, X: Any, coef: Floats) -> Floats:
        """Σⱼ cⱼ k(x, xⱼ) for each column of coef, in float64."""
        check_is_fitted(self)
        blocks = validated_blocks(self, X, reset=False)
        points = self.support_vectors_
        if isinstance(self.kernel_, GivenColumns):
            points = np.asarray(self.support_, np.int64)[:, None]
        parts = []
        for block in [blocks.gather()] if blocks.local else blocks:
            rows = block.X if is_sparse(block.X) else as_numpy(block.X)
            parts.append(kernel_product(self.kernel_, rows, points, coef))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _signs(self, X: Any, coef: Floats, b: Floats) -> NDArray[np.bool_]:
        """Whether Σⱼ cⱼ k(x, xⱼ) + b > 0 for each column of coef: from sums in float32 where their
        bound decides, and in float64 for the other rows."""
        check_is_fitted(self)
        rough = self._rough(coef)
        if rough is None:
            return self._scores(X, coef) + b > 0.0
        blocks = validated_blocks(self, X, reset=False)
        parts = []
        for block in [blocks.gather()] if blocks.local else blocks:
            if is_sparse(block.X):
                found = kernel_product(self.kernel_, block.X, self.support_vectors_, coef) + b
                parts.append(found > 0.0)
                continue
            rows = as_numpy(block.X)
            sums, errors = rough(rows)
            sums += b
            # Adding b rounds once more.
            left = ~(np.abs(sums) > errors + 2.0**-50 * np.abs(b)).all(axis=1)
            if left.any():
                again = kernel_product(self.kernel_, rows[left], self.support_vectors_, coef)
                sums[left] = again + b
            parts.append(sums > 0.0)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _rough(self, coef: Floats) -> Callable[[Any], tuple[Floats, Floats]] | None:
        """Sums in float32 with their bounds, where the kernel has them."""
        if is_sparse(self.support_vectors_) or len(self.support_) < FEW:
            return None
        return rough_sums(self.kernel_, as_numpy(self.support_vectors_), coef)

    def _check_fitted_rows(self, rows: Any) -> None:
        """Refuses other rows than those of the fit: coefficients name them by number."""
        n, support = rows.shape[0], np.asarray(self.support_, np.int64)
        held = self.support_vectors_
        same = n == self.shape_fit_[0] and (held.shape[0] == 0 or equal_rows(rows[support], held))
        if not same:
            raise ValueError(
                f"this {type(self).__name__} was fitted on {self.shape_fit_[0]} rows and its "
                f"support vectors are not those rows of X, which has {n}: pass the rows it was "
                "fitted on, in their order"
            )

    def _convex_rows(self, blocks: Blocks) -> GramRows:
        """The kernel on the rows of the fit; refuses one without a certificate."""
        gram = gram_rows(self, blocks)
        if not gram.convex:
            raise ValueError(
                "the kernel is not positive semi-definite on these rows, so the objective of this "
                f"{type(self).__name__} is not convex and has no certificate"
            )
        return gram

    def _landmark_rows(self, blocks: Blocks, s: Floats) -> LandmarkRows:
        """The landmarks among the rows with weight."""
        usable = None if (s > 0.0).all() else np.flatnonzero(s)
        random = landmark_random(self)
        return landmark_rows(self, blocks, usable, random, function_of="tables")

    def _among_all(
        self, blocks: Blocks, loss: Loss, C: float, parts: Iterable[Placed]
    ) -> Certificate:
        """The certificate of a fit on landmarks among all functions of the kernel, summed over
        machines."""
        gram = self._convex_rows(blocks)
        found = []
        for members, y, s, coef, b in parts:
            block = Block(0, gram.rows[members], y, s)
            factor = C * float(s.sum())
            found.append(among_all(gram.kernel, block, loss, factor, coef[members], b))
        return reduce(Certificate.__add__, found)

    def _record(
        self, outside: KernelFunction, blocks: Blocks, found: DualFit, coef: Floats
    ) -> None:
        """What a fit of one machine says, for these coefficients on all rows."""
        support = np.flatnonzero(coef)
        self._keep(outside, blocks.gather().X, support)
        self.n_support_ = np.array([len(support)], np.int32)
        self.dual_coef_ = coef[None, support]
        self.intercept_ = np.array([found.b])
        self.shape_fit_ = (blocks.n_rows, blocks.n_cols)
        self.certificate_ = found.certificate
        self.history_ = found.history
        self.converged_ = found.converged
        self.fit_status_ = 0 if found.converged else 1
        self.n_iter_ = found.pairs

    def _plane(self, coef: Floats) -> Floats:
        """w of a linear kernel for each column of coef."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        found = coef.T @ self.support_vectors_
        return np.asarray(found.toarray() if is_sparse(found) else found)

    def __sklearn_tags__(self) -> Any:
        return kernel_tags(self, super().__sklearn_tags__())
