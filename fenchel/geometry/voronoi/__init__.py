"""Voronoi cells in the plane, and integrals of densities over them."""
