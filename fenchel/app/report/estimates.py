"""A number of the report: with its interval, or with the reason why it has none."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fenchel.convex.certificate import Certificate
from fenchel.score.estimate import Estimate
from fenchel.show.formatting import estimated

Entry = dict[str, Any]  # value, low, high, level, method; or value and reason


def with_interval(found: float, reason: str = "") -> Entry:
    """The entry of an estimate; of a bare number with the reason why there is no interval."""
    value = plain(float(found))
    if isinstance(found, Estimate):
        if math.isfinite(found.low) and math.isfinite(found.high):
            return {
                "value": value,
                "low": found.low,
                "high": found.high,
                "level": found.level,
                "method": found.method,
            }
        reason = reason or found.method
    if not reason:
        raise ValueError("a number without an interval needs the reason why")
    return {"value": value, "reason": reason}


def without_interval(reason: str) -> Entry:
    """The entry of a number that does not exist here."""
    return {"value": None, "reason": reason}


def estimate_of(entry: Entry) -> Estimate | float | None:
    """What the entry was made of."""
    value = entry["value"]
    if value is None or "reason" in entry:
        return None if value is None else float(value)
    return Estimate(
        value, entry["low"], entry["high"], level=entry["level"], method=entry["method"]
    )


def interval_words(entry: Entry) -> str:
    """A number with its interval in brackets, as every table and sentence of the report has it."""
    found = estimate_of(entry)
    return "none" if found is None else estimated(found)


def plain(value: Any) -> Any:
    """The value in JSON's own types; a number that is not finite is null."""
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return str(value)


def proved(proof: Certificate) -> dict[str, Any]:
    """What a certificate says."""
    return {
        "objective": plain(proof.value),
        "bound": plain(proof.bound),
        "gap": plain(proof.gap),
        "relative_gap": plain(proof.relative_gap),
        "excess": plain(proof.excess),
        "residual": plain(proof.residual),
        "kind": proof.kind,
        "confidence": proof.confidence,
    }
