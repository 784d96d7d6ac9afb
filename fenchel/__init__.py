"""Classical statistical learning that proves its answers.

The public page: names only. Each is loaded from its room when first used, so that
`import fenchel` costs next to nothing.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_ROOMS = {
    "fenchel.data.blocks": ("Block", "Blocks", "Totals", "threads"),
    "fenchel.data.intake": ("as_blocks",),
    "fenchel.data.files.scan": ("scan", "TableFileError"),
    "fenchel.data.moments.class_moments": ("ClassMoments", "Moments"),
    "fenchel.data.design.matrix": ("Design", "MatrixDesign"),
    "fenchel.data.design.kernel": ("GramDesign", "KernelDesign"),
    "fenchel.convex.loss.distance": (
        "Absolute",
        "EpsilonInsensitive",
        "Huber",
        "Pinball",
        "Square",
        "SquaredEpsilonInsensitive",
    ),
    "fenchel.convex.loss.margin": ("Exponential", "Logistic"),
    "fenchel.convex.loss.hinge": ("Hinge", "ModifiedHuber", "SquareMargin", "SquaredHinge"),
    "fenchel.convex.loss.multiclass": ("MulticlassHinge", "Multinomial"),
    "fenchel.convex.penalty": ("L1", "L2", "NonNegative"),
    "fenchel.convex.loss.calibration": ("excess_risk_bound", "is_calibrated", "psi"),
    "fenchel.convex.certificate": ("Certificate",),
    "fenchel.convex.convergence": ("NotCertified",),
    "fenchel.convex.problem": ("Problem",),
    "fenchel.solve.minimise": ("Solution", "minimise"),
    "fenchel.solve.smooth.newton": ("Newton",),
    "fenchel.solve.piecewise.augmented_lagrangian": ("AugmentedLagrangian",),
    "fenchel.solve.smooth.newton_cg": ("NewtonCG",),
    "fenchel.solve.sparse.coordinate_descent": ("CoordinateDescent",),
    "fenchel.solve.smooth.gradient_descent": ("GradientDescent", "convergence_profile"),
    "fenchel.solve.separation.hard_margin": ("HardMargin", "hard_margin"),
    "fenchel.geometry.voronoi.cells": ("voronoi_cells",),
    "fenchel.app.errors": ("ModelFileError",),
    "fenchel.app.modelfile.write": ("save",),
    "fenchel.app.modelfile.read": ("load", "open_model"),
    "fenchel.app.report.python": ("report",),
    "fenchel.app.choose_k": ("choose_k",),
}
# Rooms whose page is public as a whole.
_PAGES = ("models", "score")
_PARTS = {
    "kernels": "fenchel.geometry.kernels",
    "models": "fenchel.models",
    "score": "fenchel.score",
    "show": "fenchel.show",
    "testing": "fenchel.testing",
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}
for _room in _PAGES:
    _HOME |= dict.fromkeys(import_module(f"fenchel.{_room}").__all__, f"fenchel.{_room}")

__all__ = ["__version__", *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return import_module(_PARTS[name])
    if name not in _HOME:
        raise AttributeError(f"module 'fenchel' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
