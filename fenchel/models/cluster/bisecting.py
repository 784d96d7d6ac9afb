"""Bisecting k-means: divisive clustering, two parts at a time."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from fenchel.convex.certificate import Certificate, Kind, warn_outside
from fenchel.convex.partition.spectral_bounds import (
    lower_bound_in_units,
    scatter_bounds,
    square_in_units,
)
from fenchel.data.blocks import Blocks
from fenchel.models.array_namespace import fit_method
from fenchel.models.cluster.bisection_tree import BisectionTree
from fenchel.models.cluster.centres import CentreClusterer, exponent_of, in_units
from fenchel.models.cluster.division import Bisection, Division, RowSubset
from fenchel.models.cluster.rows import cluster_rows
from fenchel.models.estimator import validated_blocks

Floats = NDArray[np.float64]
MIN_GAIN = 0.01  # of the total scatter, which is then divided a hundred times at most


@dataclass
class _Leaf:
    """A node that may still be divided, and the division of it that was tried.

    whole: it is not to be divided.
    """

    node: int
    path: tuple[int, ...]
    piece: RowSubset
    energy: float
    mass: float
    whole: bool = False
    division: Division | None = None


class BisectingKMeans(CentreClusterer):
    """Divisive clustering: 2-means divides one cluster after another.

    J = Σ sᵢ ‖xᵢ - c(label)‖², which every division lowers by its gain. A cluster whose division
    would gain less than min_gain of the total scatter stays whole. The tree of all divisions is
    kept, and `cut` gives any level of it.

    Parameters
    ----------
    n_clusters : int or None, default None
        Stop at so many; None: where min_gain says.
    min_gain : float or None, default None
        The least gain of a division, as a share of the total scatter Σ sᵢ ‖xᵢ - mean‖². None: 0.01
        where n_clusters is None, else 0.
    init : {"k-means++", "random"}, default "k-means++"
        How 2-means begins.
    n_init : int, default 1
        Starts of each division, of which the best is kept.
    max_iter : int, default 300
        Steps of one division.
    tol : float, default 1e-4
        A division stops where the squared moves of both centres sum to at most tol times the mean
        variance of the columns of its rows; 0 for a fixed point.
    bisecting_strategy : {"biggest_inertia", "largest_cluster", "biggest_gain"}
        Which cluster is divided next: that of the largest J, of the most weight, or that whose
        division gains most, which divides each cluster once before it chooses.
    random_state : int, RandomState or None, default 0
    verbose : int
    copy_x : ignored
        X is never changed.
    algorithm : {"lloyd", "elkan"}
        Both find the same fixed points.
    prove : bool, default True
        Bound the optimum of every level after the fit, at the cost of a pass O(n d²).

    Attributes
    ----------
    cluster_centers_ : array (k, d)
    labels_ : array (n,) of int32
        Clusters are numbered from left to right in the tree; the heavier part of each division is
        on the left.
    inertia_ : float
        J.
    n_clusters_ : int
        k.
    tree_ : BisectionTree
    n_iter_ : int
        The most steps that a division took.
    history_ : tuple of Certificate
        J and its bound for 1 to k clusters.
    certificate_ : Certificate
        The last of these, as that of `KMeans`: no k centres cost less than the bound.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    A row goes down the tree, at each division to the nearer of the two centres; the centre of its
    cluster need not be the nearest of all. A row of integer weight counts as that many rows.

    References
    ----------
    Steinbach, Karypis and Kumar, A comparison of document clustering techniques, KDD Workshop on
    Text Mining (2000).

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import BisectingKMeans
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0], [20.0], [21.0]])
    >>> model = BisectingKMeans(min_gain=0.05).fit(X)
    >>> model.n_clusters_, model.inertia_
    (3, 1.5)
    >>> model.cut(2).labels_.tolist()
    [0, 0, 0, 0, 1, 1]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "min_gain": [Interval(Real, 0, 1, closed="both"), None],
        "init": [StrOptions({"k-means++", "random"})],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "bisecting_strategy": [StrOptions({"biggest_inertia", "largest_cluster", "biggest_gain"})],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "copy_x": ["boolean"],
        "algorithm": [StrOptions({"lloyd", "elkan"})],
        "prove": ["boolean"],
    }

    tree_: BisectionTree

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        min_gain: float | None = None,
        init: str = "k-means++",
        n_init: int = 1,
        max_iter: int = 300,
        tol: float = 1e-4,
        bisecting_strategy: str = "biggest_inertia",
        random_state: Any = 0,
        verbose: int = 0,
        copy_x: bool = True,
        algorithm: str = "lloyd",
        prove: bool = True,
    ) -> None:
        self.n_clusters = n_clusters
        self.min_gain = min_gain
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.bisecting_strategy = bisecting_strategy
        self.random_state = random_state
        self.verbose = verbose
        self.copy_x = copy_x
        self.algorithm = algorithm
        self.prove = prove

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> BisectingKMeans:
        """Cluster the rows X; y is ignored."""
        given = validated_blocks(self, X, None, sample_weight)
        least, most = self._limits(given.n_rows)
        exponent = exponent_of(given)
        blocks = in_units(given, exponent)
        seed = check_random_state(self.random_state).randint(2**31 - 1, size=4)
        grown = _Growth(blocks, self._bisection(), self.bisecting_strategy, seed)
        while len(grown.leaves) < most and grown.divide_next(least, self.verbose):
            pass
        k = len(grown.leaves)
        if self.n_clusters is not None and k < most and not self.min_gain:
            warn_outside(
                f"Number of distinct clusters ({k}) found smaller than n_clusters ({most}). "
                "Possibly due to duplicate points in X: there are as many clusters as different "
                "rows",
                ConvergenceWarning,
            )
        inertia = np.array([square_in_units(one, exponent) for one in grown.energy])
        self.tree_ = BisectionTree(
            np.ldexp(np.array(grown.centres), exponent).astype(blocks.dtype),
            np.array(grown.divided, np.int32),
            inertia,
            np.array(grown.mass),
        )
        levels = BisectionTree(
            self.tree_.centers, self.tree_.divided, np.array(grown.energy), self.tree_.mass
        ).levels()
        self.history_ = self._proofs(blocks, levels, exponent)
        self.labels_ = grown.labels(self.tree_.leaves())
        self.n_iter_ = max(1, grown.steps)
        self._read_tree()
        return self

    def cut(self, k: int) -> BisectingKMeans:
        """The fitted model of k clusters, before the later divisions."""
        check_is_fitted(self)
        tree = self.tree_.cut(k)
        model = copy(self)
        model.n_clusters = k
        model.labels_ = self.tree_.ancestors(k)[np.asarray(self.labels_)]
        model.tree_, model.history_ = tree, self.history_[:k]
        model._read_tree()
        return model

    def _limits(self, n: int) -> tuple[float, int]:
        """The least gain, as a share, and the most clusters."""
        k = self.n_clusters
        if k is None and self.min_gain == 0:
            raise ValueError(
                "min_gain=0 divides until every row is a cluster: give n_clusters, or a min_gain "
                "above 0"
            )
        if k is not None and k > n:
            raise ValueError(f"n_samples={n} should be >= n_clusters={k}: lower n_clusters")
        least = self.min_gain
        if least is None:
            least = MIN_GAIN if k is None else 0.0
        return float(least), n if k is None else int(k)

    def _bisection(self) -> Bisection:
        return Bisection(self.init, self.n_init, self.max_iter, self.tol)

    def _read_tree(self) -> None:
        """The attributes that follow from the tree and its proofs."""
        self.cluster_centers_ = self.tree_.centers[self.tree_.leaves()]
        self.n_clusters_ = self.tree_.n_clusters
        self.certificate_ = self.history_[-1]
        self.inertia_ = self.certificate_.value

    def _proofs(self, blocks: Blocks, levels: Floats, exponent: int) -> tuple[Certificate, ...]:
        if self.prove:
            bounds = scatter_bounds(blocks, tuple(range(len(levels))))
        else:
            bounds = (0.0,) * len(levels)
        found = []
        for J, bound in zip(levels.tolist(), bounds, strict=True):
            low = lower_bound_in_units(min(bound, J), exponent)
            kind: Kind = "exact" if J == 0.0 else "spectral"
            found.append(Certificate(square_in_units(J, exponent), low, kind))
        return tuple(found)

    def _assigned(self, X: Any, exponent: int) -> tuple[NDArray[np.int32], Floats]:
        """The cluster at which each row arrives in the tree."""
        return self.tree_.assigned(X, exponent)


class _Growth:
    """A tree that grows by a division at a time, in units of the blocks."""

    def __init__(
        self, blocks: Blocks, bisection: Bisection, strategy: str, seed: NDArray[Any]
    ) -> None:
        self.bisection, self.strategy = bisection, strategy
        self.entropy = [int(one) for one in seed]
        self.n_rows, self.steps = blocks.n_rows, 0
        rows = cluster_rows(blocks)
        root = RowSubset.all_rows(blocks, self._rng(()))
        centre = rows.middle.astype(blocks.dtype)
        self.centres, self.energy, self.mass = [centre], [0.0], [rows.mass]
        self.divided: list[int] = []
        self.leaves: list[_Leaf] = []
        energy = float(rows.labelled(centre[None, :])[1].sum())
        self._add(_Leaf(0, (), root, energy, rows.mass))

    def divide_next(self, least: float, verbose: int) -> bool:
        """Divide the next cluster whose division gains enough; False where there is none."""
        while True:
            able = [leaf for leaf in self.leaves if not leaf.whole]
            if self.strategy == "biggest_gain":
                for leaf in able:
                    self._try(leaf)
                able = [leaf for leaf in able if leaf.division is not None]
            if not able:
                return False
            leaf = max(able, key=self._rank)
            self._try(leaf)
            parts = leaf.division
            if parts is None:
                continue
            gain = max(leaf.energy - float(parts.energy.sum()), 0.0)
            if gain >= least * self.energy[0]:
                break
            leaf.whole = True
        self.leaves.remove(leaf)
        if verbose:
            print(f"Division {len(self.divided)} of node {leaf.node}, gain {gain}.")
        self.divided.append(leaf.node)
        for side in (0, 1):
            piece = leaf.piece.part(parts.labels == side, self._rng((*leaf.path, side, 1)))
            node = len(self.centres)
            self.centres.append(parts.centres[side])
            self.energy.append(0.0)
            self.mass.append(float(parts.mass[side]))
            self._add(
                _Leaf(node, (*leaf.path, side), piece, float(parts.energy[side]), self.mass[node])
            )
        return True

    def labels(self, order: NDArray[np.int32]) -> NDArray[np.int32]:
        """The cluster of each row of the table, by its place among the leaves."""
        found = np.empty(self.n_rows, np.int32)
        place = {int(node): i for i, node in enumerate(order)}
        for leaf in self.leaves:
            found[leaf.piece.numbers] = place[leaf.node]
        return found

    def _add(self, leaf: _Leaf) -> None:
        alike = leaf.piece.alike()
        if alike is not None:  # the mean of equal rows may differ from them by a rounding
            self.centres[leaf.node] = alike
            leaf.energy = 0.0
        leaf.whole = leaf.energy == 0.0
        self.energy[leaf.node] = leaf.energy
        self.leaves.append(leaf)

    def _try(self, leaf: _Leaf) -> None:
        if leaf.division is None:
            leaf.division = self.bisection.divide(leaf.piece, self._rng((*leaf.path, 0)))
            leaf.whole = leaf.division is None
        if leaf.division is not None:
            self.steps = max(self.steps, leaf.division.steps)

    def _rank(self, leaf: _Leaf) -> tuple[float, int]:
        """What the leaf to be divided has most of; ties to the earlier node."""
        if self.strategy == "largest_cluster":
            return leaf.mass, -leaf.node
        if self.strategy == "biggest_gain" and leaf.division is not None:
            return leaf.energy - float(leaf.division.energy.sum()), -leaf.node
        return leaf.energy, -leaf.node

    def _rng(self, path: tuple[int, ...]) -> np.random.Generator:
        """Of its own for each node, whatever was divided before."""
        return np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=path))
