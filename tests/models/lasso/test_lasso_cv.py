"""Penalties chosen by cross-validation: scikit-learn's errors, folds that need no gathering."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn.linear_model as sk
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.model_selection import KFold, ShuffleSplit

import fenchel
from fenchel import ElasticNet, ElasticNetCV, Lasso, LassoCV
from fenchel.data.blocks import Blocks
from fenchel.models.cross_validation.folds import contiguous_folds

TIGHT = {"tol": 1e-10, "max_iter": 100_000}


def table(n=150, d=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 1.0
    w = rng.standard_normal(d) * (rng.random(d) < 0.5)
    return X, X @ w + 2.0 * rng.standard_normal(n), rng.uniform(0.1, 2.0, n)


class Away(Blocks):
    """Rows as a table that is not held by this process."""

    local = sparse = False

    def __init__(self, X, y, s=None):
        self.base = fenchel.as_blocks(X, y, s)
        self.base.rows = 37
        self.n_rows, self.n_cols, self.dtype = len(X), X.shape[1], X.dtype
        self.names = None

    def __iter__(self):
        return iter(self.base)

    def reduce(self, stat):
        return self.base.reduce(stat)

    def gather(self):
        raise AssertionError("rows were gathered")


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
def test_lasso_as_scikit_learn(intercept, weighted, positive):
    X, y, s = table()
    s = s if weighted else None
    given = {"alphas": 15, "cv": 4, "fit_intercept": intercept, "positive": positive}
    ours = LassoCV(**given, tol=1e-8).fit(X, y, s)
    theirs = sk.LassoCV(**given, **TIGHT).fit(X, y, s)
    assert_allclose(ours.alphas_, theirs.alphas_, rtol=1e-10)
    assert ours.mse_path_.shape == theirs.mse_path_.shape == (15, 4)
    assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=2e-3)
    assert ours.alpha_ == pytest.approx(theirs.alpha_)
    assert_allclose(ours.coef_, theirs.coef_, atol=2e-3)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-3)
    assert ours.gaps_.shape == (15, 4) and ours.gaps_.max() <= 1e-6
    assert ours.converged_ and ours.certificate_.relative_gap <= 1e-8
    assert ours.dual_gap_ == ours.certificate_.gap and ours.n_iter_ >= 1
    assert not hasattr(ours, "l1_ratio_")
    alone = Lasso(ours.alpha_, fit_intercept=intercept, positive=positive, tol=1e-8).fit(X, y, s)
    assert_array_equal(alone.coef_, ours.coef_)


def test_elastic_net_as_scikit_learn():
    X, y, s = table()
    given = {"l1_ratio": [0.1, 0.6, 1.0], "alphas": 6, "cv": KFold(3, shuffle=True, random_state=0)}
    ours = ElasticNetCV(**given, tol=1e-8).fit(X, y, s)
    theirs = sk.ElasticNetCV(**given, **TIGHT).fit(X, y, s)
    assert_allclose(ours.alphas_, theirs.alphas_, rtol=1e-10)
    assert ours.mse_path_.shape == theirs.mse_path_.shape == ours.gaps_.shape == (3, 6, 3)
    assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=2e-3)
    assert (ours.alpha_, ours.l1_ratio_) == pytest.approx((theirs.alpha_, theirs.l1_ratio_))
    alone = ElasticNet(ours.alpha_, l1_ratio=ours.l1_ratio_, tol=1e-8).fit(X, y, s)
    assert_array_equal(alone.coef_, ours.coef_)


def test_given_penalties_with_zero_and_ridge():
    X, y, _ = table(60, 4)
    alphas = [0.0, 1.0, 0.01]
    ours = ElasticNetCV(l1_ratio=[0.0, 0.5], alphas=alphas, cv=3).fit(X, y)
    assert_array_equal(ours.alphas_, [1.0, 0.01, 0.0])
    assert ours.mse_path_.shape == (2, 3, 3) and ours.gaps_.max() <= 1e-4
    assert_allclose(ours.mse_path_[0, 2], ours.mse_path_[1, 2], rtol=1e-8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = sk.ElasticNetCV(l1_ratio=[0.0, 0.5], alphas=alphas, cv=3, **TIGHT).fit(X, y)
    assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=2e-3)
    assert (ours.alpha_, ours.l1_ratio_) == (theirs.alpha_, theirs.l1_ratio_)


def test_the_answer_does_not_depend_on_the_jobs():
    X, y, s = table(300, 20)
    models = [LassoCV(alphas=10, n_jobs=n).fit(X, y, s) for n in (None, 1, 3, -1)]
    for other in models[1:]:
        assert_array_equal(other.mse_path_, models[0].mse_path_)
        assert_array_equal(other.coef_, models[0].coef_)
    with pytest.raises(ValueError, match="n_jobs=0"):
        LassoCV(n_jobs=0, alphas=3).fit(X, y)


@pytest.mark.parametrize("cv", [2, 3, 7])
@pytest.mark.parametrize("n", [20, 23])
def test_contiguous_folds_are_those_of_kfold(n, cv):
    X, y, _ = table(n, 2)
    for fold, (train, test) in zip(
        contiguous_folds(Away(X, y), cv), KFold(cv).split(X), strict=True
    ):
        inside = fold.test.reduce(lambda b: (b.start + np.flatnonzero(b.weight),))
        assert_array_equal(np.concatenate(inside), test)
        outside = Away(X, y).map(fold.train)
        rows = outside.reduce(lambda b: (b.start + np.flatnonzero(b.weight),))
        assert_array_equal(np.concatenate(rows), train)
    with pytest.raises(ValueError, match="as many rows"):
        contiguous_folds(Away(X, y), n + 1)
    with pytest.raises(ValueError, match="cv must be None or an int"):
        LassoCV(cv=KFold(3)).fit(Away(X, y))


def test_streams_are_never_gathered():
    X, y, s = table(200, 6)
    for weight in (None, s):
        here = LassoCV(alphas=8, cv=3, tol=1e-9).fit(X, y, weight)
        away = LassoCV(alphas=8, cv=3, tol=1e-9).fit(Away(X, y, weight))
        assert_allclose(away.mse_path_, here.mse_path_, rtol=1e-3)
        assert away.alpha_ == pytest.approx(here.alpha_) and away.converged_
        assert_allclose(away.coef_, here.coef_, atol=1e-3)


def test_sparse_rows_and_targets_of_any_size():
    X, y, _ = table()
    X[np.abs(X) < 0.7] = 0.0
    dense = LassoCV(alphas=6, cv=3, tol=1e-8).fit(X, y)
    other = LassoCV(alphas=6, cv=3, tol=1e-8).fit(sparse.csr_array(X), y)
    assert_allclose(other.mse_path_, dense.mse_path_, rtol=1e-3)
    huge = LassoCV(alphas=6, cv=3, tol=1e-8).fit(X, y * 2.0**300)
    assert_allclose(np.ldexp(huge.mse_path_, -600), dense.mse_path_, rtol=1e-3)
    assert_allclose(np.ldexp(huge.coef_, -300), dense.coef_, atol=1e-3)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"l1_ratio": [0.5, 1.5]}, r"l1_ratio must hold numbers in \[0, 1\]"),
        ({"l1_ratio": []}, r"l1_ratio must hold numbers in \[0, 1\]"),
        ({"l1_ratio": ["a"]}, r"l1_ratio must hold numbers in \[0, 1\], got \['a'\]"),
        ({"l1_ratio": -1.0}, "'l1_ratio' parameter of ElasticNetCV"),
        ({"l1_ratio": 0.0}, "Automatic alpha grid generation is not supported for l1_ratio=0"),
        ({"alphas": [1.0, -2.0]}, r"alphas\[1\]"),
        ({"alphas": 0}, "'alphas' parameter"),
        ({"cv": 1000}, "number of splits"),
    ],
)
def test_wrong_arguments_are_named(params, message):
    X, y, _ = table(30, 3)
    with pytest.raises(ValueError, match=message):
        ElasticNetCV(**params).fit(X, y)


def test_wrong_data_are_named():
    X, y, _ = table(30, 3)
    with pytest.raises(ValueError, match="y has 2 targets: fit a model for each column"):
        LassoCV().fit(X, np.c_[y, y])
    with pytest.raises(ValueError, match="requires y"):
        LassoCV().fit(X)
    s = np.ones(30)
    s[:10] = 0.0
    with pytest.raises(ValueError, match="a fold has no row with weight"):
        LassoCV(cv=3, alphas=3).fit(X, y, s)


def test_any_splitter():
    X, y, _ = table(60, 3)
    model = LassoCV(cv=ShuffleSplit(4, random_state=0), alphas=5).fit(X, y)
    assert model.mse_path_.shape == (5, 4)
    pairs = [(np.arange(40), np.arange(40, 60)), (np.arange(20, 60), np.arange(20))]
    assert LassoCV(cv=pairs, alphas=5).fit(X, y).mse_path_.shape == (5, 2)
