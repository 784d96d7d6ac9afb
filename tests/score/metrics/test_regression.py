"""Errors of predicted numbers: scikit-learn's values, intervals that cover, odd samples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn import metrics as peer

from fenchel.score.metrics.regression import (
    mean_absolute_error,
    mean_error,
    r_squared,
    root_mean_squared_error,
)

PEERS = {
    r_squared: peer.r2_score,
    mean_absolute_error: peer.mean_absolute_error,
    root_mean_squared_error: peer.root_mean_squared_error,
    mean_error: lambda y, p: float(np.mean(p - y)),
}


@pytest.mark.parametrize("metric", PEERS, ids=lambda metric: metric.__name__)
@pytest.mark.parametrize("scale", [1.0, 1e-150, 1e150])
def test_values_are_scikit_learns(metric, scale):
    rng = np.random.default_rng(0)
    y = rng.normal(size=50)
    p = y + 0.3 * rng.normal(size=50)
    unit = 1.0 if metric is r_squared else scale
    found = metric(scale * y, scale * p)
    assert found == pytest.approx(unit * PEERS[metric](y, p), rel=1e-12)
    known = metric(scale * y, scale * p, level=0.9)
    assert known == pytest.approx(found, rel=1e-12) and known.low <= known <= known.high


@pytest.mark.parametrize("noise", [0.3, 1.0])
def test_intervals_cover(noise):
    """Of 95 %, between 91 and 98.5 in 600 samples of 60 rows."""
    rng = np.random.default_rng(3)
    truth = {
        mean_absolute_error: noise * math.sqrt(2 / math.pi),
        root_mean_squared_error: noise,
        r_squared: 1.0 / (1.0 + noise**2),
        mean_error: 0.0,
    }
    hits = dict.fromkeys(truth, 0)
    for _ in range(600):
        p = rng.normal(size=60)
        y = p + noise * rng.normal(size=60)
        for metric, value in truth.items():
            found = metric(y, p, level=0.95)
            hits[metric] += found.low <= value <= found.high
    for metric, count in hits.items():
        assert 0.91 <= count / 600 <= 0.985, (metric.__name__, count / 600)


def test_odd_samples():
    one = mean_absolute_error([1.0], [3.0], level=0.95)
    assert one == 2.0 and math.isnan(one.low) and "one row" in one.method
    same = r_squared([1.0, 1.0], [1.0, 2.0], level=0.95)
    assert math.isnan(same) and "all values of y are equal" in same.method
    assert math.isnan(r_squared([1.0, 1.0], [1.0, 2.0]))
    right = r_squared([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], level=0.95)
    assert right == 1.0 and right.high == 1.0 and right.low == -math.inf
    assert root_mean_squared_error([1.0, 2.0], [1.0, 2.0], level=0.95) == 0.0
    for y, p, words in [
        ([], [], "no row"),
        ([1.0], [1.0, 2.0], "one length"),
        ([[1.0]], [[1.0]], "columns"),
        ([1.0, math.nan], [1.0, 1.0], "not finite in row 1"),
    ]:
        with pytest.raises(ValueError, match=words):
            mean_absolute_error(y, p)
