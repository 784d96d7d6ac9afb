"""The active-set method of a quadratic with an L1 penalty."""
