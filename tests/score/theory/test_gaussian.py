"""Gaussian classes against brute integration, and the limits of any rule against definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from oracles.score import bayes_risk_on_a_grid, pairs_auc_star
from scipy.special import ndtr
from scipy.stats import multivariate_normal, norm
from sklearn.metrics import roc_auc_score

from fenchel import Exponential, GaussianClasses, Hinge, Logistic, auc_star, bayes_risk
from fenchel.score.intervals.skewness_corrected_mean import mean_estimate

APART = [
    GaussianClasses([0.0, 1.0], [1.0, 4.0], prior=0.3),
    GaussianClasses([0.0, 0.0], [1.0, 9.0], prior=0.5),
    GaussianClasses([1.0, -1.0], [2.0, 0.1], prior=0.05),
    GaussianClasses([[0.0, 0.0], [1.0, -0.5]], [np.eye(2), [[2.0, 0.9], [0.9, 1.0]]], prior=0.4),
    GaussianClasses([[0.0, 0.0], [0.3, 0.0]], [[[3.0, 0.0], [0.0, 0.5]], np.eye(2)], prior=0.2),
    GaussianClasses([[0.0, 0.0], [2.0, 1.0]], [1.0, 1.001], prior=0.5),
]


# ------------------------------------------------------------------------------ shape and values


def test_eta_is_bayes_rule():
    classes = APART[3]
    X, y = classes.sample(500, random_state=1)
    assert X.shape == (500, 2) and set(y.tolist()) == {0, 1}
    f0, f1 = (multivariate_normal(classes.means[k], classes.covariance[k]).pdf(X) for k in (0, 1))
    p = classes.prior
    np.testing.assert_allclose(classes.eta(X), p * f1 / (p * f1 + (1 - p) * f0), rtol=1e-12)
    np.testing.assert_allclose(classes.score(X), np.log(p * f1 / ((1 - p) * f0)), atol=1e-12)


def test_shared_covariance_scores_are_linear_and_the_same():
    S = np.array([[2.0, 0.5], [0.5, 1.0]])
    shared = GaussianClasses([[1.0, 2.0], [0.0, 3.0]], S, prior=0.3)
    X, _ = shared.sample(200, random_state=0)
    f0, f1 = (multivariate_normal(shared.means[k], S).logpdf(X) for k in (0, 1))
    np.testing.assert_allclose(shared.score(X), f1 - f0 + math.log(3 / 7), atol=1e-12)
    np.testing.assert_allclose(
        shared.score(np.array([[1e9, 1e9]])), shared.score(np.array([[1e8, 1e8]])) * 10, rtol=1e-6
    )


def test_samples_have_the_moments_asked_for():
    classes = APART[3]
    X, y = classes.sample(200_000, random_state=0)
    assert abs(y.mean() - classes.prior) < 5 * math.sqrt(0.24 / len(y))
    for k in (0, 1):
        np.testing.assert_allclose(X[y == k].mean(axis=0), classes.means[k], atol=0.03)
        np.testing.assert_allclose(np.cov(X[y == k].T), classes.covariance[k], atol=0.05)


def test_seeds_and_generators_fix_the_sample():
    classes = GaussianClasses([0.0, 1.0])
    first, again = classes.sample(10, random_state=3), classes.sample(10, np.random.default_rng(3))
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])


def test_arrays_are_kept_and_cannot_change():
    means = np.array([[0.0], [1.0]])
    classes = GaussianClasses(means)
    means[0] = 5.0
    assert classes.means[0, 0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        classes.means[0] = 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0, 1.0], -1.0), "class 0 is not positive definite"),
        (([0.0, 1.0], [1.0, 0.0]), "class 1 is not positive definite"),
        (([0.0, 1.0, 2.0],), "two rows"),
        (([[0.0, 0.0], [1.0, 1.0]], np.eye(3)), r"\(2, 2\) matrix"),
        (([[0.0, 0.0], [1.0, 1.0]], [[1.0, 0.5], [0.0, 1.0]]), "symmetric"),
        (([0.0, 1.0], 1.0, 0.0), "prior must lie strictly between 0 and 1"),
        (([0.0, np.nan],), "means must be finite"),
    ],
)
def test_faults_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        GaussianClasses(*arguments)
    with pytest.raises(ValueError, match="2 columns"):
        APART[3].score(np.ones((4, 3)))


# ------------------------------------------------------------------------------ exact quantities


@pytest.mark.parametrize("classes", APART, ids=range(len(APART)))
def test_bayes_risk_and_auc_star_against_brute_integration(classes):
    risk, area = bayes_risk_on_a_grid(classes)
    assert classes.bayes_risk() == pytest.approx(risk, abs=2e-6)
    assert classes.auc_star() == pytest.approx(area, abs=2e-5)
    for found in (classes.bayes_risk(), classes.auc_star()):
        assert found.low <= found <= found.high and found.high - found.low < 1e-8


@pytest.mark.parametrize("prior", [0.5, 0.3, 0.01])
@pytest.mark.parametrize("distance", [0.3, 1.0, 3.0, 8.0])
def test_the_contour_integral_meets_the_closed_form(distance, prior):
    """Covariances that differ by one part in a billion take the other road."""
    means = [np.zeros(3), np.full(3, distance / math.sqrt(3.0))]
    closed = GaussianClasses(means, prior=prior)
    nearly = GaussianClasses(means, [1.0, 1.0 + 1e-9], prior=prior)
    assert closed.bayes_risk().method == "closed form"
    assert nearly.bayes_risk().method == "contour integral"
    assert nearly.bayes_risk() == pytest.approx(closed.bayes_risk(), rel=1e-7, abs=3e-9)
    assert nearly.auc_star() == pytest.approx(closed.auc_star(), abs=3e-9)


def test_the_interval_says_where_the_integral_is_slow():
    """Classes all but identical, whose overlap hardly falls along the contour."""
    nearly = GaussianClasses(np.zeros((2, 3)), [1.0, 1.0 + 1e-9], prior=0.3)
    risk, area = nearly.bayes_risk(), nearly.auc_star()
    assert risk.low <= 0.3 <= risk.high + 1e-9 and risk.high - risk.low < 1e-4
    assert area.low - 1e-9 <= 0.5 <= area.high and area.high - area.low < 1e-4


def test_tiny_risks_keep_their_digits():
    means = [np.zeros(3), np.full(3, 12.0 / math.sqrt(3.0))]
    nearly = GaussianClasses(means, [1.0, 1.0 + 1e-9])
    assert nearly.bayes_risk() == pytest.approx(norm.sf(6.0), rel=1e-5)


def test_the_line_and_the_plane_agree():
    """A second axis that tells nothing leaves the answer alone."""
    line = APART[0]
    plane = GaussianClasses([[0.0, 0.0], [1.0, 0.0]], [np.eye(2), np.diag([4.0, 1.0])], prior=0.3)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    second = turn @ np.diag([4.0, 1.0]) @ turn.T
    turned = GaussianClasses(
        [[0.0, 0.0], turn[:, 0]], [np.eye(2), (second + second.T) / 2], prior=0.3
    )
    for other in (plane, turned):
        assert other.bayes_risk() == pytest.approx(line.bayes_risk(), abs=1e-12)
        assert other.auc_star() == pytest.approx(line.auc_star(), abs=1e-12)


def test_identical_classes_leave_the_coin():
    for covariance in (1.0, [np.eye(2), np.eye(2)]):
        same = GaussianClasses(np.zeros((2, 2)), covariance, prior=0.3)
        assert same.bayes_risk() == 0.3 and same.auc_star() == 0.5


def test_true_roc():
    classes = GaussianClasses([[0.0, 0.0], [1.0, 1.0]], prior=0.3)
    fpr = np.linspace(0.0, 1.0, 2001)
    tpr = classes.true_roc(fpr)
    assert tpr[0] == 0.0 and tpr[-1] == 1.0
    assert np.trapezoid(tpr, fpr) == pytest.approx(classes.auc_star(), abs=1e-5)
    f, t = classes.true_rates(np.array([-np.inf, -1.0, 0.0, 2.0, np.inf]))
    np.testing.assert_allclose(classes.true_roc(f), t, atol=1e-14)
    assert (f[0], t[0], f[-1], t[-1]) == (1.0, 1.0, 0.0, 0.0)
    risk = 0.7 * f[2] + 0.3 * (1.0 - t[2])
    assert classes.bayes_risk() == pytest.approx(risk, abs=1e-14)
    X, y = classes.sample(100_000, random_state=0)
    flagged = classes.score(X) > 2.0
    assert flagged[y == 0].mean() == pytest.approx(f[3], abs=0.003)
    assert flagged[y == 1].mean() == pytest.approx(t[3], abs=0.006)
    same = GaussianClasses([0.0, 0.0])
    np.testing.assert_array_equal(same.true_rates(np.array([-1.0, 0.0])), [[1.0, 0.0]] * 2)
    with pytest.raises(ValueError, match="different covariances"):
        APART[0].true_roc(0.5)


# -------------------------------------------------------------------- limits from values of eta


def test_auc_star_is_its_definition_and_the_auc_of_eta(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    eta = np.round(rng.random(60), 1)
    assert auc_star(eta) == pytest.approx(pairs_auc_star(eta), abs=1e-13)
    assert auc_star(rng.permutation(eta)) == pytest.approx(auc_star(eta), abs=1e-15)
    classes = GaussianClasses([0.0, 1.5], [1.0, 2.0], prior=0.3)
    X, y = classes.sample(100_000, random_state=global_random_seed)
    assert auc_star(classes.eta(X)) == pytest.approx(classes.auc_star(), abs=0.006)
    assert roc_auc_score(y, classes.score(X)) == pytest.approx(classes.auc_star(), abs=0.008)


def test_least_risks_of_losses():
    eta = np.array([0.0, 0.1, 0.5, 0.8, 1.0])
    entropy = -(eta * np.log(np.maximum(eta, 1e-300)))
    entropy -= (1 - eta) * np.log(np.maximum(1 - eta, 1e-300))
    assert bayes_risk(eta) == pytest.approx(np.minimum(eta, 1 - eta).mean())
    assert bayes_risk(eta, loss=Logistic()) == pytest.approx(entropy.mean(), abs=1e-14)
    assert bayes_risk(eta, loss=Hinge()) == pytest.approx(2 * np.minimum(eta, 1 - eta).mean())
    root = 2 * np.sqrt(eta * (1 - eta))
    assert bayes_risk(eta, loss=Exponential()) == pytest.approx(root.mean(), abs=1e-14)


def test_limits_refuse_what_is_no_probability():
    with pytest.raises(ValueError, match=r"1.5 in row 1"):
        bayes_risk([0.5, 1.5])
    with pytest.raises(ValueError, match="nan in row 0"):
        auc_star([np.nan, 0.5])
    with pytest.raises(ValueError, match="all 1"):
        auc_star([1.0, 1.0])
    with pytest.raises(ValueError, match="one column"):
        auc_star([[0.5, 0.5]])
    with pytest.raises(ValueError, match="empty"):
        bayes_risk([])
    with pytest.raises(ValueError, match="three values"):
        auc_star([0.5, 0.6], level=0.9)
    with pytest.raises(ValueError, match="two values"):
        bayes_risk([0.5], level=0.9)
    assert auc_star([0.0, 0.0, 1.0, 1.0]) == 1.0


def test_constant_values_do_not_make_certainty():
    found = bayes_risk(np.full(10, 0.3), level=0.9)
    unseen = 1.0 - 0.1**0.1  # the largest share of other values that ten draws exclude
    ends = (0.3 * (1.0 - unseen), 0.3 * (1.0 - unseen) + 0.5 * unseen)
    assert (found.low, found.high) == pytest.approx(ends)
    found = bayes_risk([0.0, 1.0] * 5, loss=Hinge(), level=0.9)
    assert (found, found.low, found.high) == pytest.approx((0.0, 0.0, unseen))
    for eta in ([0.3] * 10, [0.0, 1.0] * 5):
        found = auc_star(eta, level=0.9)
        assert (found.low, found.high) == (0.5, 1.0) and "nothing is excluded" in found.method


def test_intervals_stay_where_the_numbers_lie():
    rare = bayes_risk([0.0] * 999 + [0.5], level=0.95)
    assert 0.0 <= rare.low < rare < rare.high <= 0.5
    assert auc_star([0.5, 0.5, 1.0], level=0.95).low == 0.5
    with pytest.raises(ValueError, match="must be numbers"):
        auc_star(["a", "b"])


def test_a_mean_that_rests_on_one_row_excludes_nothing():
    found = mean_estimate([0.0, 1.0], 0.95, weight=[1.0, 1e-300], within=(0.0, 1.0))
    assert (found.low, found.high) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("prior", "mean", "variance", "want"),
    # Sums of Φ between the roots of s, with 500 digits.
    [
        (0.5, 10.0, 0.005595245617346347, 4.340911762768626e-21),
        (1e-6, 10.0, 0.15136185677742378, 8.071629678826327e-15),
    ],
)
def test_a_tiny_risk_keeps_its_digits(prior, mean, variance, want):
    classes = GaussianClasses([0.0, mean], covariance=[1.0, variance], prior=prior)
    assert classes.bayes_risk() == pytest.approx(want, rel=1e-6)


def test_hall_ends_solve_their_cubic():
    x = np.random.default_rng(0).exponential(size=30)
    found = mean_estimate(x, 0.95)
    skew = ((x - x.mean()) ** 3).mean() / x.std() ** 3 / math.sqrt(30)
    for end, quantile in ((found.low, 2.045229642), (found.high, -2.045229642)):
        T = (x.mean() - end) / (x.std(ddof=1) / math.sqrt(30))
        cubic = T + skew * (T**2 / 3 + 1 / 6) + skew**2 * T**3 / 27
        assert cubic == pytest.approx(quantile, abs=1e-8)


@pytest.mark.parametrize(
    ("distance", "prior", "n"), [(1.0, 0.5, 60), (3.0, 0.5, 60), (2.0, 0.1, 200), (3.0, 0.3, 400)]
)
def test_coverage_of_the_limits(distance, prior, n):
    classes = GaussianClasses([0.0, distance], prior=prior)
    rng = np.random.default_rng(7)
    risk, area = float(classes.bayes_risk()), float(classes.auc_star())
    hits = np.zeros(2)
    for _ in range(2000):
        eta = classes.eta(classes.sample(n, rng)[0])
        found = bayes_risk(eta, level=0.95), auc_star(eta, level=0.95)
        hits += [found[0].low <= risk <= found[0].high, found[1].low <= area <= found[1].high]
    assert (np.abs(hits / 2000 - 0.95) <= 0.02).all(), hits / 2000


def test_one_sided_truth_of_the_formulas():
    """Φ itself, so that no shared slip of the closed forms goes unseen."""
    classes = GaussianClasses([0.0, 2.0])
    assert classes.bayes_risk() == pytest.approx(ndtr(-1.0), abs=1e-15)
    assert classes.auc_star() == pytest.approx(ndtr(math.sqrt(2.0)), abs=1e-15)
