"""Many short pieces of work on all threads."""

import threading
import time

import numpy as np
import pytest

from fenchel import as_blocks
from fenchel.data.parallel import by_rows, parallel_map, row_slices, thread_count, threads
from fenchel.data.reduction import tree_sum
from fenchel.data.statistic import tree_of


@pytest.mark.parametrize("workers", [1, 2, 7, 100])
def test_results_are_in_the_order_of_the_items(workers):
    assert parallel_map(lambda i: i * i, range(50), workers) == [i * i for i in range(50)]
    assert parallel_map(lambda i: i, [], workers) == []


def test_several_threads_take_part_and_each_item_is_taken_once():
    met, taken = threading.Barrier(3, timeout=10.0), []

    def work(i):
        taken.append(i)
        if i < 3:
            met.wait()  # passes when three threads are here
        return threading.get_ident()

    with threads(3):
        seen = parallel_map(work, range(30))
    assert len(set(seen[:3])) == 3 and sorted(taken) == list(range(30))


def test_a_failure_is_raised_and_ends_the_others():
    done = []

    def work(i):
        if i == 5:
            raise RuntimeError("item 5")
        time.sleep(1e-3)
        done.append(i)

    with pytest.raises(RuntimeError, match="item 5"):
        parallel_map(work, range(10_000), 3)
    assert len(done) < 1000
    assert parallel_map(lambda i: i, range(4), 3) == [0, 1, 2, 3]


def test_the_callers_errstate_holds_and_inner_passes_are_serial():
    def work(i):
        np.log(np.zeros(3))
        return thread_count(), sum(parallel_map(lambda j: j, range(10)))

    with threads(3):
        with np.errstate(divide="ignore"):
            assert parallel_map(work, range(8)) == [(1, 45)] * 8
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
            parallel_map(work, range(8))
        assert thread_count() == 3


def test_calls_from_several_threads_do_not_wait_for_each_other():
    found = {}

    def call(name):
        found[name] = parallel_map(lambda i: (time.sleep(1e-3), i)[1], range(40), 4)

    callers = [threading.Thread(target=call, args=(k,)) for k in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(timeout=20.0)
    assert all(found[k] == list(range(40)) for k in range(4))


def test_vectors_are_mapped_run_by_run():
    values = np.arange(300_000)
    for count in (1, 3):
        with threads(count):
            found = by_rows(lambda part: part % 7.0, values)
        assert found.dtype == np.float64 and np.array_equal(found, values % 7)
    assert by_rows(np.square, np.zeros(0)).shape == (0,)
    assert by_rows(lambda part: part[:, :2], np.ones((300, 3)), 128).shape == (300, 2)
    assert [part.start for part in row_slices(300_000)] == [0, 2**17, 2**18]


def test_rows_in_parts_have_the_bits_of_one_thread():
    z = np.random.default_rng(0).normal(size=(1234, 5))
    results = []
    for count in (1, 3):
        with threads(count):
            results.append(by_rows(lambda part: np.exp(part).sum(axis=1), z, 100))
    np.testing.assert_array_equal(*results)
    np.testing.assert_allclose(results[0], np.exp(z).sum(axis=1), rtol=1e-15)


def test_columns_in_memory_become_rows_by_all_threads():
    X = np.asfortranarray(np.random.default_rng(0).standard_normal((70_000, 9)))
    for given in (X, X.astype(np.float32), X[::2], (10.0 * X).astype(np.int32)):
        kept = given.copy()
        with threads(3):
            rows = as_blocks(given).gather().X
        assert rows.flags.c_contiguous and np.array_equal(rows, given)
        assert np.array_equal(given, kept)


@pytest.mark.parametrize("shape", [(1, 3), (2, 5), (7, 40_000), (33, 2, 30_000), (4, 0)])
def test_the_sums_of_parts_do_not_depend_on_the_threads(shape):
    values = np.random.default_rng(1).standard_normal(shape)
    plain = tree_sum(list(values))
    for count in (1, 2, 5):
        with threads(count):
            (found,) = tree_of((values.copy(),))
        assert np.array_equal(found, plain)
