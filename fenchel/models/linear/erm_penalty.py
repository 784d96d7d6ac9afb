"""The penalty of the formula: by its name, given, or none; with a kernel, of a function."""

from __future__ import annotations

import inspect
from typing import Any

from fenchel.convex.catalogue import penalties
from fenchel.convex.penalty import L1, L2, ElasticNet, Penalty

# Those with a strength, by the name of their class: "elasticnet" for ElasticNet.
PENALTIES = {
    name.lower(): penalty
    for name, penalty in penalties().items()
    if "lam" in inspect.signature(penalty).parameters
}


def penalty_of(estimator: Any) -> Penalty:
    """The penalty an estimator names, gives, or leaves out."""
    penalty = estimator.penalty
    if penalty is None:
        return L2(0.0)
    if isinstance(penalty, str):
        penalty = PENALTIES[penalty](float(estimator.lam))
    if isinstance(penalty, L1 | ElasticNet) and penalty.lam == 0.0 and not penalty.positive:
        return L2(0.0)
    assert isinstance(penalty, Penalty)
    return penalty


def kernel_strength(estimator: Any) -> float:
    """λ of the penalty λ‖f‖²/2 of a kernel's functions; ValueError for any other penalty."""
    penalty = penalty_of(estimator)
    if isinstance(penalty, L2) and penalty.lam > 0.0:
        return penalty.lam
    if penalty == L2(0.0):
        why = "without a penalty a kernel's functions fit any target, and there is no best one"
    else:
        why = (
            "a function of a kernel's space has a norm to be penalised and no coefficients, so "
            f"penalty={estimator.penalty!r} has no meaning"
        )
    raise ValueError(f"{why}; with kernel={estimator.kernel!r} use penalty='l2' and lam > 0")
