"""Distances, kernels, pairs of rows and points by tiles, neighbours."""
