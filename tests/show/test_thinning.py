"""A thinned curve looks the same: no vertex is half a pixel from the line that is drawn."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fenchel import Curve
from fenchel.show import thin
from fenchel.show.thinning import distances

SIDE = 400.0


def moved(x, y, keep, pixel=None):
    """The farthest a vertex is, in pixels, from the line through the kept ones."""
    points = np.column_stack([x, y]).astype(float)
    size = np.ptp(points, axis=0) / SIDE if pixel is None else np.asarray(pixel)
    points = points / np.where(size > 0.0, size, 1.0)
    away = [distances(points[a : b + 1], points[a], points[b]).max() for a, b in pairwise(keep)]
    return max(away, default=0.0)


def kept_in_order(keep, n):
    return keep[0] == 0 and keep[-1] == n - 1 and (np.diff(keep) > 0).all()


@given(
    hnp.arrays(np.float64, st.integers(2, 300), elements=st.floats(-1e3, 1e3, width=32)),
    st.integers(2, 400),
)
def test_no_vertex_is_moved_by_half_a_pixel(y, most):
    x = np.arange(len(y), dtype=float)
    keep = thin(x, y, most)
    assert kept_in_order(keep, len(y)) and len(keep) <= most
    if len(keep) < most:
        assert moved(x, y, keep) < 0.5


@pytest.mark.parametrize("n", [30, 300, 3000, 30_000, 300_000])
@pytest.mark.parametrize("gap", [0.0, 0.5, 2.0])
def test_a_roc_has_at_most_400_vertices_and_stays_where_it_is(n, gap):
    rng = np.random.default_rng(n)
    y = rng.random(n) < 0.4
    curve = Curve.of(y, gap * y + rng.normal(size=n), pos_label=True)
    keep = thin(curve.fpr, curve.tpr, pixel=(1.0 / 380.0, 1.0 / 380.0))
    assert kept_in_order(keep, len(curve.fpr)) and len(keep) < 400
    assert moved(curve.fpr, curve.tpr, keep, (1.0 / 380.0, 1.0 / 380.0)) < 0.5


def test_a_bound_on_the_vertices_is_kept_where_it_must_be():
    rng = np.random.default_rng(0)
    x, y = np.arange(20_000.0), rng.normal(size=20_000)
    keep = thin(x, y, 400)
    assert len(keep) == 400 and kept_in_order(keep, 20_000)
    assert {int(y.argmin()), int(y.argmax())} <= set(keep.tolist())  # what stands out stays


def test_straight_and_single_points():
    assert thin([1.0], [2.0]).tolist() == [0]
    assert thin([1.0, 1.0], [2.0, 2.0]).tolist() == [0, 1]
    assert thin(np.zeros(9), np.zeros(9)).tolist() == [0, 8]
    assert thin(np.arange(9), np.ones(9)).tolist() == [0, 8]
    assert thin([0.0, 5.0, 0.0], [0.0, 0.0, 0.0]).tolist() == [0, 1, 2]  # there and back


def test_a_line_that_is_not_finite_is_refused():
    with pytest.raises(ValueError, match="finite"):
        thin([0.0, 1.0, np.inf], [0.0, 1.0, 2.0])


def test_the_size_of_a_pixel_decides():
    x = np.linspace(0.0, 1.0, 1001)
    y = x**2
    fine, coarse = (thin(x, y, pixel=(p, p)) for p in (1e-4, 1e-1))
    assert len(fine) > len(coarse)
    assert moved(x, y, fine, (1e-4, 1e-4)) < 0.5
    assert moved(x, y, coarse, (1e-1, 1e-1)) < 0.5
