"""What the parameter `affinity` of an estimator means: the graph that it makes of some rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

from sklearn.metrics.pairwise import chi2_kernel
from sklearn.utils._param_validation import Interval, StrOptions

from fenchel.convex.certificate import warn_outside
from fenchel.data.arrays import is_sparse
from fenchel.data.blocks import Blocks
from fenchel.geometry.bandwidth import bandwidth_fault
from fenchel.geometry.kernel.named_kernel import GAMMAS, NAMES, FunctionOfTables, named_kernel
from fenchel.geometry.kernel.vector_kernels import KernelFunction
from fenchel.models.estimator import as_numpy
from fenchel.models.manifold.affinity.by_kernel import TableAffinity, kernel_graph
from fenchel.models.manifold.affinity.by_neighbours import distance_graph, neighbour_graph
from fenchel.models.manifold.affinity.given import given_graph
from fenchel.models.manifold.affinity.graph import AffinityGraph
from fenchel.models.manifold.affinity.random_walk import row_keys
from fenchel.models.manifold.vertices import Vertices, vertices_of

NEIGHBOURS = ("nearest_neighbors", "precomputed_nearest_neighbors")
GIVEN = ("precomputed", "precomputed_nearest_neighbors")
# scikit-learn's n/10 neighbours, of which the row itself is one, leave fewer than 20 rows without
# an edge, and fewer than 50 in pieces.
FEWEST = 5

AFFINITY: dict[str, list[Any]] = {
    "affinity": [
        StrOptions({*NAMES, *NEIGHBOURS, *GIVEN, "chi2"}),
        KernelFunction,
        callable,
    ],
    "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
    "eigen_solver": [StrOptions({"arpack", "lobpcg", "amg"}), None],
    "eigen_tol": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
    "random_state": ["random_state"],
    "n_jobs": [None, Integral],
    "disconnected": [StrOptions({"largest", "join"})],
}
WIDTH: list[Any] = [Interval(Real, 0, None, closed="left"), StrOptions(set(GAMMAS)), None]


@dataclass(frozen=True, slots=True, eq=False)
class AffinityRule:
    """How an estimator, of this name, makes affinities: its parameters."""

    name: str
    affinity: Any
    n_neighbors: int | None
    gamma: Any
    disconnected: str
    degree: float = 3
    coef0: float = 1.0
    of_rows: bool = False  # whether a function takes two rows, and not tables
    parameters: dict[str, Any] | None = field(default=None, repr=False)

    @property
    def by_neighbours(self) -> bool:
        return isinstance(self.affinity, str) and self.affinity in NEIGHBOURS

    @property
    def given(self) -> bool:
        """Whether rows hold affinities or distances."""
        return isinstance(self.affinity, str) and self.affinity in GIVEN

    @property
    def given_affinities(self) -> bool:
        """Whether they are affinities."""
        return isinstance(self.affinity, str) and self.affinity == "precomputed"

    def neighbours(self, n: int) -> int:
        """n_neighbors, or what None means of n rows."""
        if self.n_neighbors is not None:
            return int(self.n_neighbors)
        return min(max(n // 10, FEWEST), n)

    def graph(self, blocks: Blocks) -> AffinityGraph:
        """The graph of the different rows that have weight."""
        if self.disconnected == "join" and self.affinity != "nearest_neighbors":
            raise ValueError(
                f"{self.name}: disconnected='join' joins rows by their distances, and takes "
                f"affinity='nearest_neighbors', got affinity={self.affinity!r}"
            )
        if self.given:
            # Rows at the same distances are at distance zero; with the same affinities they may be
            # twins that have none with each other.
            alike = not self.given_affinities
            vertices = vertices_of(blocks, given=True, alike=alike, dense=False)
            X = blocks.gather().X
            keys = row_keys(X if is_sparse(X) else as_numpy(X))
            if X.shape[0] != X.shape[1]:
                raise ValueError(
                    f"Precomputed matrix must be square. Input is a {X.shape[0]}x{X.shape[1]} "
                    f"matrix of {'affinities' if self.affinity == 'precomputed' else 'distances'}."
                )
            self._refuse_few(vertices)
            if self.affinity == "precomputed":
                return given_graph(vertices, keys)
            count = self._others(self.neighbours(len(vertices)))
            return distance_graph(vertices, count, keys)
        if self.affinity == "nearest_neighbors":
            vertices = vertices_of(blocks)
            self._refuse_few(vertices)
            count = self._others(self.neighbours(vertices.n_rows))
            k = vertices.neighbours_of(self.name, count, itself=1)
            return neighbour_graph(vertices, k, self.disconnected == "join")
        vertices = vertices_of(blocks, dense=False)
        self._refuse_few(vertices)
        kernel = self.kernel(blocks)
        fault = bandwidth_fault(kernel, blocks)
        if fault is not None:
            warn_outside(f"{self.name}: {fault}", UserWarning)
        return kernel_graph(kernel, vertices)

    def kernel(self, blocks: Blocks) -> KernelFunction:
        """The kernel of a name, or of a function."""
        affinity = self.affinity
        if callable(affinity) and not isinstance(affinity, KernelFunction) and not self.of_rows:
            return TableAffinity(affinity)
        if isinstance(affinity, str) and affinity == "chi2":
            gamma = 1.0 if self.gamma is None else float(self.gamma)
            return FunctionOfTables(lambda A, B: chi2_kernel(A, B, gamma=gamma))
        return named_kernel(
            affinity,
            blocks,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            parameters=self.parameters,
        )

    def _refuse_few(self, vertices: Vertices) -> None:
        if len(vertices) < 2:
            raise ValueError(
                f"{self.name}: affinities are between different rows, and n_samples="
                f"{vertices.n_rows} rows are {len(vertices)} different ones with weight: add rows"
            )

    def _others(self, n_neighbors: int) -> int:
        if n_neighbors < 2:
            raise ValueError(
                f"{self.name}: n_neighbors={n_neighbors} counts the row itself, and leaves it "
                "without a neighbour: give at least 2"
            )
        return n_neighbors
