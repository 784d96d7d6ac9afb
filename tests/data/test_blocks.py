"""The fixed tree, the threads it runs on, and what a table of blocks must be."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from data.cases import HOMES, real
from scipy import sparse

from fenchel.data import Block, Totals, as_blocks, threads
from fenchel.data.blocks import (
    TreeSum,
    block_rows,
    map_ordered,
    one_blas_thread,
    thread_count,
    tree_sum,
)
from fenchel.data.in_memory import ArrayBlocks
from fenchel.testing import check_blocks


def nested(count: int, run: int) -> str:
    """The sum as it is bracketed, when aligned runs of blocks are summed first."""
    names = [f"{i}" for i in range(count)]
    return tree_sum(_Text(tree_sum(map(_Text, names[i : i + run]))) for i in range(0, count, run))


def cut(blocks: ArrayBlocks, rows: int) -> ArrayBlocks:
    """The same rows in blocks of this size."""
    whole = blocks.whole
    blocks = ArrayBlocks(whole)
    blocks.rows = rows
    blocks._sparse_parts = blocks._cut_sparse() if blocks.sparse else None
    return blocks


class _Text(str):
    def __add__(self, other):
        return _Text("(" + str(self) + " " + str(other) + ")")


def test_subtrees_summed_elsewhere_give_the_same_tree():
    for count in range(1, 201):
        plain = nested(count, 1)
        for power in range(9):
            assert nested(count, 2**power) == plain


def test_the_tree_is_that_of_a_binary_counter():
    assert nested(1, 1) == "0"
    assert nested(5, 1) == "(((0 1) (2 3)) 4)"
    assert nested(7, 1) == "(((0 1) (2 3)) ((4 5) 6))"


def test_the_tree_holds_few_parts():
    merge = TreeSum()
    for i in range(1000):
        merge.add(1)
        assert len(merge._stack) <= np.log2(i + 1) + 1
    assert merge.result() == 1000
    with pytest.raises(ValueError, match="without blocks"):
        TreeSum().result()


def test_a_long_sum_of_equal_parts_is_exact():
    parts = np.full(2**16, 0.1)
    assert tree_sum(parts) == 0.1 * 2**16
    assert sum(parts) != 0.1 * 2**16


def test_totals():
    total = Totals(1, np.ones(2)) + Totals(2, np.ones(2))
    assert total[0] == 3 and (total[1] == 2).all() and len(total) == 2
    with pytest.raises(ValueError, match="zip"):
        Totals(1) + Totals(1, 2)
    import pickle

    assert pickle.loads(pickle.dumps(Totals(1, "a"))) == (1, "a")


@pytest.mark.parametrize("home", HOMES, ids=lambda home: home.name)
def test_every_home_keeps_the_law_of_blocks(home, tmp_path):
    X = real(700, 6)
    blocks = home.build(X, X[:, 0] + 1, np.arange(700) % 3 + 0.5, tmp_path)
    check_blocks(blocks)


def test_a_broken_table_breaks_the_law():
    class Broken(ArrayBlocks):
        def block(self, i):
            block = super().block(i)
            return Block(block.start, block.X, self.rng.random(block.n_rows))

    blocks = Broken(Block(0, real(90, 2)))
    blocks.rng = np.random.default_rng(0)
    with pytest.raises(AssertionError, match="two passes give the same rows"):
        check_blocks(blocks)


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_the_sum_does_not_depend_on_threads(kind):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((20_000, 40))
    y = rng.standard_normal(20_000)
    blocks = as_blocks(sparse.csr_array(X * (X > 1)) if kind == "csr" else X, y)
    blocks = cut(blocks, 512)

    def stat(block):
        z = block.X @ np.ones(40)
        time.sleep(1e-4 * (block.start % 7))  # so that threads finish in another order
        return Totals(block.X.T @ (np.tanh(z) - block.y), np.float64(z.sum()))

    with threads(1):
        one = blocks.reduce(stat)
    for n in (2, 3, 8):
        with threads(n):
            many = blocks.reduce(stat)
        assert one[0].tobytes() == many[0].tobytes() and one[1] == many[1]
    with one_blas_thread():
        plain = tree_sum(stat(block) for block in blocks)
    assert one[0].tobytes() == plain[0].tobytes()


def test_the_sum_depends_on_the_block_size_to_rounding_only():
    X = np.random.default_rng(0).standard_normal((3000, 5))
    sizes = (1, 7, 64, 1000, 3000)
    sums = [cut(as_blocks(X), rows).reduce(lambda block: block.X.sum(0)) for rows in sizes]
    assert np.ptp(sums, axis=0).max() < 1e-11


def test_threads():
    assert thread_count() >= 1
    with threads(3):
        assert thread_count() == 3
        with threads(1):
            assert thread_count() == 1
        assert thread_count() == 3
    with pytest.raises(ValueError, match="at least 1, got 0"), threads(0):
        pass


def test_a_pass_inside_a_pass_does_not_wait_for_itself():
    inner, outer = (cut(as_blocks(real(9000, 30)), 256) for _ in range(2))
    with threads(2):
        total = outer.reduce(lambda block: inner.reduce(lambda b: b.n_rows) * block.n_rows)
    assert total == 9000**2


def test_the_callers_errstate_reaches_the_threads():
    blocks = cut(as_blocks(real(9000, 30)), 256)
    with threads(2):
        with np.errstate(divide="ignore", invalid="ignore"):
            blocks.reduce(lambda block: np.log(block.X * 0).sum())
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
            blocks.reduce(lambda block: np.log(block.X * 0).sum())


def test_blas_threads_are_restored_after_overlapping_passes():
    from threadpoolctl import threadpool_info

    def count():
        return [p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"]

    before = count()
    first, second = threading.Event(), threading.Event()

    def other():
        with one_blas_thread():
            first.set()
            second.wait()

    thread = threading.Thread(target=other)
    with one_blas_thread():
        thread.start()
        first.wait()
        assert set(count()) <= {1}
    assert set(count()) <= {1}  # the other pass is still on its way
    second.set()
    thread.join()
    assert count() == before


def test_an_error_in_a_block_ends_the_pass():
    blocks = cut(as_blocks(real(20_000, 40)), 64)
    seen = []

    def stat(block):
        seen.append(block.start)
        raise RuntimeError("stop here")

    with threads(2), pytest.raises(RuntimeError, match="stop here"):
        blocks.reduce(stat)
    time.sleep(0.05)
    assert len(seen) < blocks.count
    assert blocks.reduce(lambda block: block.n_rows) == 20_000


def test_at_most_a_few_results_wait():
    lock, live, most = threading.Lock(), 0, 0

    def work(i):
        nonlocal live, most
        with lock:
            live += 1
            most = max(most, live)
        return i

    for i, got in enumerate(map_ordered(work, range(500), 2)):
        assert i == got
        with lock:
            live -= 1
    assert most <= 4


def test_blocks_fit_the_cache_and_outweigh_their_statistic():
    for d in (1, 10, 100, 1000, 4000):
        rows = block_rows(10**9, d, 8.0 * d)
        assert rows >= min(d, 64)
        assert rows * d * 8 <= max(2**22, 32 * d * d)
    assert block_rows(5, 10, 80.0) == 5


def test_gather_refuses_what_cannot_fit(monkeypatch):
    # A map that changes the rows is made when it is asked for; one of targets alone is not lazy.
    blocks = as_blocks(real(100, 4)).map(lambda block: replace(block, X=1.0 * block.X))
    assert blocks.gather().n_rows == 100
    monkeypatch.setattr("fenchel.data.blocks.free_memory", lambda: 1000.0)
    with pytest.raises(MemoryError, match=r"100 x 4 values needs .* GiB .* block by block"):
        blocks.gather()


@pytest.mark.parametrize("ask", [1, 7, 100, 699, 700, 5000])
def test_a_sample_is_evenly_spaced(ask):
    X = np.arange(1400.0).reshape(700, 2)
    for blocks in (as_blocks(X), as_blocks(X).map(lambda block: block)):
        some = blocks.sample(ask)
        assert min(ask, 700) <= some.n_rows <= 2 * ask
        np.testing.assert_array_equal(some.gather().X, X[:: max(1, 700 // ask)])
        assert not np.shares_memory(some.gather().X, X)


def test_sparse_blocks_are_slices():
    X = sparse.random_array((5000, 300), density=0.02, format="csr", rng=0)
    blocks = cut(as_blocks(X), 100)
    check_blocks(blocks)
    for block in blocks:
        rows = slice(block.start, block.start + block.n_rows)
        assert (X[rows] != block.X).nnz == 0
        assert np.shares_memory(block.X.data, blocks.whole.X.data)
