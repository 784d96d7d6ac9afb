"""Optimal quantization of a density in the plane by Lloyd's algorithm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from fenchel.convex.certificate import Certificate, warn_outside
from fenchel.convex.partition.spectral_bounds import LARGEST, SMALLEST
from fenchel.data.display.result_table import Tabular
from fenchel.geometry.voronoi.cells import cells_of, centres_in
from fenchel.geometry.voronoi.density import PlaneDensity
from fenchel.geometry.voronoi.function_density import FunctionDensity
from fenchel.geometry.voronoi.image_density import ImageDensity
from fenchel.models.cluster.lloyd import Lloyd
from fenchel.models.cluster.quantization.distortion import CellsAt, DensityDistortion
from fenchel.solve.minimise import minimise

Floats = NDArray[np.float64]
# What the error of the integrals may add to the residual, over tol; at the end a fiftieth of it.
ACCURACY, SHARP = 0.25, 0.02


@dataclass(frozen=True, eq=False)
class DensityQuantization(Tabular):
    """A density in the plane, represented by k centres with the masses of their cells.

    Attributes
    ----------
    centers : array (k, 2)
    cells : tuple of k arrays (m, 2)
        Corners of each Voronoi cell within the domain, counterclockwise.
    masses : array (k,)
        ∫ f over each cell.
    energies : array (k,)
        ∫ f ‖x - c‖² over each cell.
    mass_errors, energy_errors : array (k,)
        By how much these may be off: rounding alone for an image, an estimate for a function.
    domain : array (m, 2)
        Its corners.
    history : tuple of Certificate
        The energy at the start and after each step; it never rises, but for errors of integrals.
    certificate : Certificate
        The last of them, of kind "stationary": its residual is the root mean square of the paths
        from centres to centroids over that of the density's distances to its centres, with the
        error of the integrals on top. It says nothing of other starts. For an image it has a bound
        that no k centres can beat: near where the density is even, loose where it has peaks.
    converged : bool
        Whether the residual is at most tol.
    steps : int
    n_reseeds : int
        Centres without mass that were moved.
    """

    centers: Floats
    cells: tuple[Floats, ...]
    masses: Floats
    energies: Floats
    mass_errors: Floats
    energy_errors: Floats
    domain: Floats
    history: tuple[Certificate, ...]
    certificate: Certificate
    converged: bool
    steps: int
    n_reseeds: int

    @property
    def energy(self) -> float:
        """Σ ∫ f ‖x - c‖²."""
        return self.certificate.value

    @property
    def error(self) -> float:
        """By how much `energy` may be off."""
        return float(self.energy_errors.sum())

    @property
    def weights(self) -> Floats:
        """The masses as shares: the quantizer is the law of these weights at the centres."""
        most = float(self.masses.max())
        shares = self.masses / most
        return np.asarray(shares / shares.sum())

    def columns(self) -> dict[str, Any]:
        """One row a cell."""
        return {
            "x": self.centers[:, 0],
            "y": self.centers[:, 1],
            "mass": self.masses,
            "energy": self.energies,
            "corners": np.array([len(cell) for cell in self.cells]),
        }

    def caption(self) -> str:
        return f"{len(self.centers)} cells after {self.steps} steps: {self.certificate}."


def quantize_density(
    density: Any,
    k: int,
    domain: Sequence[float] | Any = None,
    *,
    init: Any = "random",
    empty: Literal["teleport", "drop"] = "teleport",
    tol: float = 0.01,
    max_iter: int = 1000,
    random_state: Any = 0,
) -> DensityQuantization:
    """k centres in the plane whose squared distances to a density are least, by Lloyd's algorithm.

    J(c) = ∫ f(x) minⱼ ‖x - cⱼ‖² dx

    Every centre moves to the centroid of its Voronoi cell until none is far from it. Cells are
    exact polygons. Integrals over them are exact for an image; for a function they are made by
    adaptive quadrature on triangles, with an estimate of the error. J never rises, but for that
    error. For a uniform density the cells of many centres become regular hexagons, nearly
    everywhere.

    Parameters
    ----------
    density : function of (x, y), or array (h, w)
        A function of two arrays that gives their densities, not negative; or the masses of the
        pixels of an image, row 0 at the bottom (`np.flipud` of a picture that is stored from its
        top), which stretches over the rectangle around the domain.
    k : int
    domain : (x0, x1, y0, y1), or the corners (m, 2) of a convex polygon
        For an image by default (0, w, 0, h).
    init : "random" or array (k, 2), default "random"
        "random": places drawn by the density.
    empty : {"teleport", "drop"}
        What becomes of a centre whose cell has no mass, as in `KMeans`: it goes to a costly place
        in a cell of highest energy, or it is dropped, and k with it.
    tol : float, default 0.01
        Of the residual: a further step would lower J by about tol² times J. Lloyd's steps become
        short long before they end; a smaller tol gives more regular cells.
    max_iter : int, default 1000
    random_state : int, RandomState or None, default 0

    Returns
    -------
    DensityQuantization

    References
    ----------
    Du, Faber and Gunzburger, Centroidal Voronoi tessellations, SIAM Review 41 (1999). Gersho,
    Asymptotically optimal block quantization, IEEE Trans. Inf. Theory 25 (1979).

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import quantize_density
    >>> found = quantize_density(np.ones((1, 2)), 2, init=[[0.2, 0.5], [0.9, 0.6]], tol=1e-9)
    >>> found.centers.round(6).tolist(), found.masses.round(6).tolist()
    ([[0.5, 0.5], [1.5, 0.5]], [1.0, 1.0])
    >>> round(found.energy, 12), found.certificate.kind
    (0.333333333333, 'stationary')
    """
    _check(k, empty, tol, max_iter)
    plane: PlaneDensity
    if callable(density):
        plane = FunctionDensity.of(density, domain)
    else:
        plane = ImageDensity.of(density, domain)
    whole = plane.moments(cells_of(np.zeros((1, 2)), plane.domain), 1.0)
    if not float(whole.mass[0]) > 0.0:
        raise ValueError("the density has no mass in the domain")
    problem = DensityDistortion(plane, _start(plane, k, init, random_state), ACCURACY * tol)
    solver = Lloyd(teleport=empty == "teleport")
    solution = minimise(problem, solver, tol=tol, max_steps=max_iter)
    sharp = replace(problem, accuracy=SHARP * problem.accuracy)
    seen = sharp.evaluate(solution.point)
    last = solution.certificate
    final = replace(sharp.certify(solution.point, seen), steps=last.steps, seconds=last.seconds)
    if solution.converged and not final.closed(tol):
        warn_outside(f"more exact integrals: {final.reached()}, asked tol={tol:.2g}. Lower tol.")
    return _found(plane, seen, (*solution.history[:-1], final), tol, solution.state.memory.reseeds)


def _check(k: Any, empty: Any, tol: Any, max_iter: Any) -> None:
    for name, value in (("k", k), ("max_iter", max_iter)):
        if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
            raise ValueError(f"{name} must be a whole number, 1 or more, got {value!r}")
    if empty not in ("teleport", "drop"):
        raise ValueError(f"empty must be 'teleport' or 'drop', got {empty!r}")
    if not isinstance(tol, Real) or not 0.0 < float(tol) < math.inf:
        raise ValueError(f"tol must be a number above 0, got {tol!r}")


def _start(plane: PlaneDensity, k: int, init: Any, random_state: Any) -> Floats:
    """The first centres, in units."""
    if isinstance(init, str):
        if init != "random":
            raise ValueError(f"init must be 'random' or an array of centres ({k}, 2), got {init!r}")
        seed = check_random_state(random_state).randint(2**31 - 1, size=4)
        return plane.draw(k, np.random.default_rng(seed))
    C = centres_in(plane.domain, init)
    if len(C) != k:
        raise ValueError(f"init has {len(C)} centres, and k={k}")
    return C


def _found(
    plane: PlaneDensity, seen: CellsAt, history: tuple[Certificate, ...], tol: float, reseeds: int
) -> DensityQuantization:
    """The result in the given units."""
    domain, moments = plane.domain, seen.moments
    of_mass = plane.mass_exponent
    of_energy = of_mass + 2 * domain.exponent

    def scaled(values: Any, exponent: int) -> Floats:
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(np.ldexp(values, exponent))

    def certificate(one: Certificate) -> Certificate:
        value, bound = scaled([one.value, one.bound], of_energy).tolist()
        if one.bound > 0.0:  # rounded down, where no float holds it
            bound = min(bound, LARGEST) if bound >= SMALLEST else 0.0
        return replace(one, value=value, bound=bound)

    seen_at = [certificate(one) for one in history]
    return DensityQuantization(
        centers=domain.outward(moments.cells.centers),
        cells=tuple(map(domain.outward, moments.cells.polygons())),
        masses=scaled(moments.mass, of_mass),
        energies=scaled(moments.second, of_energy),
        mass_errors=scaled(moments.errors[:, 0], of_mass),
        energy_errors=scaled(moments.errors[:, 2], of_energy),
        domain=domain.corners,
        history=tuple(seen_at),
        certificate=seen_at[-1],
        converged=history[-1].closed(tol),
        steps=history[-1].steps,
        n_reseeds=reseeds,
    )
