"""A quadratic seen from above, the path of gradient descent, and its error by eigenvector."""

from __future__ import annotations

from typing import Any, Protocol

import altair as alt
import numpy as np

from fenchel.score.curves.score_counts import Floats
from fenchel.show.encoding import decades, records, rounded, significant, table
from fenchel.show.formatting import number
from fenchel.show.layout import Width, across, framed
from fenchel.show.theme import BLUE, CATEGORIES, GREEN, ORANGE
from fenchel.show.thinning import thin

LEVELS = 7
CIRCLE = 49  # vertices of an ellipse
STEPS = 200  # of a path that are drawn
DIRECTIONS = 6
DOTS = 60  # measured errors of a direction
LEAST = 1e-16  # of the first error: below it there is only rounding


class Profile(Protocol):
    """What gradient descent must do on a quadratic, as `fenchel.convergence_profile` says it."""

    @property
    def eigenvalues(self) -> Floats: ...
    @property
    def eigenvectors(self) -> Floats: ...
    @property
    def factors(self) -> Floats: ...
    @property
    def rate(self) -> float: ...
    def error(self, start: Floats, steps: int) -> Floats: ...


def level_lines(
    H: Any,
    *,
    minimiser: Any = None,
    path: Any = None,
    title: str | None = None,
    width: Width = 420,
    height: int = 420,
) -> alt.LayerChart:
    """Level lines of ½(w − w*)'H(w − w*) in the plane, its eigenbasis, and a path of descent.

    The axes of an ellipse are the eigenvectors, their lengths 1/√λ. Both sides of the picture have
    one scale, so that right angles stay right where the width is given in pixels.

    Parameters
    ----------
    H : array of shape (2, 2)
        Positive definite.
    minimiser : array of shape (2,), optional
        w*; by default 0.
    path : array of shape (steps + 1, 2), optional
        The points walked through, such as the path of `GradientDescent`.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.show import level_lines
    >>> level_lines(np.diag([1.0, 10.0]), path=[[3.0, 1.0], [2.7, 0.0]]).to_dict()["title"]["text"]
    'Level lines of a quadratic, condition number 10'
    """
    H = np.asarray(H, dtype=np.float64)
    if H.shape != (2, 2) or not np.allclose(H, H.T):
        raise ValueError(f"H must be a symmetric 2 × 2 matrix, got shape {H.shape}")
    values, vectors = np.linalg.eigh(H)
    if not values[0] > 0.0:
        raise ValueError(f"H must be positive definite, its least eigenvalue is {values[0]:.3g}")
    centre = np.zeros(2) if minimiser is None else np.asarray(minimiser, np.float64).reshape(2)
    walked = None
    if path is not None:
        walked = np.asarray(path, dtype=np.float64)
        if walked.ndim != 2 or walked.shape[1] != 2 or not np.isfinite(walked).all():
            raise ValueError(f"path must be finite, of shape (steps + 1, 2), got {walked.shape}")
        walked = walked[: STEPS + 1]
    away = np.zeros((1, 2)) if walked is None else walked - centre
    top = 0.5 * float(np.einsum("ij,jk,ik->i", away, H, away).max()) or 1.0
    ellipse = np.sqrt(2.0 * top / values)  # half axes of the outermost level
    # The frame holds the outermost ellipse and the path, with one scale on both sides.
    reach = np.sqrt((vectors**2) @ ellipse**2)
    if walked is not None:
        reach = np.maximum(reach, np.abs(away).max(axis=0))
    size = np.array([across(width), float(height)])
    scale = float((2.2 * reach / size).max())
    low, high = centre - 0.5 * scale * size, centre + 0.5 * scale * size
    span = float(scale * size.max())
    sides: list[dict[str, Any]] = [
        {
            "title": f"coordinate {k + 1}",
            "scale": alt.Scale(domain=rounded([low[k], high[k]], span).tolist(), nice=False),
            "axis": alt.Axis(grid=False, tickCount=5),
        }
        for k in (0, 1)
    ]
    x, y = alt.X("x:Q", **sides[0]), alt.Y("y:Q", **sides[1])
    angle = np.linspace(0.0, 2.0 * np.pi, CIRCLE)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    parts = [centre + (circle * ellipse * (k / LEVELS)) @ vectors.T for k in range(1, LEVELS + 1)]
    rings = np.concatenate(parts)
    data = table(
        k=np.repeat(np.arange(LEVELS), CIRCLE),
        i=np.tile(np.arange(CIRCLE), LEVELS),
        x=rounded(rings[:, 0], span),
        y=rounded(rings[:, 1], span),
    )
    layers: list[Any] = [
        alt.Chart(data)
        .mark_line(color=BLUE, strokeWidth=1.1, opacity=0.6, clip=True)
        .encode(x=x, y=y, detail="k:N", order="i:Q"),
        *_basis(centre, vectors, ellipse, values, span, x, y),
    ]
    notes = ["Green: eigenvectors, as long as the half axes of the outermost line."]
    if walked is not None:
        layers += _walk(walked, span, x, y)
        notes.append("Orange: the path, from its start.")
    ratio = number(values[1] / values[0])
    return framed(
        layers,
        title=title or f"Level lines of a quadratic, condition number {ratio}",
        notes=notes,
        width=width,
        height=height,
    )


def _basis(
    centre: Floats, vectors: Floats, ellipse: Floats, values: Floats, span: float, x: Any, y: Any
) -> list[Any]:
    tips = centre + (vectors * ellipse).T
    names = tips + 0.04 * span * vectors.T
    data = records(
        x=rounded(np.full(2, centre[0]), span),
        y=rounded(np.full(2, centre[1]), span),
        u=rounded(tips[:, 0], span),
        v=rounded(tips[:, 1], span),
        p=rounded(names[:, 0], span),
        q=rounded(names[:, 1], span),
        s=[f"λ = {number(value)}" for value in values],
    )
    base = alt.Chart(data)
    return [
        base.mark_rule(color=GREEN, strokeWidth=2.0).encode(x=x, y=y, x2="u:Q", y2="v:Q"),
        base.mark_point(color=GREEN, filled=True, size=40, opacity=1.0).encode(
            x=_on(x, "u"), y=_on(y, "v")
        ),
        base.mark_text(color=GREEN, fontWeight=600, fontSize=12).encode(
            x=_on(x, "p"), y=_on(y, "q"), text="s:N"
        ),
    ]


def _on(axis: Any, field: str) -> Any:
    """The same axis for another field."""
    other = axis.copy(deep=False)
    other.shorthand = f"{field}:Q"
    return other


def _walk(walked: Floats, span: float, x: Any, y: Any) -> list[Any]:
    data = table(
        t=np.arange(len(walked)), x=rounded(walked[:, 0], span), y=rounded(walked[:, 1], span)
    )
    base = alt.Chart(data).encode(x=x, y=y)
    tooltip = [
        alt.Tooltip("t:Q", title="step"),
        alt.Tooltip("x:Q", title="coordinate 1", format=".4~g"),
        alt.Tooltip("y:Q", title="coordinate 2", format=".4~g"),
    ]
    return [
        base.mark_line(color=ORANGE, strokeWidth=1.8, clip=True).encode(order="t:Q"),
        base.mark_point(color=ORANGE, filled=True, size=26, opacity=1.0, clip=True).encode(
            tooltip=tooltip
        ),
        base.transform_filter("datum.t == 0").mark_point(
            color=ORANGE, filled=True, size=110, opacity=1.0
        ),
    ]


def eigen_errors(
    profile: Profile,
    path: Any,
    *,
    minimiser: Any = None,
    title: str | None = None,
    width: Width = 460,
    height: int = 300,
) -> alt.LayerChart:
    """The error of gradient descent along each eigenvector: measured, and |1 − ηλ|ᵗ |q(0)|.

    Parameters
    ----------
    profile : ConvergenceProfile
        Of `fenchel.convergence_profile(H, step)`.
    path : array of shape (steps + 1, d)
        The points walked through.
    minimiser : array of shape (d,), optional
        By default 0.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import convergence_profile
    >>> from fenchel.show import eigen_errors
    >>> H = np.diag([1.0, 4.0])
    >>> path = [np.linalg.matrix_power(np.eye(2) - 0.4 * H, t) @ [1.0, 1.0] for t in range(20)]
    >>> eigen_errors(convergence_profile(H, 0.4), path).to_dict()["title"]["text"]
    'The slowest direction keeps 60 % of its error each step'
    """
    walked = np.asarray(path, dtype=np.float64)
    d = len(profile.eigenvalues)
    if walked.ndim != 2 or walked.shape[1] != d or not len(walked):
        raise ValueError(f"path must have shape (steps + 1, {d}), got {walked.shape}")
    away = walked if minimiser is None else walked - np.asarray(minimiser, dtype=np.float64)
    steps = len(away) - 1
    measured = np.abs(away @ profile.eigenvectors)
    predicted = np.abs(profile.error(away[0], steps))
    kept = np.unique(np.linspace(0, d - 1, min(d, DIRECTIONS)).round().astype(int))
    floor = LEAST * max(float(predicted[0].max()), 1e-300)
    names = [f"λ = {number(value)}" for value in profile.eigenvalues[kept]]
    t = np.arange(steps + 1.0)
    lines: list[tuple[int, float, float]] = []
    dots: list[tuple[int, float, float]] = []
    some = np.unique(np.linspace(0, steps, min(steps + 1, DOTS)).round().astype(int))
    for k, direction in enumerate(kept.tolist()):
        q = predicted[:, direction]
        seen = q > floor
        if seen.any():
            keep = np.flatnonzero(seen)
            keep = keep[thin(t[keep], np.log10(q[keep]), 60)]
            lines += [(k, float(t[i]), float(q[i])) for i in keep.tolist()]
        q = measured[some, direction]
        dots += [(k, float(t[i]), float(v)) for i, v in zip(some, q, strict=True) if v > floor]
    x = alt.X(
        "x:Q", title="step", scale=alt.Scale(nice=False), axis=alt.Axis(grid=False, tickMinStep=1)
    )
    y = alt.Y(
        "y:Q",
        title="error along the eigenvector",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(format=".0e", values=decades([q for _, _, q in lines + dots])),
    )
    color = alt.Color(
        "k:N",
        title="eigenvector",
        scale=alt.Scale(domain=list(range(len(names))), range=list(CATEGORIES[: len(names)])),
        legend=None,
    )
    layers = [
        _errors(lines).mark_line(strokeWidth=1.8, opacity=0.75).encode(x=x, y=y, color=color),
        _errors(dots)
        .mark_point(filled=True, size=30, opacity=1.0)
        .encode(
            x=x,
            y=y,
            color=color,
            tooltip=[
                alt.Tooltip("x:Q", title="step"),
                alt.Tooltip("y:Q", title="measured error", format=".3e"),
            ],
        ),
        _names_at_ends(lines, names, x, y, color),
    ]
    said = f"The slowest direction keeps {number(100.0 * profile.rate)} % of its error each step"
    if profile.rate >= 1.0:
        said = f"No convergence: one error grows by {number(profile.rate)} each step"
    return framed(
        layers,
        title=title or said,
        notes=["Dots: measured. Lines: predicted from the eigenvalues λ of the Hessian."],
        width=width,
        height=height,
    )


def _errors(rows: list[tuple[int, float, float]]) -> Any:
    k, x, y = zip(*rows, strict=True) if rows else ((), (), ())
    return alt.Chart(table(k=list(k), x=list(x), y=significant(list(y), 4)))


def _names_at_ends(
    lines: list[tuple[int, float, float]], names: list[str], x: Any, y: Any, color: Any
) -> Any:
    last = {k: (a, b) for k, a, b in lines}
    ends = records(
        k=list(last),
        x=[a for a, _ in last.values()],
        y=significant([b for _, b in last.values()], 4),
        s=[names[k] for k in last],
    )
    text = alt.Chart(ends).mark_text(align="left", dx=7, fontWeight=600)
    return text.encode(x=x, y=y, color=color, text="s:N")
