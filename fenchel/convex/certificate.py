"""What a fit can prove: a value reached and a bound that no other point can beat."""

from __future__ import annotations

import math
import sys
import warnings
from dataclasses import dataclass, replace
from typing import Any, Literal

from fenchel.data.result_table import Tabular

Kind = Literal["duality", "sdp", "spectral", "eigen", "stationary", "exact", "estimate"]


def warn_outside(message: str, kind: type[Warning] | None = None) -> None:
    """A warning that points at the line which called this library; None: NotCertified."""
    if kind is None:
        from fenchel.convex.convergence import NotCertified as kind
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _is_inner(frame.f_back.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, kind, stacklevel=level + 1)


def _is_inner(module: str) -> bool:
    inner = ("fenchel", "sklearn", "contextlib", "concurrent", "threading")
    return module.partition(".")[0] in inner


@dataclass(frozen=True, slots=True)
class Certificate(Tabular):
    """value ≥ optimum ≥ bound, both computed in float64.

    Attributes
    ----------
    value : the objective at the fitted point
    bound : a proved lower bound of the optimum (-inf where nothing is proved)
    kind : how the bound was proved; "estimate" proves nothing
    floor : the smallest objective that float64 can tell from zero on this data
    steps, seconds : of the solver

    Examples
    --------
    >>> from fenchel import Certificate
    >>> c = Certificate(value=2.0, bound=1.5, kind="duality")
    >>> c.gap, c.relative_gap
    (0.5, 0.25)
    """

    value: float
    bound: float
    kind: Kind = "duality"
    steps: int = 0
    seconds: float = 0.0
    floor: float = 0.0

    @property
    def gap(self) -> float:
        """value - bound: the objective can be improved by no more than this."""
        return self.value - self.bound

    @property
    def relative_gap(self) -> float:
        """gap / |value|, or against the rounding floor where the value vanishes."""
        if not math.isfinite(self.gap):  # an infinite value, or no bound
            return math.inf
        scale = max(abs(self.value), self.floor)
        if scale == 0.0:
            return 0.0 if self.gap <= 0.0 else math.inf
        return max(self.gap, 0.0) / scale

    def scaled(self, factor: float) -> Certificate:
        """The certificate of factor times the objective."""
        return replace(
            self, value=self.value * factor, bound=self.bound * factor, floor=self.floor * factor
        )

    def __add__(self, other: Certificate) -> Certificate:
        """The certificate of a sum of independent problems."""
        kind = self.kind if self.kind == other.kind else "estimate"
        if "estimate" not in (self.kind, other.kind):
            kind = "duality" if self.kind != other.kind else self.kind
        return Certificate(
            self.value + other.value,
            self.bound + other.bound,
            kind,
            max(self.steps, other.steps),
            self.seconds + other.seconds,
            self.floor + other.floor,
        )

    def columns(self) -> dict[str, Any]:
        """One row: the numbers by name."""
        names = ("value", "bound", "gap", "relative_gap", "kind", "steps", "seconds")
        return {name: [getattr(self, name)] for name in names}

    def caption(self) -> str:
        text = str(self)
        return f"{text[:1].upper()}{text[1:]}."

    def __str__(self) -> str:
        if self.kind == "estimate":
            return f"objective {self.value:.10g}, not proved (estimated gap {self.gap:.2g})"
        if self.bound == -math.inf:
            return f"objective {self.value:.10g}, nothing proved about the optimum"
        # What no float64 computation can tell from no gap at all.
        near = f"{self.relative_gap:.2g}" if self.relative_gap > 1e-15 else "rounding"
        return (
            f"objective {self.value:.10g}, optimum at least {self.bound:.10g}: "
            f"within {near} of the best possible ({self.kind})"
        )
