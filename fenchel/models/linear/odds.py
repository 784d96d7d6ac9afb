"""From log-odds to probabilities, without loss of digits however certain the model is."""

from __future__ import annotations

from typing import Any

from array_api_compat import array_namespace

from fenchel.data.arrays import logsumexp, sigmoid, softmax, softplus
from fenchel.data.parallel import by_rows


def probabilities(z: Any, joint: bool = True) -> Any:
    """P(class | x) from scores (n,) or (n, K); joint: whether the K classes share one model, or
    each has odds of its own, which are then made to sum to one."""
    return by_rows(lambda part: _probabilities(part, joint), z)


def _probabilities(z: Any, joint: bool) -> Any:
    if z.ndim == 1:
        return _beside(sigmoid(-z), sigmoid(z))
    if joint:
        return softmax(z)
    return array_namespace(z).exp(_log_probabilities(z, joint))


def log_probabilities(z: Any, joint: bool = True) -> Any:
    """log P(class | x), from the scores: finite however certain the model is.

    0 where P rounds to 1 in the precision of the scores, so that it is the logarithm of what
    `probabilities` gives; the scores alone would say -1e-8 there in float32.
    """
    return by_rows(lambda part: _log_probabilities(part, joint), z)


def _log_probabilities(z: Any, joint: bool) -> Any:
    xp = array_namespace(z)
    if z.ndim == 1:
        logs = _beside(-softplus(z), -softplus(-z))
    else:
        own = z if joint else -softplus(-z)
        own = own - xp.max(own, axis=1, keepdims=True)  # first: the sum would round what is near 0
        logs = own - logsumexp(own)[:, None]
    certain = _probabilities(z, joint) == 1.0 if joint or z.ndim == 1 else xp.exp(logs) == 1.0
    return xp.where(certain, 0.0 * logs, logs)


def _beside(first: Any, second: Any) -> Any:
    return array_namespace(first).stack([first, second], axis=1)
