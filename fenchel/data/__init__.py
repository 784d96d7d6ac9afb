"""Where rows come from, how one sums over them, and rows seen as a linear map."""

from fenchel.data.blocks import Block, Blocks, Totals, threads
from fenchel.data.cache import FileBlocks, TableFileError
from fenchel.data.files import scan
from fenchel.data.moments import ClassMoments, Moments
from fenchel.data.table import as_blocks

__all__ = [
    "Block",
    "Blocks",
    "ClassMoments",
    "FileBlocks",
    "Moments",
    "TableFileError",
    "Totals",
    "as_blocks",
    "scan",
    "threads",
]
