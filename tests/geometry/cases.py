"""Every kernel, with the parameter values that matter, and every fold of pairs."""

import numpy as np

from fenchel.geometry.kernel import (
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
from fenchel.geometry.kernel_centring import Centred
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

K = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]])
CLOUD = np.random.default_rng(0).normal(size=(24, 3))
GIVEN = [
    (Precomputed(K), np.array([0, 2, 2, 1])),
    (Precomputed(K), np.array([[1.0], [0.0]])),
    (Centred(Gaussian(0.5), CLOUD), CLOUD[::-1] + 0.5),
    (Centred(Polynomial(2), CLOUD, np.linspace(0.0, 2.0, 24)), CLOUD),
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
