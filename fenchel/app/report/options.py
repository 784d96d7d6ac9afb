"""What a report is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fenchel.app.errors import BadUsage
from fenchel.app.report.split import AT_RANDOM, Grouping
from fenchel.app.table.task import Kind
from fenchel.score.decision.threshold import check_cost
from fenchel.score.estimate import check_share


@dataclass(frozen=True)
class Options:
    """The options of a report.

    Attributes
    ----------
    target : the column to predict; None looks for one with a usual name
    positive : the positive of two classes; None takes the one whose name says so, or the rarer
    by : how rows are split: by group, in time, or at random
    challenger : whether gradient boosting is fitted beside the models, as a yardstick
    clusters : whether the rows of a table with a target are clustered too
    kind : "two classes", "several classes", "number", "none"; None looks at the target
    test_share, seed : of the locked test part
    cost_fp, cost_fn : of a false alarm and of a miss
    alpha, delta : a false positive rate to promise, and the probability to break the promise
    level : coverage of the intervals
    drop : columns to leave out
    text : columns to read as texts
    as_is : whether every number is taken for what it says: no codes of missing values, no clipping
    show_rows : whether rows of the table may be shown
    models : names of the models to compare; None for all of the task
    n_jobs : processes; None for as many as pay
    command : the command line, for the reproduction block
    progress : called with one line before each part
    """

    target: str | None = None
    positive: str | None = None
    by: Grouping = AT_RANDOM
    challenger: bool = True
    clusters: bool = False
    kind: Kind | None = None
    test_share: float = 0.25
    seed: int = 0
    cost_fp: float = 1.0
    cost_fn: float = 1.0
    alpha: float = 0.05
    delta: float = 0.05
    level: float = 0.95
    drop: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    as_is: bool = False
    show_rows: bool = False
    models: tuple[str, ...] | None = None
    n_jobs: int | None = None
    command: str = ""
    progress: Callable[[str], None] | None = None

    def check(self) -> None:
        """BadUsage for a number that cannot be."""
        try:
            for name in ("test_share", "alpha", "delta", "level"):
                check_share(getattr(self, name), name)
            check_cost(self.cost_fp, self.cost_fn)
        except ValueError as error:
            text = str(error)
            for name in ("test_share", "cost_fp", "cost_fn"):
                text = text.replace(name, f"--{name.replace('_', '-')}")
            raise BadUsage(text) from error
        if not 0 <= self.seed < 2**32:
            raise BadUsage(f"seed must be a whole number from 0 to {2**32 - 1}, got {self.seed}")
