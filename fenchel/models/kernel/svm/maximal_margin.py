"""The hard margin in a kernel's space: the least ‖f‖²/2 with yᵢ(f(xᵢ) + b) ≥ 1, or none at all.

The rows of L, K = LL', are the rows of a table on which `hard_margin` finds the nearest points of
the two hulls; what is said of them is computed anew from K. With α ≥ 0 and Σ αᵢyᵢ = 0, f = Σ αᵢyᵢ
k(xᵢ, ·),

    ‖f‖²/2 ≥ (Σ α)² / (2 α'Qα),   Qᵢⱼ = yᵢyⱼ k(xᵢ, xⱼ),   for every feasible f;

a combination with α'Qα = 0 is a point common to both hulls, and then there is no such f.

Rounding: scores are off by ζ and ‖f‖² by κ(Σ|β|√S)², as `convex.certification` has them. The margin
is taken ζ smaller. A dual point has Σ αᵢyᵢ = 0 exactly where the heavier class is scaled by 1 - t:
f is then longer by at most t Σ|β|√S, and Σ α loses no more than t of itself.

Reference: Bennett and Bredensteiner, Duality and geometry in SVM classifiers, ICML (2000).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate, warn_outside
from fenchel.convex.certification.rounding import UNDERFLOW, down, gamma, up
from fenchel.convex.loss.hinge import Hinge
from fenchel.data.arrays import Array
from fenchel.data.blocks import Block
from fenchel.data.design.kernel import KernelExpansion
from fenchel.data.in_memory import ArrayBlocks
from fenchel.geometry.kernel.vector_kernels import Linear
from fenchel.models.kernel.gram_rows import GramRows
from fenchel.models.kernel.svm.dual_fit import DualFit, fit_dual
from fenchel.models.online.perceptron_proof import NotSeparable
from fenchel.solve.separation.hard_margin import Combination, HardMargin, hard_margin

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
SOFT = 1e3  # C, over the largest k(x, x), of the fit that stands in where nothing separates


def fit_maximal_margin(
    estimator: Any, gram: GramRows, y: Floats, s: Floats, members: Numbers, between: str
) -> tuple[DualFit, Combination]:
    """The machine of maximal margin between the members, and the combination that bounds it."""
    if not gram.convex:
        raise ValueError("C=inf needs a positive semi-definite kernel: choose one, or a finite C")
    design = gram.design(y, s, members)
    if isinstance(gram.kernel, Linear):
        blocks: Any = ArrayBlocks(Block(0, gram.rows[members], y, s), None)
    else:
        blocks = design.explicit().design.blocks
    found = hard_margin(blocks)
    proof = replace(found.combination, rows=members[found.combination.rows])
    if found.separable:
        beta, known = np.zeros(len(y)), found.combination
        beta[known.rows] = y[known.rows] * known.coefficients / known.residual / known.residual
        beta, b, certificate = certify_margin(design, beta, y, s)
        if math.isfinite(certificate.value):
            closed = certificate.relative_gap <= estimator.tol
            return DualFit(beta, b, certificate, (certificate,), found.passes, closed), proof
    _warn(found, between)
    C = SOFT / float(np.abs(design.diagonal()).max(initial=np.finfo(float).tiny))
    soft = fit_dual(estimator, gram, Hinge(), C, y, s, members)
    least = Certificate(math.inf, _least_square(gram, design, found, y), "duality")
    return replace(soft, certificate=least, history=(least,), converged=False), proof


def _least_square(gram: GramRows, design: KernelExpansion, found: HardMargin, y: Floats) -> float:
    """At most ‖f‖²/2 of every f of margin 1, by the combination."""
    if isinstance(gram.kernel, Linear):  # whose rows are those of the search
        bound = 0.5 / found.high / found.high if found.high > 0.0 else math.inf
        return down(min(bound, 0.5 * float(np.finfo(float).max)), 4)
    rows, beta = found.combination.rows, np.zeros(len(y))
    beta[rows] = y[rows] * found.combination.coefficients
    return _margin_bound(design, beta, y, float(beta @ design.map_rows((beta, 0.0), _plain)))


def certify_margin(
    design: KernelExpansion, beta: Floats, y: Floats, s: Floats
) -> tuple[Floats, float, Certificate]:
    """β and b brought to margin 1, and the proof of ‖f‖²/2; its residual is the largest |y(f + b) -
    1| of a support vector. A value of inf where β separates nothing."""
    f = design.map_rows((beta, 0.0), _plain)
    counted = s > 0.0
    least = float(f[counted & (y > 0.0)].min())
    most = float(f[counted & (y < 0.0)].max())
    b = -0.5 * (least + most)
    terms = int(np.count_nonzero(beta))  # a term of zero rounds nothing
    zeta = design.score_size((beta, 0.0)) * (gamma(terms + 4) + design.entry_error)
    margin = 0.5 * (least - most) - zeta
    size = float(beta @ f)
    if not margin > 0.0 or not size > 0.0:
        return beta, b, Certificate(math.inf, 0.0, "duality")
    support = beta != 0.0
    residual = float(np.abs(y * (f + b) / margin - 1.0)[support].max())
    value = 0.5 * size / margin / margin
    error = value * (_share(design, beta) * design.expansion_size(beta) ** 2 / size + gamma(16))
    bound = _margin_bound(design, beta, y, size)
    # The bound pays for the error of the value, so that the gap covers both.
    proof = Certificate(value, max(down(bound - error, 2), 0.0), "duality", residual=residual)
    return beta / margin, b / margin, proof


def _share(design: KernelExpansion, beta: Floats) -> float:
    """κ."""
    return gamma(2 * int(np.count_nonzero(beta)) + 8) + 2.0 * design.entry_error


def _margin_bound(design: KernelExpansion, beta: Floats, y: Floats, size: float) -> float:
    """At most ‖f‖²/2 of every f of margin 1, by β, or what of it is on its own side; size: β'Kβ as
    computed."""
    if (y * beta < 0.0).any():
        return 0.0
    up_, down_ = float(beta[beta > 0.0].sum()), -float(beta[beta < 0.0].sum())
    heavy, share = max(up_, down_), gamma(int(np.count_nonzero(beta)) + 8)
    off = abs(up_ - down_) + share * heavy
    t = min(off / heavy, 1.0) if heavy > 0.0 else 1.0
    far = design.expansion_size(beta)
    norm = math.sqrt(max(size, 0.0) + _share(design, beta) * far * far) + t * far
    total = down((up_ + down_) * (1.0 - t) * (1.0 - share), 4)
    square = up(2.0 * norm * norm, 8)
    found = down(total * total / square, 4) if square > UNDERFLOW else float(np.finfo(float).max)
    return min(found, float(np.finfo(float).max)) if total > 0.0 else 0.0


def _warn(found: HardMargin, between: str) -> None:
    if found.separable is None:
        told = f"whether a plane separates {between} is not known"
    else:
        told = (
            f"no plane of the kernel's space separates {between}: a point common to the hulls of "
            f"both, a combination of {len(found.combination.rows)} rows (proofs_), so that no "
            f"plane has a margin above {found.high:.2g}, where the longest row has length "
            f"{found.radius:.2g}"
        )
    warn_outside(
        f"{told}. C=inf has no answer here; the coefficients are those of C = {SOFT:g} / max "
        "k(x, x): choose a finite C, or another kernel.",
        NotSeparable,
    )


def _plain(y: Array, z: Array) -> Any:
    return z
