"""Graphs of neighbours: their edges, their components, and the shortest paths along them."""
