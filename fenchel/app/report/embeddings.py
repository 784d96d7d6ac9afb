"""Few dimensions for many columns: what they hold, and whether neighbours stay neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.manifold import trustworthiness

from fenchel import show
from fenchel.app.models import Entry
from fenchel.app.report.card import DESCRIBED
from fenchel.app.report.entries import proved, told, untold
from fenchel.convex.certificate import Certificate
from fenchel.convex.spectral_bounds import CentredRows

Floats = NDArray[np.float64]
TRUST_ROWS = 800  # whose neighbours are compared
NEIGHBOURS = 10
LOADS = 6  # columns that an axis is told by


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
    """

    entry: Entry
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


def embedded(entry: Entry, X: Floats, cloud: CentredRows, seed: int) -> Embedding:
    """Every number of dimensions that is tried, and the plane."""
    ((parameter, tried),) = entry.grid.items()
    dimensions = tuple(r for r in tried if r <= min(X.shape[1], len(X) - 1)) or (1,)
    some = np.arange(len(X))
    if len(X) > TRUST_ROWS:
        some = np.sort(np.random.default_rng(seed).choice(len(X), TRUST_ROWS, replace=False))
    near = min(NEIGHBOURS, (len(some) - 1) // 2)
    trust, continuity, model, points, axes = [], [], None, X[:, :1], None
    for r in dimensions:
        made = entry.make().set_params(**{parameter: r}).fit(X)
        Z = np.asarray(made.transform(X))
        if near:
            trust.append(trustworthiness(X[some], Z[some], n_neighbors=near))
            # The same with both sides exchanged: neighbours that were torn apart.
            continuity.append(trustworthiness(Z[some], X[some], n_neighbors=near))
        if r <= 2:
            model, points, axes = made, Z, getattr(made, "components_", None)
    return Embedding(
        entry=entry,
        rows=X,
        spectrum=cloud.values,
        neighbours=len(some),
        dimensions=dimensions,
        trust=np.array(trust),
        continuity=np.array(continuity),
        model=model,
        points=points,
        axes=None if axes is None else np.asarray(axes),
        proof=None if axes is None else cloud.projected(axes),
    )


def embedding_numbers(found: Embedding, names: tuple[str, ...]) -> dict[str, Any]:
    """Every number of an embedding."""
    share = found.spectrum / max(float(found.spectrum.sum()), 1e-300)
    sums = np.cumsum(share)
    few = untold("too few rows to have neighbours")
    axes, proof = found.axes, found.proof
    return {
        "name": found.entry.name,
        "words": found.entry.words,
        "rows": len(found.rows),
        "neighbour_rows": found.neighbours,
        "held": told(sums[min(found.points.shape[1], len(sums)) - 1], DESCRIBED),
        "dimensions": [
            {
                "dimensions": r,
                "share": told(share[r - 1], DESCRIBED),
                "up_to_it": told(sums[r - 1], DESCRIBED),
                "trustworthiness": told(found.trust[i], DESCRIBED) if len(found.trust) else few,
                "continuity": told(found.continuity[i], DESCRIBED) if len(found.trust) else few,
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
                    {"column": names[j], "weight": told(axis[j], DESCRIBED)}
                    for j in np.argsort(-np.abs(axis), kind="stable")[:LOADS]
                ],
            }
            for a, axis in enumerate(axes)
        ],
    }


def embedding_figures(
    found: Embedding, codes: NDArray[np.intp] | None, **size: Any
) -> dict[str, Any]:
    """Charts by name: what the axes hold, and the rows in the plane by cluster."""
    charts = {"scree": show.scree(found.spectrum, **size)}
    if found.points.shape[1] == 2:
        words = found.entry.words
        count = 1 if codes is None else int(codes.max()) + 1
        charts["embedding"] = show.embedding(
            found.points,
            codes if count > 1 else None,
            labels=[f"cluster {k + 1}" for k in range(count)],
            names=("first axis", "second axis"),
            title=f"{len(found.points):,} rows in the plane of the first two {words}",
            **size,
        )
    return charts
