"""The loss of all pairs of rows in the wrong order, in O(n log n)."""
