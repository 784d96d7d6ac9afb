"""Adaline: stochastic gradient on the square loss, with a step that cannot diverge."""

from __future__ import annotations

import math
import sys
import time
import warnings
from dataclasses import replace
from functools import reduce
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from fenchel.convex.certificate import Certificate, warn_outside
from fenchel.convex.convergence import NotCertified
from fenchel.convex.loss.distance import Square
from fenchel.convex.penalty import L2
from fenchel.convex.problem import Problem
from fenchel.data.arrays import to_float64, to_numpy
from fenchel.data.blocks import Block, Blocks, Totals
from fenchel.data.design.block_products import forward
from fenchel.data.design.matrix import MatrixDesign
from fenchel.models.array_namespace import fit_method
from fenchel.models.labels import encode_labels, one_vs_rest
from fenchel.models.online.base import SequentialClassifier, check_radius
from fenchel.solve.minimise import minimise
from fenchel.solve.online.averaging import Adalines
from fenchel.solve.online.epochs import Epochs
from fenchel.solve.separation.row_radius import radius

Floats = NDArray[np.float64]


class Diverged(ArithmeticError):
    """The step eta0 was too long for these rows; the message names one that is not."""


class Adaline(SequentialClassifier):
    """Adaptive linear neuron: row by row w += η (yᵢ - zᵢ)xᵢ, b += η (yᵢ - zᵢ), zᵢ = xᵢ·w + b.

    That is stochastic gradient descent on Σ sᵢ(yᵢ - zᵢ)² / (2 Σ sᵢ), y = ±1, which tends to the
    least-squares plane. Several classes are each set against the rest.

    Parameters
    ----------
    fit_intercept : bool, default True
    eta0 : float or None
        The step η, kept as it is. None: η starts at 1/max |x̃ᵢ|², x̃ = (x, 1), where every update is
        a contraction whatever the order of the rows. It is halved when epochs at this step gain
        little of the gap, and lasts at least as long as all steps before it; in partial_fit it
        falls as 1/√(1 + t/(d + 1)) after t rows.
    max_iter : int, default 1000
        Epochs: passes over the rows.
    tol : float, default 1e-3
        Relative gap to the least-squares optimum at which to stop. Row by row one comes near the
        optimum soon and to it late: for more digits take LinearRegression on ±1.
    average : bool, default False
        Keep the mean of the planes of the last epoch (in partial_fit, of all) instead of the last.
    shuffle : bool, default True
        Meet the rows in an order drawn from their own values and random_state, a new one for each
        epoch of a given eta0 and for each step of eta0=None: it does not depend on how the table
        is sorted. Rows that are not in memory (`scan`, dask) are shuffled inside each block.
        False: in the order of the table.
    random_state : int, RandomState or None, default 0
    class_weight : dict, "balanced" or None
    warm_start : bool
        Start from the last fit's planes.
    verbose : int
        1 shows the gap of each epoch.

    Attributes
    ----------
    coef_, intercept_, classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    n_iter_ : int
        Epochs.
    eta_ : float
        The step of the last epoch.
    certificate_ : Certificate
        On the objective above, summed over the classes; its bound is a proved lower bound of the
        least-squares optimum, which is solved for once.
    converged_ : bool
        Whether the certificate's relative gap is at most tol.
    history_ : tuple of Certificate
        One an epoch.

    Notes
    -----
    A row of weight s is looked at s times running, the last time for a fraction of a step: weights
    are the same as repeated rows. Columns of very different scales make every step rule slow;
    standardise them first.

    References
    ----------
    Widrow and Hoff, Adaptive switching circuits, IRE WESCON (1960). Polyak and Juditsky, SIAM J.
    Control Optim. 30 (1992).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from fenchel import Adaline
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = Adaline(tol=0.05, random_state=0).fit(scale(X), y)
    >>> model.converged_, model.certificate_.relative_gap <= 0.05
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "fit_intercept": ["boolean"],
        "eta0": [Interval(Real, 0, None, closed="neither"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "average": ["boolean"],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        eta0: float | None = None,
        max_iter: int = 1000,
        tol: float = 1e-3,
        average: bool = False,
        shuffle: bool = True,
        random_state: Any = 0,
        class_weight: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.eta0 = eta0
        self.max_iter = max_iter
        self.tol = tol
        self.average = average
        self.shuffle = shuffle
        self.random_state = random_state
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.verbose = verbose

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Adaline:
        """Fit to rows X and labels y; y may be None if X carries its target (`scan`, dask)."""
        begun = time.perf_counter()
        before = self.__dict__.get("classes_")
        self.classes_, blocks = encode_labels(self, X, y, sample_weight, self.class_weight)
        K, d = self._outputs, blocks.n_cols
        same = before is not None and np.array_equal(before, self.classes_)
        start = self._last(K, d) if self.warm_start and same else None
        W, b = (np.zeros((K, d)), np.zeros(K)) if start is None else start
        self._state, self._dtype = Adalines(W, b, self.average), blocks.dtype
        safe = self._safe(radius(blocks))
        self.eta_ = safe if self.eta0 is None else float(self.eta0)
        best = optimum(blocks, K, self.fit_intercept, self.tol)
        visits = Epochs(blocks, K, self.shuffle, self._seed())
        zero = square_risk(blocks, np.zeros((K, d)), np.zeros(K))
        history: list[Certificate] = []
        halved, since = 0, 0
        for epoch in range(self.max_iter):
            # Each step lasts at least as long as all before it, so that their sum is infinite and
            # no optimum too far away.
            here = [c.value for c in history[since:]]
            if self.eta0 is None and len(here) >= max(3, since) and _exhausted(here, best.bound):
                self.eta_, halved, since = 0.5 * self.eta_, halved + 1, epoch
            self._state.restart()
            self._meet(visits, epoch if self.eta0 is not None else halved, math.inf)
            value = square_risk(blocks, *self._state.mean)
            self._check(value, zero, safe)
            passed = time.perf_counter() - begun
            history.append(_gap(best, value, epoch + 1, passed))
            if self.verbose:
                print(f"epoch {epoch + 1}: {history[-1]}", file=sys.stderr)
            if history[-1].closed(self.tol):
                break
        self._set_planes(*self._state.mean, blocks.dtype)
        self.n_iter_, self.history_ = len(history), tuple(history)
        # Where coef_ is rounded to float32, of what is left.
        value = square_risk(blocks, *self._planes())
        final = _gap(best, value, len(history), time.perf_counter() - begun)
        self.certificate_: Certificate | None = final
        self.converged_ = final.closed(self.tol)
        if not self.converged_:
            self._warn(value > zero, safe)
        return self

    @fit_method
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Adaline:
        """Meet these rows once, from where the last call ended.

        classes: all labels there will be, at the first call. Without eta0 the step is bounded by
        the longest row so far. Nothing is proved: `certificate_` is None.
        """
        first = "_state" not in self.__dict__
        blocks = self._batch(X, y, classes, sample_weight, first)
        K, d = self._outputs, blocks.n_cols
        if first:
            self._state = Adalines(np.zeros((K, d)), np.zeros(K), self.average)
            self.n_iter_, self._longest = 0, 0.0
        self._longest = max(self.__dict__.get("_longest", 0.0), radius(blocks))
        safe = self._safe(self._longest)
        self.eta_ = safe if self.eta0 is None else float(self.eta0)
        visits = Epochs(blocks, K, self.shuffle, self._seed())
        self._meet(visits, self.n_iter_, math.inf if self.eta0 is not None else d + 1.0)
        self._check(float(np.abs(self._state.W).max()), math.inf, safe)
        self.n_iter_ += 1
        self._set_planes(*self._state.mean, self._dtype)
        self.certificate_ = None
        self.converged_, self.history_ = False, ()
        return self

    def _safe(self, longest: float) -> float:
        """1/max |x̃|²: at most this, an update shrinks the error of its row and no other's bound."""
        check_radius(longest)
        square = longest * longest + (1.0 if self.fit_intercept else 0.0)
        return 1.0 / square if square > 0.0 else 1.0

    def _meet(self, visits: Epochs, epoch: int, patience: float) -> None:
        unit = 1.0 if self.fit_intercept else 0.0
        for visit in visits.epoch(epoch):
            self._state.update(visit, self.eta_, patience, unit)

    def _check(self, value: float, zero: float, safe: float) -> None:
        if not math.isfinite(value) or value > 1e12 * max(zero, 1e-300):
            raise Diverged(
                f"eta0={self.eta0:.3g} makes the updates grow without end on these rows: a step "
                f"below {2.0 * safe:.3g} = 2/max |x|² cannot, nor can eta0=None"
            )

    def _warn(self, worse: bool, safe: float) -> None:
        certificate = self.certificate_
        assert certificate is not None
        hint = "Standardise the columns, raise max_iter or loosen tol."
        if self.eta0 is not None:
            hint = f"A constant eta0={self.eta0:.3g} circles about the optimum: try eta0=None."
            if worse:
                hint = (
                    f"The plane is worse than w = 0: eta0={self.eta0:.3g} is too long, and one "
                    f"below {2.0 * safe:.3g} = 2/max |x|² cannot diverge."
                )
        warn_outside(
            f"Adaline stopped after {self.n_iter_} epochs at a relative gap of "
            f"{certificate.relative_gap:.2g} to the least-squares optimum, asked tol={self.tol:g}. "
            f"{hint}",
        )


def _exhausted(values: list[float], bound: float) -> bool:
    """Whether as many epochs again at this step, at the present rate, would close less than a
    tenth of the gap: what is left then is the step's own doing."""
    fall = values[-2] - values[-1]
    return fall * len(values) < 0.1 * (values[-1] - bound)


def _gap(best: Certificate, value: float, epochs: int, seconds: float) -> Certificate:
    return replace(best, value=value, bound=min(best.bound, value), steps=epochs, seconds=seconds)


def square_risk(blocks: Blocks, W: Floats, b: Floats) -> float:
    """Σ sᵢ(yᵢ - zᵢ)² / (2 Σ sᵢ), summed over the classes, in one pass in float64."""
    K = len(W)

    def stat(block: Block) -> Totals:
        z = to_numpy(forward(to_float64(block.X), W.T)) + b
        y = to_numpy(block.y)
        codes = (y > 0)[:, None] if K == 1 else y[:, None] == np.arange(K)
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.square(np.where(codes, 1.0, -1.0) - z).sum(axis=1)
            if block.weight is None:
                return Totals(float(squares.sum()), float(len(squares)))
            s = to_numpy(block.weight)
            return Totals(float(s @ squares), float(s.sum()))

    with np.errstate(over="ignore", invalid="ignore"):
        squares, total = blocks.reduce(stat)
    return 0.5 * float(squares) / float(total)


def optimum(blocks: Blocks, outputs: int, intercept: bool, tol: float) -> Certificate:
    """The least-squares optimum of `square_risk`, with a proved bound that is tight next to tol."""
    parts = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCertified)
        for k in range(outputs):
            design = MatrixDesign(one_vs_rest(blocks, k, outputs))
            problem = Problem(Square(), L2(0.0), design, intercept)
            parts.append(minimise(problem, tol=max(0.01 * tol, 1e-10)).certificate)
    return reduce(Certificate.__add__, parts)
