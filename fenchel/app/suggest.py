"""The remedy for a name that is not known: the one that was meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str], otherwise: str) -> str:
    """'did you mean …?' if a known name is near, ignoring case; else "otherwise" and all names."""
    folded = {other.casefold(): other for other in known}
    found = get_close_matches(name.casefold(), folded, 1)
    if found:
        return f"did you mean {folded[found[0]]}?"
    return f"{otherwise} {', '.join(folded.values())}"
