"""Linear and quadratic discriminant analysis against definition, scikit-learn and hazards."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.discriminant import friedman, log_joint, negative_log_likelihood
from scipy import sparse
from sklearn import discriminant_analysis as peer
from sklearn.covariance import EmpiricalCovariance
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

import fenchel
from fenchel import (
    GaussianClasses,
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
    RankDeficient,
    certify,
    scan,
    threads,
)

LINEAR, QUADRATIC = LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
BOTH = pytest.mark.parametrize("kind", [LINEAR, QUADRATIC])
SETS = {"iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer}


def three(seed=0, n=400, d=4):
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n, p=[0.2, 0.3, 0.5])
    A = rng.normal(size=(3, d, d)) + 2 * np.eye(d)
    return np.einsum("nij,nj->ni", A[y], rng.normal(size=(n, d))) + 2 * rng.normal(size=(3, d))[
        y
    ], y


@pytest.mark.parametrize("data", SETS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"priors": (1, 2)},
        {"solver": "eigen", "shrinkage": 0.3},
        {"solver": "eigen", "shrinkage": "auto"},
    ],
    ids=str,
)
@BOTH
def test_gives_what_scikit_learn_gives(kind, data, options):
    X, y = SETS[data](return_X_y=True)
    K = len(np.unique(y))
    if "priors" in options:
        options = {"priors": np.arange(1.0, K + 1) / np.arange(1.0, K + 1).sum()}
    model = kind(**options, store_covariance=True).fit(X, y)
    other = getattr(peer, kind.__name__)(**options, store_covariance=True, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-8)
    np.testing.assert_allclose(model.means_, other.means_, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), other.predict(X))
    assert model.certificate_.kind == "exact" and model.certificate_.closed(1e-12)
    if kind is QUADRATIC:
        want = other.decision_function(X)
        np.testing.assert_allclose(model.decision_function(X), want, rtol=1e-6, atol=1e-6)
    if "priors" not in options:
        np.testing.assert_allclose(model.covariance_, other.covariance_, rtol=1e-9, atol=1e-9)
    if kind is LINEAR and not options.get("solver"):
        np.testing.assert_allclose(
            abs(model.transform(X)), abs(other.transform(X)), rtol=1e-7, atol=1e-7
        )
        np.testing.assert_allclose(
            model.explained_variance_ratio_, other.explained_variance_ratio_, atol=1e-10
        )
        np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(model.intercept_, other.intercept_, rtol=1e-6)


@BOTH
def test_own_covariance_estimators_and_solvers_give_one_answer(kind):
    X, y = three()
    plain = kind().fit(X, y)
    for options in ({"solver": "eigen"}, {"covariance_estimator": EmpiricalCovariance()}):
        np.testing.assert_allclose(
            kind(**options).fit(X, y).predict_proba(X), plain.predict_proba(X), atol=1e-12
        )
    with pytest.raises(ValueError, match="Only one of the two"):
        kind(shrinkage=0.1, covariance_estimator=EmpiricalCovariance()).fit(X, y)


@BOTH
def test_densities_and_the_certificate_by_definition(kind):
    X, y = three(3)
    s = np.random.default_rng(1).random(len(y))
    lam = 1.0 if kind is LINEAR else 0.0
    parts = friedman(X, y, lam, 0.0, s)
    model = kind().fit(X, y, s)
    want = log_joint(X, *parts)
    np.testing.assert_allclose(model.predict_joint_log_proba(X), want, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.log_density(X), np.logaddexp.reduce(want, 1), rtol=1e-9)
    np.testing.assert_allclose(
        model.predict_log_proba(X), want - np.logaddexp.reduce(want, 1)[:, None], atol=1e-8
    )
    least = negative_log_likelihood(X, y, *parts, s)
    proof = model.certificate_
    assert proof.value == pytest.approx(least, rel=1e-11)
    assert proof.bound == pytest.approx(least, rel=1e-11) and proof.bound <= proof.value
    # No other parameters do better, and the bound knows how much worse they are.
    rng = np.random.default_rng(2)
    for _ in range(5):
        means = parts[1] + 0.1 * rng.normal(size=parts[1].shape)
        each = np.full(3, rng.random()) if kind is LINEAR else rng.random(3)
        spread = [S * (1 + 0.1 * r) for S, r in zip(parts[2], each, strict=True)]
        assert negative_log_likelihood(X, y, parts[0], means, spread, s) > proof.bound
    model.means_ = model.means_ + 0.1
    worse = certify(model, X, y, s)
    assert worse.kind == "exact" and not worse.closed(1e-6)
    assert worse.value == pytest.approx(
        negative_log_likelihood(X, y, parts[0], model.means_, parts[2], s), rel=1e-10
    )
    assert worse.bound == pytest.approx(least, rel=1e-11)


@BOTH
@pytest.mark.parametrize("options", [{}, {"shrinkage": 0.2}, {"shrinkage": "auto"}], ids=str)
def test_on_other_rows_the_certificate_is_a_true_statement(kind, options):
    X, y = three(0)
    model = kind(**options).fit(X[:200], y[:200])
    best = kind(**options).fit(X[200:], y[200:])
    proof = certify(model, X[200:], y[200:])
    assert proof.bound == pytest.approx(best.certificate_.bound, rel=1e-10)
    assert proof.value > proof.bound and not proof.closed(1e-6)
    assert certify(model, X[:200], y[:200]).closed(1e-12)


@BOTH
@pytest.mark.parametrize("scale", [1e150, 1e-150, 1e-280])
def test_scales_change_nothing(kind, scale):
    X, y = three()
    each = np.array([scale, 1.0, 1.0, 1.0 / max(scale, 1e-250)])
    for factor in (scale, each):
        model, plain = kind(store_covariance=True).fit(X * factor, y), kind().fit(X, y)
        np.testing.assert_allclose(
            model.predict_proba(X * factor), plain.predict_proba(X), atol=1e-11
        )
        assert model.certificate_.closed(1e-12)
    with pytest.raises(ValueError, match=r"column 0 is .*power of ten"):
        kind().fit(X * 1e-300, y)


@BOTH
def test_offsets_float32_sparse_files_and_threads(kind, tmp_path):
    X, y = three(n=6000)
    X = np.round(X * 1024) / 1024
    plain = kind().fit(X, y)
    want = plain.predict_proba(X)
    np.testing.assert_allclose(kind().fit(X + 1e8, y).predict_proba(X + 1e8), want, atol=1e-5)
    single = kind().fit(X.astype(np.float32), y)
    assert single.means_.dtype == np.float32 == single.predict_proba(X.astype(np.float32)).dtype
    np.testing.assert_allclose(single.predict_proba(X.astype(np.float32)), want, atol=2e-4)
    assert single.certificate_.closed(1e-9)
    rows = sparse.csr_array(X)
    np.testing.assert_allclose(kind().fit(rows, y).predict_proba(rows), want, atol=1e-9)
    for count in (1, 3):
        with threads(count):
            again = kind().fit(X, y)
        np.testing.assert_array_equal(again.predict_proba(X), want)
    path = tmp_path / "t.csv"
    np.savetxt(path, np.c_[X, y], delimiter=",", header="a,b,c,d,y", comments="")
    with scan(path, target="y") as table:
        np.testing.assert_allclose(kind().fit(table).predict_proba(table), want, atol=1e-9)


@BOTH
def test_weights_are_repetitions_and_parts_add_up(kind):
    X, y = three()
    s = np.random.default_rng(0).integers(0, 4, len(y))
    a, b = kind().fit(X, y, s), kind().fit(np.repeat(X, s, 0), np.repeat(y, s))
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-10)
    model = kind()
    for rows in (slice(0, 100), slice(100, 130), slice(130, None)):
        model.partial_fit(X[rows], y[rows], classes=[0, 1, 2], sample_weight=s[rows])
    np.testing.assert_allclose(model.predict_proba(X), a.predict_proba(X), atol=1e-10)
    assert model.certificate_.closed(1e-12)
    with pytest.raises(ValueError, match="was given"):
        model.partial_fit(X, y, classes=[0, 1])
    assert not hasattr(kind(shrinkage="auto"), "partial_fit")  # it looks at all rows again


@BOTH
def test_a_class_named_but_not_seen_has_probability_zero(kind):
    X, y = three()
    here = y != 1
    model = kind().partial_fit(X[here], y[here], classes=[0, 1, 2])
    found = model.predict_proba(X)
    assert (found[:, 1] == 0.0).all() and np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(1), 1.0, atol=1e-12)
    two = kind().fit(X[here], y[here])
    np.testing.assert_allclose(found[:, [0, 2]], two.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(
        model.partial_fit(X[~here], y[~here]).score(X, y), kind().fit(X, y).score(X, y)
    )


def test_singular_covariances_are_said_and_answered():
    X, y = three()
    twice = np.c_[X, X[:, 0] + X[:, 1], np.ones(len(X))]
    with pytest.warns(RankDeficient, match="rank 4 in 6 columns"):
        linear = LINEAR().fit(twice, y)
    np.testing.assert_allclose(
        linear.predict_proba(twice), LINEAR().fit(X, y).predict_proba(X), atol=1e-9
    )
    assert linear.rank_ == 4 and linear.certificate_.closed(1e-10)
    with pytest.warns(RankDeficient, match="class 0 has a covariance of rank 4 in 6 columns"):
        quadratic = QUADRATIC().fit(twice, y)
    assert quadratic.ranks_.tolist() == [4, 4, 4] and (quadratic.repairs_ > 0).all()
    assert quadratic.score(twice, y) > QUADRATIC().fit(X, y).score(X, y) - 0.03
    # The repair is in units of the columns: their scale decides nothing.
    scale = np.array([1e3, 1.0, 1e-5, 1.0, 1.0, 7.0])
    with pytest.warns(RankDeficient):
        again = QUADRATIC().fit(twice * scale, y)
    assert (again.predict(twice * scale) == quadratic.predict(twice)).mean() > 0.98
    few = np.r_[np.flatnonzero(y == 0)[:3], np.flatnonzero(y > 0)]
    with pytest.warns(RankDeficient, match=r"class 0 has a covariance of rank 2 in 4"):
        assert QUADRATIC().fit(X[few], y[few]).score(X, y) > 0.5


def test_bad_input_is_refused_by_name():
    X, y = three()
    one = np.r_[np.flatnonzero(y == 0)[:1], np.flatnonzero(y > 0)]
    with pytest.raises(ValueError, match="only 1 sample in class 0"):
        QUADRATIC().fit(X[one], y[one])
    assert np.isfinite(LINEAR().fit(X[one], y[one]).predict_proba(X)).all()
    for kind in (LINEAR, QUADRATIC):
        with pytest.raises(ValueError, match="only one class: 1"):
            kind().fit(X[y == 1], y[y == 1])
        with pytest.raises(ValueError, match=r"non-negative.*class 1 is -0.5"):
            kind(priors=[0.5, -0.5, 1.0]).fit(X, y)
        with pytest.raises(ValueError, match=r"shape \(2,\), but there are 3 classes"):
            kind(priors=[0.5, 0.5]).fit(X, y)
        with pytest.warns(UserWarning, match="do not sum to 1"):
            assert kind(priors=[2.0, 1.0, 1.0]).fit(X, y).priors_.tolist() == [0.5, 0.25, 0.25]
        with pytest.raises(ValueError, match="priors are all zero"):
            kind(priors=[0.0, 0.0, 0.0]).fit(X, y)
        with pytest.raises(ValueError, match="shrinkage"):
            kind(shrinkage=1.5).fit(X, y)
        dirty = X.copy()
        dirty[7, 2] = np.nan
        with pytest.raises(ValueError, match="row 7"):
            kind().fit(dirty, y)
    with pytest.raises(ValueError, match="within the classes all rows are the same"):
        LINEAR().fit(np.repeat(X[:3], 4, 0), np.repeat([0, 1, 2], 4))
    with pytest.raises(ValueError, match="n_components cannot be larger"):
        LINEAR(n_components=3).fit(X, y)


@given(st.integers(0, 10**6))
def test_posterior_probabilities_do_not_depend_on_affine_maps(seed):
    rng = np.random.default_rng(seed)
    X, y = three(seed, n=60)
    A, b = rng.normal(size=(4, 4)) + 3 * np.eye(4), rng.normal(size=4)
    order = rng.permutation(len(y))
    for kind in (LINEAR, QUADRATIC):
        want = kind().fit(X, y).predict_proba(X)
        np.testing.assert_allclose(
            kind().fit(X @ A + b, y).predict_proba(X @ A + b), want, atol=1e-6
        )
        moved = kind().fit(X[order], y[order]).predict_proba(X)
        np.testing.assert_allclose(moved, want, atol=1e-9)


@pytest.mark.parametrize(
    "covariance", [1.0, [np.eye(2).tolist(), [[2.0, 1.2], [1.2, 2.0]]]], ids=["shared", "own"]
)
def test_the_plug_in_rule_approaches_the_bayes_risk_at_its_rate(covariance):
    """The excess risk of a parametric rule falls as 1/n: as many times n, as many times less."""
    truth = GaussianClasses([[0.0, 0.0], [1.5, 0.5]], np.array(covariance), prior=0.4)
    kind = LINEAR if truth.is_shared else QUADRATIC
    Z, _ = truth.sample(60_000, random_state=1)
    eta = truth.eta(Z)
    excess = []
    for n in (100, 1600):
        found = []
        for seed in range(20):
            said = kind().fit(*truth.sample(n, random_state=seed)).predict(Z)
            wrong = np.where(said == 1, 1.0 - eta, eta)
            found.append(float((wrong - np.minimum(eta, 1.0 - eta)).mean()))
        excess.append(np.mean(found))
    assert excess[0] > 0.0 and 5.0 < excess[0] / excess[1] < 60.0
    model = kind().fit(*truth.sample(200_000, random_state=3))
    found = model.bayes_error(50_000)
    assert found.low - 0.003 <= float(truth.bayes_risk()) <= found.high + 0.003
    assert (found.method == "closed form") == truth.is_shared


def test_the_interval_of_the_bayes_error_covers_the_closed_form():
    X, y = three(5)
    X, y = X[y < 2], y[y < 2]
    model = LINEAR().fit(X, y)
    exact = float(model.bayes_error())
    draws = [super(LINEAR, model).bayes_error(2000, random_state=r, level=0.9) for r in range(40)]
    assert np.mean([d.low <= exact <= d.high for d in draws]) >= 0.9
    with pytest.raises(ValueError, match="level"):
        QUADRATIC().fit(X, y).bayes_error(level=2.0)


def test_labels_of_any_kind_and_many_classes():
    X, y = load_digits(return_X_y=True)
    names = np.array([f"digit {k}" for k in range(10)], dtype=object)
    with pytest.warns(RankDeficient):
        model = LINEAR(n_components=4).fit(X, names[y])
    assert model.transform(X).shape == (len(y), 4) and model.score(X, names[y]) > 0.9
    assert model.get_feature_names_out().tolist() == [
        f"lineardiscriminantanalysis{i}" for i in range(4)
    ]
    assert fenchel.certify(model, X, names[y]).closed(1e-10)
