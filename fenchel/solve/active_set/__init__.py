"""Active sets: the support changes entry by entry."""
