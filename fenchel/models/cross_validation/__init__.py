"""Folds of a table, the fits of each, and what they score."""
