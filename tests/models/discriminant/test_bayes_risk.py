"""Plug-in rules near the Bayes risk: the excess error falls as 1/n, with the constant of theory."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from fenchel import (
    GaussianClasses,
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
    RegularizedDiscriminantAnalysis,
)
from fenchel.geometry.mahalanobis.scores import QuadraticScores
from fenchel.models.discriminant.bayes_error import simulated

LINEAR, QUADRATIC = LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
LONG = pytest.mark.exhaustive


def shared(d, distance, prior=0.5):
    """Two classes with one covariance, that many deviations apart."""
    rng = np.random.default_rng(d)
    A = rng.normal(size=(d, d)) + 2.0 * np.eye(d)
    step = A @ np.eye(d)[0] * distance
    return GaussianClasses([np.zeros(d), step], A @ A.T, prior=prior)


def own(d):
    rng = np.random.default_rng(d)
    spread = [np.diag(rng.uniform(0.5, 2.0, d)) for _ in range(2)]
    return GaussianClasses([np.zeros(d), rng.uniform(0.5, 1.5, d)], np.array(spread), prior=0.4)


def error_of_plane(truth, w, b):
    """The exact error of the rule w·x + b > 0."""
    at = [truth.means[k] @ w + b for k in (0, 1)]
    spread = [np.sqrt(w @ truth.covariance[k] @ w) for k in (0, 1)]
    p = truth.prior
    return (1.0 - p) * norm.cdf(at[0] / spread[0]) + p * norm.cdf(-at[1] / spread[1])


def excess_of_planes(truth, kind, n, repeats):
    """R - R* of fits to n rows, exactly."""
    best, found = float(truth.bayes_risk()), []
    for seed in range(repeats):
        model = kind().fit(*truth.sample(n, random_state=1000 * n + seed))
        found.append(error_of_plane(truth, model.coef_[0], model.intercept_[0]) - best)
    return np.array(found)


def excess_by_draws(truth, kind, n, repeats, draws):
    """R - R* = E |2η - 1| 1[the rules differ], on rows drawn once."""
    Z, _ = truth.sample(draws, random_state=7)
    eta = truth.eta(Z)
    found = []
    for seed in range(repeats):
        said = kind().fit(*truth.sample(n, random_state=1000 * n + seed)).predict(Z)
        found.append(np.mean(np.abs(2.0 * eta - 1.0) * ((said == 1) != (eta > 0.5))))
    return np.array(found)


def slope(sizes, samples):
    """The slope of log mean excess against log n by weighted least squares, and its standard
    error from the replications."""
    x = np.log(sizes)
    y = np.array([np.log(found.mean()) for found in samples])
    error = np.array([found.std(ddof=1) / found.mean() / np.sqrt(len(found)) for found in samples])
    w = 1.0 / error**2
    centred = x - w @ x / w.sum()
    return float((w * centred) @ y / (w @ centred**2)), float(1.0 / np.sqrt(w @ centred**2))


@pytest.mark.parametrize(
    ("d", "distance", "sizes", "repeats"),
    [
        (2, 1.5, (100, 400, 1600), 150),
        *(pytest.param(*case, (100, 200, 400, 800, 1600, 6400), 600, marks=LONG)
          for case in ((1, 2.0), (2, 1.5), (5, 1.0), (20, 3.0))),
    ],
)  # fmt: skip
def test_linear_discriminants_approach_the_bayes_risk_as_one_over_n(d, distance, sizes, repeats):
    """For equal priors n (R - R*) → φ(Δ/2) (1 + Δ²/4) d / Δ (Efron, 1975)."""
    truth = shared(d, distance)
    sizes = [n for n in sizes if n >= 20 * d]
    samples = [excess_of_planes(truth, LINEAR, n, repeats) for n in sizes]
    assert min(found.min() for found in samples) >= -1e-12  # nothing is better than the best
    found, error = slope(sizes, samples)
    assert abs(found + 1.0) < 4.0 * error + 0.05  # terms of higher order are still there
    limit = norm.pdf(distance / 2.0) * (1.0 + distance**2 / 4.0) * d / distance
    last = sizes[-1] * samples[-1]
    noise = last.std(ddof=1) / np.sqrt(repeats)
    assert abs(last.mean() - limit) < 4.0 * noise + 10.0 * d * limit / sizes[-1]


@pytest.mark.parametrize(
    ("d", "sizes", "repeats", "draws"),
    [
        (2, (100, 400, 1600), 40, 20_000),
        *(pytest.param(d, (200, 400, 800, 1600, 3200), 200, 100_000, marks=LONG)
          for d in (1, 2, 4)),
    ],
)  # fmt: skip
def test_quadratic_discriminants_approach_the_bayes_risk_as_one_over_n(d, sizes, repeats, draws):
    truth = own(d)
    samples = [excess_by_draws(truth, QUADRATIC, n, repeats, draws) for n in sizes]
    found, error = slope(sizes, samples)
    assert abs(found + 1.0) < 4.0 * error + 0.1


def test_the_wrong_model_stays_away_from_the_bayes_risk():
    """A plane between classes of different covariances has an excess that does not vanish; that of
    Friedman's family near its quadratic end does."""
    truth = GaussianClasses([[0.0, 0.0], [1.0, 0.0]], [np.eye(2), [[6.0, 0.0], [0.0, 6.0]]])
    linear, quadratic, between = (
        excess_by_draws(truth, kind, 4000, 8, 20_000).mean()
        for kind in (LINEAR, QUADRATIC, lambda: RegularizedDiscriminantAnalysis(lam=0.01))
    )
    assert linear > 0.05 > 0.005 > max(quadratic, between)


def model_of(truth):
    """log πₖ + log N(x; μₖ, Σₖ) of the truth itself, and its priors."""
    priors = np.array([1.0 - truth.prior, truth.prior])
    roots = np.array([np.linalg.inv(np.linalg.cholesky(S)) for S in truth.covariance])
    logs = np.array([np.linalg.slogdet(2.0 * np.pi * S)[1] for S in truth.covariance])
    return QuadraticScores.of(truth.means, roots, np.log(priors) - 0.5 * logs), priors


@pytest.mark.parametrize(("repeats", "draws"), [(60, 1500), pytest.param(1000, 5000, marks=LONG)])
@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("truth", [shared(3, 1.5, 0.3), own(2), own(5)], ids=["one", "own", "own5"])
def test_the_interval_of_the_bayes_error_holds_the_bayes_risk(truth, level, repeats, draws):
    """At least as often as it says; it is rigorous, so wider than that of a normal law."""
    risk, (densities, priors) = float(truth.bayes_risk()), model_of(truth)
    found = [simulated(densities, priors, draws, level, seed) for seed in range(repeats)]
    held = np.mean([one.low <= risk <= one.high for one in found])
    assert held >= level
    values = np.array([one.value for one in found])
    spread = values.std(ddof=1)
    assert abs(values.mean() - risk) < 4.0 * spread / np.sqrt(repeats)
    widths = np.array([one.high - one.low for one in found])
    assert widths.max() < 2.0 * 5.0 * spread and (widths > 0.0).all()


def test_fitted_models_estimate_the_bayes_risk_of_what_they_learnt():
    for truth, kind in ((shared(3, 1.5, 0.3), LINEAR), (own(2), QUADRATIC)):
        risk = float(truth.bayes_risk())
        for n, tolerance in ((400, 0.05), (40_000, 0.006)):
            found = kind().fit(*truth.sample(n, random_state=n)).bayes_error(20_000)
            assert found.low - tolerance <= risk <= found.high + tolerance
        draws = kind().fit(*truth.sample(400, random_state=0))
        assert draws.bayes_error(random_state=3) == draws.bayes_error(random_state=3)
