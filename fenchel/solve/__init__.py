"""Algorithms that drive a problem until its certificate closes."""
