"""Figures of the columns of a table."""
