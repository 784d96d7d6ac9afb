"""Figures of clusters, mixtures, densities and embeddings."""
