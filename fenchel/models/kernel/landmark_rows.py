"""The landmarks of a kernel fit: which rows they are, their features, and the table they serve."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from fenchel.data.arrays import is_sparse
from fenchel.data.blocks import Block, Blocks, free_memory
from fenchel.data.design.landmark_table import LandmarkTable
from fenchel.data.in_memory import ArrayBlocks
from fenchel.geometry.kernel.named_kernel import GivenColumns, named_kernel
from fenchel.geometry.kernel.nystroem import NystroemFeatures, landmark_numbers
from fenchel.geometry.kernel.vector_kernels import KernelFunction, Precomputed
from fenchel.models.array_namespace import as_known
from fenchel.models.estimator import as_numpy

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
# A fit makes its proof among all functions where it has at most so many rows for each landmark: the
# n²/2 kernel values are then no more than four passes over n rows and m landmarks make.
AT_FIT = 8
GAP = 0.5  # what that proof is not to be sharpened below by more passes: landmarks cost more
LANDMARKS: dict[str, list[Any]] = {
    "landmarks": [Interval(Integral, 1, None, closed="left"), "array-like", None],
    "random_state": ["random_state"],
}


@dataclass(frozen=True, eq=False)
class LandmarkRows:
    """Landmarks among the rows of a table, and the kernel.

    features: of the landmarks that are no combinations of the others; numbers: of these among the
    rows; asked: how many there were; blocks: the rows as the kernel takes them, which may be
    numbers of rows; outside: k of new rows and the points; points: the landmarks as rows of X.
    """

    features: NystroemFeatures
    numbers: Numbers
    asked: int
    blocks: Blocks = field(repr=False)
    outside: KernelFunction
    points: Any = field(repr=False)

    @property
    def table(self) -> LandmarkTable:
        """Products with the kernel values at the landmarks."""
        return LandmarkTable(self.features.kernel, self.features.points, self.blocks)

    @property
    def roots(self) -> Floats:
        """√k(z, z) of each landmark."""
        kernel, Z = self.features.kernel, self.features.points
        return np.asarray(np.sqrt(np.maximum(kernel.diagonal(Z), 0.0)))


def landmark_rows(
    estimator: Any,
    blocks: Blocks,
    usable: Numbers | None,
    random: np.random.Generator,
    *,
    function_of: Literal["rows", "tables"] = "rows",
    parameters: dict[str, Any] | None = None,
) -> LandmarkRows:
    """What an estimator's kernel and landmarks name; usable: rows with weight, None for all;
    function_of, parameters: of a kernel that is a function."""
    kernel = named_kernel(
        estimator.kernel,
        blocks,
        gamma=estimator.gamma,
        degree=estimator.degree,
        coef0=estimator.coef0,
        function_of=function_of,
        parameters=parameters,
    )
    numbers = landmark_numbers(estimator.landmarks, blocks.n_rows, usable, random)
    _refuse_many(len(numbers))
    table, given = _as_taken(kernel, estimator, blocks)
    points = _host(table.take(numbers).X)
    # Of a matrix only the landmarks' part is looked at: a factor of the whole takes n³/3.
    if not (given or kernel.is_psd):
        raise ValueError(
            f"kernel={estimator.kernel!r} is not positive semi-definite, and landmarks have "
            "features of such kernels alone: leave landmarks out, or take another kernel"
        )
    (prepared,) = kernel.prepared(points)
    features, kept = NystroemFeatures.by_pivots(kernel, points, kernel.tile(prepared, prepared))
    if not given:
        return LandmarkRows(features, numbers[kept], len(numbers), table, kernel, features.points)
    rows = _host(blocks.take(numbers[kept]).X)
    return LandmarkRows(features, numbers[kept], len(numbers), table, GivenColumns(), rows)


def fitted_landmarks(estimator: Any, blocks: Blocks) -> LandmarkRows:
    """The landmarks of a fitted estimator, with a basis of coefficients."""
    kernel, numbers = estimator.kernel_, np.asarray(as_numpy(as_known(estimator.landmarks_)))
    rows = _host(as_known(estimator.X_fit_))
    outside, points = kernel, rows
    if isinstance(kernel, GivenColumns):
        kernel, points = named_kernel("precomputed", blocks), numbers[:, None]
    table, _ = _as_taken(kernel, estimator, blocks)
    features = NystroemFeatures(kernel, points, np.eye(len(numbers)))
    return LandmarkRows(features, numbers, len(numbers), table, outside, rows)


def landmark_random(estimator: Any) -> np.random.Generator:
    """Of an estimator's random_state; the same for None at every fit."""
    own = estimator.random_state is not None
    return np.random.default_rng(
        check_random_state(estimator.random_state).randint(2**31) if own else 0
    )


def _refuse_many(m: int) -> None:
    # The kernel's matrix of landmarks, its factor, the basis and a Gram matrix.
    need, have = 4.0 * 8.0 * m * m, free_memory()
    if need > 0.9 * have:
        raise MemoryError(
            f"{m} landmarks need four {m} x {m} matrices, {need / 2**30:.1f} GiB, and "
            f"{have / 2**30:.1f} GiB are free: give fewer landmarks"
        )


def _as_taken(kernel: KernelFunction, estimator: Any, blocks: Blocks) -> tuple[Blocks, bool]:
    """The rows as the kernel takes them, and whether these are the numbers of rows of a matrix."""
    if not (isinstance(kernel, Precomputed) and isinstance(estimator.kernel, str)):
        return blocks, False
    return ArrayBlocks(Block(0, np.arange(blocks.n_rows)[:, None]), None), True


def _host(X: Any) -> Any:
    return X if is_sparse(X) else as_numpy(X)
