"""The working set of a decomposition: those of the last set that came newest, and the worst.

Reference: Wen, Shi, Li, He and Chen, ThunderSVM, JMLR 19 (2018); Joachims, Making large-scale SVM
learning practical (1998).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


def working_set(
    rise: Floats, fall: Floats, last: Numbers, size: int, free: bool
) -> tuple[Numbers, Numbers]:
    """Rows to work on, and those among them that are new.

    rise, fall: slopes of the objective where a coefficient rises and falls, inf and -inf where it
    cannot; last: the rows that were new the last time, which stay, so that two sets do not undo
    each other's work.
    """
    n = len(rise)
    if n <= size:
        everything = np.arange(n)
        return everything, everything
    keep = last[: size // 2]
    held = np.zeros(n, bool)
    held[keep] = True
    wanted = (size - len(keep)) // 2
    parts = [keep]
    for order in (rise, -fall):
        candidates = np.where(held, np.inf, order)
        chosen = np.argpartition(candidates, wanted)[:wanted]
        limit = 0.0 if not free else np.inf
        chosen = np.sort(chosen[candidates[chosen] < limit])
        held[chosen] = True
        parts.append(chosen)
    return np.concatenate(parts), np.concatenate(parts[1:])
