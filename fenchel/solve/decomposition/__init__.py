"""Decomposition methods for the dual of kernel problems with losses of straight pieces."""
