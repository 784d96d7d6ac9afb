"""Gaussian mixtures: EM by its definition, at any offset and scale, and what cannot be fitted."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from oracles.mixture import em_step, mixture_logs
from sklearn.datasets import load_iris
from sklearn.mixture import GaussianMixture as Peer

import fenchel
from fenchel import GaussianMixture, NotCertified, certify
from fenchel.data.blocks import Block
from fenchel.data.intake import as_blocks
from fenchel.solve.mixture.components import KINDS, MixtureComponents, made
from fenchel.solve.mixture.em import LARGEST_LOSS, likelihood, quadratic_loss
from fenchel.solve.mixture.expectation import EMSums
from fenchel.solve.mixture.starts import of_labels, of_responsibilities
from fenchel.testing import check_statistic

X = load_iris().data
THREE = {"weights_init": np.full(3, 1 / 3), "means_init": X[[0, 60, 120]]}
PRECISIONS = {
    "full": np.array([2.0 * np.eye(4)] * 3),
    "tied": 2.0 * np.eye(4),
    "diag": np.full((3, 4), 2.0),
    "spherical": np.full(3, 2.0),
}


def fixed(kind, **more):
    return GaussianMixture(
        3, covariance_type=kind, precisions_init=PRECISIONS[kind], **{**THREE, "tol": 0.0, **more}
    )


def clouds(n, d, k, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    centres = 4.0 * rng.standard_normal((k, d))
    return centres[rng.integers(k, size=n)] + spread * rng.standard_normal((n, d))


def quietly(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(*args, **kwargs)


@pytest.mark.parametrize("kind", KINDS)
def test_steps_are_those_of_the_definition(kind) -> None:
    s = np.random.default_rng(0).random(len(X))
    covariances = 1.0 / PRECISIONS[kind] if kind in ("diag", "spherical") else PRECISIONS[kind] / 4
    point = (THREE["weights_init"], THREE["means_init"], covariances)
    values = []
    for steps in range(4):
        value, after = em_step(X, s, kind, *point)
        values.append(value)
        model = quietly(fixed(kind, max_iter=steps), X, sample_weight=s)
        assert_allclose(model.lower_bounds_, values, rtol=1e-12)
        for mine, theirs in zip(
            (model.weights_, model.means_, model.covariances_), point, strict=True
        ):
            assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)
        logs = mixture_logs(X, kind, *point)
        assert_allclose(model.score_samples(X), np.logaddexp.reduce(logs, axis=1), rtol=1e-10)
        point = after


@pytest.mark.parametrize("kind", KINDS)
def test_it_agrees_with_the_peer(kind) -> None:
    rows = clouds(3000, 5, 3, seed=3, spread=1.5)
    start = {"means_init": rows[:3], "weights_init": np.full(3, 1 / 3)}
    eye = {"full": np.array([np.eye(5)] * 3), "tied": np.eye(5), "diag": np.ones((3, 5))}
    start["precisions_init"] = eye.get(kind, np.ones(3))
    given_ = {"covariance_type": kind, "tol": 0.0, "max_iter": 12, **start}
    mine = quietly(GaussianMixture(3, **given_), rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = Peer(3, reg_covar=0.0, init_params="random_from_data", **given_).fit(rows)
    for name in ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_"):
        assert_allclose(getattr(mine, name), getattr(peer, name), rtol=1e-9, atol=1e-11)
    assert_allclose(mine.bic(rows), peer.bic(rows))
    assert_allclose(mine.aic(rows), peer.aic(rows))
    assert_allclose(mine.predict_proba(rows), peer.predict_proba(rows), atol=1e-9)
    assert (mine.predict(rows) == peer.predict(rows)).all()
    R = mine.predict_proba(rows)
    entropy = -(R * np.log(np.maximum(R, 1e-300))).sum()
    assert_allclose(mine.icl(rows), mine.bic(rows) + 2.0 * entropy)


@settings(max_examples=15, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from(KINDS),
    st.integers(1, 4),
    st.integers(1, 5),
    st.sampled_from([0.0, 3.0, 1e8]),
    st.sampled_from(["kmeans", "k-means++", "random", "random_from_data"]),
    st.sampled_from([1e-6, 0.05]),
)
def test_the_likelihood_never_falls(seed, kind, d, k, offset, init, floor) -> None:
    rng = np.random.default_rng(seed)
    rows = offset + rng.standard_normal((60, d)) * rng.choice([1e-3, 1.0, 50.0], size=d)
    rows[:20] = rows[20:40]  # ties, and heavy components
    weight = rng.integers(0, 4, size=60).astype(float)
    model = GaussianMixture(
        k,
        covariance_type=kind,
        init_params=init,
        tol=0.0,
        max_iter=30,
        reg_covar=floor,
        random_state=seed,
    )
    quietly(model, rows, sample_weight=weight)
    values = model.lower_bounds_
    assert all(b >= a - 1e-9 * max(1.0, abs(a)) for a, b in pairwise(values))
    proof = certify(model, rows, sample_weight=weight)
    assert proof.kind == "stationary"
    assert_allclose(proof.value, model.certificate_.value, atol=1e-6 * max(1.0, offset / 1e4))


@pytest.mark.parametrize("kind", KINDS)
def test_compiled_sums_are_those_of_the_definition(kind) -> None:
    rows = clouds(3000, 6, 4, seed=1)
    s = np.random.default_rng(1).random(3000)
    problem = likelihood(as_blocks(rows, weight=s), kind, 1e-6)
    rng = np.random.default_rng(2)
    A = rng.standard_normal((4, 6, 6))
    S = {
        "full": A @ A.transpose(0, 2, 1) + np.eye(6),
        "tied": A[0] @ A[0].T + np.eye(6),
        "diag": rng.random((4, 6)) + 0.1,
    }.get(kind, rng.random(4) + 0.1)
    point = made(kind, rng.dirichlet(np.ones(4)), rng.standard_normal((4, 6)), S, 0.0)[0]
    assert quadratic_loss(point, problem.radius) < LARGEST_LOSS
    stat = EMSums(point, problem.whitening, True)
    for table in (rows, np.asfortranarray(rows), rows.astype(np.float32), rows[:777]):
        check_statistic(stat, Block(0, table, weight=s[: len(table)]), tol=1e-11)
    empty = MixtureComponents(kind, np.array([0.0, 0.3, 0.3, 0.4]), *list(_rest(point)))
    check_statistic(EMSums(empty, problem.whitening, True), Block(0, rows), tol=1e-11)


def _rest(point):
    return point.means, point.covariances, point.factors


def test_threads_leave_the_bits_alone() -> None:
    rows = clouds(20_000, 8, 5, seed=2)
    found = []
    for n in (1, 2, 3):
        with fenchel.threads(n):
            found.append(quietly(GaussianMixture(5, max_iter=5, tol=0.0, random_state=0), rows))
    for name in ("weights_", "means_", "covariances_"):
        assert (getattr(found[0], name) == getattr(found[1], name)).all()
        assert (getattr(found[0], name) == getattr(found[2], name)).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [1e-150, 1e-8, 1e150])
def test_no_scale_changes_the_fit(kind, scale) -> None:
    plain = fixed(kind, max_iter=15)
    moved = fixed(kind, max_iter=15).set_params(
        means_init=THREE["means_init"] * scale, precisions_init=PRECISIONS[kind] / scale / scale
    )
    quietly(plain, X)
    quietly(moved, X * scale)
    assert_allclose(moved.means_ / scale, plain.means_, rtol=1e-8)
    assert_allclose(moved.lower_bound_ + 4 * np.log(scale), plain.lower_bound_, rtol=1e-9)
    assert_allclose(moved.score(X * scale) + 4 * np.log(scale), plain.score(X), rtol=1e-9)
    assert (moved.predict(X * scale) == plain.predict(X)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_offsets_cost_no_more_than_the_rows_have_lost(kind) -> None:
    rows = np.round(X * 16.0) / 16.0  # exact at an offset of 1e8
    far = rows + np.array([1e8, -1e8, 0.0, 2.0**26])
    a, b = (quietly(GaussianMixture(3, covariance_type=kind), table) for table in (rows, far))
    assert_allclose(a.covariances_, b.covariances_, rtol=1e-6, atol=1e-9)
    assert_allclose(a.lower_bound_, b.lower_bound_, atol=1e-7)


@pytest.mark.parametrize("kind", ["full", "diag"])
def test_columns_in_any_units(kind) -> None:
    units = np.array([1e-120, 1e100, 1.0, 1e-7])
    a = quietly(fixed(kind, max_iter=20), X)
    P = PRECISIONS[kind] / (units if kind == "diag" else units[:, None]) / units
    b = fixed(kind, max_iter=20).set_params(means_init=THREE["means_init"] * units)
    quietly(b.set_params(precisions_init=P), X * units)
    assert_allclose(a.means_, b.means_ / units, rtol=1e-8)
    assert_allclose(a.lower_bound_, b.lower_bound_ + np.log(units).sum(), rtol=1e-9)


def test_narrow_components_leave_the_quadratic_route() -> None:
    """A component 1e-7 of the rows' spread: products would have no digit of its variance."""
    rng = np.random.default_rng(0)
    wide, narrow = rng.standard_normal((9000, 8)), 3.0 + 1e-7 * rng.standard_normal((9000, 8))
    rows = np.concatenate([wide, narrow])
    weights, means = np.array([0.5, 0.5]), np.array([np.zeros(8), np.full(8, 3.0)])
    precisions = np.array([np.eye(8), 1e14 * np.eye(8)])
    model = GaussianMixture(
        2,
        weights_init=weights,
        means_init=means,
        precisions_init=precisions,
        reg_covar=1e-18,
        max_iter=5,
    )
    quietly(model, rows)
    assert_allclose(model.covariances_[1], np.cov(narrow.T, bias=True), rtol=1e-5, atol=1e-18)
    assert_allclose(model.weights_, 0.5, rtol=1e-6)


def test_weights_are_repeated_rows() -> None:
    s = np.random.default_rng(0).integers(0, 4, len(X))
    a = GaussianMixture(3, random_state=1).fit(X, sample_weight=s)
    b = GaussianMixture(3, random_state=1).fit(np.repeat(X, s, axis=0))
    assert_allclose(a.means_, b.means_, rtol=1e-9)
    assert_allclose(a.score(X, sample_weight=s), b.score(np.repeat(X, s, axis=0)))
    assert_allclose(a.bic(X, s), b.bic(np.repeat(X, s, axis=0)))


def test_a_better_start_is_kept() -> None:
    one = GaussianMixture(4, init_params="random", random_state=0, n_init=1, max_iter=500).fit(X)
    many = GaussianMixture(4, init_params="random", random_state=0, n_init=8, max_iter=500).fit(X)
    assert many.lower_bound_ >= one.lower_bound_


def test_warm_start_goes_on() -> None:
    model = GaussianMixture(3, tol=1e-12, max_iter=4, warm_start=True)
    with pytest.warns(NotCertified, match=r"Raise max_iter or tol"):
        model.fit(X)
    before = model.lower_bound_
    model.set_params(max_iter=2000).fit(X)
    assert model.converged_ and model.lower_bounds_[0] == pytest.approx(before, rel=1e-10)
    assert model.certificate_.residual <= np.sqrt(2e-12)
    assert certify(model, X).closed(1e-5)


def test_a_component_on_one_point_meets_the_floor() -> None:
    rows = np.concatenate([clouds(200, 3, 1), np.full((30, 3), 9.0)])
    with pytest.warns(UserWarning, match="held at the floor reg_covar=1e-06"):
        model = GaussianMixture(2).fit(rows)
    assert np.isfinite(model.lower_bound_) and model.weights_.min() == pytest.approx(30 / 230)
    with pytest.raises(ValueError, match=r"collapsed .* set reg_covar above 0"):
        GaussianMixture(2, reg_covar=0.0).fit(rows)


def test_tables_that_determine_no_mixture() -> None:
    with pytest.warns(UserWarning, match="10 rows for 44 parameters"):
        quiet = GaussianMixture(3, random_state=0)
        warnings.filterwarnings("ignore", message=".*floor")
        quiet.fit(X[:10])
    with pytest.raises(ValueError, match="n_components = 11, n_samples = 10"):
        GaussianMixture(11).fit(X[:10])
    with pytest.warns(UserWarning, match=r"column 1 is constant"):
        GaussianMixture().fit(np.column_stack([X[:, 0], np.ones(150)]))
    with pytest.warns(UserWarning, match="span 4 of 5 dimensions"):
        GaussianMixture().fit(np.column_stack([X, X[:, 0] - X[:, 1]]))
    bad = X.copy()
    bad[7, 2] = np.nan
    with pytest.raises(ValueError, match=r"NaN .* row 7, column 2"):
        GaussianMixture().fit(bad)
    model = quietly(GaussianMixture(2), np.ones((20, 2)))
    assert np.isfinite(model.score(np.ones((3, 2))))
    model = quietly(GaussianMixture(4), np.repeat([[0.0], [1.0]], 20, axis=0))
    assert_allclose(model.weights_.sum(), 1.0)
    assert GaussianMixture(2).fit(X[:, :1]).means_.shape == (2, 1)
    with pytest.raises(ValueError, match=r"ranges over .* multiply it"):
        GaussianMixture().fit(X * 1e-300)
    with pytest.raises(ValueError, match="should be normalized"):
        GaussianMixture(2, weights_init=[0.5, 0.6]).fit(X)
    with pytest.raises(ValueError, match="positive-definite"):
        GaussianMixture(precisions_init=[-np.eye(4)]).fit(X)


def test_homes_of_data(tmp_path) -> None:
    rows = clouds(5000, 4, 3, seed=5)
    np.save(tmp_path / "rows.npy", rows)
    start = GaussianMixture(3, random_state=0, max_iter=500, tol=1e-14)
    memory = start.fit(rows)
    model = GaussianMixture(3, random_state=0, max_iter=500, tol=1e-14)
    filed = model.fit(fenchel.scan(tmp_path / "rows.npy"))
    assert_allclose(memory.means_, filed.means_, rtol=1e-6)
    single = GaussianMixture(3, random_state=0).fit(rows.astype(np.float32))
    assert single.means_.dtype == single.score_samples(rows.astype(np.float32)).dtype == np.float32
    assert_allclose(single.means_, memory.means_, rtol=0.05, atol=0.05)


def test_online_em_finds_the_mixture() -> None:
    rows = clouds(30_000, 3, 3, seed=7)
    whole = GaussianMixture(3, random_state=0).fit(rows)
    model = GaussianMixture(3, random_state=0)
    for part in np.split(rows, 30):
        model.partial_fit(part)
    assert model.certificate_ is None and model.weight_seen_ == pytest.approx(30_000)
    assert model.score(rows) > whole.score(rows) - 0.005
    far = GaussianMixture(3, random_state=0)
    for part in np.split(rows, 30):
        far.partial_fit(1e100 * part)
    assert_allclose(far.means_, 1e100 * model.means_, rtol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_draws_have_the_law_of_the_mixture(kind) -> None:
    model = GaussianMixture(3, covariance_type=kind, max_iter=200).fit(X)
    rows, labels = model.sample(40_000, random_state=1)
    assert_allclose(np.bincount(labels) / 40_000, model.weights_, atol=0.01)
    assert_allclose(rows.mean(axis=0), model.weights_ @ model.means_, atol=0.05)
    again = GaussianMixture(1).fit(rows[labels == 1])
    assert_allclose(again.means_[0], model.means_[1], atol=0.05)
    assert len(model.sample()[0]) == 1


def test_auto_takes_the_least_bic() -> None:
    rows = clouds(600, 2, 3, seed=11, spread=0.6)
    model = GaussianMixture("auto", random_state=0).fit(rows)
    assert model.n_components_ == 3 == len(model.weights_)


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_the_mixture_of_labels_is_that_of_responsibilities_of_one(kind):
    rng = np.random.default_rng(3)
    rows, weight = rng.standard_normal((200, 4)), rng.uniform(0.5, 2.0, 200)
    labels = rng.integers(0, 5, 200)
    labels[labels == 3] = 1  # a cluster without rows
    found = of_labels(kind, rows, weight, labels, 5, 1e-6)
    wanted = of_responsibilities(kind, rows, weight, np.eye(5)[labels], 1e-6)
    alive = wanted.weights > 0.0
    assert_allclose(found.weights, wanted.weights, rtol=1e-13)
    assert_allclose(found.means[alive], wanted.means[alive], atol=1e-13)
    some = slice(None) if kind == "tied" else alive
    assert_allclose(found.covariances[some], wanted.covariances[some], rtol=1e-11, atol=1e-12)


def test_factors_of_many_covariances_are_their_inverses_and_the_floor_holds_its_own_alone():
    rng = np.random.default_rng(4)
    A = rng.standard_normal((6, 5, 5))
    S = A @ np.swapaxes(A, 1, 2) + 0.1 * np.eye(5)
    S[2] = np.outer(A[2, 0], A[2, 0])  # of rank one
    found, held = made("full", np.full(6, 1 / 6), np.zeros((6, 5)), S, 1e-3)
    assert held.tolist() == [False, False, True, False, False, False]
    product = found.factors @ np.swapaxes(found.factors, 1, 2) @ found.covariances
    assert_allclose(product, np.broadcast_to(np.eye(5), product.shape), atol=1e-9)
    assert_allclose(np.linalg.eigvalsh(found.covariances[2])[:4], 1e-3, rtol=1e-6)
    assert (np.tril(found.factors[0], -1) == 0.0).all()
