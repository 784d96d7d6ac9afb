"""One check: what was looked at, what was found, why it matters, what to do."""

from __future__ import annotations

from fenchel.show.formatting import capital

Finding = dict[str, str]


def check(
    code: str, name: str, bad: bool, severity: str, what: str, passed: str, why: str, do: str
) -> Finding:
    """A finding of that severity if it is bad, else the same check as passed."""
    return {
        "code": code,
        "name": name,
        "severity": severity if bad else "passed",
        "what": capital(what if bad else passed),
        "why": why if bad else "",
        "do": do if bad else "",
    }


def graded(share: float, warning: float, problem: float) -> str:
    """The severity of something that befalls this share of the rows."""
    return "problem" if share >= problem else "warning" if share >= warning else "info"


def listed(names: list[str], most: int = 5) -> str:
    """The first few names, and how many more."""
    shown = ", ".join(f"'{name[:60]}'" for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
