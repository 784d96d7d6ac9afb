"""Many short pieces of work on all threads."""

import threading
import time

import numpy as np
import pytest

from fenchel.data import parallel
from fenchel.data.parallel import parallel_map, thread_count, threads


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


def test_rows_in_parts_have_the_bits_of_one_thread(monkeypatch):
    monkeypatch.setattr(parallel, "ROWS_OF_PART", 100)
    z = np.random.default_rng(0).normal(size=(1234, 5))
    results = []
    for count in (1, 3):
        with parallel.threads(count):
            results.append(parallel.by_rows(lambda part: np.exp(part).sum(axis=1), z))
    np.testing.assert_array_equal(*results)
    np.testing.assert_allclose(results[0], np.exp(z).sum(axis=1), rtol=1e-15)
    assert parallel.by_rows(lambda part: part[:, 0] > 0.0, z).dtype == bool
    assert parallel.by_rows(np.exp, z[:0]).shape == (0, 5)
