"""Adaline against a loop and against least squares; steps that cannot diverge, one that does."""

from __future__ import annotations

import numpy as np
import oracles.convex as oracles
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import fenchel
from fenchel import Adaline, LinearRegression, NotCertified, certify
from fenchel.models.online.adaline import Diverged

quiet = pytest.mark.filterwarnings("ignore::fenchel.NotCertified")


def noisy(n=300, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] - X[:, 1] + rng.normal(size=n) > 0).astype(int)


def planes(model):
    return np.append(model.coef_, model.intercept_)


@quiet
@pytest.mark.parametrize("rows", [np.asarray, csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("bias", [True, False])
def test_against_the_loop(rows, bias) -> None:
    X, y = noisy()
    setting = dict(fit_intercept=bias, eta0=0.01, max_iter=1, shuffle=False)
    w, b, mean = oracles.adaline(X, 2 * y - 1, 0.01, bias)
    last = Adaline(**setting).fit(rows(X), y)
    np.testing.assert_allclose(planes(last), np.append(w, b), rtol=1e-12, atol=1e-14)
    averaged = Adaline(average=True, **setting).fit(rows(X), y)
    np.testing.assert_allclose(planes(averaged), mean, rtol=1e-10, atol=1e-12)
    part = Adaline(average=True, **setting)
    for lo in range(0, 300, 70):
        part.partial_fit(rows(X[lo : lo + 70]), y[lo : lo + 70], classes=[0, 1])
    np.testing.assert_allclose(planes(part), mean, rtol=1e-10, atol=1e-12)
    assert part.certificate_ is None and part.n_iter_ == 5


@pytest.mark.parametrize("average", [True, False])
def test_tends_to_least_squares(average) -> None:
    X, y = noisy(2000)
    model = Adaline(average=average, random_state=0).fit(X, y)
    assert model.converged_ and model.certificate_.relative_gap <= 1e-3
    best = LinearRegression().fit(X, 2.0 * y - 1.0)
    least = np.mean((best.predict(X) - (2.0 * y - 1.0)) ** 2) / 2
    value = np.mean((model.decision_function(X) - (2.0 * y - 1.0)) ** 2) / 2
    assert model.certificate_.value == pytest.approx(value, rel=1e-12)
    assert model.certificate_.bound == pytest.approx(least, rel=1e-5)
    assert model.certificate_.bound <= least * (1 + 1e-12)
    assert len(model.history_) == model.n_iter_
    close = Adaline(average=True, random_state=0, tol=1e-5).fit(X, y)
    np.testing.assert_allclose(close.coef_[0], best.coef_, atol=3e-3)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.floats(1e-60, 1e60), st.integers(1, 30), st.integers(1, 30))
@quiet
def test_no_data_makes_the_default_step_diverge(seed, scale, n, d) -> None:
    """Each update is a contraction: the squared error never passes that of w = 0 by much."""
    rng = np.random.default_rng(seed)
    X = scale * rng.standard_cauchy(size=(n + 1, d))
    y = np.arange(n + 1) % 2
    for model in (Adaline(max_iter=4), Adaline(max_iter=4, average=True, fit_intercept=False)):
        model.fit(X, y)
        assert np.isfinite(planes(model)).all()
        assert model.certificate_.bound <= model.certificate_.value
        model.partial_fit(10 * X, y).partial_fit(X, y)
        assert np.isfinite(planes(model)).all()


@quiet
@pytest.mark.parametrize("setting", [{}, {"average": True}, {"eta0": 0.02, "shuffle": False}])
def test_weights_are_repeated_rows(setting) -> None:
    X, y = noisy(60)
    s = np.random.default_rng(1).integers(0, 5, size=60)
    model = Adaline(random_state=3, max_iter=6, **setting)
    expected = planes(model.fit(X.repeat(s, axis=0), y.repeat(s)))
    np.testing.assert_allclose(planes(model.fit(X, y, s)), expected, rtol=1e-8, atol=1e-10)
    half = planes(model.fit(X, y, s + 0.5))
    assert np.isfinite(half).all() and not np.allclose(half, expected)


def test_a_long_step_is_named() -> None:
    X, y = noisy()
    longest = np.square(X).sum(axis=1).max() + 1
    with pytest.raises(Diverged, match=f"below {2 / longest:.3g}"):
        Adaline(eta0=10.0).fit(X, y)
    with pytest.raises(Diverged, match="grow without end"):
        Adaline(eta0=1e5).partial_fit(X, y, classes=[0, 1])
    with pytest.warns(NotCertified, match="worse than w = 0: eta0=0.3 is too long"):
        Adaline(eta0=0.3, max_iter=1, shuffle=False).fit(X, y)
    with pytest.warns(NotCertified, match="circles about the optimum"):
        Adaline(eta0=0.01, max_iter=3, tol=1e-9).fit(X, y)
    with pytest.warns(NotCertified, match="Standardise the columns"):
        Adaline(max_iter=2, tol=1e-9).fit(X, y)


@quiet
@pytest.mark.torch
def test_homes(tmp_path) -> None:
    import dask.array as da

    torch = pytest.importorskip("torch")
    X, y = noisy(3000)
    X = np.round(X, 2).astype(np.float32).astype(np.float64)
    model = Adaline(shuffle=False, max_iter=5, tol=0.0)
    expected = planes(model.fit(X, y))
    pl.DataFrame(X).with_columns(y=pl.Series(y)).write_parquet(tmp_path / "t.parquet")
    single = X.astype(np.float32)
    for rows, target in [
        (fenchel.scan(tmp_path / "t.parquet", target="y"), None),
        (da.from_array(X, chunks=(700, 4)), da.from_array(y, chunks=700)),
        (torch.as_tensor(X), torch.as_tensor(y)),
        (single, y),
    ]:
        again = model.fit(rows, target)
        tight = 1e-6 if rows is single else 1e-11
        np.testing.assert_allclose(planes(again), expected, rtol=tight, atol=tight)
    assert again.coef_.dtype == np.float32
    parts = Adaline(random_state=0).partial_fit(single, y, classes=[0, 1])
    assert parts.coef_.dtype == np.float32 and parts.score(single, y) > 0.7


@quiet
def test_certify_and_several_classes() -> None:
    X, _ = noisy()
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    s = np.random.default_rng(0).uniform(size=len(X))
    for labels in (y, y > 0):
        model = Adaline(random_state=0, class_weight={labels[0]: 2.0}).fit(X, labels, s)
        proof = certify(model, X, labels, s)
        assert proof.value == pytest.approx(model.certificate_.value, rel=1e-10)
        assert proof.bound == pytest.approx(model.certificate_.bound, rel=1e-4)
        assert model.converged_
    again = Adaline(random_state=0, warm_start=True).fit(X, y)
    before = again.n_iter_
    assert again.fit(X, y).n_iter_ <= before


def test_bad_input() -> None:
    X, y = noisy()
    for name, value in [("eta0", -1.0), ("tol", -1.0), ("max_iter", 0), ("average", "yes")]:
        with pytest.raises(ValueError, match=name):
            Adaline(**{name: value}).fit(X, y)
    with pytest.raises(ValueError, match="one class"):
        Adaline().fit(X, np.zeros(len(X)))
