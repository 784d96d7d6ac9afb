"""Where models change their mind, in the plane of two columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from fenchel.score.curves.score_counts import Floats
from fenchel.score.labels import column
from fenchel.show.arguments import groups_of
from fenchel.show.density import MOST, Ends, colours, counted, filled, reach, rectangles, side
from fenchel.show.encoding import records, rounded, table
from fenchel.show.formatting import distinct, percent, plain
from fenchel.show.layout import Width, framed
from fenchel.show.marching_squares import Rule, boundaries, changes, classes_at, grid
from fenchel.show.theme import CATEGORIES, GREY
from fenchel.show.thinning import thin

SHADES, DARKEST = 8, 0.36
PLACES = 60  # along each side, where no grid is given
RAGGED = 900  # changes of class from place to place: with more of them every second place is taken
VERTICES = 700  # of all lines of one rule
RULES = 4
DASHES = ([1, 0], [7, 4], [2, 3], [7, 3, 2, 3])


def decision_boundary(
    across: Any,
    up: Any,
    predicted: Any,
    points: Any,
    codes: Any,
    *,
    sure: Any = None,
    labels: Sequence[Any] | None = None,
    names: Sequence[Any] = ("first column", "second column"),
    title: str | None = None,
    width: Width = 420,
    height: int = 380,
) -> alt.LayerChart:
    """The class that a model predicts at each place of a plane, and the rows that lie there.

    Rows are counted in cells, class by class: no row is drawn by itself. The plane is that of two
    columns, or of two principal components: there a model of all columns is asked at
    `components.inverse_transform(places)`.

    Parameters
    ----------
    across, up : array of shape (g,) and (h,), or None
        The places of the grid, evenly apart; None: 60 over the range of the rows.
    predicted : array of shape (h, g), or function
        The predicted class at each place; of a function, which takes places (m, 2) and gives a
        class for each, the boundaries are drawn as lines too.
    points : array of shape (n, 2)
        The rows in the two columns; those outside the grid are left out.
    codes : array of shape (n,)
        Their true classes: codes 0 … K-1, or labels.
    sure : array of shape (h, g), or function of places, optional
        How sure the model is, from 0 to 1: the stronger its colour.
    labels : sequence of K names, optional
    names : (across, up)
        What the columns are called.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.show import decision_boundary
    >>> side = np.linspace(-1.0, 1.0, 5)
    >>> said = (side[:, None] + side > 0.0).astype(int)
    >>> chart = decision_boundary(side, side, said, [[0.5, 0.5], [-0.5, -0.4]], [1, 0])
    >>> chart.to_dict()["title"]["text"]
    'Decision boundary in first column and second column'

    The regions of iris on its first two principal components (figure 16.11 of the chapter):

    >>> from sklearn.datasets import load_iris
    >>> from fenchel import KNeighborsClassifier, PCA
    >>> X, y = load_iris(return_X_y=True)
    >>> Z = PCA(2).fit_transform(X)
    >>> model = KNeighborsClassifier(5).fit(Z, y)
    >>> chart = decision_boundary(None, None, model.predict, Z, y)
    >>> chart.to_dict()["title"]["text"]
    '2.0 % of the rows lie in a region of another class'

    A boundary that is no line, of a machine with a Gaussian kernel (figure 16.18):

    >>> from sklearn.datasets import make_moons
    >>> from fenchel import SVC
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> machine = SVC(gamma=1.0).fit(X, y)
    >>> chart = decision_boundary(None, None, machine.predict, X, y, names=("x", "y"))
    >>> chart.to_dict()["title"]["text"]
    '5.0 % of the rows lie in a region of another class'
    """
    rule: Rule | None = predicted if callable(predicted) else None
    rows, true = checked_rows(points, codes)
    x, y = grid_places(rows, across, up)
    said = np.asarray(predicted if rule is None else _asked(rule, x, y))
    if across is None and up is None and (said[:, 1:] != said[:, :-1]).sum() > RAGGED:
        x, y = x[::2], y[::2]
        said = said[::2, ::2]
    if said.shape != (len(y), len(x)):
        raise ValueError("predicted must have shape (up, across)")
    both, called = named_classes(np.concatenate([said.ravel(), true]), labels)
    said, group = both[: said.size].reshape(said.shape), both[said.size :]
    ends = outer_edges(x), outer_edges(y)
    sides = side("across", plain(names[0]), ends[0]), side("up", plain(names[1]), ends[1])
    shade = _asked(sure, x, y) if callable(sure) else sure
    shade = None if shade is None else np.asarray(shade, dtype=np.float64)
    heading, lines = f"Decision boundary in {plain(names[0])} and {plain(names[1])}", []
    cuts = np.tile(np.arange(1.0, len(x)), (len(y), 1))
    if rule is not None:
        cuts = changes_along(rule, said, x, y)
        drawn = lines_between(rule, ends, len(x), len(y))
        lines = [
            drawn.mark_line(style="ink", strokeWidth=1.1, clip=True).encode(**line_encoding(sides))
        ]
        heading = (
            f"{percent(_error(rule, rows, true))} of the rows lie in a region of another class"
        )
    layers = [
        *_ground(said, shade, cuts, ends, colours(len(called)), sides),
        *lines,
        *counted(rows, group, ends, called, sides),
    ]
    return framed(
        layers,
        title=title or heading,
        notes=[
            "Ground: the predicted class"
            + (", stronger where it is surer." if sure is not None else "."),
            "Circles: rows of each class, counted in cells.",
        ],
        width=width,
        height=height,
    )


def boundary_lines(
    rules: Mapping[str, Callable[[Floats], Any]],
    points: Any,
    codes: Any,
    *,
    across: Any = None,
    up: Any = None,
    labels: Sequence[Any] | None = None,
    names: Sequence[Any] = ("first column", "second column"),
    title: str | None = None,
    width: Width = 420,
    height: int = 380,
) -> alt.LayerChart:
    """The boundaries of several rules in one plane, and the rows that lie there.

    Parameters
    ----------
    rules : name -> function
        Up to four functions that take places (m, 2) and give a class for each, such as `predict`
        of models, or the best rule where the distribution is known.
    points : array of shape (n, 2)
    codes : array of shape (n,)
        True classes of the rows, in the labels of the rules.
    across, up : evenly spaced places of a grid, optional
        Where the rules are asked; by default 60 over the range of the rows.
    labels : sequence of K names, optional
    names : (across, up)
        What the columns are called.

    Examples
    --------
    Linear and quadratic discriminants beside the best rule of all:

    >>> import numpy as np
    >>> from fenchel import GaussianClasses
    >>> from fenchel import LinearDiscriminantAnalysis as LDA, QuadraticDiscriminantAnalysis as QDA
    >>> from fenchel.show import boundary_lines
    >>> truth = GaussianClasses([[0.0, 0.0], [2.0, 0.0]], [np.eye(2), [[0.3, 0.0], [0.0, 2.0]]])
    >>> X, y = truth.sample(400, random_state=0)
    >>> rules = {"LDA": LDA().fit(X, y).predict, "QDA": QDA().fit(X, y).predict}
    >>> rules["Bayes"] = lambda places: 1 * (truth.eta(places) > 0.5)
    >>> boundary_lines(rules, X, y).to_dict()["title"]["text"]
    'Errors on these rows: LDA 8.5 %, QDA 7.5 %, Bayes 7.5 %'
    """
    if not 1 <= len(rules) <= RULES:
        raise ValueError(f"rules must be one to {RULES} functions by name, got {len(rules)}")
    rows, true = checked_rows(points, codes)
    x, y = grid_places(rows, across, up)
    group, called = named_classes(true, labels)
    ends = outer_edges(x), outer_edges(y)
    sides = side("across", plain(names[0]), ends[0]), side("up", plain(names[1]), ends[1])
    titles = distinct(rules)
    taken = set(colours(len(called))[: MOST + 1])
    inks = [ink for ink in CATEGORIES[::-1] if ink not in taken][:RULES]
    inks += [GREY] * (len(rules) - len(inks))
    lines = [
        lines_between(rule, ends, len(x), len(y))
        .mark_line(color=ink, strokeWidth=2.0, strokeDash=dash, clip=True)
        .encode(**line_encoding(sides))
        for rule, ink, dash in zip(rules.values(), inks, DASHES, strict=False)
    ]
    errors = [
        f"{name} {percent(_error(rule, rows, true))}"
        for name, rule in zip(titles, rules.values(), strict=True)
    ]
    return framed(
        [*counted(rows, group, ends, called, sides), *lines, _legend(titles, inks)],
        title=title or f"Errors on these rows: {', '.join(errors)}",
        notes=[
            "Lines: where a rule passes from one class to another.",
            "Circles: rows of each class, counted in cells.",
        ],
        width=width,
        height=height,
    )


def _legend(titles: list[str], inks: list[str]) -> Any:
    """Names and looks of the rules, by marks that are not seen."""
    count = len(titles)
    look = alt.Legend(
        title=None, symbolType="stroke", symbolSize=260, symbolOpacity=1.0, orient="bottom"
    )
    strokes = alt.Scale(domain=titles, range=inks[:count])
    dashes = alt.Scale(domain=titles, range=list(DASHES[:count]))
    return (
        alt.Chart(records(r=titles))
        .mark_line(opacity=0.0)
        .encode(
            stroke=alt.Stroke("r:N", title="rule", scale=strokes, legend=look),
            strokeDash=alt.StrokeDash("r:N", title="rule", scale=dashes, legend=look),
        )
    )


def named_classes(classes: Any, labels: Sequence[Any] | None) -> tuple[Any, list[str]]:
    """Codes 0 … K-1 of classes, and their names: codes are names themselves."""
    codes, called = groups_of(classes, labels, "codes")
    is_coded = labels is None and np.array_equal(classes, codes)
    return codes, distinct(range(len(called))) if is_coded else called


def checked_rows(points: Any, codes: Any) -> tuple[Floats, Any]:
    """Rows (n, 2) and their classes."""
    rows, true = np.asarray(points, dtype=np.float64), column(codes, "codes")
    if rows.shape != (len(true), 2) or not len(true):
        raise ValueError("points must have shape (n, 2), and codes one class a row")
    if not np.isfinite(rows).all():
        raise ValueError("points must be finite")
    return rows, true


def grid_places(rows: Floats, *given: Any) -> Iterator[Floats]:
    """The places of a grid, as given, or over the range of the rows."""
    for k, ends in enumerate(given):
        if ends is None:
            low, high = reach(rows[:, k])
            half = 0.5 * (high - low) / PLACES
            yield np.linspace(low + half, high - half, PLACES)
        else:
            yield np.asarray(ends, dtype=np.float64)


def _asked(rule: Rule, x: Floats, y: Floats) -> Any:
    return classes_at(rule, grid(x, y)).reshape(len(y), len(x))


def _error(rule: Rule, rows: Floats, true: Any) -> float:
    """The share of rows to which a rule gives another class."""
    return float((classes_at(rule, rows) != true).mean())


def changes_along(rule: Rule, said: Any, x: Floats, y: Floats) -> Floats:
    """Where each line of cells passes from the i-th to the next, in cells: at their common edge, or
    where the class changes between their middles."""
    cuts = np.tile(np.arange(1.0, len(x)), (len(y), 1))
    j, i = np.nonzero(said[:, 1:] != said[:, :-1])
    start, end = np.stack([x[i], y[j]], axis=1), np.stack([x[i + 1], y[j]], axis=1)
    found = changes(rule, start, end, classes_at(rule, start)) if len(i) else start
    cuts[j, i] = i + 0.5 + (found[:, 0] - x[i]) / (x[i + 1] - x[i])
    return cuts


def lines_between(
    rule: Rule, ends: tuple[Ends, Ends], wide: int, tall: int, most: int = VERTICES
) -> Any:
    """The lines between a rule's classes as a chart without marks."""
    nodes = [np.linspace(*ends[k], count + 1) for k, count in enumerate((wide, tall))]
    found = boundaries(rule, *nodes)
    pixel = np.array([end[1] - end[0] for end in ends]) / 400.0
    kept = [line[thin(line[:, 0], line[:, 1], pixel=tuple(pixel))] for line in found]
    while sum(map(len, kept)) > most:  # coarser, without lines of less than two pixels
        pixel = 2.0 * pixel
        kept = [line for line in kept if (np.ptp(line, axis=0) > 2.0 * pixel).any()]
        kept = [line[thin(line[:, 0], line[:, 1], pixel=tuple(pixel))] for line in kept]
    counts = [len(line) for line in kept]
    places = np.concatenate(kept) if kept else np.empty((0, 2))
    data = table(
        k=np.repeat(np.arange(len(kept)), counts),
        i=np.concatenate([np.arange(count) for count in counts]) if kept else [],
        x=rounded(places[:, 0], ends[0][1] - ends[0][0]),
        y=rounded(places[:, 1], ends[1][1] - ends[1][0]),
    )
    return alt.Chart(data)


def line_encoding(sides: tuple[Any, Any]) -> dict[str, Any]:
    """The encoding of `lines_between`."""
    return {
        "x": alt.X("x:Q", **sides[0]),
        "y": alt.Y("y:Q", **sides[1]),
        "detail": "k:N",
        "order": "i:Q",
    }


def outer_edges(side: Floats) -> Ends:
    """The outer edges of the cells around evenly spaced places."""
    half = 0.5 * float(side[1] - side[0]) if len(side) > 1 else 0.5
    return float(side[0]) - half, float(side[-1]) + half


def _ground(
    said: Any,
    shade: Floats | None,
    cuts: Floats,
    ends: tuple[Ends, Ends],
    shown: list[str],
    sides: tuple[Any, Any],
) -> Iterator[Any]:
    """Rectangles of one colour and one shade each."""
    inks = list(dict.fromkeys(shown))
    kind = np.array([inks.index(colour) for colour in shown])[said]
    level = np.zeros(said.shape, dtype=int)
    if shade is not None:
        level = np.round(np.clip(shade, 0.0, 1.0) * SHADES).astype(int)
    found = rectangles(kind * (SHADES + 1) + level, cuts)
    kinds, dark = np.divmod(found[:, 4].astype(int), SHADES + 1)
    for number, colour in enumerate(inks):
        mine = kinds == number
        if mine.any():
            shades = None if shade is None else dark[mine]
            look = SHADES, (0.05, DARKEST)
            yield filled(found[mine], shades, colour, ends, said.shape, sides, *look)
