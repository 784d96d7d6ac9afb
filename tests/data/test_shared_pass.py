"""Passes made together give the bits of passes made alone, and a failure reaches everybody."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from fenchel import Block, Logistic, Totals, as_blocks, threads
from fenchel.convex.rows.statistics import LossCurvature, ValueGradient
from fenchel.data.passes.shared_pass import ABREAST, SharedPass
from fenchel.data.passes.sweep import Adjoint, Gram, Sweep
from fenchel.data.statistic import Several

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50_000, 7))


def sums(block: Block) -> Totals:
    return Totals(block.X.sum(axis=0), block.X.T @ block.X, float(block.n_rows))


def scaled(factor: float):
    return lambda block: Block(block.start, factor * block.X, block.y, block.weight)


def test_many_jobs_share_each_pass() -> None:
    blocks = as_blocks(X)
    passes = []

    class Counted(type(blocks)):
        def reduce(self, stat):
            passes.append(1)
            return super().reduce(stat)

    counted = Counted(blocks.whole)
    jobs = [lambda rows, n=n: [rows.reduce(sums) for _ in range(n)] for n in (3, 1, 5)]
    found = SharedPass(counted).run(jobs, [scaled(f) for f in (1.0, 2.0, 0.5)])
    assert [len(f) for f in found] == [3, 1, 5]
    assert len(passes) == 5  # those of the longest job
    for answers, factor in zip(found, (1.0, 2.0, 0.5), strict=True):
        alone = blocks.map(scaled(factor)).reduce(sums)
        for answer in answers:
            assert all(np.array_equal(a, b) for a, b in zip(answer, alone, strict=True))


def test_a_thousand_jobs_need_few_threads() -> None:
    small, alive = as_blocks(X[:100]), []

    def job(rows):
        alive.append(threading.active_count())
        return rows.reduce(sums)[2]

    before = threading.active_count()
    found = SharedPass(small).run([job] * 100, [scaled(1.0)] * 100)
    assert found == [100.0] * 100
    assert max(alive) <= before + ABREAST + 2  # and those of the passes themselves


def test_a_job_that_fails_does_not_stop_the_others() -> None:
    reached = []

    def bad(rows):
        rows.reduce(sums)
        raise ValueError("row 7 is wrong")

    def good(rows):
        for _ in range(4):
            rows.reduce(sums)
        reached.append(True)

    with pytest.raises(ValueError, match="row 7 is wrong"):
        SharedPass(as_blocks(X)).run([bad, good], [scaled(1.0)] * 2)
    assert reached == [True]


def test_a_pass_that_fails_fails_for_all() -> None:
    def stat(block):
        raise FloatingPointError("overflow")

    with pytest.raises(FloatingPointError, match="overflow"):
        SharedPass(as_blocks(X)).run([lambda rows: rows.reduce(stat)] * 3, [scaled(1.0)] * 3)


def test_a_view_looks_like_its_table() -> None:
    blocks = as_blocks(X)

    def job(rows):
        first = next(iter(rows))
        return (
            rows.n_rows,
            rows.n_cols,
            rows.local,
            rows.sparse,
            rows.sample(100).n_rows,
            first.X[0],
        )

    n, d, local, sparse, sampled, row = SharedPass(blocks).run([job], [scaled(3.0)])[0]
    assert (n, d, local, sparse, sampled) == (50_000, 7, True, False, 100)
    np.testing.assert_array_equal(row, 3.0 * X[0])


def test_compiled_statistics_made_together_have_the_bits_of_those_made_alone() -> None:
    rng = np.random.default_rng(3)
    n, d = 60_000, 11
    rows = rng.normal(size=(n, d))
    whole = as_blocks(rows, np.sign(rng.normal(size=n)), rng.random(n))
    stats = [
        Sweep([(rng.normal(size=d), 0.1 * k)], ValueGradient(Logistic(), True), True)
        for k in range(3)
    ]
    stats += [
        Adjoint(rng.normal(size=n)),
        Gram((np.zeros(d), 0.0), LossCurvature(Logistic()), None),
    ]
    alone = [whole.reduce(stat) for stat in stats]
    for count in (1, 2, 7):
        with threads(count):
            together = whole.reduce(Several((*stats, sums)))
        for one, same in zip(alone, together, strict=False):
            parts = zip(one, same, strict=True) if isinstance(one, Totals) else [(one, same)]
            assert all(np.array_equal(a, b) for a, b in parts)
        assert together[-1][2] == n
