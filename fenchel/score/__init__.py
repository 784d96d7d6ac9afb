"""Judgement: curves, numbers with intervals, decisions at a promised error, cross-validation."""
