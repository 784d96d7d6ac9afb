"""Rows left out: cross-validation of any estimator, and what is chosen or compared by it."""
