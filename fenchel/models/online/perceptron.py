"""The perceptron: last, averaged and voted, with its mistakes counted and bounded."""

from __future__ import annotations

import sys
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from array_api_compat import is_torch_array
from sklearn.utils._param_validation import Interval, StrOptions

from fenchel.data.arrays import to_float64
from fenchel.models.array_namespace import dispatches, fit_method, on_device_of
from fenchel.models.estimator import linear_scores, validated_blocks
from fenchel.models.labels import encode_labels
from fenchel.models.online.base import check_radius
from fenchel.models.online.perceptron_proof import NotSeparable, vote_scores
from fenchel.models.online.perceptron_updates import PerceptronUpdates
from fenchel.solve.online.epochs import Epochs
from fenchel.solve.separation.row_radius import radius

__all__ = ["NotSeparable", "Perceptron"]


class Perceptron(PerceptronUpdates):
    """Rosenblatt's perceptron: on every mistake w += η yᵢxᵢ and b += η yᵢR², R = max |xᵢ|.

    A row is a mistake if yᵢ(xᵢ·w + b) ≤ 0. Without an intercept b stays 0. Several classes are
    each set against the rest. On separable rows the number of mistakes is bounded whatever their
    order, by Novikoff's theorem; on others a proof is given that no plane separates them.

    Parameters
    ----------
    penalty : "l2", "l1", "elasticnet" or None, default None
        Take a step of size η on α|w|²/2, α|w|₁, or α(ρ|w|₁ + (1 - ρ)|w|²/2) after each look, ρ =
        l1_ratio, as scikit-learn does. Such steps circle about no known optimum: `certificate_` and
        `novikoff_bound_` are None.
    alpha, l1_ratio : float, default 0.0001 and 0.15
        Strength and share of the penalty.
    fit_intercept : bool, default True
        False for the simple perceptron, whose planes go through the origin.
    eta0 : float, default 1
        η. It scales w and b and changes no prediction, unless the fit starts from another.
    bias_update : "radius" or "unit", default "radius"
        What a mistake adds to b: η yᵢR², with which Novikoff's bound is the same in all units of X,
        or scikit-learn's η yᵢ.
    average : "last", "averaged" or "voted"
        Which plane predicts: the last one; the mean of all, each counted for as many looks at a
        row as it survived; or all of them, by a vote so weighted. The votes take as much memory
        as there are mistakes times columns.
    max_iter : int, default 1000
        Epochs: passes over the rows. The fit ends with the first that has no mistake.
    tol : float or None, default None
        Stop the plane of a class after `n_iter_no_change` epochs in a row that lower its mean loss
        (with the penalty) by less than tol, or do not raise its accuracy on the rows that
        `early_stopping` sets aside by tol. None: never by the loss; for early_stopping, 0.
        scikit-learn's default is 1e-3.
    early_stopping : bool, default False
        Set a stratified share `validation_fraction` of the rows aside, do not learn from them, and
        stop by the accuracy on them. Rows in memory.
    validation_fraction : float, default 0.1
    n_iter_no_change : int, default 5
    n_jobs : ignored
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
    t_ : float
        1 + n_iter_ times the number of rows, as in scikit-learn.
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
        (2R/M)² at the lower end of margin_, ((R² + 1)/M)² for bias_update="unit", (R/M)² without
        intercept: mistakes_ is at most this. None, or nan among several, where no plane separates,
        after a warm start, and with a penalty.
    proof_ : Combination or None, a tuple for K > 2 classes
        Where no plane separates: rows and coefficients of a convex combination of the points
        yᵢ(xᵢ, 1) (of yᵢxᵢ without intercept) that is zero up to its `residual`.
    certificate_ : Certificate
        The perceptron's criterion Σ sᵢ max(0, -yᵢzᵢ) / Σ sᵢ at coef_, intercept_, summed over the
        classes. Its optimum is 0, at w = 0 if nowhere else. None with a penalty.
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
        "penalty": [StrOptions({"l2", "l1", "elasticnet"}), None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "fit_intercept": ["boolean"],
        "eta0": [Interval(Real, 0, None, closed="neither")],
        "bias_update": [StrOptions({"radius", "unit"})],
        "average": [StrOptions({"last", "averaged", "voted"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
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
        penalty: str | None = None,
        alpha: float = 0.0001,
        l1_ratio: float = 0.15,
        fit_intercept: bool = True,
        eta0: float = 1.0,
        bias_update: str = "radius",
        average: str = "last",
        max_iter: int = 1000,
        tol: float | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        n_jobs: int | None = None,
        shuffle: bool = True,
        random_state: Any = 0,
        class_weight: Any = None,
        prove: bool = True,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.eta0 = eta0
        self.bias_update = bias_update
        self.average = average
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.n_jobs = n_jobs
        self.shuffle = shuffle
        self.random_state = random_state
        self.class_weight = class_weight
        self.prove = prove
        self.warm_start = warm_start
        self.verbose = verbose

    @fit_method
    def fit(
        self,
        X: Any,
        y: Any = None,
        coef_init: Any = None,
        intercept_init: Any = None,
        sample_weight: Any = None,
    ) -> Perceptron:
        """Fit to rows X and labels y; y may be None if X (scan, dask) carries its target.

        coef_init, intercept_init: the planes to begin with, in the shapes of coef_ and intercept_.
        """
        before = self.__dict__.get("classes_")
        self.classes_, blocks = encode_labels(self, X, y, sample_weight, self.class_weight)
        K, d = self._outputs, blocks.n_cols
        same = before is not None and np.array_equal(before, self.classes_)
        last = self._last(K, d) if self.warm_start and same else None
        start = self._start(K, d, coef_init, intercept_init, last)
        self._begin(K, d, start)
        self._dtype, self._radius = blocks.dtype, radius(blocks)
        check_radius(self._radius)
        learnt, aside = self._split(blocks)
        visits = Epochs(learnt, K, self.shuffle, self._seed())
        patience = self._patience(K)
        running, separated, made = np.ones(K, np.bool_), np.zeros(K, np.bool_), []
        for epoch in range(self.max_iter):
            mistakes, losses = self._epoch(visits, epoch, running)
            made.append(mistakes)
            separated |= running & (mistakes == 0.0)
            running &= ~separated
            if patience is not None:
                running &= patience.goes_on(losses if aside is None else self._errors(aside))
            if self.verbose:
                print(f"epoch {epoch + 1}: {mistakes.sum():g} mistakes", file=sys.stderr)
            if not running.any():
                break
        self.n_iter_, self.converged_ = len(made), bool(separated.all())
        self.t_ = 1.0 + self.n_iter_ * blocks.n_rows
        history = np.array(made)
        self.mistakes_by_epoch_ = history[:, 0] if K == 1 else history
        self._publish()
        if aside is not None:  # rows that were set aside may lie on the wrong side
            separated[:] = False
        self._judge(blocks, ~separated, start is None)
        return self

    @fit_method
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
        visits = Epochs(blocks, K, self.shuffle, self._seed())
        made, _ = self._epoch(visits, self.n_iter_, np.ones(K, dtype=np.bool_))
        self.n_iter_ += 1
        self.t_ = (1.0 if first else self.t_) + blocks.n_rows
        self.converged_ = not made.any()
        self._publish()
        self._unproved(None)
        return self

    def decision_function(self, X: Any) -> Any:
        """x·w + b or, for "voted", Σ votes·sign(x·w + b) / Σ votes, the votes of a plane being the
        rows that it survived (Freund and Schapire): shape (n,) for two classes, (n, K) for more."""
        if self.average != "voted" or "votes_" not in self.__dict__:
            return linear_scores(self, X)
        blocks = validated_blocks(self, X, reset=False)
        parts = [vote_scores(to_float64(block.X), self.votes_) for block in blocks]
        scores = np.concatenate(parts).astype(blocks.dtype)
        scores = scores[:, 0] if len(self.votes_) == 1 else scores
        return on_device_of(scores, X) if is_torch_array(X) or dispatches(X) else scores
