"""What every estimator of neighbours shares: metric, search, neighbours and their graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from numbers import Integral, Real
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix
from sklearn import get_config
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from fenchel.data.arrays import is_sparse
from fenchel.data.block import Block
from fenchel.data.in_memory import ArrayBlocks
from fenchel.geometry.kernel.named_kernel import NAMES, named_kernel
from fenchel.geometry.kernel.vector_kernels import KernelFunction
from fenchel.geometry.search.all_pairs import AllPairs
from fenchel.geometry.search.euclidean import EuclideanSearch
from fenchel.geometry.search.metric import METRICS, KernelMetric, is_euclidean, metric_of
from fenchel.geometry.search.on_device import DevicePoints, on_accelerator
from fenchel.geometry.search.search import (
    Floats,
    Integers,
    NeighbourSearch,
    joined_parts,
    rows_from,
    without_own,
)
from fenchel.models.array_namespace import dispatches, on_device_of
from fenchel.models.certificates.certified import SelfCertified
from fenchel.models.estimator import Estimator, as_numpy, compares_strings, validated_blocks
from fenchel.models.neighbours.training_rows import TrainingRows

PARAMETERS: dict[str, list[Any]] = {
    "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
    "algorithm": [StrOptions({"auto", "ball_tree", "kd_tree", "brute"})],
    "leaf_size": [Interval(Integral, 1, None, closed="left")],
    "p": [Interval(Real, 0, None, closed="right"), None],
    "metric": [StrOptions(set(METRICS)), callable],
    "metric_params": [dict, None],
    "n_jobs": [Integral, None],
    "kernel": [StrOptions(set(NAMES) - {"precomputed"}), KernelFunction, None],
}
# The rows of estimators fitted on an accelerator, there; no attribute, as files of models and
# copies hold what lies on the host alone.
_ON_DEVICE: WeakKeyDictionary[Any, DevicePoints] = WeakKeyDictionary()


class Neighbourhood(SelfCertified, Estimator):
    """Training rows that are searched."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = PARAMETERS
    n_neighbors: Any
    metric: Any
    p: Any
    metric_params: Mapping[str, Any] | None
    kernel: Any
    X_fit_: NDArray[Any]

    def _keep(self, training: TrainingRows) -> None:
        """Set what a search needs."""
        rows = training.rows
        if self._is_given:
            self._check_given(rows, training.was_sparse)
        self.X_fit_ = rows
        _ON_DEVICE.pop(self, None)
        seen = training.tensor is not None and self._is_euclidean
        if seen and EuclideanSearch(rows).is_plain:
            _ON_DEVICE[self] = DevicePoints(training.tensor.clone())
        self.n_samples_fit_ = len(rows)
        self.effective_metric_ = self.metric if isinstance(self.metric, str) else "function"
        params = dict(self.metric_params or {})
        if self.metric == "minkowski":
            p = params.pop("p", self.p)
            plain = {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}
            if p in plain and params.get("w") is None:
                self.effective_metric_ = plain[p]
            else:
                params["p"] = p
        self._search(None)  # faults of the metric's parameters show at the fit

    @property
    def _is_euclidean(self) -> bool:
        return self.kernel is None and is_euclidean(self.metric, self.p, self.metric_params)

    @property
    def _is_given(self) -> bool:
        """Whether rows hold distances."""
        return self.kernel is None and isinstance(self.metric, str) and self.metric == "precomputed"

    def _check_given(self, rows: NDArray[Any], was_sparse: bool) -> None:
        _refuse_sparse(was_sparse)
        if rows.shape[0] != rows.shape[1]:
            raise ValueError(
                "Precomputed matrix must be square. Input is a "
                f"{rows.shape[0]}x{rows.shape[1]} matrix."
            )
        if (rows < 0.0).any():
            i, j = (int(at[0]) for at in np.nonzero(rows < 0.0))
            raise ValueError(
                f"Negative values in data passed to X: the distance of row {i} and point {j} is "
                f"{rows[i, j]:.6g}"
            )

    def _search(self, chosen: Integers | None) -> NeighbourSearch:
        """The search among the training rows, or some of them."""
        rows = self.X_fit_ if chosen is None else self.X_fit_[chosen]
        if self.kernel is not None:
            blocks = ArrayBlocks(Block(0, self.X_fit_))
            return AllPairs(KernelMetric(named_kernel(self.kernel, blocks)), rows, chosen)
        if self._is_euclidean:
            return EuclideanSearch(rows, on_device=_ON_DEVICE.get(self) if chosen is None else None)
        metric = metric_of(self.metric, self.p, self.metric_params, self.X_fit_)
        if self.metric == "precomputed":
            rows = np.arange(len(self.X_fit_)) if chosen is None else chosen
        return AllPairs(metric, rows, chosen)

    def _parts(self, X: Any) -> Iterator[tuple[int, Any]]:
        """The rows of a question, each part with the number of its first row: block by block, or
        at once where they are in memory, as the search prepares the points for each part."""
        start, blocks = 0, validated_blocks(self, X, reset=False)
        for block in [blocks.gather()] if isinstance(blocks, ArrayBlocks) else blocks:
            _refuse_sparse(self._is_given and is_sparse(block.X))
            kept = is_sparse(block.X) or (self._is_euclidean and on_accelerator(block.X))
            yield start, block.X if kept else as_numpy(block.X)
            start += block.X.shape[0]

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Any:
        """The nearest training rows of each row: distances and numbers (n, k), nearest first, ties
        to the lower number.

        Without X those of each training row among the others. n_neighbors: by default that of the
        fit; return_distance=False gives the numbers alone.
        """
        check_is_fitted(self)
        k = self._count(n_neighbors)
        search, n = self._search(None), self.n_samples_fit_
        if X is None:
            if k >= n:
                raise ValueError(
                    f"Expected n_neighbors < n_samples_fit, but n_neighbors = {k}, n_samples_fit = "
                    f"{n}, n_samples = {n}: a row is none of its own neighbours; lower n_neighbors"
                )
            found = search.nearest(self.X_fit_, k + 1)
            numbers, distances = without_own(*found, np.arange(n))
        else:
            parts = []
            for start, Q in self._parts(X):
                self._refuse_too_many(k, n, Q.shape[0])
                with rows_from(start):
                    parts.append(search.nearest(Q, k))
            numbers, distances = joined_parts(parts)
        if X is not None and (on_accelerator(X) or dispatches(X)):
            distances, numbers = on_device_of(distances, X), on_device_of(numbers, X)
        return (distances, numbers) if return_distance else numbers

    def kneighbors_graph(
        self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity"
    ) -> Any:
        """The neighbours of `kneighbors` as a CSR matrix (n, rows of the fit): ones, or distances
        for mode="distance"."""
        check_mode(mode)
        distances, numbers = map(as_numpy, self.kneighbors(X, n_neighbors))
        n, k = numbers.shape
        values = distances.ravel() if mode == "distance" else np.ones(n * k)
        return graph(values, numbers.ravel(), np.arange(0, n * k + 1, k), self.n_samples_fit_)

    def _count(self, n_neighbors: Any) -> int:
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        if isinstance(k, str):  # "auto", as a fit has chosen it
            k = vars(self)["n_neighbors_"]
        if not isinstance(k, Integral):
            raise TypeError(f"n_neighbors does not take {type(k)} value, enter integer value")
        if k < 1:
            raise ValueError(f"Expected n_neighbors > 0. Got {k}")
        return int(k)

    def _refuse_too_many(self, k: int, n: float, queries: int) -> None:
        if k > n:
            raise ValueError(
                f"Expected n_neighbors <= n_samples_fit, but n_neighbors = {k}, n_samples_fit = "
                f"{n:g}, n_samples = {queries}: lower n_neighbors, or fit more rows"
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self._is_given
        tags.input_tags.pairwise = self._is_given
        tags.input_tags.string = compares_strings(self)
        return tags


def _refuse_sparse(is_given: bool) -> None:
    if is_given:
        raise ValueError(
            "metric='precomputed' takes all distances, and a sparse matrix leaves some out: give a "
            "dense array"
        )


def check_mode(mode: str) -> None:
    if mode not in ("connectivity", "distance"):
        raise ValueError(
            f'Unsupported mode, must be one of "connectivity", or "distance" but got "{mode}" '
            "instead"
        )


def graph(values: Floats, numbers: Integers, starts: Integers, columns: int) -> Any:
    """A CSR matrix or array, as scikit-learn's configuration asks for."""
    kind = csr_matrix if get_config()["sparse_interface"] == "spmatrix" else csr_array
    return kind((values, numbers, starts), shape=(len(starts) - 1, columns))
