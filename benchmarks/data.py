"""The tables that are fitted: synthetic ones with fixed seeds, and Fashion-MNIST from its files."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

FASHION = Path(os.environ.get("FENCHEL_FASHION_MNIST", "/usr/share/datasets/fashion-mnist"))


class Table(NamedTuple):
    X: Any  # (n, d): a float64 array, or a csr_matrix or csc_matrix, which all peers accept
    y: np.ndarray


def flip(labels: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(len(labels)) < share, 1 - labels, labels)


def coin(z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Labels 0 or 1 with P(1) = 1 / (1 + e⁻ᶻ)."""
    return (rng.random(len(z)) * (1 + np.exp(-z)) < 1).astype(np.int64)


def correlated_columns(n: int, d: int, condition: float, rng: np.random.Generator) -> np.ndarray:
    """Gaussian rows of unit column variance; the covariance has about this condition number.

    Variances fall geometrically from 1 to 1/condition along random orthogonal directions.
    """
    X = rng.standard_normal((n, d))
    if condition > 1:
        basis, _ = np.linalg.qr(rng.standard_normal((d, d)))
        X = X @ (np.geomspace(1, condition**-0.5, d)[:, None] * basis)
        X /= X.std(axis=0)
    return X


def dense_classes(n: int, d: int, *, condition: float, seed: int) -> Table:
    """Two classes by a logistic model of score deviation 2, a tenth of the labels flipped."""
    rng = np.random.default_rng(seed)
    X = correlated_columns(n, d, condition, rng)
    z = X @ rng.standard_normal(d)
    return Table(X, flip(coin(2 * z / z.std(), rng), 0.1, rng))


def dense_regression(n: int, d: int, *, condition: float, seed: int) -> Table:
    """A linear model with noise of deviation 5."""
    rng = np.random.default_rng(seed)
    X = correlated_columns(n, d, condition, rng)
    return Table(X, X @ rng.standard_normal(d) + 5 * rng.standard_normal(n))


def documents(n: int, d: int, words: int, rng: np.random.Generator) -> Any:
    """Zipf words: (1 + log tf) · idf, unit rows, as a csr_matrix."""
    lengths = np.maximum(rng.poisson(words, n), 5)
    rarity = np.cumsum(1 / np.arange(10.0, d + 10))
    word = np.searchsorted(rarity, rng.random(lengths.sum()) * rarity[-1], side="right")
    doc = np.repeat(np.arange(n), lengths)
    X = sparse.csr_matrix((np.ones(len(word)), (doc, np.minimum(word, d - 1))), shape=(n, d))
    X.sum_duplicates()
    document_count = np.bincount(X.indices, minlength=d)
    X.data = (1 + np.log(X.data)) * (1 + np.log((n + 1) / (document_count + 1)))[X.indices]
    row_norm = np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1]))
    X.data /= np.repeat(row_norm, np.diff(X.indptr))
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def text_classes(n: int, d: int, *, words: int, seed: int) -> Table:
    """Two classes of documents; a fifth of the words matter."""
    rng = np.random.default_rng(seed)
    X = documents(n, d, words, rng)
    w = 6 * rng.standard_normal(d) * (rng.random(d) < 0.2)
    return Table(X, flip(coin(X @ w, rng), 0.05, rng))


def text_regression(n: int, d: int, *, words: int, seed: int) -> Table:
    """Documents as a csc_matrix and a target of mean zero; a tenth of the commoner words matter."""
    rng = np.random.default_rng(seed)
    X = documents(n, d, words, rng).tocsc()
    w, common = np.zeros(d), max(d * 3 // 50, 10)
    few = rng.choice(common, common // 10, replace=False)
    w[few] = 3 * rng.standard_normal(len(few))
    y = X @ w + 0.1 * rng.standard_normal(n)
    return Table(X, y - y.mean())


def factor_regression(n: int, d: int, *, seed: int) -> Table:
    """Columns that share thirty factors, by columns in memory; a hundred of them matter."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X += 1.05 * rng.standard_normal((n, 30)) @ rng.standard_normal((30, d)) / np.sqrt(30)
    w, few = np.zeros(d), rng.choice(d, min(100, d // 10), replace=False)
    w[few] = rng.standard_normal(len(few))
    z = X @ w
    return Table(np.asfortranarray(X), z + 0.3 * z.std() * rng.standard_normal(n))


def fashion_mnist(n: int = 60_000, part: str = "train") -> Table:
    """The first n images of Fashion-MNIST's part "train" or "t10k", pixels in [0, 1].

    Files as Debian's package dataset-fashion-mnist installs them; FENCHEL_FASHION_MNIST names
    another folder.
    """
    images = read_idx(FASHION / f"{part}-images-idx3-ubyte.gz")
    labels = read_idx(FASHION / f"{part}-labels-idx1-ubyte.gz")
    return Table(images[:n].reshape(n, -1) / 255.0, labels[:n].astype(np.int64))


def read_idx(path: Path) -> np.ndarray:
    """An array of bytes in IDX format: 0, 0, type 8, number of axes, their big-endian lengths."""
    raw = gzip.decompress(path.read_bytes())
    if raw[:3] != b"\0\0\x08":
        raise ValueError(f"{path} is not an IDX file of bytes")
    shape = np.frombuffer(raw, ">u4", count=raw[3], offset=4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(shape)


def store(table: Table, folder: Path) -> None:
    np.save(folder / "y.npy", table.y)
    if sparse.issparse(table.X):
        sparse.save_npz(folder / "X.npz", table.X, compressed=False)
    else:
        np.save(folder / "X.npy", table.X)


def fetch(folder: Path) -> Table:
    dense = folder / "X.npy"
    X = np.load(dense) if dense.exists() else sparse.load_npz(folder / "X.npz")
    return Table(X, np.load(folder / "y.npy"))
