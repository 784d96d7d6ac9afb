"""Thresholds with a promised error rate or the least expected cost."""
