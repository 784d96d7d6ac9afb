"""Semidefinite programs over partition matrices, by alternating directions."""
