"""Numbers in few digits, bounds rounded outward, as `fenchel.data.rounding` defines them."""

from fenchel.data.rounding import DOWN, NEAREST, UP, fixed, interval_texts, percent, rounded

__all__ = ["DOWN", "NEAREST", "UP", "fixed", "interval_texts", "percent", "rounded"]
