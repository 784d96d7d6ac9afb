"""Where to cut a score: at a promised false positive rate, or at the least expected cost.

s₍₁₎ ≤ … ≤ s₍ₙ₎ scores of n negatives, F their law. Flagging score > s₍ₖ₎ errs at the rate
1 − F(s₍ₖ₎), and for every F, with or without ties,
P(1 − F(s₍ₖ₎) > α) ≤ P(Binomial(n, α) ≤ n − k) = Σ_{j ≥ k} C(n, j) (1 − α)ʲ αⁿ⁻ʲ.

Reference: Tong, Feng and Li, Neyman-Pearson classification algorithms and NP receiver operating
characteristics, Science Advances 4 (2018).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincc

from fenchel.data.arrays import to_numpy
from fenchel.data.validation import check_weight
from fenchel.score.curves.curve import curve_from
from fenchel.score.estimate import check_share, is_number
from fenchel.score.labels import column

SLACK = 1.0 + 1e-12  # what decimals such as 0.1 lose in binary: (1 − 0.1)² counts as 0.81


class Threshold(float):
    """A threshold t with its promise: score > t flags more than α of all negatives with probability
    at most δ, over the draw of the n negatives that set it.

    A float: `score > t` works, and so does `t.flags(score)`.

    Attributes
    ----------
    k, n : int
        It is the k-th smallest of n scores.
    alpha, delta : float
        What was asked for.
    violation : float
        P(Binomial(n, α) ≤ n − k) ≤ δ, the exact probability of more than α where scores have no
        ties, and its bound where they have.
    """

    __slots__ = ("alpha", "delta", "k", "n", "violation")

    k: int
    n: int
    alpha: float
    delta: float
    violation: float

    def __new__(
        cls, value: float, *, k: int, n: int, alpha: float, delta: float, violation: float
    ) -> Threshold:
        self = super().__new__(cls, value)
        self.k, self.n, self.alpha, self.delta = k, n, alpha, delta
        self.violation = violation
        return self

    def __getnewargs_ex__(self) -> tuple[tuple[float], dict[str, float]]:
        return (float(self),), {name: getattr(self, name) for name in self.__slots__}

    def flags(self, score: Any) -> NDArray[np.bool_]:
        """Which scores are flagged: those above the threshold; one equal to it is not."""
        return np.asarray(to_numpy(score)) > float(self)

    def __repr__(self) -> str:
        return (
            f"Threshold({float(self)!r}, k={self.k}, n={self.n}, alpha={self.alpha:g}, "
            f"delta={self.delta:g}, violation={self.violation!r})"
        )

    def __str__(self) -> str:
        return (
            f"score > {float(self):.6g} flags at most {100.0 * self.alpha:g} % of the negatives, "
            f"with probability {1.0 - self.violation:.4g} or more"
        )


def neyman_pearson_threshold(
    scores_of_negatives: Any,
    alpha: float = 0.05,
    delta: float = 0.05,
    *,
    sample_weight: Any = None,
) -> Threshold:
    """The least score t of a negative such that score > t keeps the false positive rate below α.

    t = s₍ₖ₎ with the least k such that Σ_{j ≥ k} C(n, j) (1 − α)ʲ αⁿ⁻ʲ ≤ δ. Over the draw of the
    negatives, the rate P(score > t | negative) exceeds α with probability at most δ: whatever the
    law of the scores, with ties and infinite scores. The negatives must be independent of each
    other and of the rows that trained the score.

    Parameters
    ----------
    scores_of_negatives : array of n numbers
        Scores, higher for the positive class, of rows known to be negative.
    alpha : float, default 0.05
        Largest false positive rate.
    delta : float, default 0.05
        Probability with which it may be missed.
    sample_weight : array of n numbers, optional
        Rows of weight zero are left out; other weights must be equal, for order statistics of
        weighted rows carry no such promise.

    Returns
    -------
    Threshold
        A float; flag a row if its score is greater. Equal scores are not flagged.

    Raises
    ------
    ValueError
        Where there are too few negatives: `negatives_needed(alpha, delta)` says how many it takes.

    Notes
    -----
    Two readings of the scores, O(n). Sums are compared with δ up to one part in 10¹².

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import neyman_pearson_threshold
    >>> t = neyman_pearson_threshold(np.arange(1000.0), alpha=0.05, delta=0.05)
    >>> print(t)
    score > 961 flags at most 5 % of the negatives, with probability 0.9567 or more
    >>> t.flags([950.0, 961.0, 970.0]).tolist()
    [False, False, True]
    """
    alpha, delta = check_share(alpha, "alpha"), check_share(delta, "delta")
    score = _numbers(scores_of_negatives)
    if sample_weight is not None:
        score = score[_kept(sample_weight, score.size)]
    n = score.size
    above = _most_above(n, alpha, delta)
    if above < 0:
        raise ValueError(
            f"alpha={alpha:g} and delta={delta:g} take at least {negatives_needed(alpha, delta)} "
            f"negatives, got {n}: give more of them, or raise alpha or delta"
        )
    k = n - above
    value = float(np.partition(score, k - 1)[k - 1])
    violation = min(_violation(n, above, alpha), delta)
    return Threshold(value, k=k, n=n, alpha=alpha, delta=delta, violation=violation)


def negatives_needed(alpha: float = 0.05, delta: float = 0.05) -> int:
    """How many negatives it takes at least: the least n with (1 − α)ⁿ ≤ δ.

    Examples
    --------
    >>> from fenchel import negatives_needed
    >>> negatives_needed(0.05, 0.05), negatives_needed(0.01, 0.05)
    (59, 299)
    """
    alpha, delta = check_share(alpha, "alpha"), check_share(delta, "delta")
    each, target = math.log1p(-alpha), math.log(delta) + math.log(SLACK)
    return max(1, math.ceil(target / each * (1.0 - 4e-16)))


def _violation(n: int, above: int, alpha: float) -> float:
    """P(Binomial(n, α) ≤ above) = 1 − I_α(above + 1, n − above), exact for the smallest α too."""
    return float(betaincc(above + 1.0, float(n - above), alpha))


def _most_above(n: int, alpha: float, delta: float) -> int:
    """The most negatives that may lie above the threshold, −1 if even none is too many."""
    low, high = -1, n  # the first is allowed, the second is not: P(Binomial ≤ n) = 1
    while high - low > 1:
        middle = (low + high) // 2
        fits = _violation(n, middle, alpha) <= delta * SLACK
        low, high = (middle, high) if fits else (low, middle)
    return low


def _numbers(scores: Any) -> NDArray[np.float64]:
    score = column(scores, "scores_of_negatives")
    if score.size and score.dtype.kind not in "biuf":
        raise ValueError(f"scores_of_negatives must be numbers, got an array of {score.dtype}")
    score = score.astype(np.float64, copy=False)
    if (bad := np.isnan(score)).any():
        raise ValueError(
            f"scores_of_negatives is NaN in row {int(bad.argmax())}: drop the row or score it"
        )
    return score


def _kept(sample_weight: Any, n: int) -> NDArray[np.bool_]:
    weight = check_weight(sample_weight, n)
    kept = weight > 0.0
    if weight[kept].min() != weight.max():
        raise ValueError(
            "sample_weight differs between the negatives: the promise of an order statistic is "
            "one of equal weights; leave the weights out"
        )
    return kept


# ----------------------------------------------------------------------------------- least cost


class CostThreshold(float):
    """The threshold t of least expected cost: flag score ≥ t, as `Curve` does.

    A float: `score >= t` works, and so does `t.flags(score)`; inf flags nothing.

    Attributes
    ----------
    cost : float
        π c₁₀ (1 − tpr) + (1 − π) c₀₁ fpr on the sample.
    fpr, tpr : float
        Its vertex of the ROC curve, on the convex hull.
    prior, cost_fp, cost_fn : float
        π, c₀₁ and c₁₀.
    """

    __slots__ = ("cost", "cost_fn", "cost_fp", "fpr", "prior", "tpr")

    cost: float
    fpr: float
    tpr: float
    prior: float
    cost_fp: float
    cost_fn: float

    def __new__(
        cls,
        value: float,
        *,
        cost: float,
        fpr: float,
        tpr: float,
        prior: float,
        cost_fp: float,
        cost_fn: float,
    ) -> CostThreshold:
        self = super().__new__(cls, value)
        self.cost, self.fpr, self.tpr = cost, fpr, tpr
        self.prior, self.cost_fp, self.cost_fn = prior, cost_fp, cost_fn
        return self

    def __getnewargs_ex__(self) -> tuple[tuple[float], dict[str, float]]:
        return (float(self),), {name: getattr(self, name) for name in self.__slots__}

    def flags(self, score: Any) -> NDArray[np.bool_]:
        """Which scores are flagged: those at the threshold or above."""
        return np.asarray(to_numpy(score)) >= float(self)

    def __repr__(self) -> str:
        return (
            f"CostThreshold({float(self)!r}, cost={self.cost!r}, fpr={self.fpr!r}, "
            f"tpr={self.tpr!r})"
        )


def cost_threshold(
    y_true: Any,
    y_score: Any = None,
    *,
    prior: float | None = None,
    cost_fp: float = 1.0,
    cost_fn: float = 1.0,
    sample_weight: Any = None,
    pos_label: Any = None,
) -> CostThreshold:
    """The threshold of least expected cost π c₁₀ (1 − tpr) + (1 − π) c₀₁ fpr over a ROC curve.

    Its vertex is where a line of slope (1 − π) c₀₁ / (π c₁₀) touches the convex hull of the curve.
    Of several with the same cost the one with the least false positive rate is taken.

    Parameters
    ----------
    y_true : array of shape (n,), or Curve
        Labels of two classes; or their `Curve`, and then y_score, sample_weight and pos_label stay
        out.
    y_score : array of shape (n,)
        Scores, higher for the positive class.
    prior : float, optional
        π, the share of positives where the threshold will be used; by default the sample's.
    cost_fp, cost_fn : float, default 1
        Cost c₀₁ of a false alarm and c₁₀ of a miss; not negative, and not both zero.
    sample_weight, pos_label : as in `roc_curve`

    Returns
    -------
    CostThreshold
        A float; flag a row if its score is at least that.

    Notes
    -----
    The cost is that of the sample which chose it, and so a little below what to expect of new rows:
    see `threshold_table` for bounds at a threshold fixed beforehand.

    Examples
    --------
    >>> from fenchel import cost_threshold
    >>> y, score = [0, 0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.9]
    >>> cost_threshold(y, score)
    CostThreshold(0.6, cost=0.14285714285714288, fpr=0.0, tpr=0.6666666666666666)
    >>> float(cost_threshold(y, score, cost_fn=5.0))
    0.4
    """
    alarm, miss = check_cost(cost_fp, cost_fn)
    curve = curve_from(y_true, y_score, sample_weight, pos_label)
    curve.both()
    share = curve.prior if prior is None else check_share(prior, "prior")
    cost = curve.cost(share, alarm, miss)
    # Costs that differ by rounding alone are equal, and the first has the least false positives.
    best = int(np.argmax(cost <= cost.min() * (1.0 + 1e-12)))
    if best == 0 and curve.thresholds[1] == math.inf:
        raise ValueError(
            "the least cost is to flag nothing, and every threshold flags a score of +inf: "
            "replace the scores by their ranks"
        )
    return CostThreshold(
        float(curve.thresholds[best]),
        cost=float(cost[best]),
        fpr=float(curve.fpr[best]),
        tpr=float(curve.tpr[best]),
        prior=share,
        cost_fp=alarm,
        cost_fn=miss,
    )


def bayes_threshold(
    cost_fp: float = 1.0,
    cost_fn: float = 1.0,
    *,
    prior: float | None = None,
    sample_prior: float | None = None,
) -> float:
    """The probability above which flagging a row is the cheaper: c₀₁ / (c₀₁ + r c₁₀).

    For calibrated probabilities η(x) = P(positive | x). r = 1, or where rows will come with a share
    π of positives other than the share π₀ of the sample that η was fitted on,
    r = π (1 − π₀) / ((1 − π) π₀), by which all odds change.

    Parameters
    ----------
    cost_fp, cost_fn : float, default 1
        Cost c₀₁ of a false alarm and c₁₀ of a miss; not negative, and not both zero.
    prior, sample_prior : float, optional
        π and π₀: both or none.

    Returns
    -------
    float
        Flag a row if its probability is greater; at the threshold both cost the same.

    Examples
    --------
    >>> from fenchel import bayes_threshold
    >>> bayes_threshold(cost_fp=1.0, cost_fn=4.0)
    0.2
    >>> round(bayes_threshold(prior=0.01, sample_prior=0.5), 6)
    0.99
    """
    alarm, miss = check_cost(cost_fp, cost_fn)
    if (prior is None) != (sample_prior is None):
        raise ValueError("a change of the prior takes both prior and sample_prior")
    ratio = 1.0
    if prior is not None:
        new, old = check_share(prior, "prior"), check_share(sample_prior, "sample_prior")
        ratio = new / old * ((1.0 - old) / (1.0 - new))
    most = max(alarm, miss)  # costs whose sum overflows have a ratio all the same
    return alarm / most / (alarm / most + ratio * (miss / most))


def check_cost(cost_fp: float, cost_fn: float) -> tuple[float, float]:
    """Both costs as floats, or an error that names the one that is wrong."""
    for name, value in (("cost_fp", cost_fp), ("cost_fn", cost_fn)):
        if not (is_number(value) and 0.0 <= float(value) < math.inf):
            raise ValueError(f"{name} must be a finite number, at least 0, got {value!r}")
    if cost_fp == cost_fn == 0:
        raise ValueError("cost_fp and cost_fn are both 0: every threshold costs the same")
    return float(cost_fp), float(cost_fn)
