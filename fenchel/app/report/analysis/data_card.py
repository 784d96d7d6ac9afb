"""The data card: rows, columns, classes, duplicates and correlations, in numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import ndtri

from fenchel.app.report.estimates import Entry, plain, with_interval
from fenchel.app.report.split import Split
from fenchel.app.table.encoding.encoder import Encoder
from fenchel.app.table.profile.association import correlations_of_pairs
from fenchel.app.table.profile.column_profile import ColumnProfile, duplicate_rows
from fenchel.score.estimate import Estimate
from fenchel.score.intervals.binomial import binomial_rate

Floats = NDArray[np.float64]
DESCRIBED = "it describes these rows, and estimates nothing"
MOST_CORRELATED = 200  # columns; above it pairs are not looked at
MOST_PAIRS = 20
MOST_SHOWN = 40  # columns of the figure: more cannot be read


def column_numbers(
    profiles: tuple[ColumnProfile, ...], encoder: Encoder | None
) -> list[dict[str, Any]]:
    """What each column holds, how it goes with the target, and how it is encoded."""
    plans = {} if encoder is None else {plan.name: plan for plan in encoder.plans}
    found = []
    for one in profiles:
        told_here = plain(one.to_dict())
        if one.association is not None:
            told_here["association"] = {"value": plain(one.association), "reason": DESCRIBED}
        plan = plans.get(one.name)
        told_here["rule"] = plan.rule if plan else ""
        told_here["used"] = bool(plan and plan.outputs)
        told_here["codes"] = [] if plan is None else list(plan.codes)
        told_here["clipped"] = plan is not None and plan.clip is not None
        told_here["left_out"] = plan.reason if plan is not None and plan.kind == "dropped" else ""
        found.append(told_here)
    return found


def row_numbers(parts: Split) -> dict[str, Any]:
    """How many rows were read, left out (and why), learnt from and judged by."""
    return {
        "read": parts.read,
        "without_target": parts.without_target,
        "without_time": parts.without_time,
        "rare_classes": [{"class": name, "rows": count} for name, count in parts.rare],
        "used": parts.frame.height,
        "training": len(parts.train),
        "test": len(parts.test),
        "split": {
            "groups": parts.by.groups,
            "time": parts.by.time,
            "words": parts.by.words,
            "test_groups": None
            if parts.groups is None
            else len(np.unique(parts.groups[parts.test])),
        },
        "locked": np.sort(parts.numbers[parts.test]).tolist(),
    }


def balance(parts: Split, level: float) -> list[dict[str, Any]]:
    """Rows of each class, all of them and in both parts."""
    if not parts.task.classes:
        return []
    codes = parts.task.codes(parts.frame)
    found = []
    for k, name in enumerate(parts.task.classes):
        mine = codes == k
        rows = int(mine.sum())
        found.append(
            {
                "class": name,
                "rows": rows,
                "share": with_interval(binomial_rate(rows, len(codes), level)),
                "training": int(mine[parts.train].sum()),
                "test": int(mine[parts.test].sum()),
            }
        )
    return found


def duplicates(parts: Split) -> dict[str, Any]:
    """Rows that equal an earlier one, and test rows that equal a training row."""
    hashes = parts.frame.hash_rows().to_numpy()
    both = np.isin(hashes[parts.test], hashes[parts.train])
    return {"rows": duplicate_rows(parts.frame), "test_rows_in_training": int(both.sum())}


def target_numbers(parts: Split) -> dict[str, Any]:
    """How a number to predict is spread."""
    y = parts.task.codes(parts.frame)
    centred = y - y.mean()
    spread = float(centred.std())
    shares = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
    counts, edges = np.histogram(y, 30)
    return plain(
        {
            "mean": y.mean(),
            "deviation": spread,
            "skewness": (centred**3).mean() / spread**3 if spread > 0.0 else 0.0,
            "quantiles": {f"{100 * share:g} %": np.quantile(y, share) for share in shares},
            "counts": counts,
            "edges": edges,
        }
    )


def correlation_matrix(
    frame: pl.DataFrame, profiles: tuple[ColumnProfile, ...]
) -> tuple[list[str], Floats, Floats]:
    """(names, correlations, rows of each pair) of the columns of numbers; empty if too many."""
    names = [one.name for one in profiles if one.kind == "number"]
    if not 2 <= len(names) <= MOST_CORRELATED:
        return [], np.zeros((0, 0)), np.zeros((0, 0))
    X = frame.select(pl.col(name).cast(pl.Float64, strict=False) for name in names).to_numpy()
    return names, *correlations_of_pairs(X)


def matrix_numbers(names: list[str], r: Floats) -> dict[str, Any] | None:
    """The correlations of the columns with the strongest ones, for the figure."""
    if len(names) < 3:
        return None
    strength = np.nan_to_num(np.abs(r - np.diag(np.diagonal(r)))).max(axis=0)
    shown = np.sort(np.argsort(-strength, kind="stable")[:MOST_SHOWN])
    return {
        "names": [names[k] for k in shown],
        "matrix": plain(np.round(r[np.ix_(shown, shown)], 4)),
        "of": len(names),
    }


def correlations(names: list[str], r: Floats, count: Floats, level: float) -> list[dict[str, Any]]:
    """The strongest correlations between columns of numbers, each with its interval."""
    first, second = np.tril_indices(len(names), -1)
    strength = np.nan_to_num(np.abs(r[first, second]), nan=-1.0)
    order = np.argsort(-strength, kind="stable")[:MOST_PAIRS]
    return [
        {
            "first": names[j],
            "second": names[i],
            "rows": int(count[i, j]),
            "correlation": _fisher(float(r[i, j]), int(count[i, j]), level),
        }
        for i, j in zip(first[order], second[order], strict=True)
        if np.isfinite(r[i, j])
    ]


def _fisher(r: float, n: int, level: float) -> Entry:
    """tanh(artanh r ± z/√(n - 3)): for pairs of numbers drawn from a normal law."""
    if abs(r) >= 1.0 - 1e-12:
        return {"value": r, "reason": "one is a line of the other"}
    reach = float(ndtri(0.5 + 0.5 * level)) / math.sqrt(n - 3)
    low, high = (math.tanh(math.atanh(r) + side * reach) for side in (-1.0, 1.0))
    return with_interval(Estimate(r, low, high, level=level, method="Fisher's z"))
