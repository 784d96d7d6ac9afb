"""The losses and penalties by name, read off the modules that define them.

A new class in one of these modules is found here: estimators know its spelled name, and model
files its fields.
"""

from __future__ import annotations

import inspect
import re
from types import ModuleType
from typing import Any

from fenchel.convex import penalty
from fenchel.convex.loss import distance, hinge, margin, multiclass
from fenchel.convex.loss.base import Loss
from fenchel.convex.penalty import Penalty

LOSSES = (distance, margin, hinge, multiclass)


def losses(kind: type = Loss) -> dict[str, Any]:
    """The losses of a kind (Distance, Margin or Joint) by class name."""
    return _defined(LOSSES, kind)


def penalties() -> dict[str, Any]:
    """The penalties by class name."""
    return _defined((penalty,), Penalty)


def by_spelled_name(kind: type) -> dict[str, Any]:
    """The losses of a kind by the names that estimators take: "squared_hinge" for SquaredHinge;
    "square" is the name of both squares, that of a residual and that of a margin."""
    return {_spelled(name): loss for name, loss in losses(kind).items()}


def _spelled(name: str) -> str:
    return "_".join(re.findall(r"[A-Z][a-z]*", name.removesuffix("Margin"))).lower()


def _defined(modules: tuple[ModuleType, ...], kind: type) -> dict[str, Any]:
    return {
        name: found
        for module in modules
        for name, found in vars(module).items()
        if inspect.isclass(found) and found.__module__ == module.__name__
        if issubclass(found, kind) and not inspect.isabstract(found)
    }
