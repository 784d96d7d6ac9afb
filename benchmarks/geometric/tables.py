"""Tables of groups, images, sheets and strings, with fixed seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import FASHION, fashion_mnist

Rows = NDArray[Any]
IMAGES = "Fashion-MNIST" if FASHION.is_dir() else "synthetic images (no Fashion-MNIST here)"


def blobs(
    n: int, d: int, k: int, *, seed: int, spread: float = 1.0, dtype: Any = np.float64
) -> tuple[Rows, Rows]:
    """Rows about k centres of deviation `spread`, columns correlated alike; the group of each."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((d, d)))[0] * np.geomspace(1.5, 0.3, d)
    centres = spread * rng.standard_normal((k, d))
    groups = rng.integers(0, k, n)
    X = rng.standard_normal((n, d)) @ basis + centres[groups]
    return X.astype(dtype), groups


def some_rows(X: Rows, k: int, seed: int) -> Rows:
    """k different rows to begin with."""
    return X[np.random.default_rng(seed).choice(len(X), k, replace=False)].copy()


def smooth_images(n: int, side: int, *, seed: int) -> tuple[Rows, Rows]:
    """Pixels in [0, 1] of ten classes: smooth shapes of few modes, and some noise."""
    rng = np.random.default_rng(seed)
    modes, place = min(8, side), (np.arange(side) + 0.5) / side
    waves = np.cos(np.pi * np.arange(modes)[:, None] * place)
    basis = np.einsum("ai,bj->abij", waves, waves).reshape(modes * modes, side * side)
    decay = 1.0 / (1.0 + np.add.outer(np.arange(modes) ** 2, np.arange(modes) ** 2).ravel())
    law = np.random.default_rng(0)  # the classes are the same for every seed
    means = 8.0 * law.standard_normal((10, modes * modes)) * decay
    labels = rng.integers(0, 10, n)
    shapes = means[labels] + 4.0 * rng.standard_normal((n, modes * modes)) * decay
    X = 1.0 / (1.0 + np.exp(-shapes @ basis))
    X += 0.03 * rng.standard_normal(X.shape)
    return np.clip(X, 0.0, 1.0).astype(np.float32), labels


def images(n: int, side: int, *, held: bool = False) -> tuple[Rows, Rows]:
    """n images and their classes, float32: Fashion-MNIST where it is there and they are its size.

    held: of the images that are no training images.
    """
    if FASHION.is_dir() and side == 28:
        table = fashion_mnist(n, "t10k" if held else "train")
        return table.X.astype(np.float32), table.y
    return smooth_images(n, side, seed=31 + held)


def swiss_roll(n: int, *, seed: int) -> tuple[Rows, Rows]:
    """A sheet rolled up in space, with noise of deviation 0.05, and its two flat coordinates."""
    rng = np.random.default_rng(seed)
    angle, height = 1.5 * np.pi * (1.0 + 2.0 * rng.random(n)), 21.0 * rng.random(n)
    X = np.column_stack([angle * np.cos(angle), height, angle * np.sin(angle)])
    X += 0.05 * rng.standard_normal(X.shape)
    # The length of the arc r = θ from 0 to θ.
    arc = (angle * np.sqrt(1.0 + angle**2) + np.arcsinh(angle)) / 2.0
    return X, np.column_stack([arc, height])


def letters(n: int, length: int, *, seed: int) -> Rows:
    """n strings of four letters, as rows of their codes."""
    rng = np.random.default_rng(seed)
    return np.frombuffer(b"acgt", np.uint8)[rng.integers(0, 4, (n, length))]
