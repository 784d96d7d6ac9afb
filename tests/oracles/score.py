"""Naive definitions of scores and intervals, as a textbook writes them: pairs, loops, sorting."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np

# ------------------------------------------------------------------------------- curves and areas


def pairs_auc(y, score, weight=None):
    """Share of (positive, negative) pairs in the right order, ties one half."""
    weight = np.ones(len(y)) if weight is None else weight
    right = total = 0.0
    for i in np.flatnonzero(y):
        for j in np.flatnonzero(~np.asarray(y, dtype=bool)):
            w = weight[i] * weight[j]
            total += w
            right += w * (1.0 if score[i] > score[j] else 0.5 if score[i] == score[j] else 0.0)
    return right / total


def rates_at(y, score, threshold):
    """(true positive rate, false positive rate) of flagging scores at or above the threshold."""
    y, flagged = np.asarray(y, dtype=bool), np.asarray(score) >= threshold
    return flagged[y].mean(), flagged[~y].mean()


# ------------------------------------------------------------------------- decisions and limits


def pairs_auc_star(eta):
    """½ + mean |ηᵢ − ηⱼ| / (4p(1 − p)) over all pairs of rows."""
    p = np.mean(eta)
    return 0.5 + np.mean([abs(a - b) for a in eta for b in eta]) / (4.0 * p * (1.0 - p))


def bayes_risk_on_a_grid(classes, reach=9.0):
    """(Bayes risk, AUC*) of Gaussian classes in one or two dimensions, by sums over a fine grid."""
    d = classes.means.shape[1]
    edges = [
        (
            min(classes.means[k, j] - reach * classes.covariance[k, j, j] ** 0.5 for k in (0, 1)),
            max(classes.means[k, j] + reach * classes.covariance[k, j, j] ** 0.5 for k in (0, 1)),
        )
        for j in range(d)
    ]
    count = 400_000 if d == 1 else 1600
    axes = [low + (np.arange(count) + 0.5) * (high - low) / count for low, high in edges]
    X = np.stack([part.ravel() for part in np.meshgrid(*axes, indexing="ij")], axis=1)
    mass = []
    for k in (0, 1):
        away = X - classes.means[k]
        inside = (away @ np.linalg.inv(classes.covariance[k]) * away).sum(axis=1)
        f = np.exp(-0.5 * inside)
        mass.append(f / f.sum())
    p = classes.prior
    risk = np.minimum(p * mass[1], (1 - p) * mass[0]).sum()
    order = np.argsort(classes.score(X))
    below = np.cumsum(mass[0][order]) - 0.5 * mass[0][order]
    return risk, (mass[1][order] * below).sum()


def delong_variance(y, score, weight=None, other=None):
    """Variance of the area, or of the difference to the area of another score, row by row."""
    y = np.asarray(y, dtype=bool)
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    scores = [score] if other is None else [score, other]

    def order(a, b):
        return 1.0 if a > b else 0.5 if a == b else 0.0

    def placed(i, s):
        against = [j for j in range(len(y)) if y[j] != y[i]]
        signs = [order(s[i], s[j]) if y[i] else order(s[j], s[i]) for j in against]
        return np.average(signs, weights=weight[against])

    total = 0.0
    for rows in (np.flatnonzero(y & (weight > 0)), np.flatnonzero(~y & (weight > 0))):
        places = [np.array([placed(i, s) for i in rows]) for s in scores]
        values = places[0] if other is None else places[0] - places[1]
        w = weight[rows]
        away = values - np.average(values, weights=w)
        worth = w.sum() ** 2 / (w**2).sum()
        total += (w**2 * away**2).sum() / w.sum() ** 2 * worth / (worth - 1.0)
    return total


# ------------------------------------------------------------------------------------------- folds


def corrected_t(scores, n_test, n_train, level):
    """(mean, low, high, two-sided p of a zero mean) of Nadeau and Bengio's resampled t, by sums."""
    from scipy.stats import t as student

    J = len(scores)
    mean = sum(scores) / J
    S2 = sum((s - mean) ** 2 for s in scores) / (J - 1)
    error = ((1 / J + n_test / n_train) * S2) ** 0.5
    reach = student.ppf((1 + level) / 2, J - 1) * error
    return mean, mean - reach, mean + reach, 2 * student.sf(abs(mean / error), J - 1)


def fold_by_fold(estimator, X, y, folds, score):
    """score(fitted, X_test, y_test) of a clone fitted to each training part, in a plain loop."""
    from sklearn.base import clone

    return [score(clone(estimator).fit(X[a], y[a]), X[b], y[b]) for a, b in folds]


def simplest_within_one_error(scores, simplest_last=False):
    """Row whose mean is at least the best mean less the best row's S/sqrt(J), nearest an end."""
    means = [sum(row) / len(row) for row in scores]
    best = max(range(len(means)), key=lambda i: (means[i], -i))
    J = len(scores[best])
    S2 = sum((s - means[best]) ** 2 for s in scores[best]) / (J - 1)
    near = [i for i, mean in enumerate(means) if mean >= means[best] - (S2 / J) ** 0.5]
    return max(near) if simplest_last else min(near)


def binomial_below(n, m, alpha):
    """P(Binomial(n, α) ≤ m) as an exact fraction; 0.1 is one tenth."""
    a = Fraction(str(alpha))
    return sum(comb(n, j) * a**j * (1 - a) ** (n - j) for j in range(m + 1))


def order_statistic(n, alpha, delta):
    """The least k with Σ_{j ≥ k} C(n, j) (1 − α)ʲ αⁿ⁻ʲ ≤ δ, in exact fractions; None if none."""
    a, tail, best = Fraction(str(alpha)), Fraction(0), None
    for k in range(n, 0, -1):
        tail += comb(n, k) * (1 - a) ** k * a ** (n - k)
        if tail > Fraction(str(delta)):
            break
        best = k
    return best


def costs_at(y, score, prior, cost_fp, cost_fn):
    """(threshold, expected cost, false positive rate) of flagging score ≥ t for every t."""
    rows = []
    for t in [np.inf, *np.unique(score)[::-1]]:
        tpr, fpr = rates_at(y, score, t)
        rows.append((t, prior * cost_fn * (1 - tpr) + (1 - prior) * cost_fp * fpr, fpr))
    return rows


def clopper_pearson(k, n, level):
    """The rates at which k or fewer, and k or more, of n still have probability (1 − level)/2."""
    tail = 0.5 * (1.0 - level)

    def solve(excess, low=0.0, high=1.0):
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if excess(middle) else (low, middle)
        return 0.5 * (low + high)

    def at_most(m, p):
        return sum(comb(n, j) * p**j * (1.0 - p) ** (n - j) for j in range(m + 1))

    lower = 0.0 if k == 0 else solve(lambda p: 1.0 - at_most(k - 1, p) < tail)
    upper = 1.0 if k == n else solve(lambda p: at_most(k, p) > tail)
    return lower, upper


# ------------------------------------------------------------------------- decisions and forecasts


def _weighed(rows, weight):
    return sum(w for row, w in zip(rows, weight, strict=True) if row)


def detection_rates(y, said, weight, label):
    """(precision, recall, specificity, F1) of one label against the rest; a share of none is 0."""
    weight = np.ones(len(y)) if weight is None else weight
    is_, taken = [v == label for v in y], [v == label for v in said]
    tp = _weighed([a and b for a, b in zip(is_, taken, strict=True)], weight)
    fp = _weighed([not a and b for a, b in zip(is_, taken, strict=True)], weight)
    fn = _weighed([a and not b for a, b in zip(is_, taken, strict=True)], weight)
    tn = _weighed([not a and not b for a, b in zip(is_, taken, strict=True)], weight)

    def share(part, whole):
        return part / whole if whole else 0.0

    return (
        share(tp, tp + fp),
        share(tp, tp + fn),
        share(tn, tn + fp),
        share(2 * tp, 2 * tp + fp + fn),
    )


def balanced(y, said, weight=None):
    """Mean over the classes of y of the share of their weight that is predicted right."""
    weight = np.ones(len(y)) if weight is None else np.asarray(weight)
    y, said = np.asarray(y), np.asarray(said)
    return np.mean([weight[(y == c) & (said == c)].sum() / weight[y == c].sum() for c in set(y)])


def matthews(y, said, weight=None):
    """Correlation of the indicator matrices: Σₖ cov(1{y = k}, 1{ŷ = k}) / √(Σ var · Σ var)."""
    weight = np.ones(len(y)) if weight is None else np.asarray(weight)
    y, said = np.asarray(y), np.asarray(said)
    cross = of_y = of_said = 0.0
    for c in set(y) | set(said):
        a = (y == c) - np.average(y == c, weights=weight)
        b = (said == c) - np.average(said == c, weights=weight)
        cross += np.average(a * b, weights=weight)
        of_y += np.average(a * a, weights=weight)
        of_said += np.average(b * b, weights=weight)
    return cross / np.sqrt(of_y * of_said) if of_y * of_said > 1e-20 else 0.0


def row_losses(y, proba, labels, least):
    """(Brier loss over all classes, log loss) of each row, from a matrix of probabilities."""
    squares, logs = [], []
    for label, p in zip(y, proba, strict=True):
        squares.append(sum((float(c == label) - q) ** 2 for c, q in zip(labels, p, strict=True)))
        happened = p[list(labels).index(label)]
        logs.append(-np.log(min(max(happened, least), 1 - least)))
    return np.array(squares), np.array(logs)


def reweighted_interval(statistic, cell, weight, cells, level, draws, seed):
    """Quantiles of a statistic of cells whose rows get exponential weights, row by row."""
    rng = np.random.default_rng(seed)
    values = []
    for _ in range(draws):
        random = weight * rng.exponential(size=len(weight))
        values.append(statistic(np.bincount(cell, random, minlength=cells)[None])[0])
    return np.quantile(values, [0.5 - level / 2, 0.5 + level / 2])


def jackknife_acceleration(statistic, counts):
    """Σ d³ / (6 (Σ d²)^{3/2}) over the samples with one row left out, row by row."""
    left = []
    for cell in np.repeat(np.arange(len(counts)), counts):
        fewer = np.array(counts, dtype=float)
        fewer[cell] -= 1
        left.append(statistic(fewer[None])[0])
    d = np.mean(left) - np.array(left)
    return (d**3).sum() / (6 * (d**2).sum() ** 1.5)


def excess_by_scanning(loss, excess):
    """The largest θ of a fine grid with ψ(θ) ≤ excess."""
    theta = np.linspace(0.0, 1.0, 100_001)
    return theta[loss.psi(theta) <= excess].max()


# ----------------------------------------------------------------------------------- clusters


def partitions(n, k):
    """Labels of every way to put n rows into at most k clusters, each once."""
    rows = [[0]]
    for _ in range(n - 1):
        rows = [[*row, c] for row in rows for c in range(min(max(row) + 2, k))]
    return rows


def least_scatter(X, k):
    """The least scatter within k clusters over all clusterings, exactly, and its labels.

    That of a cluster is the sum of its squared distances over pairs, divided by its size.
    """
    rows = [[Fraction(float(x)) for x in row] for row in X]
    apart = [[sum((a - b) ** 2 for a, b in zip(r, s, strict=True)) for s in rows] for r in rows]

    def scatter(labels):
        groups = [[i for i, c in enumerate(labels) if c == one] for one in set(labels)]
        pairs = [[apart[i][j] for i in g for j in g if i < j] for g in groups]
        return sum(Fraction(sum(each), len(g)) for each, g in zip(pairs, groups, strict=True))

    # Clusters that stay empty are no help: of equal ones that with the most clusters is given.
    found = min(partitions(len(rows), k), key=lambda labels: (scatter(labels), -max(labels)))
    return scatter(found), found


def silhouettes(X, labels, weight):
    """Rousseeuw's s(i) of whole weights: rows that stand several times, pair by pair."""
    X, labels = np.asarray(X, np.float64), np.asarray(labels)
    copies = np.repeat(np.arange(len(X)), weight)
    found = np.zeros(len(X))
    for i in range(len(X)):
        others = list(copies)
        if i in others:
            others.remove(i)
        means = {}
        for label in set(labels[copies]) | {labels[i]}:
            apart = [np.sqrt(np.sum((X[i] - X[j]) ** 2)) for j in others if labels[j] == label]
            means[label] = np.mean(apart) if apart else None
        a = means.pop(labels[i])
        b = min(value for value in means.values() if value is not None)
        found[i] = 0.0 if a is None or max(a, b) == 0.0 else (b - a) / max(a, b)
    return found
