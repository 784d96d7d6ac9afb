"""A table without a target: what can be told of its columns."""

from __future__ import annotations

from typing import Any

from fenchel.app.report import card
from fenchel.app.report.entries import plain
from fenchel.app.report.findings import findings
from fenchel.app.report.numbers import Numbers, shared_numbers
from fenchel.app.report.options import Options
from fenchel.app.table.profile import duplicate_rows, profile
from fenchel.app.table.read import Source
from fenchel.app.table.task import Task


def loose_numbers(source: Source, task: Task, options: Options) -> Numbers:
    """The data card, the strongest correlations and the duplicates."""
    frame = source.frame.drop(list(options.drop), strict=False)
    profiles = profile(frame, task)
    numbers: dict[str, Any] = {
        **shared_numbers(source, task, options),
        "rows": {
            "read": frame.height,
            "without_target": 0,
            "rare_classes": [],
            "used": frame.height,
        },
        "columns": card.column_numbers(profiles, None),
        "balance": [],
        "target": None,
        "duplicates": {"rows": duplicate_rows(frame), "test_rows_in_training": 0},
        "correlations": card.correlations(frame, profiles, options.level),
    }
    numbers["findings"] = findings(numbers)
    return plain(numbers)
