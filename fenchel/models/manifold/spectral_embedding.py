"""Laplacian eigenmaps: coordinates in which rows of large affinity lie together.

    min Σᵢⱼ wᵢⱼ |yᵢ - yⱼ|²,   Y'DY = I,  Y'D1 = 0,   D = diag(Σⱼ wᵢⱼ)

Y = D^{-1/2} U, U the leading eigenvectors of D^{-1/2} W D^{-1/2} after the trivial one.

Reference: Belkin and Niyogi, Laplacian eigenmaps for dimensionality reduction and data
representation, Neural Computation 15 (2003); Bengio, Paiement, Vincent, Delalleau, Le Roux and
Ouimet, Out-of-sample extensions for LLE, Isomap, MDS, eigenmaps and spectral clustering, NIPS 16
(2003).
"""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from fenchel.convex.certificate import warn_outside
from fenchel.data.blocks import Blocks
from fenchel.geometry.graph.components import GraphComponents
from fenchel.models.array_namespace import fit_method
from fenchel.models.estimator import validated_blocks
from fenchel.models.manifold.affinity.fitted import OfAffinities
from fenchel.models.manifold.affinity.graph import NormalisedGraph
from fenchel.models.manifold.affinity.rule import AFFINITY, WIDTH, AffinityRule
from fenchel.models.manifold.vertices import warn_disconnected
from fenchel.models.spectral.eigenfunctions import DataOperator, SpectralMap, eigenfunctions

Floats = NDArray[np.float64]
TOLERANCE = 1e-10  # residual of eigenvectors, of eigen_tol="auto"
FINEST = 1e-12  # what rounding lets it reach
FARTHEST = 1000  # power of two of the coordinates
# An eigenvalue as near to 1 is that of a nearly disconnected part of the graph.
NEARLY_ONE = 1e-11


class SpectralEmbedding(OfAffinities, SpectralMap):
    """Laplacian eigenmaps: leading eigenfunctions of the random walk on a graph of affinities.

    A = D^{-1/2} W D^{-1/2},  A u = λ u,  |u| = 1;   z = (u₂ / √d, …, u_{k+1} / √d)

    W: affinities, without those of a row with itself; d: the sums of its rows; u₁ ∝ √d, of λ₁ = 1,
    says nothing and is left out. The scaling is scikit-learn's: Σᵢ dᵢ zᵢⱼ² = 1.

    Parameters
    ----------
    n_components : int, default 2
    affinity : str, function or kernel, default "nearest_neighbors"
        "nearest_neighbors": 1 for rows that are among the nearest of each other, ½ where one is
        among those of the other. "rbf" or another name of a kernel; a kernel such as
        `fenchel.kernels.Laplacian(0.5)`. "precomputed": X holds affinities, of new rows those with
        the rows of the fit. "precomputed_nearest_neighbors": X holds distances, dense, or sparse
        with those of the neighbours at least. A function of a table that gives the matrix of its
        affinities, or of two tables.
    gamma : float, "scale", "auto", "median" or None
        Of the kernel; None and "auto": 1 / n_features.
    random_state, n_jobs : accepted
        The start is fixed; `fenchel.threads` sets the number of threads.
    eigen_solver : {"arpack", "lobpcg", "amg"}, optional
        Accepted: the size and the graph choose.
    eigen_tol : float or "auto"
        Residual of the eigenvectors, relative to |A| = 1; "auto": 1e-10.
    n_neighbors : int, optional
        The row itself counts as one. None: n/10, at least 5 (scikit-learn's n/10 alone leaves small
        tables without edges).
    disconnected : {"largest", "join"}
        What becomes of a graph that is not connected: its largest component is embedded, and rows
        of others are placed as new points; or components of "nearest_neighbors" are joined by their
        shortest edges, of affinity 1. A warning gives the sizes.

    Attributes
    ----------
    embedding_ : array (n, n_components)
    affinity_matrix_ : array or CSR (m, m)
        Affinities, with those of rows with themselves, of the rows that the map is made of: all
        different ones that have weight and belong to the component; made anew when asked for.
    n_neighbors_ : int, of the affinities by neighbours
    eigenvalues_, residuals_ : arrays (n_components,)
        λ, the largest first; 1 - λ are those of the Laplacian. |Au - λu|.
    multiplicities_ : tuple of int
        Sizes of groups of eigenvalues that the residuals do not tell apart, inside which any
        rotation of the columns is as good.
    component_sizes_ : array of int
        How many different rows the components of the graph have, the largest first: the
        multiplicity of the eigenvalue 1 is their number.
    coefficients_, memory_ : what `transform` takes to place new rows
    certificate_ : Certificate
        Of kind "eigen": minus the sum of the eigenvalues, and the largest residual.
    converged_ : bool
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    `transform` places a row by Nyström's formula, z(x) = Σⱼ w(x, xⱼ) zⱼ / (λ Σⱼ w(x, xⱼ)). Whether
    a new row is among the neighbours of one of the fit is told by its distance, so that w is the
    same function of two points in the fit and after it. A row that equals one of the fit is that
    row, which has no affinity with itself: `transform` of the rows of the fit is `embedding_`. A
    row without any affinity is placed at 0, the mean.

    Weights are numbers of copies: a row of weight s has the affinity w(x, x) with s - 1 copies.
    Equal rows are one row, of the weight of all; so are rows at equal distances. Rows of equal
    affinities are not, and a new row that equals them is the first of them.

    References
    ----------
    Belkin and Niyogi, Laplacian eigenmaps for dimensionality reduction and data representation,
    Neural Computation 15 (2003).

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import SpectralEmbedding
    >>> t = np.linspace(0.0, 3.0, 60)
    >>> arc = np.stack([np.cos(t), np.sin(t)], axis=1)
    >>> model = SpectralEmbedding(n_components=1, n_neighbors=5).fit(arc)
    >>> steps = np.diff(model.embedding_[:, 0])
    >>> bool((steps > 0).all() or (steps < 0).all())
    True
    >>> bool(np.allclose(model.transform(arc), model.embedding_)), model.certificate_.closed(1e-9)
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "gamma": WIDTH,
        **AFFINITY,
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        affinity: Any = "nearest_neighbors",
        gamma: float | str | None = None,
        random_state: Any = None,
        eigen_solver: str | None = None,
        eigen_tol: float | str = "auto",
        n_neighbors: int | None = None,
        n_jobs: int | None = None,
        disconnected: str = "largest",
    ) -> None:
        self.n_components = n_components
        self.affinity = affinity
        self.gamma = gamma
        self.random_state = random_state
        self.eigen_solver = eigen_solver
        self.eigen_tol = eigen_tol
        self.n_neighbors = n_neighbors
        self.n_jobs = n_jobs
        self.disconnected = disconnected

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SpectralEmbedding:
        """Embed the rows X, which have weight sample_weight; y is ignored."""
        blocks = validated_blocks(self, X, None, sample_weight)
        rule = self._rule()
        graph, parts = self._connected(rule, blocks)
        if parts.count > 1:
            warn_disconnected(
                type(self).__name__,
                parts,
                "The largest is embedded, and the rows of the others are placed as new points",
                "Raise n_neighbors, or take disconnected='join'."
                if rule.by_neighbours
                else "Lower gamma, or give affinities that join them.",
                "neighbours" if rule.by_neighbours else "affinities",
            )
        k, n = int(self.n_components), len(graph)
        if k >= n:
            raise ValueError(
                f"n_components={k} must be below the number of different rows that are connected, "
                f"n={n}: lower n_components or add rows"
            )
        made = _operator_of(graph)
        tol = TOLERANCE if self.eigen_tol == "auto" else max(float(self.eigen_tol), FINEST)
        pairs = graph.leading(graph.trivial(), k, tol)
        if abs(graph.exponent) > FARTHEST:
            raise ValueError(
                "the coordinates, 1 over the square roots of sums of affinities and weights, are "
                "of no size that floats have: divide affinities or weights by a constant"
            )
        scale = np.full(k, math.ldexp(1.0, -graph.exponent))
        found = eigenfunctions(pairs, scale=scale, measure=made.measure)
        self._record(found, made, blocks)
        self.component_sizes_ = np.sort(parts.sizes)[::-1].astype(np.int64)
        self._keep(rule, X, len(graph.vertices.numbers))
        self.converged_ = self.certificate_.closed(max(tol, 1e-10))
        nearly = int((1.0 - pairs.values < NEARLY_ONE).sum())
        if nearly:
            warn_outside(
                f"{type(self).__name__}: {nearly} further eigenvalues are 1 to rounding: the graph "
                f"has {nearly + 1} nearly disconnected parts, and the first columns only "
                "separate them",
                UserWarning,
            )
        return self

    def _rule(self) -> AffinityRule:
        return AffinityRule(
            type(self).__name__, self.affinity, self.n_neighbors, self.gamma, self.disconnected
        )

    def _connected(
        self, rule: AffinityRule, blocks: Blocks
    ) -> tuple[NormalisedGraph, GraphComponents]:
        """The graph of the largest component, and all components."""
        graph = rule.graph(blocks)
        parts = graph.components()
        graph = graph if parts.count == 1 else graph.chosen(parts.largest)
        return graph.normalised(), parts

    def _operator(self, blocks: Blocks) -> DataOperator:
        return _operator_of(self._connected(self._rule(), blocks)[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _operator_of(graph: NormalisedGraph) -> DataOperator:
    A = graph.deflated(graph.trivial())
    numbers = graph.vertices.numbers
    return DataOperator(A, graph.memory, graph.measure, graph.members, numbers=numbers)
