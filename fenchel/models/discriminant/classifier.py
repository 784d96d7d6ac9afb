"""What classifiers of Gaussian classes share: posterior odds, probabilities, densities."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from array_api_compat import is_torch_array
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from fenchel.data.arrays import logsumexp, to_numpy
from fenchel.data.blocks import Block, Blocks
from fenchel.data.design.matrix import Concatenated
from fenchel.data.in_memory import ArrayBlocks
from fenchel.data.parallel import by_rows
from fenchel.data.statistic import Statistic, kernel_of, on_block
from fenchel.geometry.mahalanobis.scores import QuadraticScores
from fenchel.models.array_namespace import dispatches, on_device_of
from fenchel.models.discriminant.bayes_error import BayesError, simulated
from fenchel.models.estimator import Estimator, validated_blocks
from fenchel.models.linear.odds import log_probabilities, probabilities

Floats = NDArray[np.float64]


def each_row(blocks: Blocks, stat: Statistic[Floats]) -> Floats:
    """A statistic whose value has one line for each row of a block, of all rows."""
    if isinstance(blocks, ArrayBlocks) and kernel_of(stat, blocks.whole) is not None:
        return blocks.reduce(stat)

    def lines(block: Block) -> Concatenated:
        return Concatenated([on_block(stat, block)])

    return np.concatenate(blocks.reduce(lines))


class GaussianClassifier(ClassifierMixin, Estimator, ABC):
    """Classes with densities N(μₖ, Σₖ) and priors πₖ: log πₖ + log N(x; μₖ, Σₖ) decides."""

    classes_: NDArray[Any]
    priors_: Any
    means_: Any

    @abstractmethod
    def _densities(self) -> QuadraticScores:
        """log πₖ + log N(x; μₖ, Σₖ) of a row."""

    def _joint(self, X: Any) -> Any:
        check_is_fitted(self)
        blocks = validated_blocks(self, X, reset=False)
        scores = each_row(blocks, self._densities()).astype(blocks.dtype, copy=False)
        return on_device_of(scores, X) if is_torch_array(X) or dispatches(X) else scores

    def _odds(self, X: Any) -> Any:
        """Scores whose softmax are the posterior probabilities."""
        return self._joint(X)

    def predict_joint_log_proba(self, X: Any) -> Any:
        """log πₖ + log N(x; μₖ, Σₖ), shape (n, K)."""
        return self._joint(X)

    def decision_function(self, X: Any) -> Any:
        """log πₖ + log N(x; μₖ, Σₖ) + d log(2π) / 2, shape (n, K), as scikit-learn has it; of two
        classes the log-odds of the second."""
        z = self._joint(X)
        if len(self.classes_) == 2:
            return z[:, 1] - z[:, 0]
        return z + 0.5 * self.n_features_in_ * math.log(2.0 * math.pi)

    def predict(self, X: Any) -> Any:
        """The class of the largest posterior probability, the first of those that tie."""
        codes = by_rows(lambda z: z.argmax(axis=1), to_numpy(self._joint(X)))
        labels = self.classes_[codes]
        numeric = labels.dtype.kind in "fiub"
        return on_device_of(labels, X) if numeric and dispatches(X) else labels

    def predict_proba(self, X: Any) -> Any:
        """P(class | x), shape (n, K)."""
        return probabilities(self._odds(X))

    def predict_log_proba(self, X: Any) -> Any:
        """log P(class | x), shape (n, K)."""
        return log_probabilities(self._odds(X))

    def log_density(self, X: Any) -> Any:
        """log p(x) = log Σₖ πₖ N(x; μₖ, Σₖ) of each row."""
        return by_rows(logsumexp, self._joint(X))

    def bayes_error(
        self, n_draws: int = 100_000, *, level: float = 0.95, random_state: Any = 0
    ) -> BayesError:
        """The error of the best rule if the fitted classes were the truth, with an interval.

        1 - E maxₖ P(k | x) over rows drawn from the fitted model; see `BayesError`. It is no
        estimate of the error on new data, which misfit adds to.
        """
        check_is_fitted(self)
        return simulated(self._densities(), np.asarray(self.priors_), n_draws, level, random_state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
