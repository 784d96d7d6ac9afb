"""Compiled counts, means and scatter matrices, of all rows or class by class."""
