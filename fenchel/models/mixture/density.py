"""What a fitted mixture says of rows: log-densities, responsibilities, criteria, draws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fenchel.data.arrays import to_float64, to_numpy
from fenchel.data.blocks import Block, Blocks, Totals
from fenchel.models.array_namespace import as_known
from fenchel.models.estimator import validated_blocks
from fenchel.solve.mixture.components import Kind, MixtureComponents, assigned, parameters
from fenchel.solve.mixture.whitening import dense

Floats = NDArray[np.float64]


def dense_rows(estimator: Any, X: Any, weight: Any = None, *, reset: bool = False) -> Blocks:
    """X as blocks of dense rows: a covariance has no zeros that could be left out."""
    blocks = validated_blocks(estimator, X, weight=weight, reset=reset)
    if blocks.sparse:
        raise TypeError(
            f"Sparse data was passed, and {type(estimator).__name__} needs dense rows: pass "
            "X.toarray(), or project the rows first, for example with TruncatedSVD"
        )
    return blocks


class MixtureDensity:
    """The methods that need weights_, means_, covariances_ and precisions_cholesky_ alone."""

    covariance_type: Any
    weights_: Any
    means_: Any
    covariances_: Any
    precisions_cholesky_: Any

    @property
    def _kind(self) -> Kind:
        kind: Kind = self.covariance_type
        return kind

    def _mixture(self) -> MixtureComponents:
        given = (self.weights_, self.means_, self.covariances_, self.precisions_cholesky_)
        w, m, c, f = (np.asarray(to_numpy(as_known(one)), np.float64) for one in given)
        return MixtureComponents(self._kind, w, m, c, f)

    def _each(self, X: Any, answer: Any) -> Any:
        """answer(log Σₖ …, responsibilities) of the rows, block by block."""
        check_is_fitted(self)
        blocks = dense_rows(self, X)
        mixture = self._mixture()

        def of(block: Block) -> tuple[Any, ...]:
            return (answer(*assigned(mixture.joint_logs(to_float64(dense(block.X))))),)

        parts = blocks.reduce(of)
        found = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return found.astype(blocks.dtype, copy=False) if found.dtype.kind == "f" else found

    def score_samples(self, X: Any) -> Any:
        """log p(x) of each row."""
        return self._each(X, lambda logs, R: logs)

    def predict(self, X: Any) -> Any:
        """The most probable component of each row."""
        return self._each(X, lambda logs, R: R.argmax(axis=1))

    def predict_proba(self, X: Any) -> Any:
        """The probability of each component for each row, (n, k)."""
        return self._each(X, lambda logs, R: R)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The mean log-likelihood of a row."""
        value, _, weight = self._totals(X, sample_weight)
        return value / weight

    def bic(self, X: Any, sample_weight: Any = None) -> float:
        """-2 log-likelihood + p log n, p parameters; less is better.

        Reference: Schwarz, Ann. Stat. 6 (1978).
        """
        value, _, weight = self._totals(X, sample_weight)
        return -2.0 * value + self._n_parameters() * math.log(weight)

    def aic(self, X: Any, sample_weight: Any = None) -> float:
        """-2 log-likelihood + 2p.

        Reference: Akaike (1973).
        """
        return -2.0 * self._totals(X, sample_weight)[0] + 2.0 * self._n_parameters()

    def icl(self, X: Any, sample_weight: Any = None) -> float:
        """BIC + 2 Σ sᵢ H(rᵢ), H the entropy of a row's responsibilities: mixtures whose components
        overlap are worse than by BIC.

        Reference: Biernacki, Celeux and Govaert, IEEE Trans. PAMI 22 (2000).
        """
        value, entropy, weight = self._totals(X, sample_weight)
        return -2.0 * value + self._n_parameters() * math.log(weight) + 2.0 * entropy

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Any, Any]:
        """Rows drawn from the mixture, sorted by component, and their components."""
        check_is_fitted(self)
        if n_samples < 1:
            raise ValueError(
                f"Invalid value for 'n_samples': {n_samples}: draw at least one sample"
            )
        found = self._mixture()
        given = vars(self).get("random_state") if random_state is None else random_state
        rng = check_random_state(given)
        k, d = found.means.shape
        weights = found.weights / found.weights.sum()
        counts = rng.multinomial(n_samples, weights)
        labels = np.repeat(np.arange(k), counts)
        noise = rng.standard_normal((n_samples, d))
        if found.kind in ("full", "tied"):
            roots = np.linalg.cholesky(found.covariances)
            roots = np.broadcast_to(roots, (k, d, d))
            noise = np.concatenate([noise[labels == c] @ roots[c].T for c in range(k)])
        else:
            sizes = np.sqrt(found.covariances)
            noise *= sizes[labels] if found.kind == "diag" else sizes[labels][:, None]
        return found.means[labels] + noise, labels

    def _n_parameters(self) -> int:
        return parameters(self._kind, *np.shape(self.means_))

    def _totals(self, X: Any, sample_weight: Any) -> tuple[float, float, float]:
        """Log-likelihood, entropy of the responsibilities and weight of rows."""
        check_is_fitted(self)
        blocks = dense_rows(self, X, sample_weight)
        mixture = self._mixture()

        def of(block: Block) -> Totals:
            logs, R = assigned(mixture.joint_logs(to_float64(dense(block.X))))
            entropy = -(R * np.log(np.maximum(R, np.finfo(np.float64).tiny))).sum(axis=1)
            if block.weight is None:
                return Totals(float(logs.sum()), float(entropy.sum()), float(len(logs)))
            s = np.asarray(to_numpy(block.weight), np.float64)
            return Totals(float(s @ logs), float(s @ entropy), float(s.sum()))

        value, entropy, weight = blocks.reduce(of)
        return value, entropy, weight
