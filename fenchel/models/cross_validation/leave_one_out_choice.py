"""The choice of a penalty by the errors of rows that were left out, one at a time."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import check_scoring, get_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.utils import check_scalar
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _routing_enabled,
    process_routing,
)

from fenchel.data.arrays import to_float64, to_numpy
from fenchel.data.blocks import Blocks
from fenchel.models.estimator import is_remote
from fenchel.models.targets import target_rows
from fenchel.solve.least_squares.result import unscale

Floats = NDArray[np.float64]


def penalty_grid(alphas: Any, ends: str) -> Floats:
    """The penalties to try; ends: of scikit-learn's `check_scalar`, whether 0 may be one."""
    plain = isinstance(alphas, list | tuple)  # as an array one text makes texts of all
    found = list(alphas) if plain else np.ravel(to_numpy(alphas)).tolist()
    for i, alpha in enumerate(found):
        name = f"alphas[{i}]" if len(found) > 1 else "alphas"
        check_scalar(alpha, name, Real, min_val=0.0, include_boundaries=ends)
    if not len(found):
        raise ValueError("alphas is empty: give at least one penalty")
    return np.array(found, dtype=np.float64)


class LeaveOneOutChoice:
    """An estimator that chooses its penalty by leave-one-out errors, for all targets or each, or by
    the folds of `cv`."""

    cv: Any
    scoring: Any
    store_cv_results: bool
    alpha_per_target: bool

    def _scored(
        self, blocks: Blocks, errors: Floats, sample_weight: Any, params: dict[str, Any]
    ) -> Floats:
        """Scores (K, A), or (1, A) for one score of all targets, from errors (n, K, A)."""
        held = blocks.gather()
        y = to_numpy(to_float64(held.y))
        shape = (*y.shape, errors.shape[-1])
        if self.scoring is None:
            errors **= 2
            if held.weight is not None:
                errors *= to_numpy(held.weight)[:, None, None]
            scores = -errors.mean(axis=0)
        else:
            errors *= -1.0
            errors += y.reshape(len(y), -1, 1)
            scores = self._judged(y, errors.reshape(shape), sample_weight, params)
        if self.store_cv_results:
            self.cv_results_ = errors.reshape(shape).astype(blocks.dtype, copy=False)
        return scores

    def _judged(
        self, y: Floats, predicted: Floats, sample_weight: Any, params: dict[str, Any]
    ) -> Floats:
        scorer, judged = self._scorer(), Predicted()
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        if _routing_enabled():
            given = process_routing(self, "fit", **given, **params).scorer.score
        if self.alpha_per_target and y.ndim == 2:
            pairs = [(predicted[:, k], y[:, k]) for k in range(y.shape[1])]
        else:
            pairs = [(predicted, y)]
        return np.array(
            [[scorer(judged, p[..., a], t, **given) for a in range(p.shape[-1])] for p, t in pairs]
        )

    def _choose(self, scores: Floats, alphas: Floats, power: int, flat: bool) -> None:
        """The first penalty with the highest score, for all targets or for each; 2^power is the
        unit of the scores."""
        if not self.alpha_per_target or len(scores) == 1:
            mean = scores.mean(axis=0)
            best = int(mean.argmax())
            self.alpha_: Any = float(alphas[best])
            score = unscale(mean[best], power)
            self.best_score_: Any = score[None] if self.alpha_per_target and not flat else score
            return
        chosen = scores.argmax(axis=1)
        self.alpha_ = alphas[chosen]
        self.best_score_ = unscale(scores[np.arange(len(scores)), chosen], power)

    def _search(
        self,
        model: Any,
        X: Any,
        y: Any,
        sample_weight: Any,
        alphas: Floats,
        params: dict[str, Any],
    ) -> None:
        """A grid search over the parameter alpha of a model by the folds of `cv`."""
        if is_remote(X):
            raise ValueError("cv splits rows by number and needs them in memory: leave cv out")
        for name in ("store_cv_results", "alpha_per_target"):
            if getattr(self, name):
                raise ValueError(f"cv!=None and {name}=True are incompatible: leave cv out")
        target_rows(self, X, y, sample_weight)  # the search would drop folds that it finds faulty
        if sample_weight is not None:
            params = {**params, "sample_weight": sample_weight}
        if _routing_enabled():
            model.set_fit_request(sample_weight=True)
        grid = {"alpha": alphas.tolist()}
        search = GridSearchCV(model, grid, cv=self.cv, scoring=self._scorer()).fit(X, y, **params)
        chosen = search.best_estimator_
        self.alpha_, self.best_score_ = chosen.alpha, search.best_score_
        for name, value in vars(chosen).items():
            if name.endswith("_") and name not in ("n_iter_", "solver_", "form_"):
                setattr(self, name, value)

    def _scorer(self) -> Any:
        if _routing_enabled() and self.scoring is None:
            return get_scorer("r2").set_score_request(sample_weight=True)
        return check_scoring(self, scoring=self.scoring, allow_none=True)

    def get_metadata_routing(self) -> MetadataRouter:
        """Which arguments of `fit` go to the scorer and to the splitter."""
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(
            scorer=self._scorer(), method_mapping=MethodMapping().add(caller="fit", callee="score")
        )
        return router.add(
            splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split")
        )


class Predicted(RegressorMixin, BaseEstimator):
    """Stands for a model whose predictions are already known: scorers ask an estimator."""

    def predict(self, X: Floats) -> Floats:
        return X
