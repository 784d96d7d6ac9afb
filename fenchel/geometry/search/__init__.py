"""Exact search of neighbours: by Euclidean distances, by other metrics, within a radius."""
