"""Clusters of the rows of leading eigenvectors, and the normalised cut that they leave."""
