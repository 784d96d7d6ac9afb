"""Compiled functions that are called by their address."""
