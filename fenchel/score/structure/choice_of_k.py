"""The number of clusters or components: what each is worth, and the one that was chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fenchel.data.display.result_table import Tabular
from fenchel.score.curves.score_counts import Floats

Method = Literal["likelihood", "bic", "penalty", "silhouette", "gap"]
METHODS: tuple[Method, ...] = ("likelihood", "bic", "penalty", "silhouette", "gap")
# Column of a method, whether more is better, and its words.
COLUMNS: dict[Method, tuple[str, bool, str]] = {
    "likelihood": ("log_likelihood", True, "held-out log-likelihood of a row"),
    "bic": ("bic", False, "BIC"),
    "penalty": ("penalised", False, "penalised scatter"),
    "silhouette": ("silhouette", True, "mean silhouette"),
    "gap": ("gap_statistic", True, "gap statistic"),
}


@dataclass(frozen=True, eq=False)
class ChoiceOfK(Tabular):
    """What each number of clusters is worth by one method or several.

    Attributes
    ----------
    counts : numbers that were tried
    method : the one that decides
    values : method -> what each number is worth by it; NaN where a method says nothing
    errors : method -> standard errors, of likelihoods (of the loss against the best) and of gaps
    scatter : within the clusters, where a method asked for them
    k : the chosen number
    choices : method -> the number that it would choose by itself
    rows : how many were looked at
    is_clear : whether it stands out: not where the last number that was tried is the best, or the
        gap statistic speaks for none
    """

    counts: tuple[int, ...]
    method: Method
    values: Mapping[Method, Floats]
    errors: Mapping[Method, Floats]
    scatter: Floats | None
    k: int
    choices: Mapping[Method, int]
    rows: int
    is_clear: bool

    def columns(self) -> dict[str, Any]:
        """One row a number."""
        found: dict[str, Any] = {"k": np.array(self.counts)}
        if self.scatter is not None:
            found["scatter"] = self.scatter
        for method, values in self.values.items():
            name = COLUMNS[method][0]
            found[name] = values
            if method in self.errors:
                found[f"{name}_error"] = self.errors[method]
        found["chosen"] = np.array(self.counts) == self.k
        return found

    def caption(self) -> str:
        number = f"{self.k} clusters" if self.k > 1 else "one cluster"
        words = COLUMNS[self.method][2]
        if self.is_clear:
            return f"By the {words}: {number}."
        if self.k == self.counts[-1] and len(self.counts) > 1:
            return f"By the {words}: {number}, the most that were tried; more may be better."
        return f"By the {words}: {number}, but none stands out."
