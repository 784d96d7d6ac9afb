"""State of the online algorithms: last, averaged and voted planes of the perceptron and Adaline.

Reference: Freund and Schapire, Large margin classification using the perceptron algorithm, Machine
Learning 37 (1999).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.blocks import free_memory
from fenchel.solve.online.epochs import Batch

Floats = NDArray[np.float64]


@dataclass
class AveragedPlanes:
    """Planes (W, b), one a class against the rest, and the sums of which their average is made.

    looks: Σ of the weights of the rows seen; the mean of the planes over the looks is W - U/looks.
    """

    W: Floats
    b: Floats
    average: bool
    looks: float = 0.0
    U: Floats = field(init=False)
    c: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Begin the average anew, at the present planes."""
        shape = self.W.shape if self.average else (0, 0)
        self.U, self.c, self.looks = np.zeros(shape), np.zeros(shape[0]), 0.0

    @property
    def mean(self) -> tuple[Floats, Floats]:
        """The average over the looks where one is kept, else the planes themselves."""
        if not self.average or self.looks == 0.0:
            return self.W, self.b
        return self.W - self.U / self.looks, self.b - self.c / self.looks


@dataclass
class Perceptrons(AveragedPlanes):
    """Rosenblatt's rule for each class: w += η y x, b += η y · bias on a mistake."""

    mistakes: Floats = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.mistakes = np.zeros(len(self.W))

    def update(
        self, visit: Batch, active: NDArray[np.bool_], losses: Floats, eta: float, bias: float
    ) -> None:
        """Look at the rows once, for the classes that are active, whose losses are added up."""
        from fenchel.solve.online.compiled import perceptron_pass

        self.looks = perceptron_pass(
            visit.rows,
            visit.codes,
            visit.weight,
            visit.order,
            self.W,
            self.b,
            self.U,
            self.c,
            active,
            self.mistakes,
            losses,
            eta,
            bias,
            self.looks,
        )


@dataclass
class PenalisedPerceptrons(Perceptrons):
    """The same with a step on ridge |w|²/2 + lasso |w|₁ after each look.

    paid: what the lasso has moved each entry by; U and c are sums of the planes over the looks.
    """

    ridge: float = 0.0
    lasso: float = 0.0
    paid: Floats = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.paid = np.zeros(self.W.shape if self.lasso > 0.0 else (0, 0))

    @property
    def mean(self) -> tuple[Floats, Floats]:
        if not self.average or self.looks == 0.0:
            return self.W, self.b
        return self.U / self.looks, self.c / self.looks

    def update(
        self, visit: Batch, active: NDArray[np.bool_], losses: Floats, eta: float, bias: float
    ) -> None:
        from fenchel.solve.online.compiled import penalised_pass

        self.looks = penalised_pass(
            visit.rows,
            visit.codes,
            visit.weight,
            visit.order,
            self.W,
            self.b,
            self.U,
            self.c,
            self.paid,
            active,
            self.mistakes,
            losses,
            eta,
            bias,
            self.ridge,
            self.lasso,
            self.looks,
        )


@dataclass
class Votes:
    """One class's perceptron with every plane (w, b) that it passed through, and how many looks
    each survived.

    Reference: Freund and Schapire, Large margin classification using the perceptron algorithm,
    Machine Learning 37 (1999).
    """

    plane: Floats
    planes: list[Floats] = field(default_factory=list)
    counts: list[Floats] = field(default_factory=list)
    state: Floats = field(default_factory=lambda: np.zeros(2))

    @property
    def mistakes(self) -> float:
        return float(self.state[1])

    def update(self, visit: Batch, positive: int, losses: Floats, eta: float, bias: float) -> None:
        from fenchel.solve.online.compiled import voted_pass

        need = int(np.ceil(visit.weight.max(initial=1.0))) + 1
        size = max(need, min(4096, max(64, 2**22 // len(self.plane))))
        first = 0
        while first < len(visit.codes):
            if 8.0 * size * len(self.plane) > free_memory():
                raise MemoryError(
                    f"{sum(map(len, self.counts))} planes of {len(self.plane)} numbers and more to "
                    'come do not fit in memory: use average="averaged", which keeps two'
                )
            planes, counts = np.empty((size, len(self.plane))), np.empty(size)
            first, used = voted_pass(
                visit.rows,
                visit.codes,
                visit.weight,
                visit.order,
                positive,
                first,
                self.plane,
                self.state,
                planes,
                counts,
                losses,
                eta,
                bias,
            )
            if used:
                self.planes.append(planes[:used].copy())
                self.counts.append(counts[:used].copy())

    def all(self) -> tuple[Floats, Floats]:
        """The planes (m, d + 1) and their looks (m,), the present one last."""
        now: list[Any] = [self.plane[None]] if self.state[0] > 0.0 else []
        planes = np.concatenate([*self.planes, *now]) if self.planes or now else self.plane[None]
        counts = np.concatenate([*self.counts, self.state[:1] if now else np.zeros(0)])
        return planes, counts if len(counts) else np.ones(1)


@dataclass
class Adalines(AveragedPlanes):
    """Widrow and Hoff's rule for each class: w += η (y - z) x, b += η (y - z)."""

    def update(self, visit: Batch, eta: float, patience: float, unit: float) -> None:
        from fenchel.solve.online.compiled import adaline_pass

        self.looks = adaline_pass(
            visit.rows,
            visit.codes,
            visit.weight,
            visit.order,
            self.W,
            self.b,
            self.U,
            self.c,
            eta,
            patience,
            unit,
            self.looks,
        )
