"""The benchmark's judge is checked against definitions, since every published ratio rests on it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from benchmarks import gap, scan
from benchmarks.data import dense_classes, dense_regression, text_classes
from benchmarks.protocol import Fit, our_ladder, tolerances
from benchmarks.runner import repeats

C = 0.3


def tight(X, y, intercept=True):
    model = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-13, fit_intercept=intercept)
    return model.fit(X, y)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_logistic_gap_holds_everywhere_and_closes_at_the_optimum(
    kind, intercept, global_random_seed
):
    if kind == "dense":
        X, y = dense_classes(400, 6, condition=50, seed=global_random_seed)
    else:
        X, y = text_classes(400, 30, words=8, seed=global_random_seed)
    model = tight(X.toarray() if kind == "sparse" else X, y, intercept)
    best = gap.logistic(X, y, C, model.coef_, model.intercept_[0], intercept=intercept)
    assert best.relative_gap + 1e-14 >= 0 and best.relative_gap < 1e-11
    z = X @ model.coef_.ravel() + model.intercept_[0]
    naive = C * np.log(1 + np.exp(np.where(y == 1, -z, z))).sum() + (model.coef_**2).sum() / 2
    assert best.value == pytest.approx(naive, rel=1e-12)
    rng = np.random.default_rng(global_random_seed)
    for scale in (1e-3, 1, 1e3):
        w, b = scale * rng.standard_normal(X.shape[1]), scale * rng.standard_normal() * intercept
        other = gap.logistic(X, y, C, w, b, intercept=intercept)
        assert np.isfinite(other).all()
        assert other.value >= best.value * (1 - 1e-12)
        assert other.bound <= best.value * (1 + 1e-12)


def test_multinomial_gap_holds_everywhere_and_closes_at_the_optimum(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    y = np.repeat(np.arange(3), [200, 70, 30])
    X = rng.standard_normal((3, 5))[y] + rng.standard_normal((300, 5))
    model = tight(X, y)
    best = gap.multinomial(X, y, C, model.coef_, model.intercept_)
    assert best.relative_gap + 1e-14 >= 0 and best.relative_gap < 1e-11
    P = model.predict_proba(X)[np.arange(300), y]
    naive = -C * np.log(P).sum() + (model.coef_**2).sum() / 2
    assert best.value == pytest.approx(naive, rel=1e-12)
    for scale in (1e-3, 1, 30):
        W, b = scale * rng.standard_normal((3, 5)), scale * rng.standard_normal(3)
        other = gap.multinomial(X, y, C, W, b)
        assert np.isfinite(other).all()
        assert other.value >= best.value * (1 - 1e-12)
        assert other.bound <= best.value * (1 + 1e-12)


def test_ridge_gap_holds_everywhere_and_closes_at_the_optimum(global_random_seed):
    X, y = dense_regression(200, 8, condition=100, seed=global_random_seed)
    y = y + 1e3
    model = Ridge(alpha=3.0, solver="svd").fit(X, y)
    best = gap.ridge(X, y, 3.0, model.coef_, model.intercept_)
    assert abs(best.relative_gap) < 1e-11
    rng = np.random.default_rng(global_random_seed)
    for scale in (1e-3, 1, 1e3):
        other = gap.ridge(X, y, 3.0, scale * rng.standard_normal(8), scale * rng.standard_normal())
        assert other.value >= best.value * (1 - 1e-12)
        assert other.bound <= best.value * (1 + 1e-12)


def test_leave_one_out_is_what_its_name_says():
    X, y = dense_regression(40, 5, condition=10, seed=0)
    alphas = np.array([0.01, 1.0, 100.0])
    direct = [
        np.mean(
            [
                (y[i] - Ridge(alpha=a).fit(X[keep], y[keep]).predict(X[i : i + 1])[0]) ** 2
                for i in range(40)
                for keep in [np.arange(40) != i]
            ]
        )
        for a in alphas
    ]
    np.testing.assert_allclose(gap.leave_one_out(X, y, alphas), direct, rtol=1e-9)


def test_tables_are_the_same_every_time_and_as_described():
    X, y = dense_classes(20_000, 10, condition=2500, seed=1)
    again = dense_classes(20_000, 10, condition=2500, seed=1)
    assert np.array_equal(X, again.X) and np.array_equal(y, again.y)
    np.testing.assert_allclose(X.std(axis=0), 1)
    spectrum = np.linalg.eigvalsh(np.cov(X.T))
    assert 500 < spectrum[-1] / spectrum[0] < 12_500
    T, labels = text_classes(2_000, 1_000, words=20, seed=2)
    np.testing.assert_allclose(np.sqrt(T.multiply(T).sum(axis=1)), 1)
    assert T.has_canonical_format and set(np.unique(labels)) == {0, 1}
    assert 10 < T.nnz / 2_000 < 20


def test_ladders_tighten_and_repeats_follow_the_time():
    assert tolerances(1e-2, 1e-4) == (1e-2, 3.2e-3, 1e-3, 3.2e-4, 1e-4)
    assert 1e-6 in our_ladder(1e-6)
    assert [repeats(t) for t in (0.01, 0.5, 7.9, 8.0, 100.0)] == [7, 3, 3, 1, 1]
    fit = Fit(tol=1e-3, seconds=1.0, value=2.0, bound=1.0)
    assert fit.gap == 0.5 and fit.excess(1.5) == 0.25


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_what_was_scanned_is_told_from_what_was_not(kind, tmp_path):
    pytest.importorskip("polars")
    table = scan.table(300, 3)
    path = scan.written(table, tmp_path, kind, 100)
    for read in (scan.ours, scan.polars_read, scan.polars_rows):
        assert scan.judge(table, read(path)).relative_gap == 0.0
    wrong = table.X.copy()
    wrong[17, 1] += 1e-3
    assert scan.judge(table._replace(X=wrong), scan.ours(path)).relative_gap > 1e-6
    assert scan.judge(scan.table(299, 3), scan.ours(path)).relative_gap == 1.0
