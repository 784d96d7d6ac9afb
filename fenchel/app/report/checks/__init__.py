"""What a careful reader would check: each check with its answer, its reason and a remedy."""

from __future__ import annotations

from typing import Any

from fenchel.app.report.checks import comparison, data, fit, split, structure, test
from fenchel.app.report.checks.finding import Finding

SEVERITIES = ("problem", "warning", "info", "passed")


def findings(numbers: dict[str, Any]) -> list[Finding]:
    """All checks, the most severe first; those that passed last."""
    found = [*data.checks(numbers)]
    if numbers["task"]["kind"] == "none":
        found += structure.checks(numbers)
    else:
        for room in (split, comparison, fit, test):
            found += room.checks(numbers)
        found += structure.cluster_checks(numbers["clusters"] or {})
    return sorted(found, key=lambda one: SEVERITIES.index(one["severity"]))
