"""Naive definitions of clusterings: all distances, all partitions, in the order they are stated."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from oracles_geometry import squared_distances


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
