"""k-mers of strings, counted exactly."""
