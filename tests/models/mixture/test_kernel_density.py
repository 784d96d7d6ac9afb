"""Kernel densities: against the peer, integrals, leave-one-out by its definition, draws."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from sklearn.neighbors import KernelDensity as Peer

from fenchel import KernelDensity
from fenchel.geometry.density.profiles import PROFILES, log_normaliser

RNG = np.random.default_rng(0)
X = RNG.normal(size=(160, 3))
Q = 0.7 * RNG.normal(size=(30, 3))


@pytest.mark.parametrize("kernel", PROFILES)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_it_agrees_with_the_peer(kernel, d) -> None:
    s = RNG.random(160)
    if kernel == "cosine" and d == 2:
        return  # the peer's does not integrate to one in even dimensions; ours is tested below
    for h in (0.4, 1.7):
        mine = KernelDensity(kernel=kernel, bandwidth=h).fit(X[:, :d], sample_weight=s)
        peer = Peer(kernel=kernel, bandwidth=h).fit(X[:, :d], sample_weight=s)
        logs = peer.score_samples(Q[:, :d])
        # Where no kernel reaches, the peer's sums leave rounding errors in place of zero.
        p, q = np.exp(mine.score_samples(Q[:, :d])), np.exp(logs)
        assert_allclose(p, q, rtol=1e-9, atol=1e-14)
        if kernel in ("gaussian", "exponential"):
            assert_allclose(mine.score(Q[:, :d]), peer.score(Q[:, :d]))
    for rule in ("scott", "silverman"):
        assert_allclose(
            KernelDensity(bandwidth=rule).fit(X).bandwidth_,
            Peer(bandwidth=rule).fit(X).bandwidth_,
        )


@pytest.mark.parametrize("kernel", PROFILES)
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_the_density_integrates_to_one(kernel, metric) -> None:
    """On a grid of the plane, and along the line."""
    model = KernelDensity(kernel=kernel, metric=metric, bandwidth=0.8).fit(X[:4, :2])
    side = np.linspace(-16.0, 16.0, 641)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    total = np.exp(model.score_samples(grid)).sum() * (side[1] - side[0]) ** 2
    assert_allclose(total, 1.0, atol=4e-3)
    line = KernelDensity(kernel=kernel, metric=metric, bandwidth=0.8).fit([[0.0]])
    found = quad(lambda x: np.exp(line.score_samples([[x]])[0]), -0.8, 0.8)[0]
    outside = {"gaussian": 0.31731050786291415, "exponential": np.exp(-1.0)}.get(kernel, 0.0)
    assert_allclose(found, 1.0 - outside, atol=1e-8)


@pytest.mark.parametrize("kernel", PROFILES)
def test_integrals_in_many_dimensions(kernel) -> None:
    """Between neighbouring dimensions the radial integral is that of u^{d-1}."""
    f = {
        "gaussian": lambda u: np.exp(-u * u / 2),
        "exponential": lambda u: np.exp(-u),
        "tophat": lambda u: 1.0,
        "epanechnikov": lambda u: 1 - u * u,
        "linear": lambda u: 1 - u,
        "cosine": lambda u: np.cos(np.pi * u / 2),
    }[kernel]
    end = 60.0 if kernel in ("gaussian", "exponential") else 1.0
    for d in (1, 7, 20):
        radial = quad(lambda u, d=d: d * f(u) * u ** (d - 1), 0.0, end, limit=200)[0]
        found = log_normaliser(kernel, "chebyshev", d, 2.0) - 2.0 * d * np.log(2.0)
        assert_allclose(found, np.log(radial), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kernel", ["gaussian", "exponential", "epanechnikov"])
def test_leave_one_out_by_its_definition(kernel) -> None:
    grid = np.array([0.05, 0.6, 1.0, 2.5, 4.0])
    model = KernelDensity(kernel=kernel, bandwidth=grid).fit(X[:, :2])
    expected = []
    for h in grid:
        logs = [
            Peer(kernel=kernel, bandwidth=h).fit(np.delete(X, i, 0)[:, :2]).score(X[i : i + 1, :2])
            for i in range(len(X))
        ]
        expected.append(np.mean(logs))
    # Far from all others the peer's logarithms lose digits.
    assert_allclose(model.loo_scores_[1:], expected[1:], rtol=1e-10)
    assert model.bandwidth_ == grid[np.argmax(expected)]


def test_weights_are_repeated_rows() -> None:
    s = np.where(np.arange(len(X)) % 5 == 0, 2, 1)
    s[::7] = 0
    for grid in (np.array([0.01, 0.3, 0.6, 1.0, 3.0]), "loo"):
        a = KernelDensity(bandwidth=grid).fit(X, sample_weight=s)
        b = KernelDensity(bandwidth=grid).fit(np.repeat(X, s, axis=0))
        assert_allclose(a.loo_scores_, b.loo_scores_, rtol=1e-9)
        assert_allclose(a.score_samples(Q), b.score_samples(Q), rtol=1e-9)


@pytest.mark.parametrize("unit", [1e-150, 1e-9, 1e150])
def test_no_unit_changes_the_choice(unit) -> None:
    a, b = KernelDensity(bandwidth="loo").fit(X), KernelDensity(bandwidth="loo").fit(unit * X)
    assert_allclose(a.bandwidth_ * unit, b.bandwidth_, rtol=1e-9)
    moved = b.score_samples(Q * unit) + 3 * np.log(unit)
    assert_allclose(a.score_samples(Q), moved, rtol=1e-8)
    far = KernelDensity(bandwidth="loo").fit(X + 1e8)
    assert_allclose(far.bandwidth_, a.bandwidth_, rtol=1e-5)


def test_duplicates_and_small_tables() -> None:
    with pytest.warns(UserWarning, match=r"least bandwidth tried.* stand twice"):
        KernelDensity(bandwidth="loo").fit(np.repeat(X, 2, axis=0))
    with pytest.raises(ValueError, match="some row has no other near it"):
        KernelDensity(bandwidth=[1e-9], kernel="tophat").fit(X)
    with pytest.raises(ValueError, match="needs 2 rows"):
        KernelDensity(bandwidth="loo").fit(X[:1])
    with pytest.raises(ValueError, match="all of its numbers must be positive"):
        KernelDensity(bandwidth=[1.0, -1.0]).fit(X)
    bad = X.copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN .* row 3, column 1"):
        KernelDensity().fit(X).score_samples(bad)
    assert (
        KernelDensity().fit(X.astype(np.float32)).score_samples(Q.astype(np.float32)).dtype
        == np.float32
    )


@pytest.mark.parametrize("kernel", PROFILES)
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_draws_have_the_density(kernel, metric) -> None:
    """The share of draws in an interval of the first column, and the radius' law by its median."""
    model = KernelDensity(kernel=kernel, metric=metric, bandwidth=2.0).fit(np.zeros((1, 1)))
    draws = model.sample(20_000, random_state=0)[:, 0]
    edges = np.linspace(-1.5, 1.5, 7)
    for low, high in pairwise(edges):
        share = quad(lambda x: np.exp(model.score_samples([[x]])[0]), low, high)[0]
        assert_allclose(((draws > low) & (draws < high)).mean(), share, atol=0.012)
    plane = KernelDensity(kernel=kernel, metric=metric, bandwidth=2.0).fit(np.zeros((1, 3)))
    rows = plane.sample(20_000, random_state=1)
    # Of draws x with density p, E[1/p(x)] over a set is its volume: here a small cube.
    inside = (np.abs(rows) < 0.5).all(axis=1)
    volume = np.exp(-plane.score_samples(rows[inside])).sum() / len(rows)
    assert_allclose(volume, 1.0, rtol=0.15)
