"""Penalties and losses with corners: lasso, support vector machines, rankings, robust fits."""

from __future__ import annotations

from . import hinge, lasso, ranking, robust
from .protocol import Workload


def workloads(scale: str) -> list[Workload]:
    return [load for part in (lasso, hinge, ranking, robust) for load in part.workloads(scale)]
