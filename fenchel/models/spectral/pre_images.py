"""Pre-images: points whose features are near to a combination of features, Ψ = Σᵢ γᵢ κ(xᵢ, ·).

    Gaussian kernel, min over z of |κ(z, ·) - Ψ|² = 1 - 2 g(z) + |Ψ|²,  g(z) = Σᵢ γᵢ k(z, xᵢ):

    z ← Σᵢ γᵢ k(z, xᵢ) xᵢ / g(z)

Linear kernel: z = Σᵢ γᵢ xᵢ, whose features are Ψ itself.

The step of the fixed point is one along the gradient of g, uphill wherever g(z) > 0; with negative
γ it may lead too far, and is then halved. So no step lowers g, and what is found is never worse
than the start. Cost: that of the kernel with all xᵢ, and O(nd), a step and point.

Reference: Mika, Schölkopf, Smola, Müller, Scholz and Rätsch, Kernel PCA and de-noising in feature
spaces, NIPS 11 (1999); Kwok and Tsang, The pre-image problem in kernel methods, IEEE Trans. Neural
Networks 15 (2004).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.design.kernel import kernel_product
from fenchel.data.parallel import one_blas_thread, parallel_map
from fenchel.geometry.distance import rows_in_order
from fenchel.geometry.kernel.vector_kernels import Gaussian, KernelFunction, Linear
from fenchel.geometry.search.euclidean import EuclideanSearch
from fenchel.models.kernel.ridge import KernelRidge
from fenchel.models.spectral.centred.kernels import (
    CentredKernel,
    LandmarkFeatures,
    LinearFeatures,
)

Floats = NDArray[np.float64]
STEPS = 500
HALVINGS = 30
# A step of this share of 1/√(2γ), the width of the kernel, changes g in its last digits alone.
STILL = 1e-9
TOGETHER = 64  # points that move together: their values of the kernel are one tile


def ridge_coefficients(
    kernel: KernelFunction, Z: NDArray[Any], points: Any, alpha: float, s: Floats | None
) -> NDArray[Any]:
    """C of the regression Σⱼ cⱼ k(z, zⱼ) of points on their coordinates."""
    if Z.shape[1] == 0:
        raise ValueError("pre-images need at least one direction, and these rows have none")
    ridge = KernelRidge(alpha, kernel=kernel)
    return np.asarray(ridge.fit(Z, rows_in_order(points), sample_weight=s).dual_coef_)


@dataclass(frozen=True, slots=True, eq=False)
class PreImages:
    """The points that coordinates stand for.

    memory, directions: what continues the unit directions v, and their coefficients; Z, dual: the
    ridge regression; unit: of the coordinates, in those of projections.
    """

    memory: CentredKernel | LinearFeatures | LandmarkFeatures
    directions: Floats = field(repr=False)
    Z: Floats = field(repr=False)
    dual: Floats = field(repr=False)
    unit: Floats

    def ridge(self, X: Floats) -> Floats:
        """The predictions of the ridge regression."""
        return kernel_product(self.memory.kernel, X * self.unit, self.Z, self.dual)

    def nearest(self, X: Floats) -> Floats:
        """Points with features nearer to those of the coordinates, for Gaussian and linear kernels:
        from the better of the ridge pre-image and the row of the nearest coordinates."""
        memory, kernel = self.memory, self.memory.kernel
        if isinstance(memory, LinearFeatures):
            return memory.pre_images(self.directions, X * self.unit)
        points, gammas = memory.expansion(self.directions, X * self.unit)
        if not isinstance(kernel, Gaussian):
            return np.asarray(gammas @ points)
        points = rows_in_order(points).astype(np.float64, copy=False)
        start = self.ridge(X)
        other = points[EuclideanSearch(self.Z).nearest(X * self.unit, 1)[0][:, 0]]
        near = nearness(kernel, points, gammas, start) >= nearness(kernel, points, gammas, other)
        return fixed_points(kernel, points, gammas, np.where(near[:, None], start, other))


def refuse_fixed_point(kernel: KernelFunction) -> None:
    """An error for a kernel whose nearest pre-images are not known."""
    if not isinstance(kernel, Gaussian | Linear):
        raise ValueError(
            f"pre_image='fixed_point' is for Gaussian and linear kernels, and {kernel!r} is "
            "another: take pre_image='ridge'"
        )


def fixed_points(kernel: Gaussian, points: Floats, gammas: Floats, starts: Floats) -> Floats:
    """The pre-image of each row of γ, (m, n), from its start, (m, d).

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.geometry.kernel.vector_kernels import Gaussian
    >>> from fenchel.models.spectral.pre_images import fixed_points
    >>> x = np.array([[0.0], [1.0]])
    >>> fixed_points(Gaussian(0.1), x, np.array([[0.5, 0.5]]), np.array([[0.9]])).round(6).tolist()
    [[0.5]]
    """
    out = np.empty(starts.shape)

    def work(lo: int) -> None:
        some = slice(lo, lo + TOGETHER)
        with one_blas_thread():
            out[some] = _moved(kernel, points, gammas[some], starts[some])

    with one_blas_thread():
        parallel_map(work, range(0, len(starts), TOGETHER))
    return out


def nearness(kernel: Any, points: Any, gammas: Floats, Z: Any) -> Floats:
    """g(z) of each point and its own γ."""
    return np.asarray(np.einsum("ij,ij->i", gammas, kernel.tile(Z, points)))


def _moved(kernel: Gaussian, points: Floats, gammas: Floats, starts: Floats) -> Floats:
    Z = np.array(starts, np.float64)
    width = 1.0 / np.sqrt(2.0 * kernel.gamma)
    active = np.arange(len(Z))
    for _ in range(STEPS):
        here = Z[active]
        weights = gammas[active] * kernel.tile(here, points)
        g = weights.sum(axis=1)
        uphill = g > 0.0
        active, here, weights, g = active[uphill], here[uphill], weights[uphill], g[uphill]
        if not len(active):
            break
        target = (weights @ points) / g[:, None]
        moved, better = _uphill(kernel, points, gammas[active], here, target, g)
        Z[active] = moved
        still = np.linalg.norm(moved - here, axis=1) <= STILL * width
        active = active[better & ~still]
        if not len(active):
            break
    return Z


def _uphill(
    kernel: Gaussian, points: Floats, gammas: Floats, here: Floats, target: Floats, g: Floats
) -> tuple[Floats, NDArray[np.bool_]]:
    """Points on the way to their targets where g is not lower than here, and whether there are
    such."""
    reached, better = here.copy(), np.zeros(len(here), bool)
    waiting, share = np.arange(len(here)), 1.0
    for _ in range(HALVINGS):
        tried = here[waiting] + share * (target[waiting] - here[waiting])
        good = nearness(kernel, points, gammas[waiting], tried) >= g[waiting]
        reached[waiting[good]] = tried[good]
        better[waiting[good]] = True
        waiting, share = waiting[~good], 0.5 * share
        if not len(waiting):
            break
    return reached, better
