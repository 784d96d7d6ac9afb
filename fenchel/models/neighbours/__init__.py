"""Nearest neighbours and local averages."""
