"""Discriminants: Gaussian classes with a shared, an own or a regularised covariance; Fisher's."""
