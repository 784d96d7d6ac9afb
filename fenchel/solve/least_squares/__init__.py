"""Least squares and ridge regression to full accuracy."""
