"""Metrics of classes, probabilities and numbers, each with its interval."""
