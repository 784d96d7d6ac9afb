"""Affinities of rows, the graph that they make, and affinities of new rows."""
