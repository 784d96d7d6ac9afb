"""A number to predict, judged once on the locked test part."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.app.report.estimates import plain

Floats = NDArray[np.float64]


def residual_numbers(y: Floats, said: Floats) -> dict[str, Any]:
    """How the errors are spread: quantiles, and how far they are from a normal law."""
    error = y - said
    shares = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
    centred = error - error.mean()
    spread = float(centred.std())
    skew = float((centred**3).mean() / spread**3) if spread > 0.0 else 0.0
    tail = float((centred**4).mean() / spread**4 - 3.0) if spread > 0.0 else 0.0
    return plain(
        {
            "quantiles": {f"{100 * share:g} %": np.quantile(error, share) for share in shares},
            "skewness": skew,
            "excess_kurtosis": tail,
        }
    )


def leverages(X: Floats) -> Floats:
    """How much each row's own target decides its fitted value, in least squares with intercept."""
    centred = X - X.mean(axis=0)
    U, sigma, _ = np.linalg.svd(centred, full_matrices=False)
    rank = int((sigma > sigma[0] * max(X.shape) * np.finfo(np.float64).eps).sum())
    return np.einsum("ij,ij->i", U[:, :rank], U[:, :rank]) + 1.0 / len(X)
