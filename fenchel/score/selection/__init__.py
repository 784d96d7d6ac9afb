"""Models and parameters compared and chosen by cross-validation."""
