"""Biplot: rows and columns of a table in one plane.

X - 1m' ≈ ZV': with the scores Z of the rows and the components V of the columns, the value of a row
in a column is the projection of its point on the arrow, times the arrow's length.

Reference: Gabriel, The biplot graphic display of matrices with application to principal component
analysis, Biometrika 58 (1971).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from fenchel.show.density import counted, reach, side
from fenchel.show.formatting import percent, plain
from fenchel.show.layout import Width, framed
from fenchel.show.maps.arrows import arrows, checked_columns, longest
from fenchel.show.maps.colouring import checked_points, colouring
from fenchel.show.maps.placing import Plane

CELLS = 30
# The longest arrow ends at this part of the way from (0, 0) to the outermost row in its direction.
LENGTH = 0.85


def biplot(
    points: Any,
    variables: Any,
    codes: Any = None,
    *,
    shares: Any = None,
    column_names: Sequence[Any] | None = None,
    labels: Sequence[Any] | None = None,
    names: Sequence[Any] = ("first axis", "second axis"),
    title: str | None = None,
    width: Width = 420,
    height: int = 380,
) -> alt.LayerChart:
    """Rows in the plane of two principal components, and the columns as arrows.

    Parameters
    ----------
    points : array of shape (n, 2)
        Scores of the rows, whose mean is (0, 0): `PCA.transform(X)`.
    variables : array of shape (d, 2)
        The columns: `PCA.components_.T`, so that a row's projection on an arrow is its value there;
        or `PCA.variables_`, so that cosines between arrows are correlations, nearly. One factor for
        all arrows fits them to the rows. Of more than 15 the longest are drawn.
    codes : array of shape (n,), optional
        Groups of the rows: numbers 0 … k-1, or any labels.
    shares : (across, up), optional
        Shares of the variance along the axes: `PCA.explained_variance_ratio_`.
    column_names : sequence of d names, optional
    labels : sequence of k names, optional
        Of the groups.
    names : (across, up)
        What the axes are called.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fenchel import PCA
    >>> from fenchel.show import biplot
    >>> data = load_iris()
    >>> model = PCA(2).fit(data.data)
    >>> chart = biplot(
    ...     model.transform(data.data),
    ...     model.components_.T,
    ...     data.target,
    ...     shares=model.explained_variance_ratio_,
    ...     column_names=data.feature_names,
    ... )
    >>> chart.to_dict()["title"]["text"]
    'The plane holds 97.8 % of the variance'
    """
    Z = checked_points(points, (2,))
    by = colouring(len(Z), codes, None, labels, "")
    V, called = checked_columns(variables, column_names, "variables")
    drawn = longest(V)
    drawn = drawn[np.hypot(*V[drawn].T) > 0.0]
    tips = _fitted(Z, V[drawn])
    everything = np.concatenate([Z, tips, np.zeros((1, 2))])
    ends = reach(everything[:, 0]), reach(everything[:, 1])
    called_axes = [plain(name) for name in names]
    said = f"{len(Z):,} rows and {len(V):,} columns in {called_axes[0]} and {called_axes[1]}"
    if shares is not None:
        held = [float(share) for share in np.asarray(shares, dtype=np.float64).ravel()[:2]]
        if len(held) < 2 or not 0.0 <= sum(held) <= 1.0 + 1e-9:
            raise ValueError(f"shares must be two shares of the variance, got {shares}")
        called_axes = [
            f"{name} ({percent(share)})" for name, share in zip(called_axes, held, strict=True)
        ]
        said = f"The plane holds {percent(min(sum(held), 1.0))} of the variance"
    sides = side("across", called_axes[0], ends[0]), side("up", called_axes[1], ends[1])
    names_drawn = [called[k] for k in drawn]
    notes = ["Circles: rows, counted in cells. Arrows: columns, scaled by one factor."]
    if len(drawn) < len(V):
        notes.append(f"The {len(drawn)} longest of {len(V):,} columns.")
    return framed(
        [
            *counted(Z, by.codes, ends, by.called, sides, what="group", cells=CELLS),
            *arrows(tips, names_drawn, Plane.of(ends, sides, width, height), Z),
        ],
        title=title or said,
        notes=notes,
        width=width,
        height=height,
    )


def _fitted(Z: Any, V: Any) -> Any:
    """Arrows as long as the rows' reach: the tips (k, 2), all by the same factor."""
    reaches = np.abs(Z).max(axis=0)
    parts = np.abs(V) / np.where(reaches > 0.0, reaches, np.inf)
    most = float(parts.max()) if parts.size else 0.0
    if most <= 0.0:  # all rows in one place
        most = float(np.abs(V).max()) if V.size else 1.0
    return V * (LENGTH / most)
