"""What each threshold does, in a table small enough to travel with a chart and move its marks.

Row i of the table is what score ≥ t_i flags, t falling, and so does every threshold from t_i up to
h_i. The current row is the last with h_i ≥ threshold: all rows of the curve that the threshold
flags, counted exactly for the thresholds of the table and for those of six digits, as long as the
table holds every score. Of many scores the table holds some, and those between are not told apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from fenchel.data.display.rounding import DOWN, rounded
from fenchel.score.curves.curve import Curve
from fenchel.score.curves.score_counts import Floats
from fenchel.score.decision.threshold import Threshold
from fenchel.show.encoding import table
from fenchel.show.thinning import MOST

NAME = "threshold"
DIGITS = 17
TYPED = 6  # significant digits of a threshold that a reader gives


@dataclass(frozen=True, slots=True, eq=False)
class OperatingPoints:
    """How many of both classes score ≥ threshold flags, thresholds falling.

    Attributes
    ----------
    threshold, tp, fp : array of shape (m,)
        Each threshold is a number with few digits between the scores that it divides.
    up_to : array of shape (m,)
        The largest threshold of six digits, or of those asked for, that flags the same rows.
    n_positive, n_negative : float
    chosen : int or None
        The row of the threshold that was asked for, of several the first.
    """

    threshold: Floats
    up_to: Floats
    tp: Floats
    fp: Floats
    n_positive: float
    n_negative: float
    chosen: int | None

    @property
    def start(self) -> float:
        """The threshold that was asked for, in the digits of the table."""
        return float(self.threshold[self.chosen or 0])

    def data(self) -> alt.InlineData:
        """Columns t, h, p and f: threshold, up to where it flags the same, flagged positives and
        negatives."""
        return table(t=self.threshold, h=self.up_to, p=_short(self.tp), f=_short(self.fp))

    def current(self, layer: Any) -> Any:
        """A layer of this table that keeps the row of the current threshold, and no other."""
        now = f"min({NAME}, {float(self.up_to[0])!r})"
        # u is that of the next lower threshold.
        return layer.transform_window(u="lead(h)").transform_filter(
            f"datum.h >= {now} && (!isValid(datum.u) || datum.u < {now})"
        )

    def rates(self, layer: Any) -> Any:
        """A layer of this table with columns a, b, g, c and l: false and true positive rate, share
        of all rows flagged, precision, lift; q is the precision in words.

        Where nothing is flagged there is no precision; c is then 1, where its curve begins.
        """
        P, N = float(self.n_positive), float(self.n_negative)
        return layer.transform_calculate(
            a=f"datum.f / {N!r}",
            b=f"datum.p / {P!r}",
            g=f"(datum.f + datum.p) / {P + N!r}",
            c="datum.f + datum.p > 0 ? datum.p / (datum.f + datum.p) : 1",
            q="datum.f + datum.p > 0 ? format(datum.p / (datum.f + datum.p), '.1%') : '–'",
            l=f"datum.f + datum.p > 0 ? datum.p / (datum.f + datum.p) * {(P + N) / P!r} : null",
        )


def operating_points(curve: Curve, threshold: Any = None, most: int = MOST) -> OperatingPoints:
    """At most so many thresholds, evenly along both rates, each with exact counts.

    Parameters
    ----------
    curve : Curve
    threshold : float, Threshold or altair.Parameter, or a sequence of them, optional
        What must be among them. A `Threshold` flags score > t, and is written as the number above t
        that flags the same rows.
    most : int

    Examples
    --------
    >>> from fenchel import Curve
    >>> from fenchel.show import operating_points
    >>> points = operating_points(Curve.of([0, 0, 1, 1], [0.1234, 0.4321, 0.351, 0.8]), 0.5)
    >>> points.threshold.tolist(), points.tp.tolist(), points.start
    ([0.81, 0.5, 0.4, 0.3, 0.12], [0.0, 1.0, 1.0, 2.0, 2.0], 0.5)
    """
    P, N = curve.both()
    several = isinstance(threshold, Sequence)
    given = threshold if several else [threshold] * (threshold is not None)
    asked = [_asked(one) for one in given]
    floor, top = _divides(curve)
    at = [_vertex(curve, *one) for one in asked]
    keep = np.flatnonzero(np.isfinite(top) & (floor < top))
    if len(keep) > most:
        along = curve.tpr[keep] + curve.fpr[keep]
        steps = np.searchsorted(along, np.linspace(along[0], along[-1], most - 2))
        keep = keep[np.unique(np.append(steps.clip(max=len(keep) - 1), [0, len(keep) - 1]))]
        keep = np.unique(np.append(keep, at).astype(np.intp))
    t = _shortest(floor[keep], top[keep])
    rows = [min(int(np.searchsorted(keep, one)), len(keep) - 1) for one in at]
    exact = [
        (row, value)
        for row, vertex, (value, strict) in zip(rows, at, asked, strict=True)
        if not strict and keep[row] == vertex and floor[vertex] < value <= top[vertex]
    ]
    for row, value in exact[::-1]:
        t[row] = value
    up_to = np.maximum(t, _typed(top[keep]))
    for row, value in exact:
        up_to[row] = max(up_to[row], value)
    tp, fp = np.append(0.0, curve.tp)[keep], np.append(0.0, curve.fp)[keep]
    return OperatingPoints(t, up_to, tp, fp, P, N, rows[0] if rows else None)


def threshold_slider(curve: Curve, start: float) -> alt.Parameter:
    """A slider under a chart, for notebooks: pass it as `threshold` to one figure or to several."""
    points = operating_points(curve, start)
    low, high = float(points.threshold[-1]), float(points.threshold[0])
    step = float(f"{(high - low) / 200.0:.1g}")
    bind = alt.binding_range(min=low, max=high, step=step, name="threshold ")
    return alt.param(name=NAME, value=points.start, bind=bind)


def signal(threshold: Any, points: OperatingPoints) -> alt.Parameter:
    """The parameter called threshold: the one given, or one that starts at the number given."""
    if isinstance(threshold, alt.Parameter):
        return threshold
    return alt.param(name=NAME, value=points.start)


def _asked(threshold: Any) -> tuple[float, bool]:
    """(value, whether a score equal to it is not flagged)."""
    if isinstance(threshold, alt.Parameter):
        if threshold.name != NAME:
            raise ValueError(
                f"the parameter must be called {NAME!r}, not {threshold.name!r}: make it with "
                "threshold_slider"
            )
        given: Any = threshold.param
        threshold = given.value
    value = float(threshold)
    if math.isnan(value):
        raise ValueError("threshold is NaN: it must be a number")
    return value, isinstance(threshold, Threshold)


def _divides(curve: Curve) -> tuple[Floats, Floats]:
    """For each vertex the numbers (floor, top] that flag its rows and no others.

    Where they have no end, one a little beyond the finite scores is set.
    """
    top, floor = np.append(np.inf, curve.low), np.append(curve.high, -np.inf)
    finite = np.concatenate([curve.low, curve.high])
    finite = finite[np.isfinite(finite)]
    margin = 0.02 * float(np.ptp(finite)) if finite.size else 0.0
    margin = margin or 0.02 * float(np.abs(finite).max(initial=0.0)) or 1.0
    open_top = top == np.inf
    top[open_top] = np.where(np.isfinite(floor[open_top]), floor[open_top] + margin, 0.0)
    top[floor == np.inf] = np.nan  # infinite scores are flagged by every number
    open_floor = floor == -np.inf
    floor[open_floor] = top[open_floor] - margin
    return floor, top


def _vertex(curve: Curve, value: float, strict: bool) -> int:
    """The vertex of all groups that lie wholly at or above a value, or above it."""
    side: Any = "left" if strict else "right"
    return int(np.searchsorted(-curve.low, -value, side=side))


def _shortest(low: Floats, high: Floats) -> Floats:
    """For each pair the number in (low, high] with the fewest decimal places."""
    found = high.copy()
    size = float(max(np.abs(low).max(), np.abs(high).max()))
    if not 0.0 < size < 1e290:
        return found
    open_: NDArray[np.bool_] = np.ones(len(high), dtype=bool)
    first = -math.floor(math.log10(size)) - 1
    for places in range(first, first + DIGITS + 1):
        unit = 10.0 ** abs(places)
        cut = np.floor(high * unit) / unit if places >= 0 else np.floor(high / unit) * unit
        fits = open_ & (cut > low) & (cut <= high)
        found[fits] = cut[fits]
        open_ &= ~fits
    return found + 0.0


def _typed(values: Floats) -> Floats:
    """The values rounded down to the digits that a reader gives."""
    return np.array([float(rounded(value, DOWN, TYPED)) for value in values.tolist()])


def _short(weights: Floats) -> Floats:
    """Counts as they are, other weights with six digits."""
    if (weights == np.floor(weights)).all():
        return weights
    return np.array([float(f"{w:.6g}") for w in weights])
