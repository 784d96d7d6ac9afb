"""Counts with their noun, for messages: "1 row", "1,204 rows"."""

from __future__ import annotations


def plural(count: int, noun: str) -> str:
    """The noun for this count."""
    return noun if count == 1 else f"{noun}s"


def counted(count: int, noun: str) -> str:
    """The count and its noun."""
    return f"{count:,} {plural(count, noun)}"
