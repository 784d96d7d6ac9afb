"""Figures of clusters, mixtures and densities."""
