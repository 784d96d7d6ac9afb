"""Several classes by machines of two: one against one, or one against the rest.

Of two classes the second is positive, of more the first of each pair, as in scikit-learn; its
dual_coef_ has K - 1 rows: a support vector of class i has its coefficient against class j in row
j - 1 if j > i, else in row j. One against the rest has a row for each class.

Reference: Hsu and Lin, A comparison of methods for multiclass support vector machines, IEEE
Trans. Neural Networks 13 (2002).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Machine:
    """One class against another, or against all others (rest None)."""

    positive: int
    rest: int | None

    def members(self, codes: Numbers) -> Numbers:
        """The rows that it is fitted on."""
        if self.rest is None:
            return np.arange(len(codes))
        return np.flatnonzero((codes == self.positive) | (codes == self.rest))

    def targets(self, codes: Numbers) -> Floats:
        """±1."""
        return np.where(codes == self.positive, 1.0, -1.0)

    def spread(self, beta: Floats, codes: Numbers) -> Floats:
        """Coefficients of its members, on all rows."""
        out = np.zeros(len(codes))
        out[self.members(codes)] = beta
        return out


def machines_of(K: int, against: str) -> list[Machine]:
    """against: "ovo" or "ovr"."""
    if K == 2:
        return [Machine(1, 0)]
    if against == "ovr":
        return [Machine(k, None) for k in range(K)]
    return [Machine(i, j) for i, j in combinations(range(K), 2)]


def packed(machines: list[Machine], betas: list[Floats], codes: Numbers, K: int) -> Floats:
    """dual_coef_ of rows with these class codes, from each machine's coefficients on them."""
    if K == 2 or machines[0].rest is None:
        return np.stack(betas)
    dual = np.zeros((K - 1, len(codes)))
    for machine, beta in zip(machines, betas, strict=True):
        i, j = machine.positive, machine.rest
        assert j is not None
        dual[j - 1, codes == i] = beta[codes == i]
        dual[i, codes == j] = beta[codes == j]
    return dual


def unpacked(machines: list[Machine], dual: Floats, codes: Numbers) -> Floats:
    """The coefficients of each machine, a column each, from dual_coef_ and the classes of the
    support vectors."""
    if machines[0].rest is None or len(machines) == 1:
        return np.ascontiguousarray(dual.T)
    columns = np.zeros((dual.shape[1], len(machines)))
    for number, machine in enumerate(machines):
        i, j = machine.positive, machine.rest
        assert j is not None
        columns[codes == i, number] = dual[j - 1, codes == i]
        columns[codes == j, number] = dual[i, codes == j]
    return columns


def votes(machines: list[Machine], positive: NDArray[np.bool_], K: int) -> NDArray[np.int64]:
    """How many machines choose each class, (n, K), from whether their scores are positive."""
    counts = np.zeros((len(positive), K), np.int64)
    for number, machine in enumerate(machines):
        won = positive[:, number]
        counts[won, machine.positive] += 1
        counts[~won, machine.rest] += 1
    return counts


def class_scores(machines: list[Machine], scores: Floats, K: int) -> Floats:
    """One score a class: its votes, and by how much its machines were sure as what breaks ties.

    The sum t of its scores is squeezed into (-1/3, 1/3) by t/(3(|t| + 1)), so that no vote is
    outweighed.
    """
    sums = np.zeros((len(scores), K))
    for number, machine in enumerate(machines):
        sums[:, machine.positive] += scores[:, number]
        sums[:, machine.rest] -= scores[:, number]
    return votes(machines, scores > 0.0, K) + sums / (3.0 * (np.abs(sums) + 1.0))
