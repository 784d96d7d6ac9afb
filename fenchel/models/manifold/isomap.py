"""Isomap: classical scaling of distances along a graph of neighbours.

    D_ij: the length of the shortest path from row i to row j in the graph of neighbours
    A = -J D² J / 2,   A u = λ u,   z = √λ u

Reference: Tenenbaum, de Silva and Langford, A global geometric framework for nonlinear
dimensionality reduction, Science 290 (2000); de Silva and Tenenbaum, Global versus local methods in
nonlinear dimensionality reduction, NIPS 15 (2002), for landmarks.
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from fenchel.data.arrays import is_sparse, to_numpy
from fenchel.data.blocks import Blocks
from fenchel.geometry.graph.components import components_of, joined
from fenchel.geometry.graph.edges import part_of_graph
from fenchel.geometry.graph.geodesics import (
    Geodesics,
    Neighbourhoods,
    make_symmetric,
    stored_distances,
)
from fenchel.geometry.graph.shortest_paths import shortest_paths
from fenchel.geometry.search.metric import METRICS, is_euclidean, metric_of
from fenchel.models.array_namespace import as_known, fit_method
from fenchel.models.estimator import validated_blocks
from fenchel.models.manifold.vertices import Vertices, vertices_of, warn_disconnected
from fenchel.models.neighbours.nearest import NearestNeighbors
from fenchel.models.spectral.centred.distances import (
    CentredDistances,
    checked_distances,
    scaled_operator,
    square_input,
)
from fenchel.models.spectral.centred.landmarks import landmark_rows, refuse_landmarks
from fenchel.models.spectral.centred.operators import refuse_memory
from fenchel.models.spectral.eigenfunctions import DataOperator, SpectralMap, eigenfunctions
from fenchel.models.spectral.output_rows import working_type
from fenchel.solve.eigen.leading import eigenpairs

Floats = NDArray[np.float64]
ROWS = 512  # of the matrix whose squares are added up at once


class Isomap(SpectralMap):
    """Isomap: coordinates whose distances are those along the surface that the rows lie near.

        D_ij = length of the shortest path from i to j along edges between neighbours
        A = -J D² J / 2,   A u = λ u,   zᵢ = (√λ₁ uᵢ₁, …, √λₖ uᵢₖ),   J = I - 11'/n

    Parameters
    ----------
    n_neighbors : int or None, default=5
        Each row is joined to so many nearest others.
    radius : float, optional
        Rows at most so far apart are joined, with ``n_neighbors=None``.
    n_components : int, default=2
        Columns beyond the rank are zero.
    eigen_solver : {"auto", "arpack", "dense"}
        "dense": LAPACK; "arpack": block Krylov steps; "auto": by the size.
    tol, max_iter : of the steps
        Residual |Au - λu| / |A|; 0: 1e-10.
    path_method, neighbors_algorithm, n_jobs : accepted
        The way is chosen by the shape, and `fenchel.threads` sets the number of threads.
    metric : str or function, default="minkowski"
        "precomputed": X holds the distances, and new rows hold theirs to the rows of the fit; of
        sparse ones those that are stored are known.
    p, metric_params : of the metric
    n_landmarks : int, optional
        Take shortest paths from so many rows alone, each the farthest from those before it, scale
        their distances, and place all rows by theirs to these: O(n) a landmark.
    disconnected : {"largest", "join"}, default="largest"
        What is done where the graph is not connected, with a warning of the sizes: embed the
        largest component, and place the rows of the others as new rows; or join the components by
        the shortest edges between them.

    Attributes
    ----------
    embedding_ : array of shape (n, n_components)
    dist_matrix_ : array of shape (v, v), or (landmarks, v)
        Lengths of shortest paths between the v different rows with weight, in their order.
    eigenvalues_, residuals_ : arrays of shape (n_components,)
        λ, the largest first, with |Au - λu|.
    multiplicities_ : tuple of int
        Sizes of groups of eigenvalues that the residuals do not tell apart.
    nbrs_ : NearestNeighbors
        Of the different rows.
    landmarks_ : array of int, with `n_landmarks`
    coefficients_, memory_ : what `transform` takes to place new rows
    certificate_ : Certificate
        Of kind "eigen": minus the sum of the eigenvalues, and the largest residual over |A|.
    converged_ : bool
        Whether that is at most 1e-6.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    A new row goes to its neighbours x_j first: d(x, i) = min |x - x_j| + D_ji, and is placed by
    these as classical scaling places one (Bengio and others 2003). A row of the fit is its own
    nearest neighbour, so that `transform` gives it its place in `embedding_`.

    Equal rows are one, of the weight of all; weights count copies in the scaling, and do not change
    neighbours. Landmarks count once each. Distances along a graph are those of points in no
    space, in general: A has negative eigenvalues, which are left out.

    scikit-learn's `kernel_pca_` is not kept: it would hold the n x n matrix a second time, and
    `transform` here is its formula. Where the graph is not connected, scikit-learn adds an edge
    between each pair of components.

    References
    ----------
    Tenenbaum, de Silva and Langford, Science 290 (2000). de Silva and Tenenbaum, NIPS 15 (2002).
    Bengio and others, NIPS 16 (2003).

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Isomap
    >>> t = np.linspace(0.0, 3.0, 100)
    >>> arc = np.stack([np.cos(t), np.sin(t)], axis=1)
    >>> model = Isomap(n_neighbors=3, n_components=1).fit(arc)
    >>> Z = model.embedding_[:, 0]
    >>> float(abs(Z[-1] - Z[0]).round(3)), bool(np.allclose(model.transform(arc)[:, 0], Z))
    (3.0, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "radius": [Interval(Real, 0, None, closed="both"), None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "eigen_solver": [StrOptions({"auto", "arpack", "dense"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "path_method": [StrOptions({"auto", "FW", "D"})],
        "neighbors_algorithm": [StrOptions({"auto", "brute", "kd_tree", "ball_tree"})],
        "n_jobs": [Integral, None],
        "p": [Interval(Real, 1, None, closed="left")],
        "metric": [StrOptions(set(METRICS)), callable],
        "metric_params": [dict, None],
        "n_landmarks": [Interval(Integral, 2, None, closed="left"), None],
        "disconnected": [StrOptions({"largest", "join"})],
    }

    def __init__(
        self,
        *,
        n_neighbors: int | None = 5,
        radius: float | None = None,
        n_components: int = 2,
        eigen_solver: str = "auto",
        tol: float = 0.0,
        max_iter: int | None = None,
        path_method: str = "auto",
        neighbors_algorithm: str = "auto",
        n_jobs: int | None = None,
        metric: Any = "minkowski",
        p: float = 2,
        metric_params: dict[str, Any] | None = None,
        n_landmarks: int | None = None,
        disconnected: str = "largest",
    ) -> None:
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.n_components = n_components
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.path_method = path_method
        self.neighbors_algorithm = neighbors_algorithm
        self.n_jobs = n_jobs
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.n_landmarks = n_landmarks
        self.disconnected = disconnected

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Isomap:
        """Embed the rows X, or those whose distances X holds; y is ignored.

        sample_weight: how many copies of each row; one of weight zero is placed, and moves none.
        """
        if (self.n_neighbors is None) == (self.radius is None):
            both = "Both n_neighbors and radius are provided"
            raise ValueError(
                f"{'Neither is' if self.radius is None else both}: give n_neighbors, or radius "
                f"with n_neighbors=None; got n_neighbors={self.n_neighbors}, radius={self.radius}"
            )
        blocks = validated_blocks(self, X, None, sample_weight)
        made = self._operator(blocks)
        n, k = int(made.A.shape[0]), int(self.n_components)
        if n < 2 or k > n:
            raise ValueError(
                f"n_components={k} columns and at least 2 rows are to come from n_samples={n} "
                "different rows with weight that are connected: lower n_components, or add rows"
            )
        methods: dict[str, Any] = {"auto": "auto", "dense": "dense", "arpack": "krylov"}
        pairs = eigenpairs(
            made.A,
            k,
            method=methods[self.eigen_solver],
            tol=float(self.tol) or 1e-10,
            max_steps=self.max_iter,
        )
        found = eigenfunctions(pairs, measure=made.measure, error=made.error)
        self._record(found, made, blocks)
        self.__dict__.pop("landmarks_", None)
        if self.n_landmarks is not None and made.members is not None:
            self.landmarks_ = made.members
        return self

    def _operator(self, blocks: Blocks) -> DataOperator:
        vertices, near = self._vertices(blocks)
        rows = vertices.rows
        vertices, near, graph = self._connected(vertices, near)
        if self.n_landmarks is None:
            landmarks, q = None, len(vertices)
        else:
            q = int(self.n_landmarks)
            refuse_landmarks(q, len(vertices), int(self.n_components))
            among = vertices.rows[:, near.points] if self._given else vertices.rows
            landmarks = landmark_rows(
                among, near.metric, q, np.ones(len(vertices), bool), vertices.mass
            )
        refuse_memory(
            8.0 * q * (len(vertices) + q),
            f"the {q} x {len(vertices)} matrix of lengths of paths, with its squares,",
            "lower n_landmarks" if landmarks is not None else "set n_landmarks",
        )
        D = shortest_paths(graph, landmarks)
        if landmarks is None:
            make_symmetric(D)
            own, lengths, mass, members = D, D, vertices.mass, vertices.members
        else:
            own, lengths = D[:, landmarks], np.ascontiguousarray(D.T)
            make_symmetric(own)
            mass, members = np.ones(q), vertices.members[landmarks]
        # A path has fewer edges than vertices, each of a length off by d roundings and some.
        entries = 2.0 * (len(vertices) + rows.shape[1] + 64.0)
        every = landmarks is None and vertices.all_rows
        return scaled_operator(
            own,
            Geodesics(near, lengths),
            np.arange(q),
            None if (mass == 1.0).all() else mass,
            members=None if every else members,
            entries=entries,
        )

    def _vertices(self, blocks: Blocks) -> tuple[Vertices, Neighbourhoods]:
        """The different rows with weight, and how they are compared."""
        if self._given:
            block = blocks.gather()
            D = _distances(block.X, working_type(blocks))
            s = np.ones(len(D)) if block.weight is None else np.asarray(to_numpy(block.weight))
            members = np.flatnonzero(s > 0.0)
            numbers = np.full(len(D), -1)
            numbers[members] = np.arange(len(members))
            vertices = Vertices(D[members], s[members].astype(np.float64), members, numbers)
            points, plain = members, False
        else:
            vertices = vertices_of(blocks)
            points = vertices.rows
            plain = is_euclidean(self.metric, self.p, self.metric_params)
        metric = None if plain else metric_of(self.metric, self.p, self.metric_params, points)
        k = None
        if self.n_neighbors is not None:
            k = vertices.neighbours_of(type(self).__name__, int(self.n_neighbors))
        radius = None if self.radius is None else float(self.radius)
        return vertices, Neighbourhoods(points, metric, k, radius)

    def _connected(
        self, vertices: Vertices, near: Neighbourhoods
    ) -> tuple[Vertices, Neighbourhoods, csr_array]:
        """The graph of the vertices, or of those of its largest component."""
        graph = near.graph(vertices.rows)
        parts = components_of(graph)
        if parts.count == 1:
            return vertices, near, graph
        name = type(self).__name__
        remedy = (
            f"Raise radius={self.radius} to join them"
            if self.n_neighbors is None
            else f"Raise n_neighbors={self.n_neighbors} to join them"
        )
        if self.disconnected == "join":
            if not np.isfinite(vertices.rows).all():
                raise ValueError(
                    f"{name}: the graph of neighbours has {parts.named()}, and distances between "
                    "them are not known: give them, or set disconnected='largest'"
                )
            graph, added = joined(graph, vertices.rows, near.search_among)
            edges = "shortest edge" if added == 1 else f"{added} shortest edges"
            what = f"They are joined by the {edges} between them"
            warn_disconnected(name, parts, what, f"{remedy} otherwise.")
            return vertices, near, graph
        what = "The largest is embedded, and the rows of the others are placed as new rows"
        warn_disconnected(name, parts, what, f"{remedy}, or set disconnected='join'.")
        inside = parts.largest
        return vertices.chosen(inside), near.chosen(inside), part_of_graph(graph, inside)

    @property
    def _given(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    @property
    def dist_matrix_(self) -> Floats:
        """Lengths of shortest paths between the different rows, or from the landmarks to them."""
        check_is_fitted(self)
        lengths: Floats = self.memory_.metric.lengths
        return lengths.T if self.n_landmarks is not None else lengths

    @property
    def nbrs_(self) -> NearestNeighbors:
        """The neighbours of the different rows."""
        check_is_fitted(self)
        if self._given:
            raise AttributeError("given distances are not kept: Isomap has no nbrs_ of them")
        near: Neighbourhoods = self.memory_.metric.near
        asked = {"metric": self.metric, "p": self.p, "metric_params": self.metric_params}
        if near.radius is not None:
            return NearestNeighbors(radius=near.radius, **asked).fit(near.points)
        return NearestNeighbors(n_neighbors=near.n_neighbors or 1, **asked).fit(near.points)

    def reconstruction_error(self) -> float:
        """|A - U Λ U'| / n, in Frobenius' norm: what the map leaves of the centred squares, of the
        landmarks where there are some; n counts weights."""
        check_is_fitted(self)
        memory: CentredDistances = self.memory_
        lengths: Floats = self.memory_.metric.lengths
        # A landmark is the vertex at no distance from itself.
        own = lengths if self.n_landmarks is None else lengths[lengths.argmin(axis=0)]
        s = np.ones(len(own)) if memory.weight is None else memory.weight
        total = 0.0
        for lo in range(0, len(own), ROWS):
            P = memory.centred(own[lo : lo + ROWS])
            total += float(s[lo : lo + ROWS] @ np.square(P, out=P) @ (1.0 / s))
        # Of coefficients, whose squares add up to 1/λ: λ itself may have left the range of floats.
        C = np.ldexp(to_numpy(as_known(self.coefficients_)), -memory.exponent)
        inverse = s @ np.square(C)
        values = 1.0 / inverse[inverse > 0.0]
        left = math.sqrt(max(total - float(values @ values), 0.0)) / float(s.sum())
        return math.ldexp(left, 2 * memory.exponent)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._given
        tags.input_tags.positive_only = self._given
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _distances(X: Any, dtype: Any) -> Floats:
    """Given distances: symmetric, or the shorter of two that are stored."""
    if not is_sparse(X):
        return checked_distances(square_input(to_numpy(X)), "the distance", dtype)
    D = stored_distances(X)
    square_input(D)
    own = np.arange(len(D))
    D[own, own] = 0.0
    if (D < 0.0).any():
        i, j = (int(at[0]) for at in np.nonzero(D < 0.0))
        raise ValueError(
            f"Negative values in data: the distance in row {i}, column {j}, {D[i, j]:.6g}, is "
            "negative, which no distance is"
        )
    return np.minimum(D, D.T)
