"""The spectrum kernel: strings compared by how often each k-mer occurs in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from fenchel.geometry.strings.code_points import CodePoints
from fenchel.geometry.strings.kmers.counts import Counts, count_products, kmer_counts
from fenchel.geometry.strings.string_kernel import FeatureKernel, Values, checked_integer


@final
@dataclass(frozen=True, slots=True)
class Spectrum(FeatureKernel):
    """k(s, t) = Σ_u φ_u(s) φ_u(t), φ_u(s) = how often the string u of k characters occurs in s.

    normalised: divided by √(k(s, s) k(t, t)), so that lengths do not matter; 0 for strings shorter
    than k. Counts are exact, and so are values up to 2⁵³. Time is linear in the characters, and a
    value takes as many steps as the two strings have k-mers in common. Several lengths at once are
    a sum, Spectrum(2) + Spectrum(3).

    Reference: Leslie, Eskin and Noble, The spectrum kernel: a string kernel for SVM protein
    classification, Pacific Symposium on Biocomputing 2002.

    Examples
    --------
    >>> from fenchel import kernels
    >>> kernels.Spectrum(2, normalised=False).tile(["abab"], ["abba", "bb"]).tolist()
    [[3.0, 0.0]]
    """

    k: int = 3
    normalised: bool = True

    def __post_init__(self) -> None:
        checked_integer("k", self.k, 1)

    def prepare(self, texts: tuple[CodePoints, ...]) -> tuple[Any, ...]:
        return kmer_counts(texts, int(self.k))

    def inner_products(self, rows: Counts, points: Counts) -> Values:
        return Values(count_products(rows, points))

    def squares(self, rows: Counts) -> Values:
        return Values(rows.squares())
