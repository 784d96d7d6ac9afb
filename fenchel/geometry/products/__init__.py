"""Nearest points and counts by tiles of matrix products."""
