"""Eigenpairs of a symmetric operator that is known by its products, each with its residual."""
