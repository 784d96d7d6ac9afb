"""The judges of losses and penalties with corners, and the suite that rests on them, in small."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize
from sklearn.linear_model import HuberRegressor, Lasso, LogisticRegression, QuantileRegressor
from sklearn.svm import SVC, LinearSVC

from benchmarks import bounds, gap, linear, report
from benchmarks.data import (
    dense_classes,
    dense_regression,
    factor_regression,
    text_classes,
    text_regression,
)
from benchmarks.protocol import Fit, Row
from benchmarks.runner import run, settle
from benchmarks.worker import claim

C = 0.3
SETTINGS = [{}, {"intercept": True}, {"intercept": True, "held": True}]


def classes(kind, seed):
    if kind == "dense":
        return dense_classes(400, 6, condition=50, seed=seed)
    return text_classes(400, 30, words=8, seed=seed)


def is_sound(other, best):
    """A verdict anywhere: value above the optimum, bound below it."""
    assert np.isfinite(other).all()
    assert np.all(np.asarray(best.value) * (1 - 1e-12) <= other.value)
    assert np.all(np.asarray(best.value) * (1 + 1e-12) >= other.bound)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_lasso_gap_holds_everywhere_and_closes_along_a_path(kind, global_random_seed):
    if kind == "dense":
        X, y = factor_regression(60, 100, seed=global_random_seed)
    else:
        X, y = text_regression(200, 60, words=8, seed=global_random_seed)
    alphas = np.abs(X.T @ y).max() / len(y) * np.geomspace(1, 0.05, 6)
    W = np.column_stack(
        [Lasso(a, fit_intercept=False, tol=1e-13, max_iter=10**6).fit(X, y).coef_ for a in alphas]
    )
    best = gap.lasso_path(X, y, alphas, W)
    assert -1e-13 <= best.relative_gap < 1e-10
    for value, a, w in zip(best.value, alphas, W.T, strict=True):
        assert value == pytest.approx(
            np.mean((y - X @ w) ** 2) / 2 + a * np.abs(w).sum(), rel=1e-12
        )
    rng = np.random.default_rng(global_random_seed)
    for scale in (0, 1e-3, 1, 1e3):
        is_sound(gap.lasso_path(X, y, alphas, W + scale * rng.standard_normal(W.shape)), best)
        is_sound(gap.lasso_path(X, y, alphas, scale * rng.standard_normal(W.shape)), best)


def test_l1_logistic_gap_holds_everywhere_and_closes_at_the_optimum(global_random_seed):
    X, y = classes("dense", global_random_seed)
    strong = 0.05
    model = LogisticRegression(
        C=strong, l1_ratio=1.0, solver="liblinear", tol=1e-12, fit_intercept=False, max_iter=10**5
    )
    w = model.fit(X, y).coef_.ravel()
    best = gap.logistic_l1(X, y, strong, w)
    assert -1e-13 <= best.relative_gap < 1e-8 and np.abs(w).max() > 0
    rng = np.random.default_rng(global_random_seed)
    for scale in (0, 1e-3, 1, 1e3):
        is_sound(gap.logistic_l1(X, y, strong, scale * rng.standard_normal(len(w))), best)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_hinge_bound_holds_for_any_dual_point_and_is_close(kind, setting, global_random_seed):
    X, y = classes(kind, global_random_seed)
    a = bounds.hinge_dual(X, y, C, **setting)
    bound = gap.hinge_bound(X, y, C, a, **{"intercept": False, **setting})
    held = setting.get("held", False)
    if setting and not held:
        dense = X.toarray() if kind == "sparse" else X
        model = SVC(kernel="linear", C=C, tol=1e-8).fit(dense, y)
    else:
        model = LinearSVC(loss="hinge", C=C, fit_intercept=held, tol=1e-9, max_iter=10**6)
        model.fit(X, y)
    w, b = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
    best = gap.hinge(X, y, C, w, b, held=held)
    m = np.where(y == 1, 1, -1) * (X @ w + b)
    naive = C * np.maximum(0, 1 - m).sum() + (w @ w + (b * b if held else 0)) / 2
    assert best.value == pytest.approx(naive, rel=1e-12)
    assert -1e-13 <= (best.value - bound) / best.value <= 2e-7
    rng = np.random.default_rng(global_random_seed)
    for scale in (0, C, 10 * C):
        other = scale * rng.random(len(y)) - scale / 4
        any_bound = gap.hinge_bound(X, y, C, other, **{"intercept": False, **setting})
        assert any_bound <= bound + 1e-7 * best.value


def test_hinge_dual_with_a_free_intercept_meets_a_quadratic_program():
    X, y = dense_classes(30, 2, condition=3, seed=0)
    X, s = X + 3.0, gap.signs(y)
    a = bounds.hinge_dual(X, y, C, intercept=True)
    V = X * s[:, None]
    found = minimize(
        lambda a: (V.T @ a) @ (V.T @ a) / 2 - a.sum(),
        np.full(30, C / 2),
        jac=lambda a: V @ (V.T @ a) - 1,
        bounds=[(0, C)] * 30,
        constraints=LinearConstraint(s[None, :], 0, 0),
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    assert gap.hinge_bound(X, y, C, a, intercept=True) == pytest.approx(-found.fun, rel=2e-7)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_squared_hinge_gap_holds_everywhere_and_closes_at_the_optimum(kind, global_random_seed):
    X, y = classes(kind, global_random_seed)
    s, w = gap.signs(y), np.zeros(X.shape[1])
    dense = X.toarray() if kind == "sparse" else X
    for _ in range(50):  # Newton's method ends after finitely many steps
        on = s * (X @ w) < 1
        H = 2 * C * dense[on].T @ dense[on] + np.eye(len(w))
        w = np.linalg.solve(H, 2 * C * dense[on].T @ s[on])
    best = gap.squared_hinge(X, y, C, w)
    assert -1e-13 <= best.relative_gap < 1e-12
    naive = C * (np.maximum(0, 1 - s * (X @ w)) ** 2).sum() + w @ w / 2
    assert best.value == pytest.approx(naive, rel=1e-12)
    rng = np.random.default_rng(global_random_seed)
    for scale in (1e-3, 1, 1e3):
        is_sound(gap.squared_hinge(X, y, C, scale * rng.standard_normal(len(w))), best)


@pytest.mark.parametrize("graded", [True, False])
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "hinge"])
def test_ranking_gap_goes_through_every_pair(loss, graded, global_random_seed):
    X, y = dense_regression(130, 4, condition=10, seed=global_random_seed)
    if graded:
        y = np.round(y / 4)
    alpha, rng = 0.05, np.random.default_rng(global_random_seed)
    better, worse = np.nonzero(y[:, None] > y)

    def naive(w):
        t = (X[better] - X[worse]) @ w
        m = np.maximum(0, 1 - t)
        losses = {"logistic": np.logaddexp(0, -t), "squared_hinge": m * m, "hinge": m}[loss]
        return losses.mean() + alpha * w @ w / 2

    if loss == "hinge":
        w = bounds.ranking_plane(X, y, alpha, 1e-4)
        best = gap.ranking(X, y, alpha, w, loss, 1e-4)
        assert best.relative_gap < 1e-4
    else:

        def slope(w):
            seen = gap.pairs(X, y, w, loss, 1.0)
            return seen.loss + alpha * w @ w / 2, seen.grad_w + alpha * w

        w = minimize(slope, np.zeros(4), jac=True, options={"gtol": 1e-9}).x
        best = gap.ranking(X, y, alpha, w, loss)
        assert -1e-14 <= best.relative_gap < 1e-12
    for scale in (0, 1e-3, 1, 30):
        other = w + scale * rng.standard_normal(4)
        verdict = gap.ranking(X, y, alpha, other, loss)
        assert verdict.value == pytest.approx(naive(other), rel=1e-12)
        assert verdict.value >= best.bound - 1e-14 and verdict.bound <= best.value + 1e-14


def test_quantile_bound_holds_for_any_dual_point_and_closes(global_random_seed):
    X, y = dense_regression(150, 4, condition=10, seed=global_random_seed)
    q, alpha, rng = 0.7, 0.05, np.random.default_rng(global_random_seed)
    model = QuantileRegressor(quantile=q, alpha=alpha).fit(X, y)
    value = gap.quantile(X, y, q, alpha, model.coef_, model.intercept_).value
    bound = gap.quantile_bound(X, y, q, alpha, bounds.quantile_dual(X, y, q, alpha))
    assert -1e-12 <= (value - bound) / value < 1e-9
    for scale in (0, 0.1, 1, 10):
        any_bound = gap.quantile_bound(X, y, q, alpha, scale * rng.standard_normal(len(y)))
        assert any_bound <= bound + 1e-12


def test_huber_gap_holds_everywhere_and_closes_at_the_optimum(global_random_seed):
    X, y = dense_regression(300, 4, condition=10, seed=global_random_seed)
    y = y + 1e3
    model = HuberRegressor(alpha=2.0, max_iter=10**4, tol=1e-10).fit(X, y)
    best = gap.huber(X, y, 1.35, 2.0, model.coef_, model.intercept_, model.scale_)
    assert -1e-13 <= best.relative_gap < 1e-5
    rng = np.random.default_rng(global_random_seed)
    for scale in (1e-3, 1, 1e3):
        w, b, sigma = scale * rng.standard_normal(4), scale * rng.standard_normal(), scale
        is_sound(gap.huber(X, y, 1.35, 2.0, w, b, sigma), best)


@pytest.mark.parametrize("name", [load.name for load in linear.workloads("small")])
def test_everyone_solves_the_problem_that_is_judged(name):
    workload = next(load for load in linear.workloads("small") if load.name == name)
    table = workload.table()
    known = workload.known(table) if workload.known else None
    found: dict[int, list[Fit]] = {}
    for contender in workload.contenders:
        if not contender.name.startswith(("fenchel", "scikit-learn")):
            continue  # not installed with the tests
        fit, bound = contender.prepare(table), known and known[contender.problem]
        tol = workload.target if contender.ours else contender.ladder[-1]
        with warnings.catch_warnings():
            if not contender.ours:
                warnings.simplefilter("ignore")
            model = fit(tol)
        verdict = workload.judge(table, contender.read(model))
        seen = Fit(tol, 0.0, *verdict, claimed=claim(model)).given(bound)
        found.setdefault(contender.problem, []).append(seen)
        assert seen.gap >= -1e-12
        if contender.ours:
            assert seen.claimed <= workload.target
            assert seen.gap <= 1.2 * workload.target
    if known is None and not workload.one_problem:
        return  # one bound is no bound for another's problem
    for fits in found.values():
        best = np.max([fit.bound for fit in fits], axis=0)
        assert all(-1e-12 <= fit.excess(best) < 1e-4 for fit in fits)


def test_a_path_is_settled_where_each_of_its_points_is():
    loose = Fit(1e-2, 1.0, np.array([2.0, 3.0]), np.array([1.9, 2.0]))
    tight = Fit(1e-3, 1.0, np.array([2.0, 2.5]), np.array([1.8, 2.499]))
    row = Row("one", trace=[loose, tight])
    assert loose.gap == pytest.approx(1 / 3) and tight.gap == pytest.approx(0.1)
    settle([row, Row("failed")], 0.06)
    assert row.settled is tight and tight.excess(np.array([1.9, 2.499])) == pytest.approx(0.05)
    settle([Row("failed")], 0.06)
    assert json.loads(json.dumps(report.fit_json(tight)))["value"] == [2.0, 2.5]


def test_bounds_known_beforehand_reach_the_table():
    workload = next(load for load in linear.workloads("small") if "with intercept" in load.name)
    said: list[str] = []
    _, [row] = run(
        "linear",
        "small",
        workload,
        limit=60,
        chosen=lambda one: one.name == "fenchel, free",
        say=said.append,
    )
    assert said[0].startswith("  bounds known beforehand")
    assert not row.failure and row.certified.claimed is not None
    assert row.certified.gap <= workload.target
