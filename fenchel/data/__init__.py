"""Where rows come from, how one sums over them, and rows seen as a linear map.

Names are loaded from their modules when first used: modules of this room that need numpy alone are
then cheap to import.
"""

from importlib import import_module
from typing import Any

_HOME = {
    "Block": "blocks",
    "Blocks": "blocks",
    "ClassMoments": "moments.class_moments",
    "FileBlocks": "files.cache",
    "Moments": "moments.class_moments",
    "TableFileError": "files.cache",
    "Totals": "blocks",
    "as_blocks": "intake",
    "scan": "files.scan",
    "threads": "blocks",
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'fenchel.data' has no attribute {name!r}")
    return getattr(import_module(f"fenchel.data.{_HOME[name]}"), name)
