"""Pairs of rows with different targets, seen in O(n log n) without ever being listed."""
