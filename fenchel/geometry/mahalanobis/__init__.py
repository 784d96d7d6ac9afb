"""Squared distances of rows to several centres, each in a metric of its own."""
