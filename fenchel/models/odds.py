"""From log-odds to probabilities, without loss of digits however certain the model is."""

from __future__ import annotations

from typing import Any

from array_api_compat import array_namespace

from fenchel.data.arrays import logsumexp, sigmoid, softmax, softplus


def probabilities(z: Any, joint: bool = True) -> Any:
    """P(class | x) from scores (n,) or (n, K); joint: whether the K classes share one model, or
    each has odds of its own, which are then made to sum to one."""
    if z.ndim == 1:
        return _beside(sigmoid(-z), sigmoid(z))
    if joint:
        return softmax(z)
    return array_namespace(z).exp(log_probabilities(z, joint))


def log_probabilities(z: Any, joint: bool = True) -> Any:
    """log P(class | x), from the scores: finite however certain the model is."""
    if z.ndim == 1:
        return _beside(-softplus(z), -softplus(-z))
    own = z if joint else -softplus(-z)
    return own - logsumexp(own)[:, None]


def _beside(first: Any, second: Any) -> Any:
    return array_namespace(first).stack([first, second], axis=1)
