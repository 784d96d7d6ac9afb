"""The hyperplane of largest margin, or the proof that none separates."""
