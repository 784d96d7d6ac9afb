"""Spectral clustering: k-means on the rows of the leading eigenvectors of a graph of affinities.

    A = D^{-1/2} W D^{-1/2},  U its k leading eigenvectors,  yᵢ = uᵢ / |uᵢ|,  k-means on y₁ … yₙ

Reference: Ng, Jordan and Weiss, On spectral clustering: analysis and an algorithm, NIPS 14 (2002).
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from fenchel.convex.certificate import Certificate, warn_outside
from fenchel.data.arrays import to_numpy
from fenchel.data.blocks import Block, Blocks
from fenchel.geometry.graph.components import GraphComponents
from fenchel.models.array_namespace import as_known, fit_method
from fenchel.models.certificates.certified import SelfCertified
from fenchel.models.cluster.kmeans import KMeans
from fenchel.models.cluster.spectral.normalised_cut import cut_certificate
from fenchel.models.cluster.spectral.rounding import (
    NearestCentre,
    Rounding,
    cluster_qr,
    discretize,
    unit_rows,
)
from fenchel.models.estimator import Estimator, validated_blocks
from fenchel.models.manifold.affinity.fitted import OfAffinities
from fenchel.models.manifold.affinity.graph import NormalisedGraph
from fenchel.models.manifold.affinity.rule import AFFINITY, WIDTH, AffinityRule
from fenchel.models.manifold.vertices import warn_disconnected
from fenchel.models.spectral.eigenfunctions import Eigenfunctions, continued, eigenfunctions, placed
from fenchel.models.spectral.output_rows import rows_out, working_type
from fenchel.solve.eigen.leading import Eigenpairs
from fenchel.solve.eigen.residual import LeadingSubspace, lengths

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
TOLERANCE = 1e-9  # residual of eigenvectors, of eigen_tol="auto"
FINEST = 1e-12  # what rounding lets a residual reach
# Digits of the rows that k-means sees: its draws go by their values, and rounding must not choose.
DIGITS = 8


class Leading(NamedTuple):
    """The leading eigenpairs, the vertices where the eigenvectors are not all zero, and the
    eigenfunctions there."""

    pairs: Eigenpairs
    kept: Integers
    functions: Eigenfunctions


class SpectralClustering(OfAffinities, ClusterMixin, Estimator, SelfCertified):
    """Clusters between which affinities are small, whatever their shape.

    min over partitions  ncut = Σⱼ w(Cⱼ, rest) / vol(Cⱼ)

    relaxed to the leading eigenvectors of D^{-1/2} W D^{-1/2}, whose rows, made to length 1, are
    clustered by k-means (Ng, Jordan and Weiss).

    Parameters
    ----------
    n_clusters : int, default 8
        k.
    eigen_solver : {"arpack", "lobpcg", "amg"}, optional
        Accepted: the size and the graph choose.
    n_components : int, optional
        Eigenvectors that k-means is given; by default k. Rotations take k.
    random_state : int, RandomState or None, default 0
        Of the starts of k-means. A number makes fits repeatable.
    n_init : int, default 10
        Starts of k-means.
    gamma : float, "scale", "auto", "median" or None, default 1.0
        Of the kernel.
    affinity : str, function or kernel, default "rbf"
        As in `SpectralEmbedding`; a function is given two rows, and `kernel_params`.
    n_neighbors : int, default 10
        The row itself counts as one.
    eigen_tol : float or "auto"
        Residual of the eigenvectors, relative to |A| = 1; "auto": 1e-9.
    assign_labels : {"kmeans", "discretize", "cluster_qr"}
        "discretize": the rotation nearest to a partition, by turns (Yu and Shi). "cluster_qr": a
        rotation from k chosen rows (Damle, Minden and Ying). Neither draws random numbers.
    degree, coef0, kernel_params : of the kernel
    n_jobs : accepted
        `fenchel.threads` sets the number of threads.
    verbose : bool
    disconnected : {"largest", "join"}
        What becomes of a graph that is not connected, of which a warning gives the sizes. Up to k
        components have an eigenvector each; of more the k largest are the clusters, and the rows of
        others are placed as new points. "join": components of "nearest_neighbors" are joined by
        their shortest edges.
    prove : bool or "auto", default "auto"
        Whether the cut is bounded from below. Residuals do not prove that eigenvalues are the
        leading ones: a factorisation does. "auto": where it takes a moment (dense affinities of up
        to 3000 rows, graphs that few rows hold together), else by norms, which say something of
        wide kernels; True: at any cost; False: the bound is 0.

    Attributes
    ----------
    labels_ : array (n,) of int32
        0 for the cluster with the largest sum of degrees, and so on.
    affinity_matrix_ : array or CSR (m, m)
        Of the different rows that have weight; made anew when asked for.
    embedding_ : array (n, n_components)
        The rows of length 1 that are clustered.
    assignment_ : NearestCentre or NearestAxis
        What gives a row of length 1 its label: the centres of k-means, or a rotation.
    eigenvalues_, residuals_ : arrays (n_components,)
        λ, the largest first, and |Au - λu|.
    component_sizes_ : array of int
        How many different rows the components of the graph have, the largest first.
    relaxation_ : float
        k - Σ λⱼ of the eigenpairs found: below any cut into k if these are the leading ones, which
        residuals do not prove.
    coefficients_, memory_ : what `predict` takes to place new rows
    certificate_ : Certificate
        Of kind "spectral": the normalised cut of the labels, and a bound that no labels with as
        many clusters beat, rounding charged; 0 where nothing was proved. Of kind "exact" where the
        cut is 0.
    eigen_certificate_ : Certificate
        Of kind "eigen": minus the sum of the eigenvalues, and the largest residual.
    kmeans_certificate_ : Certificate
        Of the clusters of the rows of length 1, as `KMeans` gives it; not for other assignments.
    converged_ : bool
        Whether the eigenvectors and k-means did.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    `predict` continues the eigenfunctions to new rows by Nyström's formula, makes them to length 1
    and takes the nearest centre or axis. scikit-learn has none, and gives k-means the eigenvectors
    over √d without making their rows to length 1: labels agree where clusters are clear.

    Weights are numbers of copies, and equal rows are one row, with one label.

    References
    ----------
    Ng, Jordan and Weiss, On spectral clustering: analysis and an algorithm, NIPS 14 (2002). Shi and
    Malik, Normalized cuts and image segmentation, IEEE Trans. PAMI 22 (2000).

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import SpectralClustering
    >>> t = np.linspace(0.0, 2.0 * np.pi, 40, endpoint=False)
    >>> ring = np.stack([np.cos(t), np.sin(t)], axis=1)
    >>> X = np.concatenate([ring, 4.0 * ring])
    >>> model = SpectralClustering(2, gamma=2.0).fit(X)
    >>> len(set(model.labels_[:40])), len(set(model.labels_[40:])), len(set(model.labels_))
    (1, 1, 2)
    >>> c = model.certificate_
    >>> c.kind, 0.0 < c.bound <= c.value, bool((model.predict(X) == model.labels_).all())
    ('spectral', True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **AFFINITY,
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "gamma": WIDTH,
        "assign_labels": [StrOptions({"kmeans", "discretize", "cluster_qr"})],
        "degree": [Interval(Real, 0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kernel_params": [dict, None],
        "verbose": ["verbose"],
        "prove": ["boolean", StrOptions({"auto"})],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        eigen_solver: str | None = None,
        n_components: int | None = None,
        random_state: Any = 0,
        n_init: int = 10,
        gamma: float | str | None = 1.0,
        affinity: Any = "rbf",
        n_neighbors: int = 10,
        eigen_tol: float | str = "auto",
        assign_labels: str = "kmeans",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        verbose: int = False,
        disconnected: str = "largest",
        prove: bool | str = "auto",
    ) -> None:
        self.n_clusters = n_clusters
        self.eigen_solver = eigen_solver
        self.n_components = n_components
        self.random_state = random_state
        self.n_init = n_init
        self.gamma = gamma
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.eigen_tol = eigen_tol
        self.assign_labels = assign_labels
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.disconnected = disconnected
        self.prove = prove

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SpectralClustering:
        """Cluster the rows X, which have weight sample_weight; y is ignored."""
        blocks = validated_blocks(self, X, None, sample_weight)
        rule = self._rule()
        k, p = self._counts(blocks.n_rows)
        plain = rule.graph(blocks)
        if k > len(plain):
            warn_outside(
                f"Number of distinct clusters ({len(plain)}) found smaller than n_clusters ({k}): "
                "there are as many clusters as different rows",
                ConvergenceWarning,
            )
            k, p = len(plain), min(p, len(plain))
        parts = plain.components()
        self._warn(rule, parts, k)
        graph = plain.normalised()
        found = self._leading(graph, parts, min(p, len(graph)))
        values = found.pairs.values
        self.eigenvalues_, self.residuals_ = values, found.pairs.residuals
        # Later eigenvalues are no larger than the last.
        top = float(values[:k].sum()) + max(k - len(values), 0) * float(values[-1])
        self.relaxation_ = max(k - top, 0.0)
        self.eigen_certificate_ = found.pairs.certificate
        self.component_sizes_ = np.sort(parts.sizes)[::-1].astype(np.int64)
        self.coefficients_ = found.functions.coefficients
        self.memory_ = graph.memory.chosen(found.kept)
        self._assign(found, graph, k)
        self._label(found, graph, blocks)
        self.certificate_ = cut_certificate(
            graph, found.pairs.vectors, self.labels_[graph.vertices.members], self.prove
        )
        self._keep(rule, X, blocks.n_rows)
        return self

    def _counts(self, n: int) -> tuple[int, int]:
        """k and the number of eigenvectors."""
        k = int(self.n_clusters)
        p = k if self.n_components is None else int(self.n_components)
        if k > n:
            raise ValueError(f"n_samples={n} should be >= n_clusters={k}: lower n_clusters")
        return k, p if self.assign_labels == "kmeans" else k

    def _rule(self) -> AffinityRule:
        return AffinityRule(
            type(self).__name__,
            self.affinity,
            self.n_neighbors,
            self.gamma,
            self.disconnected,
            degree=self.degree,
            coef0=self.coef0,
            of_rows=True,
            parameters=self.kernel_params,
        )

    def _warn(self, rule: AffinityRule, parts: GraphComponents, k: int) -> None:
        if parts.count == 1:
            return
        text = "Each has an eigenvector of its own"
        if parts.count > k:
            text = f"The {k} largest are the clusters, and the others are placed as new points"
        remedy = "Lower gamma, or give affinities that join them."
        if rule.by_neighbours:
            remedy = "Raise n_neighbors, or take disconnected='join'."
        of = "neighbours" if rule.by_neighbours else "affinities"
        warn_disconnected(type(self).__name__, parts, text, remedy, of)

    def _leading(self, graph: NormalisedGraph, parts: GraphComponents, p: int) -> Leading:
        """p eigenpairs: the known ones of the components, of which no more than p are kept, and
        those after them."""
        n = len(graph)
        known = graph.indicators(parts)
        tol = TOLERANCE if self.eigen_tol == "auto" else max(float(self.eigen_tol), FINEST)
        V, values, converged = known, np.ones(parts.count), True
        if parts.count > p:
            largest = np.sort(np.argsort(-parts.sizes, kind="stable")[:p])
            V, values = known[:, largest], np.ones(p)
        elif parts.count < p:
            more = graph.leading(known, p - parts.count, tol)
            V = np.hstack([known, more.vectors])
            values, converged = np.concatenate([values, more.values]), more.converged
        problem = LeadingSubspace(graph.deflated(np.zeros((n, 0))), V.shape[1])
        images = problem.product(V)
        residuals = lengths(images - V * values) + problem.rounding
        proof = replace(problem.certify(V), value=-float(values.sum()))
        pairs = Eigenpairs(values, V, residuals, proof, converged)
        kept = np.flatnonzero((V != 0.0).any(axis=1)) if parts.count > p else np.arange(n)
        there = replace(pairs, vectors=V[kept])
        ones = np.ones(len(values))
        functions = eigenfunctions(there, scale=ones, measure=graph.measure[kept])
        return Leading(pairs, kept, functions)

    def _assign(self, found: Leading, graph: NormalisedGraph, k: int) -> None:
        """The rule from rows of length 1 to labels, the largest cluster first."""
        self.__dict__.pop("kmeans_certificate_", None)
        mass = graph.vertices.mass[found.kept]
        Y = unit_rows(found.functions.embedding)
        if self.verbose:
            print(f"Computing label assignment using {self.assign_labels}")
        closed = found.pairs.certificate.closed(1e-6)
        if self.assign_labels == "kmeans":
            means = KMeans(
                k, n_init=self.n_init, random_state=self.random_state, verbose=self.verbose
            ).fit(np.round(Y, DIGITS), sample_weight=mass)
            rule: Rounding = NearestCentre(means.cluster_centers_)
            self.kmeans_certificate_ = means.certificate_
            closed &= means.converged_
        else:
            # Of one copy of each row: a row of weight 2 has the rows of two.
            rows = found.pairs.vectors[found.kept] / np.sqrt(mass)[:, None]
            qr = self.assign_labels == "cluster_qr"
            rule = cluster_qr(rows) if qr else discretize(rows, Y, mass)
        self.converged_ = bool(closed)
        volume = np.bincount(rule(Y), graph.measure[found.kept], minlength=rule.count)
        # Rounding must not choose among equal ones.
        share = np.round(volume / volume.sum(), DIGITS)
        self.assignment_ = rule.in_order(np.argsort(-share, kind="stable"))

    def _label(self, found: Leading, graph: NormalisedGraph, blocks: Blocks) -> None:
        """Rows of length 1 and labels of all rows of the table."""
        numbers = graph.vertices.chosen(found.kept).numbers
        own, coefficients = found.functions.embedding, found.functions.coefficients
        Y = unit_rows(placed(numbers, own, self.memory_, coefficients, blocks))
        self.labels_ = self.assignment_(Y)
        self.embedding_ = Y.astype(working_type(blocks))

    def _directions(self, block: Block) -> Floats:
        """The eigenfunctions of each row, made to length 1."""
        return unit_rows(continued(self.memory_, to_numpy(as_known(self.coefficients_)), block))

    def predict(self, X: Any) -> Any:
        """The cluster of each row: of rows of the fit that in `labels_`."""
        check_is_fitted(self)
        blocks = validated_blocks(self, X, reset=False)
        return rows_out(X, blocks, lambda block: self.assignment_(self._directions(block)))

    def certify_on(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """The normalised cut of the graph of these rows by the labels that `predict` gives them,
        and a bound that no labels with as many clusters beat."""
        check_is_fitted(self)
        blocks = validated_blocks(self, X, None, sample_weight, reset=False)
        labels = np.concatenate([self.assignment_(self._directions(block)) for block in blocks])
        plain = self._rule().graph(blocks)
        parts = plain.components()
        graph = plain.normalised()
        codes = labels[graph.vertices.members]
        found = self._leading(graph, parts, len(np.unique(codes)))
        return cut_certificate(graph, found.pairs.vectors, codes, self.prove)
