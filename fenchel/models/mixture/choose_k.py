"""How many clusters or components: held-out likelihood, BIC, and the length of a description.

likelihood   the mean of log p(x) over rows held out, p the Gaussian mixture of the clusters that
             k-means makes of the others, improved by EM if asked
bic          -2 log-likelihood + p log n, p parameters
penalty      nd/2 log(J/nd) - Σ nₖ log(nₖ/n) + p/2 log n, p = K(d + 1): what tells the rows by their
             labels and one variance, J the scatter within clusters; or J + λK for a λ that is given

The likelihood is compared row by row: of the numbers whose loss against the best is within one
standard error of itself, the least is chosen.

Reference: Smyth, Model selection for probabilistic clustering using cross-validated likelihood,
Stat. Comput. 10 (2000); Schwarz, Ann. Stat. 6 (1978); Celeux and Govaert, Gaussian parsimonious
clustering models, Pattern Recognit. 28 (1995), the classification likelihood of [λI].
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from fenchel.convex.convergence import NotCertified
from fenchel.data.arrays import is_sparse, to_numpy
from fenchel.data.blocks import Block, Blocks, one_blas_thread
from fenchel.data.in_memory import ArrayBlocks
from fenchel.models.cluster.kmeans import KMeans
from fenchel.models.mixture.gaussian import GaussianMixture
from fenchel.solve.minimise import minimise
from fenchel.solve.mixture.components import Kind, assigned, parameters
from fenchel.solve.mixture.em import ExpectationMaximisation, likelihood
from fenchel.solve.mixture.starts import of_labels
from fenchel.solve.mixture.whitening import dense

Floats = NDArray[np.float64]
Density = Callable[[Any], Floats]  # log p of rows
MOST = 10  # clusters or components that "auto" tries
FOLDS = 5
# Rows on which "auto" chooses: 10 clusters have 1600 each, and a pass over them takes milliseconds.
MOST_ROWS = 2**14
STEPS, GAIN = 100, 1e-3  # of EM, as GaussianMixture has them
FLOOR = 1e-6  # of covariances


def rows_to_choose_on(blocks: Blocks, most: int) -> ArrayBlocks:
    """The rows of positive weight, evenly spaced ones of a large table, in memory."""
    local = isinstance(blocks, ArrayBlocks) and blocks.n_rows <= most
    whole = (blocks if local else blocks.sample(most)).gather()
    X = whole.X if is_sparse(whole.X) else np.asarray(to_numpy(whole.X))
    if whole.weight is None:
        return ArrayBlocks(Block(0, X), blocks.names)
    s = np.asarray(to_numpy(whole.weight), np.float64)
    return ArrayBlocks(Block(0, X[s > 0.0], None, s[s > 0.0]), blocks.names)


def weight_of(rows: ArrayBlocks) -> Floats:
    """One number a row."""
    weight = rows.whole.weight
    return np.ones(rows.n_rows) if weight is None else np.asarray(weight, np.float64)


def part_of(rows: ArrayBlocks, chosen: NDArray[Any]) -> ArrayBlocks:
    """Some of the rows."""
    whole = rows.whole
    weight = None if whole.weight is None else whole.weight[chosen]
    return ArrayBlocks(Block(0, whole.X[chosen], None, weight), rows.names)


def with_count(model: Any, k: int) -> Any:
    """A fresh model of so many clusters or components."""
    name = "n_components" if isinstance(model, GaussianMixture) else "n_clusters"
    return clone(model).set_params(**{name: k})


def fold_codes(n: int, folds: int, seed: int) -> NDArray[np.int64]:
    """The fold of each row: of nearly equal sizes, drawn."""
    return np.random.default_rng(seed).permutation(np.arange(n) % min(folds, n))


def held_out(
    model: Any, rows: ArrayBlocks, counts: Sequence[int], folds: int, improve: bool, seed: int
) -> Floats:
    """log p of each row by the fit to the other folds, (n, len(counts)); -inf where those are fewer
    rows than clusters."""
    if rows.n_rows < 4:
        raise ValueError(f"a held-out likelihood needs 4 rows or more, got {rows.n_rows}")
    codes = fold_codes(rows.n_rows, folds, seed)
    found = np.full((rows.n_rows, len(counts)), -np.inf)
    for fold in range(int(codes.max()) + 1):
        test = np.flatnonzero(codes == fold)
        train = part_of(rows, np.flatnonzero(codes != fold))
        for j, k in enumerate(counts):
            if k <= train.n_rows:
                found[test, j] = density(model, train, k, improve)[0](rows.whole.X[test])
    return found


def bic_values(model: Any, rows: ArrayBlocks, counts: Sequence[int], improve: bool) -> Floats:
    """-2 log-likelihood + p log n, for each number."""
    s, X = weight_of(rows), rows.whole.X
    values = []
    for k in counts:
        logs, free = density(model, rows, k, improve)
        values.append(-2.0 * float(s @ logs(X)) + free * math.log(float(s.sum())))
    return np.array(values)


# Its matrices are small: threads of BLAS take longer to wake than to multiply.
@one_blas_thread()
def density(model: Any, rows: ArrayBlocks, k: int, improve: bool) -> tuple[Density, int]:
    """log p of rows by the mixture of `model` with k components, and how many parameters it has.

    Of k-means: shares, means and covariances of its clusters, and EM from there to improve it.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        fitted = with_count(model, k).fit(rows)
    if isinstance(fitted, GaussianMixture):
        kind: Kind = fitted.covariance_type
        return fitted.score_samples, parameters(kind, k, rows.n_cols)
    _, labels = np.unique(fitted.labels_, return_inverse=True)
    problem = likelihood(rows, "full", FLOOR, quiet=True)
    whitening, own = problem.whitening, int(labels.max()) + 1
    z = whitening.rows(rows.whole.X)
    point = of_labels("full", z, weight_of(rows), labels, own, FLOOR)
    if improve and own > 1:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotCertified)
            found = minimise(
                problem,
                ExpectationMaximisation(),
                tol=math.sqrt(2.0 * GAIN),
                max_steps=STEPS,
                start=point,
            )
        point = found.point

    def logs(X: Any) -> Floats:
        return assigned(point.joint_logs(whitening.rows(X)))[0] + whitening.log_determinant

    return logs, parameters("full", own, rows.n_cols)


def means_and_errors(logs: Floats, s: Floats) -> tuple[Floats, Floats]:
    """The mean of each column over rows, and the standard error of its loss against the best."""
    total = float(s.sum())
    whole = np.isfinite(logs).all(axis=0)
    finite = np.where(whole, logs, 0.0)
    means = np.where(whole, s @ finite / total, -np.inf)
    lost = finite[:, [int(np.argmax(means))]] - finite
    spread = s @ (lost - s @ lost / total) ** 2 / total
    return means, np.where(whole, np.sqrt(spread / max(total - 1.0, 1.0)), 0.0)


def least_within_error(means: Floats, errors: Floats) -> int:
    """The first place whose loss against the best is within its standard error."""
    return int(np.argmax(means >= means.max() - errors))


def clusterings(
    model: Any, rows: ArrayBlocks, counts: Sequence[int]
) -> tuple[list[NDArray[np.int64]], Floats]:
    """Labels of the rows for each number, and the scatter within the clusters."""
    labels = []
    for k in counts:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            fitted = with_count(model, k).fit(rows)
        found = fitted.labels_ if isinstance(fitted, KMeans) else fitted.predict(rows)
        labels.append(np.unique(found, return_inverse=True)[1].astype(np.int64))
    return labels, np.array([within(rows, one) for one in labels])


def within(rows: ArrayBlocks, labels: NDArray[np.int64]) -> float:
    """Σ s |x - m(c)|² with m(c) the mean of cluster c."""
    s, X = weight_of(rows), rows.whole.X
    total = 0.0
    for c in range(int(labels.max()) + 1):
        here = np.flatnonzero(labels == c)
        own, part = s[here], dense(X[here]).astype(np.float64)
        part = part - own @ part / own.sum()
        total += float(own @ np.einsum("ij,ij->i", part, part))
    return total


def description_lengths(
    scatter: Floats, labels: Sequence[NDArray[np.int64]], s: Floats, d: int
) -> Floats:
    """nd/2 log(J/nd) - Σ nₖ log(nₖ/n) + p/2 log n of each clustering, in nats."""
    n = float(s.sum())
    # A scatter of zero has no logarithm: rounding of the whole stands for it.
    least = np.finfo(np.float64).tiny + np.finfo(np.float64).eps * float(scatter.max())
    found = []
    for J, codes in zip(scatter, labels, strict=True):
        sizes = np.bincount(codes, s)
        entropy = -float(sizes @ np.log(sizes / n))
        spread = 0.5 * n * d * math.log(max(float(J), least) / (n * d))
        found.append(spread + entropy + 0.5 * len(sizes) * (d + 1) * math.log(n))
    return np.array(found)


def likely_components(model: Any, blocks: Blocks, rows: int) -> int:
    """The number of components, from 1 to 10, of the least BIC."""
    values = []
    for k in range(1, min(MOST, rows) + 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            values.append(clone(model).set_params(n_components=k).fit(blocks).bic(blocks))
    return int(np.argmin(values)) + 1


def likely_clusters(model: Any, blocks: Blocks, seed: int = 0) -> int:
    """The number of clusters, from 1 to 10, whose mixture tells held-out rows best."""
    rows = rows_to_choose_on(blocks, MOST_ROWS)
    if rows.n_rows < 4:
        return 1
    counts = range(1, min(MOST, rows.n_rows // 2) + 1)
    logs = held_out(model, rows, counts, FOLDS, False, seed)
    return counts[least_within_error(*means_and_errors(logs, weight_of(rows)))]
