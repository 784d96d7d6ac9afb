"""What estimators with the parameter `affinity` share after a fit."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from fenchel.models.manifold.affinity.rule import GIVEN, AffinityRule


class OfAffinities:
    """An estimator that has a graph of affinities."""

    affinity: Any
    memory_: Any

    def _keep(self, rule: AffinityRule, X: Any, n: int) -> None:
        """The number of neighbours among n rows, or the affinities as they were given."""
        for name in ("n_neighbors_", "_given_affinities"):
            self.__dict__.pop(name, None)
        if rule.by_neighbours:
            self.n_neighbors_ = rule.neighbours(n)
        if rule.given_affinities:
            self._given_affinities = X

    @property
    def affinity_matrix_(self) -> Any:
        """The affinities of the different rows of the graph with each other and themselves; those
        that were given as they were, which a model file does not hold."""
        check_is_fitted(self)
        known = vars(self)
        if "_given_affinities" in known:
            return known["_given_affinities"]
        if isinstance(self.affinity, str) and self.affinity == "precomputed":
            raise AttributeError(
                "affinities that were given are not kept in a model file: take those of the fit"
            )
        return self.memory_.matrix()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = isinstance(self.affinity, str) and self.affinity in GIVEN
        return tags
