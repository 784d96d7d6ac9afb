"""What estimators of cluster centres share: labels, distances, score and proof of any rows."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import is_torch_array
from numpy.typing import NDArray
from sklearn.base import (
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from fenchel.convex.certificate import Certificate
from fenchel.convex.partition.spectral_bounds import square_in_units
from fenchel.data.arrays import is_sparse, to_numpy
from fenchel.data.blocks import Block, Blocks
from fenchel.data.in_memory import ArrayBlocks
from fenchel.data.intake import with_target
from fenchel.geometry.distance import squared_distances
from fenchel.models.array_namespace import dispatches, on_device_of
from fenchel.models.certificates.certified import SelfCertified
from fenchel.models.cluster.bounds.best import BoundEffort, proved_clustering, search_of
from fenchel.models.estimator import Estimator, as_numpy, is_remote, validated_blocks

Floats = NDArray[np.float64]
# Between these powers of two squares of differences, and sums of many of them, neither overflow nor
# lose digits in float64, nor do products in float32.
LEAST, MOST = -90, 90


@dataclass(frozen=True, slots=True)
class _Most:
    """The largest |x|, mergeable."""

    value: float

    def __add__(self, other: _Most) -> _Most:
        return _Most(max(self.value, other.value))


def _most(X: Any) -> float:
    if is_sparse(X):
        return float(np.abs(X.data).max(initial=0.0))
    if is_torch_array(X) and X.shape[0]:  # where it lies: two numbers come to the host
        low, high = X.aminmax()
        return float(max(high, -low))
    rows = as_numpy(X)
    return float(max(rows.max(initial=0.0), -rows.min(initial=0.0)))


def exponent_of(blocks: Blocks, *others: NDArray[Any]) -> int:
    """The power of two that brings these rows into a range that squares can bear: 0 for those that
    lie in it."""
    most = blocks.reduce(lambda block: _Most(_most(block.X))).value
    most = max([most, *(float(np.abs(other).max(initial=0.0)) for other in others)])
    exponent = math.frexp(most)[1]
    return 0 if most == 0.0 or LEAST <= exponent <= MOST else exponent


def in_units(blocks: Blocks, exponent: int) -> Blocks:
    """The rows over 2^exponent: exact, but for what lies beneath the smallest float."""
    if exponent == 0:
        return blocks

    def scale(block: Block) -> Block:
        X = block.X
        if is_sparse(X):
            X = X.copy()
            X.data = np.ldexp(X.data, -exponent)
        else:
            X = np.ldexp(as_numpy(X), -exponent)
        return Block(block.start, X, block.y, block.weight)

    if isinstance(blocks, ArrayBlocks):
        return ArrayBlocks(scale(blocks.whole), blocks.names)
    return blocks.map(scale)


class CentreClusterer(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, Estimator, SelfCertified
):
    """An estimator of `cluster_centers_`, whose objective is Σ sᵢ ‖xᵢ - c(label)‖²."""

    cluster_centers_: NDArray[Any]
    labels_: NDArray[np.int32]

    @abstractmethod
    def _assigned(self, X: Any, exponent: int) -> tuple[NDArray[np.int32], Floats]:
        """The cluster of each row and d² to its centre, of rows in units of 2^exponent."""

    @property
    def _n_features_out(self) -> int:
        return int(self.cluster_centers_.shape[0])

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, and the cluster of each row."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, and the distance of each row to each centre."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def predict(self, X: Any) -> Any:
        """The cluster of each row."""
        blocks, _, exponent = self._rows_and_centres(X)
        labels = [self._assigned(block.X, exponent)[0] for block in blocks]
        return _as_given(np.concatenate(labels), X)

    def transform(self, X: Any) -> Any:
        """The distance of each row to each centre, (n, k)."""
        blocks, C, exponent = self._rows_and_centres(X)
        parts = []
        for block in blocks:
            rows = block.X if is_sparse(block.X) else as_numpy(block.X)
            parts.append(np.sqrt(squared_distances(rows, C)).astype(blocks.dtype))
        with np.errstate(over="ignore"):
            found = np.ldexp(np.concatenate(parts), exponent)
        return _as_given(found, X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """-Σ sᵢ ‖xᵢ - c(label)‖²."""
        J, _, exponent = self._cost(X, sample_weight)
        return -square_in_units(J, exponent)

    def certify_on(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """What these rows cost at the centres, and the best bound of as many centres that a second
        or so finds."""
        J, blocks, exponent = self._cost(X, sample_weight)
        C = as_numpy(self.cluster_centers_)
        C = np.ldexp(C, -exponent).astype(blocks.dtype)
        return proved_clustering(blocks, C, J, exponent, self._proof_search)

    @property
    def _proof_search(self) -> BoundEffort | None:
        """The effort that a bound is worth."""
        return search_of("auto")

    def _cost(self, X: Any, weight: Any) -> tuple[float, Blocks, int]:
        blocks, _, exponent = self._rows_and_centres(X)
        if weight is not None:
            blocks = with_target(blocks, None, weight)

        def cost(block: Block) -> float:
            squares = self._assigned(block.X, exponent)[1]
            return float(squares @ _weights(block))

        return float(blocks.reduce(cost)), blocks, exponent

    def _rows_and_centres(self, X: Any) -> tuple[Blocks, NDArray[Any], int]:
        """Rows and centres in units that squares can bear."""
        check_is_fitted(self)
        blocks = validated_blocks(self, X, reset=False)
        C = as_numpy(self.cluster_centers_)
        exponent = exponent_of(blocks, C)
        return in_units(blocks, exponent), np.ldexp(C, -exponent).astype(C.dtype), exponent

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _weights(block: Block) -> Floats:
    if block.weight is None:
        return np.ones(block.n_rows)
    return np.asarray(to_numpy(block.weight), np.float64)


def _as_given(values: NDArray[Any], X: Any) -> Any:
    """A tensor for a tensor."""
    if is_remote(X):
        return values
    return on_device_of(values, X) if is_torch_array(X) or dispatches(X) else values
