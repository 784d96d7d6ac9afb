"""The kernels of this library by name: `fenchel.kernels`.

Of rows of numbers: Linear, Polynomial, Gaussian, Laplacian, Matern, Cosine, Sigmoid, and
Precomputed for a matrix that is given. Of strings, str or bytes, one a row: Spectrum, Mismatch,
Subsequence and EditDistance. Kernels are values that compose: sums, products, multiples, and
Centred for features whose mean over some rows is zero. `fenchel.testing.check_kernel` holds any
kernel, also one of your own, to the laws of all.

Every estimator with a kernel takes rows of strings with a kernel of strings:

>>> from fenchel import SVC, kernels
>>> X = ["ACGTATAATGC", "GGTATAATCCA", "TTGTATAATAG", "CATGGCGCCTA", "GGCGCCATTAC", "ATCAGGCGCCG"]
>>> y = ["box", "box", "box", "site", "site", "site"]
>>> kernel = kernels.Spectrum(3) + 0.5 * kernels.Mismatch(4, 1, alphabet="ACGT")
>>> model = SVC(kernel=kernel).fit(X, y)
>>> model.predict(["CCTATAATGGA", "TAGGCGCCTTT"]).tolist()
['box', 'site']
>>> model.certificate_.relative_gap < 1e-3
True

Rows are lists or arrays of strings, or a column of pandas, polars or pyarrow; all are str, compared
by their code points, or all are bytes. Strings are compared as they are: one normalisation form of
Unicode, one case of letters, is for whoever gives them.
"""

from __future__ import annotations

from fenchel.geometry.kernel.centring import Centred
from fenchel.geometry.kernel.vector_kernels import (
    Cosine,
    Dot,
    Gaussian,
    KernelFunction,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    Product,
    Radial,
    Scaled,
    Sigmoid,
    Sum,
)
from fenchel.geometry.strings.edit_distance import EditDistance
from fenchel.geometry.strings.mismatch import Mismatch
from fenchel.geometry.strings.spectrum import Spectrum
from fenchel.geometry.strings.string_kernel import StringKernel
from fenchel.geometry.strings.subsequence import Subsequence

__all__ = [
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
]
