"""Mixtures, densities, and how many components there are."""
