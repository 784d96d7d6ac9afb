"""Nearest neighbours against the Bayes risk: Cover and Hart's bounds and the limit of every k."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from fenchel import GaussianClasses, KNeighborsClassifier, NadarayaWatsonClassifier

LONG = pytest.mark.exhaustive
LAWS = {
    "line": GaussianClasses([0.0, 2.0], 1.0, prior=0.4),
    "plane": GaussianClasses([[0.0, 0.0], [1.6, 0.0]]),
    "spreads": GaussianClasses([[0.0, 0.0], [0.0, 0.0]], [1.0, 6.0], prior=0.5),
}


def limit_of(k, eta):
    """The error of k neighbours, k odd, whose labels are draws with the same η: the limit n → ∞."""
    says_one = binom.sf(k // 2, k, eta)
    return eta * (1.0 - says_one) + (1.0 - eta) * says_one


def error_given_rows(said, eta):
    """The error at each row, its label being a draw."""
    return np.where(said == 1, 1.0 - eta, eta)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize(
    ("n", "repeats", "draws"), [(4000, 4, 10_000), pytest.param(40_000, 15, 60_000, marks=LONG)]
)
def test_every_odd_k_has_its_limit(law, n, repeats, draws):
    """E[η P(Bin(k, η) < k/2) + (1 - η) P(Bin(k, η) > k/2)]; of one neighbour E[2η(1 - η)], which
    lies between R* and 2R*(1 - R*)."""
    Z, _ = law.sample(draws, random_state=1)
    eta, bayes = law.eta(Z), float(law.bayes_risk())
    for k in (1, 3, 9):
        found = []
        for seed in range(repeats):
            model = KNeighborsClassifier(k).fit(*law.sample(n, random_state=10 + seed))
            found.append(np.mean(error_given_rows(model.predict(Z), eta) - limit_of(k, eta)))
        # Neighbours lie k/n of the mass away: in the plane η differs by a multiple of k/n.
        noise = max(np.std(found, ddof=1), 0.25 / np.sqrt(draws)) / np.sqrt(repeats)
        assert abs(np.mean(found)) < 4.0 * noise + 4.0 * k / n
    one, spread = limit_of(1, eta).mean(), 4.0 * limit_of(1, eta).std() / np.sqrt(draws)
    np.testing.assert_allclose(limit_of(1, eta), 2.0 * eta * (1.0 - eta), atol=1e-12)
    assert bayes - spread <= one <= 2.0 * bayes * (1.0 - bayes) + spread


@pytest.mark.parametrize(("repeats", "n"), [(3, 3000), pytest.param(10, 12_000, marks=LONG)])
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_leave_one_out_tells_the_error_on_new_rows(law, repeats, n):
    """For every k at once: the mean over samples is that of n - 1 rows, within its own standard
    error; and its least stays above the Bayes risk but for chance."""
    Z, _ = law.sample(20_000, random_state=2)
    eta, bayes = law.eta(Z), float(law.bayes_risk())
    for seed in range(repeats):
        X, y = law.sample(n, random_state=50 + seed)
        errors, spread = KNeighborsClassifier().fit(X, y).leave_one_out(60, return_std=True)
        for k in (1, 5, 25, 60):
            said = KNeighborsClassifier(k).fit(X, y).predict(Z)
            new = error_given_rows(said, eta)
            noise = np.hypot(spread[k - 1], new.std() / np.sqrt(len(Z)))
            assert abs(errors[k - 1] - new.mean()) < 4.5 * noise
            assert new.mean() > bayes - 4.0 * new.std() / np.sqrt(len(Z))
        assert errors.min() > bayes - 4.5 * spread[errors.argmin()]


def test_rules_whose_neighbours_grow_come_to_the_bayes_risk():
    """k → ∞, k/n → 0: consistent (Stone, 1977), as are averages whose bandwidth falls."""
    law = LAWS["spreads"]
    Z, _ = law.sample(8000, random_state=3)
    eta = law.eta(Z)
    best = np.minimum(eta, 1.0 - eta).mean()
    excess = []
    for n in (150, 6000):
        X, y = law.sample(n, random_state=4)
        near = KNeighborsClassifier(int(n**0.6)).fit(X, y)
        smooth = NadarayaWatsonClassifier(bandwidth=1.5 * n ** (-1.0 / 6.0)).fit(X, y)
        excess.append(
            [error_given_rows(model.predict(Z), eta).mean() - best for model in (near, smooth)]
        )
    few, many = np.array(excess)
    assert (many < 0.01).all() and (many < 0.5 * few).all()
