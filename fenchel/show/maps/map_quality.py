"""Quality of a map against its number of dimensions: an elbow says how many there are."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from fenchel.score.curves.score_counts import Floats
from fenchel.show.density import legend
from fenchel.show.encoding import records, rounded, table
from fenchel.show.formatting import number
from fenchel.show.layout import Width, framed
from fenchel.show.theme import BLUE, GREEN, ORANGE


def map_quality(
    dimensions: Any,
    *,
    trustworthiness: Any = None,
    continuity: Any = None,
    residual_variance: Any = None,
    chosen: int | None = None,
    title: str | None = None,
    width: Width = 420,
    height: int = 280,
) -> alt.LayerChart:
    """Trustworthiness, continuity and residual variance of maps into 1, 2, … dimensions.

    Parameters
    ----------
    dimensions : array of shape (m,)
        Rising numbers of dimensions.
    trustworthiness, continuity, residual_variance : array of shape (m,), optional
        Of each map, from 0 to 1, as `fenchel.score` computes them; one of them at least.
    chosen : int, optional
        The number that was taken.

    References
    ----------
    Tenenbaum, de Silva and Langford, A global geometric framework for nonlinear dimensionality
    reduction, Science 290 (2000), figure 2. Venna and Kaski, Neighborhood preservation in nonlinear
    projection methods, ICANN 2001.

    Examples
    --------
    >>> from fenchel.show import map_quality
    >>> chart = map_quality([1, 2, 3], residual_variance=[0.3, 0.02, 0.01], chosen=2)
    >>> chart.to_dict()["title"]["text"]
    '2 dimensions: residual variance 0.02'
    """
    k = np.asarray(dimensions)
    if k.ndim != 1 or not len(k) or k.dtype.kind not in "iu" or (np.diff(k) <= 0).any():
        raise ValueError("dimensions must be whole numbers that rise")
    given = (
        ("trustworthiness", trustworthiness, BLUE),
        ("continuity", continuity, GREEN),
        ("residual variance", residual_variance, ORANGE),
    )
    found = [(name, _shares(values, k, name), ink) for name, values, ink in given]
    drawn = [(name, values, ink) for name, values, ink in found if values is not None]
    if not drawn:
        raise ValueError("give trustworthiness, continuity or residual_variance")
    if chosen is not None and chosen not in k:
        raise ValueError(f"chosen must be one of dimensions, got {chosen}")
    x: dict[str, Any] = {
        "title": "dimensions",
        "scale": alt.Scale(domain=[float(k[0]) - 0.2, float(k[-1]) + 0.2], nice=False),
        "axis": alt.Axis(tickMinStep=1, format="d", grid=False, title="dimensions"),
    }
    y: dict[str, Any] = {
        "title": "quality",
        "scale": alt.Scale(domain=[0.0, 1.02], nice=False),
        "axis": alt.Axis(tickCount=5, format=".1f", title=None),
    }
    layers: list[Any] = []
    for name, values, ink in drawn:
        base = alt.Chart(table(k=k, v=rounded(values, 1.0))).encode(
            x=alt.X("k:Q", **x),
            y=alt.Y("v:Q", **y),
            tooltip=[
                alt.Tooltip("k:Q", title="dimensions"),
                alt.Tooltip("v:Q", title=name, format=".3f"),
            ],
        )
        layers.append(base.mark_line(color=ink, strokeWidth=1.8))
        layers.append(base.mark_point(color=ink, filled=True, size=38, opacity=1.0))
    if chosen is not None:
        rule = alt.Chart(records(k=[int(chosen)])).mark_rule(style="ink", strokeDash=[4, 3])
        layers.append(rule.encode(x=alt.X("k:Q", **x)))
    layers.append(legend([name for name, *_ in drawn], [ink for *_, ink in drawn], "measure"))
    shown = int(k[-1] if chosen is None else chosen)
    at = int(np.flatnonzero(k == shown)[0])
    said = ", ".join(f"{name} {number(values[at])}" for name, values, _ in drawn)
    good = [name for name, *_ in drawn if name != "residual variance"]
    return framed(
        layers,
        title=title or f"{shown} dimension{'s' * (shown != 1)}: {said}",
        notes=[
            "1 is best." if good else "",
            "Of residual variance 0 is best." if len(good) < len(drawn) else "",
        ],
        width=width,
        height=height,
    )


def _shares(values: Any, k: Any, name: str) -> Floats | None:
    if values is None:
        return None
    found = np.asarray(values, dtype=np.float64)
    # Rounding alone takes a share out of its range.
    if found.shape != k.shape or not ((found >= -1e-9) & (found <= 1.0 + 1e-9)).all():
        raise ValueError(f"{name} must be a share between 0 and 1 for each of dimensions")
    return found
