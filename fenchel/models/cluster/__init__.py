"""Clusters by centres: k-means, in one level and in a tree."""
