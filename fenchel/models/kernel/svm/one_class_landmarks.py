"""Machines of one class over landmarks: the dual of all rows, for the kernel of the features.

    max over α of -α'ΦΦ'α/2,   0 ≤ αᵢ ≤ sᵢ,   Σ αᵢ = ν Σ sᵢ;   w = Φ'α,   c = Bw

α is a dual point of the problem over all functions of the kernel too, whose K takes the place of
ΦΦ', and f = Σ cⱼ k(zⱼ, ·) one of its points.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.convex.loss.one_class import OneClass
from fenchel.data.blocks import Block
from fenchel.data.design.kernel import KernelDesign
from fenchel.data.in_memory import ArrayBlocks
from fenchel.geometry.kernel.vector_kernels import Linear
from fenchel.models.kernel.gram_rows import GramRows
from fenchel.models.kernel.landmark_rows import LandmarkRows
from fenchel.models.kernel.svm.dual_fit import DualFit, fit_one_class

Floats = NDArray[np.float64]


def one_class_on_features(estimator: Any, rows: LandmarkRows, s: Floats) -> tuple[DualFit, Floats]:
    """The machine, its coefficients at the landmarks and 0 at other rows, and α."""
    features = rows.features
    phi = features.table(ArrayBlocks(Block(0, rows.blocks.gather().X))).gather().X
    gram = GramRows(Linear(), phi, rows.outside, True)
    found = fit_one_class(estimator, gram, float(estimator.nu), s)
    beta = np.zeros(len(phi))
    beta[rows.numbers] = features.basis @ (phi.T @ found.beta)
    return replace(found, beta=beta), found.beta


def one_class_among_all(
    rows: LandmarkRows, s: Floats, nu: float, beta: Floats, b: float, alpha: Floats
) -> Certificate:
    """The certificate of f = Σ βᵢ k(xᵢ, ·) and ρ = -b among all functions of the kernel."""
    X = rows.blocks.gather().X
    design = KernelDesign(rows.features.kernel, ArrayBlocks(Block(0, X, np.zeros(len(s)), s)))
    problem = OneClass(design, nu)
    bound = problem.bound(alpha, problem.scores(alpha), -b)
    return problem.proof(beta, problem.scores(beta), -b, bound)
