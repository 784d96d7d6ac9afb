"""Online EM: the expected sums of a mixture, a little of them replaced by those of new rows.

S ← (1 - γ) S + γ Ŝ(batch),   γ = (w / W)^0.6,   then the M-step

with S the sums that the current mixture itself implies (π, πμ, π(Σ + μμ')), w the weight of the
batch and W that of all rows so far: 0.6 lies between ½ and 1, for which the mixture converges.

Reference: Cappé and Moulines, On-line expectation-maximization algorithm for latent data models,
J. R. Stat. Soc. B 71 (2009).
"""

from __future__ import annotations

import numpy as np

from fenchel.data.blocks import Blocks
from fenchel.solve.mixture.components import ComponentSums, MixtureComponents, maximised
from fenchel.solve.mixture.expectation import EMSums
from fenchel.solve.mixture.whitening import Whitening

FORGETTING = 0.6


def online_step(
    blocks: Blocks, outer: MixtureComponents, seen: float, floor: float
) -> tuple[MixtureComponents, float, float]:
    """The mixture after these rows, their mean log-likelihood before, and their weight."""
    whitening = Whitening.of_mixture(outer)
    inner = whitening.inward(outer)
    value, *found = blocks.reduce(EMSums(inner, whitening, False))
    batch = ComponentSums(*found)
    weight = float(batch.counts.sum())
    gain = forgotten(weight, seen + weight)
    share, kind = inner.weights, inner.kind
    own = inner.covariances
    if kind == "tied":
        kept = own
    elif kind == "full":
        kept = share[:, None, None] * own
    elif kind == "diag":
        kept = share[:, None] * own
    else:
        kept = share * own * inner.means.shape[1]
    mixed = ComponentSums(
        (1.0 - gain) * share + gain * batch.counts / weight,
        gain * batch.first / weight,
        (1.0 - gain) * kept + gain * batch.second / weight,
    )
    new, _ = maximised(mixed, inner, floor)
    mean = value / weight + whitening.log_determinant
    return whitening.outward(new), float(mean), weight


def forgotten(weight: float, total: float) -> float:
    """γ: the share of the sums that a batch replaces."""
    return float(np.clip(weight / total, 0.0, 1.0) ** FORGETTING)
