"""The data card: rows, columns, classes, duplicates and correlations, in numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import ndtri

from fenchel.app.report.entries import Entry, plain, told
from fenchel.app.report.parts import Parts
from fenchel.app.table.encode import Encoder
from fenchel.app.table.profile import ColumnProfile, duplicate_rows
from fenchel.score.binomial import binomial_rate
from fenchel.score.estimate import Estimate

Floats = NDArray[np.float64]
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
    r, count = _correlated(X)
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


def _correlated(X: Floats) -> tuple[Floats, Floats]:
    """Correlations and numbers of rows of all pairs, over the rows that have both values.

    Columns are centred and divided by their largest entry first, so that no digit is lost and no
    square overflows.
    """
    held = np.isfinite(X)
    M = held.astype(np.float64)
    count = M.T @ M
    Z = np.where(held, X, 0.0)
    Z = Z / np.maximum(np.abs(Z).max(axis=0, initial=0.0), 1e-300)
    Z = np.where(held, Z - Z.sum(axis=0) / np.maximum(M.sum(axis=0), 1.0), 0.0)
    Z = Z / np.maximum(np.abs(Z).max(axis=0, initial=0.0), 1e-300)
    with np.errstate(divide="ignore", invalid="ignore"):
        sums = Z.T @ M
        cross = Z.T @ Z - sums * sums.T / count
        squares = (Z * Z).T @ M - sums**2 / count
        r = cross / np.sqrt(squares * squares.T)
    smallest = np.minimum(squares, squares.T)
    enough = (count >= 4.0) & (smallest > 1e-12 * count)
    return np.where(enough, np.clip(r, -1.0, 1.0), np.nan), count


def _fisher(r: float, n: int, level: float) -> Entry:
    """tanh(artanh r ± z/√(n - 3)): for pairs of numbers drawn from a normal law."""
    if abs(r) >= 1.0 - 1e-12:
        return {"value": r, "reason": "one is a line of the other"}
    reach = float(ndtri(0.5 + 0.5 * level)) / math.sqrt(n - 3)
    low, high = (math.tanh(math.atanh(r) + side * reach) for side in (-1.0, 1.0))
    return told(Estimate(r, low, high, level=level, method="Fisher's z"))
