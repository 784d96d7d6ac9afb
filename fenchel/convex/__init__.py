"""Losses, penalties, their conjugates, the problem, its curvature, its dual, the certificate."""
