"""Where rows come from, how one sums over them, and rows seen as a linear map.

Tables       as_blocks (arrays, frames, sparse matrices, tensors, dask), scan (files), Blocks, Block
Statistics   Moments, ClassMoments, Totals: `blocks.reduce(statistic)` is the only pass over rows
Linear maps  Design: MatrixDesign, GramDesign, KernelDesign
Threads      threads

Names are loaded from their modules when first used: modules of this room that need numpy alone are
then cheap to import.
"""

from fenchel.data.display.public_page import public_page

__all__, __getattr__, __dir__ = public_page(
    __name__,
    {
        "blocks": ("Block", "Blocks", "Totals", "threads"),
        "moments.class_moments": ("ClassMoments", "Moments"),
        "files.scan": ("TableFileError", "scan"),
        "intake": ("as_blocks",),
        "design.matrix": ("Design", "MatrixDesign"),
        "design.kernel": ("GramDesign", "KernelDesign"),
    },
)
