"""Names on an axis: cut in the middle where they are long, upright where they have room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

FIRST, LAST = 9, 20  # letters that are kept of both ends
LONGEST = FIRST + 1 + LAST
# "purpose of the loan=business": the levels of one column differ at the end.
MIDDLE_CUT = (
    f"length(datum.label) > {LONGEST} ? slice(datum.label, 0, {FIRST}) + '…' + "
    f"slice(datum.label, -{LAST}) : datum.label"
)
LIMIT = 190  # pixels, room for LONGEST letters
_LETTER = 6.0  # pixels of a letter at the size of labels
_ACROSS = 230.0  # pixels of a figure on a narrow screen, less its other axis


def middle_cut(name: str) -> str:
    """What `MIDDLE_CUT` makes of a name, for words that are no labels of an axis.

    Examples
    --------
    >>> from fenchel.show.labels import middle_cut
    >>> middle_cut("purpose of the loan application=business")
    'purpose o…application=business'
    >>> middle_cut("age")
    'age'
    """
    return name if len(name) <= LONGEST else f"{name[:FIRST]}…{name[-LAST:]}"


def down(**rest: Any) -> dict[str, Any]:
    """What an axis of names down the side is given."""
    return {"title": None, "labelExpr": MIDDLE_CUT, "labelLimit": LIMIT, **rest}


def across(names: Sequence[str], steep: int = -40) -> dict[str, Any]:
    """What an axis of names along the bottom is given: upright where all of them have room."""
    need = _LETTER * len(names) * max((len(name) for name in names), default=0)
    return {"labelAngle": 0 if need <= _ACROSS else steep, "labelLimit": 120}
