"""Where rows come from, how one sums over them, and rows seen as a linear map."""

from fenchel.data.blocks import Block, Blocks, Totals, threads
from fenchel.data.moments import ClassMoments, Moments
from fenchel.data.table import as_blocks

__all__ = ["Block", "Blocks", "ClassMoments", "Moments", "Totals", "as_blocks", "threads"]
