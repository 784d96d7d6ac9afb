"""The generative likelihood of Gaussian classes, and its least value in closed form.

Over rows i of class k with weight s, W = Σ s and moments (Wₖ, mₖ, Sₖ), parameters (π, μ, Σ):

    f = Σₖ Wₖ (-log πₖ + (log |Σₖ| + tr(Σₖ⁻¹ Tₖ) + (mₖ - μₖ)'Σₖ⁻¹(mₖ - μₖ) + r log 2π) / 2)

with Tₖ the covariance aimed at: Sₖ / Wₖ, or Σⱼ Sⱼ / W if it is shared, and then f is minus the
log-likelihood. Regularised estimates put their own matrix for Tₖ, for instance (1 - a) S + a m I:
then f, times 1 / (1 - a), is minus the log-likelihood less the log-density of an inverse Wishart
prior. f is least at μₖ = mₖ, Σₖ = Tₖ and πₖ = Wₖ / W (or the priors given), where the trace is r,
the rank. Below full rank it is the likelihood on the directions that have variance. Classes that
are given the prior 0 are left out of the sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.models.discriminant.estimates.covariance import InverseRoot

Floats = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True, eq=False)
class GaussianClassesFit:
    """π (K,), |Rₖ(mₖ - μₖ)|² (K,) and the roots R of Σ⁻¹, one for each class or one for all."""

    priors: Floats
    apart: Floats
    roots: Sequence[InverseRoot]

    @classmethod
    def of(
        cls, priors: Floats, means: Floats, roots: Sequence[InverseRoot], mean: Floats
    ) -> GaussianClassesFit:
        """For fitted means μ and those of some rows, m."""
        each = roots if len(roots) > 1 else [roots[0]] * len(mean)
        turned = [root.R @ (m - mu) for root, m, mu in zip(each, mean, means, strict=True)]
        return cls(priors, np.array([z @ z for z in turned]), roots)


def generative_certificate(
    weight: Floats,
    targets: Sequence[Floats],
    best: Sequence[InverseRoot],
    fitted: GaussianClassesFit,
    free_priors: bool,
) -> Certificate:
    """f at the fitted parameters, and its least value; best: the roots of the targets."""
    total, d = float(weight.sum()), len(targets[0])
    value = bound = 0.0
    size = total
    for k, W in enumerate(weight.tolist()):
        if W == 0.0 or (fitted.priors[k] == 0.0 and not free_priors):
            continue  # of a class with the prior 0 the likelihood is 0, whatever the parameters
        at = k if len(targets) > 1 else 0
        own = fitted.roots[k if len(fitted.roots) > 1 else 0]
        T, top = targets[at], best[at]
        turned = own.R @ T
        trace = float((turned * own.R).sum())
        prior, share = float(fitted.priors[k]), W / total
        constant = own.rank * np.log(2.0 * np.pi)
        with np.errstate(divide="ignore"):
            value += W * (-np.log(prior) + (own.log_det + trace + fitted.apart[k] + constant) / 2.0)
        least = -np.log(share if free_priors else prior) + (top.log_det + top.rank + constant) / 2.0
        # Directions without variance make the likelihood of a lower rank unbounded.
        bound += W * least if top.rank == own.rank else -np.inf
        size += W * (abs(own.log_det) + own.rank + abs(np.log(max(prior, EPS)))) / 2.0
    value = float(value)
    # A sum of this size is known to rounding, which must not put the bound above the value.
    return Certificate(
        value, min(float(bound), value), "exact", floor=float(d * EPS * size), scale=float(size)
    )
