"""Naive definitions of clusterings: all distances, all partitions, in the order they are stated."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from oracles.geometry import squared_distances


def assign(X, C):
    """Labels among float64 distances, ties to the lower number, and J."""
    squares = squared_distances(X, C)
    labels = squares.argmin(axis=1)
    return labels, squares[np.arange(len(labels)), labels]


def lloyd(X, C, steps, weight=None):
    """J at each of the centres that Lloyd's algorithm visits, and the last of them."""
    X, C = np.asarray(X, np.float64), np.array(C, np.float64)
    s = np.ones(len(X)) if weight is None else np.asarray(weight, np.float64)
    values = []
    for _ in range(steps):
        labels, squares = assign(X, C)
        values.append(float(s @ squares))
        for j in range(len(C)):
            if s[labels == j].sum() > 0.0:
                C[j] = np.average(X[labels == j], axis=0, weights=s[labels == j])
    return values, C


def partitions(n, k):
    """Every way to put n rows into at most k clusters, as labels."""

    def extend(labels, used):
        if len(labels) == n:
            yield labels
            return
        for j in range(min(used + 1, k)):
            yield from extend([*labels, j], max(used, j + 1))

    yield from extend([], 0)


def optimum(X, k, weight=None):
    """The least scatter within clusters of all partitions, as a fraction, and its labels."""
    rows = [[Fraction(float(x)) for x in row] for row in np.asarray(X)]
    n, d = len(rows), len(rows[0])
    s = [Fraction(float(w)) for w in (np.ones(n) if weight is None else weight)]
    best = None
    for labels in partitions(n, k):
        total = Fraction(0)
        for j in range(max(labels) + 1):
            inside = [i for i in range(n) if labels[i] == j and s[i] > 0]
            mass = sum((s[i] for i in inside), Fraction(0))
            for q in range(d) if inside else ():
                mean = sum((s[i] * rows[i][q] for i in inside), Fraction(0)) / mass
                total += sum((s[i] * (rows[i][q] - mean) ** 2 for i in inside), Fraction(0))
        if best is None or total < best[0]:
            best = total, labels
    return best


def line_optimum(x, k, weight=None):
    """The least scatter of numbers on a line within k clusters, which are intervals: the best cut
    of the first i numbers into j of them is the best last interval after a best cut."""
    order = np.argsort(x, kind="stable")
    x = np.asarray(x, np.float64)[order]
    x = x - x.mean()
    s = np.ones(len(x)) if weight is None else np.asarray(weight, np.float64)[order]
    mass, first, second = (np.concatenate([[0.0], np.cumsum(s * x**p)]) for p in range(3))
    best = np.full(len(x) + 1, np.inf)
    best[0] = 0.0
    for _ in range(k):
        found = best.copy()
        for i in range(1, len(x) + 1):
            own = np.maximum(mass[i] - mass[:i], 1e-300)
            scatter = second[i] - second[:i] - (first[i] - first[:i]) ** 2 / own
            found[i] = min(found[i], float((best[:i] + np.maximum(scatter, 0.0)).min()))
        best = found
    return float(best[-1])


def partition_matrix(labels, weight=None):
    """Z = Σₐ uₐuₐ' / |uₐ|² with u the roots of the weights."""
    u = np.ones(len(labels)) if weight is None else np.sqrt(weight)
    parts = [np.where(np.asarray(labels) == a, u, 0.0) for a in np.unique(labels)]
    return sum(np.outer(one, one) / (one @ one) for one in parts)
