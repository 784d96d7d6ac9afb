"""The data card: rows, columns, classes, duplicates and correlations, in numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtri

from fenchel.app.report.entries import Entry, plain, told
from fenchel.app.report.parts import Parts
from fenchel.app.table.encode import Encoder
from fenchel.app.table.profile import ColumnProfile, duplicate_rows
from fenchel.score.binomial import binomial_rate
from fenchel.score.estimate import Estimate

DESCRIBED = "it describes these rows, and estimates nothing"
MOST_CORRELATED = 200  # columns; above it pairs are not looked at
MOST_PAIRS = 20


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
        found.append(told_here)
    return found


def row_numbers(parts: Parts) -> dict[str, Any]:
    """How many rows were read, left out (and why), learnt from and judged by."""
    return {
        "read": parts.read,
        "without_target": parts.without_target,
        "rare_classes": [{"class": name, "rows": count} for name, count in parts.rare],
        "used": parts.frame.height,
        "training": len(parts.train),
        "test": len(parts.test),
    }


def balance(parts: Parts, level: float) -> list[dict[str, Any]]:
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
                "share": told(binomial_rate(rows, len(codes), level)),
                "training": int(mine[parts.train].sum()),
                "test": int(mine[parts.test].sum()),
            }
        )
    return found


def duplicates(parts: Parts) -> dict[str, Any]:
    """Rows that equal an earlier one, and test rows that equal a training row."""
    hashes = parts.frame.hash_rows().to_numpy()
    both = np.isin(hashes[parts.test], hashes[parts.train])
    return {"rows": duplicate_rows(parts.frame), "test_rows_in_training": int(both.sum())}


def target_numbers(parts: Parts) -> dict[str, Any]:
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


def correlations(
    frame: pl.DataFrame, profiles: tuple[ColumnProfile, ...], level: float
) -> list[dict[str, Any]]:
    """The strongest correlations between columns of numbers, each with its interval."""
    names = [one.name for one in profiles if one.kind == "number"]
    if not 2 <= len(names) <= MOST_CORRELATED:
        return []
    X = frame.select(pl.col(name).cast(pl.Float64, strict=False) for name in names).to_numpy()
    found = []
    for i in range(len(names)):
        for j in range(i):
            both = np.isfinite(X[:, i]) & np.isfinite(X[:, j])
            a, b = X[both, i], X[both, j]
            if len(a) < 4 or np.ptp(a) == 0.0 or np.ptp(b) == 0.0:
                continue
            a, b = a / np.abs(a).max(), b / np.abs(b).max()  # no square overflows
            r = float(np.clip(np.corrcoef(a, b)[0, 1], -1.0, 1.0))
            found.append((abs(r), names[j], names[i], r, len(a)))
    found.sort(key=lambda one: (-one[0], one[1], one[2]))
    return [
        {"first": first, "second": second, "rows": n, "correlation": _fisher(r, n, level)}
        for _, first, second, r, n in found[:MOST_PAIRS]
    ]


def _fisher(r: float, n: int, level: float) -> Entry:
    """tanh(artanh r ± z/√(n - 3)): for pairs of numbers drawn from a normal law."""
    if abs(r) == 1.0:
        return {"value": r, "reason": "one is a line of the other"}
    reach = float(ndtri(0.5 + 0.5 * level)) / math.sqrt(n - 3)
    low, high = (math.tanh(math.atanh(r) + side * reach) for side in (-1.0, 1.0))
    return told(Estimate(r, low, high, level=level, method="Fisher's z"))
