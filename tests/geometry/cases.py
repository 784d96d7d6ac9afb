"""Every kernel, with the parameter values that matter, and every fold of pairs."""

import numpy as np

from fenchel.geometry.kernel.centring import Centred
from fenchel.geometry.kernel.vector_kernels import (
    Cosine,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    Product,
    Scaled,
    Sigmoid,
    Sum,
)
from fenchel.geometry.strings.edit_distance import EditDistance
from fenchel.geometry.strings.mismatch import Mismatch
from fenchel.geometry.strings.spectrum import Spectrum
from fenchel.geometry.strings.subsequence import Subsequence
from fenchel.geometry.tiles import Count, LogSumExp, Nearest, WeightedSum

SIMPLE = [
    Linear(),
    Polynomial(),
    Polynomial(degree=1, gamma=0.5, coef0=0.0),
    Polynomial(degree=5, gamma=2.0, coef0=0.1),
    Polynomial(degree=2, coef0=-1.0),
    Sigmoid(),
    Sigmoid(gamma=0.1, coef0=-1.0),
    Cosine(),
    Gaussian(),
    Gaussian(gamma=1e-3),
    Gaussian(gamma=1e3),
    Laplacian(),
    Laplacian(gamma=0.05),
    *(Matern(nu, length) for nu in (0.5, 1.5, 2.5) for length in (1.0, 0.1)),
]

COMPOSED = [
    Sum(Gaussian(0.5), Linear()),
    Product(Gaussian(0.5), Polynomial(2)),
    Scaled(0.1, Matern()),
    Gaussian(0.5) + 0.1 * Polynomial(3),
    2 * Laplacian() * (Linear() + Cosine()) * 3.0,
    Gaussian() + Sigmoid(),
]

STRINGS = [
    Spectrum(),
    Spectrum(1),
    Spectrum(5, normalised=False),
    Mismatch(),
    Mismatch(2, 0),
    Mismatch(4, 2, normalised=False),
    Subsequence(),
    Subsequence(1, 1.0),
    Subsequence(4, 0.9, normalised=False),
    EditDistance(),
    EditDistance(0.05, normalised=False),
    Spectrum(2) + 0.5 * Subsequence(2),
    Spectrum(3) * EditDistance(2.0),
]

TEXTS = ["ACGT", "", "ACGTACGT", "GGG", "ACG", "TTTTTTTT", "CA", "ACGT"]
K = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]])
CLOUD = np.random.default_rng(0).normal(size=(24, 3))
GIVEN = [
    (Precomputed(K), np.array([0, 2, 2, 1])),
    (Precomputed(K), np.array([[1.0], [0.0]])),
    (Centred(Gaussian(0.5), CLOUD), CLOUD[::-1] + 0.5),
    (Centred(Polynomial(2), CLOUD, np.linspace(0.0, 2.0, 24)), CLOUD),
    (Mismatch(3, 1, "ACGT"), TEXTS),
    (Centred(Spectrum(2), TEXTS), [*TEXTS, "AACC"]),
    (Centred(Spectrum(2), TEXTS) + Subsequence(2), TEXTS),
]

FOLDS = [
    Nearest(),
    Nearest(k=3),
    Nearest(k=7, dtype=np.float64),
    Count(1.0),
    Count(0.0, dtype=np.float64),
    WeightedSum(Gaussian(0.3), np.linspace(-1.0, 1.0, 60)),
    WeightedSum(Linear(), np.ones((60, 2))),
    LogSumExp(0.7, np.linspace(-3.0, 1.0, 60)),
]
