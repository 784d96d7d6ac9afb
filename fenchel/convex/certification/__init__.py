"""Certificates whose bounds hold in exact arithmetic: the rounding analysis and what it is used
for."""
