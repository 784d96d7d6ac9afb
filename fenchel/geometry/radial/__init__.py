"""Tiles of functions of the squared distance, from rows prepared once."""
