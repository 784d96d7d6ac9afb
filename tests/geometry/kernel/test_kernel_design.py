"""Kernel designs: K kept or made anew, coordinates of the span, and every kind of fit on them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from fenchel import (
    L1,
    L2,
    Absolute,
    GramDesign,
    Hinge,
    Huber,
    KernelDesign,
    Logistic,
    MatrixDesign,
    Multinomial,
    Pinball,
    Problem,
    Square,
    SquaredHinge,
    as_blocks,
    kernels,
    minimise,
)
from fenchel.convex.loss.multiclass import MulticlassHinge
from fenchel.data.blocks import Totals, threads
from fenchel.data.design.kernel import gram_matrix, kernel_product
from fenchel.data.linear_algebra.pivoted_cholesky import pivoted_cholesky
from fenchel.data.passes.sweep import DualRows
from fenchel.solve.gram.kernel_span import KernelSpan

KERNEL = kernels.Gaussian(0.4)
KEPT, ANEW = None, 0.0


def table(n=160, seed=0, weighted=True):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    f = np.sin(2.0 * X[:, 0]) + X[:, 1]
    margin = np.where(f + 0.5 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    real = f + 0.3 * rng.standard_t(3, size=n) + 2.0
    s = rng.random(n) * (rng.random(n) < 0.8) if weighted else None
    return X, margin, real, s


def problem(loss, lam, X, y, s=None, intercept=True, memory=KEPT, kernel=KERNEL):
    return Problem(loss, L2(lam), KernelDesign(kernel, as_blocks(X, y, s), memory), intercept)


def value_of(p, point, X, y, s):
    """The objective from its definition."""
    s = np.ones(len(X)) if s is None else s
    K = np.array([[np.exp(-0.4 * ((a - b) ** 2).sum()) for b in X] for a in X])
    alpha, b = point
    return s @ p.loss.value(y, K @ alpha + b) / s.sum() + p.penalty.lam / 2.0 * alpha @ K @ alpha


# ------------------------------------------------------------------------------------ the design


@pytest.mark.parametrize("kernel", [KERNEL, kernels.Linear() + 0.1 * kernels.Matern()], ids=repr)
def test_kept_and_anew_are_the_same_map(kernel):
    rng = np.random.default_rng(1)
    X, y, _, s = table(700)
    kept, anew = (KernelDesign(kernel, as_blocks(X, y, s), memory) for memory in (KEPT, ANEW))
    assert kept.in_memory and not anew.in_memory
    assert "700 x 700" in kept.storage and "is kept in memory" in kept.storage
    assert "is made anew in each product" in anew.storage
    K = kernel.tile(X, X)
    given = GramDesign(K, y, s)
    v, V = rng.normal(size=700), rng.normal(size=(700, 3))
    some = np.array([5, 699, 0])
    for design in (kept, anew, given):
        assert design.dimension == design.n_rows == 700
        assert design.weight == pytest.approx(s.sum())
        np.testing.assert_allclose(design.target, [s @ y / s.sum()])
        for u in (v, V):
            np.testing.assert_allclose(design.product(u), K @ u, rtol=1e-9, atol=1e-9)
            assert design.inner(u, u) == pytest.approx(np.vdot(u, K @ u), rel=1e-10)
        np.testing.assert_allclose(design.columns(some), K[:, some], rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(design.diagonal(), np.diagonal(K), rtol=1e-13)
        np.testing.assert_allclose(
            design.map_rows((v, 0.5), lambda y, z: y + z), y + K @ v + 0.5, rtol=1e-9, atol=1e-9
        )
        rows = DualRows(lambda y, theta, scores, s: (s * theta + scores[0], Totals(y @ theta)))
        r, total, along = design.with_dual(v).sweep([(v, 0.0)], rows)
        np.testing.assert_allclose(r, s * v + K @ v, rtol=1e-9, atol=1e-9)
        assert along == pytest.approx(y @ v) and total == pytest.approx(r.sum())


def test_a_changed_vector_is_a_new_product():
    X, y, _, _ = table()
    design = KernelDesign(KERNEL, as_blocks(X, y))
    v = np.ones(len(X))
    before = design.inner(v, v)
    v *= 2.0
    assert design.inner(v, v) == pytest.approx(4.0 * before)


def test_products_have_the_same_bits_for_any_number_of_threads():
    X, y, _, _ = table(1000)
    v = np.random.default_rng(2).normal(size=1000)
    answers = []
    for count in (1, 2, 3):
        with threads(count):
            design = KernelDesign(KERNEL, as_blocks(X, y), ANEW)
            found = (kernel_product(KERNEL, X, X, v), gram_matrix(KERNEL, X), design.explicit().L)
            answers.append(found)
    for answer in answers[1:]:
        for a, b in zip(answers[0], answer, strict=True):
            np.testing.assert_array_equal(a, b)
    assert (answers[0][1] == answers[0][1].T).all()


@pytest.mark.parametrize(
    ("kernel", "rank"),
    [
        (kernels.Linear(), 3),
        (kernels.Polynomial(2), 10),
        (kernels.Gaussian(1e-2), None),
        (kernels.Gaussian(50.0), 300),
    ],
    ids=repr,
)
def test_the_factor_is_exact_to_rounding(kernel, rank):
    X = table(300)[0]
    X[10:20] = X[:10]  # equal rows
    K = gram_matrix(kernel, X)
    L, pivots = pivoted_cholesky(np.diagonal(K), lambda numbers: K[:, numbers])
    np.testing.assert_allclose(L @ L.T, K, atol=1e-12 * K.max())
    assert L.shape == (300, len(pivots)) and len(set(pivots)) == len(pivots)
    assert rank is None or len(pivots) == min(rank, 290)
    assert (np.triu(L[pivots], 1) == 0.0).all()
    nothing, none = pivoted_cholesky(np.zeros(4), lambda numbers: np.zeros((4, len(numbers))))
    assert nothing.shape == (4, 0) and len(none) == 0


def test_coordinates_there_and_back():
    X, y, _, s = table()
    design = KernelDesign(kernels.Gaussian(5.0), as_blocks(X, y, s))
    K, span = gram_matrix(design.kernel, X), design.explicit()
    alpha = np.random.default_rng(3).normal(size=(len(X), 2))
    w = span.of(alpha)
    np.testing.assert_allclose(span.L @ w, K @ alpha, rtol=1e-9, atol=1e-11)
    for near in (None, alpha, alpha + 0.1):
        back = span.coefficients(w, near)
        np.testing.assert_allclose(K @ back, K @ alpha, rtol=1e-8, atol=1e-9)
    assert isinstance(span.design, MatrixDesign) and design.explicit() is span


# -------------------------------------------------------------------------------- proof by use


@pytest.mark.parametrize("memory", [KEPT, ANEW], ids=["kept", "anew"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(
    "loss",
    [Logistic(), Hinge(), Square(), Pinball(0.8), SquaredHinge(), Huber(0.3), Absolute()],
    ids=repr,
)
@pytest.mark.parametrize("lam", [0.1, 1e-4])
def test_every_loss_closes_its_gap(loss, intercept, weighted, memory, lam):
    X, margin, real, s = table(weighted=weighted)
    y = margin if isinstance(loss, Logistic | Hinge | SquaredHinge) else real
    p = problem(loss, lam, X, y, s, intercept, memory)
    found = minimise(p, tol=1e-6)
    assert found.converged and found.certificate.kind == "duality"
    # A bound above the value by rounding alone is what the certificate calls rounding.
    assert -1e-13 <= found.certificate.gap / found.certificate.value <= 1e-6
    assert found.certificate.value == pytest.approx(
        value_of(p, found.point, X, y, s), rel=1e-10, abs=1e-12
    )
    # The proof again, by a design that shares nothing with the fit, and for a changed point.
    K = kernels.Gaussian(0.4).tile(X, X)
    alone = Problem(loss, L2(lam), GramDesign(K, y, s), intercept)
    again = alone.certify(found.point, dual=found.state.dual)
    assert again.bound == pytest.approx(found.certificate.bound, rel=1e-8)
    worse = alone.certify((0.9 * found.point[0], found.point[1]), dual=found.state.dual)
    assert worse.value > again.value and worse.bound == pytest.approx(again.bound, rel=1e-12)


@pytest.mark.parametrize("memory", [KEPT, ANEW], ids=["kept", "anew"])
@pytest.mark.parametrize("weighted", [True, False])
def test_svm_is_that_of_scikit_learn(memory, weighted):
    X, y, _, s = table(300, weighted=weighted)
    lam = 1e-3
    found = minimise(problem(Hinge(), lam, X, y, s, True, memory), tol=1e-9)
    weight = np.ones(300) if s is None else s
    C = weight / (lam * weight.sum())
    other = SVC(C=1.0, gamma=0.4, tol=1e-7).fit(X, y, sample_weight=C)
    scores = gram_matrix(KERNEL, X) @ found.point[0] + found.point[1]
    np.testing.assert_allclose(scores, other.decision_function(X), atol=2e-4)
    assert ((found.point[0] * y) >= -1e-12).all() and (np.abs(found.point[0]) <= C + 1e-9).all()


@pytest.mark.parametrize("memory", [KEPT, ANEW], ids=["kept", "anew"])
@pytest.mark.parametrize("weighted", [True, False])
def test_ridge_is_that_of_scikit_learn(memory, weighted):
    X, _, y, s = table(200, weighted=weighted)
    lam = 1e-3
    total = 200.0 if s is None else s.sum()
    # The rounding of the kernel's values, which the gap includes, is 4e-12 of the value here.
    found = minimise(problem(Square(), lam, X, y, s, False, memory), tol=1e-11)
    other = KernelRidge(alpha=lam * total, kernel="rbf", gamma=0.4).fit(X, y, sample_weight=s)
    K = gram_matrix(KERNEL, X)
    np.testing.assert_allclose(K @ found.point[0], other.predict(X), rtol=1e-6, atol=1e-8)
    weight = np.ones(200) if s is None else s
    solved = np.linalg.solve(weight[:, None] * K + lam * total * np.eye(200), weight * y)
    np.testing.assert_allclose(found.point[0], solved, rtol=1e-5, atol=1e-7)


def _root(K):
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def test_logistic_is_that_of_scikit_learn_on_the_root():
    X, y, _, s = table()
    lam = 1e-3
    found = minimise(problem(Logistic(), lam, X, y, s), tol=1e-10)
    K = gram_matrix(KERNEL, X)
    other = LogisticRegression(C=1.0 / (lam * s.sum()), tol=1e-12, max_iter=10**4)
    R = _root(K)
    other.fit(R, y, sample_weight=s)
    scores = K @ found.point[0] + found.point[1]
    np.testing.assert_allclose(scores, other.decision_function(R), atol=1e-4)


def test_quantile_is_the_dual_by_brute_force():
    X, _, y, s = table()
    lam, q, share = 1e-3, 0.8, s / s.sum()
    found = minimise(problem(Pinball(q), lam, X, y, s, False), tol=1e-9)
    K = gram_matrix(KERNEL, X)

    def dual(theta):  # -D = Σ sθy + ‖Σ sθ k‖²/(2λ) on q - 1... : -q ≤ θ ≤ 1 - q
        r = share * theta
        return r @ y + r @ K @ r / (2.0 * lam), share * (y + K @ r / lam)

    start = np.zeros(len(y))
    best = minimize(
        dual,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(-q, 1.0 - q)] * len(y),
        options={"maxiter": 10**5, "maxfun": 10**6, "ftol": 1e-15, "gtol": 1e-12},
    )
    assert found.certificate.value == pytest.approx(-best.fun, rel=1e-5)
    assert found.certificate.value >= -best.fun * (1.0 - 1e-9)
    scores = K @ found.point[0]
    assert s[y <= scores + 1e-6].sum() >= (q - 0.05) * s.sum()


@pytest.mark.parametrize("loss", [Multinomial(3), MulticlassHinge(3)], ids=repr)
def test_several_classes(loss):
    X, _, real, s = table()
    y = np.digitize(real, [1.0, 3.0])
    p = problem(loss, 1e-3, X, y, s)
    found = minimise(p, tol=1e-6)
    assert found.converged and found.point[0].shape == (160, 3)


@pytest.mark.parametrize("kernel", [kernels.Gaussian(1e-4), kernels.Gaussian(100.0)], ids=repr)
@pytest.mark.parametrize("loss", [Logistic(), Hinge()], ids=repr)
def test_nearly_flat_and_nearly_diagonal_kernels(kernel, loss):
    X, y, _, s = table()
    for lam in (1e-2, 1e-6):
        assert minimise(problem(loss, lam, X, y, s, kernel=kernel), tol=1e-5).converged


def test_a_linear_kernel_is_the_linear_model():
    X, y, _, s = table()
    for loss in (Logistic(), Hinge()):
        kernel = minimise(problem(loss, 0.01, X, y, s, kernel=kernels.Linear()), tol=1e-10)
        linear = minimise(Problem(loss, L2(0.01), MatrixDesign(as_blocks(X, y, s))), tol=1e-10)
        np.testing.assert_allclose(X.T @ kernel.point[0], linear.point[0], rtol=1e-4, atol=1e-6)
        assert kernel.certificate.value == pytest.approx(linear.certificate.value, rel=1e-9)


def test_starts_from_a_point_and_from_a_neighbour():
    X, y, _, s = table()
    design = KernelDesign(KERNEL, as_blocks(X, y, s))
    for loss in (Logistic(), Hinge()):
        first = minimise(Problem(loss, L2(0.01), design), tol=1e-8)
        for start in (first.point, first.state):
            again = minimise(Problem(loss, L2(0.01), design), start=start, tol=1e-8)
            assert again.converged
            near = minimise(Problem(loss, L2(0.009), design), start=start, tol=1e-8)
            assert near.converged


def test_sparse_rows_and_float32():
    X, y, _, s = table()
    X[np.abs(X) < 0.5] = 0.0
    values = []
    for rows in (X, csr_array(X), X.astype(np.float32), np.asfortranarray(X)):
        values.append(minimise(problem(Hinge(), 0.01, rows, y, s), tol=1e-7).certificate.value)
    np.testing.assert_allclose(values, values[0], rtol=1e-6)


# ---------------------------------------------------------------------------------- bad input


def test_what_is_refused():
    X, y, _, s = table()
    blocks = as_blocks(X, y, s)
    with pytest.raises(ValueError, match=r"Sigmoid.* is not positive semi-definite"):
        KernelDesign(kernels.Sigmoid(), blocks)
    K = gram_matrix(KERNEL, X)
    wrong = Problem(Hinge(), L2(0.1), GramDesign(K - 0.1 * np.eye(len(K)), y, s))
    with pytest.raises(ValueError, match="not positive semi-definite on these rows"):
        minimise(wrong)
    design = KernelDesign(KERNEL, blocks)
    with pytest.raises(ValueError, match="BlockSMO needs a positive L2 penalty"):
        minimise(Problem(Hinge(), L1(0.1), design))
    apart = np.tile(X, (3, 1)) * np.arange(1.0, 481.0)[:, None]
    with pytest.raises(MemoryError, match=r"GiB .* use fewer rows, a wider kernel or landmarks"):
        KernelDesign(kernels.Gaussian(50.0), as_blocks(apart)).explicit(1000.0)
    for penalty, targets, words in (
        (L2(0.0), None, "needs a positive L2 penalty"),
        (L2(0.1), 1, "one target at a time"),
    ):
        with pytest.raises(ValueError, match=words):
            minimise(Problem(Square(), penalty, design, targets=targets))
    linear = Problem(Hinge(), L2(0.1), MatrixDesign(blocks))
    with pytest.raises(ValueError, match="KernelSpan needs rows seen through a kernel"):
        minimise(linear, KernelSpan(lambda problem, tol: None))
