"""Doubly centred matrices of inner products, kernels and distances, and what continues them."""
