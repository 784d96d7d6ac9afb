"""Class scatters of fewer rows than columns, in the space that the rows span.

With X̃ the centred rows, X̃ = P Σ V': all means and scatters of rows lie in the span of V, so that
in the coordinates Z = PΣ they are n by n. Beyond it a ridge is all there is. Cost n² d.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import is_sparse, to_numpy
from fenchel.data.blocks import Block, Blocks
from fenchel.data.in_memory import ArrayBlocks
from fenchel.models.discriminant.estimates.class_sums import class_sums
from fenchel.models.discriminant.estimates.covariance import EPS, InverseRoot
from fenchel.models.discriminant.fisher.axes import Scatters
from fenchel.models.estimator import as_numpy

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class RowSpace:
    """Scatters in coordinates V'((x - xbar) / unit); V (d, r); apart: class means less xbar;
    log_units: Σ log unit over the columns that vary within classes."""

    scatters: Scatters
    V: Floats
    unit: Floats
    xbar: Floats
    apart: Floats
    log_units: float

    @property
    def means(self) -> Floats:
        """The class means (K, d)."""
        return self.xbar + self.apart

    def covariance(self, T: Floats) -> Floats:
        """A covariance (r, r) in the coordinates as one (d, d) of the columns."""
        A = self.V * self.unit[:, None]
        return np.asarray(A @ T @ A.T)

    def outward(self, axes: Floats) -> Floats:
        """Axes (r, ·) in the coordinates as axes (d, ·) of the columns."""
        return np.asarray((self.V @ axes) / self.unit[:, None])

    def inward(self, axes: Floats) -> tuple[Floats, Floats]:
        """Axes (d, ·) in the coordinates, and inner products of their residuals."""
        U = axes * self.unit[:, None]
        inside = self.V.T @ U
        left = U - self.V @ inside
        return inside, left.T @ left


def row_space(blocks: Blocks, n_classes: int, ridge: float, tol: float) -> RowSpace:
    """The scatters of the rows with class codes; columns in units of their deviations within
    classes where there is no ridge, else as they are, up to a power of two."""
    whole = blocks.gather()
    X = whole.X.toarray() if is_sparse(whole.X) else as_numpy(whole.X)
    X, codes = np.asarray(X, np.float64), np.asarray(to_numpy(whole.y), np.int64)
    s = np.ones(len(X)) if whole.weight is None else np.asarray(to_numpy(whole.weight), np.float64)
    used = np.flatnonzero(s > 0.0)
    X, codes, s = X[used], codes[used], s[used]
    share = s / s.sum()
    # Sums in units of the largest entry: no square leaves float64.
    size = np.abs(X).max(axis=0, initial=0.0)
    power = np.frexp(size)[1] if ridge == 0.0 else np.full(X.shape[1], np.frexp(size.max())[1])
    with np.errstate(under="ignore"):
        X = np.ldexp(X, -power)
    alike = X.max(axis=0) == X.min(axis=0)
    middle = share @ X
    X = X - middle
    extra = share @ X
    X, middle = X - extra, middle + extra
    X[:, alike] = 0.0  # not what rounding leaves of equal numbers, which has variance of its own
    mean = np.array([share[codes == k] @ X[codes == k] for k in range(n_classes)])
    weight = np.bincount(codes, s, minlength=n_classes).astype(np.float64)
    seen = weight > 0.0
    mean = np.where(seen[:, None], mean, 0.0) / np.where(seen, weight / s.sum(), 1.0)[:, None]
    within = X - mean[codes]
    spread = np.sqrt(share @ (within * within))
    whole_spread = np.sqrt(share @ (X * X))
    unit, varies = np.ones(X.shape[1]), np.ones(X.shape[1], dtype=bool)
    if ridge == 0.0:
        varies = spread > len(X) * EPS * whole_spread
        unit = np.where(varies, spread, np.where(whole_spread > 0.0, whole_spread, 1.0))
    _, singular, Vt = np.linalg.svd(X / unit, full_matrices=False)
    V = Vt[singular > max(X.shape) * EPS * singular.max(initial=0.0)].T
    Z = (X / unit) @ V
    sums = class_sums(ArrayBlocks(Block(0, Z, codes, s)), n_classes, shared=True)
    rest = ridge * float((spread**2).mean())
    T = np.ldexp(sums.within / s.sum(), sums.exponent + sums.exponent[:, None])
    T = T + rest * np.eye(len(T))
    root = plain_root(T, 0.0 if ridge > 0.0 else tol)
    centres = np.ldexp(sums.mean, sums.exponent)
    scatters = Scatters(weight, centres, T, root, rest)
    with np.errstate(over="ignore", under="ignore"):
        return RowSpace(
            scatters,
            V,
            np.ldexp(unit, power),
            np.ldexp(middle, power),
            np.ldexp(np.where(seen[:, None], mean, 0.0), power),
            float((np.log(unit) + np.log(2.0) * power)[varies].sum()),
        )


def plain_root(T: Floats, tol: float) -> InverseRoot:
    """The root of a covariance whose coordinates have one unit."""
    values, V = np.linalg.eigh((T + T.T) / 2.0)
    top = float(values.max(initial=0.0))
    keep = values > max(tol**2, len(T) * EPS * top)
    R = (V[:, keep] / np.sqrt(values[keep])).T
    return InverseRoot(np.ascontiguousarray(R), float(np.log(values[keep]).sum()), int(keep.sum()))
