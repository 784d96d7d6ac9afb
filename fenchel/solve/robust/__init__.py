"""Huber's regression with its scale."""
