"""Kernel density estimates: profiles that integrate to one, and their sums by tiles."""
