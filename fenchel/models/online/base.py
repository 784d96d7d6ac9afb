"""What the classifiers that learn row by row share: planes, scores, one batch after another."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from fenchel.data.arrays import to_numpy
from fenchel.data.blocks import Block, Blocks
from fenchel.data.intake import as_dtype_of
from fenchel.models.certificates.inputs import class_weights, encoded_rows
from fenchel.models.estimator import as_numpy, validated_blocks
from fenchel.models.labels import LinearClassifier, check_two

Floats = NDArray[np.float64]


class SequentialClassifier(LinearClassifier):
    """Planes fitted row by row, one for two classes, one a class against the rest for more."""

    @property
    def _outputs(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _set_planes(self, W: Floats, b: Floats, dtype: np.dtype[Any]) -> None:
        """coef_ (1 or K, d) and intercept_ (1 or K,), in float64 where dtype has no range."""
        with np.errstate(over="ignore"):
            if not np.isfinite(W.astype(dtype)).all() or not np.isfinite(b.astype(dtype)).all():
                dtype = np.dtype(np.float64)
        self.coef_ = np.array(W, dtype=dtype)
        self.intercept_ = np.array(b, dtype=dtype)

    def _planes(self) -> tuple[Floats, Floats]:
        return to_numpy(self.coef_), to_numpy(self.intercept_)

    def _last(self, outputs: int, d: int) -> tuple[Floats, Floats] | None:
        """The planes of the last fit, where they have the shape of this one."""
        if "coef_" not in self.__dict__ or self.coef_.shape != (outputs, d):
            return None
        W, b = self._planes()
        return W.copy(), b.copy() if self.fit_intercept else np.zeros(outputs)

    def _batch(self, X: Any, y: Any, classes: Any, sample_weight: Any, first: bool) -> Blocks:
        """The rows of one call to partial_fit, with class codes for targets."""
        name = type(self).__name__
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all rows at once: give partial_fit a dict of "
                "weights, or use fit"
            )
        if first:
            if classes is None:
                raise ValueError(f"the first call to {name}.partial_fit must be given classes")
            self.classes_ = np.unique(as_numpy(classes))
            check_two(self, self.classes_)
            self._dtype = validated_blocks(self, X).dtype
        elif classes is not None and not np.array_equal(
            self.classes_, np.unique(as_numpy(classes))
        ):
            raise ValueError(
                f"classes={np.unique(as_numpy(classes)).tolist()} is not what the first call to "
                f"{name}.partial_fit was given: {self.classes_.tolist()}"
            )
        blocks = encoded_rows(self, X, y, sample_weight)
        each = class_weights(self, blocks, weighted=True)
        if (each == 1.0).all():
            return blocks

        def weigh(block: Block) -> Block:
            s = each[to_numpy(block.y)] * (1.0 if block.weight is None else to_numpy(block.weight))
            return Block(block.start, block.X, block.y, as_dtype_of(s, block.X))

        return blocks.map_targets(weigh)


def check_radius(R: float) -> None:
    """Scores grow like R²: it must be a number."""
    if R > 0.0 and not 1e-290 < R * R < math.inf:
        raise ValueError(
            f"the longest row has length {R:.3g}, whose square float64 cannot hold: divide X by it"
        )
