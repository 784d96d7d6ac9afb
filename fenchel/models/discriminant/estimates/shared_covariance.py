"""The covariance that linear discriminant analysis aims at."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.blocks import Blocks
from fenchel.models.discriminant.estimates.class_sums import ClassSums, scaled
from fenchel.models.discriminant.estimates.covariance import ledoit_wolf_shares, shrunk_in_units
from fenchel.models.discriminant.estimates.settings import own_estimates

Floats = NDArray[np.float64]


def unit_of_identity(sums: ClassSums) -> Floats:
    """The columns of the identity in the units of the sums, up to one factor."""
    return np.ldexp(1.0, int(sums.exponent.max(initial=0)) - sums.exponent)


def shared_target(estimator: Any, sums: ClassSums, blocks: Blocks) -> Floats:
    """Σₖ Sₖ / W, shrunk as the estimator says, in the units of the sums."""
    share = sums.weight / sums.weight.sum()
    if estimator.covariance_estimator is not None:
        return np.asarray(np.tensordot(share, own_estimates(estimator, sums, blocks), 1))
    S = sums.within / sums.weight.sum()
    if estimator.shrinkage is None:
        return S
    if estimator.shrinkage != "auto":
        return shrunk_in_units(S, float(estimator.shrinkage), unit_of_identity(sums))
    rows = scaled(blocks, sums.exponent)
    shares, unit = ledoit_wolf_shares(rows, sums.weight, sums.mean, sums.scatter)
    T = np.zeros_like(S)
    for k, W in enumerate(sums.weight):
        T += share[k] * shrunk_in_units(sums.scatter[k] / W, float(shares[k]), unit[k])
    return T
