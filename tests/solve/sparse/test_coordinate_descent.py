"""Coordinate descent: every smooth loss with every corner closes, and its own proof is a proof."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import oracles.convex as oracles
import pytest
import scipy.sparse as sp
from convex.cases import LOSSES
from data.cases import HOMES
from sklearn import linear_model

from fenchel import (
    L1,
    CoordinateDescent,
    Hinge,
    Huber,
    Logistic,
    MatrixDesign,
    Multinomial,
    NotCertified,
    Problem,
    Square,
    SquaredHinge,
    as_blocks,
    lasso_path,
    minimise,
)
from fenchel.convex.loss.distance import Distance
from fenchel.convex.penalty import L2, ElasticNet, NonNegative
from fenchel.data.design.column_access import columns_of
from fenchel.data.passes.sweep import Adjoint
from fenchel.solve.select import select
from fenchel.solve.sparse import (
    prox_newton as relax,
)
from fenchel.solve.sparse import (
    quadratic_model as model,
)
from fenchel.solve.sparse import (
    working_set as shelf,
)

SMOOTH = [loss for loss in LOSSES if np.isfinite(loss.smoothness)]
CORNERS = [
    L1(0.03),
    ElasticNet(0.04, 0.6),
    L1(0.03, positive=True),
    ElasticNet(0.04, 0.6, positive=True),
    ElasticNet(0.02, 0.0, positive=True),
]
TABLES = {
    "dense": np.asarray,
    "csr": sp.csr_array,
    "float32": lambda X: X.astype(np.float32),
    "csr float32": lambda X: sp.csr_array(X.astype(np.float32)),
}


def table(n=50, d=30, seed=0):
    """Columns of all sizes, half of the entries zero, some columns twice, one of them constant."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.5) + 0.1 * (np.arange(d) % 3)
    if d > 5:
        X[:, 3], X[:, 4] = X[:, 0], 1.0
        X[:, 5] = 0.0
    return X.astype(np.float32).astype(float)


def problem_of(loss, penalty, free=True, kind="dense", weighted=True, X=None, seed=0) -> Problem:
    X = table() if X is None else X
    rng = np.random.default_rng(seed + 1)
    n, d = X.shape
    z = X[:, : min(d, 6)] @ rng.normal(size=min(d, 6)) + 0.5
    if isinstance(loss, Multinomial):
        y = (rng.integers(0, loss.n_classes, n) + (z > 0)) % loss.n_classes
        y[: loss.n_classes] = np.arange(loss.n_classes)[:n]  # no class without a row
    elif isinstance(loss, Distance):
        y = (z + 0.5 * rng.normal(size=n)).astype(np.float32).astype(float)
    else:
        y = np.sign(z - np.median(z) + z.std() * rng.normal(size=n))
        y[:2] = [1.0, -1.0][:n]
    s = rng.integers(0, 3, n).astype(float) if weighted else None
    return Problem(loss, penalty, MatrixDesign(as_blocks(TABLES[kind](X), y, s)), free)


def theta_of(state):
    return {} if state.dual is None else {"dual": state.dual}


def agrees(problem, solution, tol):
    """The solver's proof is the one that a look at all rows gives."""
    proof = problem.certify(solution.point, **theta_of(solution.state), enough=1e-12)
    scale = abs(proof.value) + proof.floor
    assert solution.certificate.value == pytest.approx(proof.value, abs=1e-11 * scale)
    assert solution.certificate.bound <= proof.bound + 1e-10 * scale
    assert solution.converged and solution.certificate.relative_gap <= tol


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("penalty", CORNERS, ids=str)
@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_every_corner_closes(loss, penalty, free, kind) -> None:
    problem = problem_of(loss, penalty, free, kind)
    agrees(problem, minimise(problem, tol=1e-9), 1e-9)


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("penalty", CORNERS, ids=str)
@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_so_it_does_over_columns_too_many_for_a_gram_matrix(
    loss, penalty, free, monkeypatch
) -> None:
    monkeypatch.setattr(relax, "GRAM", 3)
    monkeypatch.setattr(model, "GRAM", 3)
    monkeypatch.setattr(shelf, "NARROW", 0)
    problem = problem_of(loss, penalty, free, "csr" if free else "dense")
    agrees(problem, minimise(problem, tol=1e-7), 1e-7)


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("penalty", CORNERS, ids=str)
@pytest.mark.parametrize("loss", [Square(), Logistic(), Multinomial(3)], ids=str)
def test_columns_gathered_or_left_where_they_lie(loss, penalty, free, monkeypatch) -> None:
    there = minimise(problem_of(loss, penalty, free), tol=1e-9)
    monkeypatch.setattr(shelf, "NARROW", 0)
    problem = problem_of(loss, penalty, free)
    here = minimise(problem, tol=1e-9)
    agrees(problem, here, 1e-9)
    assert here.certificate.value == pytest.approx(there.certificate.value, rel=2e-9)


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("penalty", CORNERS[:4], ids=str)
@pytest.mark.parametrize("loss", [Square(), Logistic(), Huber(), SquaredHinge(), Multinomial(3)])
def test_the_naive_proximal_gradient_finds_no_better_point(loss, penalty, free) -> None:
    problem = problem_of(loss, penalty, free, X=table(40, 8))
    rows = problem.design.blocks.gather()
    solution = minimise(problem, tol=1e-10)
    value = oracles.proximal_gradient(loss, penalty, rows.X, rows.y, rows.weight, free)
    assert solution.certificate.bound <= value + 1e-12
    assert solution.certificate.value == pytest.approx(value, rel=1e-5)


def test_scikit_learn_agrees() -> None:
    X = table(60, 40)[:, 6:]
    y = X[:, :3] @ [1.0, -2.0, 0.5] + np.random.default_rng(0).normal(size=60)
    design = MatrixDesign(as_blocks(X, y))
    for ratio, positive in ((1.0, False), (0.5, False), (1.0, True), (0.7, True)):
        peer = linear_model.ElasticNet(
            0.05, l1_ratio=ratio, positive=positive, tol=1e-12, max_iter=10**6
        ).fit(X, y)
        ours = minimise(Problem(Square(), ElasticNet(0.05, ratio, positive), design), tol=1e-12)
        np.testing.assert_allclose(ours.point[0], peer.coef_, atol=1e-5)
        assert ours.point[1] == pytest.approx(peer.intercept_, abs=1e-5)
    design = MatrixDesign(as_blocks(X, np.sign(y)))
    peer = linear_model.LogisticRegression(
        C=1.0 / (60 * 0.02), l1_ratio=1.0, solver="saga", tol=1e-10, max_iter=10**5
    ).fit(X, np.sign(y))
    ours = minimise(Problem(Logistic(), L1(0.02), design), tol=1e-12)
    np.testing.assert_allclose(ours.point[0], peer.coef_[0], atol=1e-5)


@pytest.mark.parametrize("penalty", CORNERS, ids=str)
@pytest.mark.parametrize("loss", [*SMOOTH[:3], Logistic(), SquaredHinge(), Multinomial(3)], ids=str)
def test_the_proof_at_any_point_is_that_of_the_problem(loss, penalty, global_random_seed) -> None:
    rng = np.random.default_rng(global_random_seed)
    for free in (True, False):
        problem = problem_of(loss, penalty, free, rng.choice(list(TABLES)), seed=global_random_seed)
        best = minimise(problem, tol=1e-10).certificate
        for scale in (0.0, 1e-3, 0.1, 3.0, 100.0):
            w, b = problem.origin()
            w = penalty.prox(scale * rng.normal(size=w.shape) * (rng.random(w.shape) < 0.5), 0.0)
            b = b + scale * rng.normal(size=np.shape(b)) * free
            solver = CoordinateDescent()
            state = solver.init(problem, (w, b if np.ndim(b) else float(b)))
            own, whole = solver.prove(problem, state), problem.certify(state.point)
            assert own.value == pytest.approx(whole.value, rel=1e-11)
            assert own.bound <= best.value * (1.0 + 1e-12)
            assert own.bound >= whole.bound - 1e-9 * abs(whole.value)  # no scale is overlooked
            if state.dual is not None:
                beside = problem.certify(state.point, dual=state.dual)
                assert own.bound == pytest.approx(beside.bound, abs=1e-11 * own.value)


@pytest.mark.parametrize("loss", [Square(), Logistic(), Huber(), Multinomial(3)], ids=str)
@pytest.mark.parametrize("shape", [(3, 1), (3, 4), (7, 1), (5, 60), (300, 3)])
@pytest.mark.parametrize("penalty", [L1(0.01), L1(0.5, positive=True), ElasticNet(0.1, 0.9)])
def test_tables_of_every_shape(shape, loss, penalty) -> None:
    for kind in ("dense", "csr"):
        X = np.random.default_rng(0).normal(size=shape)
        problem = problem_of(loss, penalty, kind=kind, weighted=False, X=X)
        agrees(problem, minimise(problem, tol=1e-8), 1e-8)


@pytest.mark.parametrize("size", [1e-8, 1e-3, 1e4, 1e8])
@pytest.mark.parametrize("shift", [0.0, 1e3])
@pytest.mark.parametrize("loss", [Square(), Logistic()], ids=str)
def test_columns_of_every_scale_and_far_from_zero(size, shift, loss) -> None:
    X = size * (table(60, 20) + shift)
    problem = problem_of(loss, L1(0.01 * size), X=X)
    if isinstance(loss, Square):  # a target of the size of its columns would hide nothing
        problem = problem_of(loss, L1(0.01 * size * size), X=X)
    solution = minimise(problem, tol=1e-7)
    if shift and isinstance(loss, Square):
        # A thousand spreads from zero the last bits of X'r decide how far θ is shrunk, so that two
        # proofs of one point differ by 1e-7 of the optimum: each is held against the optimum.
        proof = problem.certify(solution.point, **theta_of(solution.state))
        best = lasso_optimum(problem)
        assert max(solution.certificate.bound, proof.bound) <= best * (1 + 1e-12)
        assert min(solution.certificate.value, proof.value) >= best * (1 - 1e-9)
        assert solution.converged and solution.certificate.relative_gap <= 1e-7
    else:
        agrees(problem, solution, 1e-7)


def lasso_optimum(problem) -> float:
    """min Σ s (y - Xw - b)²/2 + λ|w|₁ by plain coordinate descent on centred columns, in extended
    precision."""
    block = problem.design.blocks.gather()
    X, y, s = (np.asarray(v, np.longdouble) for v in (block.X, block.y, block.weight))
    s, lam = s / s.sum(), np.longdouble(problem.penalty.lam)
    X, y = X - s @ X, y - s @ y
    square, w = s @ (X * X), np.zeros(X.shape[1], np.longdouble)
    r = y.copy()
    for _ in range(1000):
        before = w.copy()
        for j in np.flatnonzero(square):
            t = w[j] + (s * X[:, j]) @ r / square[j]
            new = np.sign(t) * max(abs(t) - lam / square[j], 0)
            r += X[:, j] * (w[j] - new)
            w[j] = new
        if np.abs(w - before).max() <= 1e-15 * np.abs(w).max():
            break
    return float(s @ (r * r) / 2 + lam * np.abs(w).sum())


def test_screening_discards_no_active_column() -> None:
    """What is zero here is zero at the optimum: its slope is strictly inside."""
    problem = problem_of(Square(), L1(0.02), X=np.random.default_rng(3).normal(size=(40, 700)))
    solution = minimise(problem, tol=1e-12)
    inside = np.abs(solution.state.seen.grad_w) < 0.02 * (1.0 - 1e-5)
    assert 0 < (~inside).sum() < 40 and not solution.point[0][inside].any()
    exact = linear_model.Lasso(0.02, tol=1e-14, max_iter=10**6)
    block = problem.design.blocks.gather()
    exact.fit(block.X, block.y, block.weight)
    assert not exact.coef_[inside].any()
    assert solution.state.memory.working_set.size < 400


@pytest.mark.parametrize("loss", [Square(), Logistic(), Multinomial(3)], ids=str)
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_a_path_ends_where_a_cold_start_does(loss, kind) -> None:
    X = np.random.default_rng(0).normal(size=(60, 200))
    start, warm = None, problem_of(loss, L1(1.0), kind=kind, X=X)
    grid = [*np.geomspace(0.3, 0.02, 8), 0.05, 0.2]
    for lam in grid:
        problem = replace(warm, penalty=L1(lam))
        path = minimise(problem, tol=1e-9, start=start)
        cold = minimise(problem_of(loss, L1(lam), kind=kind, X=X), tol=1e-9)
        agrees(problem, path, 1e-9)
        assert path.certificate.value == pytest.approx(cold.certificate.value, rel=2e-9)
        np.testing.assert_allclose(path.point[0], cold.point[0], atol=1e-3)
        start = path.state
    # Polishing, left out here, takes a further step where the gap is just above 1e-15: that
    # depends on the last bits of the products, and so on the processor.
    assert minimise(problem, tol=1e-6, start=path.state, polish=0).steps == 0
    assert minimise(problem, tol=1e-6, start=path.point, polish=0).steps == 0
    moved = replace(problem, penalty=ElasticNet(0.1, 0.7, positive=True))
    agrees(moved, minimise(moved, tol=1e-9, start=path.state), 1e-9)
    agrees(moved, minimise(moved, tol=1e-9, start=path.point), 1e-9)
    other = problem_of(Huber(0.5) if loss == Square() else Square(), L1(0.1), kind=kind, X=X)
    if not isinstance(loss, Multinomial):  # the state of another table or loss is a point
        agrees(other, minimise(other, tol=1e-9, start=path.state), 1e-9)


@pytest.mark.parametrize("home", HOMES, ids=lambda home: home.name)
def test_wherever_the_rows_live(home, tmp_path, monkeypatch) -> None:
    X, rng = table(70, 8), np.random.default_rng(5)
    y = (X[:, 0] - X[:, 1] + rng.normal(size=70)).astype(np.float32).astype(float)
    s = rng.integers(0, 9, 70) / 4.0
    blocks = home.build(X, y, s, tmp_path)
    here = minimise(Problem(Square(), L1(0.05), MatrixDesign(as_blocks(X, y, s))), tol=1e-10)
    for narrow in (512, 0):
        monkeypatch.setattr(shelf, "NARROW", narrow)
        problem = Problem(Square(), L1(0.05), MatrixDesign(blocks))
        solution = minimise(problem, tol=1e-10)
        agrees(problem, solution, 1e-10)
        np.testing.assert_allclose(solution.point[0], here.point[0], atol=1e-5)


def test_above_the_largest_penalty_nothing_is_left() -> None:
    for loss in (Square(), Logistic(), Multinomial(3)):
        solution = minimise(problem_of(loss, L1(100.0)), tol=1e-6)
        assert solution.converged and not solution.point[0].any()


def test_it_refuses_in_one_sentence() -> None:
    for loss, penalty, message in (
        (Hinge(), L1(0.1), "without kinks"),
        (Square(), NonNegative(), "L1, L2 or mixed"),
        (Square(), L1(0.0), "L1, L2 or mixed"),
    ):
        with pytest.raises(ValueError, match=message):
            minimise(problem_of(loss, penalty), CoordinateDescent())
    assert select(problem_of(Square(), L1(0.1)), 1e-4) == CoordinateDescent(goal=1e-4)
    assert not isinstance(select(problem_of(Square(), L2(0.1))), CoordinateDescent)


def test_what_rounding_forbids_is_said() -> None:
    with pytest.warns(NotCertified, match="no step lowers|reached max_iter"):
        solution = minimise(problem_of(Logistic(), L1(0.01)), tol=1e-18, max_steps=30)
    assert solution.certificate.relative_gap < 1e-12


def test_without_a_goal_the_gap_shrinks_until_told() -> None:
    problem = problem_of(Logistic(), L1(0.01))
    solution = minimise(problem, CoordinateDescent(), tol=1e-11)
    agrees(problem, solution, 1e-11)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_classes_without_an_intercept_over_dependent_columns(seed, monkeypatch) -> None:
    """A shift of all classes bends nothing: models that are solved at all are soon enough."""
    models, settle = [], model.solve_lasso_qp
    monkeypatch.setattr(model, "solve_lasso_qp", lambda *given: models.append(1) or settle(*given))
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 26)) * 10.0 ** rng.uniform(-2, 2, 26) + 100.0
    X[:, 3] = X[:, 0]
    problem = problem_of(Multinomial(4), L1(2e-3), False, weighted=False, X=X)
    agrees(problem, minimise(problem, tol=1e-6), 1e-6)
    assert len(models) <= 60  # a third of them for digits beyond tol, which small tables get


def test_a_state_whose_point_was_moved_is_a_point() -> None:
    """Its scores are those of another one."""
    problem = problem_of(Square(), L1(0.02))
    state = minimise(problem, tol=1e-9).state
    w, b = state.point
    start = CoordinateDescent().init(problem, replace(state, point=(0.5 * w, b)))
    assert start.memory.proof.value == pytest.approx(problem.certify((0.5 * w, b)).value)


def test_a_path_looks_at_all_columns_once_for_each_penalty(monkeypatch):
    """The slopes that end one problem begin the next: no pass is made for the same vector."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4_000, 40))
    y = X[:, :5] @ np.ones(5) + rng.standard_normal(4_000)
    looks = []
    reduce = type(as_blocks(X)).reduce
    monkeypatch.setattr(
        type(as_blocks(X)),
        "reduce",
        lambda self, stat: looks.append(isinstance(stat, Adjoint)) or reduce(self, stat),
    )
    path = lasso_path(X, y, alphas=10)
    assert max(one.relative_gap for one in path.certificates) <= 1e-6
    assert 10 <= sum(looks) <= 15


def test_the_last_slopes_are_those_of_the_vector_as_it_is_now():
    rng = np.random.default_rng(1)
    X, r = rng.standard_normal((300, 7)), rng.standard_normal(300)
    columns = columns_of(MatrixDesign(as_blocks(X, r)))
    first = columns.adjoint(r)
    first[:] = 0.0  # the answer belongs to who asked
    np.testing.assert_allclose(columns.adjoint(r), X.T @ r, rtol=1e-12)
    r[3] += 1.0
    np.testing.assert_allclose(columns.adjoint(r), X.T @ r, rtol=1e-12)
