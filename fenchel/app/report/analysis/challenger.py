"""A yardstick: gradient-boosted trees on the same folds and the same locked rows.

scikit-learn's HistGradientBoosting with cheap settings, never the chosen model. Where it is clearly
better than the linear models the relation is not linear in the columns; where it is not, the linear
model loses nothing. It sees the encoded rows: numbers as they are, a category as the number of its
level, of a text its most frequent words.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fenchel.app.report.analysis.model_comparison import Contest, scoring_of
from fenchel.app.report.estimates import plain, with_interval
from fenchel.app.table.encoding.encoder import Encoder
from fenchel.app.table.task import Task
from fenchel.data.blocks import one_thread
from fenchel.score.selection.model_comparison import compare_models
from fenchel.score.validation.cross_validation import Validation, cross_validate

WORDS = "gradient-boosted trees"
MOST_WORDS = 200  # columns of a text that the trees see
TREES = 100
SMALL = 500_000  # cells: below, threads wait for each other longer than they work
MATERIAL = {"AUC": 0.02, "accuracy": 0.02, "R²": 0.05}  # differences worth a word


@dataclass(frozen=True, eq=False)
class Challenger:
    """How the trees did: on the folds of the comparison, and on the locked rows."""

    folds: Validation
    model: Any
    test_score: float

    def numbers(self, contest: Contest, model_score: float, level: float) -> dict[str, Any]:
        """Scores, and the difference to the chosen model over the folds with its interval."""
        found = compare_models(self.folds, contest.judged.outer, level=level)
        turned = compare_models(contest.judged.outer, self.folds, level=level).difference
        return {
            "words": WORDS,
            "class": type(self.model).__name__,
            "params": {"max_iter": int(self.model.max_iter)},
            "metric": contest.metric,
            "folds": plain(self.folds.test["score"]),
            "score": with_interval(self.folds.mean(level=level)),
            "chosen": with_interval(contest.judged.outer.mean(level=level)),
            "above_chosen": with_interval(found.difference),
            "below_chosen": with_interval(turned),
            "p_value": plain(found.p_value),
            "test": plain(self.test_score),
            "chosen_test": plain(model_score),
            "material": MATERIAL[contest.metric],
        }


def challenge(
    task: Task,
    encoder: Encoder,
    X: Any,
    y: NDArray[Any],
    X_test: Any,
    y_test: NDArray[Any],
    rows: NDArray[np.intp],
    contest: Contest,
    seed: int,
) -> Challenger:
    """Fit the trees in every fold of the comparison and once to all training rows."""
    columns = TreeColumns.of(encoder)
    train, test = columns.take(X), columns.take(X_test)
    judge = scoring_of(task)
    trees = _trees(task, columns, seed)
    with one_thread() if train.size < SMALL else nullcontext():
        folds = cross_validate(
            trees, train[rows], y[rows], cv=contest.folds, scoring=judge, random_state=seed
        )
        model = trees.fit(train, y)
        return Challenger(folds, model, float(judge(model, test, y_test)))


def _trees(task: Task, columns: TreeColumns, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = (
        HistGradientBoostingRegressor if task.kind == "number" else HistGradientBoostingClassifier
    )
    # Many classes mean a tree for each in every round.
    rounds = TREES if len(task.classes) <= 10 else TREES // 2
    return kind(
        max_iter=rounds,
        learning_rate=0.1,
        early_stopping=False,
        categorical_features=list(columns.categories),
        random_state=seed,
    )


@dataclass(frozen=True)
class TreeColumns:
    """Which encoded columns the trees see: single ones, and the groups of 0/1 columns that are the
    levels of one category."""

    groups: tuple[tuple[int, ...], ...]
    categories: tuple[int, ...]  # places among the groups

    @classmethod
    def of(cls, encoder: Encoder) -> TreeColumns:
        """For the columns that this encoder makes."""
        groups: list[tuple[int, ...]] = []
        categories = []
        place = 0
        for plan in encoder.plans:
            count = len(plan.outputs)
            mine = tuple(range(place, place + count))
            place += count
            if plan.kind == "category" and count > 1:
                categories.append(len(groups))
                groups.append(mine)
            elif plan.kind == "text":
                groups += [(column,) for column in mine[:MOST_WORDS]]
            else:
                groups += [(column,) for column in mine]
        return cls(tuple(groups), tuple(categories))

    def take(self, X: Any) -> NDArray[np.float64]:
        """The columns as numbers: of a category 1, 2, … by its level, 0 where it has none."""
        made = []
        for group in self.groups:
            part = X[:, list(group)]
            part = np.asarray(part.toarray() if sparse.issparse(part) else part)
            made.append(part[:, 0] if len(group) == 1 else part @ np.arange(1.0, len(group) + 1.0))
        return np.column_stack(made)
