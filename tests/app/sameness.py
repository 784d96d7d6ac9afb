"""Whether two objects are the same to the last bit."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

METHODS = (
    "predict",
    "decision_function",
    "predict_proba",
    "predict_log_proba",
    "transform",
    "score_samples",
    "kneighbors",
)


def same(a: Any, b: Any) -> bool:
    """Of one type and equal, nan to nan, through lists, dicts, dataclasses and estimators."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        if a.dtype.kind == "O":
            return all(map(same, a.ravel().tolist(), b.ravel().tolist()))
        layout = a.flags.c_contiguous, a.flags.f_contiguous
        kept = layout == (b.flags.c_contiguous, b.flags.f_contiguous) or not any(layout)
        return kept and a.tobytes() == b.tobytes() and b.flags.writeable
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, np.random.RandomState):
        return same(a.get_state(legacy=False), b.get_state(legacy=False))
    if type(a).__name__ == "Threshold":
        return repr(a) == repr(b)
    if type(a).__name__ == "Votes":
        return same(a.all(), b.all()) and same(a.plane, b.plane) and same(a.state, b.state)
    if isinstance(a, BaseEstimator):
        return same(dict(sorted(vars(a).items())), dict(sorted(vars(b).items())))
    if is_dataclass(a):
        return all(same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    return bool(a == b) or (a != a and b != b)


def same_answers(a: Any, b: Any, X: Any) -> int:
    """How many methods answer, each with the same bits."""
    answered = 0
    for name in METHODS:
        if hasattr(a, name):
            assert hasattr(b, name), name
            first, second = np.asarray(getattr(a, name)(X)), np.asarray(getattr(b, name)(X))
            assert same(first, second), name
            answered += 1
        else:
            assert not hasattr(b, name), name
    return answered
