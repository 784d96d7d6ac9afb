"""Checks on the test rows: calibration, promised rates, subgroups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fenchel.app.report.checks.finding import Finding, check
from fenchel.app.report.estimates import interval_words

Numbers = dict[str, Any]
SLIGHT = 0.1  # distance of observed share and predicted probability


def checks(numbers: Numbers) -> Iterator[Finding]:
    """What the locked rows show."""
    calibration = numbers.get("calibration", {})
    if "off" in calibration:
        yield _calibrated(calibration)
        yield _recalibrated(numbers)
    marked = {row["key"]: row for row in numbers.get("decisions", {}).get("marked", ())}
    if "np" in marked:
        row = marked["np"]
        yield check(
            "T2",
            "a guaranteed false positive rate",
            "reason" in row,
            "info",
            f"No threshold can be guaranteed: {row.get('reason', '')}.",
            f"There is a threshold with a guarantee: {row.get('why', '')}.",
            "The test part has too few negatives for such a guarantee.",
            "Give a larger --alpha or --delta, or more rows.",
        )
    worse = [one for one in numbers["subgroups"] if one["worse"]]
    yield check(
        "T3",
        "subgroups with a larger error",
        bool(worse),
        "info",
        "The error is larger than that of all test rows for "
        + ", ".join(f"'{one['column'][:40]}', {one['group'][:40]}" for one in worse[:3])
        + ".",
        "No subgroup of the test rows that was examined has an error above that of all of them, "
        "beyond chance.",
        "The model serves these rows worse than the others.",
        "Check that they are represented in training, and add columns that describe them.",
    )


def _calibrated(found: Numbers) -> Finding:
    off, bins = found["off"], found["bins"]
    worst = max(
        (abs(one["predicted"] - one["observed"]["value"]) for one in bins if one["off"]),
        default=0.0,
    )
    slight = off == 1 and worst < SLIGHT
    return check(
        "T1",
        "calibration of the probabilities",
        off > 0,
        "info" if slight else "warning",
        f"In {off} of {len(bins)} groups of test rows the observed share of positives contradicts "
        f"the predicted probability; the largest difference is {worst:.2f}.",
        f"In none of {len(bins)} groups of test rows does the observed share of positives "
        "contradict the predicted probability."
        if len(bins) > 1
        else "The observed share of positives does not contradict the one probability predicted.",
        "A predicted 80 % does not mean 80 % there.",
        "Use the scores for ranking and the threshold table for decisions, or recalibrate them.",
    )


def _recalibrated(numbers: Numbers) -> Finding:
    """Slope and intercept of the logistic recalibration, where they exist."""
    held = {one["key"]: one["model"] for one in numbers["metrics"]}
    said, off = [], []
    for key, right, low, high in (
        ("calibration_slope", 1.0, "too extreme", "not extreme enough"),
        ("calibration_intercept", 0.0, "too high", "too low"),
    ):
        one = held.get(key, {})
        if "low" not in one:
            continue
        words = f"{key.replace('_', ' ')} {interval_words(one)}"
        said.append(words)
        if not one["low"] <= right <= one["high"]:
            side = low if one["value"] < right else high
            off.append(f"the {words} excludes {right:g}: the probabilities are {side}")
    return check(
        "T4",
        "calibration slope and intercept",
        bool(off),
        "warning",
        f"On the test rows {'; '.join(off)}.",
        f"On the test rows: {', '.join(said)}."
        if said
        else "Slope and intercept of the calibration are not defined on these rows.",
        "Predicted probabilities are systematically off.",
        "Recalibrate them on other rows, or use the scores for ranking alone.",
    )
