"""The rows of a kernel fit: the kernel that its parameters name, its matrix, and sums over it."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from fenchel.convex.certificate import warn_outside
from fenchel.data.arrays import is_sparse
from fenchel.data.blocks import Block, Blocks, free_memory
from fenchel.data.design.kernel import (
    GramDesign,
    KernelDesign,
    KernelExpansion,
    gram_matrix,
    kernel_product,
)
from fenchel.data.in_memory import ArrayBlocks
from fenchel.geometry.kernel.named_kernel import (
    GAMMAS,
    NAMES,
    FunctionOfRows,
    GivenColumns,
    named_kernel,
)
from fenchel.geometry.kernel.vector_kernels import KernelFunction, Precomputed
from fenchel.models.array_namespace import as_known
from fenchel.models.estimator import as_numpy, compares_strings, validated_blocks

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

KERNEL: dict[str, list[Any]] = {
    "kernel": [StrOptions(set(NAMES)), KernelFunction, callable],
    "gamma": [Interval(Real, 0, None, closed="neither"), StrOptions(set(GAMMAS)), None],
    "degree": [Interval(Real, 1, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "kernel_params": [dict, None],
}


@dataclass(frozen=True, eq=False)
class RowsWithKernel:
    """Rows and their kernel.

    kernel: k among the rows of the fit, which may be numbers of rows; outside: k of new rows and
    the table X of the fit; convex: whether K is positive semi-definite.
    """

    kernel: KernelFunction
    rows: Any = field(repr=False)
    X: Any = field(repr=False)
    outside: KernelFunction
    convex: bool

    @property
    def n(self) -> int:
        return int(self.rows.shape[0])

    def among(self, first: Numbers, second: Numbers) -> Floats:
        """The kernel between rows of the fit given by their numbers."""
        return self.kernel.tile(self.rows[first], self.rows[second])

    def gram(self, members: Numbers | None = None) -> Floats:
        """K over these rows, whether or not it is semi-definite."""
        rows = self.rows if members is None else self.rows[members]
        refuse_large(rows.shape[0])
        if isinstance(self.kernel, Precomputed) and members is None:
            return self.kernel.K
        return gram_matrix(self.kernel, rows)

    def design(
        self, y: Floats, s: Floats | None, members: Numbers | None = None, factors: float = 0.5
    ) -> KernelExpansion:
        """The functions on these members, with target and weight beside them.

        factors: what a solver holds besides, in multiples of the bytes of K, which is kept where
        both fit into half of the free memory.
        """
        rows = self.rows if members is None else self.rows[members]
        if isinstance(self.kernel, Precomputed) or not self.convex:
            return GramDesign(self.gram(members), y, s, semidefinite=self.convex)
        n = int(rows.shape[0])
        budget = 0.5 * free_memory() - 8.0 * factors * n * n
        return KernelDesign(self.kernel, ArrayBlocks(Block(0, rows, y, s), None), max(budget, 0.0))


def kernel_rows(estimator: Any, blocks: Blocks) -> RowsWithKernel:
    """The kernel that an estimator's parameters name, on the rows of its fit."""
    X = blocks.gather().X
    rows = X if is_sparse(X) else np.ascontiguousarray(as_numpy(X))
    kernel = named_kernel(
        estimator.kernel,
        blocks,
        gamma=estimator.gamma,
        degree=estimator.degree,
        coef0=estimator.coef0,
        parameters=estimator.kernel_params,
    )
    numbers = np.arange(rows.shape[0])[:, None]
    if isinstance(kernel, FunctionOfRows):
        # Called once a pair; what is on trust elsewhere is seen in the whole.
        refuse_large(rows.shape[0])
        matrix = Precomputed(gram_matrix(kernel, rows))
        return RowsWithKernel(matrix, numbers, rows, kernel, matrix.is_psd)
    if isinstance(kernel, Precomputed) and isinstance(estimator.kernel, str):
        return RowsWithKernel(kernel, numbers, rows, GivenColumns(), kernel.is_psd)
    return RowsWithKernel(kernel, rows, rows, kernel, kernel.is_psd)


def warn_indefinite(estimator: Any) -> None:
    """A kernel that leaves the problem without a least value."""
    warn_outside(
        f"kernel={estimator.kernel!r} is not positive semi-definite on these rows: the problem is "
        "not convex, the fit solves its equations alone, and certificate_ states no bound",
        UserWarning,
    )


def refuse_large(n: int) -> None:
    """MemoryError where K cannot be held."""
    need, have = 8.0 * n * n, free_memory()
    if need > 0.9 * have:
        raise MemoryError(
            f"the {n} x {n} kernel matrix needs {need / 2**30:.1f} GiB and {have / 2**30:.1f} GiB "
            "are free: give landmarks, for example landmarks=2000, or fit fewer rows"
        )


def expansion_scores(estimator: Any, X: Any, coef: Any) -> NDArray[Any]:
    """Σⱼ cⱼ k(x, xⱼ) over the estimator's X_fit_, for each column of coef: summed in float64, and
    given in the precision of X."""
    blocks = validated_blocks(estimator, X, reset=False)
    kernel = estimator.kernel_
    points = as_known(estimator.X_fit_)
    points = points if is_sparse(points) else as_numpy(points)
    c = np.asarray(as_numpy(as_known(coef)), np.float64)
    if isinstance(kernel, GivenColumns):
        numbers = vars(estimator).get("landmarks_", np.arange(len(c)))
        points = np.asarray(as_numpy(as_known(numbers)))[:, None]
    parts = []
    for block in [blocks.gather()] if blocks.local else blocks:
        rows = block.X if is_sparse(block.X) else as_numpy(block.X)
        parts.append(kernel_product(kernel, rows, points, c))
    scores = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return scores.astype(blocks.dtype, copy=False)


def kernel_tags(estimator: Any, tags: Any) -> Any:
    """What scikit-learn asks to know of a kernel estimator."""
    own = isinstance(estimator.kernel, KernelFunction)
    tags.input_tags.sparse = own or not callable(estimator.kernel)
    tags.input_tags.pairwise = isinstance(estimator.kernel, str) and (
        estimator.kernel == "precomputed"
    )
    tags.input_tags.string = compares_strings(estimator)
    return tags
