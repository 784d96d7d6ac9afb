"""The logistic loss over all pairs, by Chebyshev polynomials on panels of scores."""
