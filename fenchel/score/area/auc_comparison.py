"""Two scores of the same rows compared by their areas, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fenchel.data.display.result_table import Tabular
from fenchel.score.estimate import Estimate


@dataclass(frozen=True, slots=True)
class AUCComparison(Tabular):
    """Two scores of the same rows: their areas, the difference, and how surprising it is."""

    first: Estimate
    second: Estimate
    difference: Estimate
    z: float
    p_value: float

    def columns(self) -> dict[str, Any]:
        """One row a score, and one for the difference."""
        found = (self.first, self.second, self.difference)
        return {
            "score": ["first", "second", "first - second"],
            "area": [float(one) for one in found],
            "area_low": [one.low for one in found],
            "area_high": [one.high for one in found],
            "p_value": [None, None, self.p_value],
        }

    def caption(self) -> str:
        return f"{self}."

    def __str__(self) -> str:
        return (
            f"AUC {self.first:.4g} and {self.second:.4g}: difference {self.difference}, "
            f"p = {self.p_value:.3g}"
        )
