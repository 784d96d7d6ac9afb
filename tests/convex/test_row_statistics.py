"""Compiled passes against their definitions, for every loss, layout and precision."""

import numpy as np
import pytest
from convex.cases import LOSSES
from scipy.sparse import csr_array
from threadpoolctl import threadpool_info, threadpool_limits

from fenchel.convex.loss.base import Scalar
from fenchel.convex.loss.distance import Distance, Square
from fenchel.convex.loss.margin import Logistic, Margin
from fenchel.convex.loss.multiclass import Joint, Multinomial
from fenchel.convex.rows.statistics import ClassPairs, DualSums, LossCurvature, ValueGradient
from fenchel.data.blocks import Block, threads
from fenchel.data.in_memory import ArrayBlocks
from fenchel.data.parallel import in_ranges
from fenchel.data.passes.sweep import Adjoint, Gram, HessianProduct, Scores, Sweep
from fenchel.data.statistic import CompiledLoop, kernel_of
from fenchel.testing import check_statistic

N, D = 1031, 7
LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided rows": lambda X: np.repeat(X, 2, axis=0)[::2],
    "float32": lambda X: X.astype(np.float32),
    "float32 F": lambda X: np.asfortranarray(X.astype(np.float32)),
    "CSR": lambda X: csr_array(np.where(np.abs(X) > 0.7, X, 0.0)),
    "CSR float32": lambda X: csr_array(np.where(np.abs(X) > 0.7, X, 0.0).astype(np.float32)),
}


def case(loss, layout, weighted, seed=0):
    rng = np.random.default_rng(seed)
    X = LAYOUTS[layout](rng.normal(size=(N, D)))
    if isinstance(loss, Joint):
        y = rng.integers(0, loss.n_classes, N)
        point = rng.normal(size=(D, loss.n_classes)), rng.normal(size=loss.n_classes)
    else:
        y = rng.normal(size=N) * 2.0
        y = (np.sign(y) if isinstance(loss, Margin) else y).astype(X.dtype)
        point = rng.normal(size=D), 0.3
    s = np.where(np.arange(N) % 5 == 0, 0.0, rng.uniform(size=N)).astype(X.dtype)
    return Block(0, X, y, s if weighted else None), point


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_value_and_gradient(loss, layout, weighted):
    block, point = case(loss, layout, weighted)
    compiled = isinstance(loss, Scalar | Multinomial)
    for exact in (True, False):
        stat = Sweep([point], ValueGradient(loss, True), exact)
        if compiled:
            check_statistic(stat, block, tol=1e-12 if exact or "32" not in layout else 2e-5)
        else:
            assert kernel_of(stat, block) is None


@pytest.mark.parametrize("layout", ["C", "float32 F", "CSR"])
@pytest.mark.parametrize("loss", [x for x in LOSSES if isinstance(x, Scalar)], ids=repr)
def test_dual_sums(loss, layout):
    block, point = case(loss, layout, True)
    imbalance = Sweep([point], ValueGradient(loss, True), True)(block)[3]
    middle = np.array(0.7 if isinstance(loss, Distance) else 0.0)
    for scale in (1.0, 0.8):
        for off in (None, imbalance):
            stat = Sweep([point], DualSums(loss, middle, off, scale), True)
            check_statistic(stat, block, tol=1e-11)


def test_gram_matrices_of_pairs_of_classes_do_not_depend_on_the_threads():
    rng = np.random.default_rng(4)
    X, y, P = rng.normal(size=(20_000, 6)), np.zeros(20_000, np.int64), Multinomial(4)
    point, whole = (rng.normal(size=(6, 4)), np.zeros(4)), ArrayBlocks(Block(0, X, y))
    stat = Gram(point, ClassPairs(P), np.linspace(-1.0, 1.0, 6))
    with threads(1):
        alone = whole.reduce(stat)
    q = P.curvature(y, X @ point[0])
    rows = np.column_stack([X - np.linspace(-1.0, 1.0, 6), np.ones(len(X))])
    np.testing.assert_allclose(alone[4], rows.T @ (rows * (q[:, :1] * q[:, 1:2])), rtol=1e-10)
    for count in (2, 5):
        with threads(count):
            assert np.array_equal(whole.reduce(stat), alone)


@pytest.mark.parametrize("layout", ["C", "F", "strided rows", "float32", "float32 F"])
@pytest.mark.parametrize("loss", [x for x in LOSSES if isinstance(x, Scalar)], ids=repr)
def test_gram(loss, layout):
    block, point = case(loss, layout, True)
    for centre in (None, np.linspace(-1.0, 1.0, D)):
        stat = Gram(point, LossCurvature(loss), centre)
        check_statistic(stat, block, tol=1e-12 if "32" not in layout else 2e-5)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_adjoint_scores_and_products(layout):
    block, point = case(Square(), layout, False)
    rng = np.random.default_rng(5)
    tol = 1e-12 if "32" not in layout else 2e-5
    for exact in (True, False):
        check_statistic(Adjoint(rng.normal(size=N), exact), block, tol=tol)
        if "CSR" not in layout:
            check_statistic(Scores(point, exact), block, tol=tol)
    check_statistic(Sweep([point], HessianProduct()), block, tol=tol)


@pytest.mark.parametrize("loss", [Square(), Logistic()], ids=repr)
def test_several_targets_are_left_to_the_definition(loss):
    """A row function of one score read the second target as the next row's."""
    rng = np.random.default_rng(6)
    X, Y = rng.normal(size=(40_000, 6)), np.sign(rng.normal(size=(40_000, 2)))
    whole = Block(0, X, Y)
    point = rng.normal(size=(6, 2)), np.array([0.1, -0.2])
    for stat in (
        Sweep([point], ValueGradient(loss, True), True),
        Sweep([point], DualSums(loss, np.zeros(()), None), True),
        Gram(point, LossCurvature(loss), None),
        Gram((np.zeros(6), 0.0), LossCurvature(loss), None),
    ):
        assert kernel_of(stat, whole) is None


def test_one_column_one_row_and_a_slice_of_columns():
    rng = np.random.default_rng(1)
    whole = np.asfortranarray(rng.normal(size=(50, 3)))
    for X in (whole[:, :1], whole[:1], whole[7:], whole[:, 1:], whole.T.copy().T[3:9]):
        block = Block(0, X, np.sign(rng.normal(size=len(X))))
        stat = Sweep([(np.ones(X.shape[1]), -0.2)], ValueGradient(Logistic(), True), True)
        check_statistic(stat, block, tol=1e-12)


def test_a_score_that_is_not_a_number_is_not_hidden():
    block, (w, b) = case(Logistic(), "C", False)
    for loss in LOSSES:
        if isinstance(loss, Scalar):
            stat = Sweep([(w * np.nan, b)], ValueGradient(loss, False), True)
            kernel = kernel_of(stat, Block(0, np.repeat(block.X, 20, 0), np.repeat(block.y, 20)))
            slots = kernel.slots(1)
            kernel.run(0, 1, slots)
            assert np.isnan(slots[1][0, 1])


def test_any_number_of_threads_gives_the_same_bits():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(40_000, 20)), np.sign(rng.normal(size=40_000))
    blocks = ArrayBlocks(Block(0, X, y))
    stats = [
        Sweep([(rng.normal(size=20), 0.1)], ValueGradient(Logistic(), True), True),
        Gram((rng.normal(size=20), 0.1), LossCurvature(Logistic()), None),
    ]
    for stat in stats:
        assert kernel_of(stat, blocks.whole) is not None
        found = []
        for count in (1, 2, 3, 7, 16):
            with threads(count):
                found.append(blocks.reduce(stat))
        for other in found[1:]:
            for a, b in zip(found[0], other, strict=True):
                np.testing.assert_array_equal(a, b)


class Watched(CompiledLoop):
    """Notes how many threads BLAS has while its parts run."""

    part, seen = 1, ()

    def slots(self, parts):
        return (np.zeros(parts),)

    def run(self, first, last, slots):
        self.seen += tuple(x["num_threads"] for x in threadpool_info() if x["user_api"] == "blas")

    def result(self, sums):
        return self.seen


def test_blas_has_one_thread_in_every_range():
    with threadpool_limits(2, user_api="blas"), threads(2):
        seen = in_ranges(Watched(), 16)
    assert len(seen) >= 2 and set(seen) == {1}


def test_read_only_rows_are_not_compiled_again():
    from fenchel.data.passes.dense.compiled import sweep

    block, point = case(Logistic(), "C", False)
    stat = Sweep([point], ValueGradient(Logistic(), True), True)
    check_statistic(stat, block, tol=1e-12)
    before = len(sweep.signatures)
    X = block.X.copy()
    X.flags.writeable = False
    check_statistic(stat, Block(0, X, block.y), tol=1e-12)
    assert len(sweep.signatures) == before
