"""The perceptron's rule over epochs: planes begun, updated, stopped and published."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedShuffleSplit

from fenchel.data.arrays import to_numpy
from fenchel.data.blocks import Block, Blocks
from fenchel.data.in_memory import ArrayBlocks
from fenchel.models.cross_validation.folds import accuracies
from fenchel.models.online.perceptron_proof import (
    PerceptronProof,
    against_each,
    integer_counts,
    single,
)
from fenchel.solve.online.averaging import PenalisedPerceptrons, Perceptrons, Votes
from fenchel.solve.online.epochs import Epochs
from fenchel.solve.online.stopping import Patience

Floats = NDArray[np.float64]


class PerceptronUpdates(PerceptronProof):
    """Planes of a perceptron while they are learnt."""

    _radius: float

    def _start(
        self, K: int, d: int, coef: Any, intercept: Any, last: tuple[Floats, Floats] | None
    ) -> tuple[Floats, Floats] | None:
        """The planes to begin with: those given, those of the last fit, or none."""
        if coef is None and intercept is None:
            return last
        W, b = (np.zeros((K, d)), np.zeros(K)) if last is None else last
        if coef is not None:
            W = (
                np.array(to_numpy(coef), dtype=np.float64).reshape(1, -1)
                if K == 1
                else to_numpy(coef)
            )
        if intercept is not None:
            b = np.atleast_1d(to_numpy(intercept))
        if W.shape != (K, d) or b.shape != (K,):
            name, right = ("coef_init", (K, d)) if W.shape != (K, d) else ("intercept_init", (K,))
            raise ValueError(f"{name} must have shape {right}, one plane for each class of several")
        return W.astype(np.float64), b.astype(np.float64)

    def _begin(self, K: int, d: int, start: tuple[Floats, Floats] | None) -> None:
        W, b = (np.zeros((K, d)), np.zeros(K)) if start is None else start
        self._state: Perceptrons | list[Votes]
        ridge, lasso = self._strengths()
        if self.average == "voted":
            if ridge or lasso:
                raise ValueError(
                    "average='voted' takes no penalty: use average='last' or 'averaged'"
                )
            self._state = [Votes(np.append(W[k], b[k])) for k in range(K)]
        elif ridge or lasso:
            mean = self.average == "averaged"
            self._state = PenalisedPerceptrons(W, b, mean, ridge=ridge, lasso=lasso)
        else:
            self._state = Perceptrons(W, b, self.average == "averaged")

    def _strengths(self) -> tuple[float, float]:
        """Of |w|²/2 and of |w|₁."""
        share = {None: None, "l2": 0.0, "l1": 1.0}.get(self.penalty, self.l1_ratio)
        if share is None:
            return 0.0, 0.0
        return float(self.alpha * (1.0 - share)), float(self.alpha * share)

    @property
    def _bias(self) -> float:
        """What a mistake adds to b, over ηy."""
        if not self.fit_intercept:
            return 0.0
        return self._radius**2 if self.bias_update == "radius" else 1.0

    def _counts(self) -> Floats:
        if isinstance(self._state, list):
            return np.array([votes.mistakes for votes in self._state])
        return self._state.mistakes

    def _epoch(
        self, visits: Epochs, number: int, active: NDArray[np.bool_]
    ) -> tuple[Floats, Floats]:
        """The mistakes of one look at all rows, and the mean loss, class by class."""
        before, eta, looks = self._counts().copy(), float(self.eta0), 0.0
        losses = np.zeros(len(before))
        for visit in visits.epoch(number):
            looks += visit.looks
            if isinstance(self._state, list):
                for k, votes in enumerate(self._state):
                    if active[k]:
                        positive = 1 if len(self._state) == 1 else k
                        votes.update(visit, positive, losses[k : k + 1], eta, self._bias)
                    else:  # a plane without mistakes survives another epoch
                        votes.state[0] += visit.looks
            else:
                self._state.update(visit, active, losses, eta, self._bias)
        return self._counts() - before, losses / max(looks, 1e-300)

    def _publish(self) -> None:
        self.__dict__.pop("votes_", None)
        if isinstance(self._state, list):
            self.votes_ = [votes.all() for votes in self._state]
        self._set_planes(*self._current(), self._dtype)
        self.mistakes_ = single(integer_counts(self._counts()))

    # ------------------------------------------------------------------------------ when to stop

    def _patience(self, K: int) -> Patience | None:
        if self.tol is None and not self.early_stopping:
            return None
        return Patience(0.0 if self.tol is None else float(self.tol), self.n_iter_no_change, K)

    def _split(self, blocks: Blocks) -> tuple[Blocks, Blocks | None]:
        """The rows to learn from, and those set aside to stop by."""
        if not self.early_stopping:
            return blocks, None
        if not blocks.local:
            raise ValueError("early_stopping sets rows aside by number and needs them in memory")
        return split_rows(blocks, float(self.validation_fraction), self.random_state)

    def _errors(self, aside: Blocks) -> Floats:
        """The share of rows set aside that each plane has on the wrong side."""
        W, b = self._current()
        rows = against_each(aside, len(W))
        return 1.0 - np.array(
            [accuracies(rows[k], [(W[k], float(b[k]))])[0] for k in range(len(W))]
        )

    def _current(self) -> tuple[Floats, Floats]:
        if isinstance(self._state, list):
            planes = np.stack([votes.plane for votes in self._state])
            return planes[:, :-1], planes[:, -1]
        return self._state.mean


def split_rows(blocks: Blocks, share: float, random_state: Any) -> tuple[Blocks, Blocks]:
    """The rows without a stratified share of them, and that share."""
    whole = blocks.gather()
    y, target = to_numpy(whole.y), whole.y
    assert target is not None
    cut = StratifiedShuffleSplit(1, test_size=share, random_state=random_state)
    learnt, aside = next(iter(cut.split(np.zeros((len(y), 1)), y)))

    def part(rows: NDArray[Any]) -> Blocks:
        weight = None if whole.weight is None else whole.weight[rows]
        return ArrayBlocks(Block(0, whole.X[rows], target[rows], weight), blocks.names)

    return part(learnt), part(aside)
