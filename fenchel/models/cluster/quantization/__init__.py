"""Optimal quantization of densities in the plane: k-means of a continuum."""
