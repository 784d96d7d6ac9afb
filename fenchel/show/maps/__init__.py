"""Figures of maps: rows and columns in two or three dimensions."""
