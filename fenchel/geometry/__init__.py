"""Distances, kernels, pairs of rows and points by tiles, neighbours.

Kernels              the page `fenchel.kernels`
Widths               scale_gamma, median_gamma
Distances            squared_distances, absolute_distances
Pairs by tiles       fold_pairs with Nearest, Count, WeightedSum, LogSumExp      (TileFold)
On an accelerator    DeviceGaussian: Kv, K'u and K'(Kv) of tensors
Cells                voronoi_cells, Cells

In parentheses the class to extend. Names are loaded from their modules when first used.
"""

from fenchel.data.display.public_page import public_page

__all__, __getattr__, __dir__ = public_page(
    __name__,
    {
        "bandwidth": ("median_gamma", "scale_gamma"),
        "distance": ("absolute_distances", "squared_distances"),
        "radial.on_device": ("DeviceGaussian",),
        "tiles": ("Count", "LogSumExp", "Nearest", "TileFold", "WeightedSum", "fold_pairs"),
        "voronoi.cells": ("Cells", "voronoi_cells"),
    },
)
