"""Lasso and elastic net: against scikit-learn, closed forms, and their own certificates."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.linear_model as sk
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

import fenchel
from fenchel import (
    ElasticNet,
    Lasso,
    LinearRegression,
    NotCertified,
    Ridge,
    certify,
    enet_path,
    lasso_path,
)
from fenchel.data.blocks import threads

TIGHT = {"tol": 1e-12, "max_iter": 200_000}


def table(n=120, d=15, targets=1, seed=0, offset=1.0):
    """A few columns matter, two are nearly the same, all are away from zero."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * rng.uniform(0.5, 2.0, d) + offset
    X[:, -1] = X[:, 0] + 0.1 * rng.standard_normal(n)
    W = rng.standard_normal((d, targets)) * (rng.random((d, targets)) < 0.5)
    Y = X @ W + 3.0 + rng.standard_normal((n, targets))
    return X, (Y[:, 0] if targets == 1 else Y), rng.uniform(0.1, 2.0, n)


def objective(model, X, y, s=None):
    """As a textbook writes it, summed over the targets."""
    W, B = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    Y = np.asarray(y).reshape(len(y), -1)
    s = np.ones(len(Y)) if s is None else s
    ratio = 1.0 if type(model).__name__ == "Lasso" else model.l1_ratio
    loss = (s[:, None] * (Y - X @ W.T - B) ** 2).sum() / (2 * s.sum())
    penalty = ratio * np.abs(W).sum() + (1 - ratio) / 2 * (W**2).sum()
    return float(loss + model.alpha * penalty)


MODELS = [
    (Lasso(0.05), sk.Lasso(0.05, **TIGHT)),
    (Lasso(0.3, positive=True), sk.Lasso(0.3, positive=True, **TIGHT)),
    (ElasticNet(0.1, l1_ratio=0.3), sk.ElasticNet(0.1, l1_ratio=0.3, **TIGHT)),
    (
        ElasticNet(0.1, l1_ratio=0.7, positive=True),
        sk.ElasticNet(0.1, l1_ratio=0.7, positive=True, **TIGHT),
    ),
]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("shape", [(120, 15), (30, 80), (8, 7), (1, 3), (5, 2)])
@pytest.mark.parametrize(("ours", "theirs"), MODELS, ids=lambda m: str(m).split("(")[0])
def test_as_scikit_learn(ours, theirs, shape, weighted, intercept):
    X, y, s = table(*shape)
    s = s if weighted else None
    ours = clone(ours).set_params(fit_intercept=intercept).fit(X, y, s)
    theirs = clone(theirs).set_params(fit_intercept=intercept).fit(X, y, s)
    assert ours.coef_.shape == theirs.coef_.shape
    assert np.shape(ours.intercept_) == np.shape(theirs.intercept_)
    proof = ours.certificate_
    assert ours.converged_ and proof.relative_gap <= 1e-6 and proof.kind == "duality"
    assert_allclose(proof.value, objective(ours, X, y, s), rtol=1e-10, atol=1e-12)
    best = objective(theirs, X, y, s)
    assert proof.bound <= best * (1 + 1e-10) + 1e-12
    assert proof.value <= best * (1 + 1e-6) + 1e-9
    assert_allclose(ours.predict(X), theirs.predict(X), atol=2e-2)
    assert ours.dual_gap_ == proof.gap and ours.n_iter_ >= 1
    assert ours.history_[-1].value == proof.value
    assert_array_equal(ours.sparse_coef_.toarray()[0], ours.coef_)
    if ours.positive:
        assert (ours.coef_ >= 0.0).all()


@pytest.mark.parametrize("positive", [False, True])
def test_several_targets_are_as_many_fits(positive):
    X, Y, s = table(targets=3)
    for Z in (Y, Y[:, :1]):
        ours = Lasso(0.1, positive=positive).fit(X, Z, s)
        theirs = sk.Lasso(0.1, positive=positive, **TIGHT).fit(X, Z, s)
        assert ours.coef_.shape == theirs.coef_.shape
        assert ours.intercept_.shape == theirs.intercept_.shape
        assert np.shape(ours.dual_gap_) == np.shape(theirs.dual_gap_)
        assert ours.converged_
        assert_allclose(ours.certificate_.value, objective(theirs, X, Z, s), rtol=2e-6)
        assert_allclose(ours.certificate_.value, objective(ours, X, Z, s), rtol=1e-10)
    assert len(ours.fit(X, Y).n_iter_) == 3


def test_an_orthogonal_design_has_a_closed_form():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((64, 6)))[0] * 8.0  # Q'Q = 64 I
    y = Q @ [3.0, -2.0, 1.0, 0.3, 0.0, 0.0] + rng.standard_normal(64)
    free = Q.T @ y / 64
    soft = np.sign(free) * np.maximum(np.abs(free) - 0.5, 0.0)
    model = Lasso(0.5, fit_intercept=False, tol=1e-12).fit(Q, y)
    assert_allclose(model.coef_, soft, atol=1e-6)
    assert_array_equal(model.coef_ == 0.0, soft == 0.0)
    model = ElasticNet(1.0, l1_ratio=0.5, fit_intercept=False, tol=1e-12).fit(Q, y)
    assert_allclose(model.coef_, soft / 1.5, atol=1e-6)


def test_a_penalty_too_strong_gives_the_mean():
    X, y, s = table()
    model = Lasso(1e3).fit(X, y, s)
    assert not model.coef_.any() and model.converged_
    assert_allclose(model.intercept_, np.average(y, weights=s))
    assert model.certificate_.relative_gap <= 1e-12


@pytest.mark.parametrize("intercept", [True, False])
def test_no_l1_part_is_ridge_and_no_penalty_least_squares(intercept):
    X, Y, s = table(targets=2)
    plain = {"fit_intercept": intercept}
    for positive in (False, True):
        net = ElasticNet(0.3, l1_ratio=0.0, positive=positive, **plain).fit(X, Y, s)
        ridge = Ridge(0.3 * s.sum(), positive=positive, **plain).fit(X, Y, s)
        assert_allclose(net.coef_, ridge.coef_, rtol=1e-9, atol=1e-12)
        expected = ridge.certificate_.scaled(0.5 / s.sum())
        assert_allclose(net.certificate_.value, expected.value, rtol=1e-12)
        assert_allclose(net.certificate_.value, objective(net, X, Y, s), rtol=1e-12)
        none = Lasso(0.0, positive=positive, **plain).fit(X, Y[:, 0], s)
        least = LinearRegression(positive=positive, **plain).fit(X, Y[:, 0], s)
        assert_allclose(none.coef_, least.coef_, rtol=1e-8, atol=1e-10)
        assert none.converged_
        assert_allclose(none.certificate_.value, objective(none, X, Y[:, 0], s), rtol=1e-12)


@pytest.mark.parametrize("model", [Lasso(0.1), ElasticNet(0.1)], ids=str)
def test_weights_are_repeats_and_zero_weights_removed_rows(model):
    X, y, _ = table(60)
    times = np.random.default_rng(1).integers(0, 4, 60)
    model = clone(model).set_params(tol=1e-12)
    weighted = clone(model).fit(X, y, times)
    repeated = clone(model).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert_allclose(weighted.coef_, repeated.coef_, atol=1e-5)
    assert_allclose(weighted.certificate_.value, repeated.certificate_.value, rtol=1e-11)
    wild = X.copy(), y.copy()
    wild[0][times == 0], wild[1][times == 0] = 1e6, -1e9
    removed = clone(model).fit(*wild, times)
    assert_allclose(removed.certificate_.value, weighted.certificate_.value, rtol=1e-11)
    assert_allclose(removed.coef_, weighted.coef_, atol=1e-5)
    assert_allclose(clone(model).fit(X, y, 2.0).coef_, clone(model).fit(X, y).coef_, atol=1e-6)


@pytest.mark.parametrize("shape", [(200, 12), (20, 60)])
def test_containers_agree(shape):
    X, y, s = table(*shape, offset=0.0)
    X[np.abs(X) < 0.8] = 0.0
    dense = Lasso(0.05, tol=1e-11).fit(X, y, s)
    for other in (sparse.csr_array(X), sparse.csc_array(X), np.asfortranarray(X), X.tolist()):
        model = Lasso(0.05, tol=1e-11).fit(other, y, s)
        assert model.converged_
        assert_allclose(model.certificate_.value, dense.certificate_.value, rtol=1e-10)
        assert_allclose(model.coef_, dense.coef_, atol=1e-4)
    single = Lasso(0.05).fit(X.astype(np.float32), y.astype(np.float32), s)
    assert single.coef_.dtype == np.float32 and single.predict(X[:3].astype("f")).dtype == "f"
    assert single.converged_
    assert_allclose(single.coef_, dense.coef_, atol=2e-2)
    with threads(1):
        assert_array_equal(Lasso(0.05, tol=1e-11).fit(X, y, s).coef_, dense.coef_)


def test_warm_start():
    X, Y, _ = table(targets=2)
    model = Lasso(0.05, warm_start=True).fit(X, Y)
    again = clone(model).fit(X, Y)
    again.fit(X, Y)
    assert max(again.n_iter_) <= max(model.n_iter_) and again.converged_
    again.fit(X[:, :4], Y[:, 0])  # another shape begins anew
    assert again.coef_.shape == (4,)


@pytest.mark.parametrize("size", [1e-200, 1e-20, 1e20, 1e150, 1e300])
@pytest.mark.parametrize("model", [Lasso(0.1), ElasticNet(0.1), Lasso(0.1, positive=True)], ids=str)
def test_targets_of_any_size(model, size):
    """w scales with y if α does."""
    X, y, _ = table(60, 6)
    plain = clone(model).set_params(tol=1e-10).fit(X, y)
    square = 1.0 if isinstance(model, Lasso) else None
    alpha = 0.1 * size if square else 0.1
    other = clone(model).set_params(tol=1e-10, alpha=alpha).fit(X, y * size)
    assert other.converged_ and np.isfinite(other.coef_).all()
    assert np.isfinite([other.certificate_.value, other.certificate_.bound]).all()
    if square:
        assert_allclose(other.coef_ / size, plain.coef_, atol=1e-4)
        assert_allclose(other.intercept_ / size, plain.intercept_, rtol=1e-4)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("scale", [1e150, 1e8, 1e-8, 1e-150])
@pytest.mark.parametrize("model", [Lasso(0.1), ElasticNet(0.1), Lasso(0.1, positive=True)], ids=str)
def test_columns_of_any_size(model, scale, intercept):
    """Large columns leave nothing to the penalty, small ones nothing to the data."""
    X, y, _ = table(60, 6, offset=0.0)
    before = X.tobytes(), y.tobytes()
    model = clone(model).set_params(fit_intercept=intercept).fit(X * scale, y)
    assert (X.tobytes(), y.tobytes()) == before
    assert model.converged_ and np.isfinite(model.coef_).all()
    free = LinearRegression(positive=model.positive, fit_intercept=intercept).fit(X, y)
    expected = free.coef_ if scale > 1.0 else 0.0
    assert_allclose(model.coef_ * scale, expected, atol=1e-5)


def test_one_row_leaves_everything_to_the_intercept():
    for _ in range(5):
        np.full(54, 1e200)  # what unwritten memory would hold
        model = Lasso(0.0, positive=True).fit(np.ones((1, 54)), [3.0])
        assert not model.coef_.any() and model.intercept_ == 3.0


def test_columns_far_from_zero_keep_their_digits():
    X, y, _ = table(60, 6, offset=0.0)
    moved = Lasso(0.1).fit(X + 1e8, y)
    assert moved.converged_
    assert_allclose(moved.coef_, Lasso(0.1).fit(X, y).coef_, atol=1e-5)


def test_degenerate_tables():
    X, y, _ = table(30, 4)
    flat = Lasso(0.1).fit(X, np.full(30, 0.1))
    assert not flat.coef_.any() and flat.converged_
    assert_allclose(flat.intercept_, 0.1, rtol=1e-12)
    assert not Lasso().fit(X, np.zeros(30)).coef_.any()
    constant = Lasso(0.1).fit(np.full((30, 2), 7.0), y)
    assert_allclose(constant.coef_, 0.0, atol=1e-12)
    assert_allclose(constant.intercept_, y.mean())
    twins = np.column_stack([X, X])
    double = Lasso(0.05, tol=1e-10).fit(twins, y)
    single = Lasso(0.05, tol=1e-10).fit(X, y)
    assert_allclose(double.certificate_.value, single.certificate_.value, rtol=1e-9)
    empty = sparse.csr_array((30, 3))
    assert not Lasso(0.1).fit(empty, y).coef_.any()


def test_missing_the_gap_is_said():
    X, y, _ = table(40, 90)
    with pytest.warns(NotCertified, match="max_iter=1: relative duality gap .* Raise max_iter"):
        model = Lasso(1e-4, max_iter=1, tol=1e-14).fit(X, y)
    assert not model.converged_
    assert model.certificate_.bound <= Lasso(1e-4).fit(X, y).certificate_.value


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Lasso(-1.0), "'alpha' parameter of Lasso must be a float in the range"),
        (Lasso(np.inf), "'alpha' parameter of Lasso must be a float in the range"),
        (ElasticNet(l1_ratio=1.5), r"'l1_ratio' parameter of ElasticNet .* \[0.0, 1.0\]"),
        (ElasticNet(l1_ratio=-0.1), r"'l1_ratio' parameter of ElasticNet"),
        (Lasso(max_iter=0), "'max_iter' parameter"),
        (Lasso(selection="best"), "'selection' parameter"),
    ],
    ids=str,
)
def test_wrong_arguments_are_named(model, message):
    X, y, _ = table(20, 3)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


def test_wrong_data_are_named():
    X, y, _ = table(20, 3)
    with pytest.raises(ValueError, match="requires y to be passed"):
        Lasso().fit(X)
    with pytest.raises(ValueError, match=r"Negative values"):
        Lasso().fit(X, y, -np.ones(20))
    bad = X.copy()
    bad[7, 2] = np.nan
    with pytest.raises(ValueError, match=r"NaN.* at row 7, column 2"):
        Lasso().fit(bad, y)


# ------------------------------------------------------------------------------------------- paths


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.4])
@pytest.mark.parametrize("shape", [(60, 10), (25, 60)])
def test_path_as_scikit_learn(shape, l1_ratio, positive):
    X, y, _ = table(*shape)
    given = {"l1_ratio": l1_ratio, "alphas": 12, "eps": 1e-2, "positive": positive}
    path = enet_path(X, y, **given, return_n_iter=True)
    alphas, coefs, gaps, steps = path
    theirs = sk.enet_path(X, y, **given, **TIGHT)
    assert_allclose(alphas, theirs[0], rtol=1e-10)
    assert coefs.shape == theirs[1].shape == (shape[1], 12) and len(steps) == 12
    assert len(path.certificates) == 12 and not path.intercepts.any()
    for k, proof in enumerate(path.certificates):
        assert proof.relative_gap <= 1e-6 and gaps[k] == proof.gap
        model = sk.ElasticNet(alphas[k], l1_ratio=l1_ratio, positive=positive, fit_intercept=False)
        model.coef_, model.intercept_, model.n_features_in_ = coefs[:, k], 0.0, shape[1]
        assert_allclose(objective(model, X, y), proof.value, rtol=1e-9)
        model.coef_ = theirs[1][:, k]
        assert proof.bound <= objective(model, X, y) * (1 + 1e-10)
        assert proof.value <= objective(model, X, y) * (1 + 1e-6)
    assert not coefs[:, 0].any()


def test_path_with_intercept_and_weights_is_as_many_fits():
    X, y, s = table(50, 8)
    alphas = [0.5, 0.01, 0.1, 0.0]
    path = lasso_path(X, y, alphas=alphas, fit_intercept=True, sample_weight=s, tol=1e-10)
    assert_array_equal(path[0], np.sort(alphas)[::-1])
    for k, alpha in enumerate(path[0]):
        alone = Lasso(alpha, tol=1e-10).fit(X, y, s)
        assert_allclose(path[1][:, k], alone.coef_, atol=1e-4)
        assert_allclose(path.intercepts[k], alone.intercept_, atol=1e-3)
        assert_allclose(path.certificates[k].value, alone.certificate_.value, rtol=1e-9)


def test_path_details():
    X, y, _ = table(40, 6)
    short = lasso_path(X, y, alphas=[0.1, 1.0])
    _, coefs, gaps = short
    assert len(short) == 3 and coefs.shape == (6, 2) and gaps.shape == (2,)
    again = lasso_path(X, y, alphas=[0.1], coef_init=coefs[:, 1])
    assert_allclose(again.certificates[0].value, short.certificates[1].value, rtol=1e-6)
    assert lasso_path(X, y[:, None], alphas=3)[1].shape == (1, 6, 3)
    with pytest.warns(FutureWarning, match="'n_alphas' was deprecated"):
        assert lasso_path(X, y, n_alphas=4)[1].shape == (6, 4)
    single = lasso_path(X.astype(np.float32), y, alphas=3)
    assert single[1].dtype == np.float32
    assert Lasso.path(X, y, alphas=2)[0].shape == (2,)
    flat = lasso_path(X, np.zeros(40), alphas=3)
    assert not flat[1].any()
    rows = lasso_path(fenchel.as_blocks(sparse.csr_array(X), y), None, alphas=[0.1])
    assert_allclose(rows.certificates[0].value, again.certificates[0].value, rtol=2e-6)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"l1_ratio": 0.0}, "Automatic alpha grid generation is not supported for l1_ratio=0"),
        ({"alphas": [-1.0]}, r"alphas\[0\]"),
        ({"alphas": []}, "alphas must hold at least one number"),
        ({"alphas": [np.inf]}, "all of them finite"),
        ({"eps": 0.0}, "'eps' parameter"),
        ({"speed": 3}, "Unexpected parameters in params: speed"),
        ({"coef_init": [1.0]}, "coef_init has 1 entries, X has 3"),
        ({"l1_ratio": 2.0}, "'l1_ratio' parameter of enet_path"),
    ],
)
def test_wrong_paths_are_named(params, message):
    X, y, _ = table(20, 3)
    with pytest.raises(ValueError, match=message):
        enet_path(X, y, **params)
    with pytest.raises(ValueError, match="lasso_path has no l1_ratio"):
        lasso_path(X, y, l1_ratio=0.5)
    with pytest.raises(ValueError, match="y has 2 targets and a path is that of one"):
        lasso_path(X, np.c_[y, y])


@pytest.mark.parametrize("model", [Lasso(0.1), ElasticNet(0.1, positive=True)], ids=str)
def test_certify_agrees(model):
    X, Y, s = table(targets=2)
    model = clone(model).fit(X, Y, s)
    proof = certify(model, X, Y, s)
    assert_allclose(proof.value, model.certificate_.value, rtol=1e-10)
    assert proof.relative_gap <= 1e-6
    assert proof.bound <= model.certificate_.value * (1 + 1e-12)


@pytest.mark.parametrize(
    "model",
    [
        sk.Lasso(alpha=0.05, tol=1e-2),
        sk.Lasso(alpha=0.05, positive=True, tol=1e-2),
        sk.ElasticNet(alpha=1e-3, l1_ratio=0.9, tol=1e-2),
        sk.Ridge(alpha=0.1, positive=True, tol=1e-1),
    ],
    ids=str,
)
def test_a_loose_fit_of_scikit_learn_is_told_apart(model):
    """The bound is that of a tight fit and says nothing of the model's own dual point."""
    X, y, _ = table()
    loose = certify(model.fit(X, y), X, y)
    tight = certify(model.set_params(tol=1e-12, max_iter=100_000).fit(X, y), X, y)
    assert loose.bound == pytest.approx(tight.value, rel=max(1e-7, 0.1 * loose.relative_gap))
    assert loose.bound <= tight.value * (1 + 1e-12) and tight.relative_gap <= 1e-7
    model.coef_ *= 1.01
    grown = certify(model, X, y)
    assert grown.bound == pytest.approx(tight.value, rel=1e-3) and grown.value > tight.value
