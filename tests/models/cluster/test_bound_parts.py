"""What the bounds of k-means stand on: inequalities in expectation, draws, closed forms."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from oracles.cluster import line_optimum, optimum, partition_matrix
from oracles.geometry import squared_distances

from fenchel import KMeans
from fenchel.convex.partition.closed_form import is_optimal, low_rank_bound
from fenchel.data.intake import as_blocks
from fenchel.models.cluster.bounds.clustering import DualColumns, MeasuredClustering
from fenchel.models.cluster.bounds.parts import LabelledRows, RelaxationEffort, relaxation_bound
from fenchel.models.cluster.bounds.samples import Costs, samples_bound


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("n", "m", "k"), [(6, 3, 2), (6, 4, 2), (7, 4, 3), (5, 2, 1), (6, 5, 3)])
def test_samples_without_replacement_cost_no_more_than_their_share(seed, n, m, k):
    """E J(sample) / (m - 1) ≤ J / (n - 1), over all samples there are; equal for one cluster."""
    rng = np.random.default_rng(seed)
    X = np.round(3.0 * rng.normal(size=(n, 2)))
    if seed % 2:
        X[: n // 2] += 20.0
    values = [optimum(X[list(chosen)], k)[0] for chosen in combinations(range(n), m)]
    mean, best = sum(values, Fraction(0)) / len(values), optimum(X, k)[0]
    assert mean / (m - 1) <= best / (n - 1)
    if k == 1:
        assert mean / (m - 1) == best / (n - 1)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("k", [1, 2])
def test_samples_with_replacement_cost_no_more_than_their_share(seed, k):
    """E J(sample) / (m - 1) ≤ J / Σ s, each row drawn in proportion to its weight."""
    rng = np.random.default_rng(seed)
    X, s = np.round(3.0 * rng.normal(size=(4, 1))), rng.integers(1, 5, 4)
    mass, m = int(s.sum()), 3
    mean = Fraction(0)
    for chosen in product(range(4), repeat=m):
        chance = Fraction(int(np.prod(s[list(chosen)])), mass**m)
        mean += chance * optimum(X[list(chosen)], k)[0]
    best = optimum(X, k, s)[0]
    assert mean / (m - 1) <= best / mass
    if k == 1:
        assert mean / (m - 1) == best / mass


@pytest.mark.parametrize("weighted", [False, True])
def test_samples_are_drawn_in_proportion_to_what_they_cost(weighted):
    squares = np.array([0.0, 1.0, 4.0, 10.0, 2.0])
    s = np.array([1.0, 3.0, 1.0, 0.0, 2.0]) if weighted else None
    count = 60_000
    drawn = Costs(squares, s).draw(2, count, 0)
    rows = range(5)
    if weighted:
        chance = {(i, j): s[i] * s[j] * (squares[i] + squares[j]) for i in rows for j in rows}
    else:
        chance = {(i, j): squares[i] + squares[j] for i in rows for j in rows if i != j}
    total = sum(chance.values())
    for i, j in product(rows, rows):
        p = (chance.get((i, j), 0.0) + chance.get((j, i), 0.0)) / (1 + (i == j)) / total
        p = p if i != j else chance.get((i, i), 0.0) / total
        seen = ((drawn == [i, j]).all(axis=1) | (drawn == [j, i]).all(axis=1)).mean()
        assert abs(seen - p) <= 4.5 * np.sqrt(p / count) + 1e-9


@pytest.mark.parametrize("weighted", [False, True])
def test_samples_cover_the_optimum_as_often_as_promised(weighted):
    """For one cluster the mean of a sample is the optimum itself: nothing but the confidence keeps
    the bound below it."""
    rng = np.random.default_rng(11)
    n, size, count, trials = 200, 8, 25, 300
    X = rng.standard_exponential((n, 1)) ** 2
    s = rng.uniform(0.1, 3.0, n) if weighted else np.ones(n)
    middle = s @ X / s.sum()
    squares = ((X - middle) ** 2).sum(axis=1)
    best = float(s @ squares)
    costs = Costs(squares, s if weighted else None)
    wrong, tight = 0, []
    for seed in range(trials):
        rows = costs.draw(size, count, seed).ravel()
        held = LabelledRows(X[rows], None, np.zeros(len(rows), np.int64))
        bound = samples_bound(held, squares[rows], costs, 1, size, 0.9, RelaxationEffort())
        wrong += bound > best
        tight.append(bound / best)
    assert wrong <= 0.1 * trials + 3.0 * np.sqrt(0.1 * trials)
    assert np.mean(tight) > 0.6


def test_samples_of_more_clusters_stay_below_the_optimum_of_a_line():
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.normal(c, 1.0, 150) for c in (0.0, 5.0)])
    best, X = line_optimum(x, 2), x[:, None]
    model = KMeans(2, prove=False).fit(X)
    squares = ((X - model.cluster_centers_[model.labels_]) ** 2).sum(axis=1)
    costs = Costs(squares, None)
    for seed in range(5):
        rows = costs.draw(30, 40, seed).ravel()
        held = LabelledRows(X[rows], None, model.labels_[rows])
        bound = samples_bound(held, squares[rows], costs, 2, 30, 0.99, RelaxationEffort())
        assert 0.7 * best <= bound <= best


def naive_dual(X, s, labels, z):
    """B of the closed form, row by row, with the roots of the weights."""
    k, n = int(labels.max()) + 1, len(X)
    S = np.bincount(labels, s, minlength=k)
    mu = [s[labels == a] @ X[labels == a] / S[a] for a in range(k)]
    g = np.zeros((n, k))
    for i in range(n):
        a = labels[i]
        for b in range(k):
            if b != a:
                q = ((X[i] - mu[b]) ** 2).sum() - ((X[i] - mu[a]) ** 2).sum()
                g[i, b] = max(q - z * (S[a] + S[b]) / (S[a] * S[b]), 0.0)
    B = np.zeros((n, n))
    for i, j in product(range(n), range(n)):
        a, b = labels[i], labels[j]
        if a != b:
            both = (s[labels == a] @ g[labels == a, b]) * (s[labels == b] @ g[labels == b, a])
            if both > 0.0:
                B[i, j] = 0.5 * np.sqrt(S[a] * S[b] / both) * g[i, b] * g[j, a]
    return B * np.sqrt(np.outer(s, s))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("z", [0.0, 0.5, 3.0, 1e4])
def test_the_factored_bound_is_that_of_the_full_matrix(weighted, z):
    rng = np.random.default_rng(4)
    n, k = 40, 3
    X = rng.normal(size=(n, 2)) + 2.0 * rng.normal(size=(k, 2))[rng.integers(0, k, n)] + 100.0
    s = rng.uniform(0.5, 2.0, n) if weighted else np.ones(n)
    C = KMeans(k, n_init=3).fit(X, sample_weight=s).cluster_centers_
    blocks = as_blocks(X, weight=s if weighted else None)
    measured = MeasuredClustering.of(blocks, C)
    labels = squared_distances(X, C).argmin(axis=1)
    unit = 2.0**-measured.rows.exponent
    scale = float(np.linalg.eigvalsh(measured.within)[-1])
    pairs = np.argwhere(~np.eye(k, dtype=bool))
    harmonic = np.array([[a * b / (a + b) for b in measured.mass] for a in measured.mass])
    columns = DualColumns(measured.rows, measured.means, pairs, z * scale / harmonic)
    R = blocks.reduce(columns).R
    found = low_rank_bound(R, 2, pairs, measured.mass, k, 1e-15)
    B = naive_dual(X, s * unit, labels, z * scale)
    u = np.sqrt(s * unit)
    M = 0.5 * squared_distances(X, X) * np.outer(u, u) - B
    q = u / np.linalg.norm(u)
    P = np.eye(n) - np.outer(q, q)
    values = np.linalg.eigvalsh(P @ M @ P)
    naive = q @ M @ q + np.minimum(values[: k - 1], 0.0).sum()
    assert found == pytest.approx(naive, rel=1e-9, abs=1e-9 * abs(q @ M @ q))


def test_a_proof_of_optimality_is_that_of_the_full_matrix():
    """The same condition as on the whole n x n matrix: S ⪰ 0 and SZ = 0."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(60, 3)) + 12.0 * np.eye(3)[np.arange(60) % 3]
    C = np.array([X[j::3].mean(axis=0) for j in range(3)])
    measured = MeasuredClustering.of(as_blocks(X), C)
    geometry = measured.geometry(as_blocks(X))
    assert geometry is not None and is_optimal(geometry)
    labels = np.arange(60) % 3
    z = float(np.linalg.eigvalsh(measured.within)[-1]) * 1.5
    s = np.ones(60)
    B = naive_dual(X, s, labels, z)
    y = ((X - C[labels]) ** 2).sum(axis=1) + z / 20.0
    S = 0.5 * squared_distances(X, X) + z * np.eye(60) - 0.5 * (y[:, None] + y) - B
    assert np.linalg.eigvalsh(S)[0] >= -1e-9
    np.testing.assert_allclose(S @ partition_matrix(labels), 0.0, atol=1e-9)
    # A row that is nearer to another cluster spoils it.
    spoilt = X.copy()
    spoilt[0] = X[1]
    far = MeasuredClustering.of(as_blocks(spoilt), C)
    other = far.geometry(as_blocks(spoilt))
    assert other is None or not is_optimal(other) or relaxation_bound(
        LabelledRows(spoilt, None, labels), 3, RelaxationEffort()
    ) <= far.cost * (1.0 + 1e-9)  # fmt: skip


def test_overlapping_clusters_are_not_proved():
    rng = np.random.default_rng(9)
    X = rng.normal(size=(300, 2)) + 2.0 * np.eye(2)[np.arange(300) % 2]
    model = KMeans(2, prove="auto").fit(X)
    assert model.certificate_.kind == "sdp" and model.certificate_.relative_gap > 1e-3
