"""Smooth objectives: Newton's method, truncated Newton, gradient descent."""
