"""Sums of a loss over all pairs of rows."""
