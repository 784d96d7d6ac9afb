"""Distances bounded from below by projections of rows and points."""
