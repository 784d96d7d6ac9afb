"""Discriminants on awkward tables: classes of few rows or left out, scales, solvers, homes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import discriminant_analysis

import fenchel
from fenchel import (
    FisherDiscriminant,
    KernelFisherDiscriminant,
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
    RankDeficient,
    RegularizedDiscriminantAnalysis,
    RegularizedDiscriminantAnalysisCV,
    certify,
)
from fenchel.models.discriminant import linear
from fenchel.score.validation.run import FoldFailed

LINEAR, QUADRATIC = LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
GAUSSIAN = [LINEAR, QUADRATIC, RegularizedDiscriminantAnalysis, RegularizedDiscriminantAnalysisCV]
ALL = [*GAUSSIAN, FisherDiscriminant, KernelFisherDiscriminant]
EACH = pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)


def classes(seed=0, n=150, d=3, K=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % K
    return rng.normal(size=(n, d)) + 2.0 * rng.normal(size=(K, d))[y], y


@EACH
def test_a_class_missing_in_a_fold_is_named(kind):
    X, y = classes()
    folds = [(np.flatnonzero(y != k), np.flatnonzero(y == k)) for k in range(3)]
    with pytest.raises(ValueError, match="fold 0 has no row of class 0 to fit on"):
        fenchel.cross_validate(kind(), X, y, cv=folds, scoring="accuracy")
    folds.append((np.arange(100), np.arange(100, 150)))
    with pytest.warns(FoldFailed, match="3 of 4 fits failed"):
        found = fenchel.cross_validate(kind(), X, y, cv=folds, error_score=np.nan)
    assert np.isnan(found.test["score"][:3]).all() and found.test["score"][3] > 0.5


@EACH
def test_a_class_of_one_row(kind):
    X, y = classes()
    X, y = X[49 * 3 :: -1], y[49 * 3 :: -1]
    here = np.r_[np.flatnonzero(y == 0)[:1], np.flatnonzero(y > 0)]
    X, y = X[here], np.array(["rare", "b", "c"])[y[here]]
    if kind is QUADRATIC:
        with pytest.raises(ValueError, match=r"only 1 sample in class 'rare'.*LinearDiscriminant"):
            kind().fit(X, y)
        return
    model = kind().fit(X, y)
    assert model.score(X, y) > 0.6 and set(model.predict(X)) <= {"rare", "b", "c"}
    if kind is RegularizedDiscriminantAnalysisCV:  # its own covariance is not to be had
        assert np.isinf(model.errors_[0]).all() and model.lam_ > 0.0


@EACH
def test_rows_that_are_all_the_same(kind):
    with pytest.raises(ValueError, match=r"all rows|gamma above 0"):
        kind().fit(np.full((12, 2), 3.7), np.arange(12) % 2)


def test_priors_that_do_not_sum_to_one():
    X, y = classes()
    for kind in GAUSSIAN[:3]:
        with pytest.warns(UserWarning, match="priors do not sum to 1"):
            model = kind(priors=[3.0, 1.0, 1.0]).fit(X, y)
        np.testing.assert_allclose(model.priors_, [0.6, 0.2, 0.2])
        wanted = kind(priors=[0.6, 0.2, 0.2]).fit(X, y).predict_proba(X)
        np.testing.assert_allclose(model.predict_proba(X), wanted, atol=1e-14)
        never = kind(priors=[0.5, 0.5, 0.0]).fit(X, y)
        assert (never.predict_proba(X)[:, 2] == 0.0).all() and not (never.predict(X) == 2).any()
        low = never.bayes_error(2000)
        assert 0.0 <= low.low <= low.value <= low.high < 0.5


@pytest.mark.parametrize("options", [{}, {"shrinkage": 0.3}, {"shrinkage": "auto"}], ids=str)
@pytest.mark.parametrize("shape", [(150, 3), (30, 60)], ids=["tall", "wide"])
@pytest.mark.parametrize("kind", [LINEAR, QUADRATIC], ids=lambda kind: kind.__name__)
@pytest.mark.filterwarnings("ignore::fenchel.RankDeficient")
def test_every_solver_and_home_is_one_answer(kind, shape, options):
    X, y = classes(1, *shape)
    X[np.abs(X) < 0.5] = 0.0
    solvers = ("svd", "lsqr", "eigen") if kind is LINEAR else ("svd", "eigen")
    plain = kind(**options).fit(X, y)
    scores = plain.decision_function(X)
    for solver in solvers:
        for priors in (None, [0.2, 0.3, 0.5]):
            found = kind(solver=solver, priors=priors, **options).fit(X, y)
            other = kind(priors=priors, **options).fit(X, y)
            np.testing.assert_array_equal(found.decision_function(X), other.decision_function(X))
    homes = (sparse.csr_array(X), sparse.csc_array(X), np.asfortranarray(X), pd.DataFrame(X))
    for rows in homes:
        found = kind(**options).fit(rows, y).decision_function(rows)
        np.testing.assert_allclose(found, scores, atol=1e-7 * np.abs(scores).max())
    single = kind(**options).fit(X.astype(np.float32), y)
    assert single.predict_proba(X[:5].astype(np.float32)).dtype == np.float32
    assert (single.predict(X.astype(np.float32)) == plain.predict(X)).mean() > 0.97
    if kind is LINEAR:  # scikit-learn transforms by "svd" and "eigen" alone
        for solver in solvers:
            found = kind(solver=solver, **options).fit(X, y).transform(X)
            np.testing.assert_array_equal(found, plain.transform(X))


@EACH
@pytest.mark.filterwarnings("ignore::fenchel.RankDeficient")
def test_few_rows_and_many_columns(kind):
    X, y = classes(2, 40, 120, 2)
    if kind is RegularizedDiscriminantAnalysisCV:
        model = kind(gammas=[0.2, 1.0]).fit(X, y)
    else:
        model = kind().fit(X, y)
    assert model.score(X, y) > 0.9
    assert np.isfinite(model.decision_function(X)).all()


FAR = [[1e-4, 1e5, 1.0], [1e-150, 1e150, 1.0], [1e140, 1e140, 1e140], [1e-9, 1.0, 1.0]]


@pytest.mark.parametrize("scale", FAR, ids=str)
def test_scales_of_columns_decide_nothing_without_an_identity(scale):
    """Where covariances are not drawn to a multiple of the identity, units of columns are units."""
    X, y = classes(3)
    for kind in (LINEAR, QUADRATIC, RegularizedDiscriminantAnalysis):
        wanted = kind().fit(X, y).predict_proba(X)
        np.testing.assert_allclose(kind().fit(X * scale, y).predict_proba(X * scale), wanted, 1e-7)
    a, b = (RegularizedDiscriminantAnalysisCV().fit(rows, y) for rows in (X, X * np.array(scale)))
    np.testing.assert_allclose(b.losses_[:, 0], a.losses_[:, 0], rtol=1e-9)
    np.testing.assert_array_equal(b.errors_[:, 0], a.errors_[:, 0])
    flat = RegularizedDiscriminantAnalysisCV(gammas=[0.0])
    assert flat.fit(X * scale, y).lam_ == flat.fit(X, y).lam_


def test_tables_as_they_come():
    X, y = classes(4)
    words = np.array(["a", "b", "c"])[y]
    for kind in ALL:
        frame = pd.DataFrame(X, columns=["u", "v", "w"])
        model = kind().fit(frame, pd.Series(pd.Categorical(words)))
        assert set(model.predict(frame)) <= {"a", "b", "c"}
        with pytest.raises(ValueError, match="column 'kind' holds Categorical"):
            kind().fit(frame.assign(kind=pd.Categorical(words)), words)
        with pytest.raises(ValueError, match="minimum of 1 is required"):
            model.predict(frame[:0])
        with pytest.raises(ValueError, match="expecting 3 features"):
            kind().fit(X, y).predict(X[:, :2])
        one = kind().fit(X[:, :1], y)
        assert one.score(X[:, :1], y) > 0.33
        truth = kind().fit(X, y == 1)
        assert truth.predict(X).dtype == bool
    with pytest.warns(RankDeficient, match="rank 3 in 4 columns"):
        LINEAR().fit(np.column_stack([X, np.ones(len(X))]), y)


def test_a_file_with_words_for_classes(tmp_path):
    X, y = classes(5)
    words = np.array(["no", "so", "yes"])[y]
    pd.DataFrame(X, columns=["u", "v", "w"]).assign(y=words).to_csv(tmp_path / "t.csv", index=False)
    for kind in ALL:
        with fenchel.scan(tmp_path / "t.csv", target="y") as table:
            model = kind().fit(table)
            assert model.classes_.tolist() == ["no", "so", "yes"]
            plain = kind().fit(pd.DataFrame(X, columns=["u", "v", "w"]), words)
            assert (
                model.predict(table) == plain.predict(pd.DataFrame(X, columns=["u", "v", "w"]))
            ).all()


@pytest.mark.parametrize("scale", [1.0, 1e-140, 1e140])
@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.filterwarnings("ignore::fenchel.RankDeficient")
def test_few_rows_are_fitted_in_their_own_space(K, scale, monkeypatch):
    """As by the covariance of all columns, its certificate and densities too."""
    X, y = classes(6, 30, 40, K)
    X[:, 7], X[:, 8] = 3.0, X[:, 9] + X[:, 10]
    X, s = X * scale, np.random.default_rng(0).integers(0, 3, 30).astype(float)
    Z, z = classes(7, 25, 40, K)
    Z = Z * scale
    Z[:, 7], Z[:, 8] = 3.0 * scale, Z[:, 9] + Z[:, 10]
    far, at = classes(8, 90, 40, K)
    for weight in (None, s):
        for options in ({}, {"priors": np.arange(1.0, K + 1.0) / np.arange(1.0, K + 1.0).sum()}):
            plain = LINEAR(store_covariance=True, **options).fit(X, y, weight)
            with monkeypatch.context() as patch:
                patch.setattr(linear, "WIDE", 10)
                model = LINEAR(store_covariance=True, **options).fit(X, y, weight)
                other = certify(model, Z, z)
            assert "moments_" in vars(plain) and "moments_" not in vars(model)
            assert model.rank_ == plain.rank_
            for method in ("decision_function", "predict_proba", "log_density", "transform"):
                a, b = (getattr(one, method)(Z) for one in (model, plain))
                np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6 * np.abs(b).max())
            np.testing.assert_allclose(model.means_, plain.means_, rtol=1e-12)
            if scale == 1.0:  # squares of the others leave float64
                np.testing.assert_allclose(model.covariance_, plain.covariance_, atol=1e-12)
            a, b = model.certificate_, plain.certificate_
            assert a.closed(1e-9) and a.value == pytest.approx(b.value, rel=1e-9)
            assert other.value == pytest.approx(certify(plain, Z, z).value, rel=1e-6)
            assert other.value >= other.bound
            assert float(model.bayes_error(2000)) == pytest.approx(
                float(plain.bayes_error(2000)), abs=1e-6
            )
            if scale == 1.0 and not options:
                assert certify(model, far, at).value > certify(LINEAR().fit(far, at), far, at).value
    with pytest.raises(ValueError, match="keeps no moments"):
        model.partial_fit(X, y)


@pytest.mark.filterwarnings("ignore::fenchel.RankDeficient")
def test_thousands_of_columns_take_no_eigenvectors_of_their_covariance():
    X, y = classes(9, 40, 5000, 2)
    model = LINEAR().fit(X, y)
    assert model.rank_ == 38
    peer = discriminant_analysis.LinearDiscriminantAnalysis(solver="svd").fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X[::-1]), peer.predict_proba(X[::-1]), atol=1e-8)
    single = LINEAR().fit(sparse.csr_array(X.astype(np.float32)), y)
    assert single.coef_.dtype == np.float32
    assert (single.predict(X.astype(np.float32)) == model.predict(X)).mean() > 0.9


@EACH
@pytest.mark.parametrize("scale", [0.1, 1e18, 1e100, 1e-100])
@pytest.mark.parametrize("shape", [(60, 3), (40, 60)], ids=["tall", "wide"])
@pytest.mark.filterwarnings("ignore::fenchel.RankDeficient")
def test_a_constant_column_says_nothing_at_any_scale(kind, scale, shape):
    """Such as a time stamp of nanoseconds that is the same in all rows."""
    X, y = classes(10, *shape)
    X = X * scale
    more = np.column_stack([X, np.full(len(X), 1.7 * scale)])
    settings = {"gammas": [0.3]} if kind is RegularizedDiscriminantAnalysisCV else {}
    plain, model = kind(**settings).fit(X, y), kind(**settings).fit(more, y)
    a, b = plain.predict(X), model.predict(more)
    # Shrinkage is towards as many columns as there are.
    exact = kind in (LINEAR, FisherDiscriminant)
    assert (a == b).all() if exact else (a == b).mean() > 0.9
    if exact:
        scores = plain.decision_function(X)
        found = model.decision_function(more)
        np.testing.assert_allclose(found, scores, atol=1e-9 * np.abs(scores).max())
