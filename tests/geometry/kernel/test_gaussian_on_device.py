"""Products with the Gaussian kernel of tensors: by tiles, and by rows of halves."""

from __future__ import annotations

import numpy as np
import pytest

from fenchel.data.arrays import to_numpy
from fenchel.geometry.radial.on_device import DeviceGaussian, augmented, widths

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(300, 70, 5), (1, 1, 1), (130, 257, 50)])
def test_products_and_their_transpose(shape, dtype, monkeypatch):
    torch = pytest.importorskip("torch")
    n, m, d = shape
    rng = np.random.default_rng(n)
    X, Z, v = rng.standard_normal((n, d)) + 3.0, rng.standard_normal((m, d)) + 3.0, np.ones(m)
    K = np.exp(-((X[:, None] - Z[None]) ** 2).sum(axis=2) / d)
    monkeypatch.setattr("fenchel.geometry.radial.on_device.VALUES", 1000)
    kind = getattr(torch, dtype)
    rows, points, weights = (torch.tensor(values, dtype=kind) for values in (X, Z, v))
    device = DeviceGaussian.of(rows, points, 1.0 / d)
    found = [device.product(weights), device.normal(weights)]
    near = 1e-5 if dtype == "float32" else 1e-13
    for one, exact in zip(found, (K @ v, K.T @ (K @ v)), strict=True):
        assert one.dtype == kind
        assert np.abs(to_numpy(one) - exact).max() <= near * np.abs(exact).max()


@pytest.mark.parametrize("d", [1, 3, 20, 50, 83])
def test_a_product_of_rows_of_halves_is_the_logarithm_of_the_kernel(d):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(d)
    X, Z = rng.standard_normal((150, d)), rng.standard_normal((90, d))
    middle, factor = torch.tensor(Z.mean(axis=0)), np.sqrt(2.0 / d * np.log2(np.e))
    left, _ = augmented(torch.tensor(X), middle, factor)
    _, right = augmented(torch.tensor(Z), middle, factor)
    assert left.shape == (256, sum(widths(d))) and right.shape == (128, sum(widths(d)))
    found = to_numpy(left.double() @ right.double().T)[:150, :90]
    exact = -((X[:, None] - Z[None]) ** 2).sum(axis=2) * np.log2(np.e) / d
    assert np.abs(found - exact).max() <= 2.0**-18
    assert not left[150:].any() and not right[90:].any()


def test_columns_that_fit_the_registers():
    assert widths(50) == (128, 32) and widths(83) == (128, 128) and widths(84) is None
    assert all(sum(widths(d)) >= 3 * d + 6 for d in range(1, 84))
