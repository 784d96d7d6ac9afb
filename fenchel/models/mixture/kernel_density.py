"""Kernel density estimation."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from fenchel.convex.certificate import warn_outside
from fenchel.data.arrays import to_numpy
from fenchel.data.blocks import Block
from fenchel.data.validation import check_weight
from fenchel.geometry.density.profiles import (
    EXPONENTIAL_LIKE,
    NORMS,
    PROFILES,
    draws,
    log_normaliser,
)
from fenchel.geometry.density.sums import KernelSums
from fenchel.geometry.tiles import fold_pairs
from fenchel.models.array_namespace import fit_method
from fenchel.models.estimator import Estimator
from fenchel.models.mixture.density import dense_rows
from fenchel.solve.mixture.whitening import dense

Floats = NDArray[np.float64]
# The grid of bandwidth="loo", as multiples of σ n^{-1/(d+4)}: 25 steps of a fifth, from 1/20 to 4.
GRID = np.geomspace(0.05, 4.0, 25)


class KernelDensity(DensityMixin, Estimator):
    """A kernel density estimate: p(x) = Σⱼ sⱼ k(‖x - xⱼ‖/h) / (hᵈ c Σ s), c the integral of k(‖x‖).

    k(u): gaussian e^{-u²/2}, exponential e^{-u}; for u < 1 tophat 1, epanechnikov 1 - u², linear
    1 - u, cosine cos(πu/2). Every row is compared with every training row, in tiles, in float64:
    the answer is off by rounding alone, and so within any `atol` and `rtol`. Rows far from all of
    the training rows keep their log-density: nothing underflows. Cost O(n m d).

    Parameters
    ----------
    bandwidth : float, "scott", "silverman", "loo" or array of bandwidths, default 1.0
        "scott", "silverman": scikit-learn's numbers n^{-1/(d+4)} and (n (d + 2)/4)^{-1/(d+4)}, for
        columns of variance one. "loo": the largest leave-one-out log-likelihood over 25 bandwidths
        in the unit of the rows; an array: over these. All are tried in one pass over the pairs.
    algorithm : "auto", "kd_tree" or "ball_tree"
        Ignored: the answer is the exact one.
    kernel : str, default "gaussian"
    metric : "euclidean", "manhattan" or "chebyshev"
        The norm. The density integrates to one for each, which scikit-learn's does for the first
        alone.
    atol, rtol, breadth_first, leaf_size, metric_params : ignored

    Attributes
    ----------
    bandwidth_ : float
    bandwidths_, loo_scores_ : arrays
        What was tried, and the mean leave-one-out log-likelihood of a row; None without a choice.
    rows_ : array (n, d)
        The training rows of positive weight.
    weights_ : array (n,)
    n_features_in_, feature_names_in_

    Notes
    -----
    Rows that stand twice in the table make the leave-one-out likelihood grow without bound as h
    goes to 0; a warning says so where the choice is the least or the largest bandwidth tried.

    References
    ----------
    Silverman, Density Estimation for Statistics and Data Analysis (1986). Habbema, Hermans and van
    den Broek, A stepwise discriminant analysis program using density estimation, COMPSTAT (1974).

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import KernelDensity
    >>> X = np.array([[0.0], [1.0]])
    >>> model = KernelDensity(bandwidth=0.5).fit(X)
    >>> model.score_samples([[0.5], [100.0]]).round(3).tolist()
    [-0.726, -19602.919]
    """

    bandwidths_: Floats | None
    loo_scores_: Floats | None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "bandwidth": [
            Interval(Real, 0, None, closed="neither"),
            StrOptions({"scott", "silverman", "loo"}),
            "array-like",
        ],
        "algorithm": [StrOptions({"auto", "kd_tree", "ball_tree"})],
        "kernel": [StrOptions(set(PROFILES))],
        "metric": [StrOptions(set(NORMS))],
        "atol": [Interval(Real, 0, None, closed="left")],
        "rtol": [Interval(Real, 0, None, closed="left")],
        "breadth_first": ["boolean"],
        "leaf_size": [Interval(Real, 1, None, closed="left")],
        "metric_params": [None, dict],
    }

    def __init__(
        self,
        *,
        bandwidth: Any = 1.0,
        algorithm: str = "auto",
        kernel: str = "gaussian",
        metric: str = "euclidean",
        atol: float = 0,
        rtol: float = 0,
        breadth_first: bool = True,
        leaf_size: int = 40,
        metric_params: Any = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.algorithm = algorithm
        self.kernel = kernel
        self.metric = metric
        self.atol = atol
        self.rtol = rtol
        self.breadth_first = breadth_first
        self.leaf_size = leaf_size
        self.metric_params = metric_params

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelDensity:
        """Keep the rows, and choose the bandwidth; y is ignored."""
        block = dense_rows(self, X, sample_weight, reset=True).gather()
        rows = np.array(dense(block.X))
        if rows.dtype.kind != "f":
            rows = rows.astype(np.float64)
        s = (
            np.ones(len(rows))
            if block.weight is None
            else np.array(to_numpy(block.weight), np.float64)
        )
        self.rows_, self.weights_ = rows[s > 0.0], s[s > 0.0]
        n, d = float(self.weights_.sum()), rows.shape[1]
        self.bandwidths_ = self.loo_scores_ = None
        if isinstance(self.bandwidth, str) and self.bandwidth == "scott":
            self.bandwidth_ = n ** (-1.0 / (d + 4.0))
        elif isinstance(self.bandwidth, str) and self.bandwidth == "silverman":
            self.bandwidth_ = (n * (d + 2.0) / 4.0) ** (-1.0 / (d + 4.0))
        elif isinstance(self.bandwidth, Real):
            self.bandwidth_ = float(self.bandwidth)
        else:
            self._choose(n)
        return self

    def _choose(self, n: float) -> None:
        """The bandwidth of the largest leave-one-out likelihood."""
        if len(self.rows_) < 2 and n < 2.0:
            raise ValueError("leave-one-out needs 2 rows or more, got n_samples = 1")
        d, given = self.rows_.shape[1], not isinstance(self.bandwidth, str)
        if given:
            grid = np.array(self.bandwidth, np.float64).ravel()
            if not len(grid) or not (np.isfinite(grid) & (grid > 0.0)).all():
                raise ValueError("bandwidth is a grid, and all of its numbers must be positive")
        else:
            # A kernel of bounded support has a variance of about h²/(d + 4) in each direction.
            wide = 1.0 if self.kernel in EXPONENTIAL_LIKE else math.sqrt(d + 4.0)
            grid = wide * self._spread() * n ** (-1.0 / (d + 4.0)) * GRID
        scores = self._leave_one_out(grid, n)
        while not given and not np.isfinite(scores).any():  # some row is far from all others
            grid = 4.0 * grid
            scores = self._leave_one_out(grid, n)
        best = int(np.argmax(scores))
        if not np.isfinite(scores[best]):
            raise ValueError(
                "at every bandwidth of the grid some row has no other near it: try larger ones, or "
                "kernel='gaussian'"
            )
        if len(grid) > 1 and grid[best] in (grid.min(), grid.max()):
            end = "least" if grid[best] == grid.min() else "largest"
            remedy = "rows may stand twice in the table" if end == "least" else "rows may be few"
            warn_outside(
                f"the {end} bandwidth tried, {grid[best]:.3g}, has the largest leave-one-out "
                f"likelihood: {remedy}; pass a wider grid or a number",
                UserWarning,
            )
        self.bandwidths_, self.loo_scores_ = grid, scores
        self.bandwidth_ = float(grid[best])

    def _leave_one_out(self, grid: Floats, n: float) -> Floats:
        """The mean log-likelihood of a row by all others, for each bandwidth."""
        logs = self._logs(self.rows_, grid, True)
        logs -= np.log1p(-np.minimum(1.0, self.weights_) / n)[:, None]  # of the weight that is left
        return _means(self.weights_, logs)

    def _spread(self) -> float:
        """The root of the mean variance of the columns; 1 for equal rows."""
        exponent = self._exponent()
        V = np.ldexp(self.rows_.astype(np.float64), -exponent)
        V = V - V[0]
        mean = (self.weights_ @ V) / self.weights_.sum()
        variance = float(((self.weights_ @ (V - mean) ** 2) / self.weights_.sum()).mean())
        return math.ldexp(math.sqrt(variance), exponent) if variance > 0.0 else 1.0

    def _exponent(self) -> int:
        """A power of two that keeps the squares of the rows in range."""
        return math.frexp(float(np.abs(self.rows_).max(initial=0.0)))[1]

    def _logs(self, X: Any, bandwidths: Floats, leave_one_out: bool = False) -> Floats:
        """log p of rows at several bandwidths, (n, G), in units that keep squares in range."""
        norm, e = NORMS[self.metric], self._exponent()
        kernel: Any = self.kernel
        fold = KernelSums(kernel, norm, np.ldexp(bandwidths, -e), self.weights_, leave_one_out)
        points = np.ldexp(self.rows_.astype(np.float64), -e)
        rows = points if leave_one_out else np.ldexp(np.asarray(X, np.float64), -e)
        logs = fold_pairs(rows, points, fold)
        whole = math.log(float(self.weights_.sum()))
        return logs - log_normaliser(kernel, norm, points.shape[1], bandwidths) - whole

    def score_samples(self, X: Any) -> Any:
        """log p(x) of each row; -inf where a kernel of bounded support leaves nothing."""
        check_is_fitted(self)
        blocks = dense_rows(self, X)
        h = np.array([self.bandwidth_])

        def of(block: Block) -> tuple[Any, ...]:
            return (self._logs(dense(block.X), h)[:, 0],)

        parts = [of(block)[0] for block in blocks] if blocks.local else blocks.reduce(of)
        found = np.concatenate(parts)
        return found.astype(blocks.dtype, copy=False)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Σ sᵢ log p(xᵢ), the log-likelihood of all rows together, as in scikit-learn."""
        logs = np.asarray(self.score_samples(X), np.float64)
        if sample_weight is None:
            return float(logs.sum())
        return float(check_weight(sample_weight, len(logs)) @ logs)

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Floats:
        """Rows drawn from the estimate, for every kernel and norm."""
        check_is_fitted(self)
        if n_samples < 1:
            raise ValueError(f"n_samples={n_samples}: draw at least one sample")
        rng = check_random_state(random_state)
        line = np.cumsum(self.weights_)
        places = np.searchsorted(line, rng.uniform(size=n_samples) * line[-1], side="right")
        kernel: Any = self.kernel
        noise = draws(kernel, NORMS[self.metric], n_samples, self.rows_.shape[1], rng)
        chosen = self.rows_[np.minimum(places, len(line) - 1)].astype(np.float64)
        return np.asarray(chosen + self.bandwidth_ * noise)


def _means(weight: Floats, logs: Floats) -> Floats:
    """Weighted means of columns, -inf where a row of theirs is."""
    finite = np.isfinite(logs)
    sums = weight @ np.where(finite, logs, 0.0) / weight.sum()
    return np.asarray(np.where(finite.all(axis=0), sums, -np.inf))
