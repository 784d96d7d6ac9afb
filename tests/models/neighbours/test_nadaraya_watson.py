"""Local averages: the definition, leave-one-out as a loop, far rows, weights, homes, extremes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

import fenchel
from fenchel import GaussianClasses, NadarayaWatson, NadarayaWatsonClassifier, certify
from fenchel.data.blocks import threads
from fenchel.geometry.kernel.logarithm import log_kernels
from fenchel.geometry.kernel.vector_kernels import Gaussian, Laplacian, Linear, Matern, Radial

KERNELS = [
    None,
    Gaussian(0.3),
    Matern(0.5),
    Matern(1.5, 2.0),
    Matern(2.5),
    Laplacian(0.7),
    2.0 * Gaussian(0.2) * Laplacian(0.1) + Matern(1.5),
    Gaussian(1.0) + 0.5 * Gaussian(0.01),
]


@dataclass(frozen=True, slots=True)
class Epanechnikov(Radial):
    """(1 - ‖x - z‖²)₊, zero from distance one on."""

    def profile(self, squares):
        return np.maximum(1.0 - squares, 0.0)


def rows(seed, n=60, d=2, spread=1.0):
    rng = np.random.default_rng(seed)
    X = spread * rng.normal(size=(n, d))
    return X, np.sin(X[:, 0]) + 0.3 * rng.normal(size=n), spread * rng.normal(size=(17, d))


def average(kernel, h, x, X, y, s, linear=False):
    """The definition, and the weights lⱼ of the targets in it."""
    w = s * (Gaussian(0.5) if kernel is None else kernel).tile(x[None] / h, X / h)[0]
    if not linear:
        return w @ y / w.sum(), w / w.sum()
    A = np.column_stack([np.ones(len(X)), X - x])
    line = np.linalg.solve(A.T @ (w[:, None] * A), A.T * w)
    return line[0] @ y, line[0]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("linear", [False, True])
def test_the_definition_and_its_standard_error(kernel, linear):
    X, y, Q = rows(0, n=80)
    h = 0.8
    model = NadarayaWatson(kernel=kernel, bandwidth=h, local_linear=linear).fit(X, y)
    found, error = model.predict(Q, return_std=True)
    ones = np.ones(len(X))
    known = [average(kernel, h, x, X, y, ones, linear) for x in Q]
    np.testing.assert_allclose(found, [value for value, _ in known], rtol=1e-8)
    np.testing.assert_allclose(model.predict(Q), found)
    keep = ~np.eye(len(X), dtype=bool)
    left = [average(kernel, h, X[i], X[k], y[k], ones[k], linear)[0] for i, k in enumerate(keep)]
    np.testing.assert_allclose(model.leave_one_out(h), [np.mean((left - y) ** 2)], rtol=1e-8)
    residuals = (left - y) ** 2
    np.testing.assert_allclose(error, [np.sqrt(w**2 @ residuals) for _, w in known], rtol=1e-7)


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), linear=st.booleans(), low=st.integers(0, 1))
def test_a_weight_of_two_is_two_rows(seed, linear, low):
    X, y, Q = rows(seed, n=40)
    s = np.random.default_rng(seed).integers(low, 4, size=40)
    copies = np.repeat(np.arange(40), s)
    one = NadarayaWatson(local_linear=linear).fit(X, y, sample_weight=s)
    other = NadarayaWatson(local_linear=linear).fit(X[copies], y[copies])
    np.testing.assert_allclose(one.loo_errors_, other.loo_errors_, rtol=1e-6)
    if one.bandwidth_ == pytest.approx(other.bandwidth_) and not linear:
        for a, b in zip(one.predict(Q, True), other.predict(Q, True), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_the_bandwidth_is_that_of_the_least_error():
    X, y, _ = rows(1, n=120)
    model = NadarayaWatson(bandwidths=[0.1, 0.4, 3.0]).fit(X, y)
    np.testing.assert_allclose(
        model.loo_errors_, [model.leave_one_out(h)[0] for h in (0.1, 0.4, 3)]
    )
    assert model.bandwidth_ == 0.4 and model.certificate_.value == model.loo_errors_[1]
    assert NadarayaWatson().fit(X, y).loo_errors_.min() <= model.loo_errors_.min() * 1.02
    assert len(NadarayaWatson(bandwidths=7).fit(X, y).bandwidths_) == 7
    fixed = model.set_params(bandwidth=0.4).fit(X, y)
    assert "loo_errors_" not in vars(fixed)
    assert fixed.certificate_.value == pytest.approx(fixed.leave_one_out(0.4)[0])


@pytest.mark.parametrize("kernel", [None, Laplacian(), Matern(2.5)], ids=repr)
def test_far_rows_take_the_nearest_value_without_underflow(kernel):
    X, y, _ = rows(2)
    model = NadarayaWatson(kernel=kernel, bandwidth=1e-3).fit(X, y)
    Q = X + 1e-6
    np.testing.assert_allclose(model.predict(Q), y)
    far = np.array([[1e5, 0.0], [-1e5, 0.0]])
    metric = "cityblock" if isinstance(kernel, Laplacian) else "euclidean"
    expected = y[cdist(far, X, metric).argmin(axis=1)]
    np.testing.assert_allclose(model.predict(far), expected, rtol=1e-6)
    assert np.isfinite(model.predict(far, return_std=True)[1]).all()


def test_where_no_point_is_near():
    X, y = np.array([[0.0], [1.0], [5.0]]), np.array([1.0, 2.0, 7.0])
    model = NadarayaWatson(kernel=Epanechnikov(), bandwidth=0.5).fit(X, y)
    with pytest.warns(UserWarning, match="between row 1 and all training rows.* 2 rows"):
        found, error = model.predict([[0.1], [4.4], [9.0]], return_std=True)
    assert found.tolist() == [1.0, 7.0, 7.0]
    assert np.isfinite(error[0]) and np.isinf(error[1:]).all()
    model.set_params(far="error")
    with pytest.raises(ValueError, match="raise the bandwidth, or take far='nearest'"):
        model.predict([[9.0]])
    # Left out, every row takes the nearest other one.
    assert model.leave_one_out(0.5)[0] == pytest.approx((1.0 + 1.0 + 25.0) / 3.0)
    labels = NadarayaWatsonClassifier(kernel=Epanechnikov(), bandwidth=0.5).fit(X, ["a", "b", "b"])
    with pytest.warns(UserWarning, match="too small there"):
        assert labels.predict([[0.0], [3.5]]).tolist() == ["a", "b"]


@pytest.mark.parametrize("scale", [1e-150, 1e-100, 1e8, 1e140])
@pytest.mark.parametrize("linear", [False, True])
def test_scales(scale, linear):
    X, y, Q = rows(3)
    plain = NadarayaWatson(local_linear=linear).fit(X, y)
    power = 2.0 ** round(np.log2(scale))
    moved = NadarayaWatson(local_linear=linear).fit(X * power, y)
    assert moved.bandwidth_ == pytest.approx(plain.bandwidth_ * power)
    np.testing.assert_allclose(moved.predict(Q * power), plain.predict(Q), rtol=1e-7)


def test_offsets_of_rows_and_targets():
    X, y, Q = rows(4)
    for linear in (False, True):
        plain = NadarayaWatson(bandwidth=0.5, local_linear=linear).fit(X, y)
        moved = NadarayaWatson(bandwidth=0.5, local_linear=linear).fit(X + 2.0**26, y + 1e9)
        a, b = plain.predict(Q, return_std=True), moved.predict(Q + 2.0**26, return_std=True)
        np.testing.assert_allclose(a[0], b[0] - 1e9, atol=1e-5)
        np.testing.assert_allclose(a[1], b[1], rtol=1e-4)


def test_columns_that_do_not_vary_and_few_points():
    X = np.column_stack([np.arange(5.0), np.zeros(5)])
    y = 3.0 * X[:, 0] + 1.0
    model = NadarayaWatson(local_linear=True, bandwidth=2.0).fit(X, y)
    np.testing.assert_allclose(model.predict([[1.5, 0.0], [7.0, 0.0]]), [5.5, 22.0])
    assert model.predict([[1.0, 9.0]]) == pytest.approx(4.0)
    equal = NadarayaWatson().fit(np.ones((4, 2)), np.arange(4.0))
    np.testing.assert_allclose(equal.predict([[1.0, 1.0], [0.0, 3.0]]), 1.5)


def test_several_targets_and_threads():
    rng = np.random.default_rng(5)
    X, Y = rng.normal(size=(1500, 3)), rng.normal(size=(1500, 2))
    answers = []
    for count in (1, 2, 16):
        with threads(count):
            model = NadarayaWatson(bandwidths=4).fit(X, Y)
            answers.append((model.loo_errors_.tobytes(), model.predict(X).tobytes()))
    assert len(set(answers)) == 1 and model.predict(X).shape == (1500, 2)
    one = NadarayaWatson(bandwidth=model.bandwidth_).fit(X, Y[:, 1])
    np.testing.assert_allclose(model.predict(X)[:, 1], one.predict(X))


@pytest.mark.parametrize("home", ["csr", "parquet", "dask", "torch", "float32"])
def test_homes(home, tmp_path):
    X, y, _ = rows(6, n=900)
    reference = NadarayaWatson(bandwidth=0.4).fit(X, y)
    there, beside = X, y
    match home:
        case "csr":
            there = csr_array(X)
        case "parquet":
            pd.DataFrame(X, columns=["a", "b"]).assign(y=y).to_parquet(tmp_path / "t.parquet")
            there, beside = fenchel.scan(tmp_path / "t.parquet", target="y"), None
        case "dask":
            da = pytest.importorskip("dask.array")
            there, beside = da.from_array(X, chunks=(400, 2)), da.from_array(y, chunks=400)
        case "torch":
            torch = pytest.importorskip("torch")
            there, beside = torch.from_numpy(X), torch.from_numpy(y)
        case "float32":
            there = X.astype(np.float32)
    model = NadarayaWatson(bandwidth=0.4).fit(there, beside)
    close = 1e-5 if home == "float32" else 1e-12
    np.testing.assert_allclose(np.asarray(model.predict(there)), reference.predict(X), atol=close)
    proof = certify(model, there, beside)
    assert proof.value == pytest.approx(reference.leave_one_out(0.4)[0], rel=1e-4)
    assert proof == model.certificate_
    away = (reference.predict(X[:300]) - y[:300]) ** 2
    assert certify(reference, X[:300], y[:300]).value == pytest.approx(np.mean(away), rel=1e-4)


def test_classes():
    law = GaussianClasses([[0.0, 0.0], [2.0, 0.0]])
    X, y = law.sample(1500, random_state=0)
    model = NadarayaWatsonClassifier().fit(X, y)
    shares = model.predict_proba(X)
    assert shares.shape == (1500, 2) and shares.sum(axis=1) == pytest.approx(1.0)
    Q, z = law.sample(4000, random_state=1)
    wrong = np.mean(model.predict(Q) != z)
    assert wrong <= law.bayes_risk() + 4.0 * np.sqrt(law.bayes_risk() / 4000)
    assert certify(model, Q, z).value == pytest.approx(wrong)
    eta = law.eta(Q)
    assert np.mean(np.abs(model.predict_proba(Q)[:, 1] - eta)) < 0.05
    # Equal shares go to the smallest class.
    pair = NadarayaWatsonClassifier(bandwidth=1.0).fit([[-1.0], [1.0]], ["b", "a"])
    assert pair.predict([[0.0]]).tolist() == ["a"]
    one = NadarayaWatsonClassifier().fit([[-1.0], [1.0]], ["a", "a"])
    assert one.predict([[0.0]]).tolist() == ["a"]


def test_rates_of_coverage():
    """Where the bias is small, the standard error tells the spread over new noise."""
    rng = np.random.default_rng(0)
    X = np.linspace(0.0, 1.0, 400)[:, None]
    Q = np.array([[0.3], [0.5], [0.7]])
    sigma = 0.2 + 0.8 * X[:, 0]
    found, error = [], []
    for _ in range(120):
        model = NadarayaWatson(bandwidth=0.05).fit(X, sigma * rng.normal(size=400))
        f, e = model.predict(Q, return_std=True)
        found.append(f)
        error.append(e)
    spread = np.std(found, axis=0)
    np.testing.assert_allclose(np.mean(error, axis=0), spread, rtol=0.2)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"bandwidth": 0.0}, "The 'bandwidth' parameter"),
        ({"bandwidth": -1.0}, "The 'bandwidth' parameter"),
        ({"bandwidths": [1.0, 0.0]}, "bandwidths must be positive and finite"),
        ({"bandwidths": []}, "bandwidths must be positive and finite"),
        ({"kernel": Linear(), "bandwidth": 1.0}, "weights of an average must not be negative"),
    ],
)
def test_bad_input(params, message):
    X, y, Q = rows(0)
    with pytest.raises(ValueError, match=message):
        NadarayaWatson(**params).fit(X, y).predict(Q)
    with pytest.raises(ValueError, match=r"n_samples = 1\).*give a bandwidth"):
        NadarayaWatson().fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="takes at least two rows"):
        NadarayaWatson(bandwidth=1.0).fit(X[:1], y[:1]).predict(Q, return_std=True)


@pytest.mark.parametrize("kernel", KERNELS[1:], ids=repr)
def test_logarithms_of_kernels(kernel):
    X, _, Q = rows(7)
    for h, logs in zip((0.5, 2.0), log_kernels(kernel, Q, X, np.array([0.5, 2.0])), strict=True):
        np.testing.assert_allclose(np.exp(logs), kernel.tile(Q / h, X / h), rtol=1e-10)
    (far,) = log_kernels(kernel, Q + 1e6, X, np.array([1.0]))
    assert np.isfinite(far).all() and (far < -9e3).all()
