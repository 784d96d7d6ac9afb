"""Dual ascent, one row at a time."""
