"""Intervals: exact binomial, bootstrap, corrected for skewness, Wald."""
