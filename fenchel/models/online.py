"""The perceptron: last, averaged and voted, with its mistakes counted and bounded."""

from __future__ import annotations

import sys
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from fenchel.convex.certificate import Certificate, NotCertified
from fenchel.data.arrays import double, host
from fenchel.data.blocks import Block, Blocks, Totals
from fenchel.data.design import forward
from fenchel.models.base import rows_in, scores_out
from fenchel.models.classes import against, class_rows
from fenchel.models.sequential import SequentialClassifier, check_radius
from fenchel.solve.hard_margin import WORK, HardMargin, hard_margin, radius
from fenchel.solve.online.state import Perceptrons, Votes
from fenchel.solve.online.visits import Visits

Floats = NDArray[np.float64]


class NotSeparable(NotCertified):
    """No plane separates the classes; the message says how that was proved."""


class Perceptron(SequentialClassifier):
    """Rosenblatt's perceptron: on every mistake w += η yᵢxᵢ and b += η yᵢR², R = max |xᵢ|.

    A row is a mistake if yᵢ(xᵢ·w + b) ≤ 0. Without an intercept b stays 0. Several classes are
    each set against the rest. On separable rows the number of mistakes is bounded whatever their
    order, by Novikoff's theorem; on others a proof is given that no plane separates them.

    Parameters
    ----------
    fit_intercept : bool, default True
        False for the simple perceptron, whose planes go through the origin.
    eta0 : float, default 1
        η. It scales w and b and changes no prediction, unless the fit starts from another.
    average : "last", "averaged" or "voted"
        Which plane predicts: the last one; the mean of all, each counted for as many looks at a
        row as it survived; or all of them, by a vote so weighted. The votes take as much memory
        as there are mistakes times columns.
    max_iter : int, default 1000
        Epochs: passes over the rows. The fit ends with the first that has no mistake.
    shuffle : bool, default True
        Meet the rows of each epoch in an order drawn from their own values and random_state: it
        does not depend on how the table is sorted. Rows that are not in memory (`scan`, dask) are
        shuffled inside each block. False: in the order of the table.
    random_state : int, RandomState or None, default 0
    class_weight : dict, "balanced" or None
    prove : bool, default True
        Compute the largest margin after the fit, or the proof that there is none, with some more
        passes. False leaves `margin_`, `novikoff_bound_`, `proof_` and `certificate_` None.
    warm_start : bool
        Start from the last fit's planes.
    verbose : int
        1 shows the mistakes of each epoch.

    Attributes
    ----------
    coef_, intercept_, classes_, n_features_in_, feature_names_in_ : as in scikit-learn
        The last plane (also for "voted") or the mean plane.
    n_iter_ : int
        Epochs.
    converged_ : bool
        Whether the last epoch had no mistake: the last plane separates the rows.
    mistakes_ : number, or array (K,) for K > 2 classes
        All updates. A row of weight s counts as s looks: up to s mistakes.
    mistakes_by_epoch_ : array (n_iter_,) or (n_iter_, K)
    separable_ : True, False or None, a tuple of K for K > 2 classes
        Whether a plane separates the class from the rest; None if that was not found out.
    margin_ : array (2,) or (K, 2)
        Certified interval of the largest margin M of any plane.
    novikoff_bound_ : float, or array (K,)
        (2R/M)², or (R/M)² without intercept, at the lower end of margin_: mistakes_ is at most
        this. None, or nan among several, where no plane separates, and after a warm start.
    proof_ : Combination or None, a tuple for K > 2 classes
        Where no plane separates: rows and coefficients of a convex combination of the points
        yᵢ(xᵢ, 1) (of yᵢxᵢ without intercept) that is zero up to its `residual`.
    certificate_ : Certificate
        The perceptron's criterion Σ sᵢ max(0, -yᵢzᵢ) / Σ sᵢ at coef_, intercept_, summed over the
        classes. Its optimum is 0, at w = 0 if nowhere else.
    votes_ : list of (planes, looks), for average="voted"
        For each class (one of two) the planes (w, b) as rows, and the looks each survived.

    Notes
    -----
    A row of weight s is looked at s times running, the last time for a fraction of a step, so
    weights are the same as repeated rows and Novikoff's bound holds for them too: with updates
    aₜη yx, aₜ ≤ 1, w·w* ≥ ηM Σaₜ and |w|² ≤ η²R² Σaₜ² ≤ η²R² Σaₜ.

    References
    ----------
    Rosenblatt, Psychological Review 65 (1958). Novikoff, On convergence proofs on perceptrons
    (1962). Freund and Schapire, Machine Learning 37 (1999).

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import Perceptron
    >>> X = np.array([[2.0, 1.0], [1.0, 3.0], [-1.0, -1.0], [-2.0, 0.5]])
    >>> model = Perceptron(fit_intercept=False, shuffle=False).fit(X, [1, 1, 0, 0])
    >>> model.mistakes_, model.separable_, model.mistakes_ <= model.novikoff_bound_
    (1, True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "fit_intercept": ["boolean"],
        "eta0": [Interval(Real, 0, None, closed="neither")],
        "average": [StrOptions({"last", "averaged", "voted"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "prove": ["boolean"],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        eta0: float = 1.0,
        average: str = "last",
        max_iter: int = 1000,
        shuffle: bool = True,
        random_state: Any = 0,
        class_weight: Any = None,
        prove: bool = True,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.eta0 = eta0
        self.average = average
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.class_weight = class_weight
        self.prove = prove
        self.warm_start = warm_start
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Perceptron:
        """Fit to rows X and labels y; for `scan` and dask tables y may lie beside the rows."""
        before = self.__dict__.get("classes_")
        self.classes_, blocks = class_rows(self, X, y, sample_weight, self.class_weight)
        K, d = self._outputs, blocks.n_cols
        same = before is not None and np.array_equal(before, self.classes_)
        start = self._last(K, d) if self.warm_start and same else None
        self._begin(K, d, start)
        self._dtype, self._radius = blocks.dtype, radius(blocks)
        check_radius(self._radius)
        visits = Visits(blocks, K, self.shuffle, self._seed())
        active, made = np.ones(K, dtype=np.bool_), []
        for epoch in range(self.max_iter):
            made.append(self._epoch(visits, epoch, active))
            active = made[-1] > 0.0
            if self.verbose:
                print(f"epoch {epoch + 1}: {made[-1].sum():g} mistakes", file=sys.stderr)
            if not active.any():
                break
        self.n_iter_, self.converged_ = len(made), not active.any()
        history = np.array(made)
        self.mistakes_by_epoch_ = history[:, 0] if K == 1 else history
        self._publish()
        self._judge(blocks, active, start is None)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Perceptron:
        """Meet these rows once, from where the last call ended.

        classes: all labels there will be, at the first call. R is the longest row so far. Nothing
        is proved: what needs all rows (margin_, proof_, certificate_, ...) is None.
        """
        first = "_state" not in self.__dict__
        blocks = self._batch(X, y, classes, sample_weight, first)
        K = self._outputs
        if first:
            self._begin(K, blocks.n_cols, None)
            self._radius, self.n_iter_ = 0.0, 0
        self._radius = max(self._radius, radius(blocks))
        check_radius(self._radius)
        visits = Visits(blocks, K, self.shuffle, self._seed())
        made = self._epoch(visits, self.n_iter_, np.ones(K, dtype=np.bool_))
        self.n_iter_ += 1
        self.converged_ = not made.any()
        self._publish()
        self._unproved(None)
        return self

    # ------------------------------------------------------------------------------- the algorithm

    def _begin(self, K: int, d: int, start: tuple[Floats, Floats] | None) -> None:
        W, b = (np.zeros((K, d)), np.zeros(K)) if start is None else start
        self._state: Perceptrons | list[Votes]
        if self.average == "voted":
            self._state = [Votes(np.append(W[k], b[k])) for k in range(K)]
        else:
            self._state = Perceptrons(W, b, self.average == "averaged")

    def _counts(self) -> Floats:
        if isinstance(self._state, list):
            return np.array([votes.mistakes for votes in self._state])
        return self._state.mistakes

    def _epoch(self, visits: Visits, number: int, active: NDArray[np.bool_]) -> Floats:
        """The mistakes of one look at all rows, class by class."""
        before, eta = self._counts().copy(), float(self.eta0)
        bias = self._radius**2 if self.fit_intercept else 0.0
        for visit in visits.epoch(number):
            if isinstance(self._state, list):
                for k, votes in enumerate(self._state):
                    if active[k]:
                        votes.meet(visit, 1 if len(self._state) == 1 else k, eta, bias)
                    else:  # a plane without mistakes survives another epoch
                        votes.state[0] += visit.looks
            else:
                self._state.meet(visit, active, eta, bias)
        return self._counts() - before

    def _publish(self) -> None:
        self.__dict__.pop("votes_", None)
        if isinstance(self._state, list):
            planes = np.stack([votes.plane for votes in self._state])
            W, b = planes[:, :-1], planes[:, -1]
            self.votes_ = [votes.all() for votes in self._state]
        else:
            W, b = self._state.mean
        self._set_planes(W, b, self._dtype)
        self.mistakes_ = _single(_whole(self._counts()))

    # ---------------------------------------------------------------------------------- the proofs

    def _unproved(self, separable: Any) -> None:
        self.separable_: Any = separable
        self.margin_: Any = None
        self.novikoff_bound_: Any = None
        self.proof_: Any = None
        self.certificate_: Certificate | None = None

    def _judge(self, blocks: Blocks, active: NDArray[np.bool_], fresh: bool) -> None:
        K = self._outputs
        self._unproved(_single(tuple(None if a else True for a in active)))
        if self.prove:
            found = [self._margin(blocks, k, not active[k]) for k in range(K)]
            verdicts = [_verdict(h, not a) for h, a in zip(found, active, strict=True)]
            self.separable_ = _single(tuple(verdicts))
            self.margin_ = _single(np.array([(max(h.low, 0.0), h.high) for h in found]))
            factor = 2.0 if self.fit_intercept else 1.0
            bounds = np.array(
                [
                    (factor * h.radius / h.low) ** 2 if h.low > 0.0 and fresh else np.nan
                    for h in found
                ]
            )
            self.novikoff_bound_ = None if np.isnan(bounds).all() else _single(bounds)
            proofs = [
                None if v is not False else h.combination
                for h, v in zip(found, verdicts, strict=True)
            ]
            self.proof_ = _single(tuple(proofs))
            self.certificate_ = criterion(against_each(blocks, K), *self._planes())
            self._warn(verdicts, found)
        elif not self.converged_:
            self._warn([None] * K, [])

    def _margin(self, blocks: Blocks, k: int, found: bool) -> HardMargin:
        start = None
        if found:
            state = self._state
            start = state[k].plane[:-1] if isinstance(state, list) else state.W[k]
        K = self._outputs
        return hard_margin(against(blocks, k, K), self.fit_intercept, start=start, work=WORK / K)

    def _warn(self, verdicts: list[bool | None], found: list[HardMargin]) -> None:
        last = np.atleast_2d(self.mistakes_by_epoch_.T).T[-1]
        said = (
            f"stopped after max_iter={self.max_iter} epochs, the last of which had "
            f"{last.sum():g} mistakes"
        )
        against_rest = [k for k, v in enumerate(verdicts) if v is False]
        if against_rest:
            worst = found[against_rest[0]]
            what = "the classes"
            if self._outputs > 1:
                labels = self.classes_[against_rest].tolist()
                what = f"{', '.join(map(repr, labels))} from the other classes"
            points = "yᵢ(xᵢ, 1)" if self.fit_intercept else "yᵢxᵢ"
            warnings.warn(
                f"no plane separates {what}: a convex combination of {len(worst.combination.rows)} "
                f"of the points {points} is zero (proof_), so that no plane has a margin above "
                f"{worst.high:.2g}, where the longest row has length {worst.radius:.2g}. The "
                f"perceptron {said}; LogisticRegression or a soft margin fits such data.",
                NotSeparable,
                stacklevel=5,
            )
        elif not self.converged_:
            known = "a plane that separates exists, and novikoff_bound_ bounds the mistakes"
            unknown = "whether a plane separates the classes is not known"
            hint = known if found and all(verdicts) else unknown
            warnings.warn(
                f"the perceptron {said}; {hint}. Raise max_iter.", NotCertified, stacklevel=5
            )

    # ------------------------------------------------------------------------------------- scoring

    def decision_function(self, X: Any) -> Any:
        """x·w + b or, for "voted", the share of looks of the planes that say yes minus those that
        say no: shape (n,) for two classes, (n, K) for more."""
        if self.average != "voted" or "votes_" not in self.__dict__:
            return scores_out(self, X)
        blocks = rows_in(self, X, reset=False)
        parts = [_vote(double(block.X), self.votes_) for block in blocks]
        scores = np.concatenate(parts).astype(blocks.dtype)
        return scores[:, 0] if len(self.votes_) == 1 else scores


def _vote(X: Any, votes: list[tuple[Floats, Floats]]) -> Floats:
    out = np.zeros((int(X.shape[0]), len(votes)))
    step = max(1, 2**22 // max(1, int(X.shape[0])))
    for k, (planes, looks) in enumerate(votes):
        for lo in range(0, len(planes), step):
            part = planes[lo : lo + step]
            z = host(forward(X, part[:, :-1].T)) + part[:, -1]
            out[:, k] += np.sign(z) @ looks[lo : lo + step]
        out[:, k] /= looks.sum()
    return out


def _verdict(found: HardMargin, separated: bool) -> bool | None:
    """A plane without mistakes outweighs a proof that only rounding gives."""
    if found.separable is False and separated:
        return False if found.combination.exact else None
    return found.separable


def _whole(counts: Floats) -> NDArray[Any]:
    return counts.astype(np.int64) if (counts == np.floor(counts)).all() else counts.copy()


def _single(values: Any) -> Any:
    """The only entry where there is one (two classes), else all of them."""
    if len(values) > 1:
        return values
    return values[0].item() if isinstance(values, np.ndarray) and values.ndim == 1 else values[0]


def against_each(blocks: Blocks, outputs: int) -> list[Blocks]:
    return [against(blocks, k, outputs) for k in range(outputs)]


def criterion(rows: list[Blocks], W: Floats, b: Floats) -> Certificate:
    """Σ sᵢ max(0, -yᵢzᵢ) / Σ sᵢ, summed over the classes: never negative, and 0 at w = 0."""
    value = 0.0
    for k, blocks in enumerate(rows):
        w, level = W[k], float(b[k])

        def stat(block: Block, w: Floats = w, level: float = level) -> Totals:
            z = host(forward(double(block.X), w)) + level
            lost = np.maximum(0.0, -host(block.y) * z)
            s = np.ones(len(z)) if block.weight is None else host(block.weight)
            return Totals(float(s @ lost), float(s.sum()))

        lost, total = blocks.reduce(stat)
        value += lost / total
    return Certificate(value, 0.0, "exact")
