"""Estimators that state their own proof."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from fenchel.convex.certificate import Certificate


class SelfCertified(ABC):
    """A fitted estimator that certifies itself on any rows: `fenchel.certify` asks it first.

    What certificates of its kind say, and of which objective, its docstring states.
    definition: what the certified number is called where it is a definition, which nothing is
    sought to improve; empty where it is an objective with a bound.
    objective: what that objective is called, where it has a name of its own.
    """

    definition: ClassVar[str] = ""
    objective: ClassVar[str] = ""

    def definition_on(self, X: Any, y: Any = None, sample_weight: Any = None) -> str:
        """What the number that `certify_on` gives of these rows is called; empty as above."""
        return self.definition

    @abstractmethod
    def certify_on(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """The proof of the fitted parameters on these rows."""
