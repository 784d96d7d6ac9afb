"""Sums of outer products whose partial sums stay in registers."""
