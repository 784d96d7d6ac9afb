"""What a pass computes of each row of a convex problem: definitions and compiled loops."""
