"""What is proved of a perceptron: its criterion, the verdict on separability, and its votes."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate, warn_outside
from fenchel.convex.certification.rounding import up
from fenchel.convex.convergence import NotCertified
from fenchel.data.arrays import to_float64, to_numpy
from fenchel.data.blocks import Block, Blocks, Totals
from fenchel.data.design.block_products import forward
from fenchel.models.labels import one_vs_rest
from fenchel.models.online.base import SequentialClassifier
from fenchel.solve.separation.hard_margin import WORK, HardMargin, hard_margin

Floats = NDArray[np.float64]


class NotSeparable(NotCertified):
    """No plane separates the classes; the message says how that was proved."""


class PerceptronProof(SequentialClassifier):
    """What is proved of the planes of a perceptron after a fit."""

    _state: Any

    @property
    @abstractmethod
    def _bias(self) -> float:
        """What a mistake adds to b, over ηy."""

    @abstractmethod
    def _strengths(self) -> tuple[float, float]:
        """Of |w|²/2 and of |w|₁."""

    def _unproved(self, separable: Any) -> None:
        self.separable_: Any = separable
        self.margin_: Any = None
        self.novikoff_bound_: Any = None
        self.proof_: Any = None
        self.certificate_: Certificate | None = None

    def _judge(self, blocks: Blocks, active: NDArray[np.bool_], fresh: bool) -> None:
        K = self._outputs
        self._unproved(single(tuple(None if a else True for a in active)))
        if self.prove:
            found = [self._margin(blocks, k, not active[k]) for k in range(K)]
            verdicts = [verdict(h, not a) for h, a in zip(found, active, strict=True)]
            self.separable_ = single(tuple(verdicts))
            self.margin_ = single(np.array([(max(h.low, 0.0), h.high) for h in found]))
            plain = fresh and not any(self._strengths())
            bounds = np.array([novikoff_bound(h, self._bias) if plain else np.nan for h in found])
            self.novikoff_bound_ = None if np.isnan(bounds).all() else single(bounds)
            proofs = [
                None if v is not False else h.combination
                for h, v in zip(found, verdicts, strict=True)
            ]
            self.proof_ = single(tuple(proofs))
            if not any(self._strengths()):
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
        return hard_margin(
            one_vs_rest(blocks, k, K), self.fit_intercept, start=start, work=WORK / K
        )

    def _warn(self, verdicts: list[bool | None], found: list[HardMargin]) -> None:
        last = np.atleast_2d(self.mistakes_by_epoch_.T).T[-1]
        limit = "max_iter=" if self.n_iter_ == self.max_iter else ""
        said = (
            f"stopped after {limit}{self.n_iter_} epochs, the last of which had "
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
            warn_outside(
                f"no plane separates {what}: a convex combination of {len(worst.combination.rows)} "
                f"of the points {points} is zero (proof_), so that no plane has a margin above "
                f"{worst.high:.2g}, where the longest row has length {worst.radius:.2g}. The "
                f"perceptron {said}; LogisticRegression or a soft margin fits such data.",
                NotSeparable,
            )
        elif not self.converged_ and self.n_iter_ == self.max_iter:
            known = "a plane that separates exists, and novikoff_bound_ bounds the mistakes"
            unknown = "whether a plane separates the classes is not known"
            hint = known if found and all(verdicts) else unknown
            warn_outside(f"the perceptron {said}; {hint}. Raise max_iter.")


def vote_scores(X: Any, votes: list[tuple[Floats, Floats]]) -> Floats:
    out = np.zeros((int(X.shape[0]), len(votes)))
    step = max(1, 2**22 // max(1, int(X.shape[0])))
    for k, (planes, looks) in enumerate(votes):
        for lo in range(0, len(planes), step):
            part = planes[lo : lo + step]
            z = to_numpy(forward(X, part[:, :-1].T)) + part[:, -1]
            out[:, k] += np.sign(z) @ looks[lo : lo + step]
        out[:, k] /= looks.sum()
    return out


def novikoff_bound(found: HardMargin, bias: float) -> float:
    """((R² + c²) / (c M))², the most mistakes from w = 0, for updates b += η y c², bias = c².

    (R/M)² without an intercept, NaN where no plane separates.

    With x̃ = (x, c) and w̃ = (w, b/c) the rule is w̃ += η y x̃, |x̃|² ≤ R² + c², and a plane of margin
    M and |b| ≤ R has |w̃|² ≤ 1 + R²/c²: Novikoff's theorem for those.
    """
    R, M = found.radius, found.low
    if not M > 0.0:
        return float("nan")
    c = float(np.sqrt(bias))
    # c M may be zero in float64 where M is denormal; a square beyond float64 is inf, no error.
    ratio = R / M if bias == 0.0 else (R * R + bias) / c / M
    return up(ratio * ratio, 16)


def verdict(found: HardMargin, separated: bool) -> bool | None:
    """A plane without mistakes outweighs a proof that only rounding gives."""
    if found.separable is False and separated:
        return False if found.combination.exact else None
    return found.separable


def integer_counts(counts: Floats) -> NDArray[Any]:
    return counts.astype(np.int64) if (counts == np.floor(counts)).all() else counts.copy()


def single(values: Any) -> Any:
    """The only entry where there is one (two classes), else all of them."""
    if len(values) > 1:
        return values
    return values[0].item() if isinstance(values, np.ndarray) and values.ndim == 1 else values[0]


def against_each(blocks: Blocks, outputs: int) -> list[Blocks]:
    return [one_vs_rest(blocks, k, outputs) for k in range(outputs)]


def criterion(rows: list[Blocks], W: Floats, b: Floats) -> Certificate:
    """Σ sᵢ max(0, -yᵢzᵢ) / Σ sᵢ, summed over the classes: never negative, and 0 at w = 0."""
    value = 0.0
    for k, blocks in enumerate(rows):
        w, level = W[k], float(b[k])

        def stat(block: Block, w: Floats = w, level: float = level) -> Totals:
            z = to_numpy(forward(to_float64(block.X), w)) + level
            lost = np.maximum(0.0, -to_numpy(block.y) * z)
            s = np.ones(len(z)) if block.weight is None else to_numpy(block.weight)
            return Totals(float(s @ lost), float(s.sum()))

        lost, total = blocks.reduce(stat)
        value += lost / total
    return Certificate(value, 0.0, "exact")
