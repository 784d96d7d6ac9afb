"""Naive definitions of parts of a ROC: edges, pairs and loops; and the truth of normal laws."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri


def vertices(y, score, weight):
    """(fpr, tpr) from (0, 0) on, one for each distinct score from the highest down."""
    y, score, weight = np.asarray(y, dtype=bool), np.asarray(score), np.asarray(weight)
    points = [(0.0, 0.0)]
    for threshold in sorted(set(score.tolist()), reverse=True):
        flagged = score >= threshold
        points.append(
            tuple(weight[flagged & rows].sum() / weight[rows].sum() for rows in (~y, y)),
        )
    return points


def area_in_box(points, a, b, c, d):
    """Area of the part of [a, b] × [c, d] under a line of points: every edge cut where it meets
    a side of the box, then trapezoids."""
    area = 0.0
    for (f, v), (g, w) in pairwise(points):
        if g == f:
            continue
        cuts = {0.0, 1.0}
        cuts |= {(side - f) / (g - f) for side in (a, b)}
        cuts |= {(side - v) / (w - v) for side in (c, d)} if w > v else set()
        cuts = sorted(cut for cut in cuts if 0.0 <= cut <= 1.0)
        for low, high in pairwise(cuts):
            if a <= f + 0.5 * (low + high) * (g - f) <= b:
                heights = [min(max(v + x * (w - v), c), d) - c for x in (low, high)]
                area += (high - low) * (g - f) * 0.5 * sum(heights)
    return area


def pairs_local_auc(y, score, rate, weight):
    """Share of pairs whose positive is among the best `rate` of all rows and beats the negative; of
    rows tied at the edge each is in with the probability that fills up the rate."""
    y, score, weight = np.asarray(y, dtype=bool), np.asarray(score), np.asarray(weight)
    inside, left = {}, rate * weight.sum()
    for value in sorted(set(score.tolist()), reverse=True):
        mass = weight[score == value].sum()
        inside[value] = min(max(left / mass, 0.0), 1.0)
        left -= mass
    right = total = 0.0
    for i in np.flatnonzero(y):
        for j in np.flatnonzero(~y):
            w, share = weight[i] * weight[j], inside[score[i]]
            total += w
            if score[i] > score[j]:
                right += w * share
            elif score[i] == score[j]:  # both in: one half; the positive alone: won
                right += w * share * (0.5 * share + (1.0 - share))
    return right / total


def mean_precision(y, score, weight):
    """Mean over the positives of the precision of flagging all rows that score as high."""
    y, score, weight = np.asarray(y, dtype=bool), np.asarray(score), np.asarray(weight)
    total = 0.0
    for i in np.flatnonzero(y):
        flagged = score >= score[i]
        total += weight[i] * weight[flagged & y].sum() / weight[flagged].sum()
    return total / weight[y].sum()


def band_at(y, score, t, lower, upper):
    """(lowest, highest) true positive rate at t that some negative's rectangle excludes not;
    lower and upper bound the rate of k hits in n."""
    y, score = np.asarray(y, dtype=bool), np.asarray(score)
    P, N = int(y.sum()), int((~y).sum())
    least, most = 0.0, 1.0
    for value in set(score[~y].tolist()):
        at, over = score >= value, score > value
        if t < lower(int(at[~y].sum()), N):
            most = min(most, upper(int(at[y].sum()), P))
        if t >= upper(int(over[~y].sum()), N):
            least = max(least, lower(int(over[y].sum()), P))
    return least, most


class Binormal:
    """Negatives N(0, 1), positives N(shift, spread²): the truth about their scores."""

    def __init__(self, shift, spread=1.0):
        self.shift, self.spread = shift, spread

    def draw(self, rng, y):
        noise = rng.standard_normal(y.size)
        return np.where(y, self.shift + self.spread * noise, noise)

    def fpr(self, threshold):
        return ndtr(-threshold)

    def tpr(self, threshold):
        return ndtr((self.shift - threshold) / self.spread)

    def roc(self, t):
        return self.tpr(-ndtri(t))

    def area(self, a=0.0, b=1.0, c=0.0, d=1.0):
        kinks = [float(self.fpr(self.shift - self.spread * ndtri(v))) for v in (c, d) if 0 < v < 1]
        cuts = [a, *sorted(t for t in kinks if a < t < b), b]
        return sum(
            quad(lambda t: np.clip(self.roc(t), c, d) - c, low, high, limit=400, epsabs=1e-11)[0]
            for low, high in pairwise(cuts)
        )

    def local_auc(self, prior, rate):
        def excess(threshold):
            return prior * self.tpr(threshold) + (1 - prior) * self.fpr(threshold) - rate

        return self.area(d=float(self.tpr(brentq(excess, -30.0, 30.0))))

    def average_precision(self, prior):
        def part(z):
            threshold = self.shift + self.spread * z
            hits = prior * self.tpr(threshold)
            return hits / (hits + (1 - prior) * self.fpr(threshold)) * np.exp(-0.5 * z * z)

        return quad(part, -9.0, 9.0, limit=400, epsabs=1e-11)[0] / np.sqrt(2.0 * np.pi)
