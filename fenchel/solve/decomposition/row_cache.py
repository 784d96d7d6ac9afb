"""Rows of the kernel matrix in a fixed number of places; the oldest make room for new ones.

What is oldest is told by a hand that goes round (the clock approximation of least recently used):
a row that has been asked for since the hand last passed it is passed over once.

Reference: Corbató, A paging experiment with the Multics system (1968).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fenchel.data.design.kernel import KernelExpansion
from fenchel.data.parallel import one_blas_thread, parallel_map, thread_count
from fenchel.solve.decomposition.compiled import add_rows, block_of

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
# Columns of a product that makes rows: the tiles are the same for any number of threads.
TILE = 1024
# Memory worth filling for rows whose entries take one multiplication. New pages cost 0.1 to 1 ns a
# byte, and an entry 0.008 ns a multiplication: 200 MB for rows of 50 columns, where ten times as
# much made the fit of 20,000 rows take 2.1 to 6.6 s in place of 1.7.
WORTH = 4e6


class RowCache:
    """Rows of K in float32 where the design makes them so, else in float64."""

    def __init__(self, design: KernelExpansion, least: int, memory: float, single: bool) -> None:
        self.design = design
        whole = design.matrix_in_memory()
        self.whole = whole is not None
        self.dtype = np.dtype(np.float32 if single and not self.whole else np.float64)
        n = design.n_rows
        if whole is not None:
            self.rows = whole
            self.slot = np.arange(n)
            return
        memory = min(memory, WORTH * design.work_of_entry)
        places = int(min(n, max(least, memory / (n * self.dtype.itemsize))))
        self.rows = np.empty((places, n), self.dtype)
        self.slot = np.full(n, -1, np.int64)
        self.owner = np.full(places, -1, np.int64)
        self.asked = np.zeros(places, bool)
        self.hand = 0
        self.made = 0

    def places(self, numbers: Numbers) -> Numbers:
        """Where these rows are, after making those that are missing."""
        if self.whole:
            return numbers
        missing = numbers[self.slot[numbers] < 0]
        known = self.slot[numbers]
        self.asked[known[known >= 0]] = True
        if len(missing):
            pinned = np.zeros(len(self.owner), bool)
            pinned[known[known >= 0]] = True
            self._fill(missing, self._free(len(missing), pinned))
        return self.slot[numbers]

    def _free(self, count: int, pinned: NDArray[np.bool_]) -> Numbers:
        found = np.empty(count, np.int64)
        for k in range(count):
            while pinned[self.hand] or self.asked[self.hand]:
                self.asked[self.hand] = False
                self.hand = (self.hand + 1) % len(self.owner)
            here = self.hand
            if self.owner[here] >= 0:
                self.slot[self.owner[here]] = -1
                self.owner[here] = -1
            pinned[here] = True  # the hand may come round again within one call
            found[k] = here
            self.hand = (here + 1) % len(self.owner)
        return found

    def _fill(self, numbers: Numbers, places: Numbers) -> None:
        n = self.design.n_rows
        single = self.dtype == np.float32
        maker = self.design.row_maker(numbers, single)

        def make(lo: int) -> None:
            maker(slice(lo, min(lo + TILE, n)), self.rows, places)

        with one_blas_thread():
            parallel_map(make, range(0, n, TILE))
        self.owner[places] = numbers
        self.slot[numbers] = places
        self.made += len(numbers)

    def block(self, numbers: Numbers) -> Floats:
        """K among these rows, in float64."""
        if self.dtype == np.float32:
            alone = self.design.single_square(numbers)
            if alone is not None:
                return alone
        return np.asarray(block_of(self.rows, self.places(numbers), numbers))

    def add(self, F: Floats, numbers: Numbers, c: Floats) -> None:
        """F += Σ cᵢ K[numbers[i]]."""
        changed = c != 0.0
        numbers, c = numbers[changed], c[changed]
        slots, n = self.places(numbers), self.design.n_rows
        workers = thread_count() if n * len(c) > 2**16 else 1
        cuts = [n * i // workers for i in range(workers + 1)]

        def part(i: int) -> None:
            add_rows(F, self.rows, slots, c, cuts[i], cuts[i + 1])

        parallel_map(part, range(workers), workers)
