"""Nearest centres kept exact by bounds while the centres move."""
