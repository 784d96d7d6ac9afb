"""Few dimensions for many columns: what they hold, and whether neighbours stay neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel import show
from fenchel.app.catalogue import EMBEDDINGS, Candidate
from fenchel.app.report.analysis.data_card import DESCRIBED
from fenchel.app.report.estimates import proved, with_interval, without_interval
from fenchel.app.table.task import Task
from fenchel.convex.certificate import Certificate
from fenchel.convex.partition.spectral_bounds import CentredRows
from fenchel.data.blocks import one_thread
from fenchel.score.embedding.neighbour_ranks import continuity, trustworthiness

Floats = NDArray[np.float64]
TRUST_ROWS = 800  # whose neighbours are compared
NEIGHBOURS = 10
LOADS = 6  # columns that an axis is told by
# Of a table with a target, so many rows and columns are mapped: their scatter takes 0.3 s.
MAPPED_ROWS = 5000
MAPPED_COLUMNS = 500
QUARTERS = ("lowest quarter", "second quarter", "third quarter", "highest quarter")


@dataclass(frozen=True, eq=False)
class Embedding:
    """What one way to embed found.

    Attributes
    ----------
    spectrum : eigenvalues of the scatter of the rows, the largest first, in some unit
    neighbours : how many rows trust and continuity were taken of
    dimensions, trust, continuity : along the numbers of dimensions that were tried
    model, points : the map into two dimensions, or one where there are no two, and the rows there
    axes : directions in the columns; None where the map is not linear
    proof : that no other plane holds more; None where the map is not linear
    codes, labels : groups of the rows, by which they are coloured
    numbers : of the rows in the table they are from; None where they are all of it
    """

    entry: Candidate
    rows: Floats
    spectrum: Floats
    neighbours: int
    dimensions: tuple[int, ...]
    trust: Floats
    continuity: Floats
    model: Any
    points: Floats
    axes: Floats | None
    proof: Certificate | None
    codes: NDArray[np.intp] | None = None
    labels: Sequence[str] = ()
    numbers: NDArray[np.intp] | None = None


def embedded(entry: Candidate, X: Floats, cloud: CentredRows, seed: int) -> Embedding:
    """Every number of dimensions that is tried, and the plane."""
    ((parameter, tried),) = entry.grid.items()
    dimensions = tuple(r for r in tried if r <= min(X.shape[1], len(X) - 1)) or (1,)
    some = np.arange(len(X))
    if len(X) > TRUST_ROWS:
        some = np.sort(np.random.default_rng(seed).choice(len(X), TRUST_ROWS, replace=False))
    near = min(NEIGHBOURS, (len(some) - 1) // 2)
    trust, continuous, model, points, axes = [], [], None, X[:, :1], None
    for r in dimensions:
        made = entry.make().set_params(**{parameter: r}).fit(X)
        Z = np.asarray(made.transform(X))
        if near:
            trust.append(trustworthiness(X[some], Z[some], n_neighbors=near))
            continuous.append(continuity(X[some], Z[some], n_neighbors=near))
        if r <= 2:
            model, points, axes = made, Z, getattr(made, "components_", None)
    return Embedding(
        entry=entry,
        rows=X,
        spectrum=cloud.values,
        neighbours=len(some),
        dimensions=dimensions,
        trust=np.array(trust),
        continuity=np.array(continuous),
        model=model,
        points=points,
        axes=None if axes is None else np.asarray(axes),
        proof=None if axes is None else cloud.projected(axes),
    )


def why_unmapped(X: Any) -> str:
    """Why the rows of a table with a target are neither mapped nor clustered, or nothing."""
    n, d = X.shape
    if not isinstance(X, np.ndarray):
        return "there are texts, whose rows are another matter than rows of numbers"
    if not 2 <= d <= MAPPED_COLUMNS:
        return f"that takes 2 to {MAPPED_COLUMNS} encoded columns, and there are {d:,}"
    return "" if n >= 3 else "there are too few rows"


def mapped_rows(n: int, seed: int) -> NDArray[np.intp]:
    """The places of the rows that are mapped, among n: all, or as many drawn at random."""
    if n <= MAPPED_ROWS:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, MAPPED_ROWS, replace=False))


def mapped(task: Task, X: Any, y: NDArray[Any], seed: int) -> tuple[Embedding, ...]:
    """The training rows of a table with a target in a plane, each with its target beside it; none
    where there are texts, or too few or too many columns."""
    if why_unmapped(X):
        return ()
    some = mapped_rows(len(X), seed)
    rows = np.asarray(X[some], dtype=np.float64)
    with one_thread():
        cloud = CentredRows(rows)
        found = tuple(embedded(entry, rows, cloud, seed) for entry in EMBEDDINGS)
    return tuple(replace(one, numbers=some, **_groups(task, y[some])) for one in found)


def _groups(task: Task, y: NDArray[Any]) -> dict[str, Any]:
    """By what the rows are coloured: their class, or the quarter that a number to predict is in."""
    labels: tuple[str, ...] = QUARTERS
    if task.kind == "number":
        codes = np.searchsorted(np.quantile(y, [0.25, 0.5, 0.75]), y, side="left")
    elif task.kind == "two classes":  # of two the positive one has the first colour
        codes, labels = 1 - y.astype(np.intp), task.classes[::-1]
    else:
        codes, labels = y.astype(np.intp), task.classes
    there, codes = np.unique(codes, return_inverse=True)  # equal numbers may fill two quarters
    return {"codes": codes, "labels": [labels[k] for k in there]}


def embedding_numbers(found: Embedding, names: tuple[str, ...]) -> dict[str, Any]:
    """Every number of an embedding."""
    share = found.spectrum / max(float(found.spectrum.sum()), 1e-300)
    sums = np.cumsum(share)
    few = without_interval("too few rows to have neighbours")
    axes, proof = found.axes, found.proof
    return {
        "name": found.entry.name,
        "words": found.entry.words,
        "rows": len(found.rows),
        "neighbour_rows": found.neighbours,
        "held": with_interval(sums[min(found.points.shape[1], len(sums)) - 1], DESCRIBED),
        "dimensions": [
            {
                "dimensions": r,
                "share": with_interval(share[r - 1], DESCRIBED),
                "up_to_it": with_interval(sums[r - 1], DESCRIBED),
                "trustworthiness": with_interval(found.trust[i], DESCRIBED)
                if len(found.trust)
                else few,
                "continuity": with_interval(found.continuity[i], DESCRIBED)
                if len(found.trust)
                else few,
            }
            for i, r in enumerate(found.dimensions)
        ],
        "certificate": None if proof is None else proved(proof),
        "axes": []
        if axes is None
        else [
            {
                "axis": a + 1,
                "columns": [
                    {"column": names[j], "weight": with_interval(axis[j], DESCRIBED)}
                    for j in np.argsort(-np.abs(axis), kind="stable")[:LOADS]
                ],
            }
            for a, axis in enumerate(axes)
        ],
    }


def in_clusters(found: Embedding, codes: NDArray[np.intp] | None) -> Embedding:
    """The same map, its rows coloured by their clusters where there are two or more."""
    if codes is None or not codes.any():
        return found
    labels = [f"cluster {k + 1}" for k in range(int(codes.max()) + 1)]
    return replace(found, codes=codes, labels=labels)


def embedding_figures(found: Embedding, names: tuple[str, ...] = (), **size: Any) -> dict[str, Any]:
    """Charts by name: what the axes hold, and the rows in the plane by group, with the columns of
    these names as arrows beside them."""
    charts = {"scree": show.scree(found.spectrum, **size)}
    if found.points.shape[1] == 2:
        words = found.entry.words
        charts["embedding"] = show.embedding(
            found.points,
            found.codes,
            labels=found.labels or None,
            names=("first axis", "second axis"),
            title=f"{len(found.points):,} rows in the plane of the first two {words}",
            **size,
        )
    if names and found.axes is not None and len(found.axes) == 2:
        charts["biplot"] = show.biplot(
            found.points,
            found.axes.T,
            found.codes,
            shares=found.spectrum[:2] / max(float(found.spectrum.sum()), 1e-300),
            column_names=names,
            labels=found.labels or None,
            title=f"{len(found.points):,} rows and {len(names):,} columns in the same plane",
            **size,
        )
    return charts
