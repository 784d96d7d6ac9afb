"""LinearRegression: certified digits, dependent columns named, the shapes of scikit-learn."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn.linear_model as sk
from models.linear.test_ridge import table
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import check_estimator
from solve.least_squares import nist, rational

from fenchel import LinearRegression, NotCertified, as_blocks
from fenchel.models.rank_deficiency import RankDeficient

TEN = {"Norris", "Pontius", "NoInt1", "NoInt2", "Longley", "Wampler1", "Wampler2", "Wampler3"}


@pytest.mark.parametrize("name", nist.NAMES)
def test_nist(name):
    ref = nist.read(name)
    model = LinearRegression(fit_intercept=ref.constant).fit(ref.X, ref.y)
    assert model.converged_ and model.certificate_.kind == "exact"
    assert model.rank_ == ref.X.shape[1]
    coef, std = model.coef_, model.coef_std_
    if ref.constant:
        coef, std = np.r_[model.intercept_, coef], np.r_[model.intercept_std_, std]
    pairs = [
        (coef, ref.coef),
        (std, ref.bse),
        (model.residual_std_, ref.scale),
        (model.r2_, ref.r2),
    ]
    assert min(nist.digits(*pair) for pair in pairs) >= (10.0 if name in TEN else 7.0)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("positive", [True, False])
@pytest.mark.parametrize("shape", [(200, 5), (30, 80), (1, 3), (5, 1), (6, 6)])
@pytest.mark.parametrize("targets", [1, 3])
def test_as_scikit_learn(shape, targets, positive, weighted, intercept):
    X, y, s = table(*shape, targets)
    s = s if weighted else None
    for Y in (y, y[:, None]) if targets == 1 else (y,):
        ours = LinearRegression(fit_intercept=intercept, positive=positive).fit(X, Y, s)
        theirs = sk.LinearRegression(fit_intercept=intercept, positive=positive).fit(X, Y, s)
        assert ours.coef_.shape == theirs.coef_.shape
        assert np.shape(ours.intercept_) == np.shape(theirs.intercept_)
        assert ours.converged_
        if not (positive and shape[0] <= shape[1]):  # else several are best
            assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7, atol=1e-8)
            assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-7, atol=1e-8)
        if not positive and len(X) > 1:  # of one row, centred, rounding is all that is left
            assert ours.rank_ == theirs.rank_
            assert_allclose(ours.singular_, theirs.singular_, rtol=1e-9, atol=1e-10)
            if intercept:
                assert_allclose(np.mean(ours.r2_), ours.score(X, Y, s))


def test_standard_errors():
    X, Y, s = table(40, 3, 2)
    model = LinearRegression().fit(X, Y, s)
    A = np.column_stack([X, np.ones(40)])
    inverse = np.linalg.inv(A.T @ (A * s[:, None]))
    rss = (s[:, None] * (Y - model.predict(X)) ** 2).sum(axis=0)
    scale = np.sqrt(rss / (40 - 4))
    std = np.sqrt(np.diagonal(inverse)) * scale[:, None]
    assert_allclose(model.residual_std_, scale)
    assert_allclose(model.coef_std_, std[:, :3])
    assert_allclose(model.intercept_std_, std[:, 3])
    alone = LinearRegression().fit(X, Y[:, 0], s)
    assert_allclose(alone.coef_std_, std[0, :3])
    assert isinstance(alone.residual_std_, float) and isinstance(alone.r2_, float)
    full = LinearRegression().fit(X[:4], Y[:4])  # no degree of freedom is left
    assert full.coef_std_ is None and full.residual_std_ is None and full.intercept_std_ is None


def test_dependent_columns_are_named():
    X, y, _ = table(30, 3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(total=X[:, 0] + X[:, 2], one=4.0)
    message = "rank 3 of 5 columns: .*'one'.* is constant"
    with pytest.warns(RankDeficient, match=message) as seen:
        model = LinearRegression().fit(frame, y)
    text = str(seen[0].message)
    assert all(f"'{name}'" in text for name in ("a", "c", "total")) and "'b'" not in text
    assert seen[0].filename == __file__
    # a + c rounded is no exact combination of a and c: in exact arithmetic the last bits of `total`
    # explain some of y, and the optimum of all five columns is lower by a thousandth. What is
    # solved is the problem of rank 3, and the certificate claims no more.
    assert model.rank_ == 3 and not model.converged_
    assert model.certificate_.kind == "estimate" and model.certificate_.relative_gap <= 1e-12
    optimum = float(rational.least_squares(frame.to_numpy()[:, :4], y).optimum)
    assert optimum < 0.9999 * model.certificate_.bound
    doubled = frame.assign(total=2.0 * X[:, 0])
    with pytest.warns(RankDeficient, match="rank 3 of 5"):
        assert LinearRegression().fit(doubled, y).converged_  # an exact combination is proved
    shortest = np.linalg.lstsq(frame - frame.mean(), y - y.mean(), rcond=1e-10)[0]
    assert_allclose(model.coef_, shortest, atol=1e-12)
    assert_allclose(model.singular_[3:], 0.0, atol=1e-12)
    with pytest.warns(RankDeficient, match="column 1 is a combination of column 0|column 0 is"):
        LinearRegression().fit(np.column_stack([X[:, 0], X[:, 0]]), y)
    many = np.column_stack([X, np.repeat(X[:, :1], 8, axis=1)])
    with pytest.warns(RankDeficient, match="and 3 more"):
        LinearRegression().fit(many, y)


def test_weights_are_repeats_and_zero_weights_removed_rows():
    X, Y, _ = table(40, 4, 2)
    times = np.random.default_rng(1).integers(0, 4, 40)
    weighted = LinearRegression().fit(X, Y, times)
    repeated = LinearRegression().fit(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0))
    assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-11)
    assert_allclose(weighted.certificate_.value, repeated.certificate_.value, rtol=1e-12)


def test_containers_agree():
    X, y, s = table(300, 6)
    X[np.abs(X) < 0.8] = 0.0
    dense = LinearRegression().fit(X, y, s)
    for other in (sparse.csr_array(X), np.asfortranarray(X), pd.DataFrame(X), as_blocks(X)):
        model = LinearRegression().fit(other, y, s)
        assert_allclose(model.coef_, dense.coef_, rtol=1e-13)
    single = LinearRegression().fit(X.astype(np.float32), y.astype(np.float32), s)
    assert single.coef_.dtype == np.float32
    assert_allclose(single.coef_, dense.coef_, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(
    ("scale", "size"),
    [
        (1.0, 1.0),
        (1e150, 1.0),
        (1e-150, 1.0),
        (1e290, 1e-5),
        ([1e200, 1.0, 1e-200], 1.0),
        (1.0, 1e300),
    ],
)
def test_hazards(scale, size, intercept):
    X, y, _ = table(20, 3)
    X, y = X * scale, y * size
    model = LinearRegression(fit_intercept=intercept).fit(X, y)
    exact = [float(v) for v in rational.least_squares(X, y, intercept=intercept).coef]
    assert_allclose(model.coef_, exact[:3], rtol=1e-12)
    assert model.converged_ and np.isfinite(model.certificate_.value)
    assert np.isfinite(model.coef_std_).all()
    assert np.isfinite(vars(model).get("singular_", 0.0)).all()


def test_degenerate_tables():
    X, y, _ = table(20, 3)
    flat = LinearRegression().fit(X, np.full(20, 0.1))
    assert flat.r2_ == 1.0 and flat.converged_
    assert_allclose(flat.coef_, 0.0, atol=1e-16)
    with pytest.warns(RankDeficient, match="rank 0 of 2"):
        constant = LinearRegression().fit(np.full((20, 2), 7.0), y)
    assert_array_equal(constant.coef_, 0.0)
    assert_allclose(constant.intercept_, y.mean())
    with pytest.warns(NotCertified, match="loosen tol"):
        LinearRegression(tol=1e-30).fit(X, y)
    again = LinearRegression().fit(X, y)
    assert "rank_" in vars(again)
    assert "rank_" not in vars(again.set_params(positive=True).fit(X, y))


def test_positive_meets_its_conditions():
    X, Y, s = table(80, 5, 2)
    Y[:, 0] -= 4.0 * X[:, 2]
    model = LinearRegression(positive=True).fit(X, Y, s)
    residual = Y - model.predict(X)
    gradient = -(X.T @ (s[:, None] * residual)).T
    assert (model.coef_ >= 0.0).all() and (model.coef_ == 0.0).any()
    assert (gradient >= -1e-8).all() and abs(gradient[model.coef_ > 0.0]).max() < 1e-8
    assert model.certificate_.relative_gap <= 1e-10


@pytest.mark.parametrize("model", [LinearRegression(), LinearRegression(positive=True)], ids=str)
def test_scikit_learn_checks(model):
    X, y, _ = table(30, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankDeficient)
        check_estimator(model, on_skip=None)
        estimator_checks.check_param_validation("LinearRegression", model)
        estimator_checks.check_dataframe_column_names_consistency("LinearRegression", model)
        for kind in ("NotAnArray", "PandasDataframe"):
            estimator_checks.check_estimators_data_not_an_array(
                "LinearRegression", model, X, y, kind
            )
