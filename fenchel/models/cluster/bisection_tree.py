"""A tree of bisections: what divisive clustering keeps of its steps.

Step t divides a leaf in two, which are the nodes 2t + 1 and 2t + 2; node 0 is the whole table. The
leaves after the first k - 1 steps are k clusters, each a union of the final ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import is_sparse
from fenchel.data.display.result_table import Tabular
from fenchel.models.cluster.rows import nearest_centres
from fenchel.models.estimator import as_numpy

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BisectionTree(Tabular):
    """The clusters of every level of a divisive clustering.

    Attributes
    ----------
    centers : array (2k - 1, d)
        Of every node.
    divided : array (k - 1,) of int32
        The node that each step divides.
    inertia : array (2k - 1,)
        Σ sᵢ ‖xᵢ - c‖² over the rows of each node: no part has more than the whole.
    mass : array (2k - 1,)
        Σ sᵢ.
    """

    centers: NDArray[Any]
    divided: NDArray[np.int32]
    inertia: Floats
    mass: Floats

    @property
    def n_clusters(self) -> int:
        return len(self.divided) + 1

    @property
    def parts(self) -> NDArray[np.int32]:
        """The two nodes into which each node is divided, (2k - 1, 2); -1 for leaves."""
        found = np.full((len(self.centers), 2), -1, np.int32)
        found[self.divided] = np.arange(1, len(self.centers), dtype=np.int32).reshape(-1, 2)
        return found

    def leaves(self) -> NDArray[np.int32]:
        """The nodes that are clusters, from left to right."""
        parts, waiting, found = self.parts, [0], []
        while waiting:
            node = waiting.pop()
            left, right = parts[node].tolist()
            if left < 0:
                found.append(node)
            else:
                waiting += [right, left]
        return np.array(found, np.int32)

    def cut(self, k: int) -> BisectionTree:
        """The tree of the first k - 1 steps."""
        if not 1 <= k <= self.n_clusters:
            raise ValueError(
                f"k={k} must lie between 1 and the tree's {self.n_clusters} clusters: fit with a "
                "larger n_clusters or a smaller min_gain for more"
            )
        m = 2 * k - 1
        return BisectionTree(
            self.centers[:m], self.divided[: k - 1], self.inertia[:m], self.mass[:m]
        )

    def ancestors(self, k: int) -> NDArray[np.int32]:
        """For each cluster, the number of that one of k clusters which holds it."""
        top = self.cut(k).leaves()
        place = np.full(len(self.centers), -1, np.int32)
        place[top] = np.arange(k)
        for step in range(k - 1, len(self.divided)):
            place[2 * step + 1 : 2 * step + 3] = place[self.divided[step]]
        return place[self.leaves()]

    def levels(self) -> Floats:
        """J of one cluster, of two, and so on."""
        leaf = np.zeros(len(self.centers), bool)
        leaf[0] = True
        found = [float(self.inertia[0])]
        for step, node in enumerate(self.divided.tolist()):
            leaf[node], leaf[2 * step + 1 : 2 * step + 3] = False, True
            found.append(float(self.inertia[leaf].sum()))
        return np.array(found)

    def assigned(self, X: Any, exponent: int) -> tuple[NDArray[np.int32], Floats]:
        """The cluster of each row and d² to its centre, of rows in units of 2^exponent: at each
        division the nearer of the two centres, ties to the left."""
        rows = X if is_sparse(X) else as_numpy(X)
        C = np.ldexp(self.centers, -exponent).astype(self.centers.dtype)
        squares = nearest_centres(rows, C[:1])[1]
        inside = {0: np.arange(rows.shape[0])}
        for step, node in enumerate(self.divided.tolist()):
            at = inside.pop(node)
            first = 2 * step + 1
            inside[first] = inside[first + 1] = at
            if len(at):
                nearer, squares[at] = nearest_centres(rows[at], C[first : first + 2])
                inside[first], inside[first + 1] = at[nearer == 0], at[nearer == 1]
        labels = np.empty(rows.shape[0], np.int32)
        for number, node in enumerate(self.leaves().tolist()):
            labels[inside[node]] = number
        return labels, squares

    def columns(self) -> dict[str, Any]:
        """A row for each step: the node divided, its inertia, what the division takes off, and the
        masses of the two parts."""
        inside = self.inertia[1:].reshape(-1, 2).sum(axis=1)
        mass = self.mass[1:].reshape(-1, 2)
        whole = self.inertia[self.divided]
        return {
            "node": self.divided,
            "inertia": whole,
            "gain": np.maximum(whole - inside, 0.0),
            "left": mass[:, 0],
            "right": mass[:, 1],
        }

    def caption(self) -> str:
        J = self.levels()
        return f"{self.n_clusters} clusters by bisection: J falls from {J[0]:.4g} to {J[-1]:.4g}."
