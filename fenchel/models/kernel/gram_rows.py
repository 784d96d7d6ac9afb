"""The rows of a fit and their kernel, as designs of dual problems over all of them or some."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from fenchel.convex.certificate import warn_outside
from fenchel.data.arrays import is_sparse
from fenchel.data.blocks import Block, Blocks, free_memory
from fenchel.data.design.kernel import GramDesign, KernelDesign, KernelExpansion, gram_matrix
from fenchel.data.in_memory import ArrayBlocks
from fenchel.geometry.kernel.named_kernel import FunctionOfTables, GivenColumns, named_kernel
from fenchel.geometry.kernel.single_rows import single_rows
from fenchel.geometry.kernel.vector_kernels import KernelFunction, Precomputed
from fenchel.models.estimator import as_numpy

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
# Up to this size K is made whole, in float64: making it takes less than the turns that rows made
# one by one would save (measured: 2,000 rows 0.05 s).
WHOLE = 2048
SPECTRUM = 2048  # rows up to which the smallest eigenvalue of K takes less than a second


@dataclass(frozen=True, eq=False)
class GramRows:
    """Rows and their kernel.

    kernel: k among the rows of the fit, which may be numbers of rows; outside: k of new rows and
    these; convex: whether K is positive semi-definite.
    """

    kernel: KernelFunction
    rows: Any = field(repr=False)
    outside: KernelFunction
    convex: bool

    @property
    def n(self) -> int:
        return int(self.rows.shape[0])

    def among(self, first: Numbers, second: Numbers) -> Floats:
        """The kernel between rows of the fit given by their numbers."""
        return self.kernel.tile(self.rows[first], self.rows[second])

    def among_members(self, members: Numbers) -> GramRows:
        """The kernel on some of the rows."""
        return replace(self, rows=self.rows[members])

    def design(
        self, y: Floats, s: Floats | None, members: Numbers | None = None
    ) -> KernelExpansion:
        """The functions on these members, with target and weight beside them."""
        rows = self.rows if members is None else self.rows[members]
        if not self.convex:
            return GramDesign(gram_matrix(self.kernel, rows), y, s)
        budget = 8.0 * WHOLE * WHOLE
        whole = isinstance(self.kernel, Precomputed) or rows.shape[0] <= WHOLE
        single = None if whole else single_rows(self.kernel, rows)
        return KernelDesign(self.kernel, ArrayBlocks(Block(0, rows, y, s), None), budget, single)


def gram_rows(estimator: Any, blocks: Blocks) -> GramRows:
    """The kernel that an estimator's parameters name, on the rows of its fit."""
    X = blocks.gather().X
    rows = X if is_sparse(X) else np.ascontiguousarray(as_numpy(X))
    kernel = named_kernel(
        estimator.kernel,
        blocks,
        gamma=estimator.gamma,
        degree=estimator.degree,
        coef0=estimator.coef0,
        function_of="tables",
    )
    numbers = np.arange(rows.shape[0])[:, None]
    outside: KernelFunction = kernel
    if isinstance(kernel, FunctionOfTables):
        # Called once, as scikit-learn does; what is on trust elsewhere is seen in the whole.
        _refuse_large(rows.shape[0])
        kernel, rows = Precomputed(kernel.tile(rows, rows)), numbers
    elif isinstance(kernel, Precomputed) and isinstance(estimator.kernel, str):
        outside, rows = GivenColumns(), numbers
    convex = kernel.is_psd
    if not convex:
        _refuse_large(rows.shape[0])
        _warn_indefinite(estimator, lambda: gram_matrix(kernel, rows), rows.shape[0])
    return GramRows(kernel, rows, outside, convex)


def _warn_indefinite(estimator: Any, whole: Callable[[], Floats], n: int) -> None:
    told = "its smallest eigenvalue was not computed, there being too many rows"
    if n <= SPECTRUM:
        least = float(linalg.eigh(whole(), eigvals_only=True, subset_by_index=[0, 0])[0])
        told = f"the smallest eigenvalue of its matrix on these rows is {least:.3g}"
    warn_outside(
        f"kernel={estimator.kernel!r} is not positive semi-definite ({told}): the dual is not "
        "convex, the fit is a point where no pair of coefficients improves, and certificate_ "
        "states no bound",
        UserWarning,
    )


def _refuse_large(n: int) -> None:
    need, have = 8.0 * n * n, free_memory()
    if need > 0.9 * have:
        raise MemoryError(
            f"the {n} x {n} kernel matrix needs {need / 2**30:.1f} GiB and {have / 2**30:.1f} GiB "
            "are free: fit fewer rows, or a kernel by name, whose rows are made as they are needed"
        )
