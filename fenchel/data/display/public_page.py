"""The public page of a package: names, each loaded from its module when first used (PEP 562).

    __all__, __getattr__, __dir__ = public_page(__name__, {"module": ("Name", "function")})

`dir` lists these names and nothing else. A function may have the name of its module: the page shows
the function, also after the module was imported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any


class _Page(ModuleType):
    """A package whose public names stay what they are where a module of that name is imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType) and name in vars(self).get("__all__", ()):
            value = vars(value)[name]
        super().__setattr__(name, value)


def public_page(
    package: str, modules: Mapping[str, tuple[str, ...]]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """`__all__`, `__getattr__` and `__dir__` of a package from the names in its modules."""
    homes = {name: f"{package}.{module}" for module, names in modules.items() for name in names}
    page = sys.modules[package]
    page.__class__ = _Page

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name]), name)
        setattr(page, name, value)
        return value

    return sorted(homes), load, lambda: sorted(homes)
