"""Kernels of strings by their definitions: over all substrings, neighbours, subsequences, edits."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product
from math import exp, sqrt


def kmers(s, k):
    return [s[p : p + k] for p in range(len(s) - k + 1)]


def inner(first, second):
    return sum(value * second[u] for u, value in first.items())


def spectrum_features(s, k):
    return Counter(kmers(s, k))


def mismatch_features(s, k, m, alphabet):
    """How many k-mers of s differ from u in at most m places, for every u over the alphabet."""
    found = Counter()
    for u in product(alphabet, repeat=k):
        for v in kmers(s, k):
            found[u] += sum(a != b for a, b in zip(u, v, strict=True)) <= m
    return found


def subsequence_features(s, k, decay):
    """Σ decay^l over the places of u in s, from the first to the last."""
    found = Counter()
    for places in combinations(range(len(s)), k):
        u = tuple(s[p] for p in places)
        found[u] += decay ** (places[-1] - places[0] + 1)
    return found


def subsequence_value(s, t, k, decay):
    """Σ of decay^gaps over common subsequences of k characters, by the recurrence over the length
    of the subsequence; exact for whole numbers and fractions."""
    sums = [[1] * (len(t) + 1) for _ in range(len(s) + 1)]
    for _ in range(k - 1):
        longer = [[0] * (len(t) + 1) for _ in range(len(s) + 1)]
        for i in range(len(s)):
            run = 0
            for j in range(len(t)):
                run = decay * run + (sums[i][j] if s[i] == t[j] else 0)
                longer[i + 1][j + 1] = decay * longer[i][j + 1] + run
        sums = longer
    return sum(sums[i][j] for i in range(len(s)) for j in range(len(t)) if s[i] == t[j])


def edit_distance(s, t):
    """The recurrence of Wagner and Fischer."""
    row = list(range(len(t) + 1))
    for i in range(len(s)):
        below = [i + 1]
        for j in range(len(t)):
            replaced = row[j] + (s[i] != t[j])
            below.append(min(replaced, row[j + 1] + 1, below[j] + 1))
        row = below
    return row[-1]


def edit_kernel(s, t, gamma, normalised):
    longer = max(len(s), len(t), 1)
    return exp(-gamma * edit_distance(s, t) / (longer if normalised else 1))


def matrix(features, A, B, normalised):
    """Inner products of the features of each two strings, perhaps divided by their norms."""
    left, right = [features(s) for s in A], [features(s) for s in B]
    found = []
    for f in left:
        row = []
        for g in right:
            value, norms = inner(f, g), sqrt(inner(f, f) * inner(g, g)) if normalised else 1.0
            row.append(value / norms if norms else 0.0)
        found.append(row)
    return found
