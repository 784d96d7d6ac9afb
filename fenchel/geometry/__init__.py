"""Distances, kernels, pairs of rows and points by tiles, neighbours.

Kernels of numbers   Linear, Polynomial, Gaussian, Laplacian, Matern, Cosine, Sigmoid, Precomputed
Kernels of strings   Spectrum, Mismatch, Subsequence, EditDistance
Their algebra        Sum, Product, Scaled, Centred      (KernelFunction, Dot, Radial, StringKernel)
Widths               scale_gamma, median_gamma
Distances            squared_distances, absolute_distances
Pairs by tiles       fold_pairs with Nearest, Count, WeightedSum, LogSumExp      (TileFold)
Cells                voronoi_cells, Cells

In parentheses the classes to extend. `fenchel.kernels` is the page of the kernels alone. Names are
loaded from their modules when first used.
"""

from fenchel.data.display.public_page import public_page

__all__, __getattr__, __dir__ = public_page(
    __name__,
    {
        "kernels": (
            "Centred",
            "Cosine",
            "Dot",
            "EditDistance",
            "Gaussian",
            "KernelFunction",
            "Laplacian",
            "Linear",
            "Matern",
            "Mismatch",
            "Polynomial",
            "Precomputed",
            "Product",
            "Radial",
            "Scaled",
            "Sigmoid",
            "Spectrum",
            "StringKernel",
            "Subsequence",
            "Sum",
        ),
        "bandwidth": ("median_gamma", "scale_gamma"),
        "distance": ("absolute_distances", "squared_distances"),
        "tiles": ("Count", "LogSumExp", "Nearest", "TileFold", "WeightedSum", "fold_pairs"),
        "voronoi.cells": ("Cells", "voronoi_cells"),
    },
)
