"""Whether distances stay distances in a map: stress, and the variance that is not explained.

    stress-1            √(Σ (δ - d)² / Σ d²)
    residual variance   1 - R²,  R the correlation of δ and d

over all pairs of rows, δ their distance before and d that in the map. Sums are made by tiles of
pairs, and none of them by a difference of sums: time O(n² d), memory that of a tile.

Reference: Kruskal, Multidimensional scaling by optimizing goodness of fit to a nonmetric
hypothesis, Psychometrika 29 (1964); Tenenbaum, de Silva and Langford, A global geometric framework
for nonlinear dimensionality reduction, Science 290 (2000); Sammon, A nonlinear mapping for data
structure analysis, IEEE Trans. Computers 18 (1969).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fenchel.data.intake import check_weight
from fenchel.data.parallel import one_blas_thread, parallel_map
from fenchel.score.curves.score_counts import Floats
from fenchel.score.embedding.spaces import Space, two_spaces
from fenchel.score.structure.row_units import unit_exponent

KINDS = ("kruskal", "normalized", "raw", "sammon")
STEP = 256  # rows of a tile of pairs
# Below this 1 - R² is made anew by the residuals of the line, which do not cancel.
SMALL = 1e-3

Terms = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True, slots=True, eq=False)
class DistancePairs:
    """All pairs of rows, each once, with their weights; copies: Σ of the weights of pairs of copies
    of one row, whose distances are zero."""

    space: Space
    places: Space
    weight: Floats | None = field(default=None, repr=False)

    @property
    def copies(self) -> float:
        s = self.weight
        return 0.0 if s is None else float((0.5 * s * np.maximum(s - 1.0, 0.0)).sum())

    def sums(self, terms: Terms) -> Floats:
        """Σ w terms(δ, d) over pairs, of terms (t, pairs)."""
        n = self.space.n

        def work(lo: int) -> Floats:
            rows, after = slice(lo, min(lo + STEP, n)), slice(lo, n)
            delta, d = (one.distances(rows, after) for one in (self.space, self.places))
            if self.space.given:  # which need not be symmetric
                delta = 0.5 * (delta + self.space.distances(after, rows).T)
            once = np.arange(n - lo) > np.arange(rows.stop - lo)[:, None]
            values = terms(delta[once], d[once])
            if self.weight is None:
                return np.asarray(values.sum(axis=1))
            w = np.multiply.outer(self.weight[rows], self.weight[after])[once]
            return np.asarray(values @ w)

        with one_blas_thread():
            return np.sum(parallel_map(work, range(0, n, STEP)), axis=0)


def stress(
    X: Any,
    X_embedded: Any,
    *,
    kind: str = "kruskal",
    scaled: bool = False,
    metric: Any = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    sample_weight: Any = None,
) -> float:
    """How far the distances of a map are from those before, 0 for a map that keeps all.

    Parameters
    ----------
    X : array of shape (n, d), CSR, dataframe, `scan`, dask or torch; or (n, n)
    X_embedded : array of shape (n, k)
    kind : {"kruskal", "normalized", "raw", "sammon"}
        "kruskal": stress-1, √(Σ (δ - d)² / Σ d²); "normalized": √(Σ (δ - d)² / Σ δ²), as of
        scikit-learn's `MDS`; "raw": Σ (δ - d)²; "sammon": Σ (δ - d)² / δ over Σ δ, of pairs with
        δ > 0. Each pair counts once.
    scaled : bool
        Whether the map is first stretched by the factor that makes the number least.
    metric : str or function
        A distance of X by name, a function of two rows, or "precomputed".
    metric_params : dict, optional
    sample_weight : array of shape (n,), optional
        A row of weight 2 counts as two rows.

    References
    ----------
    Kruskal, Psychometrika 29 (1964). Sammon, IEEE Trans. Computers 18 (1969).

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import stress
    >>> X = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
    >>> stress(X, X), round(stress(X, 2.0 * X), 6), stress(X, 2.0 * X, scaled=True)
    (0.0, 0.5, 0.0)
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    pairs, exponent = _pairs(X, X_embedded, metric, metric_params, sample_weight)
    sammon = kind == "sammon"

    def moments(delta: Floats, d: Floats) -> Floats:
        w = np.where(delta > 0.0, 1.0 / np.where(delta > 0.0, delta, 1.0), 0.0) if sammon else 1.0
        return np.stack([w * delta * delta, w * delta * d, w * d * d])

    factor = 1.0
    if scaled:
        before, both, after = pairs.sums(moments).tolist()
        # The least of Σ (δ - ad)² / (a² Σ d²) is at Σ δ² / Σ δd, that of the others at Σ δd / Σ d².
        if kind == "kruskal":
            factor = before / both if both > 0.0 else 1.0
        else:
            factor = both / after if after > 0.0 else 1.0

    def terms(delta: Floats, d: Floats) -> Floats:
        d = factor * d
        w = np.where(delta > 0.0, 1.0 / np.where(delta > 0.0, delta, 1.0), 0.0) if sammon else 1.0
        return np.stack([w * (delta - d) ** 2, w * delta * delta, d * d])

    left, before, after = pairs.sums(terms).tolist()
    if kind == "raw":
        return math.ldexp(left, 2 * exponent)
    whole = after if kind == "kruskal" else before
    if left == 0.0:
        return 0.0
    if whole == 0.0:
        return math.inf
    return left / whole if sammon else math.sqrt(left / whole)


def residual_variance(
    X: Any,
    X_embedded: Any,
    *,
    metric: Any = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    sample_weight: Any = None,
) -> float:
    """1 - R², R the correlation of the distances of a map with those before: what a line leaves of
    their variance. Of geodesic distances (metric="precomputed") it is Isomap's measure.

    Parameters
    ----------
    X : array of shape (n, d), CSR, dataframe, `scan`, dask or torch; or (n, n)
    X_embedded : array of shape (n, k)
    metric : str or function
        A distance of X by name, a function of two rows, or "precomputed".
    metric_params : dict, optional
    sample_weight : array of shape (n,), optional
        A row of weight 2 counts as two rows.

    References
    ----------
    Tenenbaum, de Silva and Langford, Science 290 (2000).

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import residual_variance
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 1.0], [3.0, 1.0]])
    >>> residual_variance(X, 5.0 * X) < 1e-30, round(residual_variance(X, X[:, :1]), 3)
    (True, 0.034)
    """
    pairs, _ = _pairs(X, X_embedded, metric, metric_params, sample_weight)
    total, first, second = pairs.sums(lambda a, b: np.stack([np.ones_like(a), a, b])).tolist()
    total += pairs.copies
    if not total > 0.0:
        raise ValueError("a correlation of distances needs 2 rows with weight or more")
    ma, mb = first / total, second / total

    def centred(a: Floats, b: Floats) -> Floats:
        a, b = a - ma, b - mb
        return np.stack([a * a, a * b, b * b])

    corner = pairs.copies * np.array([ma * ma, ma * mb, mb * mb])
    aa, ab, bb = (pairs.sums(centred) + corner).tolist()
    for value, mean, what in ((aa, ma, "X"), (bb, mb, "X_embedded")):
        if not value > (16.0 * np.finfo(np.float64).eps * mean) ** 2 * total:
            raise ValueError(
                f"all distances of {what} are equal, so that they have no correlation with others"
            )
    unexplained = 1.0 - ab / aa * (ab / bb)
    if unexplained > SMALL:
        return float(min(unexplained, 1.0))
    slope = ab / bb
    left = pairs.sums(lambda a, b: ((a - ma) - slope * (b - mb))[None] ** 2)
    more = pairs.copies * (slope * mb - ma) ** 2
    return float((left[0] + more) / aa)


def _pairs(
    X: Any, X_embedded: Any, metric: Any, parameters: Any, sample_weight: Any
) -> tuple[DistancePairs, int]:
    """The pairs, with all lengths over 2^exponent where squares would leave the floats."""
    space, places = two_spaces(X, X_embedded, metric, parameters)
    s = None
    if sample_weight is not None:
        s = np.asarray(check_weight(sample_weight, space.n), np.float64)
    if space.metric is not None and not space.given:
        return DistancePairs(space, places, s), 0
    exponent = unit_exponent(space.rows, places.rows)
    return DistancePairs(space.in_units(exponent), places.in_units(exponent), s), exponent
