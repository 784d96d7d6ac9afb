"""Piecewise-linear losses: augmented Lagrangians and dual coordinate ascent."""
