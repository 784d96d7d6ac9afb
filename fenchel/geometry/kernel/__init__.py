"""Kernels of rows of numbers: as values, by name, centred, approximated."""
