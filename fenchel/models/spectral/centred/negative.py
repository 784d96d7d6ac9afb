"""Negative eigenvalues of centred matrices: what distances and kernels leave out of a map.

No points have squared distances, or features inner products, whose centred matrix has one.

Reference: Young and Householder, Discussion of a set of points in terms of their mutual distances,
Psychometrika 3 (1938).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fenchel.convex.certificate import warn_outside
from fenchel.models.spectral.eigenfunctions import DataOperator
from fenchel.solve.eigen.leading import Eigenpairs, eigenpairs

# Below this share of the largest eigenvalue a negative one may be the rounding of the values.
NEGATIVE = 1e-8


def smallest_eigenvalue(
    made: DataOperator, pairs: Eigenpairs, dtype: Any, fault: str, them: str
) -> float:
    """Of A, whose leading pairs are given; a warning says where it is below what rounding leaves.

    dtype: of the values; fault, them: "the distances are not Euclidean", "their".
    """
    n = int(made.A.shape[0])
    low = pairs if len(pairs.values) == n else eigenpairs(made.A, 1, smallest=True, tol=1e-6)
    least, most = float(low.values[-1]), float(pairs.values[0])
    unit = 2 * made.exponent
    rounding = max(NEGATIVE, 8.0 * math.sqrt(n) * float(np.finfo(dtype).eps))
    if least < -rounding * max(most, -least):
        warn_outside(
            f"{fault}: the smallest eigenvalue of {them} centred matrix is "
            f"{math.ldexp(least, unit):.3g}, the largest {math.ldexp(most, unit):.3g}; the map "
            "leaves out directions of negative eigenvalues",
            UserWarning,
        )
    return math.ldexp(least, unit)
