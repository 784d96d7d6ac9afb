"""Rows on a cluster: the same tree, the same bits, whoever does the work and whoever is lost."""

from __future__ import annotations

import os
import signal
import sys

import numpy as np
import pytest
from scipy import sparse

from fenchel.data import Block, Moments, Totals, as_blocks
from fenchel.data.blocks import one_blas_thread, tree_sum
from fenchel.data.cluster.dask_memory import _sums, _total
from fenchel.data.in_memory import ArrayBlocks
from fenchel.testing import check_blocks

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

CHUNKS = (130, 250, 1, 19, 600)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.standard_normal((1000, 7)), rng.standard_normal(1000), rng.random(1000)


def blocks_of(X, y, s):
    return as_blocks(da.from_array(X, chunks=(CHUNKS, 7)), da.from_array(y, chunks=77), s)


def stat(block):
    z = block.X @ np.arange(block.X.shape[1])
    r = block.weight * (np.tanh(z) - block.y)
    return Totals(block.X.T @ r, Moments.of(block), float(r.sum()))


def bits(total):
    return total[0].tobytes(), total[1].scatter.tobytes(), total[1].mean.tobytes(), total[2]


def expected(X, y, s):
    """The sum in the tree of `TreeSum` over the same chunks, one after the other."""
    ends = np.cumsum(CHUNKS)
    spans = [slice(end - m, end) for m, end in zip(CHUNKS, ends, strict=True)]
    with one_blas_thread():
        return bits(tree_sum(stat(Block(k.start, X[k], y[k], s[k])) for k in spans))


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
@pytest.mark.parametrize("workers", [1, 2, 5])
def test_the_tree_is_that_of_merge(rows, scheduler, workers):
    blocks = blocks_of(*rows)
    with dask.config.set(scheduler=scheduler, num_workers=workers):
        for _ in range(3):
            assert bits(blocks.reduce(stat)) == expected(*rows)
    assert not blocks.local


@pytest.mark.parametrize("count", [*range(1, 20), 64, 100])
def test_any_number_of_chunks(count):
    X = np.random.default_rng(count).standard_normal((count, 2))
    total = as_blocks(da.from_array(X, chunks=(1, 2))).reduce(lambda block: block.X.sum(0))
    assert total.tobytes() == tree_sum(row.copy() for row in X).tobytes()


def test_large_chunks_are_cut_inside_the_task(rows):
    X = np.random.default_rng(0).standard_normal((60_000, 10))
    blocks = as_blocks(da.from_array(X, chunks=(40_000, 10)))
    parts = [ArrayBlocks(Block(0, X[:40_000])), ArrayBlocks(Block(40_000, X[40_000:]))]
    starts = [block.start for part in parts for block in part]
    assert len(starts) > 2 and list(blocks.reduce(lambda block: (block.start,))) == starts
    total = blocks.reduce(Moments.of)
    want = tree_sum(part.reduce(Moments.of) for part in parts)
    assert total.scatter.tobytes() == want.scatter.tobytes()


def test_nothing_is_computed_here_and_little_comes_back(rows):
    """Rows that fit are computed once, and stay where they were computed: no pass does it anew."""
    calls = []

    def source(block_info=None):
        calls.append(1)
        return np.ones((100, 3))

    X = da.map_blocks(source, chunks=((100,) * 10, (3,)), dtype=float, meta=np.empty((0, 0)))
    blocks = as_blocks(X)
    assert len(calls) == 10
    assert blocks.reduce(lambda block: block.n_rows) == 1000
    assert blocks.map(lambda b: Block(b.start, 2 * b.X)).reduce(lambda b: b.X.sum()) == 6000
    assert as_blocks(blocks, np.ones(1000)).reduce(lambda b: b.X.sum() + b.y.sum()) == 4000
    assert len(calls) == 10


@pytest.fixture
def no_room(monkeypatch):
    """A machine whose memory is in use."""
    monkeypatch.setattr("fenchel.data.cluster.dask_memory.free_memory", lambda: 100.0)


def test_rows_that_do_not_fit_are_computed_at_every_pass(no_room):
    calls = []

    def source(block_info=None):
        calls.append(1)
        return np.ones((100, 3))

    X = da.map_blocks(source, chunks=((100,) * 10, (3,)), dtype=float, meta=np.empty((0, 0)))
    with pytest.warns(UserWarning, match=r"anew, because its rows take 0.0 GB and 0.0 GB are free"):
        blocks = as_blocks(X)
    assert len(calls) == 10  # the one pass that validates
    assert blocks.reduce(lambda block: block.n_rows) == 1000
    assert len(calls) == 20
    again = as_blocks(blocks, np.ones(1000))
    assert again.reduce(lambda b: b.X.sum() + b.y.sum()) == 4000
    assert len(calls) == 40
    assert sum(block.n_rows for block in blocks) == 1000


def test_persisted_rows_need_no_room(rows, no_room):
    """They are there already, so nobody is warned; what is no array is turned at every pass."""
    dd = pytest.importorskip("dask.dataframe")
    import pandas as pd

    X, y, s = rows
    for given in (
        da.from_array(X, chunks=(300, 7)),
        da.from_array(X, chunks=(300, 7)).persist(),
        da.from_array(np.asfortranarray(X), chunks=(300, 7)),
        da.from_array(X, chunks=(300, 7)).map_blocks(sparse.csr_array).persist(),
        dd.from_pandas(pd.DataFrame(X), npartitions=3).persist(),
    ):
        blocks = as_blocks(given, y, s)
        total = blocks.reduce(lambda b: Totals(b.X.sum(), b.y.sum(), b.weight.sum()))
        np.testing.assert_allclose(total, [X.sum(), y.sum(), s.sum()], rtol=1e-12)
    small = da.from_array(X.astype(np.float32), chunks=(300, 7))
    chunks = dict(small.__dask_graph__())
    for i, kept in enumerate(as_blocks(small)._home.rows):
        assert np.may_share_memory(kept.X, chunks[small.name, i, 0])
        assert sys.getsizeof(kept) < 1000  # the collection's own chunk counts already


def test_rows_keep_their_size(rows):
    """What dask does not know of would never be moved to disk."""
    X = rows[0]
    lazy = as_blocks(da.from_array(X, chunks=(500, 7)) + 1.0, rows[1])
    assert [r.size >= 500 * 8 * 8 for r in lazy._home.rows] == [True, True]
    other = as_blocks(lazy, rows[2])
    for ours, theirs in zip(other._home.rows, lazy._home.rows, strict=True):
        assert np.may_share_memory(ours.X, theirs.X) and ours.size < 500 * 8 * 2


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 13, 32])
@pytest.mark.parametrize("workers", [1, 2, 5])
def test_the_tree_does_not_depend_on_where_chunks_lie(count, workers):
    """Any share of the chunks: the sums of the largest nodes meet as `TreeSum` would have it."""
    rng = np.random.default_rng([count, workers])
    parts = rng.standard_normal((count, 3)) * 10.0 ** rng.integers(-8, 8, (count, 1))
    chunks = [ArrayBlocks(Block(i, part[None])) for i, part in enumerate(parts)]
    for chunk in chunks:
        chunk.blocks = lambda chunk=chunk: chunk
    where = rng.integers(0, workers, count)
    sums = [
        _sums(lambda b: b.X.sum(0), own.tolist(), [chunks[i] for i in own], 1)
        for own in (np.flatnonzero(where == k) for k in range(workers))
    ]
    assert _total(sums).tobytes() == tree_sum(part.copy() for part in parts).tobytes()
    whole = _sums(lambda b: b.X.sum(0), list(range(count)), chunks, 1)
    assert len(whole) == count.bit_count()  # neighbours are added where they lie


def test_shared_work_is_done_once(rows):
    calls = []

    def source(block_info=None):
        calls.append(1)
        return np.ones((100, 3))

    table = da.map_blocks(source, chunks=((100,) * 4, (3,)), dtype=float, meta=np.empty((0, 0)))
    blocks = as_blocks(table[:, 1:], table[:, 0], table[:, 1])
    assert len(calls) == 4 and blocks.gather().y.sum() == 400


def test_alignment(rows):
    X, y, s = rows
    unknown = da.from_array(np.r_[y, np.full(10, 9e9)], chunks=100)
    unknown = unknown[unknown < 1e9]
    assert np.isnan(unknown.shape[0])
    A = da.from_array(X, chunks=(210, 3))
    blocks = as_blocks(A, unknown, da.from_array(s, chunks=13))
    assert np.isnan(unknown.shape[0])  # the caller's own array is left as it was
    whole = blocks.gather()
    for got, want in zip((whole.X, whole.y, whole.weight), rows, strict=True):
        np.testing.assert_array_equal(got, want)
    check_blocks(blocks)
    again = as_blocks(as_blocks(A), y, da.from_array(s, chunks=400))
    np.testing.assert_array_equal(again.gather().y, y)
    np.testing.assert_array_equal(again.gather().weight, s)
    Y = da.from_array(np.column_stack([y, s]), chunks=(50, 1))
    np.testing.assert_array_equal(as_blocks(A, Y).gather().y, np.column_stack([y, s]))


def test_dataframes(rows):
    dd = pytest.importorskip("dask.dataframe")
    import pandas as pd

    X, y, _ = rows
    frame = pd.DataFrame(X, columns=list("abcdefg")).assign(
        y=y, label=np.where(y > 0, "yes", "no"), n=np.arange(1000), ok=y > 0
    )
    D = dd.from_pandas(frame, npartitions=7)
    blocks = as_blocks(D[["a", "n", "ok"]], D["y"])
    assert blocks.names == ("a", "n", "ok") and blocks.dtype == np.float64
    want = frame[["a", "n", "ok"]].to_numpy(float)
    np.testing.assert_array_equal(blocks.gather().X, want)
    np.testing.assert_array_equal(blocks.gather().y, y)
    kept = D[D["a"] > 2]  # some partitions hold nothing any more
    blocks = as_blocks(kept[["a", "b"]], kept["y"])
    np.testing.assert_array_equal(blocks.gather().X, X[X[:, 0] > 2][:, :2])
    np.testing.assert_array_equal(blocks.gather().y, y[X[:, 0] > 2])
    both = as_blocks(D[["a"]], D[["y", "b"]]).gather().y
    np.testing.assert_array_equal(both, frame[["y", "b"]].to_numpy())
    labels = as_blocks(D[["a"]], D["label"]).gather().y
    assert labels.tolist() == frame["label"].tolist()
    with pytest.raises(ValueError, match="column 'label' holds String where numbers are needed"):
        as_blocks(D[["a", "label"]])
    small = dd.from_pandas(pd.DataFrame(X.astype(np.float32)), npartitions=2)
    assert as_blocks(small).dtype == np.float32


def faults(rows):
    X, y, s = rows
    bad = X.copy()
    bad[777, 3] = np.nan
    A = da.from_array(X, chunks=(300, 7))

    def dask_of(v):
        return da.from_array(v, chunks=300)

    yield (da.from_array(bad, chunks=(130, 7)),), "NaN .* row 777, column 3"
    yield (da.from_array(bad, chunks=(130, 7)).map_blocks(sparse.csr_array),), "row 777, column 3"
    yield (A, dask_of(np.where(y > 2.5, np.inf, y))), f"infinity at row {np.argmax(y > 2.5)}"
    yield (A, np.where(y > 2.5, np.inf, y)), f"infinity at row {np.argmax(y > 2.5)}"
    yield (A, dask_of(y[:7])), "X has 1000 rows and y has 7"
    yield (A, y[:7]), "X has 1000 rows and y has 7"
    yield (A, None, dask_of(s - 0.5)), f"`sample_weight`: row {np.argmax(s < 0.5)} has -"
    yield (A, None, dask_of(0 * s)), "at least one non-zero number"
    yield (A, None, 0 * s), "at least one non-zero number"
    yield (A[:, 0],), "Expected a table of two dimensions"
    yield (A[:0],), r"0 sample\(s\)"
    yield (A + 1j,), "Complex data not supported"
    yield (da.from_array(X.astype(str), chunks=(300, 7)),), "strings or dates"


def test_a_fault_is_named(rows):
    for given, message in faults(rows):
        with pytest.raises(ValueError, match=message):
            as_blocks(*given)


def test_a_collection_that_changes_is_found_out(no_room):
    sizes = iter([100] * 4 + [90] * 100)
    X = da.map_blocks(
        lambda block_info=None: np.ones((next(sizes), 2)), chunks=((100,) * 4, (2,)), dtype=float,
        meta=np.empty((0, 0)),
    )  # fmt: skip
    with pytest.warns(UserWarning, match="computes the dask collection anew"):
        blocks = as_blocks(X)
    with (
        dask.config.set(scheduler="synchronous"),
        pytest.raises(ValueError, match="had 100 rows and now 90 of X"),
    ):
        blocks.reduce(lambda block: 0)


# ------------------------------------------------------------------------- processes of their own


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_rows_stay_with_their_workers(rows, client):
    """Bits as in one process; one task a thread and one more, whatever the number of chunks."""
    X, y, s = rows
    blocks = blocks_of(X, y, s)
    assert len(blocks._home.tasks) <= 2 < len(CHUNKS) and blocks._home.near
    assert bits(blocks.reduce(stat)) == expected(*rows)
    assert [b.start for b in blocks] == [0, 130, 380, 381, 400]
    other = as_blocks(as_blocks(da.from_array(X, chunks=(CHUNKS, 7))), y, s)
    assert bits(other.reduce(stat)) == expected(*rows)
    held = da.from_array(X, chunks=(CHUNKS, 7)).persist()
    assert bits(as_blocks(held, y, s).reduce(stat)) == expected(*rows)
    with pytest.raises(ValueError, match="no sum here"):
        blocks.reduce(refuse)
    bad = np.where(np.arange(1000)[:, None] == 777, np.nan, X)
    with pytest.raises(ValueError, match=r"NaN .* row 777, column 0"):
        as_blocks(da.from_array(bad, chunks=(130, 7)))
    with pytest.raises(ValueError, match="strings or dates"):
        as_blocks(da.from_array(X.astype(str), chunks=(300, 7)))


def refuse(block):
    raise ValueError("no sum here")


class Deadly:
    """A statistic that kills the worker it runs on, the first time it meets a certain block."""

    def __init__(self, mark):
        self.mark = str(mark)

    def __call__(self, block):
        if block.start == 380 and not os.path.exists(self.mark):
            with open(self.mark, "w") as file:
                file.write(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return stat(block)


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the killed worker's streams
def test_a_killed_worker_costs_no_bit(rows, client, tmp_path):
    import cloudpickle

    cloudpickle.register_pickle_by_value(__import__(__name__, fromlist=["stat"]))
    blocks = blocks_of(*rows)
    want = expected(*rows)
    assert bits(blocks.reduce(stat)) == want
    mark = tmp_path / "killed"
    assert bits(blocks.reduce(Deadly(mark))) == want
    assert int(mark.read_text()) != os.getpid()
    assert bits(blocks.reduce(stat)) == want
