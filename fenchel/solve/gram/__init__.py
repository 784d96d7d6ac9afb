"""Equations with the matrix of a kernel: factors, conjugate gradients, and what they prove."""
