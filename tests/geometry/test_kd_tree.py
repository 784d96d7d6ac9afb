"""The k-d tree: every point once, boxes that hold their points, the naive search's answer."""

from __future__ import annotations

import numpy as np
import oracles.geometry as naive
import pytest

from fenchel.data.blocks import threads
from fenchel.geometry.tree import kd_tree
from fenchel.geometry.tree.kd_tree import KDTree


def tables(m, d, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, d))
    steps = np.arange(m * d, dtype=float).reshape(m, d)
    return {
        "normal": X,
        "on a grid": np.round(X),
        "of three points": np.round(X[rng.integers(0, 3, m)], 1),
        "equal": np.zeros((m, d)),
        "one constant column": np.column_stack([X[:, :-1], np.full(m, 7.0)]),
        "spread over magnitudes": np.exp(40.0 * X),
        "in order": steps,
        "with a period": steps % 31.0,
        "neighbouring numbers": 1.0 + 2.0**-52 * rng.integers(0, 4, (m, d)),
        "mostly zero": np.where(rng.random((m, d)) < 0.9, 0.0, X),
        "of both zeros": np.where(rng.random((m, d)) < 0.5, -0.0, 0.0) + (rng.random((m, d)) < 0.1),
    }


KINDS = list(tables(4, 2, 0))


@pytest.fixture(params=[200, 10**6])
def group(request, monkeypatch):
    """Several groups, or one."""
    monkeypatch.setattr(kd_tree, "GROUP", request.param)
    monkeypatch.setattr(kd_tree, "PART", 137)
    return request.param


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [1, 3])
def test_the_naive_search(group, kind, d, global_random_seed):
    X = tables(1500, d, global_random_seed)[kind]
    rng = np.random.default_rng(global_random_seed)
    other = rng.standard_normal((40, d)) * 3.0
    Q = np.concatenate([X[:40], X[:40] * 1.5 + 0.25, other, np.zeros((1, d))])
    for k in (1, 7, 64):
        numbers, squares = naive.nearest(Q, X, k)
        for count in (1, 3):
            with threads(count):
                found = KDTree.of(X).nearest(Q, k)
            np.testing.assert_array_equal(found[0], numbers)
            np.testing.assert_array_equal(found[1], squares)


@pytest.mark.parametrize("kind", KINDS)
def test_nodes(group, kind, global_random_seed):
    X = tables(1500, 2, global_random_seed)[kind]
    with threads(1):
        tree = KDTree.of(X)
    with threads(4):
        again = KDTree.of(X)
    for a, b in zip(tree.nodes, again.nodes, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(tree.columns, X[tree.numbers].T)
    np.testing.assert_array_equal(np.sort(tree.numbers), np.arange(len(X)))
    nodes, seen = tree.nodes, []

    def visit(node, level):
        assert level <= tree.depth
        first, last = nodes.spans[node]
        if last > 0:
            own = list(range(first, last))
            assert 0 < len(own) <= kd_tree.LEAF
            seen.extend(own)
        else:
            own = visit(first, level + 1) + visit(first + 1, level + 1)
        points, numbers = tree.columns[:, own], tree.numbers[own]
        np.testing.assert_array_equal(nodes.boxes[node], [points.min(axis=1), points.max(axis=1)])
        assert nodes.lowest[node] == numbers.min()
        return own

    visit(0, 1)
    assert sorted(seen) == list(range(len(X)))


def test_copies_do_not_cost_a_look_at_each():
    """Of 60,000 copies of three points those with the lowest numbers are wanted: leaves of higher
    numbers are left out."""
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 3, 60_000)
    X = np.array([[0.0, 1.0], [2.0, 1.0], [5.0, 5.0]])[kinds]
    tree = KDTree.of(X)
    assert tree.widest <= kd_tree.LEAF and tree.depth < 40
    numbers, squares = tree.nearest(X[:300], 5)
    first = np.array([np.flatnonzero(kinds == c)[:5] for c in range(3)])
    np.testing.assert_array_equal(numbers, first[kinds[:300]])
    assert not squares.any()


def test_groups_are_even():
    """What lets threads share the work: no group has many more rows than another."""
    X = np.random.default_rng(3).standard_normal((100_000, 3)) ** 3
    upper = KDTree.of(X).groups
    roots = np.flatnonzero(upper.spans[:, 1])
    falls = kd_tree._by_group(X, upper)[0]
    sizes = np.diff(falls)[roots]
    assert len(roots) >= 8 and sizes.sum() == len(X) and sizes.max() < 2 * kd_tree.GROUP
