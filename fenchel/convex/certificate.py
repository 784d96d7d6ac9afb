"""The certificate of a fit: the value reached and a proved lower bound of the optimum.

    value ≥ optimum ≥ bound;   gap = value - bound

Reference: Boyd and Vandenberghe, Convex Optimization (2004), section 5.5.
"""

from __future__ import annotations

import math
import sys
import warnings
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Literal

from fenchel.data.display.result_table import Tabular

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
    inner = ("fenchel", "sklearn", "numpy", "contextlib", "concurrent", "threading")
    return module.partition(".")[0] in inner


# From the kind that says most about the optimum to the one that says nothing. "exact": no other
# point is better. "duality": a bound that a convex problem's optimum meets. "eigen": eigenpairs up
# to a residual, the leading ones where there is a bound. "sdp", "spectral": bounds by relaxation,
# true but below the optimum, the second the looser one. "stationary": no step is better, which
# bounds nothing. "estimate": not proved.
STRENGTH: tuple[Kind, ...] = (
    "exact",
    "duality",
    "eigen",
    "sdp",
    "spectral",
    "stationary",
    "estimate",
)


def weakest(*kinds: Kind) -> Kind:
    """What a sum of certificates of these kinds proves: no more than its weakest part."""
    return max(kinds, key=STRENGTH.index)


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
    residual : by how much the point misses the equation that it is to satisfy, relative to that
        equation's size (|Av - λv| / |A| of an eigenpair, what one more step of a fixed-point
        iteration would move); None where the gap decides
    scale : what the gap is relative to, |value| unless given: the value of a log-likelihood may
        cross zero
    confidence : with which the bound holds: 1, but where random samples prove it

    Examples
    --------
    >>> from fenchel import Certificate
    >>> c = Certificate(value=2.0, bound=1.5, kind="duality")
    >>> c.gap, c.relative_gap, c.closed(0.3), c.closed(0.1)
    (0.5, 0.25, True, False)
    >>> Certificate(value=-3.0, bound=float("-inf"), kind="eigen", residual=1e-9).closed(1e-6)
    True
    """

    value: float
    bound: float
    kind: Kind = "duality"
    steps: int = 0
    seconds: float = 0.0
    floor: float = 0.0
    residual: float | None = None
    scale: float | None = None
    confidence: float = 1.0

    @property
    def gap(self) -> float:
        """value - bound: the objective can be improved by no more than this."""
        return self.value - self.bound

    @property
    def size(self) -> float:
        """What the gap is relative to, but for rounding: `scale`, or |value|."""
        return abs(self.value) if self.scale is None else self.scale

    @property
    def relative_gap(self) -> float:
        """gap / size, or against the rounding floor where the size vanishes."""
        if not math.isfinite(self.gap):  # an infinite value, or no bound
            return math.inf
        size = max(self.size, self.floor)
        if size == 0.0:
            return 0.0 if self.gap <= 0.0 else math.inf
        return max(self.gap, 0.0) / size

    @property
    def excess(self) -> float:
        """By how much of the best possible the value exceeds it at most, gap / bound: of objectives
        that are never negative. Infinite where the bound is 0, and the value is not."""
        if self.gap <= 0.0:
            return 0.0
        return self.gap / self.bound if self.bound > 0.0 else math.inf * self.gap

    @property
    def error(self) -> float:
        """What is compared with tol: the residual where there is one, else the relative gap; inf
        where that is NaN."""
        if self.residual is None:
            return self.relative_gap
        return math.inf if math.isnan(self.residual) else self.residual

    def closed(self, tol: float) -> bool:
        """Whether the proof reaches tol; an estimate proves nothing, however small."""
        return self.kind != "estimate" and bool(self.error <= tol)

    def scaled(self, factor: float) -> Certificate:
        """The certificate of factor times the objective."""
        return replace(
            self,
            value=self.value * factor,
            bound=self.bound * factor,
            floor=self.floor * factor,
            scale=None if self.scale is None else self.scale * factor,
        )

    def with_bound_of(self, other: Certificate) -> Certificate:
        """This value, with the better of two bounds of the same optimum; a bound above the value,
        which rounding in the value alone can explain, is lowered to it."""
        if other.kind == "estimate" or (self.kind != "estimate" and self.bound >= other.bound):
            return self
        return replace(self, bound=min(other.bound, self.value), kind=other.kind)

    def __add__(self, other: Certificate) -> Certificate:
        """The certificate of a sum of independent problems: of the weakest kind of the two.

        Gaps add up, and so do the chances of being wrong. Where a part closes by its residual, so
        does the sum, and by the worse of the
        two errors: it is closed only where both parts are.
        """
        plain = self.residual is None and other.residual is None
        own = self.scale is None and other.scale is None
        return Certificate(
            self.value + other.value,
            self.bound + other.bound,
            weakest(self.kind, other.kind),
            max(self.steps, other.steps),
            self.seconds + other.seconds,
            self.floor + other.floor,
            None if plain else max(self.error, other.error),
            None if own else self.size + other.size,
            max(self.confidence + other.confidence - 1.0, 0.0),
        )

    def columns(self) -> dict[str, Any]:
        """One row: the numbers by name."""
        names = ["value", "bound", "gap", "relative_gap", "kind", "steps", "seconds"]
        names += ["residual"] if self.residual is not None else []
        names += ["confidence"] if self.confidence < 1.0 else []
        return {name: [getattr(self, name)] for name in names}

    def caption(self) -> str:
        text = str(self)
        return f"{text[:1].upper()}{text[1:]}."

    def __str__(self) -> str:
        value = f"objective {self.value:.10g}"
        if self.kind == "estimate":
            return f"{value}, not proved (estimated {self._measured()})"
        if self.bound > -math.inf:  # not where it is NaN
            value = f"{value}, optimum at least {self.bound:.10g}{self._sure()}"
        if self.residual is not None:
            return f"{value}: {_CLOSES.get(self.kind, 'solved')} to within {_near(self.residual)}"
        if not self.bound > -math.inf:
            return f"{value}, nothing proved about the optimum"
        near = f"within {_near(self.relative_gap)} of the best possible"
        if self.scale is not None:
            near = f"{near}, relative to a scale of {self.scale:.3g}"
        loose = ", a bound that may be loose" if self.kind in ("sdp", "spectral") else ""
        return f"{value}: {near} ({self.kind}{loose})"

    def words(self, definition: str) -> str:
        """What is proved; of a number that is a definition, what it is called and its value."""
        named = f"{definition} {self.value:.10g}, exact by its definition"
        return named if definition else str(self)

    def reached(self) -> str:
        """The error in words, for the warning of a fit that did not close."""
        if self.kind == "estimate":
            return f"nothing proved (estimated {self._measured()})"
        if self.residual is not None:
            return f"{self.kind} residual {self.residual:.2g}"
        if self.kind in ("sdp", "spectral"):
            near = f"relative gap {self.relative_gap:.2g}{self._sure()}"
            return f"{near} to a {self.kind} bound that may be loose"
        return f"relative duality gap {self.relative_gap:.2g}"

    def _sure(self) -> str:
        """The confidence in words; nothing where there is no doubt."""
        return f" (with confidence {100.0 * self.confidence:g} %)" if self.confidence < 1.0 else ""

    def _measured(self) -> str:
        return f"gap {self.gap:.2g}" if self.residual is None else f"residual {self.residual:.2g}"


def summed_history(histories: list[tuple[Certificate, ...]]) -> list[Certificate]:
    """The certificates of a sum of independent problems, step by step; a problem that has ended
    keeps its last."""
    length = max(map(len, histories))
    padded = [history + history[-1:] * (length - len(history)) for history in histories]
    return [reduce(Certificate.__add__, step) for step in zip(*padded, strict=True)]


_CLOSES = {"eigen": "eigenpairs", "stationary": "a stationary point, perhaps not the best,"}


def _near(error: float) -> str:
    """The error in two digits, where float64 can tell it from none."""
    return f"{error:.2g}" if error > 1e-15 else "rounding"
