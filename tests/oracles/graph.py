"""Naive graphs of neighbours: components by spreading, paths by Floyd and Warshall."""

from __future__ import annotations

import numpy as np


def lengths(graph):
    """The dense matrix of lengths, inf where nothing is stored."""
    W = np.full(graph.shape, np.inf)
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    W[rows, graph.indices] = graph.data
    return W


def shortest_paths(W):
    """Floyd and Warshall; W inf where there is no edge, an edge may have length zero."""
    D = W.copy()
    np.fill_diagonal(D, 0.0)
    for k in range(len(D)):
        D = np.minimum(D, D[:, k : k + 1] + D[k])
    return D


def least_rounded(W, source):
    """Bellman and Ford: d(v) = min over u of fl(d(u) + w)."""
    d = np.full(len(W), np.inf)
    d[source] = 0.0
    for _ in range(len(W)):
        d = np.minimum(d, (d[:, None] + W).min(axis=0))
    return d


def components(W):
    """Labels by spreading from the lowest row not yet reached."""
    labels = np.full(len(W), -1)
    for start in range(len(W)):
        if labels[start] < 0:
            label, front = labels.max() + 1, {start}
            while front:
                row = front.pop()
                labels[row] = label
                near = np.flatnonzero(np.isfinite(W[row]) | np.isfinite(W[:, row]))
                front |= {int(j) for j in near if labels[j] < 0}
    return labels


def spanning_length(D, labels):
    """The total length of a minimum spanning tree of the components, by Prim's algorithm."""
    count = labels.max() + 1
    C = np.array(
        [[D[np.ix_(labels == a, labels == b)].min() for b in range(count)] for a in range(count)]
    )
    inside, total = {0}, 0.0
    while len(inside) < count:
        left = [b for b in range(count) if b not in inside]
        length, b = min((C[a, b], b) for a in inside for b in left)
        inside.add(b)
        total += length
    return total
