"""Huber's loss with its scale: the dual bounds every point, from every point."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from convex.audit.exact import exact, huber
from numpy.testing import assert_allclose

from fenchel import MatrixDesign, as_blocks
from fenchel.convex.certification.scale_sums import DualPlan, in_pairs, value_of
from fenchel.convex.concomitant_scale import ScaledHuber, ScalePoint, SplitFactor


def naive(X, y, s, eps, alpha, at):
    t = np.abs(y - X @ at.w - at.b) / at.sigma
    H = np.where(t <= eps, t**2, 2 * eps * t - eps**2)
    return float(s @ (at.sigma * (1 + H)) / s.sum() + alpha * at.w @ at.w)


def setting(seed, n=40, d=3, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)).astype(dtype)
    y = (X.sum(axis=1) + rng.standard_t(1.5, n)).astype(dtype)
    s = rng.integers(0, 3, n).astype(dtype)
    return rng, X, y, s


def random_point(rng, d, size=1.0):
    return ScalePoint(
        size * rng.standard_normal(d), size * rng.standard_normal(), np.exp(rng.normal())
    )


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 1e-6, 0.3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bounds_hold_wherever_they_are_made(alpha, intercept, dtype, global_random_seed):
    rng, X, y, s = setting(global_random_seed, dtype=dtype)
    problem = ScaledHuber(1.35, alpha, MatrixDesign(as_blocks(X, y, s)), intercept)
    X, y, s = (v.astype(np.float64) for v in (X, y, s))
    points = [random_point(rng, 3, size) for size in (0.1, 1.0, 1.0, 3.0, 1e3) for _ in range(4)]
    if not intercept:
        points = [ScalePoint(p.w, 0.0, p.sigma) for p in points]
    values = [naive(X, y, s, 1.35, alpha, p) for p in points]
    for at, value in zip(points, values, strict=True):
        seen = problem.evaluate(at)
        assert_allclose(seen.value, value, rtol=1e-12)
        elsewhere = points[rng.integers(len(points))]
        for share in (0.0, 0.5):
            bend = problem.bend(elsewhere, np.zeros(3), share)
            for proof in (problem.certify(at, seen, bend), problem.certify(at)):
                assert_allclose(proof.value, value, rtol=1e-12)
                assert 0.0 <= proof.bound <= min(values) * (1 + 1e-12)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_any_dual_point_may_be_given(alpha, intercept, global_random_seed):
    rng, X, y, s = setting(global_random_seed)
    problem = ScaledHuber(1.35, alpha, MatrixDesign(as_blocks(X, y, s)), intercept)
    points = [random_point(rng, 3) for _ in range(20)]
    points = points if intercept else [ScalePoint(p.w, 0.0, p.sigma) for p in points]
    least = min(naive(X, y, s, 1.35, alpha, p) for p in points)
    for at in points:
        for size in (0.1, 1.0, 10.0):
            proof = problem.prove_by(at, size * rng.standard_normal(len(y))).certificate
            assert 0.0 <= proof.bound <= least * (1 + 1e-12)


@pytest.mark.parametrize("eps", [1.0, 1.35, 4.0])
def test_the_dual_is_below_the_primal(eps, global_random_seed):
    """Any θ with |θ| ≤ 2ε, Σ sθ = 0, Σ sθ²/4 ≤ Σ s: Σ sθy - |X'sθ|²/(4α) bounds every A."""
    rng, X, y, s = setting(global_random_seed)
    s, alpha = s / s.sum(), 0.2
    for _ in range(50):
        theta = rng.uniform(-2 * eps, 2 * eps, len(y))
        theta -= s @ theta  # Σ s = 1
        theta *= min(1.0, 2 * eps / np.abs(theta).max(), 2 / np.sqrt(s @ theta**2))
        dual = s @ (theta * y) - np.sum((X.T @ (s * theta)) ** 2) / (4 * alpha)
        for _ in range(20):
            at = random_point(rng, 3)
            assert dual <= naive(X, y, s, eps, alpha, at) * (1 + 1e-13)


def test_gradient_and_curvature_are_derivatives():
    rng, X, y, s = setting(0)
    problem = ScaledHuber(1.35, 0.1, MatrixDesign(as_blocks(X, y, s)), True)
    at = ScalePoint(rng.standard_normal(3), 0.3, 0.9)
    centre = X.mean(axis=0)
    v = np.append(at.w, [at.b, at.sigma])

    def there(v):
        return ScalePoint(v[:3], float(v[3]), float(v[4]))

    g = problem.gradient(at, problem.evaluate(at))
    H = np.empty((5, 5))
    for j, e in enumerate(1e-6 * np.eye(5)):
        ahead, behind = there(v + e), there(v - e)
        slope = (naive(X, y, s, 1.35, 0.1, ahead) - naive(X, y, s, 1.35, 0.1, behind)) / 2e-6
        assert_allclose(slope, g[j], rtol=1e-6, atol=1e-8)
        pair = [problem.gradient(p, problem.evaluate(p)) for p in (ahead, behind)]
        H[j] = (pair[0] - pair[1]) / 2e-6
    root = problem.bend(at, centre).factor(problem, at, 0.0)
    shift = np.eye(5)
    shift[3, :3] = -centre  # from b + centre·w to b
    x = shift @ root.solve(shift.T @ g)
    assert_allclose(H @ x, g, rtol=1e-5, atol=1e-7)


def test_a_ridge_lost_in_rounding_is_kept():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((6, 3))
    H, ridge = 1e20 * A @ A.T, np.full(6, 1e-3)
    g = rng.standard_normal(6)
    x = SplitFactor.of(H, ridge).solve(g)
    null = np.linalg.svd(A.T)[2][3:]
    assert_allclose(null @ x, null @ g / 1e-3, rtol=1e-6)


@pytest.mark.parametrize("far", [0.0, 1e6])
def test_sums_are_as_near_as_they_say(far):
    """In float64 and in pairs, against fractions."""
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((9, 2)) + far, rng.standard_normal(9)
    s = rng.uniform(0.1, 3.0, 9)
    problem = ScaledHuber(1.35, 0.1, MatrixDesign(as_blocks(X, y, s)), True)
    w = rng.standard_normal(2)
    at = ScalePoint(w, -float(w.sum()) * far, 0.7)
    plan = DualPlan(0.0)
    theta = exact(plan.vector(problem, at))
    level = Fraction(float(at.b))
    r = [Fraction(float(t)) - level - sum(a * b for a, b in zip(exact(x), exact(w), strict=True))
         for x, t in zip(X, y, strict=True)]  # fmt: skip
    S = Fraction(float(problem.design.weight))
    loss = huber(1.35, 0.7)
    value = sum(v * loss(a, Fraction(0)) for v, a in zip(exact(s), r, strict=True)) / S
    value += Fraction(0.1) * sum(v * v for v in exact(w))
    found = value_of(problem, at, problem.evaluate(at))
    known, dual = in_pairs(problem, at, plan.slopes(at, 1.35))
    for one in (found, known):
        assert abs(Fraction(one.value) - value) <= Fraction(one.error)
    assert known.error <= found.error and known.relative_error < 1e-13
    theta = [Fraction(v) for v in plan.slopes(at, 1.35)(None, np.array([float(a) for a in r]))]
    along = sum(v * t * a for v, t, a in zip(exact(s), theta, r, strict=True)) / S
    pull = [sum(v * t * x for v, t, x in zip(exact(s), theta, exact(X[:, j]), strict=True)) / S
            for j in range(2)]  # fmt: skip
    plain = dual(False)
    assert abs(Fraction(plain.along) - along) <= Fraction(plain.along_error)
    for j in range(2):
        assert abs(Fraction(plain.grad_w[j]) - pull[j]) <= Fraction(plain.pull_error[j])
