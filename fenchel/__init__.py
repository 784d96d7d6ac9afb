"""Classical statistical learning that proves its answers.

Estimators          fenchel.models      LogisticRegression, Lasso, SVC, KMeans, PCA, certify, ...
Judgement           fenchel.score       auc, roc_curve, cross_validate, compare_models, ...
Figures             fenchel.show        roc, calibration, convergence, embedding, ...
Losses, penalties   fenchel.convex      Logistic, Huber, L1, Problem, Certificate, ...
Solvers             fenchel.solve       minimise, Newton, CoordinateDescent, ...
Kernels             fenchel.kernels     Gaussian, Matern, Spectrum, ...
Tables              fenchel.data        scan, as_blocks, Blocks, ...
Laws                fenchel.testing     check_loss, check_penalty, check_kernel, check_solver, ...
Files and reports   save, load, open_model, report, choose_k

`help(fenchel.score)` and its like show a page each; names of the rooms are here too
(`fenchel.auc`), but for the kernels and the figures. Each is loaded when first used, so that
`import fenchel` costs next to nothing.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_ROOMS = {
    "fenchel.geometry": ("voronoi_cells",),
    "fenchel.app.errors": ("ModelFileError",),
    "fenchel.app.modelfile.write": ("save",),
    "fenchel.app.modelfile.read": ("load", "open_model"),
    "fenchel.app.report.python": ("report",),
    "fenchel.app.choose_k": ("choose_k",),
}
# Rooms whose page is public as a whole; of two with one name (ElasticNet) the later counts.
_PAGES = ("data", "convex", "solve", "models", "score")
_PARTS = {
    "geometry": "fenchel.geometry",
    "kernels": "fenchel.geometry.kernels",
    "show": "fenchel.show",
    "testing": "fenchel.testing",
    **{page: f"fenchel.{page}" for page in _PAGES},
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
    return sorted([*__all__, *_PARTS])
