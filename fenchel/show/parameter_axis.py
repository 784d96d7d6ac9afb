"""The axis of a parameter: one for the validation curve and for the regularisation path.

Both are read one above the other, so that the same parameter has the same scale, the same direction
and the same label in both. Of a penalty the weaker end is at the right, where models are complex.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple

import altair as alt
import numpy as np

from fenchel.show.encoding import decades
from fenchel.show.formatting import distinct, number, plain

# Parameters that weigh a penalty, by the last part of their name: whether it grows with them.
PENALTIES = {"C": False, "alpha": True, "penalty": True, "lam": True, "reg_lambda": True}
HINT = "weaker penalty to the right"
# Pixels from the edge to the plot: figures that stand one above the other have it in common.
EXTENT = 44


class ParameterAxis(NamedTuple):
    """Where the values of a parameter stand.

    places: numbers, or names side by side. x: the encoding of the field x. names: of values that
    are no numbers. weakest: the place among the values where the penalty is weakest.
    """

    places: list[Any]
    x: alt.X
    names: list[str] | None
    weakest: int
    is_log: bool = False


def parameter_axis(name: Any, values: Sequence[Any], *, is_penalty: bool = False) -> ParameterAxis:
    """The axis of these values: logarithmic if they span decades; names stand side by side.

    `is_penalty` says that a parameter of any other name grows with the penalty.
    """
    called = plain(name)
    listed = list(values)
    if not all(map(is_number, listed)) or len(set(listed)) < 2:
        texts = distinct(said(v) for v in listed)
        scale = alt.Scale(domain=texts, type="point", padding=0.5)
        look = alt.Axis(title=called, grid=False, labelAngle=0, labelLimit=90)
        x = alt.X("x:N", title="setting", scale=scale, axis=look)
        return ParameterAxis(texts, x, texts, len(listed) - 1)
    at = np.array([float(v) for v in listed])
    grows = PENALTIES.get(str(name).rpartition("__")[2], True if is_penalty else None)
    is_log = bool((at > 0.0).all() and at.max() > 20.0 * at.min())
    scale = alt.Scale(
        type="log" if is_log else "linear",
        domain=[shown(end) for end in (float(at.min()), float(at.max()))],
        nice=False,
        reverse=grows is True,
    )
    ticks: Any = {"values": decades(at)} if is_log else {"tickCount": 6}
    label = called if grows is None else f"{called} ({HINT})"
    look = alt.Axis(title=label, grid=False, format="~g", **ticks)
    x = alt.X("x:Q", title="setting", scale=scale, axis=look)
    weakest = int(at.argmin() if grows else at.argmax())
    return ParameterAxis(at.tolist(), x, None, weakest, is_log)


def shown(place: Any) -> Any:
    """A number in as many digits as an axis can tell."""
    return float(f"{place:.6g}") if isinstance(place, float) else place


def is_number(value: Any) -> bool:
    """Whether it is a number, and not a truth value."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def said(value: Any) -> str:
    """A value of a parameter as it is written in a title."""
    return number(value, 4) if is_number(value) else plain(value)
