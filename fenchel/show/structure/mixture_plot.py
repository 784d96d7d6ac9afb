"""A Gaussian mixture in the plane: ellipses of its components over the rows they share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import altair as alt
import numpy as np

from fenchel.score.curves.score_counts import Floats
from fenchel.show.density import MOST, cell_numbers, cell_of, colours, legend, side
from fenchel.show.encoding import rounded, table
from fenchel.show.formatting import distinct, percent, plain
from fenchel.show.layout import Width, framed

CELLS = 24  # along each side, in which rows are counted
CORNERS = 900  # of all ellipses together
ELLIPSES = 48  # that are drawn at most, those of the components of largest weights
LEVELS = 8
SURE = 0.9
CHUNK = 2**16
Shape = Literal["full", "tied", "diag", "spherical"]


def mixture_ellipses(
    points: Any,
    weights: Any,
    means: Any,
    covariances: Any,
    *,
    covariance_type: Shape = "full",
    responsibilities: Any = None,
    levels: Sequence[float] = (0.5, 0.95),
    labels: Sequence[Any] | None = None,
    names: Sequence[Any] = ("first column", "second column"),
    title: str | None = None,
    width: Width = 420,
    height: int = 380,
) -> alt.LayerChart:
    """Rows in two columns, in colours mixed by their responsibilities, and ellipses of components.

    Rows are counted in small squares; a circle has the colours of the components in the proportions
    in which its rows belong to them.

    Parameters
    ----------
    points : array of shape (n, 2)
    weights, means, covariances : arrays
        Of k components in these two columns, as `GaussianMixture` has them.
    covariance_type : "full", "tied", "diag" or "spherical"
        The shape of covariances: (k, 2, 2), (2, 2), (k, 2) or (k,).
    responsibilities : array of shape (n, k), optional
        As `predict_proba` gives them; by default those of the mixture in these two columns.
    levels : sequence of numbers between 0 and 1
        The share of its component that lies inside each ellipse.
    labels : sequence of k names, optional
    names : (across, up)
        What the columns are called.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.show import mixture_ellipses
    >>> rows = [[0.0, 0.1], [0.2, 0.0], [5.0, 5.1]]
    >>> chart = mixture_ellipses(rows, [0.6, 0.4], [[0, 0], [5, 5]], [np.eye(2), np.eye(2)])
    >>> chart.to_dict()["title"]["text"]
    '100 % of the rows have a responsibility of 0.9 or more'
    """
    Z = np.asarray(points, np.float64)
    if Z.ndim != 2 or Z.shape[1] != 2 or not len(Z) or not np.isfinite(Z).all():
        raise ValueError("points must be finite and have shape (n, 2)")
    pi, mu, roots = _components(weights, means, covariances, covariance_type)
    k = len(pi)
    inside = np.asarray(levels, np.float64).ravel()
    if not 0 < inside.size <= LEVELS or not ((inside > 0.0) & (inside < 1.0)).all():
        raise ValueError(f"levels must be {LEVELS} numbers between 0 and 1 at most, got {levels}")
    shares = _shares(Z, pi, mu, roots) if responsibilities is None else responsibilities
    R = np.asarray(shares, np.float64)
    if R.shape != (len(Z), k) or not ((R >= 0.0) & (R <= 1.0 + 1e-9)).all():
        raise ValueError(f"responsibilities must be shares of shape {(len(Z), k)}, got {R.shape}")
    drawn = np.sort(np.argsort(-pi, kind="stable")[: max(ELLIPSES // len(inside), 1)])
    inks = colours(k)
    curves = _ellipses(mu[drawn], roots[drawn], inside)
    ends = _ends(Z, curves.reshape(-1, 2))
    sides = side("across", plain(names[0]), ends[0]), side("up", plain(names[1]), ends[1])
    owners = np.minimum(np.repeat(drawn, len(inside)), MOST)
    layers: list[Any] = [
        _rows(Z, R, ends, inks, sides),
        _lines(curves, owners, inks[: MOST + 1], ends, sides),
    ]
    called = distinct(range(1, k + 1) if labels is None else labels)
    if len(called) != k:
        raise ValueError(f"{k} components need {k} labels, got {len(called)}")
    said = [f"{name} ({percent(w)})" for name, w in zip(called[:MOST], pi[:MOST], strict=False)]
    if k > MOST:
        said.append(f"others ({percent(float(pi[MOST:].sum()))})")
    if k > 1:
        layers.append(legend(distinct(said), inks[: len(said)], "component"))
    sure = percent(float((R.max(axis=1) >= SURE).mean()))
    told = f"{sure} of the rows have a responsibility of {SURE:g} or more"
    told = told if k > 1 else "One Gaussian component"
    held = " and ".join(f"{100.0 * level:g} %" for level in np.sort(inside))
    notes = [f"Ellipses hold {held} of their component."]
    if k > 1:
        notes.append("Colours of rows are mixed by their responsibilities.")
    if k > len(drawn):
        notes.append(f"The {len(drawn)} components of the largest weights have ellipses.")
    return framed(
        layers,
        title=title or told,
        notes=notes,
        width=width,
        height=height,
    )


def _components(
    weights: Any, means: Any, covariances: Any, kind: Shape
) -> tuple[Floats, Floats, Floats]:
    """Weights, means and lower triangular roots of the covariances (k, 2, 2)."""
    pi, mu = np.asarray(weights, np.float64), np.asarray(means, np.float64)
    S = np.asarray(covariances, np.float64)
    k = len(pi)
    shapes = {"full": (k, 2, 2), "tied": (2, 2), "diag": (k, 2), "spherical": (k,)}
    if kind not in shapes:
        raise ValueError(f"covariance_type must be one of {', '.join(shapes)}, got {kind!r}")
    if pi.ndim != 1 or not k or mu.shape != (k, 2) or S.shape != shapes[kind]:
        raise ValueError(
            f"{k} components in two columns need means of shape {(k, 2)} and {kind} covariances of "
            f"shape {shapes[kind]}, got {mu.shape} and {S.shape}"
        )
    if not all(np.isfinite(one).all() for one in (pi, mu, S)) or not (pi >= 0.0).all():
        raise ValueError("weights, means and covariances must be finite, and no weight negative")
    if kind == "tied":
        S = np.broadcast_to(S, (k, 2, 2))
    elif kind != "full":
        S = S.reshape(k, -1, 1) * np.eye(2)
    try:
        roots: Any = np.linalg.cholesky(S)
    except np.linalg.LinAlgError:
        raise ValueError("a covariance is not positive definite: it has no ellipse") from None
    return pi / max(float(pi.sum()), 1e-300), mu, roots


def _shares(Z: Floats, pi: Floats, mu: Floats, roots: Floats) -> Floats:
    """The responsibilities of the components for the rows, in these two columns."""
    found = np.empty((len(Z), len(pi)))
    logs = np.log(np.maximum(pi, 1e-300)) - np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
    for lo in range(0, len(Z), CHUNK):
        part = Z[lo : lo + CHUNK, None, :] - mu
        a = part[..., 0] / roots[:, 0, 0]
        b = (part[..., 1] - roots[:, 1, 0] * a) / roots[:, 1, 1]
        log = logs - 0.5 * (a * a + b * b)
        share = np.exp(log - log.max(axis=1, keepdims=True))
        found[lo : lo + CHUNK] = share / share.sum(axis=1, keepdims=True)
    return found


def _ellipses(means: Floats, roots: Floats, inside: Floats) -> Floats:
    """Closed curves (m, corners, 2) around these shares of each component, whose ‖x‖² in units of
    its root is exponential with mean 2."""
    corners = int(np.clip(CORNERS // (len(means) * len(inside)), 16, 40))
    turn = np.linspace(0.0, 2.0 * math.pi, corners + 1)
    circle = np.column_stack([np.cos(turn), np.sin(turn)])
    reach = np.sqrt(-2.0 * np.log1p(-inside))
    found = means[:, None, None, :] + reach[:, None, None] * (circle @ roots.mT)[:, None]
    return np.asarray(found.reshape(-1, corners + 1, 2))


def _ends(*parts: Floats) -> tuple[tuple[float, float], tuple[float, float]]:
    low = np.min([part.min(axis=0) for part in parts], axis=0)
    high = np.max([part.max(axis=0) for part in parts], axis=0)
    pad = np.where(high > low, 0.02 * (high - low), np.maximum(np.abs(low), 1.0) * 0.5)
    (x0, y0), (x1, y1) = (low - pad).tolist(), (high + pad).tolist()
    return (x0, x1), (y0, y1)


def _rows(Z: Floats, R: Floats, ends: Any, inks: list[str], sides: Any) -> Any:
    """Circles of rows, in the mean of their components' colours."""
    used, index, counts = np.unique(
        cell_numbers(Z, ends, CELLS), return_inverse=True, return_counts=True
    )
    shares = np.column_stack([np.bincount(index, r, len(used)) for r in R.T]) / counts[:, None]
    mixed, code = np.unique(_mixtures(shares, inks), return_inverse=True)
    data = table(i=used // CELLS, j=used % CELLS, n=counts, c=code)
    return (
        alt.Chart(data)
        .transform_calculate(
            x=cell_of("(datum.i + 0.5)", ends[0], CELLS),
            y=cell_of("(datum.j + 0.5)", ends[1], CELLS),
        )
        .mark_point(filled=True, opacity=0.8)
        .encode(
            x=alt.X("x:Q", **sides[0]),
            y=alt.Y("y:Q", **sides[1]),
            size=alt.Size(
                "n:Q",
                title="rows",
                scale=alt.Scale(domain=[0, int(counts.max())], range=[8, 190]),
                legend=None,
            ),
            fill=alt.Fill(
                "c:N",
                title="mixture",
                scale=alt.Scale(domain=list(range(len(mixed))), range=mixed.tolist()),
                legend=None,
            ),
            tooltip=[alt.Tooltip("n:Q", title="rows", format=",")],
        )
    )


def _mixtures(shares: Floats, inks: list[str]) -> Any:
    """Colours (m,) in the given proportions, mixed as light is; of each a few shades alone."""
    ink = np.array([[int(one[i : i + 2], 16) for i in (1, 3, 5)] for one in inks]) / 255.0
    light = shares @ np.where(ink <= 0.04045, ink / 12.92, ((ink + 0.055) / 1.055) ** 2.4)
    shown = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1.0 / 2.4) - 0.055)
    steps = np.clip(np.round(shown * 16.0) * 16.0, 0.0, 255.0).astype(int)
    return np.array([f"#{r:02x}{g:02x}{b:02x}" for r, g, b in steps])


def _lines(curves: Floats, owners: Any, inks: list[str], ends: Any, sides: Any) -> Any:
    m, corners, _ = curves.shape
    data = table(
        c=np.repeat(owners, corners),
        d=np.repeat(np.arange(m), corners),
        i=np.tile(np.arange(corners), m),
        x=rounded(curves[..., 0].ravel(), ends[0][1] - ends[0][0]),
        y=rounded(curves[..., 1].ravel(), ends[1][1] - ends[1][0]),
    )
    colour = alt.Stroke(
        "c:N",
        title="component",
        scale=alt.Scale(domain=list(range(len(inks))), range=inks),
        legend=None,
    )
    return (
        alt.Chart(data)
        .mark_line(strokeWidth=1.8)
        .encode(
            x=alt.X("x:Q", **sides[0]),
            y=alt.Y("y:Q", **sides[1]),
            stroke=colour,
            detail="d:N",
            order=alt.Order("i:Q"),
        )
    )
