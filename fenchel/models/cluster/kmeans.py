"""k-means: Lloyd's algorithm from several starts, exact, with bounds, and bounded itself."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_array

from fenchel.convex.certificate import Certificate, warn_outside
from fenchel.convex.partition.spectral_bounds import square_in_units
from fenchel.data.blocks import Block, Blocks, Totals
from fenchel.data.in_memory import ArrayBlocks
from fenchel.models.array_namespace import fit_method
from fenchel.models.cluster.bounds.best import BoundEffort, proved_clustering, search_of
from fenchel.models.cluster.centres import CentreClusterer, exponent_of, in_units
from fenchel.models.cluster.distinct import few_rows
from fenchel.models.cluster.lloyd import Lloyd, best_run
from fenchel.models.cluster.rows import cluster_rows, is_on_device, nearest_centres
from fenchel.models.cluster.running_means import RunningMeans
from fenchel.models.cluster.seeding import (
    kmeans_parallel,
    kmeans_plus_plus,
    plus_plus_on_device,
    random_rows,
)
from fenchel.models.estimator import as_numpy, validated_blocks

STARTS = 10  # of n_init="auto" where the start is not chosen with care
STARTING = {"k-means++", "plain-k-means++", "k-means||", "random"}


class KMeans(CentreClusterer):
    """k-means: centres that minimise the squared distances of the rows to the nearest of them.

    J(c) = Σᵢ sᵢ minⱼ ‖xᵢ - cⱼ‖²

    Lloyd's algorithm moves every centre to the mean of its rows until none changes; Hamerly's
    bounds tell of most rows without a look at them that theirs is the same. Labels are always those
    of a search among all float64 distances, ties to the lower number. J never rises.

    Parameters
    ----------
    n_clusters : int or "auto", default 8
        k. "auto": the number, from 1 to 10, whose Gaussian mixture tells held-out rows best
        (`choose_k`), or the least within one standard error of it.
    init : {"k-means++", "plain-k-means++", "k-means||", "random"}, array (k, d) or callable
        "k-means++", the default: greedy, each centre the best of 2 + ⌊ln k⌋ drawn.
        "plain-k-means++": one drawn for each; the start alone promises at most 8 (2 + ln k) times
        the optimum in expectation. "k-means||": from rows drawn in a few passes; "k-means++" and
        the plain form mean it too where rows are not in memory. A callable is given (X,
        n_clusters, random_state).
    n_init : "auto" or int
        Starts, of which the best is kept. "auto": 1, or 10 for "random" and callables.
    max_iter : int, default 300
    tol : float, default 1e-4
        Stop where the squared moves of all centres sum to at most tol times the mean variance of
        the columns; 0 for a fixed point.
    verbose : int
    random_state : int, RandomState or None, default 0
        A number makes fits repeatable; None draws anew.
    copy_x : ignored
        X is never changed.
    algorithm : {"lloyd", "elkan"}
        Both find the same fixed points, by the bounds that suit the shape of the table.
    empty : {"teleport", "drop"}
        What becomes of a centre without rows: it goes to the row that costs most in the cluster of
        highest energy, which never raises J at the next step, or it is dropped, and k with it.
    prove : bool or {"spectral", "auto", "sdp"}, default True
        Bound the optimum after the fit. True, "spectral": by the spectrum, a pass O(n d²).
        "auto": also by dual points of a semidefinite relaxation, in about a second. "sdp": with as
        much effort as `kmeans_lower_bound`, on large tables by random samples, whose bound holds
        with a confidence of 99 %. False: `certificate_` has the bound 0.

    Attributes
    ----------
    cluster_centers_ : array (k, d)
    labels_ : array (n,) of int32
    counts_ : array (k,)
        The mass Σ sᵢ of the rows of each centre.
    inertia_ : float
        J.
    start_values_ : array (n_init,)
        J at the end of each start, as `fenchel.show.restarts` draws it.
    n_iter_ : int
        Steps of the best start.
    n_reseeds_ : int
        Centres without rows that were moved, over those steps.
    converged_ : bool
        Whether no label changed in the last step: a fixed point.
    history_ : tuple of Certificate
        J before each step; the last is `certificate_`.
    certificate_ : Certificate
        Of kind "spectral": J, and a bound that no k centres can beat, the scatter outside the first
        k - 1 principal components. relative_gap 0.12 says that the optimum is at most 12 % below
        J, excess 0.12 that J is at most 12 % above it. Of kind "sdp" by a relaxation, and "exact"
        where J is 0 or the clustering is proved to be the best.
    running_means_ : array (k, d) of float64
        The centres after `partial_fit`, before rounding to the precision of X.
    n_clusters_ : int
        k, as found or chosen.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    A table with at most k different rows has them for its centres, and J is 0 exactly; with fewer
    than k there are fewer centres, and a warning says so. A row of integer weight counts as that
    many rows, also to the start; one of weight zero as none.

    References
    ----------
    Lloyd, IEEE Trans. Inf. Theory 28 (1982). Hamerly, Making k-means even faster, SDM (2010).
    Arthur and Vassilvitskii, k-means++, SODA (2007). Zha and others, Spectral relaxation for
    k-means clustering, NIPS (2001). Peng and Wei, Approximating k-means-type clustering via
    semidefinite programming, SIAM J. Optim. 18 (2007).

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import KMeans
    >>> X = np.array([[1.0, 2.0], [1.0, 4.0], [1.0, 0.0], [10.0, 2.0], [10.0, 4.0], [10.0, 0.0]])
    >>> model = KMeans(n_clusters=2).fit(X)
    >>> model.cluster_centers_[model.predict([[0.0, 0.0], [12.0, 3.0]])].tolist()
    [[1.0, 2.0], [10.0, 2.0]]
    >>> model.inertia_, round(model.certificate_.bound, 6)
    (16.0, 16.0)
    """

    counts_: NDArray[np.float64]
    history_: tuple[Certificate, ...]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions(STARTING), callable, "array-like"],
        "n_init": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "copy_x": ["boolean"],
        "algorithm": [StrOptions({"lloyd", "elkan"})],
        "empty": [StrOptions({"teleport", "drop"})],
        "prove": ["boolean", StrOptions({"spectral", "auto", "sdp"})],
    }

    def __init__(
        self,
        n_clusters: Any = 8,
        *,
        init: Any = "k-means++",
        n_init: Any = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        verbose: int = 0,
        random_state: Any = 0,
        copy_x: bool = True,
        algorithm: str = "lloyd",
        empty: str = "teleport",
        prove: Any = True,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.copy_x = copy_x
        self.algorithm = algorithm
        self.empty = empty
        self.prove = prove

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMeans:
        """Cluster the rows X; y is ignored."""
        given = validated_blocks(self, X, None, sample_weight)
        exponent = exponent_of(given)
        blocks = in_units(given, exponent)
        k = self._count(blocks)
        self.__dict__.pop("running_means_", None)
        few = few_rows(blocks, k)
        if few is not None:
            return self._leave_nothing(blocks, few, exponent, k)
        rows = cluster_rows(blocks)
        state = check_random_state(self.random_state)
        starts = (self._start(given, blocks, exponent, state, k) for _ in range(self._starts()))
        solver = Lloyd(shift=self.tol * rows.variance, teleport=self.empty == "teleport")
        best = best_run(rows, starts, solver, self.max_iter, self._show)
        J, solution, self.labels_ = best.value, best.solution, best.labels
        self.start_values_ = np.array([square_in_units(one, exponent) for one in best.values])
        memory = solution.state.memory
        self.cluster_centers_ = np.ldexp(solution.point, exponent).astype(blocks.dtype)
        self._describe(blocks)
        self.inertia_ = square_in_units(J, exponent)
        # The step that finds no label changed is one of its own, as scikit-learn counts.
        self.n_iter_ = max(1, min(solution.steps + int(memory.settled), self.max_iter))
        self.n_reseeds_, self.converged_ = memory.reseeds, bool(memory.settled)
        seen = solution.history[:-1]
        self._conclude(blocks, exponent, J, [one.value for one in seen], solution.certificate)
        return self

    @fit_method
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMeans:
        """Move the centres by one batch of rows: each to the mean of all rows it ever had.

        The first call draws the centres from its rows, as `fit` does; after `fit` the centres go on
        from there. `labels_` and `inertia_` are those of the batch, and nothing is proved.
        """
        first = "cluster_centers_" not in vars(self)
        given = validated_blocks(self, X, None, sample_weight, reset=first)
        known = np.empty((0, given.n_cols)) if first else self._running()
        exponent = exponent_of(given, known)
        blocks = in_units(given, exponent)
        rows = cluster_rows(blocks)
        if first:
            k = self._count(blocks)
            state = check_random_state(self.random_state)
            start = self._start(given, blocks, exponent, state, k).astype(np.float64)
            # Of fewer different rows than centres the others wait for a batch with more.
            start = np.concatenate([start, np.repeat(start[:1], k - len(start), axis=0)])
            means = RunningMeans(start, np.zeros(k))
            self.n_iter_ = self.n_reseeds_ = 0
        else:
            means = RunningMeans(np.ldexp(known, -exponent), as_numpy(self.counts_))
        means, sent = means.moved(rows)
        self.running_means_ = np.ldexp(means.centres, exponent)
        self.cluster_centers_ = self.running_means_.astype(blocks.dtype)
        rows.begin()
        self.labels_, energy = rows.labelled(means.centres.astype(blocks.dtype))
        self.counts_, self.n_clusters_ = means.mass, len(means.mass)
        self.inertia_ = square_in_units(float(energy.sum()), exponent)
        self.start_values_ = np.array([self.inertia_])
        self.n_iter_ += 1
        self.n_reseeds_ += sent
        self.converged_ = False
        self.certificate_ = Certificate(self.inertia_, 0.0, "estimate", steps=self.n_iter_)
        self.history_ = (self.certificate_,)
        return self

    def _running(self) -> NDArray[np.float64]:
        """The centres in float64."""
        known = vars(self).get("running_means_", self.cluster_centers_)
        return np.asarray(as_numpy(known), np.float64)

    def _count(self, blocks: Blocks) -> int:
        """k, which the rows must be enough for."""
        k, n = self.n_clusters, blocks.n_rows
        if isinstance(k, str):
            from fenchel.models.mixture.choose_k import likely_clusters

            if not isinstance(self.init, str):
                raise ValueError("n_clusters='auto' needs a named init: centres have a number")
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            plain = clone(self).set_params(prove=False, verbose=0)
            return likely_clusters(plain, blocks, seed)
        if k > n:
            raise ValueError(f"n_samples={n} should be >= n_clusters={k}: lower n_clusters")
        return int(k)

    def _describe(self, blocks: Blocks) -> None:
        """How many centres there are, and the mass of each."""
        k = self.n_clusters_ = len(self.cluster_centers_)

        def stat(block: Block) -> Totals:
            s = block.weight
            return Totals((None if s is None else np.asarray(as_numpy(s), np.float64),))

        weight = blocks.reduce(stat)[0]
        s = None if weight[0] is None else np.concatenate(weight)
        self.counts_ = np.bincount(self.labels_, s, minlength=k).astype(np.float64)

    @property
    def _proof_search(self) -> BoundEffort | None:
        return search_of("sdp" if self.prove == "sdp" else "auto")

    def _show(self, step: int, point: NDArray[Any], proof: Certificate) -> None:
        if self.verbose:
            print(f"Iteration {step}, inertia {proof.value}.")

    def _assigned(self, X: Any, exponent: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The nearest centre of each row, ties to the lower number."""
        C = as_numpy(self.cluster_centers_)
        return nearest_centres(X, np.ldexp(C, -exponent).astype(C.dtype))

    def _conclude(
        self, blocks: Blocks, exponent: int, J: float, values: list[float], last: Certificate
    ) -> None:
        """The history and the proof."""
        if self.prove:
            C = as_numpy(self.cluster_centers_)
            C = np.ldexp(C, -exponent).astype(C.dtype)
            proof = proved_clustering(blocks, C, J, exponent, search_of(self.prove))
        else:
            proof = Certificate(self.inertia_, 0.0, "spectral")
        self.certificate_ = replace(proof, steps=last.steps, seconds=last.seconds)
        before = [square_in_units(value, exponent) for value in values]
        self.history_ = (
            *(Certificate(J, 0.0, "estimate", steps=i) for i, J in enumerate(before)),
            self.certificate_,
        )

    def _leave_nothing(self, blocks: Blocks, few: NDArray[Any], exponent: int, k: int) -> KMeans:
        """As many centres as there are different rows."""
        if len(few) < k:
            warn_outside(
                f"Number of distinct clusters ({len(few)}) found smaller than n_clusters ({k}). "
                "Possibly due to duplicate points in X: there are as many centres as different "
                "rows",
                ConvergenceWarning,
            )
        few = few.astype(blocks.dtype)
        self.labels_, energy = cluster_rows(blocks).labelled(few)
        self.cluster_centers_ = np.ldexp(few, exponent)
        self._describe(blocks)
        self.inertia_ = square_in_units(float(energy.sum()), exponent)
        self.start_values_ = np.array([self.inertia_])
        self.n_iter_, self.n_reseeds_, self.converged_ = 1, 0, True
        self.certificate_ = Certificate(self.inertia_, 0.0, "exact")
        self.history_ = (self.certificate_,)
        return self

    def _starts(self) -> int:
        if isinstance(self.init, str) or callable(self.init):
            if self.n_init != "auto":
                return int(self.n_init)
            return STARTS if callable(self.init) or self.init == "random" else 1
        if self.n_init not in ("auto", 1):
            warnings.warn(
                "Explicit initial center position passed: performing only one init in "
                f"{type(self).__name__} instead of n_init={self.n_init}.",
                RuntimeWarning,
                stacklevel=3,
            )
        return 1

    def _start(
        self, given: Blocks, blocks: Blocks, exponent: int, state: Any, k: int
    ) -> NDArray[Any]:
        """The first centres, in the units and the precision of the blocks."""
        init = self.init
        if isinstance(init, str):
            rng = np.random.default_rng(state.randint(2**31 - 1, size=4))
            trials = 1 if init == "plain-k-means++" else None
            if init == "k-means||" or (init != "random" and not blocks.local):
                return np.asarray(kmeans_parallel(blocks, k, rng, trials), blocks.dtype)
            whole = _held(blocks)
            if init != "random" and is_on_device(whole):
                found = plus_plus_on_device(whole.whole.X, whole.whole.weight, k, rng, trials)
                if found is not None:
                    return np.asarray(found, blocks.dtype)
            X, weight = whole.whole.X, whole.whole.weight
            X = X if issparse(X) else as_numpy(X)
            s = None if weight is None else np.asarray(as_numpy(weight), np.float64)
            if init == "random":
                return np.asarray(random_rows(X, s, k, rng), blocks.dtype)
            return np.asarray(kmeans_plus_plus(X, s, k, rng, trials), blocks.dtype)
        if callable(init):
            init = init(given.gather().X, k, random_state=state)
        init = as_numpy(init.toarray() if issparse(init) else init)
        C = check_array(init, dtype=blocks.dtype, order="C", copy=True)
        if C.shape != (k, blocks.n_cols):
            raise ValueError(
                f"The shape of the initial centers {C.shape} does not match n_clusters={k} and "
                f"the {blocks.n_cols} features of X"
            )
        return np.asarray(np.ldexp(C, -exponent))


def _held(blocks: Blocks) -> ArrayBlocks:
    return blocks if isinstance(blocks, ArrayBlocks) else ArrayBlocks(blocks.gather(), blocks.names)
