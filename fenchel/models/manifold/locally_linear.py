"""Locally linear embedding (LLE).

    W: barycentric weights of each row on its neighbours;   M = (I - W)'(I - W)
    min tr(Y'MY),  Y'Y = I,  Y'1 = 0

Y is the eigenvectors of M of the smallest eigenvalues, but for the constant one.

Reference: Roweis and Saul, Nonlinear dimensionality reduction by locally linear embedding, Science
290 (2000); Saul and Roweis, Think globally, fit locally, J. Machine Learning Research 4 (2003).
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from fenchel.convex.certificate import Certificate
from fenchel.data.blocks import Blocks
from fenchel.geometry.graph.components import components_of
from fenchel.geometry.search.euclidean import EuclideanSearch
from fenchel.geometry.search.search import without_own
from fenchel.models.array_namespace import fit_method
from fenchel.models.estimator import validated_blocks
from fenchel.models.manifold.barycentric import BarycentricMemory, barycentric_weights
from fenchel.models.manifold.vertices import Vertices, vertices_of, warn_disconnected
from fenchel.models.neighbours.nearest import NearestNeighbors
from fenchel.models.spectral.eigenfunctions import DataOperator, SpectralMap, eigenfunctions
from fenchel.solve.eigen.inverse import Inverse, shift_inverted, smallest_of
from fenchel.solve.eigen.residual import LeadingSubspace

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class LocallyLinearEmbedding(SpectralMap):
    """Locally linear embedding: coordinates that keep each row's weights on its neighbours.

    W: min |xᵢ - Σⱼ wᵢⱼ xⱼ|² + reg tr(Cᵢ) |wᵢ|²,  Σⱼ wᵢⱼ = 1,  over the neighbours j of i
    Y: min Σᵢ sᵢ |yᵢ - Σⱼ wᵢⱼ yⱼ|²,  Σᵢ sᵢ yᵢ yᵢ' = I,  Σᵢ sᵢ yᵢ = 0

    Parameters
    ----------
    n_neighbors : int, default 5
    n_components : int, default 2
    reg : float, default 1e-3
        Relative to the trace of each row's matrix of inner products C.
    eigen_solver : {"auto", "arpack", "dense"}
        Accepted: M is factored, and block Krylov steps with its inverse give the eigenvectors.
    tol : float, default 1e-6
        Residual of an eigenvector of M⁻¹ that counts as converged, relative to |M⁻¹|. At most
        1e-10 is asked of the steps.
    max_iter, random_state, n_jobs, neighbors_algorithm : accepted
        The start is fixed; `fenchel.threads` sets the number of threads.
    method : {"standard"}
    hessian_tol, modified_tol : accepted
        Of methods that are not here.

    Attributes
    ----------
    embedding_ : array (n, n_components)
    reconstruction_error_ : float
        Σ λⱼ = tr(Y'MY).
    eigenvalues_, residuals_ : arrays (n_components,)
        Of M, the smallest first, with |My - λy|.
    multiplicities_ : tuple of int
        Sizes of groups of eigenvalues that the residuals do not tell apart.
    nbrs_ : NearestNeighbors
        Of the different rows of the fit.
    certificate_ : Certificate
        Of kind "eigen": Σ λⱼ, and the residual of the eigenvectors of M⁻¹, whose leading
        eigenvalues lie apart, over |M⁻¹|.
    converged_ : bool
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    Equal rows are one, of the weight of all. Where the graph of neighbours is not connected the
    smallest eigenvectors would only tell its components apart: a warning gives their sizes, the
    largest is embedded, and the rows of the others are placed as new points are.

    A new point takes the weights on its neighbours among the rows of the fit; one that equals a row
    of the fit takes its place (reg → 0), so that `transform` of the rows of the fit is
    `embedding_`.

    References
    ----------
    Saul and Roweis, Think globally, fit locally, J. Machine Learning Research 4 (2003). Bengio and
    others, Out-of-sample extensions for LLE, Isomap, MDS, eigenmaps and spectral clustering, NIPS
    16 (2003).

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import LocallyLinearEmbedding
    >>> t = np.linspace(0.0, 3.0, 60)
    >>> arc = np.stack([np.cos(t), np.sin(t)], axis=1)
    >>> model = LocallyLinearEmbedding(n_neighbors=4, n_components=1).fit(arc)
    >>> steps = np.diff(model.embedding_[:, 0])
    >>> bool((steps > 0).all() or (steps < 0).all()), model.certificate_.closed(1e-8)
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "reg": [Interval(Real, 0, None, closed="left")],
        "eigen_solver": [StrOptions({"auto", "arpack", "dense"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "method": [StrOptions({"standard"})],
        "hessian_tol": [Interval(Real, 0, None, closed="left")],
        "modified_tol": [Interval(Real, 0, None, closed="left")],
        "neighbors_algorithm": [StrOptions({"auto", "brute", "kd_tree", "ball_tree"})],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        *,
        n_neighbors: int = 5,
        n_components: int = 2,
        reg: float = 1e-3,
        eigen_solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 100,
        method: str = "standard",
        hessian_tol: float = 1e-4,
        modified_tol: float = 1e-12,
        neighbors_algorithm: str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.reg = reg
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.method = method
        self.hessian_tol = hessian_tol
        self.modified_tol = modified_tol
        self.neighbors_algorithm = neighbors_algorithm
        self.random_state = random_state
        self.n_jobs = n_jobs

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LocallyLinearEmbedding:
        """Embed the rows X, which have weight sample_weight; y is ignored."""
        blocks = validated_blocks(self, X, None, sample_weight)
        made = self._operator(blocks)
        inverse: Any = made.A
        k, n = int(self.n_components), inverse.shape[0]
        if k >= n:
            raise ValueError(
                f"n_components={k} must be below the number of different rows that are connected, "
                f"n={n}: lower n_components or add rows"
            )
        pairs = smallest_of(inverse, k, tol=min(float(self.tol), 1e-10))
        ones = np.ones(k)
        found = eigenfunctions(pairs, scale=ones, measure=made.measure, continued=ones)
        self.reconstruction_error_ = float(pairs.values.sum())
        self._record(found, made, blocks)
        self.converged_ = self.certificate_.closed(max(float(self.tol), 1e-10))
        return self

    def _operator(self, blocks: Blocks) -> DataOperator:
        vertices = vertices_of(blocks)
        k = vertices.neighbours_of(type(self).__name__, int(self.n_neighbors))
        vertices, numbers = self._connected(vertices, k)
        n, k = numbers.shape
        w = barycentric_weights(vertices.rows, vertices.rows, numbers, float(self.reg))
        order = np.argsort(numbers, axis=1)
        columns = np.take_along_axis(numbers, order, axis=1).ravel()
        values = np.take_along_axis(w, order, axis=1).ravel()
        W = csr_array((values, columns, np.arange(0, n * k + 1, k)), shape=(n, n))
        R = (eye_array(n, format="csr") - W).tocsr()
        root = np.sqrt(vertices.mass)
        if not (root == root[0]).all():
            R = R.multiply(root[:, None]).multiply(1.0 / root).tocsr()
        return DataOperator(
            shift_inverted((R.T @ R).tocsr(), known=root[:, None]),
            BarycentricMemory(vertices.rows, k, float(self.reg)),
            vertices.mass,
            None if vertices.all_rows else vertices.members,
            numbers=vertices.numbers,
        )

    def _connected(self, vertices: Vertices, k: int) -> tuple[Vertices, Integers]:
        """The vertices of the largest component of their graph, and the neighbours of each."""
        n = len(vertices)
        found = EuclideanSearch(vertices.rows).nearest(vertices.rows, k + 1)
        numbers = without_own(*found, np.arange(n))[0]
        starts = np.arange(0, n * k + 1, k)
        parts = components_of(csr_array((np.ones(n * k), numbers.ravel(), starts), shape=(n, n)))
        if parts.count == 1:
            return vertices, numbers
        warn_disconnected(
            type(self).__name__,
            parts,
            "The largest is embedded, and the rows of the others are placed as new points",
            f"Raise n_neighbors={k} to join them.",
        )
        inside = parts.largest
        place = np.empty(n, np.int64)
        place[inside] = np.arange(len(inside))
        return vertices.chosen(inside), place[numbers[inside]]

    def _prove(self, A: Inverse, V: Floats) -> Certificate:
        """The residual by the inverse, of which eigenvalues lie apart."""
        V = V - A.known @ (A.known.T @ V)
        proof = LeadingSubspace(A, V.shape[1]).certify(V)
        error = float(np.einsum("ij,ij->", V, A.matrix @ V))
        return replace(proof, value=error, scale=V.shape[1] * error)

    @property
    def nbrs_(self) -> NearestNeighbors:
        """The neighbours of the rows of the fit."""
        check_is_fitted(self)
        return NearestNeighbors(n_neighbors=self.memory_.n_neighbors).fit(self.memory_.rows)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
