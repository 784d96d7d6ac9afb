"""The distribution of the training rows, kept with a model, to compare later tables with.

For each column that the model uses: counts of the training rows in at most ten bins of nearly equal
counts (numbers, dates, lengths of texts), or of each level (categories, truth values), and of the
missing cells. New rows are counted batch by batch; `drift` gives the population stability index.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fenchel.app.table.encoding.column_plan import ColumnPlan
from fenchel.app.table.encoding.encoder import Encoder
from fenchel.score.metrics.population_stability import Stability, population_stability

BINS = 10
MOST_LEVELS = 60
COMPARED = 100_000  # rows of a table to predict that are compared: more change the index little
PREDICTION = "prediction of the model"
Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ColumnReference:
    """Where the training rows of one column lie: `counts` has one bin more, for missing cells.

    Of a column of numbers `edges` are the inner ends of the bins; of a category `levels` are
    counted, all others in a bin of their own.
    """

    name: str
    counts: Counts
    edges: tuple[float, ...] = ()
    levels: tuple[str, ...] | None = None

    @classmethod
    def of_numbers(cls, name: str, x: NDArray[np.float64]) -> ColumnReference:
        """Bins at the deciles; NaN is missing."""
        there = x[~np.isnan(x)]
        edges: tuple[float, ...] = ()
        if len(there):
            inner = np.quantile(there, np.arange(1, BINS) / BINS, method="inverted_cdf")
            edges = tuple(float(edge) for edge in np.unique(inner) if edge < there.max())
        empty = cls(name, np.zeros(len(edges) + 2, np.int64), edges)
        return cls(name, empty.count_numbers(x), edges)

    @classmethod
    def of_levels(cls, name: str, text: pl.Series) -> ColumnReference:
        """The most frequent levels."""
        counted = text.drop_nulls().alias("level").value_counts()
        counted = counted.sort("count", "level", descending=[True, False]).head(MOST_LEVELS)
        levels = tuple(counted["level"].to_list())
        empty = cls(name, np.zeros(len(levels) + 2, np.int64), (), levels)
        return cls(name, empty.count_levels(text), (), levels)

    def count_numbers(self, x: NDArray[np.float64]) -> Counts:
        """Rows in each bin."""
        missing = np.isnan(x)
        place = np.searchsorted(np.asarray(self.edges), x[~missing], side="left")
        found = np.bincount(place, minlength=len(self.edges) + 1)
        return np.append(found, missing.sum()).astype(np.int64)

    def count_levels(self, text: pl.Series) -> Counts:
        """Rows of each level, of all others, and without one."""
        levels = self.levels or ()
        places = text.replace_strict(
            list(levels), list(range(len(levels))), default=len(levels), return_dtype=pl.Int64
        )
        codes = places.zip_with(
            text.is_not_null(), pl.repeat(None, len(text), dtype=pl.Int64, eager=True)
        )
        held = codes.drop_nulls().to_numpy()
        found = np.bincount(held, minlength=len(levels) + 1)
        return np.append(found, codes.null_count()).astype(np.int64)

    def to_dict(self) -> dict[str, Any]:
        """In plain values."""
        return {
            "name": self.name,
            "counts": self.counts.tolist(),
            "edges": list(self.edges),
            "levels": None if self.levels is None else list(self.levels),
        }

    @classmethod
    def from_dict(cls, given: Any) -> ColumnReference:
        """Out of a file; ValueError for what `to_dict` cannot have made."""
        if not isinstance(given, dict) or set(given) != {"name", "counts", "edges", "levels"}:
            raise ValueError("a column's reference has the entries name, counts, edges and levels")
        name, counts, edges, levels = (given[k] for k in ("name", "counts", "edges", "levels"))
        if not isinstance(name, str) or not all(isinstance(part, list) for part in (counts, edges)):
            raise ValueError("a column's reference has a name and lists")
        if not all(type(count) is int and 0 <= count < 2**62 for count in counts):
            raise ValueError("the counts of a reference are whole numbers")
        if not all(type(edge) is float and math.isfinite(edge) for edge in edges):
            raise ValueError("the edges of a reference are finite numbers")
        if sorted(set(edges)) != edges:
            raise ValueError("the edges of a reference rise")
        if levels is not None:
            texts = isinstance(levels, list) and all(isinstance(one, str) for one in levels)
            if not texts or edges or len(set(levels)) < len(levels):
                raise ValueError("the levels of a reference are different texts")
        if len(counts) != (len(edges) if levels is None else len(levels)) + 2:
            raise ValueError("a reference has one count for each bin")
        kept = None if levels is None else tuple(levels)
        return cls(name, np.array(counts, np.int64), tuple(edges), kept)


@dataclass
class Reference:
    """The training rows of every column of a model and of its predictions, and new rows counted
    against them."""

    columns: tuple[ColumnReference, ...]
    seen: dict[str, Counts] = field(default_factory=dict)

    @classmethod
    def of(cls, encoder: Encoder, frame: pl.DataFrame, predicted: NDArray[Any]) -> Reference:
        """Of the training rows, and what the model says about them."""
        found = []
        for plan in _used(encoder):
            if plan.kind == "category":
                found.append(ColumnReference.of_levels(plan.name, plan.labels(frame[plan.name])))
            else:
                x = _numbers(plan, frame[plan.name])
                found.append(ColumnReference.of_numbers(plan.name, x))
        if predicted.ndim == 1:
            x = predicted.astype(np.float64)
            found.append(ColumnReference.of_numbers(PREDICTION, x))
        return cls(tuple(found))

    def add(self, encoder: Encoder, frame: pl.DataFrame, predicted: NDArray[Any]) -> None:
        """Count the rows of a batch."""
        plans = {plan.name: plan for plan in _used(encoder)}
        for one in self.columns:
            if one.name == PREDICTION and one.name not in plans:
                counts = one.count_numbers(predicted.astype(np.float64))
            elif one.levels is not None:
                counts = one.count_levels(plans[one.name].labels(frame[one.name]))
            else:
                counts = one.count_numbers(_numbers(plans[one.name], frame[one.name]))
            self.seen[one.name] = self.seen.get(one.name, np.zeros_like(counts)) + counts

    def drift(self) -> list[tuple[str, Stability]]:
        """Every column with its population stability index, the largest first."""
        found = [
            (one.name, population_stability(one.counts, self.seen[one.name]))
            for one in self.columns
            if one.name in self.seen and self.seen[one.name].sum() > 0
        ]
        return sorted(found, key=lambda pair: -pair[1].value)

    def to_list(self) -> list[dict[str, Any]]:
        """In plain values, for a model file."""
        return [one.to_dict() for one in self.columns]

    @classmethod
    def from_list(cls, given: Any, encoder: Encoder) -> Reference:
        """Out of a file; ValueError where it does not belong to the encoder."""
        if not isinstance(given, list):
            raise ValueError("the reference of a model is a list of columns")
        columns = tuple(ColumnReference.from_dict(one) for one in given)
        kinds = {plan.name: plan.kind == "category" for plan in _used(encoder)}
        for one in columns:
            if kinds.get(one.name, False if one.name == PREDICTION else None) is not (
                one.levels is not None
            ):
                raise ValueError(f"the reference of '{one.name[:60]}' does not fit the encoder")
        return cls(columns)


def _used(encoder: Encoder) -> Sequence[ColumnPlan]:
    return [plan for plan in encoder.plans if plan.kind != "dropped"]


def _numbers(plan: ColumnPlan, column: pl.Series) -> NDArray[np.float64]:
    """The column as numbers, NaN where missing; of a text its length, of a flag only that."""
    if plan.kind == "text":
        found = plan.labels(column).str.len_chars().cast(pl.Float64)
    elif plan.kind == "flag":
        text = plan.labels(column) if column.dtype == pl.String else column
        found = pl.select(pl.when(text.is_null()).then(None).otherwise(0.0)).to_series()
    else:
        found = plan.values(column)
    return found.fill_null(np.nan).to_numpy().astype(np.float64)


def drift_sentences(drift: Sequence[tuple[str, Stability]], most: int = 5) -> tuple[str, ...]:
    """What moved, in words: one sentence for each column, or one that nothing did.

    A column counts as moved where its index is at least 0.1 and two samples of one law would differ
    that much with probability below 1 % over all columns together.
    """
    if not drift:
        return ()
    told = moved_sentences(drift, most)
    if not told:
        name, one = drift[0]
        return (f"no drift: the largest population stability index is {one.value:.2f} ('{name}')",)
    return told


def moved_sentences(drift: Sequence[tuple[str, Stability]], most: int = 5) -> tuple[str, ...]:
    """One sentence for each column that has moved."""
    chance = 0.01 / max(len(drift), 1)
    moved = [(name, one) for name, one in drift if one.grade(chance) != "stable"]
    told = [
        f"'{name[:60]}' has moved since training: population stability index {one.value:.2f}, "
        f"a {one.grade(chance)} shift"
        for name, one in moved[:most]
    ]
    if len(moved) > most:
        told.append(f"{len(moved) - most} more columns have moved since training")
    return tuple(told)
