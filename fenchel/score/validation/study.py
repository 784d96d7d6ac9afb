"""What all the fits of a study share: the rows, their folds, the scorers and the seeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_random_state, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metadata_routing import _routing_enabled as routing_enabled
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import _check_method_params, _num_samples

from fenchel.data.blocks import Blocks
from fenchel.data.intake import is_dask
from fenchel.score.validation.corrected_t import Fold
from fenchel.score.validation.scoring import FoldScorers, fold_scorers

Warm = Literal["auto"] | bool
LARGEST_SEED = np.iinfo(np.int32).max


@dataclass(frozen=True, eq=False)
class FoldStudy:
    """Rows, an estimator and its judges; everything a fit on some of the rows needs to know.

    Attributes
    ----------
    codes, classes : arrays or None
        The class of each row, where the estimator is a classifier of two or more classes.
    fit_params, score_params, split_params : dicts
        What goes to the three methods besides the rows; entries as long as X are cut with it.
    error_score : float or "raise"
    """

    estimator: Any
    X: Any
    y: Any
    n_rows: int
    codes: NDArray[np.intp] | None
    classes: NDArray[Any] | None
    splitter: Any
    judge: FoldScorers
    fit_params: dict[str, Any]
    score_params: dict[str, Any]
    split_params: dict[str, Any]
    error_score: float | Literal["raise"]
    rng: RandomState

    def seeds(self, count: int) -> list[int]:
        """A seed for each fold, drawn before any fit begins."""
        return [int(seed) for seed in self.rng.randint(LARGEST_SEED, size=count)]

    def folds(self, cv: Any = None, rows: NDArray[np.intp] | None = None) -> tuple[Fold, ...]:
        """The splits of all rows, or by cv of some of them, in row numbers of the whole table."""
        X = self.X if rows is None else _safe_indexing(self.X, rows)
        y = self.y if rows is None or self.y is None else _safe_indexing(self.y, rows)
        routed = _check_method_params(self.X, self.split_params, indices=rows)
        splitter = self.splitter
        if rows is not None:
            splitter = check_cv(cv, y, classifier=is_classifier(self.estimator))
        n = self.n_rows if rows is None else len(rows)
        found: list[Fold] = []
        for number, (train, test) in enumerate(splitter.split(X, y, **routed)):
            parts = _rows(train, n, number), _rows(test, n, number)
            for part, use in zip(parts, ("fit", "judge"), strict=True):
                if not len(part):
                    raise ValueError(f"fold {number} has no row to {use}: change cv={splitter!r}")
            found.append(parts if rows is None else (rows[parts[0]], rows[parts[1]]))
        if not found:
            raise ValueError(f"cv={splitter!r} makes no fold")
        return tuple(found)

    def lacking(self, train: NDArray[np.intp]) -> str | None:
        """The class that has no row to fit on, in words; None where none is missing."""
        if self.codes is None or self.classes is None:
            return None
        counts = np.bincount(self.codes[train], minlength=len(self.classes))
        if counts.all():
            return None
        return repr(self.classes[counts.argmin()].tolist())

    def only_class(self, test: NDArray[np.intp]) -> str | None:
        """The one class of the rows to judge by, in words; None where there are more."""
        if self.codes is None or self.classes is None:
            return None
        codes = self.codes[test]
        return repr(self.classes[codes[0]].tolist()) if (codes == codes[0]).all() else None

    def made(self, setting: Mapping[str, Any], seed: int, number: int) -> Any:
        """A fresh estimator with those parameters; random_state is an integer wherever it was None
        (drawn from the seed) or a generator (its number-th draw)."""
        return seeded(configured(clone(self.estimator), setting), seed, number)


def configured(estimator: Any, setting: Mapping[str, Any]) -> Any:
    """The estimator with copies of those parameters."""
    return estimator.set_params(**clone(dict(setting), safe=False)) if setting else estimator


def seeded(estimator: Any, seed: int, number: int) -> Any:
    """The estimator, its open random states fixed."""
    rng = RandomState(seed)
    fixed: dict[str, int] = {}
    for key, value in sorted(estimator.get_params(deep=True).items()):
        if key.rpartition("__")[2] == "random_state":
            if value is None:
                fixed[key] = int(rng.randint(LARGEST_SEED))
            elif isinstance(value, RandomState):
                fixed[key] = int(value.randint(LARGEST_SEED, size=number + 1)[number])
    return estimator.set_params(**fixed) if fixed else estimator


def last_step(estimator: Any) -> tuple[Any, str]:
    """(the estimator that predicts, the prefix of its parameters): the end of a pipeline."""
    prefix = ""
    while isinstance(estimator, Pipeline):
        name, estimator = estimator.steps[-1]
        prefix += f"{name}__"
    return estimator, prefix


def study_of(
    caller: str,
    estimator: Any,
    X: Any,
    y: Any,
    *,
    cv: Any,
    scoring: Any,
    groups: Any,
    params: Mapping[str, Any] | None,
    error_score: Any,
    random_state: Any,
    weighted: bool = False,
) -> FoldStudy:
    """The study, with everything checked that can be before a fit.

    `weighted` passes the sample_weight of params on to the scorers that take it.
    """
    if isinstance(X, Blocks) or is_dask(X):
        raise TypeError(
            f"{caller} picks rows by their number, and X is a table of blocks or a dask collection:"
            " bring it into memory (blocks.gather(), X.compute()), or use LogisticRegressionCV, "
            "RidgeCV, LassoCV or ElasticNetCV, whose folds leave the rows where they are"
        )
    if not (callable(getattr(estimator, "fit", None)) and not isinstance(estimator, type)):
        raise TypeError(f"{caller} needs an estimator, an object with fit, got {estimator!r}")
    is_number = isinstance(error_score, Real) and not isinstance(error_score, bool)
    if not is_number and error_score != "raise":
        raise ValueError(f"error_score must be 'raise' or a number, got {error_score!r}")
    if params is not None and not isinstance(params, Mapping):
        raise TypeError(f"params must be a dict, name to argument of fit, got {params!r}")
    X, y, groups = indexable(X, y, groups)
    codes = classes = None
    kinds = ("binary", "multiclass")
    if y is not None and is_classifier(estimator) and type_of_target(y, input_name="y") in kinds:
        classes, codes = np.unique(np.asarray(y).ravel(), return_inverse=True)
    splitter = check_cv(cv, y, classifier=is_classifier(estimator))
    judge = fold_scorers(estimator, scoring)
    fit = {} if params is None else dict(params)
    score = {"sample_weight": fit.get("sample_weight")} if weighted else {}
    split: dict[str, Any] = {"groups": groups}
    if routing_enabled():
        if groups is not None:
            raise ValueError(
                "with metadata routing enabled groups go to the splitter through params: "
                "params={'groups': groups}, and set_split_request where it does not ask for them"
            )
        fit, score, split = _routed(caller, estimator, judge, splitter, fit)
    return FoldStudy(
        estimator,
        X,
        y,
        _num_samples(X),
        codes,
        classes,
        splitter,
        judge,
        fit,
        score,
        split,
        float(error_score) if is_number else "raise",
        check_random_state(random_state),
    )


def _routed(
    caller: str, estimator: Any, judge: FoldScorers, splitter: Any, params: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """What scikit-learn's metadata routing sends to fit, to the scorers and to the splitter."""

    def to(method: str) -> MethodMapping:
        return MethodMapping().add(caller="fit", callee=method)

    router = MetadataRouter(owner=caller)
    router.add(splitter=splitter, method_mapping=to("split"))
    router.add(estimator=estimator, method_mapping=to("fit"))
    router.add(scorer=judge.router(), method_mapping=to("score"))
    routed = process_routing(router, "fit", **params)
    return routed.estimator.fit, routed.scorer.score, routed.splitter.split


def _rows(part: Any, n: int, number: int) -> NDArray[np.intp]:
    rows = np.asarray(part)
    if rows.dtype == np.bool_ and rows.shape == (n,):
        return np.flatnonzero(rows)
    if not rows.size:
        return np.empty(0, dtype=np.intp)
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise ValueError(
            f"fold {number} of cv must be two arrays of row numbers, got one of {rows.dtype} and "
            f"shape {rows.shape}"
        )
    low, high = int(rows.min()), int(rows.max())
    if low < -n or high >= n:
        raise ValueError(f"fold {number} of cv names row {low if low < -n else high} of {n} rows")
    return np.where(rows < 0, rows + n, rows).astype(np.intp, copy=False)
