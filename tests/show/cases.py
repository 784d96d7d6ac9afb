"""One line for each figure, with plain and with hostile input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from show import (
    cases_columns,
    cases_fits,
    cases_groups,
    cases_kernels,
    cases_maps,
    cases_planes,
    cases_two_classes,
)

FAMILIES = (
    cases_two_classes,
    cases_fits,
    cases_planes,
    cases_groups,
    cases_maps,
    cases_kernels,
    cases_columns,
)
CASES: dict[str, Callable[..., Any]] = {
    name: draw for family in FAMILIES for name, draw in family.CASES.items()
}
# Each case once: a name that two families have would hide one of them.
assert len(CASES) == sum(len(family.CASES) for family in FAMILIES)
