"""RidgeCV: every leave-one-out error against a refit without that row, choices against peers."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.linear_model as sk
from models.linear.test_ridge import Counted, table
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import config_context
from sklearn.metrics import get_scorer
from sklearn.model_selection import GroupKFold
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import check_estimator

from fenchel import Ridge, RidgeCV, as_blocks, scan
from fenchel.solve.least_squares.leave_one_out import left_out
from fenchel.solve.least_squares.moments import regression_moments

ALPHAS = np.geomspace(1e-3, 1e3, 7)


def refits(X, Y, alphas, intercept, s=None):
    """√s times the error at each row of the model fitted without it (n, K, A): n·A fits."""
    Y = Y.reshape(len(Y), -1)
    out = np.empty((*Y.shape, len(alphas)))
    s = np.ones(len(Y)) if s is None else s
    for i in range(len(Y)):
        rest = np.arange(len(Y)) != i
        for a, alpha in enumerate(alphas):
            model = Ridge(alpha, fit_intercept=intercept).fit(X[rest], Y[rest], s[rest])
            W, b = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
            out[i, :, a] = np.sqrt(s[i]) * (Y[i] - W @ X[i] - b)
    return out


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("mode", [None, "eigen", "svd"])
@pytest.mark.parametrize("shape", [(14, 3, 1), (14, 3, 2), (9, 12, 2), (6, 6, 1)])
def test_every_error_is_that_of_a_refit(shape, mode, weighted, intercept):
    X, Y, s = table(*shape)
    s = s if weighted else None
    if weighted:
        s[2] = 0.0
    alphas = ALPHAS[1::2]
    naive = refits(X, Y, alphas, intercept, s) ** 2
    kept = RidgeCV(alphas, fit_intercept=intercept, gcv_mode=mode, store_cv_results=True)
    kept.fit(X, Y, s)
    assert kept.cv_results_.shape == (*Y.shape, 3)
    assert_allclose(kept.cv_results_.reshape(naive.shape), naive, rtol=1e-7, atol=1e-12)
    assert_allclose(-kept.best_score_, naive.mean(axis=(0, 1)).min(), rtol=1e-9)
    assert kept.alpha_ == alphas[naive.mean(axis=(0, 1)).argmin()]
    for rows in (X, sparse.csr_array(X)):
        model = RidgeCV(alphas, fit_intercept=intercept, gcv_mode=mode).fit(rows, Y, s)
        assert model.alpha_ == kept.alpha_ and model.converged_
        assert_allclose(model.best_score_, kept.best_score_, rtol=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("scoring", [None, "r2", "neg_mean_absolute_error"])
@pytest.mark.parametrize("each", [True, False])
@pytest.mark.parametrize("shape", [(60, 5, 1), (60, 5, 3), (12, 30, 3)])
def test_as_scikit_learn(shape, each, scoring, intercept):
    X, Y, s = table(*shape)
    if each and scoring and Y.ndim == 1:
        Y = Y[:, None]
    settings = {"scoring": scoring, "alpha_per_target": each, "fit_intercept": intercept}
    for weight in (None, s):
        ours = RidgeCV(ALPHAS, store_cv_results=True, **settings).fit(X, Y, weight)
        theirs = sk.RidgeCV(ALPHAS, store_cv_results=True, **settings).fit(X, Y, weight)
        assert_array_equal(ours.alpha_, theirs.alpha_)
        assert np.shape(ours.best_score_) == np.shape(theirs.best_score_)
        assert_allclose(ours.best_score_, theirs.best_score_, rtol=1e-9, atol=1e-10)  # R² near 0
        assert_allclose(ours.cv_results_, theirs.cv_results_, rtol=1e-6, atol=1e-9)
        assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8, atol=1e-10)
        assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-8, atol=1e-10)
        assert ours.converged_ and ours.certificate_.kind == "duality"


def test_the_refit_is_that_of_ridge():
    X, Y, s = table(50, 4, 3)
    model = RidgeCV(ALPHAS, alpha_per_target=True).fit(X, Y, s)
    again = Ridge(model.alpha_).fit(X, Y, s)
    assert_array_equal(model.coef_, again.coef_)
    assert model.certificate_.value == again.certificate_.value


@pytest.mark.parametrize("fault", ["eigenvalues", "units", "copies"])
def test_tiny_penalties_keep_their_digits(fault):
    """Where the Gram matrix has lost them: the errors still agree with refits."""
    X, y, _ = table(25, 4, offset=0.0)
    if fault == "eigenvalues":
        X = X @ np.diag([1.0, 1.0, 1e-5, 1e-7]) @ np.linalg.qr(X[:4])[0]
    elif fault == "units":
        X = X * [1e150, 1.0, 1e-150, 1e8]
    else:
        X = np.column_stack([X, X[:, 0] + X[:, 1]])
    alphas = [1e-10, 1e-6, 1.0]
    model = RidgeCV(alphas, store_cv_results=True).fit(X, y)
    naive = refits(X, y, alphas, True)[:, 0] ** 2
    assert_allclose(model.cv_results_, naive, rtol=1e-5, atol=1e-7 * naive.max())
    assert np.isfinite(model.coef_).all() and model.converged_


@pytest.mark.parametrize("shape", [(40, 4), (8, 12)])
@pytest.mark.parametrize(("scale", "offset", "size"), [(1, 1e8, 1), (1e150, 0, 1), (1, 0, 1e150)])
def test_hazards(shape, scale, offset, size):
    X, y, _ = table(*shape, offset=0.0)
    plain = RidgeCV(ALPHAS).fit(X, y)
    # With the penalty scaled alike, neither unit nor origin may change the choice.
    model = RidgeCV(ALPHAS * min(float(scale) ** 2, 1e250)).fit(X * scale + offset, y * size)
    assert model.converged_
    if scale == 1:
        assert model.alpha_ == plain.alpha_
        assert_allclose(model.best_score_, plain.best_score_ * float(size) ** 2, rtol=1e-6)
        assert_allclose(model.coef_, plain.coef_ * size, rtol=1e-6)
    far = RidgeCV(ALPHAS).fit(X, y * 1e200)  # whose squares overflow
    assert far.alpha_ == plain.alpha_
    assert_allclose(far.coef_, plain.coef_ * 1e200, rtol=1e-12)


def test_one_row_with_all_the_say():
    """A column that a single row holds: its leverage is one, its error finite."""
    X, y, _ = table(30, 3)
    X = np.column_stack([X, np.eye(30)[4]])
    model = RidgeCV([1e-300, 1e-3], store_cv_results=True).fit(X, y)
    assert np.isfinite(model.cv_results_).all() and np.isfinite(model.coef_).all()
    with pytest.raises(ValueError, match="n_samples=1"):
        RidgeCV().fit(X[:1], y[:1])


def test_streams_in_three_passes(tmp_path):
    X, Y, s = table(3000, 5, 2)
    blocks = Counted(as_blocks(X, Y, s))
    found = regression_moments(blocks, True)[1]
    sums = left_out(blocks, found, ALPHAS, True).squares(blocks)
    assert blocks.passes == 2
    assert_allclose(-sums.sum(axis=0).min() / 6000, RidgeCV(ALPHAS).fit(X, Y, s).best_score_)
    np.save(tmp_path / "t.npy", np.column_stack([X, Y[:, 0]]))
    memory = RidgeCV(ALPHAS).fit(X, Y[:, 0])
    with scan(tmp_path / "t.npy", target=5) as file:
        model = RidgeCV(ALPHAS).fit(file)
        assert model.alpha_ == memory.alpha_ and model.converged_
        assert_allclose(model.coef_, memory.coef_, rtol=1e-12)
        for settings in ({"store_cv_results": True}, {"scoring": "r2"}):
            with pytest.raises(ValueError, match=f"{next(iter(settings))} needs .* in memory"):
                RidgeCV(ALPHAS, **settings).fit(file)
        with pytest.raises(ValueError, match="cv splits rows"):
            RidgeCV(ALPHAS, cv=3).fit(file)


def test_float32_is_summed_in_float64():
    X, y, _ = table(500, 6)
    single = RidgeCV(ALPHAS).fit(X.astype(np.float32), y.astype(np.float32))
    double = RidgeCV(ALPHAS).fit(X, y)
    assert single.coef_.dtype == np.float32 and single.alpha_ == double.alpha_
    assert_allclose(single.best_score_, double.best_score_, rtol=1e-5)


def test_a_number_of_folds():
    X, Y, s = table(60, 4, 2)
    for scoring in (None, "neg_mean_squared_error"):
        ours = RidgeCV(ALPHAS, cv=4, scoring=scoring).fit(X, Y, s)
        theirs = sk.RidgeCV(ALPHAS, cv=4, scoring=scoring).fit(X, Y, s)
        assert ours.alpha_ == theirs.alpha_ and ours.converged_
        assert_allclose(ours.best_score_, theirs.best_score_, rtol=1e-9, atol=1e-10)  # R² near 0
        assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8)
    assert RidgeCV([0.0, 1.0], cv=3).fit(X, Y).converged_
    for name in ("store_cv_results", "alpha_per_target"):
        with pytest.raises(ValueError, match=f"{name}=True are incompatible"):
            RidgeCV(cv=3, **{name: True}).fit(X, Y)


def test_metadata_is_routed():
    X, y, s = table(40, 3)
    with config_context(enable_metadata_routing=True):
        scorer = get_scorer("neg_mean_squared_error").set_score_request(sample_weight=True)
        routed = RidgeCV(ALPHAS, scoring=scorer).set_fit_request(sample_weight=True)
        routed.fit(X, y, sample_weight=s)
        groups = RidgeCV(ALPHAS, cv=GroupKFold(3)).set_fit_request(sample_weight=True)
        groups.fit(X, y, sample_weight=s, groups=np.arange(40) // 5)
    theirs = sk.RidgeCV(ALPHAS, scoring="neg_mean_squared_error").fit(X, y, s)
    assert routed.alpha_ == theirs.alpha_
    assert_allclose(routed.best_score_, theirs.best_score_, rtol=1e-9)
    assert groups.converged_


def test_bad_grids():
    X, y, _ = table(20, 3)
    for alphas in ([0.0, 1.0], [1.0, -1.0], -1.0, []):
        with pytest.raises(ValueError, match="alphas"):
            RidgeCV(alphas).fit(X, y)
    assert RidgeCV(2.0).fit(X, y).alpha_ == 2.0
    assert RidgeCV([2.0]).fit(X, y).alpha_ == 2.0


@pytest.mark.parametrize("model", [RidgeCV(), RidgeCV(cv=3)], ids=str)
def test_scikit_learn_checks(model):
    check_estimator(model, on_skip=None)
    estimator_checks.check_param_validation("RidgeCV", model)
    estimator_checks.check_dataframe_column_names_consistency("RidgeCV", model)
    X, y, _ = table(30, 3)
    for kind in ("NotAnArray", "PandasDataframe"):
        estimator_checks.check_estimators_data_not_an_array("RidgeCV", model, X, y, kind)
