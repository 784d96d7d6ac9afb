"""The logistic loss over pairs, by Chebyshev polynomials on panels of scores."""
