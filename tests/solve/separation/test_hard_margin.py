"""The largest margin against libsvm and linear programming; the proofs against exact sums."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.convex import separates
from scipy.sparse import csr_array
from sklearn.svm import SVC

import fenchel
from fenchel.data.blocks import Block
from fenchel.data.in_memory import ArrayBlocks
from fenchel.data.intake import as_blocks
from fenchel.solve.separation.hard_margin import hard_margin
from fenchel.solve.separation.row_radius import radius


def cases():
    rng = np.random.default_rng(0)
    for trial in range(60):
        n, d = int(rng.integers(3, 60)), int(rng.integers(1, 12))
        X, w = rng.normal(size=(n, d)), rng.normal(size=d)
        y = np.where(X @ w + 0.3 * rng.normal() > 0, 1.0, -1.0)
        if trial % 3 == 0:
            y = np.where(rng.random(n) < 0.1, -y, y)
        if len(np.unique(y)) == 2:
            yield X, y


def check_proof(X, y, found, intercept):
    """λ ≥ 0 sums to one, class by class to a half; λ y x is as short as it says, in fractions."""
    proof = found.combination
    lam = [Fraction(v) for v in proof.coefficients]
    assert min(lam) > 0
    assert abs(sum(lam) - 1) < 1e-14
    signs = [int(y[i]) for i in proof.rows]
    if intercept:
        assert abs(sum(a * s for a, s in zip(lam, signs, strict=True))) < 1e-14
    v = [
        sum(a * s * Fraction(float(x)) for a, s, x in zip(lam, signs, column, strict=True))
        for column in X[proof.rows].T
    ]
    assert np.linalg.norm([float(e) for e in v]) <= proof.residual
    assert proof.residual == found.high


@pytest.mark.parametrize("intercept", [True, False])
def test_against_programs(intercept) -> None:
    seen = set()
    for X, y in cases():
        found = hard_margin(as_blocks(X, y), intercept)
        truth = separates(X, y, intercept)
        seen.add(truth)
        assert found.separable is truth
        check_proof(X, y, found, intercept)
        if not truth:
            assert found.combination.exact
            assert found.high <= 1e-12 * found.radius
            continue
        assert found.high - found.low <= 1e-8 * found.high
        w, b = found.plane
        margin = (y * (X @ w + b)).min() / np.linalg.norm(w)
        assert found.low <= margin <= found.high
        if found.low < 0.02:  # libsvm's multipliers grow like 1/M²
            continue
        # Through the origin: every row with its mirror image.
        A, t = (X, y) if intercept else (np.vstack([X, -X]), np.append(y, -y))
        svc = SVC(kernel="linear", C=1e10, tol=1e-8).fit(A, t)
        np.testing.assert_allclose(1 / np.linalg.norm(svc.coef_), found.low, rtol=1e-3)
    assert seen == {True, False}


points = st.lists(
    st.tuples(*[st.integers(-4, 4)] * 2, st.sampled_from([-1.0, 1.0])), min_size=2, max_size=12
)


@settings(max_examples=60, deadline=None)
@given(points, st.booleans(), st.floats(0.0, 6.3), st.floats(-4.0, 4.0))
def test_no_plane_beats_the_interval(rows, intercept, angle, b) -> None:
    """On small integers, full of duplicates, contradictions and rows on a line."""
    table = np.array(rows)
    X, y = table[:, :2].astype(float), table[:, 2]
    if len(np.unique(y)) < 2:
        return
    found = hard_margin(as_blocks(X, y), intercept)
    assert found.low <= found.high
    assert found.separable is separates(X, y, intercept)
    check_proof(X, y, found, intercept)
    w = np.array([np.cos(angle), np.sin(angle)])
    assert (y * (X @ w + b * intercept)).min() <= found.high * (1 + 1e-12)


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e150])
def test_any_scale(scale) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 4))
    for y in (np.where(X[:, 0] > 0.1, 1.0, -1.0), np.where(rng.random(50) > 0.5, 1.0, -1.0)):
        one, other = hard_margin(as_blocks(X, y)), hard_margin(as_blocks(scale * X, y))
        assert one.separable is other.separable
        if one.separable:
            np.testing.assert_allclose(other.low, scale * one.low, rtol=1e-6)
            np.testing.assert_allclose(other.high, scale * one.high, rtol=1e-6)


@pytest.mark.parametrize("margin", [1e-3, 1e-6, 1e-9])
def test_thin_margins(margin) -> None:
    """Two parallel walls of points, that far apart."""
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, size=(400, 5))
    y = np.where(rng.random(400) > 0.5, 1.0, -1.0)
    X[:, 0] = margin * y
    found = hard_margin(as_blocks(X, y))
    assert found.separable
    np.testing.assert_allclose([found.low, found.high], margin, rtol=1e-4)


def test_corners() -> None:
    one_each = hard_margin(as_blocks(np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([1.0, -1.0])))
    np.testing.assert_allclose([one_each.low, one_each.high], 2.5)
    same = hard_margin(as_blocks(np.array([[3.0, 4.0], [3.0, 4.0]]), np.array([1.0, -1.0])))
    assert same.separable is False and same.combination.exact
    np.testing.assert_allclose(same.combination.coefficients, 0.5)
    nothing = hard_margin(as_blocks(np.zeros((4, 2)), np.array([1.0, -1.0, 1.0, -1.0])))
    assert nothing.separable is False and nothing.combination.exact
    # One rounding apart: no plane has a margin that float64 shows, but nothing exact is claimed.
    near = hard_margin(as_blocks(np.array([[1.0], [1.0 + 2**-52]]), np.array([1.0, -1.0])))
    assert near.separable is not True and not near.combination.exact
    wide = np.random.default_rng(3).normal(size=(20, 300))
    found = hard_margin(as_blocks(wide, np.where(np.arange(20) % 2, 1.0, -1.0)))
    assert found.separable and found.high - found.low < 1e-8 * found.high
    with pytest.raises(ValueError, match="both classes"):
        hard_margin(as_blocks(np.ones((3, 2)), np.ones(3)))


@pytest.mark.parametrize("sparse", [False, True])
def test_short_columns_may_decide(sparse) -> None:
    """Separability does not depend on the units of the columns, though the margin does."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(500, 3))
    clear, noisy = (np.where(X[:, 0] + s * rng.normal(size=500) > 0, 1.0, -1.0) for s in (0, 1))
    X = X * [1e-8, 1.0, 1e8]
    found = hard_margin(as_blocks(csr_array(X) if sparse else X, clear))
    assert found.separable and found.low > 0.0
    w, b = found.plane
    assert (clear * (X @ w + b)).min() >= found.low * (1 - 1e-6)
    assert np.linalg.norm(w) == pytest.approx(1.0)
    found = hard_margin(as_blocks(csr_array(X) if sparse else X, noisy))
    assert found.separable is False and found.combination.exact


def test_rows_without_weight_do_not_count() -> None:
    X = np.array([[1.0], [-1.0], [-5.0], [9.0]])
    y, s = np.array([1.0, -1.0, 1.0, -1.0]), np.array([2.0, 0.5, 0.0, 0.0])
    found = hard_margin(as_blocks(X, y, s))
    np.testing.assert_allclose([found.low, found.high, found.radius], 1.0)


@pytest.mark.torch
def test_homes(tmp_path) -> None:
    """In blocks, in files, sparse, single, on another library: the same interval."""
    import polars as pl

    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(4)
    X = np.round(rng.normal(size=(3000, 4)), 2).astype(np.float32).astype(np.float64)
    y = np.where(X @ [1.0, 2.0, -1.0, 0.5] > 0.2, 1.0, -1.0)
    plain = hard_margin(as_blocks(X, y))
    cut = ArrayBlocks(Block(0, X, y))
    cut.rows = 100
    pl.DataFrame(X).with_columns(y=pl.Series(y)).write_parquet(tmp_path / "t.parquet")
    homes = [
        cut,
        as_blocks(csr_array(X), y),
        as_blocks(X.astype(np.float32), y),
        as_blocks(torch.as_tensor(X), y),
        fenchel.scan(tmp_path / "t.parquet", target="y"),
    ]
    for blocks in homes:
        found = hard_margin(blocks)
        np.testing.assert_allclose([found.low, found.high], [plain.low, plain.high], rtol=1e-8)
        assert radius(blocks) == pytest.approx(np.linalg.norm(X, axis=1).max(), rel=1e-12)


def test_large_tables_take_a_few_passes() -> None:
    rng = np.random.default_rng(5)
    X, w = rng.normal(size=(30000, 30)), rng.normal(size=30)
    y = np.where(X @ w > 0, 1.0, -1.0)
    assert hard_margin(as_blocks(X, y)).passes < 40
    noisy = hard_margin(as_blocks(X, np.where(X @ w + rng.normal(size=30000) > 0, 1.0, -1.0)))
    assert noisy.separable is False and noisy.combination.exact and noisy.passes < 10
    assert len(noisy.combination.rows) <= 32


def test_where_no_direction_is_found_the_interval_is_still_finite():
    rows = as_blocks(np.array([[1.0, 2.0], [1.0, 2.0]]), np.array([-1.0, 1.0]))
    found = hard_margin(rows)
    assert -np.inf < found.low <= 0.0 <= found.high and not found.separable


@pytest.mark.parametrize("scale", [1e-9, 1e-5])
def test_margins_of_columns_of_other_units_hold_in_fractions(scale):
    """A short column decides; the plane's margin is what it says, exactly."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((8, 3)) * np.array([1.0, 1.0, scale])
    y = np.where(X[:, 2] > np.median(X[:, 2]), 1.0, -1.0)
    found = hard_margin(as_blocks(X, y))
    w, b = found.plane
    exact = [Fraction(float(v)) for v in w]
    length = Fraction(sum(v * v for v in exact))
    least = min(
        Fraction(t)
        * (sum(Fraction(a) * v for a, v in zip(x, exact, strict=True)) + Fraction(float(b)))
        for x, t in zip(X.tolist(), y.tolist(), strict=True)
    )
    assert found.low > 0.0 and Fraction(found.low) ** 2 * length <= least * least and least > 0
