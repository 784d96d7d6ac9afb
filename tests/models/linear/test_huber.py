"""HuberRegressor: against its definition, scikit-learn, brute force, and its own certificate."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn.linear_model as sk
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize, sparse

import fenchel
from fenchel import HuberRegressor, NotCertified, RankDeficient, VanishingScale, certify


def table(n=200, d=4, seed=0, offset=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + offset
    y = X @ np.arange(1.0, d + 1) + rng.standard_t(2, n) + 3.0
    y[::17] += 40.0
    return X, y, rng.uniform(0.1, 2.0, n)


def objective(X, y, w, b, sigma, s=None, eps=1.35, alpha=1e-4):
    """Σ s(σ + σH(r/σ)) + α|w|², as a textbook writes it."""
    t = np.abs(y - X @ w - b) / sigma
    H = np.where(t < eps, t**2, 2 * eps * t - eps**2)
    s = np.ones(len(y)) if s is None else s
    return float(s @ (sigma + sigma * H) + alpha * w @ w)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(("eps", "alpha"), [(1.35, 1e-4), (1.35, 0.0), (1.1, 10.0), (3.0, 100.0)])
def test_as_scikit_learn(eps, alpha, weighted, intercept):
    X, y, s = table()
    s = s if weighted else None
    settings = dict(epsilon=eps, alpha=alpha, fit_intercept=intercept)
    ours = HuberRegressor(**settings).fit(X, y, s)
    theirs = sk.HuberRegressor(**settings, tol=1e-9, max_iter=10_000).fit(X, y, s)
    assert ours.converged_ and ours.certificate_.relative_gap <= 1e-6
    assert_allclose(ours.coef_, theirs.coef_, rtol=1e-3, atol=1e-3)
    assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-3, atol=2e-3)
    assert_allclose(ours.scale_, theirs.scale_, rtol=1e-3)
    value = objective(X, y, ours.coef_, ours.intercept_, ours.scale_, s, eps, alpha)
    assert_allclose(ours.certificate_.value, value, rtol=1e-11)
    at = objective(X, y, theirs.coef_, theirs.intercept_, theirs.scale_, s, eps, alpha)
    assert value <= at * (1 + 1e-9) and ours.certificate_.bound <= at * (1 + 1e-12)
    far = np.abs(y - X @ ours.coef_ - ours.intercept_) > eps * ours.scale_
    assert_array_equal(ours.outliers_, far)
    assert ours.history_[-1].value == ours.certificate_.value
    assert ours.n_iter_ == len(ours.history_) - 1


@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_against_brute_force(alpha):
    X, y, s = table(40, 1)

    def value(p):
        return objective(X, y, p[:1], p[1], np.exp(p[2]), s, 1.35, alpha)

    tight = dict(xatol=1e-10, fatol=1e-13, maxiter=10_000, maxfev=10_000)
    best = optimize.minimize(value, [0.0, 0.0, 0.0], method="Nelder-Mead", options=tight)
    model = HuberRegressor(alpha=alpha).fit(X, y, s)
    assert_allclose([*model.coef_, model.intercept_, np.log(model.scale_)], best.x, atol=1e-5)
    assert model.certificate_.bound <= best.fun <= model.certificate_.value * (1 + 1e-9)


def test_no_point_beats_the_bound(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, y, s = table(60, 3, global_random_seed)
    for alpha in (0.0, 1e-4, 5.0):
        model = HuberRegressor(alpha=alpha).fit(X, y, s)
        for size in (1e-6, 1e-3, 1.0):
            for _ in range(30):
                w = model.coef_ + size * rng.standard_normal(3)
                b = model.intercept_ + size * rng.standard_normal()
                sigma = model.scale_ * np.exp(size * rng.standard_normal())
                there = objective(X, y, w, b, sigma, s, 1.35, alpha)
                assert there >= model.certificate_.bound * (1 - 1e-13)


def test_weights_are_repeats_and_zero_weights_removed_rows():
    X, y, _ = table(80, 3)
    times = np.random.default_rng(1).integers(0, 4, 80)
    y[times == 0] = 1e6
    weighted = HuberRegressor().fit(X, y, times)
    repeated = HuberRegressor().fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-8)
    assert_allclose(weighted.scale_, repeated.scale_, rtol=1e-8)
    assert_allclose(weighted.certificate_.value, repeated.certificate_.value, rtol=1e-11)
    assert weighted.outliers_.shape == (80,) and weighted.outliers_[times == 0].all()


@pytest.mark.parametrize("kind", ["csr", "float32", "fortran", "list", "torch", "blocks"])
def test_containers_agree(kind):
    X, y, s = table(300, 5)
    X[np.abs(X) < 0.7] = 0.0
    dense = HuberRegressor(alpha=0.1).fit(X, y, s)
    if kind == "torch":
        torch = pytest.importorskip("torch")
        other = torch.from_numpy(X)
    else:
        makers = dict(csr=sparse.csr_array, fortran=np.asfortranarray, list=np.ndarray.tolist)
        makers |= dict(float32=lambda A: A.astype(np.float32), blocks=fenchel.as_blocks)
        other = makers[kind](X)
    model = HuberRegressor(alpha=0.1).fit(other, y, s)
    assert_allclose(model.coef_, dense.coef_, rtol=1e-5 if kind == "float32" else 1e-9, atol=1e-6)
    assert model.converged_ and model.coef_.dtype == (
        np.float32 if kind == "float32" else np.float64
    )


def test_wide_sparse_rows_go_by_products():
    rng = np.random.default_rng(0)
    X = sparse.random_array((2000, 400), density=0.02, rng=rng, format="csr")
    y = X @ rng.standard_normal(400) + rng.standard_t(2, 2000)
    by_products = HuberRegressor(alpha=0.1, tol=1e-9).fit(X, y)
    written = HuberRegressor(alpha=0.1, tol=1e-9).fit(X.toarray(), y)
    assert by_products.converged_
    assert_allclose(by_products.coef_, written.coef_, atol=1e-4)
    free = HuberRegressor(alpha=0.0).fit(X, y)
    assert free.converged_


@pytest.mark.parametrize("c", [1e-100, 1e-3, 1e5, 1e100])
def test_units_of_the_target(c):
    """A(cw, cb, cσ) with α/c is c A(w, b, σ)."""
    X, y, _ = table()
    plain = HuberRegressor(alpha=0.1).fit(X, y)
    scaled = HuberRegressor(alpha=0.1 / c).fit(X, c * y)
    assert_allclose(scaled.coef_ / c, plain.coef_, rtol=1e-8)
    assert_allclose(scaled.scale_ / c, plain.scale_, rtol=1e-8)
    assert_allclose(scaled.certificate_.value / c, plain.certificate_.value, rtol=1e-10)
    assert scaled.converged_


@pytest.mark.parametrize("c", [1e-100, 1e100])
def test_units_of_the_columns(c):
    X, y, _ = table()
    plain = HuberRegressor(alpha=0.0).fit(X, y)
    scaled = HuberRegressor(alpha=0.0).fit(c * X, y)
    assert_allclose(c * scaled.coef_, plain.coef_, rtol=1e-8)
    assert scaled.converged_


def test_columns_and_target_far_from_zero():
    X, y, _ = table()
    plain = HuberRegressor(alpha=0.0).fit(X, y)
    far = HuberRegressor(alpha=0.0).fit(X + 1e7, y + 1e9)
    assert far.converged_
    assert_allclose(far.coef_, plain.coef_, rtol=1e-6)


def test_outliers_however_far():
    X, y, _ = table(300, 3)
    near, far = y.copy(), y.copy()
    near[::9], far[::9] = 1e5, 1e12
    a, b = HuberRegressor(alpha=0.0).fit(X, near), HuberRegressor(alpha=0.0).fit(X, far)
    assert b.converged_
    assert_allclose(b.coef_, a.coef_, rtol=1e-3)  # 1e12 leaves four digits of a sum of residuals
    assert_allclose(b.scale_, a.scale_, rtol=1e-3)
    assert b.outliers_[::9].all()


@pytest.mark.parametrize("case", ["exact", "most", "wide", "constant", "one row", "mostly zero"])
@pytest.mark.parametrize("alpha", [0.0, 1e-4])
def test_a_scale_that_vanishes_is_said(case, alpha):
    rng = np.random.default_rng(0)
    X, _, _ = table(200, 3)
    y = X @ [1.0, 2.0, 3.0]
    if case == "most":
        y[:70] += rng.standard_normal(70)
    elif case == "wide":
        X, y = rng.random((15, 30)), rng.integers(0, 3, 15).astype(float)
    elif case == "constant":
        y = np.full(200, 7.0)
    elif case == "one row":
        X, y = X[:1], y[:1]
    elif case == "mostly zero":
        y = np.where(rng.random(200) < 0.9, 0.0, y)
    with pytest.warns(VanishingScale, match="raise epsilon or alpha"):
        model = HuberRegressor(alpha=alpha).fit(X, y)
    assert np.isfinite(model.coef_).all() and np.isfinite(model.intercept_)
    assert model.converged_ and 0.0 <= model.scale_ < 1e-3
    limit = 2 * 1.35 * np.abs(y - model.predict(X)).sum() + alpha * model.coef_ @ model.coef_
    assert_allclose(model.certificate_.value, limit, rtol=1e-4, atol=1e-9 * np.abs(y).sum())
    assert certify(model, X, y).value <= limit * (1 + 1e-6) + 1e-9 * np.abs(y).sum()


@pytest.mark.parametrize("alpha", [0.0, 0.1, 10.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_at_epsilon_one_it_is_least_absolute_deviations(alpha, intercept):
    """H(t)σ + σ is at least 2|r| for ε = 1, and that where |r| ≥ σ."""
    X, y, s = table(60, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VanishingScale)  # said where the plane meets some rows
        model = HuberRegressor(epsilon=1.0, alpha=alpha, fit_intercept=intercept).fit(X, y, s)
    assert model.converged_
    r = np.abs(y - model.predict(X))
    value = 2 * s @ r + alpha * model.coef_ @ model.coef_
    assert_allclose(model.certificate_.value, value, rtol=1e-6)
    if alpha == 0.0:
        lad = sk.QuantileRegressor(alpha=0.0, fit_intercept=intercept).fit(X, y, s)
        assert_allclose(value, 2 * s @ np.abs(y - lad.predict(X)), rtol=1e-6)


def test_just_enough_rows_off_the_plane():
    rng = np.random.default_rng(0)
    X, _, _ = table(200, 3)
    y = X @ [1.0, 2.0, 3.0]
    y[:130] += rng.standard_normal(130)
    assert HuberRegressor().fit(X, y).scale_ > 0.1


def test_dependent_columns_have_least_norm():
    X, y, _ = table(100, 2)
    with pytest.warns(RankDeficient):
        model = HuberRegressor(alpha=0.0).fit(np.hstack([X, X]), y)
    assert_allclose(model.coef_[:2], model.coef_[2:], rtol=1e-6)
    assert_allclose(model.coef_[:2] * 2, HuberRegressor(alpha=0.0).fit(X, y).coef_, rtol=1e-6)


def test_warm_start():
    X, y, _ = table()
    model = HuberRegressor(warm_start=True).fit(X, y)
    first, coef = model.n_iter_, model.coef_
    model.fit(X, y)
    assert model.n_iter_ <= 1 < first
    assert_allclose(model.coef_, coef, rtol=1e-9)
    model.fit(X[:, :2], y)  # of another shape: begins anew
    assert model.coef_.shape == (2,)


def test_too_few_steps_are_said():
    X, y, _ = table()
    with pytest.warns(NotCertified, match="after 1 steps"):
        model = HuberRegressor(max_iter=1).fit(X, y)
    assert not model.converged_ and model.certificate_.gap > 0


@pytest.mark.parametrize(
    ("name", "value"), [("epsilon", 0.99), ("alpha", -1.0), ("max_iter", -1), ("tol", -1e-9)]
)
def test_parameters_out_of_range(name, value):
    X, y, _ = table(20)
    with pytest.raises(ValueError, match=rf"'{name}' parameter .* Got {value}"):
        HuberRegressor(**{name: value}).fit(X, y)


@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_certify_knows_both(alpha):
    X, y, s = table()
    ours = HuberRegressor(alpha=alpha).fit(X, y, s)
    proof = certify(ours, X, y, s)
    assert_allclose(proof.value, ours.certificate_.value, rtol=1e-12)
    assert proof.relative_gap <= 1e-8
    theirs = sk.HuberRegressor(alpha=alpha, max_iter=7).fit
    with pytest.warns(Warning):
        early = theirs(X, y, s)
    gap = certify(early, X, y, s)
    value = objective(X, y, early.coef_, early.intercept_, early.scale_, s, 1.35, alpha)
    assert_allclose(gap.value, value, rtol=1e-12)
    assert_allclose(gap.bound, proof.bound, rtol=1e-7)
    assert gap.relative_gap > 1e-6


@pytest.mark.parametrize("alpha", [1e-3, 0.0])
def test_few_rows_some_without_weight(alpha):
    """Rows in fewer coordinates than columns: those without weight are left out, and the proof is
    of the rows as they came."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((9, 10)), rng.standard_normal(9)
    s = np.array([1.0, 0.0, 2.0, 0.0, 1.0, 1.0, 0.0, 3.0, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        some = HuberRegressor(alpha=alpha).fit(X, y, s)
        kept = HuberRegressor(alpha=alpha).fit(X[s > 0], y[s > 0], s[s > 0])
    assert_allclose(some.coef_, kept.coef_, rtol=1e-6, atol=1e-9)
    assert some.certificate_.bound <= some.certificate_.value
