"""Gaussian mixtures: their values, one EM step as a statistic, and the objective that EM climbs."""
