"""Figures of a fit: convergence, coefficients, paths, boundaries, residuals."""
