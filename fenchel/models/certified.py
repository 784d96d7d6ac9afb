"""Estimators that state their own proof."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from fenchel.convex.certificate import Certificate


class SelfCertified(ABC):
    """A fitted estimator that certifies itself on any rows: `fenchel.certify` asks it first.

    What certificates of its kind say, and of which objective, its docstring states.
    """

    @abstractmethod
    def certify_on(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """The proof of the fitted parameters on these rows."""
